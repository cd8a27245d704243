"""Table 3: optimal bounds and average test errors of the three distances with the χ² divergence."""

from __future__ import annotations

from itertools import product
from typing import Any

import pacb_models as pm

from ...problems.problem import LEAK_FREE, PAPER_DATASETS
from ...report.tables import Cell, Group, Table
from ..entries import Collector, Entries
from ..item import Results, TableItem, table_result
from ..showing import NAMES, BesidePrint
from ..study import ALL_CLASSIFIERS, DISTANCES, VERSIONS, Study


def compute(study: Study, results: Results) -> dict[str, Any]:
    cells = Collector("bounds")
    cases = product((*PAPER_DATASETS, LEAK_FREE), DISTANCES, VERSIONS)
    for dataset, distance, version in cases:
        problem = study.problem(dataset, ALL_CLASSIFIERS, distance, version)
        if problem is None:
            continue
        # Milliseconds each; sharing them out over processes would take longer.
        solution = pm.solve(problem, "frontier")
        for quantity, value in (
            ("bound", solution.bound),
            ("test_error", study.test_error(dataset, solution.posterior)),
            ("empirical_risk", solution.empirical_risk),
            ("support", solution.support_size),
        ):
            cells.add(dataset, f"{quantity}_{distance}", version.name, value)
    return table_result(cells.entries())


def show(entries: Entries, facts: dict[str, Any]) -> list[Table]:
    return [
        _panel(entries, "bound", "Optimal bounds, H = 1990, δ = 0.01 (Table 3)", _bound_notes()),
        _panel(entries, "test_error", "Average test errors of the same posteriors (Table 3)", _test_notes()),
    ]


def _panel(entries: Entries, quantity: str, title: str, notes: tuple[str, ...]) -> Table:
    beside = BesidePrint.of(quantity, entries)
    groups = (Group("", ("data set",)), *(beside.group(distance) for distance in DISTANCES))
    rows = []
    for dataset in (*PAPER_DATASETS, LEAK_FREE):
        smallest = tightest(entries, dataset, quantity, "exact")
        row = [Cell(NAMES[dataset])]
        for distance in DISTANCES:
            best = "exact" if distance == smallest else ""
            row += beside.cells(entries.get(dataset, f"{quantity}_{distance}"), best)
        rows.append(tuple(row))
    return Table(f"bounds-{quantity.replace('_', '-')}", title, groups, tuple(rows), notes=notes)


def tightest(entries: Entries, dataset: str, quantity: str, key: str) -> str:
    """The distance with the smallest value."""
    return min(DISTANCES, key=lambda distance: entries.value(dataset, f"{quantity}_{distance}", key))


def _bound_notes() -> tuple[str, ...]:
    return (
        "±: difference from print, in per cent of the printed number. Bold: the smallest of the three with exact "
        "constants.",
        "Both halves: paper's constants with risks measured on training and validation examples together, but m the "
        "number of validation examples. This is what the printed bounds seem to be; it certifies nothing.",
        "The linear constant is right in the paper, so its two columns agree. The global minimum is certified in "
        "every cell.",
    )


def _test_notes() -> tuple[str, ...]:
    return (
        "Weighted averages of the classifiers' error rates on one test part; ours is another random part than the "
        "paper's.",
    )


ITEM = TableItem("bounds", "Table 3", compute, show=show)
