"""How close the reproduction comes to print, and why a cell is far from it where it is."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

from ..problems.problem import PAPER_DATASETS, PAPER_SIZES
from ..report.tables import Entry, Group, Table
from .cells import BOTH_HALVES, PRINTED, REPRODUCED, Cells, Place, Values, difference, number
from .item import Results
from .numbers import words
from .showing import FAR, NAMES, as_text, per_cent
from .study import ALL_CLASSIFIERS, DISTANCES
from .tables.fp_vs_solver import as_meant, is_swapped, letter_of


class Compared(NamedTuple):
    """A printed optimal bound beside ours with the paper's constants."""

    #: The name of our table.
    table: str
    place: Place
    values: Values
    off: float
    #: The same with risks on both halves.
    off_both_halves: float | None

    @property
    def reason(self) -> str:
        """Why a bound is far from print."""
        if self.table == "fp-vs-solver" and is_swapped(self.place.dataset, self.place.size):
            return "bound and test error are swapped in print"
        if self.off_both_halves is not None and abs(self.off_both_halves) <= FAR:
            return f"print fits risks on both halves ({per_cent(self.off_both_halves)})"
        return "another random split"


#: Tables with optimal bounds, where the paper prints them.
_BOUNDS = {"bounds": "Table 3", "fp-vs-solver": "Table 6", "fp-vs-ccp": "Table 8"}
_METHODS = {"fixed-point": "fixed point", "ipopt": "Ipopt"}


def compared_bounds(results: Results) -> list[Compared]:
    """Every printed optimal bound that has a counterpart here; not what the paper prints beside a letter."""
    found = []
    for table in filter(results.__contains__, _BOUNDS):
        cells = results[table]
        for place, values in cells:
            off = difference(values, REPRODUCED)
            if place.quantity == "bound" and off is not None and not letter_beside(cells, place):
                # A solver that does not fail finds what the fixed point finds, computed with these risks too.
                same = cells[place._replace(method="fixed-point")] if place.method == "ipopt" else values
                both = difference({**same, PRINTED: values[PRINTED]}, BOTH_HALVES)
                found.append(Compared(table, place, values, off, both))
    return found


def letter_beside(cells: Cells, place: Place) -> str:
    """The letter that the paper prints beside a solver's bound, in either of its two tables; "" where there is none."""
    if place.method != "ipopt":
        return ""
    letters = (letter_of(cells, place.dataset, place.size, each) for each in ("status", "test_error_status"))
    return next(filter(None, letters), "")


def far_panel(results: Results) -> Table | None:
    """The bounds that differ from print by more than 8 %, with the reason of each."""
    rows = []
    for far in (each for each in compared_bounds(results) if abs(each.off) > FAR):
        table, place, values, off, _ = far
        bound = _METHODS.get(place.method, place.method) + (f", H = {place.size}" if table == "fp-vs-solver" else "")
        texts = (_BOUNDS[table], NAMES[place.dataset], bound, far.reason)
        numbers = (values[PRINTED], as_text(values[REPRODUCED]), per_cent(off))
        rows.append([Entry(text) for text in texts + numbers])
    if not rows:
        return None
    groups = (Group("", ("table", "data set", "bound", "why")), Group("", ("printed", "paper's const.", "±")))
    return Table("far-cells", f"Optimal bounds more than {FAR:g} % from print", groups, rows)


def same_order(cells: Cells, dataset: str) -> bool:
    """Whether our three bounds with the paper's constants are in the printed order."""
    bounds = {distance: cells[dataset, ALL_CLASSIFIERS, distance, "bound"] for distance in DISTANCES}
    printed = sorted(DISTANCES, key=lambda distance: number(bounds[distance][PRINTED]))
    return printed == sorted(DISTANCES, key=lambda distance: bounds[distance][REPRODUCED])


def sentences(results: Results) -> list[str]:
    """The comparison with print in words."""
    said = []
    if "bounds" in results:
        said += _about_table_3(results["bounds"])
    if "fp-vs-solver" in results:
        said += _about_table_6(results["fp-vs-solver"])
    return said


def _about_table_3(cells: Cells) -> list[str]:
    bounds, errors = (
        [cells[dataset, ALL_CLASSIFIERS, each, quantity] for dataset in PAPER_DATASETS for each in DISTANCES]
        for quantity in ("bound", "test_error")
    )
    ordered = sum(same_order(cells, dataset) for dataset in PAPER_DATASETS)
    gaps = [abs(values[REPRODUCED] - number(values[PRINTED])) for values in errors]
    counts = {"ordered": ordered, "datasets": len(PAPER_DATASETS), "errors": len(gaps)}
    return words("document", "table_3", largest=max(gaps), mean=sum(gaps) / len(gaps), **_spreads(bounds), **counts)


def _about_table_6(cells: Cells) -> list[str]:
    places = list(product(PAPER_DATASETS, PAPER_SIZES))
    bounds = [as_meant(cells, *place, "fixed-point", "bound") for place in places]
    letters = sum(bool(letter_beside(cells, Place(dataset, str(size), "ipopt"))) for dataset, size in places)
    return words("document", "table_6", cells=len(places), letters=letters, **_spreads(bounds))


def _spreads(bounds: list[Values]) -> dict[str, str]:
    found = {}
    for name, version in (("reproduced", REPRODUCED), ("both_halves", BOTH_HALVES)):
        offs: list[Any] = [difference(values, version) for values in bounds]
        mean = sum(offs) / len(offs)
        found[name] = f"{per_cent(mean)} from print on average and {per_cent(max(offs, key=abs))} at most"
    return found
