"""Table 3, optimal χ² bounds and average test errors of the three distances, and the picture that opens the page."""

from __future__ import annotations

from itertools import product

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import pacb_models as pm

from ...problems.problem import LEAK_FREE, PAPER_DATASETS
from ...report.drawing import Look
from ...report.tables import Group, Table
from ..cells import CORRECTED, PRINTED, REPRODUCED, Cells, number
from ..item import Item
from ..numbers import words
from ..showing import Beside, named
from ..study import ALL_CLASSIFIERS, DISTANCES, VERSIONS, Study
from ..style import DISTANCE_LOOK, line_per_dataset

_DATASETS = (*PAPER_DATASETS, LEAK_FREE)


def _fill(study: Study, cells: Cells) -> None:
    for dataset, distance, version in product(_DATASETS, DISTANCES, VERSIONS):
        # Milliseconds each; sharing them out over processes would take longer.
        solution = pm.solve(study.problem(dataset, ALL_CLASSIFIERS, distance, version), "frontier")
        found = {"bound": solution.bound, "test_error": study.test_error(dataset, solution.posterior)}
        found |= {"empirical_risk": solution.empirical_risk, "support": solution.support_size}
        cells.add(version.name, dataset, ALL_CLASSIFIERS, distance, **found)


def _show(cells: Cells) -> list[Table]:
    return [
        _panel(cells, "bound", "Optimal bounds, H = 1990, δ = 0.01 (Table 3)", "notes"),
        _panel(cells, "test_error", "Average test errors of the same posteriors (Table 3)", "notes_on_test_errors"),
    ]


def _panel(cells: Cells, quantity: str, title: str, notes: str) -> Table:
    beside, rows = Beside.of(quantity), []
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


BOUNDS_TABLE = Item("bounds", _fill, show=_show)

# --- the paper's constants and exact ones -----------------------------------------------------------------------------

#: The marks of the versions.
_LEGEND: tuple[tuple[str, str, Look], ...] = (
    ("o", "paper's constant", {"mfc": "white", "ms": 6}),
    ("o", "exact constant", {"ms": 6}),
    ("|", "printed", {"mew": 1.2, "ms": 9}),
)


def _kl_wins(cells: Cells) -> int:
    """On how many data sets kl is the tightest with exact constants."""
    return sum(tightest(cells, dataset, "bound", CORRECTED) == "kl" for dataset in PAPER_DATASETS)


def _draw(cells: Cells) -> Figure:
    """A line for each distance of each data set, from one bound to the other."""
    figure, axis = line_per_dataset(6.2, "optimal bound on the risk (H = 1990, δ = 0.01)")
    for (line, dataset), (place, distance) in product(enumerate(PAPER_DATASETS), enumerate(DISTANCES)):
        values = cells[dataset, ALL_CLASSIFIERS, distance, "bound"]
        height, look = line + 0.26 * (place - 1), DISTANCE_LOOK[distance]
        colour, marker = look["color"], look["marker"]
        axis.plot([values[CORRECTED], values[REPRODUCED]], [height, height], color=colour, lw=1.6)
        axis.plot(values[REPRODUCED], height, marker=marker, mfc="white", mec=colour, ms=6)
        axis.plot(values[CORRECTED], height, marker=marker, color=colour, ms=6)
        axis.plot(number(values[PRINTED]), height, marker="|", color="#444444", ms=9, mew=1.2)
    axis.set_xlim(0.0, 0.9)
    title = f"With the right constants kl turns from the loosest χ² bound\ninto the tightest on {_kl_wins(cells)} of 9 "
    axis.set_title(f"{title}data sets", fontsize=11)
    handles = [
        Line2D([], [], color=look["color"], marker=look["marker"], ms=6, label=distance)
        for distance, look in DISTANCE_LOOK.items()
    ]
    handles += [
        Line2D([], [], color="#555555", ls="none", marker=mark, label=label, **look) for mark, label, look in _LEGEND
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=6, columnspacing=1.4)
    return figure


HEADLINE = Item("headline", of="bounds", draw=_draw, facts=lambda cells: {"wins": _kl_wins(cells)})
