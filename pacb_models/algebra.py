r"""The operations in which a bound minimisation is written, once for all modelling systems.

A distance and a divergence write their part of the model in their methods ``express``, in the ratios
:math:`w_i = q_i/p_i`, with ``+ - * / **`` and the operations of an :class:`Algebra`. Pyomo, CasADi, CVXPY's nonlinear
form, SCIP and text are subclasses that say how to write those. :class:`Values` computes instead of writing: it gives
every variable its value at a posterior, where a solver starts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from .errors import UnsupportedProblemError
from .numerics.inner import dot

if TYPE_CHECKING:
    from .models.lifted import Limit
    from .problem import RiskAndSize

#: What a modelling system builds of its variables; each has its own kind.
Expression: TypeAlias = Any


#: Slopes are not taken to be smaller than this: a kl bound close to one is flat, and the rounding errors of a function
#: that is magnified too much exceed a solver's tolerance.
SMALLEST_SLOPE = 1e-3


class Scaling(NamedTuple):
    """What to multiply the weights, the objective and each constraint by."""

    weights: np.ndarray
    objective: float
    normalised: float
    empirical_risk: float
    divergence: float
    budget: float


def scaling(problem: RiskAndSize) -> Scaling:
    r"""Return the factors that make a nonlinear solver's tolerances mean the same for every problem.

    A bound over ``H`` classifiers has weights of order :math:`1/H` and derivatives that differ between them by as
    little: a solver that stops when each is right to :math:`10^{-8}` has a bound that is wrong by up to ``H`` times
    that, and posteriors that are not stationary. In the weights :math:`w_i = q_i/p_i`, with the objective multiplied by
    :math:`H`, weights, derivatives and multipliers are of order one whatever ``H``, and a tolerance of :math:`10^{-8}`
    is one on the bound.

    The objective is divided by its own slope at the prior, too, which is small where the sample is large or a kl bound
    nearly vacuous; each constraint is multiplied by what the objective changes with it.
    """
    size = problem.divergence_function.size(problem.prior, problem.prior)
    outer = problem.derivatives_at(problem.empirical_risk(problem.prior), size)
    # With respect to the statistic, whose root of the order the size is; both are one at the prior.
    F_D = outer.T / problem.order
    F_L = outer.L if math.isfinite(outer.L) else 1.0
    slope = max(F_L * float(np.ptp(problem.risks)) + F_D, SMALLEST_SLOPE)
    objective = problem.size / min(slope, 1.0)
    budget = outer.T / problem.budget_at(problem.counted(size)).slope
    return Scaling(
        # Nothing depends on smaller weights, and factors of 1e15 would keep a solver from meeting its tolerances.
        1.0 / np.maximum(problem.prior, 1e-8 / problem.size),
        objective,
        float(problem.size),
        *(objective * max(slope, SMALLEST_SLOPE) for slope in (F_L, F_D, budget)),
    )


class Algebra:
    """How one modelling system writes the model of a problem, and the numbers that the model needs.

    ``L``, ``size``, ``budget`` and ``bound`` are values at the posterior where the model starts: empirical risk, the
    divergence's size, the budget and the bound. What ``lift`` and ``norm`` give is the size that the bound counts: of
    the pairs, for votes.
    """

    #: The ratios ``q/p``, as the modelling system has vectors.
    ratios: Any
    #: What a constraint is multiplied by unless it says otherwise: the factor of the part that is being written.
    scale = 1.0
    #: Whether the model says that the weights sum to one, and whether its one-sided rows are equations.
    simplex, exact = True, False
    #: A limit to the divergence's size, for systems that need one.
    largest: float | None = None

    def __init__(self, problem: RiskAndSize, posterior: np.ndarray) -> None:
        self.problem, self.prior, self.factors = problem, problem.prior, scaling(problem)
        #: The variables beside the weights, in the order in which they were written.
        self.variables: dict[str, Any] = {}
        self.coefficient, self.exponent = problem.coefficient, problem.exponent
        self.L, self.size = problem.empirical_risk(posterior), problem.divergence_function.size(posterior, self.prior)
        counted = problem.counted(self.size)
        self.budget, self.bound = problem.budget_at(counted).value, problem.bound_at(self.L, counted)

    #: The natural logarithm, elementwise, and the square root of a number.
    log: Callable[[Any], Any]
    sqrt: Callable[[Any], Any]

    def times(self, x: Any, y: Any) -> Expression:
        """Return the elementwise product of two vectors."""
        return x * y

    def relative_entropy(self, x: Any, y: Any) -> Expression:
        r""":math:`x \ln(x/y)`; a number ``x`` may be zero."""
        if isinstance(x, float):
            return x * (math.log(x) - self.log(y)) if x > 0.0 else 0.0
        return x * self.log(x / y)

    def mean(self, terms: Any) -> Expression:
        r"""Return the sum :math:`\sum_i p_i x_i` over a vector."""
        raise NotImplementedError

    def mean_power(self, ratios: Any, order: float) -> Expression:
        r""":math:`\sum_i p_i w_i^\alpha`."""
        return self.mean(ratios**order)

    def mean_entropy(self, ratios: Any) -> Expression:
        r""":math:`\sum_i p_i w_i \ln w_i`."""
        return self.mean(self.times(ratios, self.log(ratios)))

    def average(self, values: np.ndarray) -> Expression:
        r"""Return the posterior's average :math:`\sum_i q_i a_i` of numbers."""
        return self.mean(self.times(values, self.ratios))

    def quadratic(self, matrix: np.ndarray) -> Expression:
        r"""Return the quadratic form :math:`\sum_{ij} q_i A_{ij} q_j` of the weights."""
        raise UnsupportedProblemError(f"{type(self).__name__} has no quadratic forms of the weights.")

    def variable(self, name: str, value: float, lower: float | None = None, upper: float | None = None) -> Expression:
        """Return a variable with its value at the start."""
        raise NotImplementedError

    def equal(self, name: str, left: Any, right: Any, scale: float | None = None) -> None:
        """Add a constraint ``left == right``, to be multiplied by a factor."""
        self.constrain(name, left, right, True, self.scale if scale is None else scale)

    def at_least(self, name: str, left: Any, right: Any, scale: float | None = None) -> None:
        """Add a constraint ``left >= right``, to be multiplied by a factor."""
        self.constrain(name, left, right, False, self.scale if scale is None else scale)

    def constrain(self, name: str, left: Any, right: Any, equality: bool, scale: float) -> None:
        """Write such a constraint; numbers have none."""

    def limit(self, limit: Limit, scale: float) -> None:
        """Add a constraint on an average of the posterior, in the unit of its row."""
        self.constrain(limit.row.name, 0.0, self.average(limit.values), limit.equality, scale)

    def support(self, costs: np.ndarray, total: float) -> None:
        """Add a limit on the total cost of the classifiers that have weight, for systems with binary variables."""
        raise UnsupportedProblemError(f"{type(self).__name__} has no limits on the support.")

    def reach(self, name: str, left: Any, right: Any) -> None:
        """Add a one-sided row: ``left >= right``, with equality where the bound is as small as it can be. It is right
        while the bound is minimised or limited from above."""
        self.constrain(name, left, right, self.exact, self.scale)

    def lift(self, name: str, size: Any) -> Expression:
        """Return the divergence's size as a variable that is not below an expression, and equal to it at the
        minimum."""
        lower = self.problem.divergence_function.size(self.prior, self.prior)
        variable = self.variable(name, max(self.size, lower), lower, self.largest)
        self.reach("divergence", variable, size)
        return self.problem.counted(variable)

    def norm(self, ratios: Any, order: float) -> Expression:
        r"""Return the norm :math:`(\sum_i p_i w_i^\alpha)^{1/\alpha}`, which is at least one. Order two has the sum as
        variable ``X``. Other orders have the norm ``t``, as their sum spans too many orders of magnitude."""
        size = max(self.size, 1.0)
        if order == 2.0:
            X = self.variable("X", size**2, 1.0)
            self.reach("divergence", X, self.mean_power(ratios, 2))
            return self.problem.counted(self.sqrt(X))
        t = self.variable("t", size, 1.0)
        self.reach("divergence", 1.0, self.mean_power(ratios / t, order))
        return self.problem.counted(t)

    def empirical_risk(self) -> Expression:
        """Return the empirical risk as a variable; the number zero where no classifier makes an error: as a variable it
        would leave an interior-point method no interior."""
        if self.problem.risks.max() == 0.0:
            return 0.0
        L = self.variable("L", self.L, 0.0, 1.0)
        # What is quadratic is convex as an inequality only.
        exact = self.exact or self.problem.risk_matrix is None
        self.constrain("empirical_risk", L, self.problem.express_risk(self), exact, self.factors.empirical_risk)
        return L


