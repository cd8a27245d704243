"""How methods approach the minimum, by iterations and by seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..problem import Problem
from ..solution import Solution
from ..solver import Solver
from ..solving.running import solve
from ..validation import check_choice, check_kind
from .display import Display, named_solutions
from .palette import Palette
from .style import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AXES = ("iterations", "seconds")


@dataclass(eq=False, repr=False)
class ConvergenceDisplay(Display):
    """Gap to the certified minimum along the way of each method.

    Parameters
    ----------
    minimum : float
        The certified minimum.
    solutions : dict of str to Solution
        Solutions with a trace (``pm.solve(problem, solver, trace=True)``).
    against : {"iterations", "seconds"}

    Examples
    --------
    >>> import pacb_models as pm
    >>> from pacb_models.plots import ConvergenceDisplay
    >>> problem = pm.BoundProblem([0.1, 0.12, 0.2, 0.4], m=500)
    >>> display = ConvergenceDisplay.from_solvers(problem, ["fixed-point", "ccp"])
    >>> len(display.traces["ccp"]) > 1
    True
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
    def from_solutions(
        cls,
        problem: Problem,
        solutions: Solution | Sequence[Solution] | Mapping[str, Solution],
        against: str = "iterations",
    ) -> ConvergenceDisplay:
        """A display of solutions that have a trace."""
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
            gaps = [max(point.bound - self.minimum, 1e-16) for point in points]
            found[name] = np.column_stack([np.arange(len(points)), [point.seconds for point in points], gaps])
        return found

    def _draw(self, ax: Axes) -> None:
        palette, column = Palette(self.solutions), AXES.index(self.against)
        for name, trace in self.traces.items():
            every = max(1, len(trace) // 30)
            ax.plot(trace[:, column], trace[:, 2], label=literal(name), markevery=every, **palette[name])
        ax.set(yscale="log", xlabel=self.against, ylabel="gap to the certified minimum")

    def title(self) -> str:
        final = {name: trace[-1, 2] for name, trace in self.traces.items()}
        close = [name for name, gap in final.items() if gap <= 1e-9]
        if len(final) == 1:
            [name] = final
            return f"{literal(name)} {'comes' if close else 'does not come'} within 1e-9 of the minimum"
        if len(close) == len(final):
            return "Every method comes within 1e-9 of the minimum"
        return f"{len(close)} of {len(final)} methods come within 1e-9 of the minimum"
