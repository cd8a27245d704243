"""SciPy's general-purpose minimisers: what one would try first."""

from __future__ import annotations

import math
import time
import warnings
from typing import Any

import numpy as np

from pacb_models.constants import DISTANCES
from pacb_models.optimality import gradient
from pacb_models.problem import BoundProblem
from pacb_models.registry import onto_simplex
from pacb_models.solution import Outcome
from pacb_models.solver import Solver
from pacb_models.validation import check_choice, check_count, check_positive

from ..limits import deadline_after
from ..weights import without_negligible

METHODS = ("SLSQP", "trust-constr")

#: (method, SciPy's own status) and what it means here.
STATUS_MAP: dict[tuple[str, int], tuple[str, str]] = {
    ("SLSQP", 0): ("optimal", "SLSQP met its tolerance."),
    ("SLSQP", 2): ("error", "SLSQP found more equality constraints than variables."),
    ("SLSQP", 3): ("not_converged", "SLSQP's least-squares subproblem took too many iterations."),
    ("SLSQP", 4): ("infeasible", "SLSQP found its constraints incompatible."),
    # At the tolerance we ask for SLSQP often goes on after the last digit is found, until its matrices or its line
    # search break down. How good the point is, the residual shows.
    ("SLSQP", 5): ("acceptable", "SLSQP met a singular matrix in a subproblem."),
    ("SLSQP", 6): ("acceptable", "SLSQP met a singular matrix in a subproblem."),
    ("SLSQP", 7): ("acceptable", "SLSQP met a matrix that has lost its rank."),
    ("SLSQP", 8): ("acceptable", "SLSQP's line search found no descent any more."),
    ("SLSQP", 9): ("iteration_limit", "SLSQP reached max_iterations; allow it more of them."),
    ("trust-constr", 0): ("iteration_limit", "trust-constr reached max_iterations; allow it more of them."),
    ("trust-constr", 1): ("optimal", "trust-constr met its tolerance on the gradient."),
    # The trust region has shrunk to nothing; whether the point is stationary, the residual shows.
    ("trust-constr", 2): ("acceptable", "trust-constr's steps became too small."),
    ("trust-constr", 3): ("not_converged", "trust-constr was asked to stop."),
}

#: Slopes are cut off here: with the kl distance they are infinite where the empirical risk is zero.
STEEPEST = 1e6


class _TimeUp(Exception):
    """Raised inside the objective to leave a minimiser that knows no time limit."""


class Objective:
    """The bound as a function of SciPy's variables; keeps the best point seen, for when the time is up."""

    #: Bounds and constraints for :func:`scipy.optimize.minimize`.
    conditions: dict[str, Any]
    start: np.ndarray

    def __init__(self, problem: BoundProblem, deadline: float):
        self.problem = problem
        self.deadline = deadline
        self.best, self.best_point = math.inf, problem.prior

    def posterior(self, x: np.ndarray) -> np.ndarray:
        """The weights on the simplex that the variables stand for."""
        raise NotImplementedError

    def value(self, x: np.ndarray) -> float:
        """The bound."""
        if time.monotonic() > self.deadline:
            raise _TimeUp
        q = self.posterior(x)
        bound = self.problem.outer(self.problem.empirical_risk(q), self.problem.statistic(q))
        if bound < self.best:
            self.best, self.best_point = bound, q
        return bound

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """The derivatives of the bound with respect to the variables."""
        raise NotImplementedError

    def _centred_slopes(self, q: np.ndarray) -> np.ndarray:
        slopes = np.clip(gradient(self.problem, q), -STEEPEST, STEEPEST)
        return slopes - np.dot(q, slopes)


class Shares(Objective):
    r"""Variables :math:`w_i = q_i/p_i \ge 0`, all of order one, with :math:`\sum_i p_i w_i = 1`.

    Minimisers ask for values off the simplex, where a bound need not exist: the weights are normalised first, which
    changes nothing on the simplex.
    """

    def __init__(self, problem: BoundProblem, deadline: float):
        from scipy.optimize import Bounds, LinearConstraint

        super().__init__(problem, deadline)
        self.start = np.ones(problem.size)
        self.conditions = {"bounds": Bounds(0.0, np.inf), "constraints": LinearConstraint(problem.prior, 1.0, 1.0)}

    def posterior(self, x: np.ndarray) -> np.ndarray:
        q, _ = onto_simplex(self.problem.prior * x)
        return self.problem.prior if q is None else q

    def gradient(self, x: np.ndarray) -> np.ndarray:
        total = np.dot(self.problem.prior, np.maximum(x, 0.0)) or 1.0
        return self.problem.prior * self._centred_slopes(self.posterior(x)) / total


