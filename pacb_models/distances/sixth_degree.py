r"""The distance :math:`\phi_{CH}(x) = x^2 + \tfrac29 x^4 + \tfrac{16}{135} x^6`, :math:`x = l - \hat l`.

It and its factor :math:`2m - 1` are the companion paper's (Sahu and Hemachandra, ACML 2019): a sixth-degree minorant of
the binary kl.
"""

from fractions import Fraction
from typing import final

import numpy as np

from ..algebra import Algebra, Expression
from ..numerics.elementwise import Numbers, everywhere, functions_of, log_ratio
from ..numerics.exponential_means import log_largest_exponential
from ..numerics.rounding import Constant, from_fraction, from_logarithm
from .distance import Forward, Inverse
from .squared import EvenPolynomial

#: The coefficients of x⁴ and x⁶.
_SECOND, _THIRD = 2.0 / 9.0, 16.0 / 135.0


@final
class SixthDegree(EvenPolynomial):
    r""":math:`r = L + \sqrt y` with ``y`` the only real root of :math:`y + \tfrac29 y^2 + \tfrac{16}{135} y^3 = b`."""

    name = "ch"
    exponential_only = True
    coefficients = (1.0, _SECOND, _THIRD)

    def exponent(self, m: int) -> int:
        return 2 * m - 1

    def derivatives(self, L: Numbers, budget: Numbers) -> Inverse:
        lib = functions_of(budget)
        y = _root(budget)
        if lib is not np and y <= 0.0:
            return Inverse(L, 1.0, np.inf, 0.0, 0.0, -np.inf)
        root = lib.sqrt(y)
        _, first, second = _polynomial(y)
        slope = 0.5 / (root * first)
        # d²√y/db² with y' = 1/first and y'' = -second/first³.
        bend = -0.25 / (root * y * first**2) - 0.5 * second / (root * first**3)
        return Inverse(L + root, 1.0, slope, 0.0, 0.0, bend)

    def balance(self, L: Numbers, budget: Numbers, rate: Numbers) -> Numbers:
        y = _root(budget)
        return log_ratio(rate, 2.0 * functions_of(y).sqrt(y) * _polynomial(y)[1])

    def reaches(self, L: np.ndarray, budget: np.ndarray, r: float | np.ndarray) -> np.ndarray:
        return (r <= L) | (_polynomial((r - L) ** 2)[0] <= budget)

    def forward(self, empirical: np.ndarray, excess: np.ndarray, remainder: np.ndarray) -> Forward:
        y = excess * excess
        value, first, second = _polynomial(y)
        return Forward(value, 2.0 * excess * first, 2.0 * first + 4.0 * y * second)

    def express(self, algebra: Algebra, L: Expression, budget: Expression) -> Expression:
        """Write the square of the excess as a variable, and the polynomial as the constraint that ties it to the
        budget."""
        y = algebra.variable("y", (algebra.bound - algebra.L) ** 2, 0.0)
        algebra.reach("ch", y + _SECOND * y**2 + _THIRD * y**3, budget)
        return L + algebra.sqrt(y)

    def moment(self, m: int, power: float | None, constant: str) -> Constant:
        if constant == "paper":
            return from_fraction(Fraction(9334 * m, 10000))
        return from_logarithm(log_largest_exponential(self.polynomial(m), constant == "one-sided"))


def _polynomial(y: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Return the distance as a function of the squared deviation, with two derivatives."""
    first, second = 1.0 + y * (2.0 * _SECOND + y * (3.0 * _THIRD)), 2.0 * _SECOND + y * (6.0 * _THIRD)
    return y * (1.0 + y * (_SECOND + y * _THIRD)), first, second


def _root(budget: Numbers) -> Numbers:
    """Return the real root of y + (2/9) y² + (16/135) y³ = budget, by Newton's method from above.

    The left side is increasing and convex for y >= 0 and exceeds ``y`` and ``(16/135) y³``, so that Newton's
    iterates from the smaller of the two starts fall monotonically to the root.
    """
    y = functions_of(budget).minimum(budget, (budget / _THIRD) ** (1.0 / 3.0))
    for _ in range(100):
        value, slope, _ = _polynomial(y)
        step = (value - budget) / slope
        y = y - step
        # The error of the next step would be of the square of this one.
        if everywhere(step <= 2.0**-27 * y):
            break
    return y
