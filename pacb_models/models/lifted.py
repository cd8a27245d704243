r"""The lifted model of a bound minimisation, for any distance and divergence with a method ``express``.

.. math:: \min\ r \quad\text{s.t.}\quad \sum_i p_i w_i = 1, \quad L = \sum_i p_i w_i l_i, \quad
          D \ge \sum_i p_i f(w_i), \quad \phi(L, r) \ge b(D), \quad w \ge 0 ,

with a row for every average that the problem constrains; caps and floors are bounds of the weights. A limit on the
support has a binary variable for every weight, which is zero with it.

Empirical risk and divergence are variables with constraints of their own, so that the Hessian is a diagonal plus a few
entries. The inequalities hold with equality at a minimum, as every bound increases with the divergence; stated as
inequalities they describe a convex set, but for the distance's.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..algebra import Algebra, Expression, Values
from ..constraints.posteriors import Row
from ..errors import UnsupportedProblemError
from ..problem import Problem, RiskAndSize
from ..solver import MODEL, lacking


class Limit(NamedTuple):
    """A row :math:`a \\cdot q \\le b`, or :math:`= b`, of a model."""

    row: Row
    #: The row in its unit, :math:`(a - b)/s`: its product with the weights is at most zero.
    values: np.ndarray
    #: The unit ``s``.
    unit: float
    equality: bool = False

    def written(self, average: Callable[[np.ndarray], Any]) -> Expression:
        """Return the row of a modelling system, as the user wrote it: at most or at least, in his unit."""
        sign = -1.0 if self.row.turned else 1.0
        left, right = average(sign * self.row.values), sign * self.row.limit
        if self.equality:
            return left == right
        return left >= right if self.row.turned else left <= right


def limits(problem: Problem) -> list[Limit]:
    """Return the rows of a problem's constraints, but for those that say nothing of the posterior: their numbers are
    all equal to the limit, or all zero. Two that are opposite are one equation: as inequalities they would leave an
    interior-point method no interior."""
    found: list[Limit] = []
    allowed = problem.posteriors
    for limit in [] if allowed is None else map(Limit, allowed.rows, allowed.matrix, allowed.scales.tolist()):
        opposite = next((k for k, other in enumerate(found) if np.array_equal(other.values, -limit.values)), None)
        if opposite is not None:
            found[opposite] = found[opposite]._replace(equality=True)
        elif limit.values.any() and limit.row.values.any():
            found.append(limit)
    return found


def box(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return floors and caps of the weights, zero and infinity where there are none."""
    if problem.posteriors is None:
        return np.zeros(problem.size), np.full(problem.size, np.inf)
    return problem.posteriors.lower, np.where(problem.posteriors.upper < 1.0, problem.posteriors.upper, np.inf)


def write(algebra: Algebra) -> Expression:
    """Write the model in an algebra; the expression that is to be minimised. Refuses a distance or divergence without
    one."""
    problem, factors = algebra.problem, algebra.factors
    if (reason := lacking(problem, *MODEL)) is not None:
        raise UnsupportedProblemError(f"{problem.describe()} has no model: {reason}.")
    write_set(algebra)
    L = algebra.empirical_risk()
    algebra.scale = factors.divergence
    budget = problem.divergence_function.express(algebra, algebra.ratios)
    algebra.scale = factors.budget
    return problem.distance_function.express(algebra, L, budget)


def write_set(algebra: Algebra) -> None:
    """Write that the weights sum to one and keep the problem's constraints."""
    problem, scale = algebra.problem, algebra.factors.normalised
    if algebra.simplex:
        algebra.equal("normalised", algebra.average(np.ones(problem.size)), 1.0, scale)
    for limit in limits(problem):
        algebra.limit(limit, scale)
    if problem.posteriors is not None and problem.posteriors.support is not None:
        algebra.support(*problem.posteriors.support.costs(problem.size))


def values_at(problem: RiskAndSize, posterior: np.ndarray, kind: type[Values] = Values) -> dict[str, float]:
    """Return the values of the model's variables at a posterior, in their order. A model whose objective is not the
    bound there is refused: some ``express`` contradicts the other methods."""
    numbers = kind(problem, posterior)
    found = write(numbers)
    # Rounding, also of small differences, is no contradiction.
    if not math.isclose(found, numbers.bound, rel_tol=1e-7, abs_tol=1e-7):
        raise UnsupportedProblemError(
            f"the methods `express` of {problem.describe()} give a bound of {found:.9g}, where the problem has "
            f"{numbers.bound:.9g}: they do not fit the other methods."
        )
    return numbers.variables
