r"""Kullback–Leibler: :math:`D = \sum_i q_i \ln(q_i/p_i)`, budget :math:`b = (D + \ln(I/\delta))/n`.

``n`` is the distance's exponent: ``m``, or :math:`2m - 1` for φ_CH.
"""

import math
import sys
from typing import final

import numpy as np

from ..algebra import Algebra, Expression
from ..numerics.elementwise import Numbers, functions_of
from ..numerics.inner import dot
from .cones import Cone, EntropyCone
from .divergence import Budget, Divergence
from .frontiers import LARGEST, Frontier, Lines

#: Exponents below are slow to compute, and count as zero together with what is below the second number.
FAR, NOTHING = 700.0, 1e-300


@final
class KullbackLeibler(Divergence):
    r""":math:`D = \sum_i q_i \ln(q_i/p_i)`."""

    name = "kl"
    moments = "kl"
    order = 1.0
    steep = True

    def size(self, q: np.ndarray, p: np.ndarray) -> float:
        # Rounding must not carry it below zero, nor the budget where ln(I/δ) is nothing.
        return max(dot(q, _log_ratios(q, p)), 0.0)

    def gradient(self, q: np.ndarray, p: np.ndarray, size: float) -> np.ndarray:
        found = _log_ratios(q, p)
        found += 1.0
        return found

    def curvature(self, q: np.ndarray, p: np.ndarray, size: float) -> tuple[np.ndarray, float]:
        with np.errstate(divide="ignore", over="ignore"):
            return 1.0 / q, 0.0

    def value(self, size: float) -> float:
        return max(size, 0.0)

    def coefficient(self, constant: float, log_constant: float, delta: float) -> float:
        # A true constant is at least one; the companion's for φ_CH is not at m = 1, and a budget must not be negative.
        return max(log_constant - math.log(delta), 0.0)

    def budget(self, size: Numbers, coefficient: Numbers, exponent: Numbers) -> Budget:
        return Budget((size + coefficient) / exponent, 1.0 / exponent, 0.0)

    def pairs(self, size: Numbers) -> Budget:
        """Add up over independent draws."""
        return Budget(2.0 * size, 2.0, 0.0)

    # Prices may have any constant added to them: weights sum to one. Here it is left out.

    def ratios(self, prices: np.ndarray, size: Numbers, entropy: float = 0.0) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.exp(prices / (1.0 + entropy) if entropy > 0.0 else prices)

    def prices(self, ratios: np.ndarray, size: Numbers) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(ratios)

    def speeds(self, q: np.ndarray, p: np.ndarray, prices: np.ndarray, entropy: float = 0.0) -> np.ndarray:
        return q / (1.0 + entropy) if entropy > 0.0 else q

    def potentials(self, prices: np.ndarray) -> np.ndarray:
        return np.exp(prices, out=prices)

    def conjugate(self, prices: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the sum in :math:`T(q) \\ge g \\cdot q - \\ln \\sum_i p_i e^{g_i}` (Donsker and Varadhan)."""
        terms = self.potentials(prices)
        return np.asarray(np.add.reduce(np.multiply(terms, p, out=terms), axis=-1))

    def supporting(self, total: Numbers, gamma: Numbers, level: Numbers) -> tuple[Numbers, Numbers]:
        return gamma, level - np.log(total)

    def frontier(self, risks: np.ndarray, prior: np.ndarray, uniform: bool) -> Frontier:
        return GibbsFrontier(risks, prior)

    def express(self, algebra: Algebra, ratios: Expression) -> Expression:
        D = algebra.lift("KL", algebra.mean_entropy(ratios))
        return (D + algebra.coefficient) / algebra.exponent

    def cone(self) -> Cone:
        return EntropyCone()


def _log_ratios(q: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return ln(q/p). A weight that underflowed stands at the smallest normal number: its logarithm must stay finite,
    and any weight that small is as good as optimal when the optimum is smaller still."""
    found = np.maximum(q, sys.float_info.min)
    found /= p
    return np.log(found, out=found)


class GibbsFrontier(Frontier):
    r"""Gibbs posteriors :math:`q_i \propto p_i e^{-\beta l_i}`; the strength is β.

    With :math:`Z = \sum_i p_i e^{-\beta y_i}` the line is :math:`T + \beta x \ge -\ln Z` (Donsker and Varadhan).
    """

    finite = False

    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        mass = min(float(np.add.reduce(self.p)), 1.0)
        last = max(-math.log(self.mass_at_least), 0.0)
        return (dot(self.p, self.y) / mass, -math.log(mass)), (0.0, last)

    @property
    def last(self) -> float:
        return super().last + math.log(745.0)

    def lines(self, z: np.ndarray) -> Lines:
        beta = np.exp(np.minimum(z, LARGEST))
        return self._at(beta, *self._sums(beta[:, None], z.size, beta.item(beta.argmax())))

    def line(self, z: float) -> Lines:
        beta = math.exp(min(z, LARGEST))
        Z, R = self._sums(beta, 1, beta)
        return self._at(beta, float(Z), float(R))

    def _sums(self, beta: Numbers, count: int, largest: float) -> tuple[Numbers, Numbers]:
        """Return the sums of p e^(-βy) and of p y e^(-βy)."""
        far = largest * self.spread > FAR
        Z: Numbers = 0.0
        R: Numbers = 0.0
        for y, p in self.blocks(count):
            weights = -beta * y
            if far:
                np.maximum(weights, -FAR, out=weights)
            np.exp(weights, out=weights)
            if far:
                weights -= NOTHING
                np.maximum(weights, 0.0, out=weights)
            Z = Z + np.vecdot(weights, p)
            R = R + np.vecdot(weights, p * y)
        return Z, R

    def _at(self, beta: Numbers, Z: Numbers, R: Numbers) -> Lines:
        lib = functions_of(Z)
        x, height = R / Z, -lib.log(Z)
        return Lines(x, lib.maximum(height - beta * x, 0.0), beta, height)

    def rows(self, z: np.ndarray) -> np.ndarray:
        rows = super().rows(z)
        rows[:, 1] = 0.0
        return rows

    def density(self, strength: Numbers, y: np.ndarray) -> np.ndarray:
        return np.exp(-strength * y)
