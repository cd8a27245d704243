r"""Rényi order :math:`\alpha > 1`: the size is :math:`T = (\sum_i p_i (q_i/p_i)^\alpha)^{1/\alpha}`, the budget
:math:`b = T\,(I/\delta)^{1 - 1/\alpha}` (Bégin et al., 2016)."""

import math
import sys
from dataclasses import dataclass
from typing import final

import numpy as np

from ..algebra import Algebra, Expression
from ..numerics.elementwise import Numbers
from ..numerics.inner import dot
from .cones import Cone, NormCone
from .divergence import Budget, Divergence
from .frontiers import LARGEST, Frontier, Lines


class PowerDivergence(Divergence):
    r"""What every order has: :math:`T = (\sum_i p_i (q_i/p_i)^\alpha)^{1/\alpha}`, a norm of the ratios.

    The budget is linear in it, and it does not overflow at large orders. The ``value`` is :math:`T^\alpha - 1`, which
    is χ² at order two and a monotone function of the Rényi divergence at any order. With the conjugate exponent
    :math:`\alpha' = \alpha/(\alpha-1)` Hölder's inequality is :math:`g \cdot q \le T(q)\,(\sum_i p_i
    (g_i)_+^{\alpha'})^{1/\alpha'}`.
    """

    homogeneous = True

    @property
    def conjugate_order(self) -> float:
        """The exponent :math:`\\alpha'`."""
        return self.order / (self.order - 1.0)

    def statistic(self, q: np.ndarray, p: np.ndarray) -> float:
        r"""Return the sum :math:`\sum_i p_i (q_i/p_i)^\alpha`."""
        with np.errstate(over="ignore"):
            powers = q / p
            powers **= self.order - 1.0
        return dot(q, powers)

    def size(self, q: np.ndarray, p: np.ndarray) -> float:
        statistic = self.statistic(q, p)
        if 1e-300 < statistic < 1e300:
            return math.sqrt(statistic) if self.order == 2.0 else statistic ** (1.0 / self.order)
        ratios = q / p
        largest = float(ratios.max())
        return largest * dot(p, (ratios / largest) ** self.order) ** (1.0 / self.order)

    def gradient(self, q: np.ndarray, p: np.ndarray, size: float) -> np.ndarray:
        # Near order one the optimum has weights far below the floating-point range whose power α - 1 is not small: as
        # with the KL divergence, a weight that underflowed stands at the smallest normal number.
        held = np.maximum(q, sys.float_info.min) if self.order < 2.0 else q
        powers = held / p
        powers /= size
        powers **= self.order - 1.0
        return powers

    def curvature(self, q: np.ndarray, p: np.ndarray, size: float) -> tuple[np.ndarray, float]:
        bend = (self.order - 1.0) / size
        with np.errstate(divide="ignore"):
            return bend * (q / p / size) ** (self.order - 2.0) / p, -bend

    def value(self, size: float) -> float:
        return max(math.expm1(min(self.order * math.log(size), 709.0)), 0.0)

    def coefficient(self, constant: float, log_constant: float, delta: float) -> float:
        conjugate = 1.0 - 1.0 / self.order
        if 1e-300 < constant < 1e300 and delta > 1e-8:
            return (constant / delta) ** conjugate
        return math.exp((log_constant - math.log(delta)) * conjugate)

    def budget(self, size: Numbers, coefficient: Numbers, exponent: Numbers) -> Budget:
        return Budget(coefficient * size, coefficient, 0.0)

    def pairs(self, size: Numbers) -> Budget:
        """Return the square: the norm of a product is the product of the norms."""
        return Budget(size * size, 2.0 * size, 2.0)

    def ratios(self, prices: np.ndarray, size: Numbers, entropy: float = 0.0) -> np.ndarray:
        r"""Take into account that with entropy ε the ratio is :math:`T e^{z/(\alpha-1)}` with :math:`e^z + \kappa z = s
        - \varepsilon \ln T`, :math:`\kappa = \varepsilon/(\alpha-1)`: :math:`e^z = \kappa\,\omega`, ω Wright's
        function."""
        power = self.order - 1.0
        if entropy == 0.0:
            positive = np.maximum(prices, 0.0)
            with np.errstate(over="ignore"):
                return np.asarray(size * (positive if power == 1.0 else positive ** (1.0 / power)))
        from scipy.special import wrightomega

        part = entropy / power
        level = prices / part - power * math.log(size)
        omega = wrightomega(level - math.log(part))
        with np.errstate(divide="ignore", over="ignore"):
            z = np.where(omega > 1e-3, math.log(part) + np.log(omega), level - omega)
            return np.asarray(size * np.exp(z / power))

    def speeds(self, q: np.ndarray, p: np.ndarray, prices: np.ndarray, entropy: float = 0.0) -> np.ndarray:
        if entropy > 0.0:
            prices = np.maximum(prices - entropy * np.log(q / p), 0.0)
        return q / ((self.order - 1.0) * prices + entropy)

    def prices(self, ratios: np.ndarray, size: Numbers) -> np.ndarray:
        return np.asarray((ratios / size) ** (self.order - 1.0))

    def potentials(self, prices: np.ndarray) -> np.ndarray:
        np.maximum(prices, 0.0, out=prices)
        # Roots and squares are faster than other powers.
        return np.multiply(prices, prices ** (self.conjugate_order - 1.0), out=prices)

    def conjugate(self, prices: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the sum in Hölder's inequality."""
        terms = self.potentials(prices)
        return np.asarray(np.add.reduce(np.multiply(terms, p, out=terms), axis=-1))

    def supporting(self, total: Numbers, gamma: Numbers, level: Numbers) -> tuple[Numbers, Numbers]:
        norm = total ** (1.0 / self.conjugate_order)
        return gamma / norm, level / norm

    def frontier(self, risks: np.ndarray, prior: np.ndarray, uniform: bool) -> Frontier:
        return PowerFrontier(risks, prior, self.order)

    def express(self, algebra: Algebra, ratios: Expression) -> Expression:
        return algebra.coefficient * algebra.norm(ratios, self.order)

    def cone(self) -> Cone:
        return NormCone(self.order)


@final
@dataclass(frozen=True, repr=False)
class Renyi(PowerDivergence):
    r"""Order :math:`\alpha`: :math:`T = (\sum_i p_i (q_i/p_i)^\alpha)^{1/\alpha}`."""

    order: float

    name = "renyi"
    moments = "renyi"

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", float(self.order))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(order={self.order:g})"


class PowerFrontier(Frontier):
    r"""Posteriors :math:`q_i \propto p_i (\mu - l_i)_+^{1/(\alpha-1)}`; the strength is :math:`1/(\mu - \min_i l_i)`.

    With :math:`\alpha' = \alpha/(\alpha-1)` and :math:`W = \sum_i p_i (\mu - l_i)_+^{\alpha'}` Hölder's inequality
    gives :math:`T + \gamma L \ge \gamma\mu`, :math:`\gamma = W^{-1/\alpha'}`.
    """

    def __init__(self, risks: np.ndarray, prior: np.ndarray, order: float) -> None:
        super().__init__(risks, prior)
        self.order, self.power = order, 1.0 / (order - 1.0)

    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        mass, last = min(float(np.add.reduce(self.p)), 1.0), self.mass_at_least
        power = 1.0 / self.order - 1.0
        return (dot(self.p, self.y) / mass, mass**power), (0.0, max(last**power, 1.0))

    def at_slope(self, slope: float) -> float:
        r"""Apply Newton's method to :math:`1/\gamma(\mu) = 1/\gamma`: the left side is convex with the derivative
        :math:`1/T`, and :math:`\mu = x + T/\gamma(\mu)`, so that a step leads to :math:`x + T/\gamma`."""
        x, size = self.ends()[0]
        z = last = math.inf
        # After the first step all come from one side, so that the last ones are below rounding.
        for _ in range(100):
            z, last = -math.log(x + size / slope), z
            if abs(z - last) <= 4.0 * sys.float_info.epsilon * max(abs(z), 1.0):
                break
            x, size = self.line(z)[:2]
        return z

    def lines(self, z: np.ndarray) -> Lines:
        strength = np.exp(np.minimum(z, LARGEST))
        return self._at(strength, *self._sums(strength[:, None], z.size))

    def line(self, z: float) -> Lines:
        strength = math.exp(min(z, LARGEST))
        return self._at(strength, *map(float, self._sums(strength, 1)))

    def _sums(self, strength: Numbers, count: int) -> tuple[Numbers, Numbers, Numbers]:
        """Return the sums of p·share^k for k = α'-1 and α', and of p·y·share^(α'-1); the share is (1 - s y)₊."""
        M: Numbers = 0.0
        W: Numbers = 0.0
        R: Numbers = 0.0
        for y, p in self.blocks(count):
            shares = self._shares(strength, y)
            weights = shares if self.power == 1.0 else shares**self.power
            M = M + np.vecdot(weights, p)
            R = R + np.vecdot(weights, p * y)
            W = W + np.vecdot(np.multiply(weights, shares, out=weights), p)
        return M, W, R

    def _at(self, strength: Numbers, M: Numbers, W: Numbers, R: Numbers) -> Lines:
        root = W ** (1.0 / self.order)
        # In units of 1/s: T + γ x = γ/s with γ = s W^(-1/α').
        height = root / W
        return Lines(R / M, root / M, strength * height, height)

    def _shares(self, strength: Numbers, y: np.ndarray) -> np.ndarray:
        shares = strength * y
        np.subtract(1.0, shares, out=shares)
        return np.maximum(shares, 0.0, out=shares)

    def density(self, strength: Numbers, y: np.ndarray) -> np.ndarray:
        return self._shares(strength, y) ** self.power
