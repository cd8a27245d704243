"use strict";

// Tables are sorted by the column whose heading is pressed; a second press turns the order round.
// Cells without a number stay at the end either way.
function compareKeys(numeric) {
  return (a, b) => (numeric ? Number(a) - Number(b) : a.localeCompare(b, "en", { numeric: true }));
}

function sortTable(table, column, direction) {
  const body = table.tBodies[0];
  const numeric = table.tHead.rows[0].cells[column].classList.contains("number");
  const compare = compareKeys(numeric);
  const entries = Array.from(body.rows, (row) => ({ row, key: row.cells[column].dataset.key }));
  entries.sort((a, b) => (a.key === "") - (b.key === "") || (a.key === "" ? 0 : direction * compare(a.key, b.key)));
  body.append(...entries.map((entry) => entry.row));
}

for (const table of document.querySelectorAll("table.sortable")) {
  const headings = Array.from(table.tHead.rows[0].cells);
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(heading.textContent);
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const ascending = heading.getAttribute("aria-sort") !== "ascending";
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      sortTable(table, column, ascending ? 1 : -1);
    });
  });
}
