"""How close the reproduction comes to print, and why a cell is far from it where it is."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..problems.problem import PAPER_DATASETS
from ..report.tables import Cell, Group, Table
from .entries import Entries, Entry, difference, number
from .item import Results, entries_of
from .numbers import words
from .showing import FAR, NAMES, per_cent, shown
from .study import DISTANCES
from .tables.fp_vs_solver import as_meant, is_swapped


class Compared(NamedTuple):
    """A printed optimal bound beside ours with the paper's constants."""

    #: The name of ours.
    table: str
    entry: Entry
    off: float
    #: The same with risks on both halves.
    off_both_halves: float | None

    @property
    def reason(self) -> str:
        """Why a bound is far from print."""
        if is_swapped(self.entry.row, self.entry.column):
            return "bound and test error are swapped in print"
        if self.off_both_halves is not None and abs(self.off_both_halves) <= FAR:
            return f"print fits risks on both halves ({per_cent(self.off_both_halves)})"
        return "another random split"


#: Tables with optimal bounds: where the paper prints them, and in which columns.
_BOUNDS = {
    "bounds": ("Table 3", ("bound_",)),
    "fp-vs-solver": ("Table 6", ("bound_fp", "bound_solver")),
    "fp-vs-ccp": ("Table 8", ("bound_fp",)),
}


def compared_bounds(results: Results) -> list[Compared]:
    """Every printed optimal bound that has a counterpart here; not what the paper prints beside a letter."""
    found = []
    for table in filter(results.__contains__, _BOUNDS):
        entries = entries_of(results[table])
        for entry in entries:
            off = difference(entry, "paper")
            if entry.column.startswith(_BOUNDS[table][1]) and off is not None and not letter_beside(entries, entry):
                # A solver that does not fail finds what the fixed point finds, computed with these risks too.
                same = entries.get(entry.row, entry.column.replace("_solver_", "_fp_")).values
                both = difference(Entry(entry.row, entry.column, entry.printed, same), "both_halves")
                found.append(Compared(table, entry, off, both))
    return found


def letter_beside(entries: Entries, entry: Entry) -> str:
    """The letter that the paper prints beside a solver's bound, in either of its two tables; "" where there is none."""
    for status in ("status", "test_error_status"):
        letter = entries.printed(entry.row, entry.column.replace("bound", status))
        if entry.column.startswith("bound_solver") and letter not in ("", "none"):
            return letter
    return ""


def _in_words(column: str) -> str:
    """The bound in a column.

    >>> _in_words("bound_solver_H50"), _in_words("bound_kl")
    ('Ipopt, H = 50', 'kl')
    """
    _, *words = column.replace("_H", "_H = ").split("_")
    return ", ".join({"fp": "fixed point", "solver": "Ipopt"}.get(word, word) for word in words)


def far_panel(results: Results) -> Table | None:
    """The bounds that differ from print by more than 8 %, with the reason of each."""
    rows = []
    for compared in compared_bounds(results):
        if abs(compared.off) > FAR:
            entry, place = compared.entry, _BOUNDS[compared.table][0]
            texts = (place, NAMES[entry.row], _in_words(entry.column), compared.reason)
            numbers = (entry.printed, shown(entry.values["paper"]), per_cent(compared.off))
            rows.append([Cell(text) for text in texts + numbers])
    if not rows:
        return None
    groups = (Group("", ("table", "data set", "bound", "why")), Group("", ("printed", "paper's const.", "±")))
    return Table("far-cells", f"Optimal bounds more than {FAR:g} % from print", groups, rows)


def same_order(entries: Entries, dataset: str) -> bool:
    """Whether our three bounds with the paper's constants are in the printed order."""
    printed = sorted(DISTANCES, key=lambda distance: number(entries.printed(dataset, f"bound_{distance}")))
    ours = sorted(DISTANCES, key=lambda distance: entries.value(dataset, f"bound_{distance}", "paper"))
    return printed == ours


def sentences(results: Results) -> list[str]:
    """The comparison with print in words."""
    said = []
    if "bounds" in results:
        said += _about_table_3(entries_of(results["bounds"]))
    if "fp-vs-solver" in results:
        said += _about_table_6(entries_of(results["fp-vs-solver"]))
    return said


def _about_table_3(entries: Entries) -> list[str]:
    cells, errors = (
        [entries.get(dataset, f"{quantity}_{distance}") for dataset in PAPER_DATASETS for distance in DISTANCES]
        for quantity in ("bound", "test_error")
    )
    ordered = sum(same_order(entries, dataset) for dataset in PAPER_DATASETS)
    gaps = [abs(entry.values["paper"] - number(entry.printed)) for entry in errors]
    spreads = {key: _spread(cells, key) for key in ("paper", "both_halves")}
    counts = {"ordered": ordered, "datasets": len(PAPER_DATASETS), "errors": len(gaps)}
    return words("document", "table_3", largest=max(gaps), mean=sum(gaps) / len(gaps), **spreads, **counts)


def _about_table_6(entries: Entries) -> list[str]:
    cells = [
        as_meant(entries, entry.row, entry.column)
        for entry in entries
        if entry.column.startswith("bound_fp") and entry.row in PAPER_DATASETS
    ]
    letters = sum(bool(letter_beside(entries, entry)) for entry in entries)
    spreads = {key: _spread(cells, key) for key in ("paper", "both_halves")}
    return words("document", "table_6", cells=len(cells), letters=letters, **spreads)


def _spread(cells: list[Entry], key: str) -> str:
    offs: list[Any] = [difference(cell, key) for cell in cells]
    mean = sum(offs) / len(offs)
    return f"{per_cent(mean)} from print on average and {per_cent(max(offs, key=abs))} at most"
