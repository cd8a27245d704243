"""Figures 2 and 3: the moments I(m, l) over the true risk l, as the paper has them and as they are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pacb_models.constants import moment_curve

from ..cells import CORRECTED, REPRODUCED, Cells
from ..item import FigureItem
from ..study import Study
from .style import SERIES, grid_of_axes, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SAMPLES = (50, 100, 200)

#: Steps of 0.001, as in the paper; the maxima of both curves are visible at that resolution.
GRID = np.arange(0, 1001) / 1000


def paper_squared_curve(m: int, l: np.ndarray) -> np.ndarray:
    """The paper's fourth central moment over m⁴: the last factor l(1 − l) lost its square."""
    x = l * (1.0 - l)
    return (m * (l * (1.0 - l) ** 4 + l**4 * (1.0 - l)) + 3.0 * m * (m - 1.0) * x) / m**4


def _fill(study: Study, cells: Cells, distance: str, papers: Callable[[int, np.ndarray], np.ndarray]) -> None:
    for m in _SAMPLES:
        cells.add(REPRODUCED, "", m, distance, curve=papers(m, GRID).tolist())
        cells.add(CORRECTED, "", m, distance, curve=moment_curve(distance, m, GRID).tolist())


def _draw(cells: Cells) -> Figure:
    figure, axes = grid_of_axes(1, 2, 8.0, 3.4)
    for axis, version, title in zip(axes, (REPRODUCED, CORRECTED), ("as in the paper", "exact")):
        for (place, found), look in zip(cells.rows(version).items(), SERIES):
            values = np.array(found["curve"])
            axis.plot(GRID, values, label=f"m = {place.size}", **look)
            # Rounding must not hide one of two mirrored points where the largest value is attained.
            peaks = np.flatnonzero(values >= values.max() * (1.0 - 1e-9))
            axis.plot(GRID[peaks], values[peaks], "o", color=look["color"])
        axis.set(title=title, xlabel="true risk l", ylim=(0.0, None), xlim=(0.0, 1.0))
        axis.ticklabel_format(axis="y", style="sci", scilimits=(0, 0), useMathText=True)
    axes[0].set_ylabel("I(m, l)")
    legend_below(figure, axes[0], len(_SAMPLES))
    return figure


def _papers_kl_curve(m: int, l: np.ndarray) -> np.ndarray:
    return moment_curve("kl", m, l, "paper")


SQUARED = FigureItem("squared-moments", partial(_fill, distance="squared", papers=paper_squared_curve), draw=_draw)
KL = FigureItem("kl-moments", partial(_fill, distance="kl", papers=_papers_kl_curve), draw=_draw)
