"""Conic solvers, through CVXPY, for the bounds that are convex: those of affine distances, and all direct ones."""

import math
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pacb_models.direct import DirectProblem
from pacb_models.errors import InputError
from pacb_models.models.convex import build, not_conic
from pacb_models.models.direct_bounds import build_direct
from pacb_models.problem import Problem
from pacb_models.solution import Outcome
from pacb_models.solver import DIRECT_MODEL, lacking
from pacb_models.solving.judging import onto_simplex

from ..exact.convex import proof_of_convex
from ..options import DeclaredSolver, Software, in_words
from ..oracle import without_negligible

#: Clarabel's tolerances.
CLARABEL_TOLERANCES = ("gap_abs", "gap_rel", "feas")

#: Clarabel goes on to 1e-9 if it can; at its default of 1e-8 a weight that should be zero may be 1e-5. Where rounding
#: stops it before, CVXPY has a point only from the reduced tolerances on; whether that point is optimal its KKT
#: residual says. SCS's default of 1e-4 is far too loose, and its default number of iterations too small for what we ask
#: instead.
SETTINGS: dict[str, dict[str, Any]] = {
    "CLARABEL": {
        f"{kind}tol_{name}": size for kind, size in (("", 1e-9), ("reduced_", 1e-5)) for name in CLARABEL_TOLERANCES
    },
    "SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 100_000},
}

#: Clarabel's for direct bounds, whose weights are multipliers, and under constraints: their accuracy is the root of the
#: bound's.
SHARP = {f"tol_{name}": 1e-12 for name in CLARABEL_TOLERANCES}

#: Each backend's own name for a limit.
LIMITS = {
    "CLARABEL": {"time": "time_limit", "iterations": "max_iter"},
    "SCS": {"time": "time_limit_secs", "iterations": "max_iters"},
}

#: The statuses here, and the backends' own, before CVXPY makes one "user limit" of two limits. A bound is not negative:
#: a solver that thinks it unbounded has lost its way.
WORDS = {
    "optimal": ("Solved", "AlmostSolved", "solved"),
    "iteration_limit": ("MaxIterations", "solved (inaccurate - reached max_iters)"),
    "time_limit": ("MaxTime", "solved (inaccurate - reached time_limit_secs)"),
    "not_converged": ("InsufficientProgress", "interrupted", "indeterminate"),
    "numerical_error": ("NumericalError", "DualInfeasible", "AlmostDualInfeasible", "unbounded", "failure"),
    "infeasible": ("PrimalInfeasible", "AlmostPrimalInfeasible", "infeasible"),
}
STATUS_MAP: dict[str, str] = {word: status for status, words in WORDS.items() for word in words}


class Conic(DeclaredSolver):
    """Clarabel or SCS on the CVXPY form of a convex bound minimisation.

    Options
    -------
    backend : {"CLARABEL", "SCS"}
        Clarabel is an interior-point method and accurate. SCS is a first-order method, for comparison: it needs many
        iterations to be as accurate, and may not get there.
    time_limit : float, optional
        Seconds of wall-clock time, compiling included; looked at between the backend's iterations.
    max_iterations : int, optional
        By default 200 for Clarabel and 100 000 for SCS.
    options : dict, optional
        The backend's own options, for instance ``{"tol_gap_rel": 1e-10}``; they override ours.

    ``details`` has the backend's own status.
    """

    name = "cvxpy"
    needs = ("problem.cvxpy_bound", "divergence.cone")
    honours = ("average", "weights")
    requires = ("cvxpy",)
    install = "pip install cvxpy"

    def unsupported(self, problem: Problem) -> str | None:
        # Direct bounds are convex whatever the distance.
        if lacking(problem, "problem.worst_case") is None:
            return lacking(problem, *DIRECT_MODEL)
        return super().unsupported(problem) or not_conic(problem)

    @dataclass(kw_only=True)
    class Options(Software):
        backend: Literal["CLARABEL", "SCS"] = "CLARABEL"
        max_iterations: int | None = None

    def run_with(self, problem: Problem, options: Options) -> Outcome:
        backend, own = options.backend, options.own
        settings = dict(SETTINGS[backend])
        if backend == "CLARABEL" and (isinstance(problem, DirectProblem) or problem.posteriors is not None):
            settings |= SHARP
        if options.max_iterations is not None:
            settings[LIMITS[backend]["iterations"]] = options.max_iterations
        try:
            return _solve(problem, backend, settings | own, options.deadline)
        except (TypeError, ValueError, OverflowError) as reason:
            if not own:
                raise
            raise InputError(f"options is {own!r}, which {backend} refuses: {reason}") from None


def _solve(problem: Any, backend: str, settings: dict[str, Any], deadline: float) -> Outcome:
    from cvxpy.error import SolverError

    started = time.perf_counter()
    model = build_direct(problem) if isinstance(problem, DirectProblem) else build(problem)
    data, chain, inverse = model.problem.get_problem_data(backend, solver_opts=settings)
    setup_seconds = time.perf_counter() - started
    left = deadline - time.monotonic()
    if left <= 0.0:
        message = "the time limit was reached before the problem was compiled."
        return Outcome(None, "time_limit", message, 0, setup_seconds)
    if math.isfinite(left):
        settings = settings | {LIMITS[backend]["time"]: left}
    raw = chain.solve_via_data(model.problem, data, warm_start=False, verbose=False, solver_opts=settings)
    told = raw["info"] if backend == "SCS" else {"status": str(raw.status), "iter": raw.iterations}
    word, weights = told["status"], None
    # CVXPY warns of inaccurate solutions and raises for statuses without a point; the status says it.
    with warnings.catch_warnings(), suppress(SolverError):
        warnings.simplefilter("ignore")
        model.problem.unpack_results(raw, chain, inverse)
        # As variable or as multiplier, whichever is closer to stationarity.
        usable = [without_negligible(problem, each) for each in model.readings() if onto_simplex(each)[0] is not None]
        weights = min(usable, key=lambda each: problem.judge(_judged(problem, each)).kkt_residual, default=None)
    status, details = STATUS_MAP.get(word, "error"), {"backend": backend, "backend_status": word}
    proof = None if status != "optimal" or weights is None else proof_of_convex(problem, _judged(problem, weights))
    message = in_words(backend, word, status)
    return Outcome(weights, status, message, told["iter"], setup_seconds, proof, details=details)


def _judged(problem: Problem, weights: np.ndarray) -> Any:
    """Return weights as they will be reported: multipliers know nothing of caps and rows."""
    q = onto_simplex(weights)[0]
    if q is None or problem.posteriors is None:
        return q
    return problem.posteriors.repaired(q, problem.posteriors.violation(q))


SOLVER = Conic()
