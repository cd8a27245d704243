"""Figures of optimal posteriors: their supports, weights and distribution functions (Figures 1, 4, 5 and 6)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import pacb_models as pm
from pacb_models.plots.style import BLACK, BLUE, GREY, VERMILION

from ...problems.problem import PAPER_DATASETS
from ..item import FigureItem, Results
from ..showing import NAMES
from ..study import ALL_CLASSIFIERS, BOTH_HALVES, DISTANCES, EXACT, PAPER, Study, Version
from ..tables.sparsity import LARGE_SIZE, mass_by_risk
from .style import DISTANCE_LOOK, SERIES, grid_of_axes, legend_below, line, panel_per_dataset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# --- Figure 1: the linear bound B*(H') and its two components against the support size H' -----------------------------

#: The paper does not say which data set it shows. Here one whose support is full and one where it ends early.
CASES = (("bupa", 0.01), ("ionosphere", 0.1))


def supports(study: Study, results: Results) -> dict[str, Any]:
    """The curves of both cases."""
    return {"panels": [_curves(study, dataset, delta) for dataset, delta in CASES]}


def _curves(study: Study, dataset: str, delta: float) -> dict[str, Any]:
    problem = study.problem(dataset, ALL_CLASSIFIERS, "linear", PAPER, delta=delta)
    solution = pm.solve(problem, "subset-search")
    mean, root = components(problem.risks, problem.coefficient)
    return {
        "dataset": dataset,
        "delta": delta,
        "m": problem.m,
        "best_size": solution.details["best_size"],
        "bound": solution.bound,
        "mean": mean.tolist(),
        "root": [None if np.isnan(value) else value for value in root.tolist()],
    }


def components(risks: np.ndarray, coefficient: float) -> tuple[np.ndarray, np.ndarray]:
    r"""The terms of :math:`B^*(H') = \bar l_{H'} + \sqrt{c^2 H/H' - var_{H'}}` for all H'; NaN without a root."""
    ordered = np.sort(risks)
    sizes = np.arange(1, len(risks) + 1)
    shifted = ordered - ordered[0]
    mean = np.cumsum(shifted) / sizes
    variance = np.maximum(np.cumsum(shifted**2) / sizes - mean**2, 0.0)
    radicand = coefficient**2 * len(risks) / sizes - variance
    return ordered[0] + mean, np.sqrt(np.where(radicand >= 0.0, radicand, np.nan))


def draw_supports(result: dict[str, Any]) -> Figure:
    """Mean risk, root term and their sum."""
    figure, axes = grid_of_axes(1, len(result["panels"]), 8.0, 3.6)
    for axis, panel in zip(axes, result["panels"]):
        mean, root = np.array(panel["mean"]), np.array(panel["root"], dtype=float)
        sizes, best = np.arange(1, len(mean) + 1), panel["best_size"]
        total = mean + root
        axis.plot(sizes, mean, color=BLUE, ls="--", label="mean risk of the H′ best")
        axis.plot(sizes, root, color=VERMILION, ls="-.", label="root term")
        axis.plot(sizes[:best], total[:best], color=BLACK, label="their sum, B*(H′)")
        if best < len(sizes):
            axis.plot(sizes[best:], total[best:], color=GREY, lw=1.0, label="beyond H* (negative weights)")
        axis.plot(best, panel["bound"], "o", color=BLACK)
        offset, side = (-4, "right") if best == len(sizes) else (4, "left")
        look: dict[str, Any] = {"textcoords": "offset points", "ha": side, "fontsize": 8}
        axis.annotate(f"H* = {best}\nB* = {panel['bound']:.4f}", (best, panel["bound"]), xytext=(offset, 8), **look)
        axis.set(title=f"{NAMES[panel['dataset']]}, m = {panel['m']}, δ = {panel['delta']}", xlabel="support size H′")
        axis.set_ylim(0.0, min(1.2, 1.1 * np.nanmax(total[10:])))
    legend_below(figure, axes[-1], 4)
    return figure


