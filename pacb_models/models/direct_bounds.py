r"""The minimisation of a direct bound as a CVXPY problem: maximise the common risk,

.. math:: \max_{t, l}\ t \quad\text{s.t.}\quad l_i \ge t, \quad \sum_i p_i G(\hat l_i, l_i) \le I/\delta .

Its dual is :math:`\min_q B^\circ(q)`: the multipliers of :math:`l_i \ge t` are the optimal posterior. The problem is
convex for every distance and divergence. Excesses :math:`x_i = l_i - \hat l_i` are counted in units of ``unit``, what
the common risk can at most exceed the least empirical risk by, and penalties as shares of :math:`I/\delta`, so that
everything is of order one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..direct.common_risk import Sample, upper_end
from ..direct.penalties import Power
from ..errors import UnsupportedProblemError
from ..solver import unmet

if TYPE_CHECKING:
    import cvxpy as cp

    from ..direct.problem import DirectProblem

#: Weights of this share of the largest are left out of a model.
_NO_WEIGHT = 1e-20


class Cones:
    """The operations in which a distance is written as a function of the excesses, a vector; see ``express_excess``.

    Each is one of CVXPY's expressions that are not below what they stand for, and the cones that make them so.
    """

    def __init__(self, size: int) -> None:
        import cvxpy as cp

        self.cp, self.size, self.constraints = cp, size, list[Any]()

    def times(self, factor: np.ndarray, x: Any) -> Any:
        """``k x``, elementwise."""
        return self.cp.multiply(factor, x)

    def power(self, factor: np.ndarray, x: Any, exponent: int) -> Any:
        """``k x^n`` with an even exponent, elementwise."""
        term = self.cp.Variable(self.size)
        root = self.cp.multiply(factor ** (1.0 / exponent), x)
        self.constraints.append(self.cp.PowCone3D(term, np.ones(self.size), root, 1.0 / exponent))
        return term

    def log_gap(self, factor: np.ndarray, part: np.ndarray, x: Any) -> Any:
        r""":math:`k\,a\,h(x/a)` with :math:`h(z) = z - \ln(1+z)`, elementwise; ``k x`` where ``a`` is zero."""
        import scipy.sparse

        where = np.flatnonzero(part > 0.0)
        total = self.cp.multiply(factor * (part == 0.0), x)
        if where.size == 0:
            return total
        # Each cone in units of factor · part, in which its term is a variable.
        term, weights = self.cp.Variable(where.size), (factor * part)[where]
        first = self.cp.multiply(factor[where], x[where])
        self.constraints.append(self.cp.ExpCone(first - term, weights, weights + first))
        places = (np.ones(where.size), (where, np.arange(where.size)))
        return total + scipy.sparse.csr_matrix(places, (self.size, where.size)) @ term


@dataclass
class DirectModel:
    """A CVXPY problem whose multipliers are the posterior."""

    problem: cp.Problem
    at_least: Any
    #: Which classifiers are in it.
    kept: np.ndarray
    #: What excesses are counted in.
    unit: float

    def readings(self, problem: DirectProblem) -> list[np.ndarray]:
        """The posterior, from the multipliers; none where there are none."""
        if self.at_least.dual_value is None:
            return []
        weights = np.zeros(problem.size)
        weights[self.kept] = np.maximum(np.ravel(self.at_least.dual_value), 0.0)
        return [weights]


def build_direct(problem: DirectProblem) -> DirectModel:
    """The conic model, of power and exponential cones; refuses a distance that has none.

    True risks below the empirical ones are not forbidden: they cost something, and gain nothing.
    """
    import cvxpy as cp

    reason = unmet(problem, "excess")
    if reason is not None:
        raise UnsupportedProblemError(f"{problem.describe()} has no model: {reason}.")
    penalty, log_radius = problem.penalty, problem.log_radius
    sample = Sample.of(problem.risks, problem.prior)
    end = upper_end(penalty, sample, log_radius)
    kept = _with_weight(problem, end)
    risks, prior, unit = problem.risks[kept], problem.prior[kept], max(end - sample.least, 1e-12)
    # The share of the budget that is left to the classifiers in the model.
    left = 1.0 - float(problem.prior[~kept].sum()) * math.exp(penalty.at_rest - log_radius)
    t, x = cp.Variable(name="t"), cp.Variable(risks.size, name="excess")
    shares = cp.Variable(risks.size, name="shares")
    at_least = (risks - sample.least) / unit + x >= t
    cones, ones = Cones(risks.size), np.ones(risks.size)
    power = penalty.power if isinstance(penalty, Power) else None
    # What a distance is multiplied by: a root of its share of the budget, or an exponent.
    factors = prior ** (1.0 / power) / penalty.budget(log_radius) if power else float(problem.exponent) * ones
    phi = problem.distance_function.express_excess(cones, risks, unit * x, factors)
    if power:
        share = cp.PowCone3D(shares, ones, phi, 1.0 / power)
    else:
        share = cp.ExpCone(phi + np.log(prior) - log_radius, ones, shares)
    constraints = [at_least, cp.sum(shares) <= left, *cones.constraints, share]
    if problem.distance_function.below_one:
        # Nothing is above the risk of a classifier that always errs.
        certain = np.flatnonzero(risks >= 1.0)
        constraints += [x[certain] == 0.0] if certain.size else []
    return DirectModel(cp.Problem(cp.Maximize(t), constraints), at_least, kept, unit)


def _with_weight(problem: DirectProblem, end: float) -> np.ndarray:
    """The classifiers that can have weight.

    One whose empirical risk is not below the upper end of the common risk never has; where no weight is zero, those
    that are as good as zero are left out.
    """
    if problem.penalty.signed:
        # There weights are as p exp(-n l̂) whatever the common risk.
        logarithms = np.log(problem.prior) - float(problem.exponent) * problem.risks
        return np.asarray(logarithms > logarithms.max() + math.log(_NO_WEIGHT))
    return (problem.risks < end) | (problem.risks == problem.risks.min())
