r"""χ²: :math:`T^2 = \sum_i q_i^2/p_i = \chi^2 + 1`, budget :math:`b = T\sqrt{I/\delta}`: Rényi order two."""

import math
from bisect import bisect_right
from typing import final

import numpy as np

from ..numerics.elementwise import Numbers
from .frontiers import Frontier, Lines
from .ordered_supports import OrderedSupports
from .renyi import PowerDivergence, PowerFrontier

#: Sets above this size are not sorted.
SORTED = 1 << 15


@final
class ChiSquared(PowerDivergence):
    r""":math:`T = \sqrt{\sum_i q_i^2/p_i}`."""

    name = "chi2"
    moments = "chi2"
    order = 2.0

    def potentials(self, prices: np.ndarray) -> np.ndarray:
        np.maximum(prices, 0.0, out=prices)
        return np.square(prices, out=prices)

    def frontier(self, risks: np.ndarray, prior: np.ndarray, uniform: bool) -> Frontier:
        return (
            SortedFrontier(risks, prior, uniform) if risks.size <= SORTED else super().frontier(risks, prior, uniform)
        )

    def supports(self, risks: np.ndarray, prior: np.ndarray) -> OrderedSupports:
        return OrderedSupports(risks, prior)


def on_segment(level: Numbers, y: Numbers, P: Numbers, S: Numbers, M: Numbers, R: Numbers, W: Numbers) -> Lines:
    """Return the line at a level, from the sums at the risk below it."""
    gap = level - y
    mean = M + P * gap
    square = W + gap * (M + mean)
    root = square**0.5
    slope = 1.0 / root
    return Lines((R + S * gap) / mean, root / mean, slope, level * slope)


class SortedFrontier(PowerFrontier):
    r"""The χ² frontier on sums along the sorted risks: a line costs a search for its level and a few operations.

    From one risk to the next, a gap ``g`` away, the sums of :math:`p (\mu - y)_+^k`, :math:`k = 0, 1, 2`, and of
    :math:`p\,y\,(\mu - y)_+` grow by positive terms, so that no digit is lost where risks nearly agree.
    """

    def __init__(self, risks: np.ndarray, prior: np.ndarray, uniform: bool) -> None:
        super().__init__(risks, prior, 2.0)
        if uniform:
            self.ordered, weights = self.y.copy(), prior
            self.ordered.sort()
        else:
            order = self.y.argsort()
            self.ordered, weights = self.y[order], prior[order]
        #: At each of the sorted risks μ: the risk itself, and the sums of p, of p y, and of p (μ - y), p y (μ - y) and
        #: p (μ - y)² over those below.
        self.table = table = np.zeros((6, risks.size))
        table[0], table[1] = self.ordered, weights
        np.multiply(weights, self.ordered, out=table[2])
        np.add.accumulate(table[1:3], axis=1, out=table[1:3])
        gaps = self.ordered[1:] - self.ordered[:-1]
        np.multiply(table[1:3, :-1], gaps, out=table[3:5, 1:])
        np.add.accumulate(table[3:5], axis=1, out=table[3:5])
        np.multiply(gaps, table[3, 1:] + table[3, :-1], out=table[5, 1:])
        np.add.accumulate(table[5:], axis=1, out=table[5:])

    # At order two the power is one.
    density = PowerFrontier._shares

    def lines(self, z: np.ndarray) -> Lines:
        level = np.exp(-z)
        # The first of the sorted risks is zero, and below every level.
        below = self.ordered[1:].searchsorted(level, side="right")
        return on_segment(level, *self.table.take(below, axis=1))

    def line(self, z: float) -> Lines:
        level = math.exp(-z)
        return on_segment(level, *self.table[:, bisect_right(self.ordered, level) - 1].tolist())

    def at_slope(self, slope: float) -> float:
        r"""Return where :math:`\sum_i p_i (\mu - y_i)_+^2` is the slope's inverse square, a quadratic equation in μ."""
        square = 1.0 / (slope * slope)
        y, P, _, M, _, W = self.table[:, int(self.table[5].searchsorted(square, side="right")) - 1].tolist()
        missing = square - W
        return -math.log(y + missing / (M + (M * M + P * missing) ** 0.5))
