"""What every display has: the axes it was drawn on, and a way to a file."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ..errors import InputError
from ..files import write_atomically
from ..solution import Solution
from ..validation import check_kind
from .style import check_picture, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure
else:
    # matplotlib is imported when something is drawn.
    Axes = Any


#: Solutions that are to be drawn, perhaps with the names to show.
Solutions = Solution | Sequence[Solution] | Mapping[str, Solution]


class Display:
    """The result of a plot; ``ax_`` and ``figure_`` are there once it is drawn. A subclass has ``_draw``."""

    ax_: Axes

    @property
    def figure_(self) -> Figure:
        """The figure it was drawn in."""
        figure: Any = self.ax_.get_figure()
        return figure

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        with styled():
            self.ax_ = new_figure(self._height()).add_subplot() if ax is None else ax
            self._draw(self.ax_)
            self._finish(own=ax is None)
        return self

    def title(self) -> str:
        """Return what is seen, in one sentence."""
        raise NotImplementedError

    def _draw(self, ax: Axes) -> None:
        raise NotImplementedError

    def _height(self) -> float:
        """Return the height of a new figure."""
        return 4.2

    def _finish(self, own: bool) -> None:
        """Add title and legend; ``own`` says whether the figure is a new one."""
        self.ax_.set_title(self.title())
        if self.ax_.get_legend_handles_labels()[0]:
            self.ax_.legend(fontsize=8.0)

    def _repr_png_(self) -> bytes:
        """Return what a notebook shows."""
        return self._written(format="png", dpi=110)

    def save(self, path: str | Path) -> None:
        """Write the picture; its format (svg, pdf, png) by the ending. The file appears when it is complete."""
        target = check_picture(path)
        ending = target.suffix.lower()[1:]
        # Without a date the same drawing gives the same file.
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(ending, {})
        write_atomically(target, self._written(format=ending, metadata=metadata, dpi=160))

    def _written(self, **settings: Any) -> bytes:
        if not hasattr(self, "ax_"):
            self.plot()
        content = io.BytesIO()
        with styled():
            self.figure_.savefig(content, **settings)
        return content.getvalue()


def new_figure(height: float) -> Figure:
    """Return a figure, which no window shows until it is asked to."""
    from matplotlib.figure import Figure

    return Figure(figsize=(6.4, height), layout="constrained")


def named_solutions(solutions: Solutions | None, least: int = 1) -> dict[str, Solution]:
    """Return solutions under the names they are shown with: their solvers', numbered where two are the same."""
    check_kind("solutions", solutions or (), (Solution, Iterable), "a solution, a list or a dict of solutions")
    found = dict(solutions) if isinstance(solutions, Mapping) else {}
    listed: Any = [solutions] if isinstance(solutions, Solution) else () if found else solutions or ()
    for solution in listed:
        solver = getattr(solution, "solver", "")
        names = (f"{solver} ({number})" if number > 1 else solver for number in count(1))
        found[next(name for name in names if name not in found)] = solution
    for solution in found.values():
        if not isinstance(solution, Solution):
            raise InputError(f"solutions holds {solution!r}; it must hold what pm.solve returned.")
    if len(found) < least:
        raise InputError("solutions is empty; there is nothing to draw.")
    return found
