"""How many classifiers the optimal posteriors use, against δ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import pacb_models as pm

from ...problems.problem import PAPER_DATASETS
from ..item import FigureItem, Results
from ..showing import NAMES
from ..study import ALL_CLASSIFIERS, DISTANCES, EXACT, PAPER, Study
from .style import DISTANCE_LOOK, grid_of_axes, label_outside, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DELTAS = np.geomspace(0.001, 0.5, 28)


def compute(study: Study, results: Results) -> dict[str, Any]:
    supports: dict[str, Any] = {}
    for position, dataset in enumerate(PAPER_DATASETS):
        study.report("supports", position, len(PAPER_DATASETS))
        supports[dataset] = {
            version.name: {distance: _sizes(study, dataset, distance, version) for distance in DISTANCES}
            for version in (PAPER, EXACT)
        }
    return {"deltas": DELTAS.tolist(), "supports": supports}


def _sizes(study: Study, dataset: str, distance: str, version: Any) -> list[int]:
    problems = (study.problem(dataset, ALL_CLASSIFIERS, distance, version, delta=delta) for delta in DELTAS.tolist())
    return [pm.solve(problem, "frontier").support_size for problem in problems]


def draw(result: dict[str, Any]) -> Figure:
    figure, axes = grid_of_axes(3, 3, 9.0, 7.6, sharex=True, sharey=True)
    for axis, (dataset, versions) in zip(axes, result["supports"].items()):
        for distance, look in DISTANCE_LOOK.items():
            axis.plot(
                result["deltas"], versions["exact"][distance], color=look["color"], label=f"{distance}, exact constant"
            )
            if distance != "linear":
                axis.plot(
                    result["deltas"],
                    versions["paper"][distance],
                    color=look["color"],
                    ls=":",
                    label=f"{distance}, paper's constant",
                )
        axis.set(xscale="log", title=NAMES[dataset], ylim=(0, 1.05 * ALL_CLASSIFIERS))
    label_outside(axes, 3, "δ", "support size")
    legend_below(figure, axes[0], 3)
    return figure


def caption(result: dict[str, Any]) -> str:
    return (
        "Support sizes of the optimal posteriors, H = 1990. They shrink as δ grows: a larger budget lets the "
        "posterior follow the risks. The linear constant is right in the paper."
    )


ITEM = FigureItem("support-against-delta", "after Figures 4 and 5", compute, draw=draw, caption=caption)
