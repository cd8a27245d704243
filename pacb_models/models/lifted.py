r"""The lifted model of a bound minimisation, for any distance and divergence with a method ``express``.

.. math:: \min\ r \quad\text{s.t.}\quad \sum_i p_i w_i = 1, \quad L = \sum_i p_i w_i l_i, \quad
          D \ge \sum_i p_i f(w_i), \quad \phi(L, r) \ge b(D), \quad w \ge 0 ,

with a row for every average that the problem constrains; caps and floors are bounds of the weights. A limit on the
support has a binary variable for every weight, which is zero with it.

Empirical risk and divergence are variables with constraints of their own, so that the Hessian is a diagonal plus a few
entries. The inequalities hold with equality at a minimum, as every bound increases with the divergence; stated as
inequalities they describe a convex set, but for the distance's.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import UnsupportedProblemError
from ..solver import MODEL, lacking
from .algebra import Algebra, Values
from .limits import limits

if TYPE_CHECKING:
    from ..problem import RiskAndSize


def write(algebra: Algebra) -> Any:
    """Write the model in an algebra; the expression that is to be minimised."""
    problem, factors = algebra.problem, algebra.factors
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


def values_at(problem: RiskAndSize, posterior: np.ndarray, kind: type[Values] = Values) -> Values:
    """The variables and constraints of the model at a posterior.

    A model whose objective is not the bound there is refused: some ``express`` contradicts the other methods.
    """
    check_expressed(problem)
    numbers = kind(problem, posterior)
    found = write(numbers)
    # Rounding, also of small differences.
    if not math.isclose(found, numbers.bound, rel_tol=1e-7, abs_tol=1e-7):
        raise UnsupportedProblemError(
            f"the methods `express` of {problem.describe()} give a bound of {found:.9g}, where the problem has "
            f"{numbers.bound:.9g}: they do not fit the other methods."
        )
    return numbers


def check_expressed(problem: RiskAndSize) -> None:
    """Refuse a distance or divergence without an expression."""
    reason = lacking(problem, *MODEL)
    if reason is not None:
        raise UnsupportedProblemError(f"{problem.describe()} has no model: {reason}.")
