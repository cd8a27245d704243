"""SciPy's minimisers for general constraints: what one would try first."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from pacb_models.models.limits import box, limits
from pacb_models.numerics.inner import one_thread
from pacb_models.solution import Outcome

from ..coordinates import Coordinates, Logits, Scaled
from ..first_order.descent import FirstOrder
from ..options import Options
from ..oracle import Oracle, TimeUp
from ..starts import with_all

#: (method, SciPy's own status) and what it means here.
STATUS_MAP: dict[tuple[str, int], tuple[str, str]] = {
    ("SLSQP", 0): ("optimal", "SLSQP met its tolerance."),
    ("SLSQP", 2): ("error", "SLSQP found more equality constraints than variables."),
    ("SLSQP", 3): ("not_converged", "SLSQP's least-squares subproblem took too many iterations."),
    # At the tolerance we ask for SLSQP often goes on after the last digit is found, until its matrices or its line
    # search break down. How good the point is, the residual shows; no descent is what a minimum looks like.
    ("SLSQP", 4): ("acceptable", "SLSQP took the simplex for empty in a subproblem."),
    ("SLSQP", 5): ("acceptable", "SLSQP met a singular matrix in a subproblem."),
    ("SLSQP", 6): ("acceptable", "SLSQP met a singular matrix in a subproblem."),
    ("SLSQP", 7): ("acceptable", "SLSQP met a matrix that has lost its rank."),
    ("SLSQP", 8): ("optimal", "SLSQP's line search found no descent any more."),
    ("SLSQP", 9): ("iteration_limit", "SLSQP reached max_iterations; allow it more of them."),
    ("trust-constr", 0): ("iteration_limit", "trust-constr reached max_iterations; allow it more of them."),
    ("trust-constr", 1): ("optimal", "trust-constr met its tolerance on the gradient."),
    # The trust region has shrunk to nothing, which SciPy counts as success; whether the point is stationary, the
    # residual shows.
    ("trust-constr", 2): ("optimal", "trust-constr's steps became too small to change anything."),
    ("trust-constr", 3): ("not_converged", "trust-constr was asked to stop."),
}


#: The smallest q/p of a steep divergence (KL) under constraints, where its logarithm is no variable.
LEAST_RATIO = 1e-12


class SciPy(FirstOrder):
    """A method of ``scipy.optimize.minimize`` that takes bounds and constraints, for any bound with slopes.

    SciPy's own tolerances are as small as they can be: the method ends when the KKT residual is small enough.
    """

    honours = ("average", "weights")
    iterations = 1000
    #: SciPy's name for the method, and its tolerances.
    method: str
    settings: dict[str, float]

    def minimise(self, oracle: Oracle, start: np.ndarray, options: Options) -> Outcome:
        return _minimise(oracle, start, options, self.method, self.settings)


class SLSQP(SciPy):
    """Sequential quadratic programming: what one would try first.

    It keeps dense matrices and takes time proportional to H³ per iteration: not for more than a few hundred
    classifiers.
    """

    name = "slsqp"
    method = "SLSQP"
    settings = {"ftol": 1e-15}


class TrustConstr(SciPy):
    """An interior-point trust-region method with quasi-Newton matrices.

    They are dense, as SLSQP's; it takes far more iterations.
    """

    name = "trust-constr"
    method = "trust-constr"
    settings = {"gtol": 1e-11, "xtol": 1e-14, "barrier_tol": 1e-12}


class _Stationary(Exception):
    """The point of an iteration is stationary to the tolerance."""


def _variables(oracle: Oracle) -> tuple[Coordinates, dict[str, Any]]:
    """The variables that SciPy sees, and its arguments for their bounds and constraints."""
    from scipy.optimize import Bounds, LinearConstraint

    problem, prior = oracle.problem, oracle.problem.prior
    if oracle.steep and problem.posteriors is None:
        return Logits(oracle, np.sqrt(prior)), {}
    floors, caps = (bounds / prior for bounds in box(problem))
    # Slopes that are infinite at weight zero are to stay finite.
    floors = np.maximum(floors, LEAST_RATIO) if oracle.steep else floors
    rows = limits(problem)
    averages = np.array([prior, *(prior * limit.values for limit in rows)])
    least = np.array([1.0, *(0.0 if limit.equality else -np.inf for limit in rows)])
    # The ratios q/p, all of order one.
    return Scaled(oracle, prior), {
        "bounds": Bounds(floors, np.maximum(caps, floors)),
        "constraints": LinearConstraint(averages, least, np.array([1.0, *(0.0 for _ in rows)])),
    }


def _minimise(oracle: Oracle, start: np.ndarray, options: Options, method: str, settings: dict[str, float]) -> Outcome:
    from scipy.optimize import minimize

    coordinates, conditions = _variables(oracle)
    iterations = 0

    def stationary(x: np.ndarray) -> bool:
        return oracle.stationary(coordinates.posterior(x), options.tolerance)

    # Until SciPy 1.16 SLSQP hands its callback the bare point, and knows no StopIteration.
    def after_iteration(x: np.ndarray, *_: Any) -> None:
        nonlocal iterations
        iterations += 1
        oracle.trace.add(oracle.best)
        if stationary(x):
            raise _Stationary(x)

    # SLSQP makes many calls for small matrices, where several BLAS threads cost much more than they gain.
    with warnings.catch_warnings(), one_thread():
        # trust-constr warns of a singular start, SLSQP of clipped values; neither changes the result.
        warnings.simplefilter("ignore")
        try:
            first = coordinates.point(with_all(oracle.problem, start) if oracle.steep else start)
            oracle.trace.add(coordinates.value(first))
            result = minimize(
                coordinates.value,
                first,
                jac=coordinates.gradient,
                method=method,
                options={"maxiter": options.max_iterations, **settings},
                callback=after_iteration,
                **conditions,
            )
        except TimeUp:
            return oracle.outcome(oracle.best_posterior, "time_limit", f"{method} reached time_limit.", iterations)
        except _Stationary as found:
            return oracle.met_tolerance(oracle.cleaned(coordinates.posterior(found.args[0])), iterations)
    if stationary(result.x):
        return oracle.met_tolerance(oracle.cleaned(coordinates.posterior(result.x)), iterations)
    status, message = STATUS_MAP.get(
        (method, result.status), ("error", f"{method} returned the unknown status {result.status}.")
    )
    return oracle.outcome(oracle.cleaned(coordinates.posterior(result.x)), status, message, int(result.nit))


SLSQP_SOLVER = SLSQP()
TRUST_CONSTR_SOLVER = TrustConstr()
