r"""The convex–concave procedure: minimise a tangent of the concave part, move there, repeat.

``variant="one-sided"`` minimises at each step the tangent plane of the concave outer function, a second-order cone
program (:class:`.subproblems.OneSidedSubproblem`). The plane lies above the bound and touches it, so every iterate is a
valid bound, no larger than the one before, and the procedure comes to rest at KKT points only. Where there are several,
the start decides which. Rows, caps and floors of the problem stand in every subproblem.

``variant="paper"`` is the procedure published for the kl distance. It linearises both sides of the equality that
defines the bound, and each of its subproblems has a single feasible point, its own start
(:class:`.subproblems.TwoSidedSubproblem`). It is kept to show that: the bounds it returns are those of its starts.

The linear distance has no concave part. With the KL divergence the one-sided subproblem has the closed form
:math:`q_i \propto p_i \exp(-l_i/c')`, so that the procedure is a fixed-point iteration; see ``fixed-point``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pacb_models.errors import InputError
from pacb_models.models.convex import NormCone
from pacb_models.problem import BoundProblem, Problem
from pacb_models.solution import Outcome, Trace
from pacb_models.validation import check_choice

from ..first_order.descent import Iterate, descend
from ..options import DeclaredSolver, Iterative
from ..oracle import Oracle, TimeUp
from ..starts import from_all_starts
from .subproblems import OneSidedSubproblem, Solved, TwoSidedSubproblem, check_paper_form, evaluate, tangent_ratio

VARIANTS = ("one-sided", "paper")


#: A subproblem: linearise at a posterior and solve within some seconds.
Subproblem = Callable[[np.ndarray, float], Solved]


class ConvexConcave(DeclaredSolver):
    """Convex–concave procedure for the χ² divergence and distances that are not affine (see the module's text).

    Each step costs a second-order cone program: choose it to compare methods, and ``frontier`` for the global minimum
    at a fraction of the time.

    Options
    -------
    variant : {"one-sided", "paper"}
        The second needs a distance whose bound is a variable of its model and that is convex there, as kl is.
    start, starts, seed, tolerance, max_iterations, time_limit, trace : the common options
        As for every solver; see :mod:`pacb_models.solvers.options`. A start has converged when the relative decrease of
        its bound, too, is at most the tolerance.

    ``details`` has, of the best start, ``history``, the bounds r_0, r_1, …, and ``displacement``, the largest change of
    a weight that the last subproblem proposed. :func:`from_start` tells the same of a start that one chooses oneself.
    """

    name = "ccp"
    needs = ("problem.cvxpy_bound", "divergence.cone")
    honours = ("average", "weights")
    requires = ("cvxpy", "clarabel")
    install = "pip install cvxpy"

    def merges(self, problem: Problem, options: dict[str, Any]) -> bool:
        return super().merges(problem, options) and options.get("variant") != "paper"

    def unsupported(self, problem: Problem) -> str | None:
        reason = super().unsupported(problem)
        if reason is not None:
            return reason
        if problem.distance_function.affine:
            return "that bound is convex and has no concave part to linearise"
        if problem.divergence_function.cone() != NormCone(2.0):
            return "it needs a divergence whose size is the norm of order two, as χ²"
        return None

    @dataclass(kw_only=True)
    class Options(Iterative):
        variant: Literal["one-sided", "paper"] = "one-sided"
        tolerance: float = 1e-8

    def run_with(self, problem: BoundProblem, options: Options) -> Outcome:
        began = time.perf_counter()
        solve = subproblem(problem, options.variant)
        setup_seconds = time.perf_counter() - began
        outcome = from_all_starts(problem, options, lambda q: from_start(problem, solve, q, options))
        outcome.setup_seconds = setup_seconds
        return outcome


class _Settled(Oracle):
    """Asks for a small decrease of the bound beside a small residual."""

    def __init__(self, problem: BoundProblem, options: Iterative) -> None:
        super().__init__(problem, options)
        #: Always on: it is the history of the bounds.
        self.trace = Trace(True)

    def stationary(self, q: np.ndarray, tolerance: float) -> bool:
        behind, here = ([math.inf] + [point.bound for point in self.trace.points])[-2:]
        return behind - here <= tolerance * here and super().stationary(q, tolerance)


class _Tangents:
    """Steps to the solutions of subproblems, as long as these keep their constraints and lower the bound."""

    def __init__(self, solve: Subproblem) -> None:
        #: Subproblems solved.
        self.solve, self.solved = solve, 0
        #: The largest change of a weight that the last subproblem proposed.
        self.displacement = math.nan
        #: Why there is no further step, where the subproblem is to blame.
        self.reason = ""

    def step(self, oracle: Oracle, point: Iterate, ceiling: float) -> Iterate | None:
        found = self.solve(point.q, oracle.deadline - time.monotonic())
        self.solved += 1
        if found.status == "MaxTime":
            raise TimeUp
        if found.posterior is None:
            self.reason = f"the subproblem was not solved ({found.status}); "
            return None
        self.displacement = float(np.abs(found.posterior - point.q).max())
        # An iterate may break its subproblem's constraints by rounding, not by more.
        if found.violation > 1e-12:
            self.reason = (
                f"the subproblem's only feasible point is its start: the solver came back {self.displacement:.1e} away "
                f"from it in the largest weight, with the constraints broken by {found.violation:.1e}; "
            )
            return None
        bound = oracle.value(found.posterior)
        return Iterate(found.posterior, bound, oracle.slopes(found.posterior)) if bound < point.bound else None


def from_start(problem: BoundProblem, solve: Subproblem, start: np.ndarray, options: Iterative) -> Outcome:
    """Solve subproblems from one start until none lowers the bound any more."""
    begun = copy(options)
    begun.start = start
    oracle, tangents = _Settled(problem, begun), _Tangents(solve)
    outcome = descend(oracle, tangents.step, start, options)
    outcome.message, outcome.iterations = tangents.reason + outcome.message, tangents.solved
    trace = outcome.details["trace"] if options.trace else outcome.details.pop("trace")
    outcome.details |= {"history": [bound for bound, _ in trace], "displacement": tangents.displacement}
    return outcome


def subproblem(problem: BoundProblem, variant: str = "one-sided") -> Subproblem:
    """The compiled subproblem of a variant."""
    if check_choice("variant", variant, VARIANTS) == "paper":
        if problem.posteriors is not None:
            raise InputError("variant is 'paper', which has no constraints; use 'one-sided'.")
        check_paper_form(problem)
        two_sided = TwoSidedSubproblem(problem)
        return lambda q, seconds: two_sided.solve(evaluate(problem, q), seconds)
    one_sided = OneSidedSubproblem(problem)
    return lambda q, seconds: one_sided.solve(tangent_ratio(problem, evaluate(problem, q)), seconds)


SOLVER = ConvexConcave()
