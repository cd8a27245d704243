"""How close the reproduction comes to print."""

from __future__ import annotations

from ..problems.problem import PAPER_DATASETS
from .cells import BOTH_HALVES, PRINTED, REPRODUCED, Cells, Values, difference, number
from .item import Results
from .items.fp_vs_solver import PLACES, as_meant, letter_of
from .numbers import words
from .showing import per_cent
from .study import ALL_CLASSIFIERS, DISTANCES


def same_order(cells: Cells, dataset: str) -> bool:
    """Whether our three bounds with the paper's constants are in the printed order."""
    bounds = {distance: cells[dataset, ALL_CLASSIFIERS, distance, "bound"] for distance in DISTANCES}
    printed = sorted(DISTANCES, key=lambda distance: number(bounds[distance][PRINTED]))
    return printed == sorted(DISTANCES, key=lambda distance: bounds[distance][REPRODUCED])


def sentences(results: Results) -> list[str]:
    """The comparison with print in words."""
    said = []
    if cells := results.get("bounds"):
        bounds, errors = (
            [cells[dataset, ALL_CLASSIFIERS, each, quantity] for dataset in PAPER_DATASETS for each in DISTANCES]
            for quantity in ("bound", "test_error")
        )
        gaps = [abs(values[REPRODUCED] - number(values[PRINTED])) for values in errors]
        facts = {"largest": max(gaps), "mean": sum(gaps) / len(gaps), "errors": len(gaps)}
        ordered = sum(same_order(cells, dataset) for dataset in PAPER_DATASETS)
        said += words("document", "table_3", ordered=ordered, datasets=len(PAPER_DATASETS), **facts, **_spreads(bounds))
    if cells := results.get("fp-vs-solver"):
        bounds = [as_meant(cells, *place, "fixed-point", "bound") for place in PLACES]
        # In either of the two tables.
        kinds = ("status", "test_error_status")
        letters = sum(any(letter_of(cells, *place, kind) for kind in kinds) for place in PLACES)
        said += words("document", "table_6", cells=len(PLACES), letters=letters, **_spreads(bounds))
    return said


def _spreads(bounds: list[Values]) -> dict[str, str]:
    found = {}
    for name, version in (("reproduced", REPRODUCED), ("both_halves", BOTH_HALVES)):
        offs = [difference(values, version) for values in bounds]
        mean = sum(offs) / len(offs)
        found[name] = f"{per_cent(mean)} from print on average and {per_cent(max(offs, key=abs))} at most"
    return found
