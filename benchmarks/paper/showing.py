"""How values are written in cells, and what the figures have in common: colours by distance, panels, legends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pacb_models.plots.style import BLACK, BLUE, GREEN, VERMILION

from ..problems.problem import LEAK_FREE, PAPER_DATASETS
from ..report.drawing import Look, new_axes
from ..report.tables import NONE, Entry, Group
from .cells import BOTH_HALVES, CORRECTED, PRINTED, REPRODUCED, Values, difference

#: Differences from print above this, in per cent, are marked.
FAR = 8.0

#: Data sets as the paper writes them.
NAMES = {name: name.capitalize() for name in PAPER_DATASETS} | {LEAK_FREE: "Bupa without leak"}

#: Short titles of the versions in headings.
_TITLES = {REPRODUCED: "paper's const.", BOTH_HALVES: "both halves", CORRECTED: "exact const."}
#: What has no constant.
OURS = {REPRODUCED: "ours"}


def as_text(value: object, decimals: int = 5) -> str:
    """Return a number with so many decimals, an integer or text as it is, a dash for nothing.

    >>> as_text(0.1234567), as_text(12), as_text(None), as_text(-1e-9)
    ('0.12346', '12', '–', '0.00000')
    """
    if value is None or value == "":
        return NONE
    if isinstance(value, float):
        return f"{value + 0.0:.{decimals}f}" if abs(value) >= 0.5 * 10.0**-decimals else f"{0.0:.{decimals}f}"
    return str(value)


def per_cent(value: float | None) -> str:
    """Return a signed percentage with one decimal.

    >>> per_cent(7.51), per_cent(-0.04), per_cent(None)
    ('+7.5 %', '0.0 %', '–')
    """
    if value is None:
        return NONE
    text = f"{value:+.1f}".replace("-", "−")
    return f"{text.lstrip('+−') if text[1:] == '0.0' else text} %"


@dataclass(frozen=True)
class Beside:
    """The columns of one quantity: what is printed, then our values by version.

    Beside values with the paper's constants stands how far they are from print, marked where it is far. Test errors
    come from another random test part than the paper's. Their distance says little, and is not given.
    """

    versions: tuple[str, ...] = tuple(_TITLES)
    decimals: int = 5
    compared: bool = True
    titles: Mapping[str, str] = field(default_factory=lambda: _TITLES)

    @classmethod
    def of(cls, quantity: str) -> Beside:
        """Take the table's bounds or its test errors."""
        return cls() if quantity == "bound" else cls((REPRODUCED, CORRECTED), compared=False)

    def group(self, title: str) -> Group:
        """Return the headings."""
        columns = ["printed"]
        for version in self.versions:
            columns += [self.titles[version], *(["±"] if self._compared(version) else [])]
        return Group(title, tuple(columns))

    def cells(self, values: Values, best: str = "") -> list[Entry]:
        """Return the cells below them; ``best`` names a version to be set in bold."""
        cells = [Entry(values.get(PRINTED) or NONE, "printed")]
        for version in self.versions:
            cells.append(Entry(as_text(values.get(version), self.decimals), "best" if version == best else ""))
            if self._compared(version):
                off = difference(values, version)
                cells.append(Entry(per_cent(off), "off" if off is not None and abs(off) > FAR else ""))
        return cells

    def _compared(self, version: str) -> bool:
        return self.compared and version != CORRECTED


def named(dataset: str, *labels: object, first: bool = True) -> list[Entry]:
    """Return the cells that a row begins with; of several rows of a data set only the first names it."""
    return [Entry(NAMES[dataset] if first else ""), *(Entry(str(label)) for label in labels)]


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
    """Return a figure with rows × columns axes, listed row by row."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False, **options).ravel())


def line_per_dataset(height: float, xlabel: str) -> tuple[Figure, Axes]:
    """Return a figure with a striped line for each data set."""
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
    """Return axes for each data set in three columns, labelled below the last row and left of the first, with one
    legend."""
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
    """Draw one legend for all panels, from the entries of one."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, handlelength=3.0, columnspacing=1.5)
