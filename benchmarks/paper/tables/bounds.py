"""Table 3: optimal bounds and average test errors of the three distances with the χ² divergence."""

from __future__ import annotations

from itertools import product
from typing import Any

import pacb_models as pm

from ...problems.problem import LEAK_FREE, PAPER_DATASETS
from ...report.tables import Group, Table
from ..entries import Entries
from ..item import TableItem
from ..numbers import words
from ..showing import Beside, named
from ..study import ALL_CLASSIFIERS, DISTANCES, VERSIONS, Study

_DATASETS = (*PAPER_DATASETS, LEAK_FREE)


def fill(study: Study, entries: Entries) -> None:
    for dataset, distance, version in product(_DATASETS, DISTANCES, VERSIONS):
        # Milliseconds each; sharing them out over processes would take longer.
        solution = pm.solve(study.problem(dataset, ALL_CLASSIFIERS, distance, version), "frontier")
        for quantity, value in (
            ("bound", solution.bound),
            ("test_error", study.test_error(dataset, solution.posterior)),
            ("empirical_risk", solution.empirical_risk),
            ("support", solution.support_size),
        ):
            entries.add(dataset, f"{quantity}_{distance}", version.name, value)


def show(entries: Entries, facts: dict[str, Any]) -> list[Table]:
    return [
        _panel(entries, "bound", "Optimal bounds, H = 1990, δ = 0.01 (Table 3)", "notes"),
        _panel(entries, "test_error", "Average test errors of the same posteriors (Table 3)", "notes_on_test_errors"),
    ]


def _panel(entries: Entries, quantity: str, title: str, notes: str) -> Table:
    beside = Beside.of(quantity)
    rows = []
    for dataset in _DATASETS:
        row, smallest = named(dataset), tightest(entries, dataset, quantity, "exact")
        for distance in DISTANCES:
            best = "exact" if distance == smallest else ""
            row += beside.cells(entries.get(dataset, f"{quantity}_{distance}"), best)
        rows.append(row)
    groups = (Group("", ("data set",)), *map(beside.group, DISTANCES))
    return Table(f"bounds-{quantity.replace('_', '-')}", title, groups, rows, words("bounds", notes))


def tightest(entries: Entries, dataset: str, quantity: str, key: str) -> str:
    """The distance with the smallest value."""
    return min(DISTANCES, key=lambda distance: entries.value(dataset, f"{quantity}_{distance}", key))


ITEM = TableItem("bounds", fill, show=show)
