r"""Even polynomials of the deviation, :math:`\phi = c_1 x^2 + c_2 x^4 + \dots` of :math:`x = l - \hat l`; of them the
squared distance."""

import math
from fractions import Fraction
from typing import final

import numpy as np

from ..algebra import Algebra, ExcessAlgebra, Expression
from ..numerics.elementwise import Numbers, log_ratio
from ..numerics.exponential_means import (
    Polynomial,
    log_exponential_mean,
    log_exponential_mean_above,
    log_largest_exponential,
)
from ..numerics.power_means import log_largest_deviation, log_power_mean
from ..numerics.rounding import Constant, ceil_exp, from_fraction, from_logarithm
from .distance import Distance, Forward, Inverse


class EvenPolynomial(Distance):
    """An even polynomial of the deviation."""

    @property
    def coefficients(self) -> tuple[float, ...]:
        """Those of its second, fourth, ... power."""
        raise NotImplementedError

    def express_excess(
        self, cones: ExcessAlgebra, empirical: Expression, excess: Expression, factor: Numbers
    ) -> Expression:
        return sum(cones.power(c * factor, excess, 2 * k) for k, c in enumerate(self.coefficients, start=1))

    def polynomial(self, m: int) -> Polynomial:
        """Return the distance with the factor of its exponential moment."""
        return Polynomial(m, self.exponent(m), self.coefficients)

    def moment_at(self, m: int, l: float, power: float | None, constant: str) -> float:
        if constant == "one-sided":
            return ceil_exp(log_exponential_mean_above(self.polynomial(m), m * (1.0 - l)))
        return ceil_exp(log_exponential_mean(self.polynomial(m), l - 0.5))


class Quadratic(EvenPolynomial):
    r""":math:`\phi = s\,(l - \hat l)^2` with a scale :math:`s`, hence :math:`r = L + \sqrt{b/s}`.

    Moments of the ``p``-th power are :math:`s^p` times the deviation's of the power ``2p``; exponential ones are
    largest at :math:`l = 1/2` for :math:`s \le 2`, which is proved in :mod:`pacb_models.numerics.exponential_means`.
    """

    scale: float

    @property
    def coefficients(self) -> tuple[float, ...]:
        return (self.scale,)

    def derivatives(self, L: Numbers, budget: Numbers) -> Inverse:
        if not isinstance(budget, np.ndarray) and budget <= 0.0:
            return Inverse(L, 1.0, math.inf, 0.0, 0.0, -math.inf)
        root = (budget / self.scale) ** 0.5
        slope = 0.5 * root / budget
        return Inverse(L + root, 1.0, slope, 0.0, 0.0, -0.5 * slope / budget)

    def invert(self, L: Numbers, budget: Numbers) -> Numbers:
        return L + (budget / self.scale) ** 0.5

    def balance(self, L: Numbers, budget: Numbers, rate: Numbers) -> Numbers:
        return log_ratio(rate, (4.0 * self.scale * budget) ** 0.5)

    def forward(self, empirical: np.ndarray, excess: np.ndarray, remainder: np.ndarray) -> Forward:
        slope = (2.0 * self.scale) * excess
        return Forward(0.5 * slope * excess, slope, np.full_like(excess, 2.0 * self.scale))

    def express(self, algebra: Algebra, L: Expression, budget: Expression) -> Expression:
        return L + algebra.sqrt(budget / self.scale)

    def moment(self, m: int, power: float | None, constant: str) -> Constant:
        if power is None and constant == "one-sided":
            return from_logarithm(log_largest_exponential(self.polynomial(m), one_sided=True))
        if power is None:
            # The companion paper's Lemma 2 has the exponent of Pinsker's distance.
            polynomial = Polynomial(m, m, (2.0,)) if constant == "paper" else self.polynomial(m)
            return from_logarithm(log_exponential_mean(polynomial, 0.0))
        if power == 2.0 and constant != "one-sided":
            # The fourth central moment is x (1 + 3(m-2) x)/m³ with x = l(1-l): largest at x = 1/4, for m = 1 at 1/6.
            # The paper lost a square in deriving it.
            exact = Fraction(3 * m - 2, 16 * m**3) if m > 1 else Fraction(1, 12)
            fourth = Fraction(12 * m - 11, 16 * m**3) if constant == "paper" else exact
            return from_fraction(fourth * Fraction(self.scale) ** 2)
        largest = log_largest_deviation(m, 2.0 * power, constant == "one-sided")
        return from_logarithm(largest + power * math.log(self.scale), 2.0 * power)

    def moment_at(self, m: int, l: float, power: float | None, constant: str) -> float:
        if power is None:
            return super().moment_at(m, l, power, constant)
        side = "below" if constant == "one-sided" else "both"
        return self.scale**power * math.exp(log_power_mean("deviation", m, m * l, 2.0 * power, side))


@final
class Squared(Quadratic):
    r""":math:`r = L + \sqrt b`."""

    name = "squared"
    scale = 1.0
