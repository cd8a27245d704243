"""Table 9: how concentrated the optimal posteriors are, by N(α) and the Herfindahl–Hirschman index."""

from __future__ import annotations

from itertools import product

import numpy as np

import pacb_models as pm

from ...report.tables import Group, Table
from ..cells import CORRECTED, PRINTED, REPRODUCED, Cells
from ..item import TableItem
from ..numbers import words
from ..showing import Beside, named
from ..study import DISTANCES, PAPER_DELTA, VERSIONS, Study

LARGE_SIZE = 1000

#: In the paper's order.
FIVE_DATASETS = ("mammographic", "spambase", "wdbc", "bupa", "banknote")

_LEVELS = (0.8, 0.9, 0.95)

#: Where the caption says how many times the squared posterior's index exceeds the others'.
_RATIO_CLAIMED = ("spambase", "bupa")


def classifiers_for(posterior: np.ndarray, risks: np.ndarray, level: float) -> int:
    """N(α): the number of classifiers, by increasing risk, that hold the share ``level`` of the weight.

    >>> classifiers_for(np.array([0.5, 0.2, 0.3]), np.array([0.1, 0.3, 0.2]), 0.8)
    2
    """
    mass = mass_by_risk(posterior, risks)
    # A share that is reached exactly must not be missed by rounding.
    return int(np.searchsorted(mass, level * (1.0 - 1e-12)) + 1)


def mass_by_risk(posterior: np.ndarray, risks: np.ndarray) -> np.ndarray:
    """The weight of the first one, two, … classifiers by increasing risk."""
    return np.cumsum(posterior[np.argsort(risks, kind="stable")])


def concentration(posterior: np.ndarray) -> float:
    """What the paper calls HHI: the root of the sum of squares (the usual index is the sum itself)."""
    return float(np.sqrt(np.sum(posterior**2)))


def _fill(study: Study, cells: Cells) -> None:
    for dataset in FIVE_DATASETS:
        cells.add(REPRODUCED, dataset, validation_size=study.tables[dataset].m)
    for dataset, distance, version in product(FIVE_DATASETS, DISTANCES, VERSIONS):
        problem = study.problem(dataset, LARGE_SIZE, distance, version)
        q = pm.solve(problem, "frontier").posterior
        counts = {f"N({level})": classifiers_for(q, problem.risks, level) for level in _LEVELS}
        values = {**counts, "HHI": concentration(q), "support": int(np.count_nonzero(q))}
        cells.add(version.name, dataset, LARGE_SIZE, distance, **values)
    for dataset, version in product(_RATIO_CLAIMED, VERSIONS):
        linear, squared, kl = (cells[dataset, LARGE_SIZE, each, "HHI"][version.name] for each in DISTANCES)
        cells.add(version.name, dataset, LARGE_SIZE, HHI_ratio=squared / max(linear, kl))
    cells.add(REPRODUCED, "all", H=LARGE_SIZE, H_in_text=LARGE_SIZE, delta=PAPER_DELTA)


#: What is measured, and its decimals.
_MEASURES = {**{f"N({level})": 0 for level in _LEVELS}, "HHI": 4, "support": 0}


def _show(cells: Cells) -> list[Table]:
    rows = []
    for dataset, (measure, decimals) in product(FIVE_DATASETS, _MEASURES.items()):
        row = named(dataset, measure, first=measure == "N(0.8)")
        for distance in DISTANCES:
            row += Beside(decimals=decimals).cells(cells[dataset, LARGE_SIZE, distance, measure])
        rows.append(row)
    groups = (Group("", ("data set", "measure")), *map(Beside().group, DISTANCES))
    ratios = [cells[dataset, LARGE_SIZE, "", "HHI_ratio"] for dataset in _RATIO_CLAIMED]
    ours = {each: " and ".join(f"{ratio[each]:.1f}" for ratio in ratios) for each in (REPRODUCED, CORRECTED)}
    notes = words("sparsity", "notes", claimed=" and ".join(ratio[PRINTED] for ratio in ratios), **ours)
    title = "Concentration of the optimal posteriors, H = 1000, δ = 0.01 (Table 9)"
    return [Table("sparsity", title, groups, rows, notes)]


SPARSITY_TABLE = TableItem("sparsity", _fill, show=_show)
