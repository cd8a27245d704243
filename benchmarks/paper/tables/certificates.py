"""The smallest certificate of each set of classifiers: PAC-Bayes bounds against bounds from error counts.

A table of our own; the paper has nothing like it. Every bound is valid at its δ except the last column, which shows
what choosing the best of H classifiers costs: the limit of Clopper and Pearson without any correction for the choice.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

import pacb_models as pm

from ...problems.problem import PAPER_DATASETS
from ...report.tables import Entry, Group, Table
from ..cells import REPRODUCED, Cells
from ..item import TableItem
from ..numbers import words
from ..showing import as_text, named
from ..study import ALL_CLASSIFIERS, Study

_DELTAS = (0.05, 0.01)
#: The order between χ² (2) and KL (1), and the spread: both to be fixed before the errors are seen.
_ORDER, _SPREAD = 1.2, 3.0
_OTHER_GRID = "arithmetic-geometric"
#: Sets of classifiers: the first of the grid "paper", and the whole other grid.
_SETS = (50, ALL_CLASSIFIERS, _OTHER_GRID)


def _pac_bayes(divergence: str, order: float = 2.0) -> Callable[[np.ndarray, int, float], float]:
    return lambda errors, m, delta: pm.solve(pm.BoundProblem(errors / m, m, delta, "kl", divergence, order=order)).bound


#: Columns: title, and how each bound is computed from counts, m and δ.
BOUNDS: dict[str, tuple[str, Callable[[np.ndarray, int, float], float]]] = {
    "chi2-kl": ("χ²–kl", _pac_bayes("chi2")),
    "kl-kl": ("KL–kl", _pac_bayes("kl")),
    "renyi-kl": (f"Rényi {_ORDER:g}", _pac_bayes("renyi", _ORDER)),
    "occam": ("best single", lambda errors, m, delta: pm.certify(errors, m, delta).single_bound),
    "tie split": ("tie split", lambda errors, m, delta: pm.certify(errors, m, delta).bound),
    "spread": (f"spread {_SPREAD:g}", lambda errors, m, delta: pm.certify(errors, m, delta, spread=_SPREAD).bound),
    "uncorrected": (
        "best, uncorrected (not valid)",
        lambda errors, m, delta: float(pm.clopper_pearson(int(errors.min()), m, delta)),
    ),
}

#: What is compared; the last is no guarantee.
_VALID = list(BOUNDS)[:-1]


def quantity_at(delta: float) -> str:
    """The name of a bound at δ."""
    return f"bound at {delta:g}"


def _counts(study: Study, dataset: str, which: object) -> tuple[np.ndarray, int]:
    """Error counts and m of one set of classifiers."""
    if which == _OTHER_GRID:
        return study.other_grid[dataset].validation_errors, study.other_grid[dataset].m
    table = study.tables[dataset]
    return table.validation_errors[:which], table.m


def _fill(study: Study, cells: Cells) -> None:
    sets = {(dataset, which): _counts(study, dataset, which) for dataset in PAPER_DATASETS for which in _SETS}
    for place, (errors, m) in sets.items():
        cells.add(REPRODUCED, *place, H=len(errors), m=m)
    cases = list(product(sets, _DELTAS))
    found = study.map("certificates", _all_bounds, [(*sets[place], delta) for place, delta in cases])
    for ((dataset, which), delta), values in zip(cases, found, strict=True):
        for name, value in values.items():
            cells.add(REPRODUCED, dataset, which, name, **{quantity_at(delta): value})


def _all_bounds(errors: np.ndarray, m: int, delta: float) -> dict[str, float]:
    return {name: min(float(bound(errors, m, delta)), 1.0) for name, (_, bound) in BOUNDS.items()}


def beaten(cells: Cells, delta: float, name: str, by: str) -> int:
    """On how many data sets one bound of all classifiers is above another."""

    def value(dataset: str, method: str) -> float:
        return cells[dataset, ALL_CLASSIFIERS, method, quantity_at(delta)][REPRODUCED]

    return sum(value(dataset, name) > value(dataset, by) for dataset in PAPER_DATASETS)


def _show(cells: Cells) -> list[Table]:
    return [_panel(cells, delta) for delta in _DELTAS]


def _panel(cells: Cells, delta: float) -> Table:
    titles = tuple(title for title, _ in BOUNDS.values())
    groups = (
        Group("", ("data set", "H", "m")),
        Group("PAC-Bayes", titles[:3]),
        Group("from error counts", titles[3:6]),
        Group("", titles[6:]),
    )
    rows = []
    for dataset, which in product(PAPER_DATASETS, _SETS):
        size, m = (cells[dataset, which, "", name][REPRODUCED] for name in ("H", "m"))
        label = f"{size} (arithmetic–geometric)" if which == _OTHER_GRID else str(size)
        values = {name: cells[dataset, which, name, quantity_at(delta)][REPRODUCED] for name in BOUNDS}
        best = min(values[name] for name in _VALID)
        row = named(dataset, label, m, first=which == _SETS[0])
        row += [
            Entry(as_text(value, 4), "best" if name in _VALID and value == best else "")
            for name, value in values.items()
        ]
        rows.append(row)
    above = {name: beaten(cells, delta, f"{name}-kl", "occam") for name in ("chi2", "kl")}
    notes = words("certificates", "notes", size=ALL_CLASSIFIERS, **above)
    return Table(f"certificates-{delta:g}", f"Certificates at δ = {delta:g}", groups, rows, notes)


CERTIFICATES_TABLE = TableItem("certificates", _fill, uses=("other_grid",), show=_show)
