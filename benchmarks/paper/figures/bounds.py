"""Figures of bounds: the paper's against exact ones, solver by solver, along the iterations, from error counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import pacb_models as pm
from pacb_models.plots.palette import Palette
from pacb_models.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE, SKY, VERMILION

from ...problems.problem import PAPER_DATASETS
from ..cells import CORRECTED, PRINTED, REPRODUCED, number
from ..item import FigureItem, Results, cells_of
from ..study import ALL_CLASSIFIERS, DISTANCES, PAPER, Study
from ..tables.bounds import tightest
from ..tables.certificates import BOUNDS, beaten, quantity_at
from ..tables.change_of_measure import BOUND_PAIRS
from ..tables.fp_vs_ccp import SMALL_SIZE, outcomes_from
from ..tables.fp_vs_solver import SIZES, as_meant, letter_of
from .style import DISTANCE_LOOK, grid_of_axes, legend_below, line_per_dataset, panel_per_dataset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# --- the paper's constants and exact ones -----------------------------------------------------------------------------

#: Height of a distance's line within its data set.
_OFFSETS = {"linear": -0.26, "squared": 0.0, "kl": 0.26}


def headline(study: Study, results: Results) -> dict[str, Any]:
    """Printed bounds and ours with both constants, and which distance has the smallest."""
    cells = cells_of(results["bounds"])
    datasets = {}
    for dataset in PAPER_DATASETS:
        bounds = {distance: cells[dataset, ALL_CLASSIFIERS, distance, "bound"] for distance in DISTANCES}
        datasets[dataset] = {
            "tightest": {each: tightest(cells, dataset, "bound", each) for each in (REPRODUCED, CORRECTED)},
            "distances": {
                distance: {PRINTED: number(values[PRINTED]), **{each: values[each] for each in (REPRODUCED, CORRECTED)}}
                for distance, values in bounds.items()
            },
        }
    return {"datasets": datasets}


def kl_wins(result: dict[str, Any]) -> int:
    """On how many data sets kl is the tightest with exact constants."""
    return sum(panel["tightest"][CORRECTED] == "kl" for panel in result["datasets"].values())


def draw_headline(result: dict[str, Any]) -> Figure:
    """A line for each distance of each data set, from one bound to the other."""
    from matplotlib.lines import Line2D

    figure, axis = line_per_dataset(6.2, "optimal bound on the risk (H = 1990, δ = 0.01)")
    for line, panel in enumerate(result["datasets"].values()):
        for distance, values in panel["distances"].items():
            height, colour = line + _OFFSETS[distance], DISTANCE_LOOK[distance]["color"]
            marker = DISTANCE_LOOK[distance]["marker"]
            axis.plot([values[CORRECTED], values[REPRODUCED]], [height, height], color=colour, lw=1.6)
            axis.plot(values[REPRODUCED], height, marker=marker, mfc="white", mec=colour, ms=6)
            axis.plot(values[CORRECTED], height, marker=marker, color=colour, ms=6)
            axis.plot(values[PRINTED], height, marker="|", color="#444444", ms=9, mew=1.2)
    axis.set_xlim(0.0, 0.9)
    title = f"With the right constants kl turns from the loosest χ² bound\ninto the tightest on {kl_wins(result)} of 9 "
    axis.set_title(f"{title}data sets", fontsize=11)
    handles = [
        Line2D([], [], color=look["color"], marker=look["marker"], ms=6, label=distance)
        for distance, look in DISTANCE_LOOK.items()
    ]
    grey: dict[str, Any] = {"color": "#555555", "ls": "none", "ms": 6}
    handles += [
        Line2D([], [], marker="o", mfc="white", label="paper's constant", **grey),
        Line2D([], [], marker="o", label="exact constant", **grey),
        Line2D([], [], marker="|", mew=1.2, label="printed", **(grey | {"ms": 9})),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=6, columnspacing=1.4)
    return figure


HEADLINE = FigureItem(
    "headline", headline, needs=("bounds",), draw=draw_headline, facts=lambda result: {"wins": kl_wins(result)}
)


# --- solver by solver -------------------------------------------------------------------------------------------------

#: Methods of the table ``fp-vs-solver``, and versions.
_FROM_TABLE = {
    "fixed point": ("fixed-point", REPRODUCED),
    "Ipopt, lifted": ("ipopt", REPRODUCED),
    "Ipopt, direct, defaults": ("direct", REPRODUCED),
    "exact constants": ("frontier", CORRECTED),
}


def against_h(study: Study, results: Results) -> dict[str, Any]:
    """The kl bound of every solver at every size."""
    cells = cells_of(results["fp-vs-solver"])
    cases = [(dataset, size) for dataset in PAPER_DATASETS for size in SIZES]
    ccp = study.map(
        "one-sided CCP", _one_sided, [(study.problem(dataset, size, "kl", PAPER),) for dataset, size in cases]
    )
    panels: dict[str, Any] = {}
    for (dataset, size), bound in zip(cases, ccp):
        panel = panels.setdefault(dataset, {"letters": []})
        for series, (method, version) in _FROM_TABLE.items():
            panel.setdefault(series, []).append(cells[dataset, size, method, "bound"].get(version))
        panel.setdefault("one-sided CCP", []).append(bound)
        for series, method in (("printed fixed point", "fixed-point"), ("printed Ipopt", "ipopt")):
            panel.setdefault(series, []).append(number(as_meant(cells, dataset, size, method, "bound")[PRINTED]))
        panel["letters"].append(letter_of(cells, dataset, size, "test_error_status"))
    return {"sizes": list(SIZES), "panels": panels}


def _one_sided(problem: pm.BoundProblem) -> float:
    return pm.solve(problem, "ccp", merge=False).bound


_PALETTE = Palette(["fixed-point", "ipopt", "ccp"])
#: How ours are drawn, in this order.
_OURS: dict[str, dict[str, Any]] = {
    "fixed point": {"color": _PALETTE["fixed-point"]["color"]},
    "Ipopt, lifted": {"color": _PALETTE["ipopt"]["color"], "marker": "+", "mfc": "none", "ls": "none", "ms": 6},
    "Ipopt, direct, defaults": {
        "color": _PALETTE["ipopt"]["color"],
        "marker": "v",
        "mfc": "none",
        "ls": "none",
        "ms": 6,
    },
    "one-sided CCP": {"color": _PALETTE["ccp"]["color"], "marker": "s", "mfc": "none", "ls": "none", "ms": 6},
}


def draw_against_h(result: dict[str, Any]) -> Figure:
    """A panel for each data set."""
    sizes = result["sizes"]

    def draw(axis: Axes, panel: dict[str, Any]) -> None:
        fixed_point, ipopt = panel["printed fixed point"], panel["printed Ipopt"]
        look: dict[str, Any] = {"color": _PALETTE["fixed-point"]["color"], "marker": "o", "mfc": "none", "ls": ":"}
        axis.plot(sizes, fixed_point, label="printed: fixed point", **look)
        look = {"color": _PALETTE["ipopt"]["color"], "marker": "x", "ls": "none"}
        axis.plot(sizes, ipopt, label="printed: Ipopt, with its letter", **look)
        for place, letter in zip(zip(sizes, ipopt), panel["letters"]):
            if letter:
                axis.annotate(letter, place, xytext=(3, 3), textcoords="offset points", color=look["color"], fontsize=8)
        for series, style in _OURS.items():
            axis.plot(sizes, panel[series], label=f"ours: {series}", **style)
        axis.plot(sizes, panel["exact constants"], color=BLACK, ls="--", label="ours: minimum, exact constants")
        axis.margins(y=0.1)
        axis.set(xscale="log", ylim=(0.0, None))
        axis.set_xticks(sizes, map(str, sizes))
        axis.set_xticks([], minor=True)

    return panel_per_dataset(result["panels"], draw, 8.2, ("number of classifiers H", "kl bound"))


AGAINST_H = FigureItem("bound-against-h", against_h, needs=("fp-vs-solver",), draw=draw_against_h)


# --- the convex–concave procedures ------------------------------------------------------------------------------------

CCP_DATASET = "wdbc"
CCP_STARTS = 20

#: Gaps below this are rounding; a logarithmic axis needs an end.
FLOOR = 1e-16


def iterates(study: Study, results: Results) -> dict[str, Any]:
    """The bounds of both procedures, iteration by iteration, from the same starts."""
    problem = study.problem(CCP_DATASET, SMALL_SIZE, "kl", PAPER)
    histories, displacements = {}, {}
    for variant in ("paper", "one-sided"):
        details = [outcome.details for outcome in outcomes_from(problem, variant, CCP_STARTS, study.seed)]
        histories[variant] = [each["history"] for each in details]
        displacements[variant] = float(np.nanmax([each["displacement"] for each in details]))
    return {"minimum": pm.solve(problem, "frontier").bound, "histories": histories, "displacements": displacements}


def draw_iterates(result: dict[str, Any]) -> Figure:
    """Bounds, and gaps to the minimum."""
    figure, (bounds, gaps) = grid_of_axes(1, 2, 8.2, 3.7)
    last = max(len(history) for history in result["histories"]["one-sided"]) - 1
    for variant, colour, look in (("paper", GREY, "--"), ("one-sided", _PALETTE["ccp"]["color"], "-")):
        for place, history in enumerate(result["histories"][variant]):
            # A procedure that rests stays where it is.
            values = np.array(history + [history[-1]] * (last + 1 - len(history)))
            label = f"{'the paper’s' if variant == 'paper' else variant} CCP" if place == 0 else None
            style: dict[str, Any] = {"color": colour, "ls": look, "marker": ".", "lw": 1.0, "alpha": 0.8}
            bounds.plot(values, label=label, **style)
            gaps.plot(np.maximum(values - result["minimum"], FLOOR), **style)
    bounds.axhline(result["minimum"], color=BLACK, lw=1.0, ls=":", label="minimum")
    gaps.set(yscale="log", ylabel="bound − minimum", xlabel="iteration", ylim=(FLOOR / 3, 1.0))
    bounds.set(ylabel="kl bound", xlabel="iteration")
    for axis in (bounds, gaps):
        axis.set_xticks(range(last + 1))
    legend_below(figure, bounds, 3)
    return figure


ITERATES = FigureItem("ccp-iterates", iterates, uses=("seed",), draw=draw_iterates)


# --- bounds from error counts -----------------------------------------------------------------------------------------

COUNTS_DELTA = 0.05
_COUNTS_LOOK: dict[str, dict[str, Any]] = {
    "chi2-kl": {"marker": "D", "color": GREEN, "mfc": "white"},
    "kl-kl": {"marker": "s", "color": VERMILION, "mfc": "white"},
    "renyi-kl": {"marker": "^", "color": ORANGE, "mfc": "white"},
    "occam": {"marker": "o", "color": SKY},
    "tie split": {"marker": "o", "color": BLUE},
    "spread": {"marker": "v", "color": BLACK},
    "uncorrected": {"marker": "|", "color": GREY, "mew": 1.5, "ms": 11},
}


def certificates(study: Study, results: Results) -> dict[str, Any]:
    """The bounds of 1990 SVMs, and how often one from counts is below the PAC-Bayes bounds."""
    cells, quantity = cells_of(results["certificates"]), quantity_at(COUNTS_DELTA)
    bounds = {
        dataset: {name: cells[dataset, ALL_CLASSIFIERS, name, quantity][REPRODUCED] for name in BOUNDS}
        for dataset in PAPER_DATASETS
    }
    wins = {name: beaten(cells, COUNTS_DELTA, name, "tie split") for name in list(BOUNDS)[:3]}
    return {"bounds": bounds, "wins": wins}


def draw_certificates(result: dict[str, Any]) -> Figure:
    """A mark for each bound of each data set."""
    figure, axis = line_per_dataset(5.2, f"bound on the risk (H = {ALL_CLASSIFIERS}, δ = {COUNTS_DELTA:g})")
    for line, values in enumerate(result["bounds"].values()):
        for position, (name, value) in enumerate(values.items()):
            height = line + 0.36 * (2 * position / (len(values) - 1) - 1)
            label = BOUNDS[name][0] if line == 0 else None
            axis.plot(value, height, ls="none", label=label, **({"ms": 6} | _COUNTS_LOOK[name]))
    axis.set_xscale("log")
    ticks = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3]
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    wins = min(result["wins"].values())
    title = f"A certificate from error counts is below the PAC-Bayes bounds on {wins} of 9 data sets"
    figure.suptitle(title, fontsize=11)
    figure.legend(loc="outside lower center", ncols=4, columnspacing=1.4)
    return figure


CERTIFICATES = FigureItem("certificates-figure", certificates, needs=("certificates",), draw=draw_certificates)


# --- change of measure ------------------------------------------------------------------------------------------------

_STEPS = (
    ("direct exact", "direct, two-sided constant", ORANGE, "o"),
    ("bound one-sided", "change of measure, one-sided constant", GREY, "s"),
    ("direct one-sided", "direct, one-sided constant", BLUE, "o"),
)


def _shares(study: Study, results: Results) -> dict[str, Any]:
    """The least bounds as shares of the usual one."""
    cells, names = cells_of(results["change-of-measure"]), [name for name, *_ in BOUND_PAIRS]

    def share(dataset: str, name: str, step: str) -> float:
        value, usual = (cells[dataset, ALL_CLASSIFIERS, name, each][REPRODUCED] for each in (step, "bound exact"))
        return value / usual

    ratios = {
        dataset: {step: [share(dataset, name, step) for name in names] for step, *_ in _STEPS}
        for dataset in PAPER_DATASETS
    }
    return {"pairs": names, "ratios": ratios}


def draw_shares(result: dict[str, Any]) -> Figure:
    """A panel for each data set, a line for each bound."""
    names = result["pairs"]

    def draw(axis: Axes, steps: dict[str, list[float]]) -> None:
        for step, label, colour, marker in _STEPS:
            look: dict[str, Any] = {"mfc": "white"} if step.startswith("bound") else {}
            look |= {"ls": "none", "marker": marker, "color": colour, "ms": 5, "label": label}
            axis.plot(steps[step], range(len(names)), **look)
        axis.axvline(1.0, color=GREY, lw=0.8)
        axis.set_ylim(len(names) - 0.5, -0.5)
        left = axis.get_subplotspec().is_first_col()
        axis.set_yticks(range(len(names)), names if left else [""] * len(names))

    return panel_per_dataset(result["ratios"], draw, 8.6, ("least bound, as a share of the usual one", ""))


CHANGE_OF_MEASURE = FigureItem("change-of-measure-figure", _shares, needs=("change-of-measure",), draw=draw_shares)
