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

import math
import time
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pacb_models.divergences.cones import NormCone
from pacb_models.errors import InputError
from pacb_models.problem import BoundProblem, Problem
from pacb_models.solution import Outcome

from ..first_order.descent import descend
from ..options import DeclaredSolver, Iterative, from_all_starts
from ..oracle import Iterate, Oracle, TimeUp
from .subproblems import OneSidedSubproblem, Solved, TwoSidedSubproblem

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
    start, starts, seed, tolerance, max_iterations, time_limit, trace : see :mod:`pacb_models.solvers.options`
        A start has converged when the relative decrease of its bound, too, is at most the tolerance.

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
        if reason is None and problem.distance_function.affine:
            return "that bound is convex and has no concave part to linearise"
        if reason is None and problem.divergence_function.cone() != NormCone(2.0):
            return "it needs a divergence whose size is the norm of order two, as χ²"
        return reason

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

    def stationary(self, q: np.ndarray, tolerance: float) -> bool:
        behind, here = ([math.inf] + [point.bound for point in self.trace.points])[-2:]
        return behind - here <= tolerance * here and super().stationary(q, tolerance)


def from_start(problem: BoundProblem, solve: Subproblem, start: np.ndarray, options: Iterative) -> Outcome:
    """Solve subproblems from one start, as long as their solutions keep their constraints and lower the bound."""
    begun = copy(options)
    # The trace is the history of the bounds.
    begun.start, begun.trace = start, True
    oracle, solved, displacement, reason = _Settled(problem, begun), 0, math.nan, ""

    def tangents(oracle: Oracle, point: Iterate) -> Iterator[Iterate]:
        nonlocal solved, displacement, reason
        while True:
            found = solve(point.q, oracle.deadline - time.monotonic())
            solved += 1
            if found.status == "MaxTime":
                raise TimeUp
            if found.posterior is None:
                reason = f"the subproblem was not solved ({found.status}); "
                return
            displacement = float(np.abs(found.posterior - point.q).max())
            # An iterate may break its subproblem's constraints by rounding, not by more.
            if found.violation > 1e-12:
                reason = (
                    f"the subproblem's only feasible point is its start: the solver came back {displacement:.1e} away "
                    f"from it in the largest weight, with the constraints broken by {found.violation:.1e}; "
                )
                return
            bound = oracle.value(found.posterior)
            if not bound < point.bound:
                return
            point = Iterate(found.posterior, bound, oracle.slopes(found.posterior))
            yield point

    outcome = descend(oracle, tangents, start, options)
    outcome.message, outcome.iterations = reason + outcome.message, solved
    trace = outcome.details["trace"] if options.trace else outcome.details.pop("trace")
    outcome.details |= {"history": [bound for bound, _ in trace], "displacement": displacement}
    return outcome


def subproblem(problem: BoundProblem, variant: str = "one-sided") -> Subproblem:
    """Return the compiled subproblem of a variant."""
    if variant == "paper" and problem.posteriors is not None:
        raise InputError("variant is 'paper', which has no constraints; use 'one-sided'.")
    return (TwoSidedSubproblem if variant == "paper" else OneSidedSubproblem)(problem).solve


SOLVER = ConvexConcave()
