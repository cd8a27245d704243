r"""The linear distance :math:`\phi = l - \hat l`, hence :math:`r = L + b`: the convex case."""

import math
from fractions import Fraction
from typing import final

import numpy as np

from ..algebra import Algebra, ExcessAlgebra, Expression
from ..numerics.elementwise import Numbers
from ..numerics.exponential_means import LINEAR_RATE
from ..numerics.power_means import log_largest_deviation, log_power_mean
from ..numerics.rounding import Constant, ceil_exp, ceil_to_float, from_fraction, from_logarithm
from .distance import Distance, Forward, Inverse


@final
class Linear(Distance):
    r""":math:`\phi = l - \hat l`.

    Its power moments are those of the deviation, 1/(4m) for the second. Its exponential moment
    :math:`(e^l (1 - l + l/e))^m` is largest at :math:`l = 1/(e-1)`; one-sided it would be no smaller.
    """

    name = "linear"
    affine = True

    def derivatives(self, L: Numbers, budget: Numbers) -> Inverse:
        return Inverse(L + budget, 1.0, 1.0, 0.0, 0.0, 0.0)

    def forward(self, empirical: np.ndarray, excess: np.ndarray, remainder: np.ndarray) -> Forward:
        return Forward(excess, np.ones_like(excess), np.zeros_like(excess))

    def express(self, algebra: Algebra, L: Expression, budget: Expression) -> Expression:
        return L + budget

    def express_excess(
        self, cones: ExcessAlgebra, empirical: Expression, excess: Expression, factor: Numbers
    ) -> Expression:
        return cones.times(factor, excess)

    def moment(self, m: int, power: float | None, constant: str) -> Constant:
        if power is None:
            log_value = ceil_to_float(m * LINEAR_RATE)
            return Constant(ceil_exp(log_value), log_value)
        if power == 2.0 and constant != "one-sided":
            return from_fraction(Fraction(1, 4 * m))
        return from_logarithm(log_largest_deviation(m, power, constant == "one-sided"), power)

    def moment_at(self, m: int, l: float, power: float | None, constant: str) -> float:
        if power is None:
            return ceil_exp(m * (l + math.log1p(l * math.expm1(-1))))
        return math.exp(log_power_mean("deviation", m, m * l, power, "below" if constant == "one-sided" else "both"))
