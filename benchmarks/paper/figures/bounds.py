"""Figures of tables of bounds: the paper's constants and exact ones, error counts, change of measure."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from pacb_models.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE, SKY, VERMILION

from ...problems.problem import PAPER_DATASETS
from ...report.drawing import Look
from ..cells import CORRECTED, PRINTED, REPRODUCED, Cells, number
from ..item import FigureItem
from ..study import ALL_CLASSIFIERS, DISTANCES
from ..tables.bounds import tightest
from ..tables.certificates import BOUNDS, beaten, quantity_at
from ..tables.change_of_measure import BOUND_PAIRS
from .style import DISTANCE_LOOK, line_per_dataset, panel_per_dataset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# --- the paper's constants and exact ones -----------------------------------------------------------------------------

#: Height of a distance's line within its data set.
_OFFSETS = {"linear": -0.26, "squared": 0.0, "kl": 0.26}
#: The marks of the versions.
_LEGEND: tuple[tuple[str, str, Look], ...] = (
    ("o", "paper's constant", {"mfc": "white", "ms": 6}),
    ("o", "exact constant", {"ms": 6}),
    ("|", "printed", {"mew": 1.2, "ms": 9}),
)


def _kl_wins(cells: Cells) -> int:
    """On how many data sets kl is the tightest with exact constants."""
    return sum(tightest(cells, dataset, "bound", CORRECTED) == "kl" for dataset in PAPER_DATASETS)


def _draw_headline(cells: Cells) -> Figure:
    """A line for each distance of each data set, from one bound to the other."""
    from matplotlib.lines import Line2D

    figure, axis = line_per_dataset(6.2, "optimal bound on the risk (H = 1990, δ = 0.01)")
    for (line, dataset), distance in product(enumerate(PAPER_DATASETS), DISTANCES):
        values = cells[dataset, ALL_CLASSIFIERS, distance, "bound"]
        height, colour = line + _OFFSETS[distance], DISTANCE_LOOK[distance]["color"]
        marker = DISTANCE_LOOK[distance]["marker"]
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
        Line2D([], [], color="#555555", ls="none", marker=marker, label=label, **look)
        for marker, label, look in _LEGEND
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=6, columnspacing=1.4)
    return figure


HEADLINE = FigureItem("headline", of="bounds", draw=_draw_headline, facts=lambda cells: {"wins": _kl_wins(cells)})


# --- bounds from error counts -----------------------------------------------------------------------------------------

COUNTS_DELTA = 0.05
_COUNTS_LOOK: dict[str, Look] = {
    "chi2-kl": {"marker": "D", "color": GREEN, "ms": 6, "mfc": "white"},
    "kl-kl": {"marker": "s", "color": VERMILION, "ms": 6, "mfc": "white"},
    "renyi-kl": {"marker": "^", "color": ORANGE, "ms": 6, "mfc": "white"},
    "occam": {"marker": "o", "color": SKY, "ms": 6},
    "tie split": {"marker": "o", "color": BLUE, "ms": 6},
    "spread": {"marker": "v", "color": BLACK, "ms": 6},
    "uncorrected": {"marker": "|", "color": GREY, "mew": 1.5, "ms": 11},
}


def _draw_certificates(cells: Cells) -> Figure:
    """A mark for each bound of each data set."""
    figure, axis = line_per_dataset(5.2, f"bound on the risk (H = {ALL_CLASSIFIERS}, δ = {COUNTS_DELTA:g})")
    for (line, dataset), (position, name) in product(enumerate(PAPER_DATASETS), enumerate(BOUNDS)):
        value = cells[dataset, ALL_CLASSIFIERS, name, quantity_at(COUNTS_DELTA)][REPRODUCED]
        height = line + 0.36 * (2 * position / (len(BOUNDS) - 1) - 1)
        axis.plot(value, height, ls="none", label=None if line else BOUNDS[name][0], **_COUNTS_LOOK[name])
    axis.set_xscale("log")
    ticks = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3]
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    wins = min(beaten(cells, COUNTS_DELTA, name, "tie split") for name in list(BOUNDS)[:3])
    title = f"A certificate from error counts is below the PAC-Bayes bounds on {wins} of 9 data sets"
    figure.suptitle(title, fontsize=11)
    figure.legend(loc="outside lower center", ncols=4, columnspacing=1.4)
    return figure


CERTIFICATES = FigureItem("certificates-figure", of="certificates", draw=_draw_certificates)


# --- change of measure ------------------------------------------------------------------------------------------------

_STEPS = (
    ("direct exact", "direct, two-sided constant", ORANGE, "o"),
    ("bound one-sided", "change of measure, one-sided constant", GREY, "s"),
    ("direct one-sided", "direct, one-sided constant", BLUE, "o"),
)


def _draw_shares(cells: Cells) -> Figure:
    """A panel for each data set, a line for each bound: the least bounds as shares of the usual one."""
    names = [name for name, *_ in BOUND_PAIRS]

    def share(dataset: str, name: str, step: str) -> float:
        value, usual = (cells[dataset, ALL_CLASSIFIERS, name, each][REPRODUCED] for each in (step, "bound exact"))
        return float(value / usual)

    def draw(axis: Axes, dataset: str) -> None:
        for step, label, colour, marker in _STEPS:
            shares = [share(dataset, name, step) for name in names]
            look: Look = {"mfc": "white"} if step.startswith("bound") else {}
            axis.plot(shares, range(len(names)), ls="none", marker=marker, color=colour, ms=5, label=label, **look)
        axis.axvline(1.0, color=GREY, lw=0.8)
        axis.set_ylim(len(names) - 0.5, -0.5)
        left = axis.get_subplotspec().is_first_col()
        axis.set_yticks(range(len(names)), names if left else [""] * len(names))

    return panel_per_dataset(draw, 8.6, ("least bound, as a share of the usual one", ""))


CHANGE_OF_MEASURE = FigureItem("change-of-measure-figure", of="change-of-measure", draw=_draw_shares)
