"""Table 3: optimal bounds and average test errors of the three distances with the χ² divergence."""

from __future__ import annotations

from itertools import product
from typing import Any

import pacb_models as pm

from ...problems.problem import LEAK_FREE, PAPER_DATASETS
from ...report.tables import Group, Table
from ..entries import Entries
from ..item import TableItem
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
        _panel(entries, "bound", "Optimal bounds, H = 1990, δ = 0.01 (Table 3)", _BOUND_NOTES),
        _panel(entries, "test_error", "Average test errors of the same posteriors (Table 3)", _TEST_NOTES),
    ]


def _panel(entries: Entries, quantity: str, title: str, notes: tuple[str, ...]) -> Table:
    beside = Beside.of(quantity)
    rows = []
    for dataset in _DATASETS:
        row, smallest = named(dataset), tightest(entries, dataset, quantity, "exact")
        for distance in DISTANCES:
            best = "exact" if distance == smallest else ""
            row += beside.cells(entries.get(dataset, f"{quantity}_{distance}"), best)
        rows.append(row)
    groups = (Group("", ("data set",)), *map(beside.group, DISTANCES))
    return Table(f"bounds-{quantity.replace('_', '-')}", title, groups, rows, notes)


def tightest(entries: Entries, dataset: str, quantity: str, key: str) -> str:
    """The distance with the smallest value."""
    return min(DISTANCES, key=lambda distance: entries.value(dataset, f"{quantity}_{distance}", key))


_BOUND_NOTES = (
    "±: difference from print, in per cent of the printed number. Bold: the smallest of the three with exact "
    "constants.",
    "Both halves: paper's constants with risks measured on training and validation examples together, but m the "
    "number of validation examples. This is what the printed bounds seem to be; it certifies nothing.",
    "The linear constant is right in the paper, so its two columns agree. The global minimum is certified in every "
    "cell.",
)
_TEST_NOTES = (
    "Weighted averages of the classifiers' error rates on one test part; ours is another random part than the paper's.",
)

ITEM = TableItem("bounds", "Table 3", fill, show=show)
