r"""The minimisation of a direct bound as a CVXPY problem and as a Pyomo model: maximise the common risk,

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
from ..errors import UnsupportedProblemError

if TYPE_CHECKING:
    import cvxpy as cp
    import pyomo.environ as pyo

    from ..direct.problem import DirectProblem

#: Distances that have a model.
DISTANCES = ("linear", "squared", "kl", "pinsker", "ch")
#: The coefficients of x², x⁴ and x⁶.
_EVEN_POWERS = {"squared": (1.0,), "pinsker": (2.0,), "ch": (1.0, 2.0 / 9.0, 16.0 / 135.0)}
#: Weights of this share of the largest are left out of a model.
_NO_WEIGHT = 1e-20


@dataclass
class Scale:
    """The numbers of a model, in its units, and which classifiers are in it.

    A classifier whose empirical risk is not below the upper end of the common risk never has weight; where no weight
    is zero, those that are as good as zero are left out.
    """

    kept: np.ndarray
    risks: np.ndarray
    prior: np.ndarray
    unit: float
    #: The empirical risks above the least.
    above: np.ndarray
    #: ln(p_i δ/I): what is added to the logarithm of a penalty.
    log_weights: np.ndarray
    #: The share of the budget that is left to the classifiers in the model.
    left: float

    @property
    def size(self) -> int:
        """How many classifiers are in the model."""
        return self.risks.size

    def expand(self, weights: np.ndarray) -> np.ndarray:
        """Weights of the model's classifiers as weights of all."""
        everyone = np.zeros(self.kept.size)
        everyone[self.kept] = np.maximum(weights, 0.0)
        return everyone


def scale_of(problem: DirectProblem) -> Scale:
    """The units of a problem; refuses what has no model."""
    if problem.distance not in DISTANCES or problem.divergence not in ("chi2", "renyi", "kl"):
        raise UnsupportedProblemError(
            f"{problem.describe()} has no model; the distances {', '.join(DISTANCES)} have one."
        )
    sample = Sample.of(problem.risks, problem.prior)
    end = upper_end(problem.penalty, sample, problem.log_radius)
    kept = (problem.risks < end) | (problem.risks == sample.least)
    if problem.penalty.signed:
        # There weights are as p exp(-n l̂) whatever the common risk.
        logarithms = np.log(problem.prior) - float(problem.exponent) * problem.risks
        kept = logarithms > logarithms.max() + math.log(_NO_WEIGHT)
    risks, prior = problem.risks[kept], problem.prior[kept]
    unit = max(end - sample.least, 1e-12)
    resting = float(problem.prior[~kept].sum()) * math.exp(problem.penalty.at_rest - problem.log_radius)
    return Scale(
        kept, risks, prior, unit, (risks - sample.least) / unit, np.log(prior) - problem.log_radius, 1.0 - resting
    )


@dataclass
class DirectModel:
    """A CVXPY problem whose multipliers are the posterior."""

    problem: cp.Problem
    at_least: Any
    scale: Scale

    def weights(self) -> np.ndarray | None:
        """The posterior, from the multipliers; None when there are none."""
        values = self.at_least.dual_value
        return None if values is None else self.scale.expand(np.ravel(values))


def build_direct(problem: DirectProblem) -> DirectModel:
    """The conic model, of power and exponential cones.

    True risks below the empirical ones are not forbidden: they cost something, and gain nothing.
    """
    import cvxpy as cp

    scale = scale_of(problem)
    t, x = cp.Variable(name="t"), cp.Variable(scale.size, name="excess")
    shares = cp.Variable(scale.size, name="shares")
    at_least = scale.above + x >= t
    constraints: list[Any] = [at_least, cp.sum(shares) <= scale.left]
    ones = np.ones(scale.size)
    if problem.divergence == "kl":
        exponents, more = _exponents(problem, scale, x)
        constraints += [*more, cp.ExpCone(exponents + scale.log_weights, ones, shares)]
    else:
        # p (φ/b)^power is a share of the budget, with b = (I/δ)^(1/power).
        budget, power = problem.penalty.budget(problem.log_radius), problem.penalty.degree
        if problem.distance == "kl":
            root, more = _binary_kl(scale, x, scale.prior ** (1.0 / power) / budget)
        else:
            degree = {"linear": 1.0, "squared": 2.0}[problem.distance]
            power *= degree
            root, more = cp.multiply(scale.unit * scale.prior ** (1.0 / power) / budget ** (1.0 / degree), x), []
        constraints += [*more, cp.PowCone3D(shares, ones, root, 1.0 / power)]
    return DirectModel(cp.Problem(cp.Maximize(t), constraints), at_least, scale)


