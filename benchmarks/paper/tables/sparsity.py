"""Table 9: how concentrated the optimal posteriors are, by N(α) and the Herfindahl–Hirschman index."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

import pacb_models as pm

from ...report.tables import Group, Table
from ..entries import Entries
from ..item import TableItem
from ..numbers import words
from ..showing import Beside, named
from ..study import DELTA, DISTANCES, VERSIONS, Study

SIZE = 1000

#: In the paper's order.
DATASETS = ("mammographic", "spambase", "wdbc", "bupa", "banknote")

LEVELS = (0.8, 0.9, 0.95)

#: Where the caption says how many times the squared posterior's index exceeds the others'.
RATIO_CLAIMED = ("spambase", "bupa")


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


def fill(study: Study, entries: Entries) -> None:
    for dataset in DATASETS:
        entries.add(dataset, "validation_size", "ours", study.tables[dataset].m)
    for dataset, distance, version in product(DATASETS, DISTANCES, VERSIONS):
        problem = study.problem(dataset, SIZE, distance, version)
        q = pm.solve(problem, "frontier").posterior
        for level in LEVELS:
            entries.add(dataset, f"N_{distance}_{level}", version.name, classifiers_for(q, problem.risks, level))
        entries.add(dataset, f"HHI_{distance}", version.name, concentration(q))
        entries.add(dataset, f"support_{distance}", version.name, int(np.count_nonzero(q)))
    for dataset, version in product(RATIO_CLAIMED, VERSIONS):
        linear, squared, kl = (entries.value(dataset, f"HHI_{distance}", version.name) for distance in DISTANCES)
        entries.add(dataset, "HHI_ratio_claimed", version.name, squared / max(linear, kl))
    for column, value in (("H", SIZE), ("H_in_text", SIZE), ("delta", DELTA)):
        entries.add("all", column, "ours", value)


#: Title, columns and decimals of what is measured.
_MEASURES = [(f"N({level})", f"N_{{}}_{level}", 0) for level in LEVELS]
_MEASURES += [("HHI", "HHI_{}", 4), ("support", "support_{}", 0)]


def show(entries: Entries, facts: dict[str, Any]) -> list[Table]:
    rows = []
    for dataset, (measure, column, decimals) in product(DATASETS, _MEASURES):
        row = named(dataset, measure, first=measure == "N(0.8)")
        for distance in DISTANCES:
            row += Beside(decimals=decimals).cells(entries.get(dataset, column.format(distance)))
        rows.append(row)
    groups = (Group("", ("data set", "measure")), *map(Beside().group, DISTANCES))
    title = "Concentration of the optimal posteriors, H = 1000, δ = 0.01 (Table 9)"
    return [Table("sparsity", title, groups, rows, _notes(entries))]


def _notes(entries: Entries) -> list[str]:
    ratios = [entries.get(dataset, "HHI_ratio_claimed") for dataset in RATIO_CLAIMED]
    ours = {key: " and ".join(f"{entry.values[key]:.1f}" for entry in ratios) for key in ("paper", "exact")}
    return words("sparsity", "notes", claimed=" and ".join(entry.printed for entry in ratios), **ours)


ITEM = TableItem("sparsity", fill, show=show)