class Values(Algebra):
    """The operations on numbers: the values of all variables and of the objective at a posterior."""

    def __init__(self, problem: RiskAndSize, posterior: np.ndarray) -> None:
        super().__init__(problem, posterior)
        self.ratios = posterior / problem.prior

    def log(self, x: Any) -> Expression:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(x)

    def sqrt(self, x: Any) -> Expression:
        return math.sqrt(x)

    def mean(self, terms: Any) -> Expression:
        return dot(self.prior, terms)

    def quadratic(self, matrix: np.ndarray) -> Expression:
        weights = self.prior * self.ratios
        return dot(weights, matrix @ weights)

    def mean_entropy(self, ratios: Any) -> Expression:
        from scipy.special import xlogy

        return self.mean(xlogy(ratios, ratios))

    def support(self, costs: np.ndarray, total: float) -> None:
        pass

    def variable(self, name: str, value: float, lower: float | None = None, upper: float | None = None) -> float:
        self.variables[name] = value
        return value


class Squares(Algebra):
    r"""An algebra without square roots, for solvers that read polynomials: roots are variables. A root ``s1`` of ``x``
    has :math:`s_1^2 \ge x`, and the norm of order two, ``t``, has :math:`t^2 \ge \sum_i p_i w_i^2`, a second-order
    cone. Both hold with equality at a minimum, as every bound increases with them."""

    roots = 0

    def sqrt(self, x: Any) -> Expression:
        self.roots += 1
        # Only a number has a value at the start.
        s = self.variable(f"s{self.roots}", float(np.sqrt(x)) if isinstance(x, float) else math.nan, 0.0)
        self.reach(f"root{self.roots}", s * s, x)
        return s

    def norm(self, ratios: Any, order: float) -> Expression:
        if order != 2.0:
            return super().norm(ratios, order)
        t = self.variable("t", max(self.size, 1.0), 1.0)
        self.reach("divergence", t * t, self.mean_power(ratios, 2))
        return self.problem.counted(t)


class SquaredValues(Squares, Values):
    """The values of the variables in an algebra without square roots."""


class ExcessAlgebra:
    """The operations in which a distance is written as a function of the excesses, a vector; see ``express_excess``."""

    def times(self, factor: np.ndarray, x: Any) -> Expression:
        """``k x``, elementwise."""
        return factor * x

    def power(self, factor: np.ndarray, x: Any, exponent: int, over: Any = 1.0) -> Expression:
        """``k x^n / w^(n-1)`` with an even exponent, elementwise."""
        return factor * x**exponent / over ** (exponent - 1)

    def log_gap(self, factor: np.ndarray, part: np.ndarray, x: Any) -> Expression:
        r""":math:`k\,a\,h(x/a)` with :math:`h(z) = z - \ln(1+z)`, elementwise; ``k x`` where ``a`` is zero."""
        raise NotImplementedError


def object_array(items: Iterable[Any]) -> np.ndarray:
    """Return a NumPy vector of a modelling system's objects, whose operators then hold elementwise."""
    return np.fromiter(items, dtype=object)


def over_vectors(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function of a modelling system's objects that takes vectors of them, too."""
    return lambda x: object_array(map(function, x)) if isinstance(x, np.ndarray) else function(x)
