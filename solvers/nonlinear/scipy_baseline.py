"""SciPy's minimisers for general constraints: what one would try first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pacb_models.models.limits import box, limits
from pacb_models.solution import Outcome

from ..coordinates import Coordinates, Logits, Powers
from ..first_order.descent import FirstOrder
from ..options import Iterative
from ..oracle import Oracle
from ..scipy_methods import by_scipy
from ..starts import with_all


class SciPy(FirstOrder):
    """A method of ``scipy.optimize.minimize`` that takes bounds and constraints, for any bound with slopes.

    SciPy's own tolerances are as small as they can be: the method ends when the KKT residual is small enough.
    """

    honours = ("average", "weights")

    @dataclass(kw_only=True)
    class Options(FirstOrder.Options):
        max_iterations: int = 1000

    #: SciPy's name for the method, and its tolerances.
    method: str
    settings: dict[str, float]

    def minimise(self, oracle: Oracle, start: np.ndarray, options: Iterative) -> Outcome:
        coordinates, conditions = _variables(oracle)
        first = with_all(oracle.problem, start) if oracle.steep else start
        return by_scipy(coordinates, first, options, self.method, self.settings, **conditions)


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


def _variables(oracle: Oracle) -> tuple[Coordinates, dict[str, Any]]:
    """The variables that SciPy sees, and its arguments for their bounds and constraints."""
    from scipy.optimize import Bounds, LinearConstraint

    problem, prior = oracle.problem, oracle.problem.prior
    if oracle.steep and problem.posteriors is None:
        return Logits(oracle, np.sqrt(prior)), {}
    floors, caps = (bounds / prior for bounds in box(problem))
    # Slopes that are infinite at weight zero are to stay finite.
    # The smallest q/p of a steep divergence (KL) under constraints, where its logarithm is no variable.
    floors = np.maximum(floors, 1e-12) if oracle.steep else floors
    rows = limits(problem)
    averages = np.array([prior, *(prior * limit.values for limit in rows)])
    least = np.array([1.0, *(0.0 if limit.equality else -np.inf for limit in rows)])
    # The ratios q/p, all of order one.
    return Powers(oracle, 1.0), {
        "bounds": Bounds(floors, np.maximum(caps, floors)),
        "constraints": LinearConstraint(averages, least, np.array([1.0, *(0.0 for _ in rows)])),
    }


SLSQP_SOLVER = SLSQP()
TRUST_CONSTR_SOLVER = TrustConstr()
