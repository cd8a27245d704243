"""What a method may ask of any bound: its value and its slopes at a posterior, counted, until the time is up."""

import math
import time
from typing import Any, NamedTuple

import numpy as np

from pacb_models import optimality
from pacb_models.constraints.posteriors import FEASIBLE
from pacb_models.direct import DirectProblem
from pacb_models.numerics.inner import dot
from pacb_models.problem import Problem, RiskAndSize
from pacb_models.solution import Outcome, Trace
from pacb_models.solving.judging import onto_simplex, supported_claim

from .options import Iterative

#: Why a method ended with a status.
MESSAGES = {
    "optimal": "the KKT residual is within tolerance.",
    "iteration_limit": "max_iterations was reached; allow more of them, or a larger tolerance.",
    "time_limit": "the time limit was reached.",
}


class TimeUp(Exception):
    """Raised by an :class:`Oracle` whose deadline has passed, to leave a method that knows no time limit."""


class Iterate(NamedTuple):
    """Weights, their bound, and the bound's slope from there towards each classifier."""

    q: np.ndarray
    bound: float
    slopes: np.ndarray


class Oracle:
    """Value and slopes of a bound at weights on the simplex. It counts what it is asked, remembers the best posterior
    it has seen that keeps the constraints, and raises :class:`TimeUp` after the deadline. Weights are taken as they
    are, unchecked: a method stays on the simplex."""

    def __init__(self, problem: Problem, options: Iterative):
        #: Which methods it has beside its bound is looked up where they are used.
        self.problem: Any = problem
        self.deadline = options.deadline
        self.function_evaluations = self.gradient_evaluations = 0
        self.best, self.best_posterior = math.inf, options.start
        #: What the bound of a method's next iterate has to be below.
        self.ceiling = math.inf
        self.trace = Trace(options.trace)
        #: True for bounds whose slopes are minus infinity at weight zero.
        self.steep = is_steep(problem)
        self._known: tuple[np.ndarray, np.ndarray] | None = None
        self._worst: tuple[np.ndarray, np.ndarray] | None = None

    def value(self, q: np.ndarray) -> float:
        """Return the bound."""
        if time.monotonic() > self.deadline:
            raise TimeUp
        self.function_evaluations += 1
        problem = self.problem
        if isinstance(problem, DirectProblem):
            # The slopes come with the value.
            bound, risks = problem.worst_case(q)
            self._worst = q, risks
        elif isinstance(problem, RiskAndSize):
            bound = problem.bound_at(problem.empirical_risk(q), problem.divergence_size(q))
        else:
            bound = float(problem.bound(q))
        if bound < self.best and self.feasible(q):
            self.best, self.best_posterior = bound, q
        return bound

    def feasible(self, q: np.ndarray) -> bool:
        """Return whether weights keep the problem's constraints, but for rounding."""
        return self.problem.posteriors is None or self.problem.posteriors.violation(q) <= FEASIBLE

    def slopes(self, q: np.ndarray) -> np.ndarray:
        """Return the gradient less its mean under ``q``, which on the simplex is the slope towards each classifier.
        Asked again for the same array, it gives the same answer without counting."""
        if self._known is not None and self._known[0] is q:
            return self._known[1]
        self.gradient_evaluations += 1
        if isinstance(self.problem, RiskAndSize):
            slopes = optimality.gradient(self.problem, q)
        elif self._worst is not None and self._worst[0] is q:
            slopes = self._worst[1]
        else:
            slopes = np.asarray(self.problem.gradient(q), dtype=np.float64)
        if not np.isfinite(slopes.sum()):
            slopes = optimality.cut_off(slopes)
        self._known = q, slopes - dot(q, slopes)
        return self._known[1]

    def iterate(self, q: np.ndarray) -> Iterate:
        """Return weights with all that is known of them."""
        return Iterate(q, self.value(q), self.slopes(q))

    def stationary(self, q: np.ndarray, tolerance: float) -> bool:
        """Return True when the KKT residual is at most the tolerance; computed in full only where its larger part
        is."""
        if self.problem.posteriors is not None:
            # The slopes say nothing without the multipliers of the constraints.
            return self.feasible(q) and self.problem.judge(q).kkt_residual <= tolerance
        slopes = self.slopes(q)
        larger_part = dot(q, np.abs(slopes)) if self.steep else -float(slopes.min())
        return larger_part <= tolerance and self.problem.judge(q).kkt_residual <= tolerance

    def outcome(self, status: str, iterations: int | None, q: np.ndarray | None = None, message: str = "") -> Outcome:
        """Return the outcome, by default of the best posterior, with what was counted and traced."""
        details = {
            "function_evaluations": self.function_evaluations,
            "gradient_evaluations": self.gradient_evaluations,
            **self.trace.details(),
        }
        weights = without_negligible(self.problem, self.best_posterior if q is None else q)
        return Outcome(weights, status, message or MESSAGES[status], iterations, details=details)

    def found_nothing_better(self, posterior: np.ndarray, iterations: int) -> Outcome:
        """Tell that no step lowers the bound: to rounding it is flat around a minimum. Whether it is one, the residual
        shows."""
        posterior = without_negligible(self.problem, posterior)
        residual = self.problem.judge(onto_simplex(posterior)[0]).kkt_residual
        status = supported_claim("optimal", residual, 0.0)
        left = "rounding hides what is left to gain" if status == "optimal" else f"the KKT residual is {residual:.1e}"
        return self.outcome(status, iterations, posterior, f"no step lowers the bound any more; {left}.")


