"""Minimal bounds against δ, m or the order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..problem import Problem
from ..solving.running import solve
from ..validation import check_choice, check_kind
from .display import Display
from .palette import Palette
from .style import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SYMBOLS = {"delta": "δ", "m": "m", "order": "order"}
#: The bounds that are drawn when the caller names none: arguments of the problem that change.
BOUNDS: dict[str, dict[str, Any]] = {
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

    Examples
    --------
    >>> import pacb_models as pm
    >>> from pacb_models.plots import DivergenceDisplay
    >>> problem = pm.BoundProblem([0.1, 0.12, 0.2, 0.4], m=500)
    >>> display = DivergenceDisplay.from_problem(problem, "delta", [0.01, 0.05])
    >>> bool(display.minima["χ², kl"][0] > display.minima["χ², kl"][1])
    True
    """

    parameter: str
    values: np.ndarray
    minima: Mapping[str, np.ndarray]

    @classmethod
    def from_problem(
        cls,
        problem: Problem,
        parameter: str = "delta",
        values: Sequence[float] | np.ndarray | None = None,
        bounds: Mapping[str, Mapping[str, Any]] | None = None,
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
            every = max(1, len(bounds) // 8)
            ax.plot(self.values, bounds, label=literal(name), markevery=every, **palette[name])
        ax.set_xscale("log")
        if self.parameter == "order":
            ticks = [tick for tick in (1, 1.5, 2, 3, 5, 10, 20) if self.values.min() <= tick <= self.values.max()]
            ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
            ax.minorticks_off()
        highest = max(float(np.max(bounds)) for bounds in self.minima.values())
        # Above one a bound says nothing.
        ax.set(xlabel=_SYMBOLS[self.parameter], ylabel="minimal bound", ylim=(0.0, min(1.1 * highest, 1.1)))

    def title(self) -> str:
        if len(self.minima) == 1:
            [(name, bounds)] = self.minima.items()
            best = self.values[int(np.argmin(bounds))]
            return f"{literal(name)} is smallest at {_SYMBOLS[self.parameter]} {best:.3g}"
        names = list(self.minima)
        winners = np.argmin(list(self.minima.values()), axis=0)
        top = names[int(np.bincount(winners).argmax())]
        count = np.count_nonzero(winners == names.index(top))
        return f"{literal(top)} is smallest at {count} of {len(self.values)} values of {_SYMBOLS[self.parameter]}"
