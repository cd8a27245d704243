"""How close the reproduction comes to print."""

from __future__ import annotations

from itertools import product
from typing import Any

from ..problems.problem import PAPER_DATASETS, PAPER_SIZES
from .cells import BOTH_HALVES, PRINTED, REPRODUCED, Cells, Values, difference, number
from .item import Results
from .numbers import words
from .showing import per_cent
from .study import ALL_CLASSIFIERS, DISTANCES
from .tables.fp_vs_solver import as_meant, letter_of


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
    # In either of the two tables.
    letters = sum(any(letter_of(cells, *place, each) for each in ("status", "test_error_status")) for place in places)
    return words("document", "table_6", cells=len(places), letters=letters, **_spreads(bounds))


def _spreads(bounds: list[Values]) -> dict[str, str]:
    found = {}
    for name, version in (("reproduced", REPRODUCED), ("both_halves", BOTH_HALVES)):
        offs: list[Any] = [difference(values, version) for values in bounds]
        mean = sum(offs) / len(offs)
        found[name] = f"{per_cent(mean)} from print on average and {per_cent(max(offs, key=abs))} at most"
    return found
