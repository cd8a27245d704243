"""Table 3: optimal bounds and average test errors of the three distances with the χ² divergence."""

from __future__ import annotations

from itertools import product

import pacb_models as pm

from ...problems.problem import LEAK_FREE, PAPER_DATASETS
from ...report.tables import Group, Table
from ..cells import CORRECTED, Cells
from ..item import TableItem
from ..numbers import words
from ..showing import Beside, named
from ..study import ALL_CLASSIFIERS, DISTANCES, VERSIONS, Study

_DATASETS = (*PAPER_DATASETS, LEAK_FREE)


def _fill(study: Study, cells: Cells) -> None:
    for dataset, distance, version in product(_DATASETS, DISTANCES, VERSIONS):
        # Milliseconds each; sharing them out over processes would take longer.
        solution = pm.solve(study.problem(dataset, ALL_CLASSIFIERS, distance, version), "frontier")
        cells.add(
            version.name,
            dataset,
            ALL_CLASSIFIERS,
            distance,
            bound=solution.bound,
            test_error=study.test_error(dataset, solution.posterior),
            empirical_risk=solution.empirical_risk,
            support=solution.support_size,
        )


def _show(cells: Cells) -> list[Table]:
    return [
        _panel(cells, "bound", "Optimal bounds, H = 1990, δ = 0.01 (Table 3)", "notes"),
        _panel(cells, "test_error", "Average test errors of the same posteriors (Table 3)", "notes_on_test_errors"),
    ]


def _panel(cells: Cells, quantity: str, title: str, notes: str) -> Table:
    beside = Beside.of(quantity)
    rows = []
    for dataset in _DATASETS:
        row, smallest = named(dataset), tightest(cells, dataset, quantity, CORRECTED)
        for distance in DISTANCES:
            best = CORRECTED if distance == smallest else ""
            row += beside.cells(cells[dataset, ALL_CLASSIFIERS, distance, quantity], best)
        rows.append(row)
    groups = (Group("", ("data set",)), *map(beside.group, DISTANCES))
    return Table(f"bounds-{quantity.replace('_', '-')}", title, groups, rows, words("bounds", notes))


def tightest(cells: Cells, dataset: str, quantity: str, version: str) -> str:
    """The distance with the smallest value."""
    return min(DISTANCES, key=lambda distance: cells[dataset, ALL_CLASSIFIERS, distance, quantity][version])


BOUNDS_TABLE = TableItem("bounds", _fill, show=_show)
