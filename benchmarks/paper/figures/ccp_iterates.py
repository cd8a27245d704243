"""The iterates of the two convex–concave procedures from the same random starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import pacb_models as pm
from pacb_models.plots.style import BLACK, BLUE, VERMILION

from ..item import FigureItem, Results
from ..showing import NAMES
from ..study import PAPER, Study
from ..tables.fp_vs_ccp import SIZE, descents_from
from .style import grid_of_axes, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DATASET = "wdbc"
STARTS = 20

#: Gaps below this are rounding; a logarithmic axis needs an end.
FLOOR = 1e-16


def compute(study: Study, results: Results) -> dict[str, Any]:
    problem = study.problem(DATASET, SIZE, "kl", PAPER)
    histories, displacements = {}, {}
    for variant in ("paper", "one-sided"):
        descents = descents_from(problem, variant, STARTS, study.seed)
        histories[variant] = [descent.history for descent in descents]
        displacements[variant] = float(np.nanmax([descent.displacement for descent in descents]))
    return {"minimum": pm.solve(problem, "frontier").bound, "histories": histories, "displacements": displacements}


def draw(result: dict[str, Any]) -> Figure:
    figure, (bounds, gaps) = grid_of_axes(1, 2, 8.2, 3.7)
    last = max(len(history) for history in result["histories"]["one-sided"]) - 1
    for variant, colour, look in (("paper", VERMILION, "--"), ("one-sided", BLUE, "-")):
        for number, history in enumerate(result["histories"][variant]):
            # A procedure that rests stays where it is.
            values = np.array(history + [history[-1]] * (last + 1 - len(history)))
            label = f"{'the paper’s' if variant == 'paper' else variant} CCP" if number == 0 else None
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


def caption(result: dict[str, Any]) -> str:
    return (
        f"{NAMES[DATASET]}, H = {SIZE}, paper's constants, {STARTS} random starts. The paper's procedure returns "
        "every start unchanged, because each of its subproblems has a single feasible point; the one-sided procedure "
        f"reaches the minimum from every start in a few steps. Gaps below {FLOOR:g} are drawn there."
    )


ITEM = FigureItem(
    "ccp-iterates",
    "after Table 8",
    compute,
    uses=("seed",),
    draw=draw,
    caption=caption,
)
