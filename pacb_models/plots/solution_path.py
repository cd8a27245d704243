"""The bound along a parameter: a budget, a limit on the support, δ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..solving.paths import SolutionPath
from ..validation import check_kind
from ..wording import at_most
from .display import Display
from .palette import Palette
from .style import BLACK, BLUE, GREY, VERMILION, literal, new_axes, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class SolutionPathDisplay(Display):
    """Three panels over one parameter: bound and empirical risk, classifiers with weight, multipliers of the rows.

    Examples
    --------
    >>> import pacb_models as pm
    >>> from pacb_models.plots import SolutionPathDisplay
    >>> problem = pm.BoundProblem([0.1, 0.2, 0.4], m=500)
    >>> SolutionPathDisplay.from_path(pm.path(problem, "delta", [0.01, 0.05])).title()
    'The bound falls from 0.194 to 0.1593 as delta rises from 0.01 to 0.05'
    """

    path: SolutionPath

    @classmethod
    def from_path(cls, path: SolutionPath) -> SolutionPathDisplay:
        """A display of what :func:`pacb_models.path` returned."""
        check_kind("path", path, SolutionPath, "what pm.path returned")
        return cls(path)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw all panels on a new figure, or the bound alone on ``ax``."""
        order = np.argsort(self.path.values, kind="stable")
        values = self.path.values[order]
        rates = {name: rate[order] for name, rate in self.path.multipliers.items() if np.nanmax(rate) > 0.0}
        with styled():
            panels = [ax] if ax is not None else _panels(3 if rates else 2)
            self.ax_ = panels[0]
            self._bounds(panels[0], values, order)
            if len(panels) > 1:
                mark: dict[str, Any] = {"marker": "s", "color": BLUE, "drawstyle": "steps-mid"}
                panels[1].plot(values, self.path.supports[order], **mark)
                top = 1.15 * float(self.path.supports.max())
                panels[1].set(ylabel="classifiers\nwith weight", ylim=(0.0, top))
                panels[1].locator_params(axis="y", integer=True)
            if len(panels) > 2:
                self._multipliers(panels[2], values, rates)
            panels[-1].set_xlabel(literal(self.path.parameter))
            # Values whose ratio is above this are on a logarithmic axis.
            if values[0] > 0.0 and values[-1] > 50.0 * values[0]:
                panels[-1].set_xscale("log")
            self._finish(own=ax is None)
        return self

    def _bounds(self, ax: Axes, values: np.ndarray, order: np.ndarray) -> None:
        proven = np.array([solution.is_global for solution in self.path])[order]
        bounds = self.path.bounds[order]
        ax.plot(values, bounds, color=BLACK)
        for which, label, face in ((proven, "bound, proven minimum", BLACK), (~proven, "bound, not proven", "white")):
            if which.any():
                style: dict[str, Any] = {"markerfacecolor": face, "color": BLACK, "ls": "none"}
                ax.plot(values[which], bounds[which], "o", label=label, **style)
        risks = np.array([solution.empirical_risk for solution in self.path])[order]
        ax.plot(values, risks, color=GREY, ls="--", label="empirical risk")
        ax.set_ylabel("bound")

    def _multipliers(self, ax: Axes, values: np.ndarray, rates: dict[str, np.ndarray]) -> None:
        # The parameter's own row first, then those that cost most.
        names = sorted(rates, key=lambda name: (name != self.path.parameter, -float(np.nanmax(rates[name]))))
        palette = Palette(names)
        # Curves in one panel, at most.
        for name in names[:7]:
            style: dict[str, Any] = {**palette[name], **({"color": VERMILION} if name == self.path.parameter else {})}
            ax.plot(values, rates[name], label=literal(name), **style)
        ax.set(ylabel="fall of the bound\nper unit of room", ylim=(0.0, None))
        ax.legend(fontsize=8.0)

    def title(self) -> str:
        order = np.argsort(self.path.values, kind="stable")
        values, bounds = self.path.values[order], self.path.bounds[order]
        name = literal(self.path.parameter)
        span = f"as {name} rises from {values[0]:g} to {values[-1]:g}"
        if len(bounds) == 1:
            return f"The bound is {at_most(bounds[0])} at {name} {values[0]:g}"
        flat = abs(bounds - bounds[-1]) <= 1e-9 * bounds[-1]
        first = int(np.flatnonzero(~flat)[-1]) + 1 if not flat.all() else 0
        if first == 0:
            return f"The bound stays at {at_most(bounds[0])} {span}"
        if first < len(bounds) - 1:
            return f"From {name} {values[first]:g} on the bound stays at {at_most(bounds[-1])}"
        way = "falls" if bounds[-1] < bounds[0] else "rises"
        return f"The bound {way} from {at_most(bounds[0])} to {at_most(bounds[-1])} {span}"


def _panels(count: int) -> list[Any]:
    """Axes below each other over one abscissa, the first one the tallest."""
    first = new_axes(None, height=2.6 + 1.5 * count)
    figure: Any = first.get_figure()
    first.remove()
    heights = [2.0] + [1.0] * (count - 1)
    return list(figure.subplots(count, 1, sharex=True, gridspec_kw={"height_ratios": heights}))
