r"""The relative distance :math:`\phi = (l - \hat l)_+^2 / (2l)`: the PAC-Bayes-λ bound (Thiemann et al., ALT 2017).

It is below the binary kl, and so has its constant, by Maurer :math:`2\sqrt m`. Their bound is the infimum over
:math:`0 < \lambda < 2` of

.. math:: \frac{L}{1 - \lambda/2} + \frac{b}{\lambda\,(1 - \lambda/2)} = L + b + \sqrt{b^2 + 2bL},
          \qquad b = \frac{KL + \ln(I/\delta)}{m}.
"""

import math
from typing import final

import numpy as np

from ..algebra import Algebra, ExcessAlgebra, Expression
from ..numerics.elementwise import Numbers, log_ratio
from .binary_kl import BinaryKL
from .distance import Distance, Forward, Inverse


@final
class Relative(Distance):
    r""":math:`r = L + b + \sqrt{b^2 + 2bL}`."""

    name = "relative"
    additive = False
    exponential_only = True

    def derivatives(self, L: Numbers, budget: Numbers) -> Inverse:
        if not isinstance(budget, np.ndarray) and budget <= 0.0:
            return Inverse(L, 1.0, math.inf, 0.0, math.inf, -math.inf)
        root = _root(L, budget)
        # The products are divided one by one: a third power of the root may underflow.
        s, t = budget / root, L / root
        return Inverse(L + budget + root, 1.0 + s, 1.0 + s + t, -s * s / root, s * t / root, -t * t / root)

    def invert(self, L: Numbers, budget: Numbers) -> Numbers:
        return L + budget + _root(L, budget)

    def balance(self, L: Numbers, budget: Numbers, rate: Numbers) -> Numbers:
        above = budget + _root(L, budget)
        return log_ratio(rate * (above + L), above)

    def parameters(self, L: float, budget: float) -> dict[str, float]:
        """Return the λ at which the infimum is attained."""
        return {"lambda": 2.0 * budget / (budget + _root(L, budget)) if budget > 0.0 else 0.0}

    def forward(self, empirical: np.ndarray, excess: np.ndarray, remainder: np.ndarray) -> Forward:
        true = empirical + excess
        share, least = excess / true, empirical / true
        return Forward(0.5 * excess * share, 0.5 * share * (1.0 + least), least * least / true)

    def express(self, algebra: Algebra, L: Expression, budget: Expression) -> Expression:
        return L + budget + algebra.sqrt(budget * (budget + 2.0 * L))

    def express_excess(
        self, cones: ExcessAlgebra, empirical: Expression, excess: Expression, factor: Numbers
    ) -> Expression:
        return cones.power(0.5 * factor, excess, 2, over=empirical + excess)

    # They are the binary kl's.
    moment, moment_at = BinaryKL.moment, BinaryKL.moment_at


def _root(L: Numbers, budget: Numbers) -> Numbers:
    return budget**0.5 * (budget + 2.0 * L) ** 0.5
