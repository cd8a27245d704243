"""SciPy's minimisers for general constraints: what one would try first."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pacb_models.models.lifted import box, limits
from pacb_models.solution import Outcome

from ..coordinates import Logits, Powers, by_scipy
from ..first_order.descent import FirstOrder
from ..options import with_all
from ..oracle import Oracle


class SciPy(FirstOrder):
    """A method of ``scipy.optimize.minimize`` that takes bounds and constraints, for any bound with slopes.

    SciPy's own tolerances are as small as they can be: the method ends when the KKT residual is small enough.
    """

    honours = ("average", "weights")
    #: SciPy's name for the method, and its tolerances.
    method: str
    settings: dict[str, float]

    @dataclass(kw_only=True)
    class Options(FirstOrder.Options):
        max_iterations: int = 1000

    def minimise(self, oracle: Oracle, start: np.ndarray, options: Any) -> Outcome:
        from scipy.optimize import Bounds, LinearConstraint

        problem, prior = oracle.problem, oracle.problem.prior
        first = with_all(problem, start) if oracle.steep else start
        if oracle.steep and problem.posteriors is None:
            return by_scipy(Logits(oracle, np.sqrt(prior)), first, options, self.method, self.settings)
        floors, caps = (bounds / prior for bounds in box(problem))
        # Under constraints the logarithm of q/p is no variable, and its slopes are to stay finite.
        floors = np.maximum(floors, 1e-12) if oracle.steep else floors
        rows = limits(problem)
        averages = np.array([prior, *(prior * limit.values for limit in rows)])
        least = [1.0, *(0.0 if limit.equality else -np.inf for limit in rows)]
        conditions = {
            "bounds": Bounds(floors, np.maximum(caps, floors)),
            "constraints": LinearConstraint(averages, least, [1.0, *(0.0 for _ in rows)]),
        }
        # The ratios q/p, all of order one.
        return by_scipy(Powers(oracle, 1.0), first, options, self.method, self.settings, **conditions)


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

    name = method = "trust-constr"
    settings = {"gtol": 1e-11, "xtol": 1e-14, "barrier_tol": 1e-12}


SLSQP_SOLVER = SLSQP()
TRUST_CONSTR_SOLVER = TrustConstr()
