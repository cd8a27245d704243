r"""Rényi order :math:`\alpha > 1`: :math:`D = \sum_i p_i (q_i/p_i)^\alpha`, budget :math:`b = D^{1/\alpha}
(I/\delta)^{1 - 1/\alpha}` (Bégin et al., 2016)."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..numerics.elementwise import Numbers
from ..numerics.inner import dot
from .divergence import Budget, Divergence
from .frontiers import BLOCK, LARGEST, NO_CORNERS, Frontier, Lines

if TYPE_CHECKING:
    from ..models.algebra import Algebra
    from ..models.convex import Cone


#: Sets of more different risks have so many corners that the first points are close enough.
MOST_CORNERS, FEW_CORNERS = 100, 16
#: Where points are looked at around a corner: where the weight begins to rise, and soon after.
AROUND_CORNERS = np.array([-0.03, -0.003, -1e-4, 0.0])


@dataclass(frozen=True, repr=False)
class Renyi(Divergence):
    r"""Order :math:`\alpha`: :math:`D = \sum_i p_i (q_i/p_i)^\alpha`.

    Its ``value`` is :math:`D - 1`, which is χ² at order two and a monotone function of the Rényi divergence
    :math:`\ln(D)/(\alpha - 1)` at any order. Its size is the root :math:`T = D^{1/\alpha}`, a norm of the ratios: the
    budget is linear in it, and it does not overflow at large orders. A subclass with a budget of its own has the
    statistic as size.
    """

    order: float

    name = "renyi"
    moments = "renyi"
    #: True when statistic and budget are ours: the budget is linear in the root of the statistic.
    rooted = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", float(self.order))

    def statistic(self, q: np.ndarray, p: np.ndarray) -> float:
        with np.errstate(over="ignore"):
            return dot(q, (q / p) ** (self.order - 1.0))

    def gradient(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return self.order * held_ratios(q, p, self.order) ** (self.order - 1.0)

    def curvature(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", over="ignore"):
            return self.order * (self.order - 1.0) * (q / p) ** (self.order - 2.0) / p

    def value(self, statistic: float) -> float:
        return max(statistic - 1.0, 0.0)

    def coefficient(self, constant: float, log_constant: float, delta: float) -> float:
        conjugate = 1.0 - 1.0 / self.order
        if 1e-300 < constant < 1e300 and delta > 1e-8:
            return (constant / delta) ** conjugate
        return math.exp((log_constant - math.log(delta)) * conjugate)

    def budget(self, statistic: Numbers, coefficient: Numbers, exponent: Numbers) -> Budget:
        value = coefficient * statistic ** (1.0 / self.order)
        slope = value / (self.order * statistic)
        return Budget(value, slope, (1.0 / self.order - 1.0) * slope / statistic)

    def __init_subclass__(cls) -> None:
        cls.rooted = cls.budget is Renyi.budget and cls.statistic is Renyi.statistic

    def size(self, q: np.ndarray, p: np.ndarray) -> float:
        statistic = self.statistic(q, p)
        if not self.rooted:
            return statistic
        if 1e-300 < statistic < 1e300:
            return statistic ** (1.0 / self.order)
        ratios = q / p
        largest = float(ratios.max())
        return largest * dot(p, (ratios / largest) ** self.order) ** (1.0 / self.order)

    def sizes(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        if not self.rooted:
            return super().sizes(q, p)
        ratios = q / p
        largest = ratios.max(axis=1)
        ratios /= largest[:, None]
        means = (np.broadcast_to(p, q.shape) * ratios**self.order).sum(axis=1)
        return np.asarray(largest * means ** (1.0 / self.order))

    def size_gradient(self, q: np.ndarray, p: np.ndarray, size: float) -> np.ndarray:
        if not self.rooted:
            return self.gradient(q, p)
        return (held_ratios(q, p, self.order) / size) ** (self.order - 1.0)

    def size_curvature(self, q: np.ndarray, p: np.ndarray, size: float) -> tuple[np.ndarray, float]:
        if not self.rooted:
            return super().size_curvature(q, p, size)
        bend = (self.order - 1.0) / size
        with np.errstate(divide="ignore"):
            return bend * (q / p / size) ** (self.order - 2.0) / p, -bend

    def size_budget(self, size: Numbers, coefficient: Numbers, exponent: Numbers) -> Budget:
        return Budget(coefficient * size, coefficient, 0.0) if self.rooted else self.budget(size, coefficient, exponent)

    def value_of_size(self, size: float) -> float:
        if not self.rooted:
            return self.value(size)
        return max(math.expm1(min(self.order * math.log(size), 709.0)), 0.0)

    def values(self, sizes: np.ndarray) -> np.ndarray:
        if not self.rooted:
            return super().values(sizes)
        return np.maximum(np.expm1(np.minimum(self.order * np.log(sizes), 709.0)), 0.0)

    def slope_inverse(self, slope: np.ndarray) -> np.ndarray:
        return (np.maximum(slope, 0.0) / self.order) ** (1.0 / (self.order - 1.0))

    def frontier(self, risks: np.ndarray, prior: np.ndarray, uniform: bool) -> Frontier:
        return PowerFrontier(risks, prior, self.order) if self.rooted else super().frontier(risks, prior, uniform)

    def express(self, algebra: Algebra, ratios: Any) -> Any:
        return algebra.coefficient * algebra.norm(ratios, self.order)

    def cone(self) -> Cone:
        from ..models.convex import NormCone

        return NormCone(self.order)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(order={self.order:g})"


def held_ratios(q: np.ndarray, p: np.ndarray, order: float) -> np.ndarray:
    """The ratios q/p for slopes.

    Near order one the optimum has weights far below the floating-point range whose power α - 1 is not small: as with
    the KL divergence, a weight that underflowed stands at the smallest normal number.
    """
    ratios: np.ndarray = (np.maximum(q, sys.float_info.min) if order < 2.0 else q) / p
    return ratios


class PowerFrontier(Frontier):
    r"""Posteriors :math:`q_i \propto p_i (\mu - l_i)_+^{1/(\alpha-1)}`; the strength is :math:`1/(\mu - \min_i l_i)`.

    With :math:`\alpha' = \alpha/(\alpha-1)` and :math:`W = \sum_i p_i (\mu - l_i)_+^{\alpha'}` Hölder's inequality
    gives :math:`T + \gamma L \ge \gamma\mu`, :math:`\gamma = W^{-1/\alpha'}`.
    """

    pace = 0.8

    def __init__(self, risks: np.ndarray, prior: np.ndarray, order: float) -> None:
        super().__init__(risks, prior)
        self.order, self.power = order, 1.0 / (order - 1.0)

    def corners(self) -> np.ndarray:
        """Above order two the weight of a classifier rises vertically when the level passes its risk."""
        sharp = self.order > 2.0 and self.y.size <= BLOCK
        risks = np.unique(self.y[self.y > 0.0]) if sharp else NO_CORNERS
        if not 0 < risks.size <= MOST_CORNERS:
            return NO_CORNERS
        z = -np.log(risks)
        around = np.add.outer(z, AROUND_CORNERS).ravel() if z.size <= FEW_CORNERS else z
        return np.append(around, 0.5 * (z[1:] + z[:-1]))

    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        mass = dot(self.p, self.at_least())
        return (dot(self.p, self.y), 1.0), (0.0, max(mass ** (1.0 / self.order - 1.0), 1.0))

    def towards(self, slope: float, line: Lines) -> float:
        r"""Newton's step for :math:`1/\gamma(\mu) = 1/\gamma`: the left side is convex with the derivative
        :math:`1/T`, and :math:`\mu = x + T/\gamma(\mu)`, so that the step leads to :math:`x + T/\gamma`."""
        return -math.log(line.x + line.T / slope)

    def at_slope(self, slope: float, line: Lines) -> float:
        z = self.towards(slope, line)
        # After the first step all come from one side, so that the last ones are below rounding.
        for _ in range(100):
            last, z = z, self.towards(slope, self.line(z))
            if abs(z - last) <= 4.0 * sys.float_info.epsilon * max(abs(z), 1.0):
                break
        return z

    def lines(self, z: np.ndarray) -> Lines:
        strength = np.exp(np.minimum(z, LARGEST))
        return self._at(strength, *self._sums(strength[:, None], z.size))

    def line(self, z: float) -> Lines:
        strength = math.exp(min(z, LARGEST))
        return self._at(strength, *map(float, self._sums(strength, 1)))

    def _sums(self, strength: Numbers, count: int) -> tuple[Numbers, Numbers, Numbers]:
        """The sums of p·share^k for k = α'-1 and α', and of p·y·share^(α'-1); the share is (1 - s y)₊."""
        M: Numbers = 0.0
        W: Numbers = 0.0
        R: Numbers = 0.0
        for y, p in self.blocks(count):
            shares = self._shares(strength, y)
            weights = shares**self.power
            M = M + np.vecdot(weights, p)
            weights *= p
            R = R + np.vecdot(weights, y)
            W = W + np.vecdot(weights, shares)
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

    def potential(self, strength: float, y: np.ndarray) -> np.ndarray:
        return self._shares(strength, y) ** (self.power + 1.0)

    def lowered(self, line: Lines, factor: float) -> Lines:
        scale = factor ** (1.0 / self.order - 1.0)
        slope, height = line.slope * scale, line.height * scale
        return Lines(line.x, height - slope * line.x, slope, height)
