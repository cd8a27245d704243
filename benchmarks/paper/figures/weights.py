"""Figures 4 and 5: optimal weights against risk for three values of δ."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import pacb_models as pm

from ..item import FigureItem, Results
from ..showing import NAMES
from ..study import ALL_CLASSIFIERS, BOTH_HALVES, EXACT, PAPER, Study, Version
from .style import SERIES, grid_of_axes, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DELTAS = (0.01, 0.05, 0.1)

#: The paper draws the weights of its fixed point and of its solver.
COMPARED = {"subset-search": "Algorithm 1", "ipopt": "Ipopt"}


def compute(
    study: Study, results: Results, dataset: str, distance: str, versions: tuple[tuple[str, Version], ...]
) -> dict[str, Any]:
    panels = []
    for title, version in versions:
        if study.risks(dataset, ALL_CLASSIFIERS, version) is None:
            continue
        table = study.tables[dataset]
        # The captions count all examples that are not in the test part.
        m = table.training_size + table.validation_size if version.both_halves else table.m
        curves = [
            _curve(study.problem(dataset, ALL_CLASSIFIERS, distance, version, delta=delta).replace(m=m))
            for delta in DELTAS
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


def draw(result: dict[str, Any]) -> Figure:
    panels = result["panels"]
    figure, axes = grid_of_axes(1, len(panels), 1.2 + 3.2 * len(panels), 3.7)
    for axis, panel in zip(axes, panels):
        axis.axhline(1.0 / ALL_CLASSIFIERS, color="#999999", lw=1.0, label="prior")
        for curve, look in zip(panel["curves"], SERIES):
            risks, weights = np.array(curve["risks"]), np.array(curve["weights"])
            axis.plot(risks, weights, label=f"δ = {curve['delta']}", **look)
            if curve["support"] < ALL_CLASSIFIERS:
                axis.axvline(curve["last_risk"], color=look["color"], lw=0.8, ls=":")
        supports = ", ".join(str(curve["support"]) for curve in panel["curves"])
        axis.set_title(f"{panel['title']}\nH* = {supports}", fontsize=9)
        axis.set(xlabel="empirical risk", ylim=(0.0, None))
        axis.ticklabel_format(axis="y", style="sci", scilimits=(0, 0), useMathText=True)
    axes[0].set_ylabel("weight of one classifier")
    legend_below(figure, axes[0], 1 + len(DELTAS))
    return figure


def caption(result: dict[str, Any]) -> str:
    name = NAMES[result["dataset"]]
    if result["distance"] == "linear":
        return (
            f"{name}, linear distance: weights against risk. The support is exactly the set of classifiers whose risk "
            "is below the optimal bound; it shrinks as δ grows (dotted: the largest risk in the support). "
            f"{_agreement(result)} Where the title says both halves, m and the risks are those of the paper's caption, "
            "and certify nothing."
        )
    return (
        f"{name}, kl distance: weights against risk. The paper reports a support of 1986 for all three values of δ. "
        "With its constant the weights stay near the prior; with the exact one they follow the risks. "
        f"{_agreement(result)}"
    )


def _agreement(result: dict[str, Any]) -> str:
    """How far the weights of the other methods are from those drawn."""
    curves = [curve for panel in result["panels"] for curve in panel["curves"]]
    largest = {name: max(curve["differences"][name] for curve in curves) for name in curves[0]["differences"]}
    return " ".join(f"{COMPARED[name]} gives the same weights within {value:.0e}." for name, value in largest.items())


_LINEAR = (("both halves, m = {m}", BOTH_HALVES), ("validation, m = {m}", PAPER))
_KL = (
    ("paper's constant, both halves, m = {m}", BOTH_HALVES),
    ("paper's constant, m = {m}", PAPER),
    ("exact constant, m = {m}", EXACT),
)

LINEAR = FigureItem(
    "linear-weights",
    "Figure 4",
    partial(compute, dataset="bupa", distance="linear", versions=_LINEAR),
    draw=draw,
    caption=caption,
)
KL = FigureItem(
    "kl-weights",
    "Figure 5",
    partial(compute, dataset="spambase", distance="kl", versions=_KL),
    draw=draw,
    caption=caption,
)