SUPPORTS = FigureItem("linear-supports", supports, draw=draw_supports)


# --- Figures 4 and 5: optimal weights against risk for three values of δ ----------------------------------------------

_DELTAS = (0.01, 0.05, 0.1)

#: The paper draws the weights of its fixed point and of its solver.
COMPARED = {"subset-search": "Algorithm 1", "ipopt": "Ipopt"}


def weights(
    study: Study, results: Results, dataset: str, distance: str, versions: tuple[tuple[str, Version], ...]
) -> dict[str, Any]:
    """The weights of every version and δ."""
    panels = []
    for title, version in versions:
        table = study.tables[dataset]
        # The captions count all examples that are not in the test part.
        m = table.training_size + table.validation_size if version.both_halves else table.m
        curves = [
            _curve(study.problem(dataset, ALL_CLASSIFIERS, distance, version, delta=delta).replace(m=m))
            for delta in _DELTAS
        ]
        panels.append({"title": title.format(m=m), "curves": curves})
    return {"dataset": dataset, "distance": distance, "panels": panels}


def _curve(problem: pm.BoundProblem) -> dict[str, Any]:
    solution = pm.solve(problem, "frontier")
    risks, first = np.unique(problem.risks, return_index=True)
    inside = problem.risks[solution.posterior > 0.0]
    others = [name for name in COMPARED if pm.available_solvers()[name].available]
    return {
        "delta": problem.delta,
        "bound": solution.bound,
        "support": solution.support_size,
        "last_risk": float(inside.max()),
        # Classifiers of equal risk have equal weight.
        "risks": risks.tolist(),
        "weights": solution.posterior[first].tolist(),
        "differences": {
            name: float(np.abs(pm.solve(problem, name, merge=False).posterior - solution.posterior).max())
            for name in others
        },
    }


def draw_weights(result: dict[str, Any]) -> Figure:
    """A panel for each version, a curve for each δ."""
    panels = result["panels"]
    figure, axes = grid_of_axes(1, len(panels), 1.2 + 3.2 * len(panels), 3.7)
    for axis, panel in zip(axes, panels):
        axis.axhline(1.0 / ALL_CLASSIFIERS, color="#999999", lw=1.0, label="prior")
        for curve, look in zip(panel["curves"], SERIES):
            axis.plot(curve["risks"], curve["weights"], label=f"δ = {curve['delta']}", **look)
            if curve["support"] < ALL_CLASSIFIERS:
                axis.axvline(curve["last_risk"], color=look["color"], lw=0.8, ls=":")
        supports = ", ".join(str(curve["support"]) for curve in panel["curves"])
        axis.set_title(f"{panel['title']}\nH* = {supports}", fontsize=9)
        axis.set(xlabel="empirical risk", ylim=(0.0, None))
        axis.ticklabel_format(axis="y", style="sci", scilimits=(0, 0), useMathText=True)
    axes[0].set_ylabel("weight of one classifier")
    legend_below(figure, axes[0], 1 + len(_DELTAS))
    return figure


def agreement(result: dict[str, Any]) -> dict[str, str]:
    """How far the weights of the other methods are from those drawn."""
    curves = [curve for panel in result["panels"] for curve in panel["curves"]]
    largest = {name: max(curve["differences"][name] for curve in curves) for name in curves[0]["differences"]}
    said = (f"{COMPARED[name]} gives the same weights within {value:.0e}." for name, value in largest.items())
    return {"agreement": " ".join(said)}


_LINEAR = (("both halves, m = {m}", BOTH_HALVES), ("validation, m = {m}", PAPER))
_KL = (
    ("paper's constant, both halves, m = {m}", BOTH_HALVES),
    ("paper's constant, m = {m}", PAPER),
    ("exact constant, m = {m}", EXACT),
)

