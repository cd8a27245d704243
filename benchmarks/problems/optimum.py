"""The proven minimum of a problem, as the JSON beside exported models has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from pacb_models import BoundProblem, solve
from pacb_models.errors import UnsupportedProblemError
from pacb_models.solution import Solution


@dataclass(frozen=True)
class Optimum:
    """The certified minimum, or None where no method certifies one; what no posterior is below; all local minima."""

    optimum: float | None = None
    lower_bound: float | None = None
    posterior: list[float] | None = None
    #: Those that were met, best first.
    local_minima: Sequence[dict[str, float]] = ()

    @classmethod
    def of(cls, solution: Solution | None) -> Self:
        """What a solution of the exact method says, if there is one."""
        if solution is None or not solution.is_global or solution.posterior is None:
            return cls(lower_bound=None if solution is None else solution.lower_bound)
        fields = ("bound", "empirical_risk", "divergence", "support_size")
        minima = [
            {name: getattr(solution, name) for name in fields},
            *(each._asdict() for each in solution.local_minima),
        ]
        return cls(solution.bound, solution.lower_bound, solution.posterior.tolist(), minima)


def exact_solution(problem: BoundProblem) -> Solution | None:
    """The solution of the exact method, where one takes the problem."""
    try:
        return solve(problem)
    except UnsupportedProblemError:
        return None
