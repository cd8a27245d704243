"""Figures of bounds: the paper's against exact ones, solver by solver, along the iterations, from error counts."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

import pacb_models as pm
from pacb_models.plots.palette import Palette
from pacb_models.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE, SKY, VERMILION

from ...problems.problem import PAPER_DATASETS, PAPER_SIZES
from ...report.drawing import Look
from ..cells import CORRECTED, PRINTED, REPRODUCED, Cells, number
from ..item import FigureItem
from ..study import ALL_CLASSIFIERS, DISTANCES, PAPER, Study
from ..tables.bounds import tightest
from ..tables.certificates import BOUNDS, beaten, quantity_at
from ..tables.change_of_measure import BOUND_PAIRS
from ..tables.fp_vs_ccp import SMALL_SIZE, outcomes_from
from ..tables.fp_vs_solver import as_meant, letter_of
from .style import DISTANCE_LOOK, grid_of_axes, legend_below, line_per_dataset, panel_per_dataset

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


HEADLINE = FigureItem("headline", needs="bounds", draw=_draw_headline, facts=lambda cells: {"wins": _kl_wins(cells)})


# --- solver by solver -------------------------------------------------------------------------------------------------

#: A method of the table ``fp-vs-solver`` beside its own.
_ONE_SIDED = "one-sided CCP"


def _fill_against_h(study: Study, cells: Cells) -> None:
    cases = list(product(PAPER_DATASETS, PAPER_SIZES))
    problems = [(study.problem(dataset, size, "kl", PAPER),) for dataset, size in cases]
    for place, bound in zip(cases, study.map(_ONE_SIDED, _one_sided, problems)):
        cells.add(REPRODUCED, *place, _ONE_SIDED, bound=bound)


def _one_sided(problem: pm.BoundProblem) -> float:
    return pm.solve(problem, "ccp", merge=False).bound


_PALETTE = Palette(["fixed-point", "ipopt", "ccp"])
_FIXED_POINT, _IPOPT, _CCP = (_PALETTE[name]["color"] for name in ("fixed-point", "ipopt", "ccp"))
_MARK: Look = {"mfc": "none", "ls": "none", "ms": 6}
#: How ours are drawn, in this order: the method, its version, the words and the look.
_OURS: tuple[tuple[str, str, str, Look], ...] = (
    ("fixed-point", REPRODUCED, "fixed point", {"color": _FIXED_POINT}),
    ("ipopt", REPRODUCED, "Ipopt, lifted", {"color": _IPOPT, "marker": "+", **_MARK}),
    ("direct", REPRODUCED, "Ipopt, direct, defaults", {"color": _IPOPT, "marker": "v", **_MARK}),
    (_ONE_SIDED, REPRODUCED, _ONE_SIDED, {"color": _CCP, "marker": "s", **_MARK}),
    ("frontier", CORRECTED, "minimum, exact constants", {"color": BLACK, "ls": "--"}),
)


def _draw_against_h(cells: Cells) -> Figure:
    """A panel for each data set."""

    def draw(axis: Axes, dataset: str) -> None:
        fixed_point, ipopt = (
            [number(as_meant(cells, dataset, size, method, "bound")[PRINTED]) for size in PAPER_SIZES]
            for method in ("fixed-point", "ipopt")
        )
        printed = "printed: fixed point", "printed: Ipopt, with its letter"
        axis.plot(PAPER_SIZES, fixed_point, label=printed[0], color=_FIXED_POINT, marker="o", mfc="none", ls=":")
        axis.plot(PAPER_SIZES, ipopt, label=printed[1], color=_IPOPT, marker="x", ls="none")
        for size, bound in zip(PAPER_SIZES, ipopt):
            if letter := letter_of(cells, dataset, size, "test_error_status"):
                beside: Look = {"xytext": (3, 3), "textcoords": "offset points", "fontsize": 8}
                axis.annotate(letter, (size, bound), color=_IPOPT, **beside)
        for method, version, words, look in _OURS:
            bounds = [cells[dataset, size, method, "bound"].get(version) for size in PAPER_SIZES]
            axis.plot(PAPER_SIZES, bounds, label=f"ours: {words}", **look)
        axis.margins(y=0.1)
        axis.set(xscale="log", ylim=(0.0, None))
        axis.set_xticks(PAPER_SIZES, map(str, PAPER_SIZES))
        axis.set_xticks([], minor=True)

    return panel_per_dataset(draw, 8.2, ("number of classifiers H", "kl bound"))


AGAINST_H = FigureItem("bound-against-h", _fill_against_h, needs="fp-vs-solver", draw=_draw_against_h)


# --- the convex–concave procedures ------------------------------------------------------------------------------------

CCP_DATASET = "wdbc"
CCP_STARTS = 20

#: The procedures, with their words, colours and lines.
_VARIANTS = {"paper": ("the paper’s CCP", GREY, "--"), "one-sided": ("one-sided CCP", _CCP, "-")}

#: Gaps below this are rounding; a logarithmic axis needs an end.
FLOOR = 1e-16


def _fill_iterates(study: Study, cells: Cells) -> None:
    """The bounds of both procedures, iteration by iteration, from the same starts."""
    problem = study.problem(CCP_DATASET, SMALL_SIZE, "kl", PAPER)
    cells.add(REPRODUCED, CCP_DATASET, SMALL_SIZE, "frontier", bound=pm.solve(problem, "frontier").bound)
    for variant in _VARIANTS:
        details = [outcome.details for outcome in outcomes_from(problem, variant, CCP_STARTS, study.seed)]
        furthest = float(np.nanmax([each["displacement"] for each in details]))
        histories = [each["history"] for each in details]
        cells.add(REPRODUCED, CCP_DATASET, SMALL_SIZE, variant, histories=histories, displacement=furthest)


def _draw_iterates(cells: Cells) -> Figure:
    """Bounds, and gaps to the minimum."""
    found = {place.method: values for place, values in cells.rows().items()}
    minimum = found["frontier"]["bound"]
    figure, (bounds, gaps) = grid_of_axes(1, 2, 8.2, 3.7)
    last = max(map(len, found["one-sided"]["histories"])) - 1
    for variant, (words, colour, dashes) in _VARIANTS.items():
        for place, history in enumerate(found[variant]["histories"]):
            # A procedure that rests stays where it is.
            values = np.array(history + [history[-1]] * (last + 1 - len(history)))
            style: Look = {"color": colour, "ls": dashes, "marker": ".", "lw": 1.0, "alpha": 0.8}
            bounds.plot(values, label=words if place == 0 else None, **style)
            gaps.plot(np.maximum(values - minimum, FLOOR), **style)
    bounds.axhline(minimum, color=BLACK, lw=1.0, ls=":", label="minimum")
    gaps.set(yscale="log", ylabel="bound − minimum", xlabel="iteration", ylim=(FLOOR / 3, 1.0))
    bounds.set(ylabel="kl bound", xlabel="iteration")
    for axis in (bounds, gaps):
        axis.set_xticks(range(last + 1))
    legend_below(figure, bounds, 3)
    return figure


ITERATES = FigureItem("ccp-iterates", _fill_iterates, uses=("seed",), draw=_draw_iterates)


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


CERTIFICATES = FigureItem("certificates-figure", needs="certificates", draw=_draw_certificates)


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


CHANGE_OF_MEASURE = FigureItem("change-of-measure-figure", needs="change-of-measure", draw=_draw_shares)
