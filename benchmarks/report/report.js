"use strict";

// Tables are sorted by the column whose heading is pressed; a second press turns the order round.
// Cells without a number stay at the end either way.
function sortTable(table, column, direction) {
  const body = table.tBodies[0];
  const numeric = table.tHead.rows[0].cells[column].classList.contains("number");
  const compare = (a, b) => (numeric ? Number(a) - Number(b) : a.localeCompare(b, "en", { numeric: true }));
  const entries = Array.from(body.rows, (row) => ({ row, key: row.cells[column].dataset.key ?? row.cells[column].textContent }));
  entries.sort((a, b) => (a.key === "") - (b.key === "") || (a.key === "" ? 0 : direction * compare(a.key, b.key)));
  body.append(...entries.map((entry) => entry.row));
}

for (const table of document.querySelectorAll(".table table")) {
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

// Boxes that go on to the right show that they do, until they are scrolled to the end.
for (const box of document.querySelectorAll(".scroll")) {
  const show = () => box.classList.toggle("more", box.scrollWidth - box.clientWidth - box.scrollLeft > 4);
  box.addEventListener("scroll", show, { passive: true });
  new ResizeObserver(show).observe(box);
}

// A solver that is pointed at, in a picture or in a table, stands out in every picture.
for (const row of document.querySelectorAll("#table-solvers tbody tr")) row.dataset.solver = row.cells[0].textContent;
function light(event) {
  const solver = event.target.closest?.("[data-solver]")?.dataset.solver;
  document.body.classList.toggle("lit", solver !== undefined);
  for (const mark of document.querySelectorAll("[data-solver]")) mark.classList.toggle("on", mark.dataset.solver === solver);
}
document.addEventListener("pointerover", light);

// One family of the matrix at a time: its columns are stretched over the whole width.
for (const matrix of document.querySelectorAll("svg.matrix")) {
  const groups = Array.from(matrix.querySelectorAll(".family"));
  if (groups.length < 2) continue;
  const first = Number(groups[0].dataset.x);
  const last = groups[groups.length - 1];
  const whole = Number(last.dataset.x) + Number(last.dataset.width) - first;
  const label = document.createElement("label");
  const choice = document.createElement("select");
  choice.append(...["all families", ...groups.map((group) => group.dataset.family)].map((name) => new Option(name, name)));
  label.append("Show ", choice);
  label.className = "filter";
  matrix.closest("figure").prepend(label);
  choice.addEventListener("change", () => {
    for (const group of groups) {
      const chosen = group.dataset.family === choice.value;
      const scale = Math.min(whole / group.dataset.width, 12);
      group.style.display = choice.selectedIndex === 0 || chosen ? "" : "none";
      group.querySelector(".label").style.display = chosen ? "none" : "";
      if (chosen) group.setAttribute("transform", `translate(${first - scale * group.dataset.x} 0) scale(${scale} 1)`);
      else group.removeAttribute("transform");
    }
  });
}
