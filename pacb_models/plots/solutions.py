"""What solvers returned: how it weighs the classifiers, and the way to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from ..problem import Problem
from ..solution import Solution
from ..solver import Solver
from ..solving.running import solve
from ..validation import check_choice, check_kind
from .display import Axes, Display, Solutions, named_solutions
from .palette import Palette
from .style import GREY, literal

AXES = ("iterations", "seconds")


@dataclass(eq=False, repr=False)
class PosteriorDisplay(Display):
    """How solutions weigh the classifiers: weight over prior against risk, or the mass up to each risk.

    With ``cumulative`` the posterior mass of the classifiers whose risk is at most the abscissa is drawn.
    """

    problem: Problem
    solutions: Mapping[str, Solution]
    cumulative: bool = False

    @classmethod
    def from_solutions(cls, problem: Problem, solutions: Solutions, cumulative: bool = False) -> PosteriorDisplay:
        """Return a display of one or several solutions of a problem."""
        named = named_solutions(solutions)
        for name, solution in named.items():
            if solution.posterior is None or solution.posterior.size != problem.size:
                raise InputError(f"solution {name!r} has no posterior over the problem's {problem.size} classifiers.")
        return cls(problem, named, cumulative)

    def _draw(self, ax: Axes) -> None:
        order = np.argsort(self.problem.risks, kind="stable")
        risks, prior = self.problem.risks[order], self.problem.prior[order]
        palette = Palette(self.solutions)
        weights = {name: np.asarray(solution.posterior)[order] for name, solution in self.solutions.items()}
        styles = {name: {**palette[name], "label": literal(name)} for name in weights}
        if self.cumulative:
            # No mass is below the smallest risk.
            risks = np.concatenate([risks[:1], risks])
            grey = {"color": GREY, "lw": 1.2, "label": "prior"}
            for mass, style in ((prior, grey), *((weights[name], {**styles[name], "marker": ""}) for name in weights)):
                ax.step(risks, np.concatenate([[0.0], np.cumsum(mass)]), where="post", **style)
        else:
            ax.axhline(1.0, color=GREY, lw=1.2, label="prior")
            for name, mass in weights.items():
                ax.plot(risks, mass / prior, markevery=max(1, len(risks) // 40), **styles[name])
        label = "posterior mass up to this risk" if self.cumulative else "weight / prior weight"
        ax.set(xlabel="empirical risk of the classifier", ylabel=label)

    def title(self) -> str:
        sizes = sorted({solution.support_size for solution in self.solutions.values()})
        used = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        return f"{used} of {self.problem.size} classifiers have weight"


@dataclass(eq=False, repr=False)
class ConvergenceDisplay(Display):
    """Gap to the certified minimum along the way of each method.

    Parameters
    ----------
    minimum : float
        The certified minimum.
    solutions : dict of str to Solution
        They have a trace (``pm.solve(problem, solver, trace=True)``).
    against : {"iterations", "seconds"}
    """

    minimum: float
    solutions: Mapping[str, Solution]
    against: str = "iterations"

    @classmethod
    def from_solvers(
        cls,
        problem: Problem,
        solvers: Sequence[str | Solver] = ("fixed-point", "ccp", "cyipopt"),
        against: str = "iterations",
        **options: Any,
    ) -> ConvergenceDisplay:
        """Solve with each of the solvers, names or objects, with a trace; ``options`` go to all of them."""
        check_kind("solvers", solvers, (list, tuple), "a list of solvers")
        found = [solve(problem, solver, trace=True, **options) for solver in solvers]
        return cls.from_solutions(problem, found, against)

    @classmethod
    def from_solutions(cls, problem: Problem, solutions: Solutions, against: str = "iterations") -> ConvergenceDisplay:
        """Return a display of solutions that have a trace."""
        named = named_solutions(solutions)
        for name, solution in named.items():
            if not solution.details.get("trace"):
                raise InputError(f"solution {name!r} has no trace; solve with trace=True.")
        return cls(solve(problem).bound, named, check_choice("against", against, AXES))

    @property
    def traces(self) -> dict[str, np.ndarray]:
        """Per solver the rows (iteration, seconds, gap to the minimum)."""
        found = {}
        for name, solution in self.solutions.items():
            points = solution.details["trace"]
            # Gaps below this are rounding; a logarithmic axis needs an end.
            rows = [(k, point.seconds, max(point.bound - self.minimum, 1e-16)) for k, point in enumerate(points)]
            found[name] = np.array(rows)
        return found

    def _draw(self, ax: Axes) -> None:
        palette, column = Palette(self.solutions), AXES.index(self.against)
        for name, trace in self.traces.items():
            every = max(1, len(trace) // 30)
            ax.plot(trace[:, column], trace[:, 2], label=literal(name), markevery=every, **palette[name])
        ax.set(yscale="log", xlabel=self.against, ylabel="gap to the certified minimum")

    def title(self) -> str:
        close = [trace[-1, 2] <= 1e-9 for trace in self.traces.values()]
        if len(close) == 1:
            [name] = self.solutions
            return f"{literal(name)} {'comes' if close[0] else 'does not come'} within 1e-9 of the minimum"
        if all(close):
            return "Every method comes within 1e-9 of the minimum"
        return f"{sum(close)} of {len(close)} methods come within 1e-9 of the minimum"