def is_steep(problem: Problem) -> bool:
    """Return True for bounds whose slopes are minus infinity at weight zero: those of the KL divergence. A bound of
    another form is taken for one where the slope towards the last classifier, its weight made ever smaller, falls as a
    logarithm does: by as much for each power of ten."""
    if isinstance(problem, RiskAndSize):
        return bool(problem.divergence_function.steep)
    if problem.kind != "own" or problem.size < 2:
        return False
    slopes = []
    for weight in (1e-2, 1e-5, 1e-8):
        q = problem.prior.copy()
        q[-1] *= weight
        gradient = np.asarray(problem.gradient(q / q.sum()), dtype=np.float64)
        slopes.append(gradient[-1] - gradient[0])
    first, second = np.diff(slopes)
    return bool(first < 0.0 and 0.5 < second / first < 2.0)


def without_negligible(problem: Any, weights: np.ndarray) -> np.ndarray:
    """Return the weights, with zeros for those that are positive only because a barrier method never touches a bound. A
    small weight is dropped exactly where the optimality conditions want it to be zero: where the slope of the bound at
    weight zero is not below the mean slope of the posterior. With the KL divergence, whose slope there is minus
    infinity, that leaves all but weights too small for a floating-point number. The others take over what was dropped:
    how far the weights are off the simplex is the solver's doing, and stays to be seen. Under constraints, and of
    bounds of another form, the weights stay as they are."""
    q, _ = onto_simplex(weights)
    # Under constraints the others could not take anything over without breaking rows or caps.
    if q is None or problem.posteriors is not None or not isinstance(problem, RiskAndSize):
        return weights
    size, slopes = problem.size_and_slopes(q)
    if not np.isfinite([slopes.L, slopes.T]).all():
        return weights
    divergence, by_risk = problem.divergence_function, slopes.L * problem.risk_gradient(q)
    mean = dot(q, by_risk + slopes.T * divergence.gradient(q, problem.prior, size))
    at_zero = by_risk + slopes.T * divergence.gradient(np.zeros_like(q), problem.prior, size)
    # Larger weights are left alone, whatever their slope: a point that has not converged stays as it is.
    dropped = (q > 0.0) & (q < 1e-3 * problem.prior) & (at_zero >= mean)
    left = np.where(dropped, 0.0, weights)
    return left * (float(weights.sum()) / float(left.sum())) if dropped.any() else weights
