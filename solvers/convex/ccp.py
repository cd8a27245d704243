r"""The convex–concave procedure: minimise a tangent of the concave part, move there, repeat.

``variant="one-sided"`` minimises at each step the tangent plane of the concave outer function, a second-order cone
program (:class:`~pacb_models.models.ccp_subproblems.OneSidedSubproblem`). The plane lies above the bound and touches
it, so every iterate is a valid bound, no larger than the one before, and the procedure comes to rest at KKT points
only. Where there are several, the start decides which.

``variant="paper"`` is the procedure published for the kl distance. It linearises both sides of the equality that
defines the bound, and each of its subproblems has a single feasible point, its own start
(:class:`~pacb_models.models.ccp_subproblems.TwoSidedSubproblem`). It is kept to show that: the bounds it returns are
those of its starts.

The linear distance has no concave part. With the KL divergence the one-sided subproblem has the closed form
:math:`q_i \propto p_i \exp(-l_i/c')`, so that the procedure is a fixed-point iteration; see ``fixed-point``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pacb_models.models.ccp_subproblems import (
    OneSidedSubproblem,
    Point,
    Step,
    TwoSidedSubproblem,
    check_paper_form,
    evaluate,
    tangent_ratio,
)
from pacb_models.models.convex import NormCone
from pacb_models.optimality import kkt_residual
from pacb_models.problem import BoundProblem, Problem
from pacb_models.solution import LocalMinimum, Outcome, Trace
from pacb_models.solver import Solver
from pacb_models.solving.judging import OPTIMAL_RESIDUAL
from pacb_models.solving.merging import Merged
from pacb_models.validation import check_choice, check_count, check_positive, check_posterior

VARIANTS = ("one-sided", "paper")

#: An iterate may break its subproblem's constraints by rounding, not by more.
FEASIBILITY = 1e-12

#: Two stationary points are the same when their posteriors differ by less than this in total variation.
SAME_POINT = 1e-3

#: A subproblem: linearise at a point and solve within some seconds.
Subproblem = Callable[[Point, float], Step]


class StationaryPoint(NamedTuple):
    """A point that some of the starts of a multi-start ended in."""

    bound: float
    empirical_risk: float
    divergence: float
    support_size: int
    #: What the bordered Hessian says of it.
    kind: str
    #: How many starts led there.
    starts: int


class ConvexConcave(Solver):
    """Convex–concave procedure for the χ² divergence and distances that are not affine (see the module's text).

    Each step costs a second-order cone program: choose it to compare methods, and ``frontier`` for the global minimum
    at a fraction of the time.

    Options
    -------
    variant : {"one-sided", "paper"}
        The second needs a distance whose bound is a variable of its model and that is convex there, as kl is.
    start : array of shape (H,), optional
        Posterior to start from; the prior by default.
    starts : int
        Number of starts. Beyond the first they are random posteriors, uniform on the simplex (Dirichlet with all
        parameters one).
    seed : int
        Seed of the random starts. Starts and results do not depend on ``n_jobs``.
    n_jobs : int
        Processes over which the starts are shared out (joblib's meaning: -1 is one per core).
    max_iterations : int
        Limit per start.
    tolerance : float
        A start has converged when both the relative decrease of its bound and its KKT residual are at most this.
    time_limit : float, optional
        Seconds for all starts together, set-up included. The point reached is returned, at worst the start itself.
    trace : bool
        Record the bound after every subproblem of the best start, with the seconds, in ``details["trace"]``.

    Of several starts the best point is returned. ``details`` has ``history``, the bounds r_0, r_1, … of that start; one
    entry per start that was reached in time in ``start_bounds``, ``bounds``, ``iterations``, ``statuses``,
    ``messages``, ``residuals``, ``displacements`` (the largest change of a weight that the last subproblem proposed),
    ``histories`` and ``posteriors``; and ``distinct_points``, the different stationary points found, best first.
    """

    name = "ccp"
    needs = ("cone",)
    requires = ("cvxpy", "clarabel")
    install = "pip install cvxpy"
    keeps_time_limit = True

    def merges(self, problem: Problem, options: dict[str, Any]) -> bool:
        return super().merges(problem, options) and options.get("variant") != "paper"

    def expand_details(self, details: dict[str, Any], merged: Merged[Any]) -> dict[str, Any]:
        posteriors = np.array([merged.expand(posterior) for posterior in details["posteriors"]])
        return {
            **details,
            "posteriors": posteriors,
            "distinct_points": merged.expand_points(details["distinct_points"]),
        }

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
        variant: str = "one-sided",
        start: object = None,
        starts: int = 1,
        seed: int = 0,
        n_jobs: int = 1,
        max_iterations: int = 1000,
        tolerance: float = 1e-8,
        time_limit: float | None = None,
        trace: bool = False,
    ) -> Outcome:
        began = time.monotonic()
        check_choice("variant", variant, VARIANTS)
        if variant == "paper":
            check_paper_form(problem)
        first = problem.prior if start is None else check_posterior(start, problem.size, "start")
        random = np.random.default_rng(check_count("seed", seed, least=0))
        others = random.dirichlet(np.ones(problem.size), size=check_count("starts", starts) - 1)
        options = {
            "variant": variant,
            "max_iterations": check_count("max_iterations", max_iterations),
            "tolerance": check_positive("tolerance", tolerance),
            "trace": trace,
            "deadline": math.inf if time_limit is None else began + check_positive("time_limit", time_limit),
        }
        n_jobs = n_jobs if n_jobs == -1 else check_count("n_jobs", n_jobs)
        descents, setup_seconds = _descend_from_all(problem, np.vstack((first, others)), n_jobs, options)
        return _outcome(problem, variant, starts, descents, setup_seconds)


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
        self.status = self.message = ""

    @property
    def ended(self) -> bool:
        return self.status != ""

    def end(self, status: str, message: str = "") -> None:
        self.status, self.message = status, message

    def residual(self) -> float:
        """The KKT residual of the iterate."""
        return kkt_residual(self.problem, self.point.posterior)

    def take(self, step: Step) -> None:
        """Move to a subproblem's solution, or end where that is impossible or useless."""
        self.iterations += 1
        if step.status == "MaxTime":
            self.end("time_limit", "the time limit was reached inside a subproblem.")
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
                self.end("optimal", "the bound is vacuous along the whole way.")
        elif decrease <= self.tolerance * behind.bound and self.residual() <= self.tolerance:
            self.end("optimal")
        elif decrease <= 0.0:
            self._rest("a step no longer lowers the bound")

    def _rest(self, reason: str) -> None:
        """End where no further move is possible: optimal when the descent has arrived, else not converged."""
        residual = self.residual()
        status = "optimal" if residual <= OPTIMAL_RESIDUAL else "not_converged"
        self.end(status, f"{reason}; the KKT residual there is {residual:.1e}.")


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
    while not descent.ended:
        seconds = deadline - time.monotonic()
        if seconds <= 0.0:
            descent.end("time_limit", "the time limit was reached.")
        elif descent.iterations == max_iterations:
            descent.end("iteration_limit", f"max_iterations={max_iterations} steps were not enough; raise it.")
        else:
            descent.take(solve(descent.point, seconds))
    return descent


def _descend_from_all(
    problem: BoundProblem, starts: np.ndarray, n_jobs: int, options: dict[str, Any]
) -> tuple[list[Descent], float]:
    """The descents in the order of their starts, and the seconds that compiling took."""
    if n_jobs == 1 or len(starts) == 1:
        return _descend_from_some(problem, starts, **options)
    from joblib import Parallel, delayed, effective_n_jobs

    shares = np.array_split(starts, min(effective_n_jobs(n_jobs), len(starts)))
    results = Parallel(n_jobs=n_jobs)(delayed(_descend_from_some)(problem, share, **options) for share in shares)
    return [descent for descents, _ in results for descent in descents], max(seconds for _, seconds in results)


def _descend_from_some(
    problem: BoundProblem, starts: np.ndarray, variant: str, deadline: float, **options: Any
) -> tuple[list[Descent], float]:
    """Compile the subproblem once and descend from each start, as far as the time allows."""
    began = time.perf_counter()
    solve = TwoSidedSubproblem(problem).solve if variant == "paper" else one_sided(problem)
    setup_seconds = time.perf_counter() - began
    descents = [descend(problem, solve, starts[0], deadline=deadline, **options)]
    for start in starts[1:]:
        if time.monotonic() >= deadline:
            break
        descents.append(descend(problem, solve, start, deadline=deadline, **options))
    return descents, setup_seconds


def one_sided(problem: BoundProblem) -> Subproblem:
    """The compiled subproblem of the one-sided variant."""
    compiled = OneSidedSubproblem(problem.risks, problem.prior)
    return lambda point, seconds: compiled.solve(tangent_ratio(problem, point), seconds)


def _outcome(
    problem: BoundProblem, variant: str, starts: int, descents: list[Descent], setup_seconds: float
) -> Outcome:
    best = min(descents, key=lambda descent: descent.point.bound)
    distinct = _distinct_points(problem, [descent.point for descent in descents if descent.status == "optimal"])
    message = best.message
    if starts > 1:
        converged = sum(point.starts for point in distinct)
        message = f"{len(descents)} of {starts} starts were reached and {converged} converged. {message}".rstrip()
    return Outcome(
        posterior=best.point.posterior,
        status=best.status,
        message=message,
        iterations=best.iterations,
        setup_seconds=setup_seconds,
        local_minima=tuple(LocalMinimum(*point[:4]) for point in distinct[1:] if point.kind == "local minimum"),
        details={
            "variant": variant,
            "history": best.history,
            "start_bounds": np.array([descent.history[0] for descent in descents]),
            "bounds": np.array([descent.point.bound for descent in descents]),
            "iterations": np.array([descent.iterations for descent in descents]),
            "statuses": [descent.status for descent in descents],
            "messages": [descent.message for descent in descents],
            "residuals": np.array([descent.residual() for descent in descents]),
            "displacements": np.array([descent.displacement for descent in descents]),
            "histories": [descent.history for descent in descents],
            "posteriors": np.array([descent.point.posterior for descent in descents]),
            "distinct_points": distinct,
            **best.trace.details(),
        },
    )


def _distinct_points(problem: BoundProblem, points: list[Point]) -> tuple[StationaryPoint, ...]:
    """The different ones among stationary points, best first."""
    found: list[list[Point]] = []
    for point in sorted(points, key=lambda point: point.bound):
        for same in found:
            if 0.5 * np.abs(point.posterior - same[0].posterior).sum() < SAME_POINT:
                same.append(point)
                break
        else:
            found.append([point])
    return tuple(_describe(problem, same[0], len(same)) for same in found)


def _describe(problem: BoundProblem, point: Point, starts: int) -> StationaryPoint:
    divergence = problem.divergence_function.value_of_size(point.norm)
    kind = problem.classify(point.posterior, tol=OPTIMAL_RESIDUAL)
    return StationaryPoint(point.bound, point.risk, divergence, int(np.count_nonzero(point.posterior)), kind, starts)


SOLVER = ConvexConcave()
