r"""The minimisation of a direct bound as a CVXPY problem and as a Pyomo model: maximise the common risk,

.. math:: \max_{t, l}\ t \quad\text{s.t.}\quad l_i \ge t, \quad \sum_i p_i G(\hat l_i, l_i) \le I/\delta .

Its dual is :math:`\min_q B^\circ(q)`: the multipliers of :math:`l_i \ge t` are the optimal posterior. The problem is
convex for every distance and divergence. Excesses :math:`x_i = l_i - \hat l_i` are counted in units of ``unit``, what
the common risk can at most exceed the least empirical risk by, and penalties as shares of :math:`I/\delta`, so that
everything is of order one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..algebra import ExcessAlgebra, Expression, object_array, over_vectors
from ..direct.penalties import Power
from ..direct.problem import DirectProblem
from ..environment import use_environment_folders
from ..errors import UnsupportedProblemError
from ..solver import DIRECT_MODEL, lacking
from .convex import ConvexModel

if TYPE_CHECKING:
    import pyomo.environ as pyo


class Units(NamedTuple):
    """The numbers of a model, and which classifiers are in it: those that can have weight."""

    used: np.ndarray
    risks: np.ndarray
    #: What excesses are counted in, and the empirical risks above the least.
    unit: float
    above: np.ndarray
    #: What a distance is multiplied by: a root of its share of the budget, or an exponent.
    factors: np.ndarray
    #: ln(p_i δ/I): what is added to the logarithm of a penalty.
    log_weights: np.ndarray
    #: The share of the budget that is left to the classifiers in the model.
    left: float

    def expand(self, weights: np.ndarray) -> np.ndarray:
        """Return weights of the model's classifiers as weights of all."""
        everyone = np.zeros(self.used.size)
        everyone[self.used] = np.maximum(weights, 0.0)
        return everyone


def units_of(problem: DirectProblem) -> Units:
    """Return the units of a problem; refuses what has no model. A classifier whose empirical risk is not below the
    upper end of the common risk never has weight; where no weight is zero, those that are as good as zero are left
    out."""
    if (reason := lacking(problem, *DIRECT_MODEL)) is not None:
        raise UnsupportedProblemError(f"{problem.describe()} has no model: {reason}.")
    penalty, log_radius, exponent = problem.penalty, problem.log_radius, float(problem.exponent)
    least, end = problem.confidence_set.least, problem.confidence_set.upper_end
    used = (problem.risks < end) | (problem.risks == least)
    if penalty.signed:
        # There weights are as p exp(-n l̂) whatever the common risk.
        logarithms = np.log(problem.prior) - exponent * problem.risks
        used = logarithms > logarithms.max() + math.log(1e-20)
    risks, prior, unit = problem.risks[used], problem.prior[used], max(end - least, 1e-12)
    factors = np.full(risks.size, exponent)
    if isinstance(penalty, Power):
        factors = prior ** (1.0 / penalty.power) / penalty.budget(log_radius)
    left = 1.0 - float(problem.prior[~used].sum()) * math.exp(penalty.at_rest - log_radius)
    return Units(used, risks, unit, (risks - least) / unit, factors, np.log(prior) - log_radius, left)


class Cones(ExcessAlgebra):
    """CVXPY's expressions that are not below what they stand for, and the cones that make them so."""

    def __init__(self, size: int) -> None:
        import cvxpy as cp

        self.cp, self.size, self.constraints = cp, size, list[Any]()

    def times(self, factor: np.ndarray, x: Any) -> Expression:
        return self.cp.multiply(factor, x)

    def power(self, factor: np.ndarray, x: Any, exponent: int, over: Any = 1.0) -> Expression:
        term = self.cp.Variable(self.size)
        root = self.cp.multiply(factor ** (1.0 / exponent), x)
        self.constraints.append(self.cp.PowCone3D(term, over + np.zeros(self.size), root, 1.0 / exponent))
        return term

    def log_gap(self, factor: np.ndarray, part: np.ndarray, x: Any) -> Expression:
        # Each cone in units of factor · part, in which its term is a variable; where the part is zero, so is the term.
        term, weights = self.cp.Variable(self.size), np.where(part > 0.0, factor * part, 1.0)
        first = self.cp.multiply(np.where(part > 0.0, factor, 0.0), x)
        self.constraints.append(self.cp.ExpCone(first - term, weights, weights + first))
        return self.cp.multiply(np.where(part > 0.0, 0.0, factor), x) + term