LINEAR_WEIGHTS = FigureItem(
    "linear-weights",
    partial(weights, dataset="bupa", distance="linear", versions=_LINEAR),
    draw=draw_weights,
    facts=agreement,
)
KL_WEIGHTS = FigureItem(
    "kl-weights",
    partial(weights, dataset="spambase", distance="kl", versions=_KL),
    draw=draw_weights,
    facts=agreement,
)


# --- Figure 6: distribution functions over the classifiers, by increasing risk ----------------------------------------

#: In the paper's order of panels.
_PANELS = ("spambase", "bupa", "mammographic", "wdbc", "banknote")

ROWS = {PAPER.name: "paper's constants", EXACT.name: "exact constants"}


def distributions(study: Study, results: Results) -> dict[str, Any]:
    """The weight of the first one, two, … classifiers."""

    def masses(dataset: str, distance: str, version: Version) -> list[float]:
        problem = study.problem(dataset, LARGE_SIZE, distance, version)
        return mass_by_risk(pm.solve(problem, "frontier").posterior, problem.risks).tolist()

    return {
        version.name: {dataset: {each: masses(dataset, each, version) for each in DISTANCES} for dataset in _PANELS}
        for version in (PAPER, EXACT)
    }


def draw_distributions(result: dict[str, Any]) -> Figure:
    """A row for each version, a column for each data set."""
    figure, axes = grid_of_axes(2, len(_PANELS), 11.0, 5.0, sharex=True, sharey=True)
    for position, axis in enumerate(axes):
        row, column = divmod(position, len(_PANELS))
        version, dataset = list(ROWS)[row], _PANELS[column]
        axis.plot([0, LARGE_SIZE], [0.0, 1.0], color="#999999", lw=1.0, label="prior")
        for distance, mass in result[version][dataset].items():
            axis.plot(range(LARGE_SIZE + 1), [0.0, *mass], label=distance, **line(distance))
        if row == 0:
            axis.set_title(NAMES[dataset])
        else:
            axis.set_xlabel("classifiers by risk")
        if column == 0:
            axis.set_ylabel(f"{ROWS[version]}\nposterior mass")
    legend_below(figure, axes[0], 4)
    return figure


DISTRIBUTIONS = FigureItem("cdfs", distributions, draw=draw_distributions)


# --- how many classifiers the posteriors use, against δ ---------------------------------------------------------------

MANY_DELTAS = np.geomspace(0.001, 0.5, 28)


def against_delta(study: Study, results: Results) -> dict[str, Any]:
    """Support sizes of every distance with both constants."""
    deltas = MANY_DELTAS.tolist()

    def sizes(dataset: str, distance: str, version: Version) -> list[int]:
        problem = study.problem(dataset, ALL_CLASSIFIERS, distance, version)
        return [pm.solve(problem.replace(delta=delta), "frontier").support_size for delta in deltas]

    supports: dict[str, Any] = {}
    for position, dataset in enumerate(PAPER_DATASETS):
        study.report("supports", position, len(PAPER_DATASETS))
        supports[dataset] = {
            version.name: {distance: sizes(dataset, distance, version) for distance in DISTANCES}
            for version in (PAPER, EXACT)
        }
    return {"deltas": deltas, "supports": supports}


def draw_against_delta(result: dict[str, Any]) -> Figure:
    """A panel for each data set."""

    def draw(axis: Axes, versions: dict[str, Any]) -> None:
        for distance, look in DISTANCE_LOOK.items():
            # The linear constant is right in the paper.
            shown = {EXACT.name: ("-", "exact constant"), PAPER.name: (":", "paper's constant")}
            for version, (style, words) in list(shown.items())[: 1 if distance == "linear" else 2]:
                sizes = versions[version][distance]
                axis.plot(result["deltas"], sizes, color=look["color"], ls=style, label=f"{distance}, {words}")
        axis.set(xscale="log", ylim=(0, 1.05 * ALL_CLASSIFIERS))

    return panel_per_dataset(result["supports"], draw, 7.6, ("δ", "support size"), sharey=True)


AGAINST_DELTA = FigureItem("support-against-delta", against_delta, draw=draw_against_delta)