class Logits(Objective):
    r"""Variables :math:`x_i`, free, with :math:`q_i \propto p_i e^{x_i/\sqrt{p_i}}`.

    For the KL divergence, whose slope is infinite at weight zero: no method that moves along the bounds copes with
    that, and no optimum has a weight of zero. In these variables the divergence's part of the Hessian at the prior is a
    multiple of the unit matrix, with which quasi-Newton methods begin.
    """

    def __init__(self, problem: BoundProblem, deadline: float):
        super().__init__(problem, deadline)
        self.start = np.zeros(problem.size)
        self.conditions = {}
        self.roots = np.sqrt(problem.prior)

    def posterior(self, x: np.ndarray) -> np.ndarray:
        exponents = x / self.roots
        weights = self.problem.prior * np.exp(exponents - exponents.max())
        return weights / weights.sum()

    def gradient(self, x: np.ndarray) -> np.ndarray:
        q = self.posterior(x)
        return q * self._centred_slopes(q) / self.roots


class SciPy(Solver):
    """``scipy.optimize.minimize`` for any distance and divergence."""

    name = "scipy"
    handles = DISTANCES
    any_pair = True
    keeps_time_limit = True

    def run(
        self,
        problem: BoundProblem,
        *,
        method: str = "SLSQP",
        time_limit: float | None = None,
        max_iterations: int = 1000,
        tol: float | None = None,
    ) -> Outcome:
        """Minimise the bound from the prior.

        Parameters
        ----------
        problem : BoundProblem
        method : {"SLSQP", "trust-constr"}
            Sequential quadratic programming, or an interior-point trust-region method. Both keep dense matrices:
            SLSQP takes time proportional to H³ per iteration, and neither is for more than a few hundred
            classifiers.
        time_limit : float, optional
            Seconds of wall-clock time, looked at whenever the bound is evaluated.
        max_iterations : int
        tol : float, optional
            SLSQP stops when the bound changes by less (by default 1e-15), trust-constr when the gradient of its
            Lagrangian is smaller (1e-11).
        """
        deadline = deadline_after(time_limit)
        check_choice("method", method, METHODS)
        objective = (Logits if problem.divergence_function.steep else Shares)(problem, deadline)
        options = _options(method, check_count("max_iterations", max_iterations), tol)
        return _minimise(problem, objective, method, options)


def _options(method: str, max_iterations: int, tol: float | None) -> dict[str, Any]:
    if tol is not None:
        check_positive("tol", tol)
    if method == "SLSQP":
        return {"maxiter": max_iterations, "ftol": tol or 1e-15}
    return {"maxiter": max_iterations, "gtol": tol or 1e-11, "xtol": 1e-14, "barrier_tol": 1e-12}


def _minimise(problem: BoundProblem, objective: Objective, method: str, options: dict[str, Any]) -> Outcome:
    from scipy.optimize import minimize
    from threadpoolctl import threadpool_limits

    # SLSQP makes many calls for small matrices, where several BLAS threads cost much more than they gain.
    with warnings.catch_warnings(), threadpool_limits(1, "blas"):
        # trust-constr warns of a singular start, SLSQP of clipped values; neither changes the result.
        warnings.simplefilter("ignore")
        try:
            result = minimize(
                objective.value,
                objective.start,
                jac=objective.gradient,
                method=method,
                options=options,
                **objective.conditions,
            )
        except _TimeUp:
            return Outcome(objective.best_point, "time_limit", f"{method} reached time_limit.")
    status, message = STATUS_MAP.get(
        (method, result.status), ("error", f"{method} returned the unknown status {result.status}.")
    )
    weights = without_negligible(problem, objective.posterior(result.x))
    return Outcome(weights, status, message, int(result.nit))


SOLVER = SciPy()
