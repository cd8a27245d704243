"""What the figures have in common: colours by distance, panels, and the report's style."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pacb_models.plots.style import BLACK, BLUE, GREEN, VERMILION

from ..problems.problem import PAPER_DATASETS
from ..report.drawing import Look, new_axes
from .showing import NAMES

#: The same look for a distance in every figure.
DISTANCE_LOOK: dict[str, Look] = {
    "linear": {"color": BLUE, "linestyle": "-", "marker": "o"},
    "squared": {"color": VERMILION, "linestyle": "--", "marker": "s"},
    "kl": {"color": GREEN, "linestyle": "-.", "marker": "D"},
}

#: Line styles for values of m or δ, dark to light.
SERIES: tuple[Look, ...] = (
    {"color": BLACK, "linestyle": "-"},
    {"color": BLUE, "linestyle": "--"},
    {"color": VERMILION, "linestyle": "-."},
    {"color": GREEN, "linestyle": ":"},
)


def grid_of_axes(rows: int, columns: int, width: float, height: float, **options: Any) -> tuple[Figure, list[Axes]]:
    """A figure with rows × columns axes, listed row by row."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False, **options).ravel())


def line_per_dataset(height: float, xlabel: str) -> tuple[Figure, Axes]:
    """A figure with a striped line for each data set."""
    figure, axis = new_axes(7.6, height)
    for line in range(1, len(PAPER_DATASETS), 2):
        axis.axhspan(line - 0.5, line + 0.5, color="#f4f6f8", lw=0)
    axis.set_yticks(range(len(PAPER_DATASETS)), [NAMES[name] for name in PAPER_DATASETS])
    axis.set(ylim=(len(PAPER_DATASETS) - 0.5, -0.5), xlabel=xlabel)
    axis.grid(False, axis="y")
    return figure, axis


def panel_per_dataset(
    draw: Callable[[Axes, str], None], height: float, labels: tuple[str, str], **options: Any
) -> Figure:
    """Axes for each data set in three columns, labelled below the last row and left of the first, with one legend."""
    figure, axes = grid_of_axes(3, 3, 9.0, height, sharex=True, **options)
    for axis, dataset in zip(axes, PAPER_DATASETS):
        draw(axis, dataset)
        axis.set_title(NAMES[dataset])
    for axis in axes[-3:]:
        axis.set_xlabel(labels[0])
    for axis in axes[::3]:
        axis.set_ylabel(labels[1])
    legend_below(figure, axes[0], 3)
    return figure


def legend_below(figure: Figure, axes: Axes, columns: int) -> None:
    """One legend for all panels, from the entries of one."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, handlelength=3.0, columnspacing=1.5)