def _exponents(problem: DirectProblem, scale: Scale, x: Any) -> tuple[Any, list[Any]]:
    """An expression not below n φ, and the constraints that make it so."""
    import cvxpy as cp

    n = float(problem.exponent)
    if problem.distance == "linear":
        return (n * scale.unit) * x, []
    if problem.distance == "kl":
        return _binary_kl(scale, x, np.full(scale.size, n))
    constraints, total = [], 0.0
    for k, coefficient in enumerate(_EVEN_POWERS[problem.distance], start=1):
        term = cp.Variable(scale.size)
        factor = (n * coefficient) ** (0.5 / k) * scale.unit
        constraints.append(cp.PowCone3D(term, np.ones(scale.size), factor * x, 0.5 / k))
        total = total + term
    return total, constraints


def _binary_kl(scale: Scale, x: Any, factors: np.ndarray) -> tuple[Any, list[Any]]:
    r"""An expression not below factor · kl(l̂, l), and the constraints that make it so.

    With :math:`h(z) = z - \ln(1+z) \ge 0` and the excess ``e`` it is :math:`kl = \hat l\, h(e/\hat l) + (1-\hat l)\,
    h(-e/(1-\hat l))`: what is of first order in ``e`` cancels here, and not in the solver. Nothing is above the risk
    of a classifier that always errs.
    """
    import cvxpy as cp
    import scipy.sparse

    total, constraints = 0.0, []
    for part, sign in ((scale.risks, 1.0), (1.0 - scale.risks, -1.0)):
        where = np.flatnonzero(part > 0.0)
        if where.size:
            # Each cone in units of factor · part, in which its term of kl is a variable.
            term, weights = cp.Variable(where.size), (factors * part)[where]
            first = cp.multiply(sign * scale.unit * factors[where], x[where])
            constraints.append(cp.ExpCone(first - term, weights, weights + first))
            place = scipy.sparse.csr_matrix(
                (np.ones(where.size), (where, np.arange(where.size))), (scale.size, where.size)
            )
            total = total + place @ term
    # Of a risk of zero the first term is the excess itself.
    total = total + cp.multiply(scale.unit * factors * (scale.risks == 0.0), x)
    certain = np.flatnonzero(scale.risks >= 1.0)
    if certain.size:
        constraints.append(x[certain] == 0.0)
    return total, constraints


def direct_pyomo_model(problem: DirectProblem) -> pyo.ConcreteModel:
    """The model for nonlinear solvers: ``x[i] >= 0`` are excesses, ``t`` the common risk, and ``above[i]`` has the
    posterior as its multipliers. The Hessian is a diagonal.

    For orders the budget is the norm's p-th power, for KL the sum of exponentials. It starts where all true risks are
    half way to the upper end of the common risk.
    """
    import pyomo.environ as pyo

    scale = scale_of(problem)
    model = pyo.ConcreteModel(name=f"{problem.distance}-{problem.divergence}, direct bound")
    signed, below_one = problem.penalty.signed, problem.distance_function.below_one
    # A classifier that always errs has nothing above its risk.
    inside = [i for i in range(scale.size) if not below_one or scale.risks[i] < 1.0]
    start = {i: max(0.5 - scale.above[i], -0.5 if signed else 1e-3) for i in inside}
    limits: dict[int, float | None] = dict.fromkeys(inside)
    if below_one:
        limits = {i: (1.0 - scale.risks[i]) / scale.unit for i in inside}
        start = {i: min(start[i], 0.5 * (1.0 - scale.risks[i]) / scale.unit) for i in inside}
    model.t = pyo.Var(initialize=0.4)
    model.x = pyo.Var(inside, bounds=lambda _, i: (None if signed else 0.0, limits[i]), initialize=start)
    model.above = pyo.Constraint(inside, rule=lambda m, i: scale.above[i] + m.x[i] >= m.t)
    terms = [_pyomo_penalty(problem, scale, i, model.x[i]) for i in inside]
    model.budget = pyo.Constraint(expr=pyo.quicksum(terms) <= scale.left)
    model.bound = pyo.Objective(expr=-model.t)
    return model


def _pyomo_penalty(problem: DirectProblem, scale: Scale, i: int, x: Any) -> Any:
    """p G δ/I of one classifier as an expression in its excess."""
    import pyomo.environ as pyo

    risk, weight = float(scale.risks[i]), float(scale.log_weights[i])
    excess = scale.unit * x
    if problem.distance == "linear":
        phi = excess
    elif problem.distance == "kl":
        phi = (risk - 1.0) * pyo.log(1.0 - excess / (1.0 - risk))
        if risk > 0.0:
            phi = phi - risk * pyo.log(1.0 + excess / risk)
    else:
        phi = sum(c * excess ** (2 * k) for k, c in enumerate(_EVEN_POWERS[problem.distance], start=1))
    if problem.divergence == "kl":
        return pyo.exp(float(problem.exponent) * phi + weight)
    power, budget = problem.penalty.degree, problem.penalty.budget(problem.log_radius)
    share = float(scale.prior[i])
    if problem.distance == "kl":
        # kl rounds below zero where the excess is tiny, and a negative number has no power.
        phi = phi + 1e-16
    elif problem.distance == "squared":
        return share * (excess / math.sqrt(budget)) ** (2.0 * power)
    return share * (phi / budget) ** power
