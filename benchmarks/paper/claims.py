r"""The paper's claim about the shape of the squared χ² bound, as a function that can be evaluated.

:math:`B(q) = L(q) + c\,X(q)^{1/4}`, :math:`X = \sum_i q_i^2/p_i`, :math:`c = (I/\delta)^{1/4}`. The paper shows
that ``B`` is not convex, and that it is strictly quasi-convex (so that a local minimum is global) *if* a condition
holds for all pairs of posteriors; it could not decide whether the condition always holds. It does not: see
:func:`quasi_convexity_condition`.
"""

import math
import numbers
from typing import NamedTuple

from pacb_models.errors import InputError, UnsupportedProblemError
from pacb_models.problem import BoundProblem
from pacb_models.validation import check_posterior


class Inequality(NamedTuple):
    """Two sides of an inequality of the paper and whether it holds."""

    left: float
    right: float
    holds: bool


def quasi_convexity_condition(problem: BoundProblem, posterior: object, other: object, alpha: float) -> Inequality:
    r"""Return the paper's condition for quasi-convexity of the squared bound, for one pair of posteriors and one
    :math:`\alpha \in (0, 1)`:

    .. math:: c\,\big[X(\alpha q + (1-\alpha) q')^{1/4} - X(q)^{1/4}\big] < (1-\alpha)\,(L(q) - L(q')).

    The paper asks for it where :math:`B(q) > B(q')`. Adding :math:`L(\alpha q + (1-\alpha)q')` to both sides turns
    it into :math:`B(\alpha q + (1-\alpha) q') < B(q)`: it is the definition of strict quasi-convexity itself.
    Between two strict local minima with different bounds it fails for ``q`` the worse of them and :math:`\alpha`
    near one.
    """
    if problem.divergence != "chi2" or problem.distance != "squared":
        raise UnsupportedProblemError(
            "the quasi-convexity condition is about the squared distance with the chi2 divergence; "
            f"the problem has {problem.distance!r} with {problem.divergence!r}."
        )
    if isinstance(alpha, bool) or not isinstance(alpha, numbers.Real) or not 0.0 < alpha < 1.0:
        raise InputError("alpha", alpha, "it must be a number strictly between 0 and 1")
    q, prime = check_posterior(posterior, problem.size), check_posterior(other, problem.size, "other")
    mixture = alpha * q + (1.0 - alpha) * prime
    c = math.sqrt(problem.coefficient)
    left = c * (problem.statistic(mixture) ** 0.25 - problem.statistic(q) ** 0.25)
    right = (1.0 - alpha) * (problem.empirical_risk(q) - problem.empirical_risk(prime))
    return Inequality(left, right, left < right)
