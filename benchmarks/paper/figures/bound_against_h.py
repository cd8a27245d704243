"""The kl bound against the number of classifiers, solver by solver: what the paper prints and what comes out here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pacb_models as pm
from pacb_models.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE, VERMILION

from ...problems.problem import PAPER_DATASETS
from ..entries import number
from ..item import FigureItem, Results, entries_of
from ..showing import NAMES
from ..study import PAPER, Study
from ..tables.fp_vs_solver import SIZES, as_meant
from .style import grid_of_axes, label_outside, legend_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Columns of the table ``fp-vs-solver`` and the keys of their versions.
_FROM_TABLE = {
    "fixed point": ("bound_fp", "paper"),
    "Ipopt, lifted": ("bound_solver", "paper"),
    "Ipopt, direct, defaults": ("bound_direct", "paper"),
    "exact constants": ("bound_minimum", "exact"),
}


def compute(study: Study, results: Results) -> dict[str, Any]:
    entries = entries_of(results["fp-vs-solver"])
    cases = [(dataset, size) for dataset in PAPER_DATASETS for size in SIZES]
    ccp = study.map(
        "one-sided CCP", _one_sided, [(study.problem(dataset, size, "kl", PAPER),) for dataset, size in cases]
    )
    panels: dict[str, Any] = {}
    for (dataset, size), bound in zip(cases, ccp):
        panel = panels.setdefault(dataset, {"letters": []})
        for series, (column, key) in _FROM_TABLE.items():
            panel.setdefault(series, []).append(entries.value(dataset, f"{column}_H{size}", key))
        panel.setdefault("one-sided CCP", []).append(bound)
        for series, column in (("printed fixed point", "bound_fp"), ("printed Ipopt", "bound_solver")):
            panel.setdefault(series, []).append(number(as_meant(entries, dataset, f"{column}_H{size}").printed))
        panel["letters"].append(entries.printed(dataset, f"test_error_status_solver_H{size}"))
    return {"sizes": list(SIZES), "panels": panels}


def _one_sided(problem: pm.BoundProblem) -> float:
    return pm.solve(problem, "ccp", merge=False).bound


def draw(result: dict[str, Any]) -> Figure:
    figure, axes = grid_of_axes(3, 3, 9.0, 8.2, sharex=True)
    for axis, (dataset, panel) in zip(axes, result["panels"].items()):
        _draw_panel(axis, result["sizes"], panel)
        axis.set_title(NAMES[dataset])
    label_outside(axes, 3, "number of classifiers H", "kl bound")
    legend_below(figure, axes[0], 3)
    return figure


def _draw_panel(axis: Axes, sizes: list[int], panel: dict[str, Any]) -> None:
    axis.plot(
        sizes, panel["printed fixed point"], color=BLACK, marker="o", mfc="none", ls=":", label="printed: fixed point"
    )
    axis.plot(
        sizes, panel["printed Ipopt"], color=VERMILION, marker="x", ls="none", label="printed: Ipopt, with its letter"
    )
    for size, bound, letter in zip(sizes, panel["printed Ipopt"], panel["letters"]):
        if letter != "none":
            axis.annotate(letter, (size, bound), xytext=(3, 3), textcoords="offset points", color=VERMILION, fontsize=8)
    axis.plot(sizes, panel["fixed point"], color=BLUE, label="ours: fixed point")
    for series, marker, colour in (
        ("Ipopt, lifted", "+", BLACK),
        ("Ipopt, direct, defaults", "v", ORANGE),
        ("one-sided CCP", "s", GREY),
    ):
        axis.plot(
            sizes, panel[series], color=colour, marker=marker, mfc="none", ls="none", ms=6, label=f"ours: {series}"
        )
    axis.plot(sizes, panel["exact constants"], color=GREEN, ls="--", label="ours: minimum, exact constants")
    axis.margins(y=0.1)
    axis.set(xscale="log", ylim=(0.0, None))
    axis.set_xticks(sizes, map(str, sizes))
    axis.set_xticks([], minor=True)


def caption(result: dict[str, Any]) -> str:
    return (
        "The kl bound against H, paper's constants unless it says exact. Fixed point, lifted Ipopt and one-sided CCP "
        "agree in every cell. Ipopt on the paper's formulation with default options agrees too, or ends where it "
        "started (triangles off the line). The values the paper prints beside a letter are no bounds. Waveform's "
        "swapped cells at H = 200 are put right."
    )


ITEM = FigureItem(
    "bound-against-h",
    "after Tables 6 and 7",
    compute,
    needs=("fp-vs-solver",),
    draw=draw,
    caption=caption,
)
