"""Frontier."""
from __future__ import annotations

from pacb_models.problem import BoundProblem
from pacb_models.solution import Outcome
from pacb_models.solver import Solver

from . import chi_squared, gibbs, renyi


class Frontier(Solver):
    """The exact global solver."""

    name = "frontier"
    handles = {
        "chi2": ("linear", "squared", "kl"),
        "renyi": ("linear", "squared", "kl"),
        "kl": ("linear", "squared", "kl", "pinsker", "ch"),
    }
    exact = True

    def run(self, problem: BoundProblem) -> Outcome:
        if problem.divergence == "kl":
            return gibbs.minimise(problem)
        if problem.order == 2.0:
            return chi_squared.minimise(problem)
        return renyi.minimise(problem)


SOLVER = Frontier()
