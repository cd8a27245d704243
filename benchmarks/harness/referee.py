"""Judging what a solver returned, in a process in which no measured solver has run, on the problem built anew.

A solver may have changed the data that it was given, or our own functions, as far as its process reaches.
"""

import math

from pacb_models import BoundProblem, solve
from pacb_models.plugins import ours
from pacb_models.solution import Outcome
from pacb_models.solving.judging import assess
from pacb_models.solving.registry import get_solver, solver_names

from ..problems.problem import Problem, facts
from .worker import Facts, Say

#: The certified optimum, NaN without one, and the number of local minima.
Reference = tuple[float, int | None]


class Referee:
    """Keeps the last problem, since several solvers are judged on one."""

    def __init__(self) -> None:
        self._identity = ""
        self._problem: BoundProblem

    def answer(self, say: Say, recipe: Problem, solver: str, found: Facts, known: Reference | None) -> None:
        """Say "judged" with what holds of the weights that were found, then "reference" with the certified optimum."""
        if self._identity != recipe.identity:
            self._problem, self._identity = recipe.build(), recipe.identity
        say("judged", by_weights(self._problem, solver, found) if "posterior" in found else facts(self._problem))
        bound, minima, clean = (*known, True) if known is not None else certified_optimum(self._problem)
        say("reference", {"reference_bound": bound, "minima": minima, "clean": clean})


def by_weights(problem: BoundProblem, solver: str, found: Facts) -> Facts:
    """Return what is computed from the weights that were found, and the claim as far as they support it."""
    status, message, lower_bound = (found.get(name) for name in ("status", "message", "lower_bound"))
    claimed = Outcome(found["posterior"], status or "error", message or "", claimed_lower_bound=lower_bound)
    solution = assess(problem, claimed, solver, math.nan)
    return {
        **facts(problem),
        **{name: getattr(solution, name) for name in ("status", "message", "bound", "kkt_residual", "support_size")},
        "lower_bound": solution.claimed_lower_bound,
        # Of the weights before they were put onto the simplex and into the set: only the solver saw those.
        "simplex_residual": max(found.get("simplex_residual") or 0.0, solution.details["simplex_violation"]),
        "constraint_residual": max(found.get("constraint_residual") or 0.0, solution.details["constraint_violation"]),
        "empirical_risk": solution.empirical_risk,
        "divergence_value": solution.divergence,
        "claims": status == "optimal",
    }


def certified_optimum(problem: BoundProblem) -> tuple[float, int | None, bool]:
    """Return the smallest bound and the number of minima, NaN and None without an exact solver; and if none but ours
    ran."""
    clean = True
    for name in solver_names():
        method = get_solver(name)
        clean = clean and ours(method)
        if method.exact and method.refusal(problem) is None and method.missing() is None:
            solution = solve(problem, name)
            if solution.is_global:
                return solution.bound, 1 + len(solution.local_minima), clean
    return math.nan, None, clean
