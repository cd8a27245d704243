"""The smallest certificate of each set of classifiers: PAC-Bayes bounds against bounds from error counts.

A table of our own; the paper has nothing like it. Every bound is valid at its δ except the last column, which shows
what choosing the best of H classifiers costs: the limit of Clopper and Pearson without any correction for the choice.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

import pacb_models as pm

from ...problems.problem import PAPER_DATASETS
from ...problems.risks import load_risk_table
from ...report.tables import Cell, Group, Table
from ..entries import Entries
from ..item import TableItem
from ..numbers import words
from ..showing import named, shown
from ..study import ALL_CLASSIFIERS, Study

DELTAS = (0.05, 0.01)
#: Between χ² (2) and KL (1), to be fixed before the errors are seen.
ORDER = 1.2
#: The spread, to be fixed beforehand too.
SPREAD = 3.0
#: Sets of classifiers: the first of the grid "paper", and the whole other grid.
SETS = ("50", str(ALL_CLASSIFIERS), "arithmetic-geometric")


def _pac_bayes(divergence: str, order: float = 2.0) -> Callable[[np.ndarray, int, float], float]:
    bound: dict[str, Any] = {"distance": "kl", "divergence": divergence, "order": order}
    return lambda errors, m, delta: pm.solve(pm.BoundProblem(errors / m, m=m, delta=delta, **bound)).bound


#: Columns: how each bound is computed from counts, m and δ.
BOUNDS: dict[str, Callable[[np.ndarray, int, float], float]] = {
    "chi2-kl": _pac_bayes("chi2"),
    "kl-kl": _pac_bayes("kl"),
    "renyi-kl": _pac_bayes("renyi", ORDER),
    "occam": lambda errors, m, delta: pm.certify(errors, m, delta).single_bound,
    "tie split": lambda errors, m, delta: pm.certify(errors, m, delta).bound,
    "spread": lambda errors, m, delta: pm.certify(errors, m, delta, spread=SPREAD).bound,
    "uncorrected": lambda errors, m, delta: float(pm.clopper_pearson(int(errors.min()), m, delta)),
}

TITLES = {
    "chi2-kl": "χ²–kl",
    "kl-kl": "KL–kl",
    "renyi-kl": f"Rényi {ORDER:g}",
    "occam": "best single",
    "tie split": "tie split",
    "spread": f"spread {SPREAD:g}",
    "uncorrected": "best, uncorrected (not valid)",
}

#: What is compared; the rest is no guarantee.
VALID = tuple(name for name in BOUNDS if name != "uncorrected")


def error_counts(study: Study, dataset: str, which: str) -> tuple[np.ndarray, int]:
    """Error counts and m of one set of classifiers."""
    if which == "arithmetic-geometric":
        table = load_risk_table(dataset, which)
        return table.validation_errors, table.m
    table = study.tables[dataset]
    return table.validation_errors[: int(which)], table.m


def fill(study: Study, entries: Entries) -> dict[str, Any]:
    sets = {f"{dataset} {which}": error_counts(study, dataset, which) for dataset in PAPER_DATASETS for which in SETS}
    cases = list(product(sets, DELTAS))
    found = study.map("certificates", _all_bounds, [(*sets[row], delta) for row, delta in cases])
    for (row, delta), values in zip(cases, found, strict=True):
        for name, value in values.items():
            entries.add(row, f"{name} {delta:g}", "ours", value)
    return {"sizes": {row: [len(errors), m] for row, (errors, m) in sets.items()}}


def _all_bounds(errors: np.ndarray, m: int, delta: float) -> dict[str, float]:
    return {name: min(float(bound(errors, m, delta)), 1.0) for name, bound in BOUNDS.items()}


def smallest(entries: Entries, row: str, delta: float) -> float:
    """The smallest valid bound of a row."""
    return min(entries.value(row, f"{name} {delta:g}", "ours") for name in VALID)


def beaten(entries: Entries, which: str, delta: float, name: str, by: str) -> int:
    """On how many data sets one bound is above another."""
    return sum(
        entries.value(f"{dataset} {which}", f"{name} {delta:g}", "ours")
        > entries.value(f"{dataset} {which}", f"{by} {delta:g}", "ours")
        for dataset in PAPER_DATASETS
    )


def show(entries: Entries, facts: dict[str, Any]) -> list[Table]:
    return [_panel(entries, facts["sizes"], delta) for delta in DELTAS]


def _panel(entries: Entries, sizes: dict[str, list[int]], delta: float) -> Table:
    titles = list(TITLES.values())
    groups = (
        Group("", ("data set", "H", "m")),
        Group("PAC-Bayes", tuple(titles[:3])),
        Group("from error counts", tuple(titles[3:6])),
        Group("", tuple(titles[6:])),
    )
    rows = []
    for dataset, which in product(PAPER_DATASETS, SETS):
        row = f"{dataset} {which}"
        size, m = sizes[row]
        label = f"{size} (arithmetic–geometric)" if which == "arithmetic-geometric" else str(size)
        cells, best = named(dataset, label, m, first=which == SETS[0]), smallest(entries, row, delta)
        for name in BOUNDS:
            value = entries.value(row, f"{name} {delta:g}", "ours")
            cells.append(Cell(shown(value, 4), "best" if name in VALID and value == best else ""))
        rows.append(cells)
    full = str(ALL_CLASSIFIERS)
    above = {name: beaten(entries, full, delta, f"{name}-kl", "occam") for name in ("chi2", "kl")}
    notes = words("certificates", "notes", size=full, **above)
    return Table(f"certificates-{delta:g}", f"Certificates at δ = {delta:g}", groups, rows, notes)


ITEM = TableItem("certificates", fill, also=("certificates-figure",), show=show)
