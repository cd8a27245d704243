"""Judging what a solver returned, in a process in which no measured solver has run.

A solver may have changed the data that it was given, or our own functions, as far as its process reaches. So its
weights are judged here, on the problem built anew from its recipe, and the certified optimum is found here.
"""

from __future__ import annotations

import math
from typing import Any

from pacb_models import BoundProblem, solve
from pacb_models.plugins import ours
from pacb_models.solution import Outcome
from pacb_models.solving.judging import assess
from pacb_models.solving.registry import get_solver, solver_names

from ..problems.problem import Problem, facts
from .worker import Say


class Referee:
    """Keeps the last problem, since several solvers are judged on one."""

    def __init__(self) -> None:
        self._identity = ""
        self._problem: BoundProblem

    def answer(self, say: Say, recipe: Problem, solver: str, found: dict[str, Any], reference: float | None) -> None:
        """Say "judged" with what holds of the weights, then "reference" with the certified optimum."""
        if self._identity != recipe.identity:
            self._problem, self._identity = recipe.build(), recipe.identity
        say("judged", judged(self._problem, solver, found) if "posterior" in found else facts(self._problem))
        bound, minima, clean = (reference, None, True) if reference is not None else certified(self._problem)
        say("reference", {"reference_bound": bound, "minima": minima, "clean": clean})


def judged(problem: BoundProblem, solver: str, found: dict[str, Any]) -> dict[str, Any]:
    """The columns of a row that are computed from the weights, and the claim as far as they support it."""
    claimed = Outcome(found["posterior"], found["status"], found["message"], lower_bound=found["lower_bound"])
    solution = assess(problem, claimed, solver, found["seconds"])
    return {
        **facts(problem),
        "status": solution.status,
        "message": solution.message,
        "bound": solution.bound,
        "lower_bound": solution.lower_bound,
        "kkt_residual": solution.kkt_residual,
        # Of the weights before they were put onto the simplex and into the set: only the solver saw those.
        "simplex_residual": max(found["simplex_residual"] or 0.0, solution.details["simplex_violation"]),
        "constraint_residual": max(found["constraint_residual"] or 0.0, solution.details["constraint_violation"]),
        "support_size": solution.support_size,
        "empirical_risk": solution.empirical_risk,
        "divergence_value": solution.divergence,
        "claims": found["status"] == "optimal",
        "success": solution.status == "optimal",
    }


def certified(problem: BoundProblem) -> tuple[float, int | None, bool]:
    """The smallest possible bound and the number of local minima, NaN and None where no exact solver applies; and
    whether only our own solvers were loaded.
    """
    clean = True
    for name in solver_names():
        method = get_solver(name)
        clean = clean and ours(method)
        if method.exact and method.refusal(problem) is None and method.missing() is None:
            solution = solve(problem, name)
            if solution.is_global:
                return solution.bound, 1 + len(solution.local_minima), clean
    return math.nan, None, clean
