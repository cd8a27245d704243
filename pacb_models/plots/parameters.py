"""The minimal bound along a parameter: δ, m or the order, a budget, a limit on the support."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from ..problem import Problem
from ..solving.paths import SolutionPath
from ..solving.running import solve
from ..validation import check_choice, check_kind
from ..wording import at_most
from .display import Axes, Display, new_figure
from .palette import Palette
from .style import BLACK, BLUE, GREY, VERMILION, literal, styled

Bounds = Mapping[str, Mapping[str, Any]]
_SYMBOLS = {"delta": "δ", "m": "m", "order": "order"}
#: The bounds that are drawn when the caller names none: arguments of the problem that change.
BOUNDS: Bounds = {
    "χ², linear": {"divergence": "chi2", "distance": "linear"},
    "χ², squared": {"divergence": "chi2", "distance": "squared"},
    "χ², kl": {"divergence": "chi2", "distance": "kl"},
    "Rényi 3, kl": {"divergence": "renyi", "order": 3.0, "distance": "kl"},
    "KL, kl": {"divergence": "kl", "distance": "kl"},
}
_VALUES = {
    "delta": np.geomspace(1e-6, 0.3, 25),
    "m": np.geomspace(20, 20000, 25).astype(int),
    "order": 1.0 + np.geomspace(0.05, 20.0, 25),
}


@dataclass(eq=False, repr=False)
class DivergenceDisplay(Display):
    """The minimum of several bounds as δ, m or the Rényi order changes, the risks staying as they are.

    Parameters
    ----------
    parameter : {"delta", "m", "order"}
    values : array
    minima : dict of str to array
        The minimal bound at each value, by the name of the bound.
    """

    parameter: str
    values: np.ndarray
    minima: Mapping[str, np.ndarray]

    @classmethod
    def from_problem(
        cls, problem: Problem, parameter: str = "delta", values: ArrayLike | None = None, bounds: Bounds | None = None
    ) -> DivergenceDisplay:
        """Minimise each bound at each value; ``bounds`` are changes for ``problem.replace``, by the names to show."""
        check_kind("problem", problem, Problem, "a problem, as pm.BoundProblem makes one")
        check_choice("parameter", parameter, list(_SYMBOLS))
        if bounds is None:
            bounds = {"Rényi, kl": {"divergence": "renyi", "distance": "kl"}} if parameter == "order" else BOUNDS
        grid = np.asarray(_VALUES[parameter] if values is None else values)
        if grid.ndim != 1 or not grid.size or not bounds:
            raise InputError("values must be a list of numbers and bounds name at least one bound.")
        minima = {
            name: np.array([solve(problem.replace(**{**changes, parameter: value})).bound for value in grid.tolist()])
            for name, changes in bounds.items()
        }
        return cls(parameter, grid, minima)

    def _draw(self, ax: Axes) -> None:
        palette = Palette(self.minima)
        for name, bounds in self.minima.items():
            ax.plot(self.values, bounds, label=literal(name), markevery=max(1, len(bounds) // 8), **palette[name])
        ax.set_xscale("log")
        if self.parameter == "order":
            ticks = [tick for tick in (1, 1.5, 2, 3, 5, 10, 20) if self.values.min() <= tick <= self.values.max()]
            ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
            ax.minorticks_off()
        highest = max(float(np.max(bounds)) for bounds in self.minima.values())
        # Above one a bound says nothing.
        ax.set(xlabel=_SYMBOLS[self.parameter], ylabel="minimal bound", ylim=(0.0, min(1.1 * highest, 1.1)))

    def title(self) -> str:
        symbol, names, minima = _SYMBOLS[self.parameter], list(self.minima), list(self.minima.values())
        if len(names) == 1:
            return f"{literal(names[0])} is smallest at {symbol} {self.values[int(np.argmin(minima[0]))]:.3g}"
        wins = np.bincount(np.argmin(minima, axis=0))
        top = literal(names[int(wins.argmax())])
        return f"{top} is smallest at {wins.max()} of {len(self.values)} values of {symbol}"


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
        """Return a display of what :func:`pacb_models.path` returned."""
        check_kind("path", path, SolutionPath, "what pm.path returned")
        return cls(path)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw all panels on a new figure, or the bound alone on ``ax``."""
        order = np.argsort(self.path.values, kind="stable")
        values = self.path.values[order]
        rates = {name: rate[order] for name, rate in self.path.multipliers.items() if np.nanmax(rate) > 0.0}
        with styled():
            panels: list[Any] = [ax]
            if ax is None:
                count = 3 if rates else 2
                # Below each other over one abscissa, the first one the tallest.
                shape: Any = {"sharex": True, "gridspec_kw": {"height_ratios": [2.0, 1.0, 1.0][:count]}}
                panels = list(new_figure(2.6 + 1.5 * count).subplots(count, 1, **shape))
            self.ax_ = panels[0]
            self._bounds(panels[0], values, order)
            if len(panels) > 1:
                supports = self.path.supports[order]
                panels[1].plot(values, supports, marker="s", color=BLUE, drawstyle="steps-mid")
                panels[1].set(ylabel="classifiers\nwith weight", ylim=(0.0, 1.15 * float(supports.max())))
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
                ax.plot(values[which], bounds[which], "o", label=label, mfc=face, color=BLACK, ls="none")
        risks = np.array([solution.empirical_risk for solution in self.path])[order]
        ax.plot(values, risks, color=GREY, ls="--", label="empirical risk")
        ax.set_ylabel("bound")

    def _multipliers(self, ax: Axes, values: np.ndarray, rates: dict[str, np.ndarray]) -> None:
        # The parameter's own row first, then those that cost most.
        names = sorted(rates, key=lambda name: (name != self.path.parameter, -float(np.nanmax(rates[name]))))
        palette = Palette(names)
        # Curves in one panel, at most.
        for name in names[:7]:
            own = {"color": VERMILION} if name == self.path.parameter else {}
            ax.plot(values, rates[name], label=literal(name), **{**palette[name], **own})
        ax.set(ylabel="fall of the bound\nper unit of room", ylim=(0.0, None))
        ax.legend(fontsize=8.0)

    def title(self) -> str:
        order = np.argsort(self.path.values, kind="stable")
        values, bounds, name = self.path.values[order], self.path.bounds[order], literal(self.path.parameter)
        start, end = at_most(bounds[0]), at_most(bounds[-1])
        if len(bounds) == 1:
            return f"The bound is {start} at {name} {values[0]:g}"
        span = f"as {name} rises from {values[0]:g} to {values[-1]:g}"
        changing = np.flatnonzero(abs(bounds - bounds[-1]) > 1e-9 * bounds[-1])
        if not changing.size:
            return f"The bound stays at {start} {span}"
        if changing[-1] < len(bounds) - 2:
            return f"From {name} {values[changing[-1] + 1]:g} on the bound stays at {end}"
        return f"The bound {'falls' if bounds[-1] < bounds[0] else 'rises'} from {start} to {end} {span}"
