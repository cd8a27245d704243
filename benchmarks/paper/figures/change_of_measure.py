"""How much smaller each bound becomes without change of measure, and with one-sided constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pacb_models.plots.style import BLUE, GREY, ORANGE

from ...problems.problem import PAPER_DATASETS
from ..item import FigureItem, Results, entries_of
from ..showing import NAMES
from ..study import ALL_CLASSIFIERS, Study
from ..tables.change_of_measure import DELTA, PAIRS
from .style import grid_of_axes, label_outside, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STEPS = (
    ("direct exact", "direct, two-sided constant", ORANGE, "o"),
    ("bound one-sided", "change of measure, one-sided constant", GREY, "s"),
    ("direct one-sided", "direct, one-sided constant", BLUE, "o"),
)


def compute(study: Study, results: Results) -> dict[str, Any]:
    entries = entries_of(results["change-of-measure"])
    ratios = {
        dataset: {
            step: [
                entries.value(f"{dataset} {name}", step, "ours")
                / entries.value(f"{dataset} {name}", "bound exact", "ours")
                for name, *_ in PAIRS
            ]
            for step, *_ in _STEPS
        }
        for dataset in PAPER_DATASETS
    }
    return {"pairs": [name for name, *_ in PAIRS], "ratios": ratios}


def draw(result: dict[str, Any]) -> Figure:
    figure, axes = grid_of_axes(3, 3, 9.0, 8.6, sharex=True)
    names = result["pairs"]
    for place, (axis, (dataset, steps)) in enumerate(zip(axes, result["ratios"].items())):
        for step, label, colour, marker in _STEPS:
            filled: dict[str, Any] = {"mfc": "white"} if step.startswith("bound") else {}
            axis.plot(
                steps[step], range(len(names)), ls="none", marker=marker, color=colour, ms=5, label=label, **filled
            )
        axis.axvline(1.0, color=GREY, lw=0.8)
        axis.set_ylim(len(names) - 0.5, -0.5)
        axis.set_yticks(range(len(names)), names if place % 3 == 0 else [""] * len(names))
        axis.set_title(NAMES[dataset])
    label_outside(axes, 3, "least bound, as a share of the usual one", "")
    legend_below(figure, axes[0], 3)
    return figure


def caption(result: dict[str, Any]) -> str:
    return (
        f"The least bound as a share of the usual one (change of measure, two-sided constant), H = {ALL_CLASSIFIERS}, "
        f"δ = {DELTA:g}. Change of measure costs nothing with the linear distance; one-sided constants shrink what "
        "depends on the constant's root, and cannot shrink KL–kl."
    )


ITEM = FigureItem(
    "change-of-measure-figure",
    "not in the paper",
    compute,
    needs=("change-of-measure",),
    draw=draw,
    caption=caption,
)
