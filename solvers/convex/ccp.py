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
from typing import Any

import numpy as np

from pacb_models.errors import InputError
from pacb_models.models.convex import NormCone
from pacb_models.optimality import kkt_residual
from pacb_models.problem import BoundProblem, Problem
from pacb_models.solution import Outcome, Trace
from pacb_models.solver import Solver
from pacb_models.solving.judging import OPTIMAL_RESIDUAL
from pacb_models.validation import check_choice

from ..options import check_options
from ..starts import from_all_starts
from .subproblems import (
    OneSidedSubproblem,
    Point,
    Step,
    TwoSidedSubproblem,
    check_paper_form,
    evaluate,
    tangent_ratio,
)

VARIANTS = ("one-sided", "paper")

#: An iterate may break its subproblem's constraints by rounding, not by more.
FEASIBILITY = 1e-12

#: A subproblem: linearise at a point and solve within some seconds.
Subproblem = Callable[[Point, float], Step]


class ConvexConcave(Solver):
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
    a weight that the last subproblem proposed. :func:`descend` tells the same of every start that one chooses oneself.
    """

    name = "ccp"
    needs = ("cone",)
    honours = ("average", "weights")
    requires = ("cvxpy", "clarabel")
    install = "pip install cvxpy"
    keeps_time_limit = True

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

    def run(
        self,
        problem: BoundProblem,
        *,
        variant: str = "one-sided",
        start: object = None,
        starts: int = 1,
        seed: int = 0,
        max_iterations: int = 1000,
        tolerance: float = 1e-8,
        time_limit: float | None = None,
        trace: bool = False,
    ) -> Outcome:
        options = check_options(problem, start, starts, seed, tolerance, max_iterations, time_limit, trace)
        began = time.perf_counter()
        solve = subproblem(problem, variant)
        setup_seconds = time.perf_counter() - began
        limits = (options.max_iterations, options.tolerance, options.deadline, options.trace)
        outcome = from_all_starts(problem, options, lambda q: descend(problem, solve, q, *limits).outcome())
        outcome.setup_seconds = setup_seconds
        return outcome


class Descent:
    """The way down from one start.

    An iterate is replaced only by one that keeps its subproblem's constraints and whose bound is no larger, so
    ``history`` never rises. Where a kl bound rounds to one nothing can be read from it; there the descent goes on until
    the tangent is at rest.
    """

    def __init__(self, problem: BoundProblem, start: np.ndarray, tolerance: float, trace: bool = False) -> None:
        self.problem, self.tolerance = problem, tolerance
        self.point = evaluate(problem, start)
        self.history = [self.point.bound]
        self.trace = Trace(trace)
        self.trace.add(self.point.bound)
        #: Subproblems solved.
        self.iterations = 0
        #: The largest change of a weight that the last subproblem proposed.
        self.displacement = math.nan
        #: Empty until it has ended.
        self.status = self.message = ""

    def residual(self) -> float:
        """The KKT residual of the iterate."""
        return kkt_residual(self.problem, self.point.posterior)

    def take(self, step: Step) -> None:
        """Move to a subproblem's solution, or end where that is impossible or useless."""
        self.iterations += 1
        if step.status == "MaxTime":
            self.status, self.message = "time_limit", "the time limit was reached inside a subproblem."
        elif step.posterior is None:
            self._rest(f"the subproblem was not solved ({step.status})")
        else:
            self.displacement = float(np.abs(step.posterior - self.point.posterior).max())
            if step.violation > FEASIBILITY:
                self._rest(
                    f"the subproblem's only feasible point is its start: the solver came back {self.displacement:.1e} "
                    f"away from it in the largest weight, with the constraints broken by {step.violation:.1e}"
                )
            else:
                self._move(evaluate(self.problem, step.posterior))
        self.trace.add(self.point.bound)

    def _move(self, ahead: Point) -> None:
        behind, decrease = self.point, self.point.bound - ahead.bound
        flat = self.problem.distance_function.below_one and ahead.bound >= 1.0 and behind.bound >= 1.0
        if decrease > 0.0 or flat:
            self.point = ahead
            self.history.append(ahead.bound)
        if flat:
            ratio, new_ratio = tangent_ratio(self.problem, behind), tangent_ratio(self.problem, ahead)
            if abs(new_ratio - ratio) <= self.tolerance * ratio:
                self.status, self.message = "optimal", "the bound is vacuous along the whole way."
        elif decrease <= self.tolerance * behind.bound and self.residual() <= self.tolerance:
            self.status = "optimal"
        elif decrease <= 0.0:
            self._rest("a step no longer lowers the bound")

    def _rest(self, reason: str) -> None:
        """End where no further move is possible: optimal when the descent has arrived, else not converged."""
        residual = self.residual()
        self.status = "optimal" if residual <= OPTIMAL_RESIDUAL else "not_converged"
        self.message = f"{reason}; the KKT residual there is {residual:.1e}."

    def outcome(self) -> Outcome:
        """The point where it ended."""
        details = {"history": self.history, "displacement": self.displacement, **self.trace.details()}
        return Outcome(self.point.posterior, self.status, self.message, self.iterations, details=details)


def descend(
    problem: BoundProblem,
    solve: Subproblem,
    start: np.ndarray,
    max_iterations: int = 1000,
    tolerance: float = 1e-8,
    deadline: float = math.inf,
    trace: bool = False,
) -> Descent:
    """Solve subproblems from one start until the descent ends; ``deadline`` is a reading of :func:`time.monotonic`."""
    descent = Descent(problem, start, tolerance, trace)
    while not descent.status:
        seconds = deadline - time.monotonic()
        if seconds <= 0.0:
            descent.status, descent.message = "time_limit", "the time limit was reached."
        elif descent.iterations == max_iterations:
            message = f"max_iterations={max_iterations} steps were not enough; raise it."
            descent.status, descent.message = "iteration_limit", message
        else:
            descent.take(solve(descent.point, seconds))
    return descent


def subproblem(problem: BoundProblem, variant: str = "one-sided") -> Subproblem:
    """The compiled subproblem of a variant."""
    if check_choice("variant", variant, VARIANTS) == "paper":
        if problem.posteriors is not None:
            raise InputError("variant is 'paper', which knows no constraints; use 'one-sided'.")
        check_paper_form(problem)
        return TwoSidedSubproblem(problem).solve
    compiled = OneSidedSubproblem(problem)
    return lambda point, seconds: compiled.solve(tangent_ratio(problem, point), seconds)


SOLVER = ConvexConcave()
