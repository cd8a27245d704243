"""Figure 1: the linear bound B*(H') and its two components against the support size H'."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import pacb_models as pm
from pacb_models.plots.style import BLACK, BLUE, GREY, VERMILION

from ..item import FigureItem, Results
from ..showing import NAMES
from ..study import ALL_CLASSIFIERS, PAPER, Study
from .style import grid_of_axes, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The paper does not say which data set it shows. Here one whose support is full and one where it ends early.
CASES = (("bupa", 0.01), ("ionosphere", 0.1))


def compute(study: Study, results: Results) -> dict[str, Any]:
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


def draw(result: dict[str, Any]) -> Figure:
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
        at_the_end = best == len(sizes)
        axis.annotate(
            f"H* = {best}\nB* = {panel['bound']:.4f}",
            (best, panel["bound"]),
            xytext=(-4 if at_the_end else 4, 8),
            textcoords="offset points",
            ha="right" if at_the_end else "left",
            fontsize=8,
        )
        axis.set(title=f"{NAMES[panel['dataset']]}, m = {panel['m']}, δ = {panel['delta']}", xlabel="support size H′")
        axis.set_ylim(0.0, min(1.2, 1.1 * np.nanmax(total[10:])))
    legend_below(figure, axes[-1], 4)
    return figure


def caption(result: dict[str, Any]) -> str:
    return (
        "The linear bound and its components. B*(H′) decreases as long as the support grows; beyond H* the formula "
        "goes on decreasing, but its minimiser has negative weights, so that the formula alone does not locate H*."
    )


ITEM = FigureItem(
    "linear-supports",
    "Figure 1",
    compute,
    draw=draw,
    caption=caption,
)
