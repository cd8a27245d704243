"""The global minimum over posteriors that keep constraints: the same search, on the frontier of the constrained set."""

from __future__ import annotations

from pacb_models.constraints.frontier import ConstrainedFrontier
from pacb_models.problem import BoundProblem
from pacb_models.solution import Outcome

from .search import Search


def minimise(problem: BoundProblem) -> Outcome:
    """The certified minimum of a constrained problem."""
    frontier = ConstrainedFrontier(problem)
    outcome = Search(problem, frontier).outcome()
    outcome.details["certificate"] = frontier.certificate()
    return outcome