class PyomoExcess(ExcessAlgebra):
    """Pyomo's expressions in vectors of objects."""

    def log_gap(self, factor: np.ndarray, part: np.ndarray, x: Any) -> Expression:
        import pyomo.environ as pyo

        terms = (each - a * pyo.log(1.0 + each / a) if a > 0.0 else each for a, each in zip(part.tolist(), x))
        return factor * object_array(terms)


def build_direct(problem: DirectProblem) -> ConvexModel:
    """Return the conic model, of power and exponential cones, whose multipliers are the posterior. True risks below the
    empirical ones are not forbidden: they cost something, and gain nothing."""
    import cvxpy as cp

    units, penalty = units_of(problem), problem.penalty
    size, ones = units.risks.size, np.ones(units.risks.size)
    t, x, shares = cp.Variable(name="t"), cp.Variable(size, name="excess"), cp.Variable(size, name="shares")
    at_least, cones = units.above + x >= t, Cones(size)
    phi = problem.distance_function.express_excess(cones, units.risks, units.unit * x, units.factors)
    if isinstance(penalty, Power):
        share = cp.PowCone3D(shares, ones, phi, 1.0 / penalty.power)
    else:
        share = cp.ExpCone(phi + units.log_weights, ones, shares)
    constraints = [at_least, cp.sum(shares) <= units.left, *cones.constraints, share]
    # Nothing is above the risk of a classifier that always errs.
    if problem.distance_function.below_one and (certain := np.flatnonzero(units.risks >= 1.0)).size:
        constraints.append(x[certain] == 0.0)

    def readings() -> list[np.ndarray]:
        return [] if at_least.dual_value is None else [units.expand(np.ravel(at_least.dual_value))]

    return ConvexModel(cp.Problem(cp.Maximize(t), constraints), readings)


def direct_pyomo_model(problem: DirectProblem) -> pyo.ConcreteModel:
    """Return the model for nonlinear solvers: ``x[i] >= 0`` are excesses, ``t`` the common risk, and ``above[i]`` has
    the posterior as its multipliers. The Hessian is a diagonal. For orders the budget is the norm's p-th power, for KL
    the sum of exponentials. It starts where all true risks are half way to the upper end of the common risk."""
    import pyomo.environ as pyo

    use_environment_folders()
    units, penalty = units_of(problem), problem.penalty
    model = pyo.ConcreteModel(name=f"{problem.distance}-{problem.divergence}, direct bound")
    # A classifier that always errs has nothing above its risk.
    below_one = problem.distance_function.below_one
    inside = np.flatnonzero(units.risks < 1.0) if below_one else np.arange(units.risks.size)
    risks = units.risks[inside]
    highest = (1.0 - risks) / units.unit if below_one else np.full(inside.size, np.inf)
    start = np.minimum(np.maximum(0.5 - units.above[inside], -0.5 if penalty.signed else 1e-3), 0.5 * highest)
    places = inside.tolist()
    model.t, model.x = pyo.Var(initialize=0.4), pyo.Var(places, initialize=dict(zip(places, start.tolist())))
    for variable, upper in zip(model.x.values(), highest.tolist()):
        variable.setlb(None if penalty.signed else 0.0)
        variable.setub(upper if upper < math.inf else None)
    model.above = pyo.Constraint(places, rule=lambda m, i: float(units.above[i]) + m.x[i] >= m.t)
    excess = units.unit * object_array(model.x.values())
    phi = problem.distance_function.express_excess(PyomoExcess(), risks, excess, units.factors[inside])
    if isinstance(penalty, Power):
        # A distance rounds below zero where the excess is tiny, and a negative number has no power.
        shares = (phi + 1e-16) ** penalty.power
    else:
        shares = over_vectors(pyo.exp)(phi + units.log_weights[inside])
    model.budget = pyo.Constraint(expr=pyo.quicksum(shares) <= units.left)
    model.bound = pyo.Objective(expr=-model.t)
    return model
