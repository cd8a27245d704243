r"""χ²: :math:`D = \sum_i q_i^2/p_i = \chi^2 + 1`, budget :math:`b = \sqrt{D\,I/\delta}`: Rényi order two."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import Any

import numpy as np

from ..numerics.elementwise import Numbers
from ..numerics.inner import dot
from .frontiers import MANY, Frontier, Lines
from .ordered_supports import OrderedSupports
from .renyi import PowerFrontier, Renyi

#: Sets up to this size are searched as lists.
SHORT = 256


class ChiSquared(Renyi):
    r""":math:`D = \sum_i q_i^2/p_i`."""

    name = "chi2"
    moments = "chi2"

    def __init__(self) -> None:
        super().__init__(2.0)

    def size(self, q: np.ndarray, p: np.ndarray) -> float:
        with np.errstate(over="ignore"):
            statistic = dot(q, q / p)
        return math.sqrt(statistic) if self.rooted and 1e-300 < statistic < 1e300 else super().size(q, p)

    def size_gradient(self, q: np.ndarray, p: np.ndarray, size: float) -> np.ndarray:
        return q / (p * size) if self.rooted else self.gradient(q, p)

    def curvature(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        return 2.0 / p

    def frontier(self, risks: np.ndarray, prior: np.ndarray, uniform: bool) -> Frontier:
        return (super().frontier if risks.size > MANY else self.sorted_frontier)(risks, prior, uniform)

    def sorted_frontier(self, risks: np.ndarray, prior: np.ndarray, uniform: bool) -> Frontier:
        return SortedFrontier(risks, prior, uniform) if self.rooted else super().frontier(risks, prior, uniform)

    def supports(self, risks: np.ndarray, prior: np.ndarray) -> OrderedSupports:
        return OrderedSupports(risks, prior)

    def row_frontiers(self, risks: np.ndarray, prior: np.ndarray) -> RowFrontiers:
        return RowFrontiers(risks, prior)

    # They fit the budget above, too.
    express, cone = Renyi.express, Renyi.cone

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def running_sums(y: np.ndarray, p: np.ndarray) -> np.ndarray:
    """At each of the sorted risks μ: the risk itself, and the sums of p, of p y, and of p (μ - y), p y (μ - y) and
    p (μ - y)² over those below; along the last axis."""
    table = np.zeros((6, *y.shape))
    table[0] = y
    table[1] = p
    np.multiply(p, y, out=table[2])
    masses, means = table[1:3], table[3:5, ..., 1:]
    np.add.accumulate(masses, axis=-1, out=masses)
    gaps = y[..., 1:] - y[..., :-1]
    np.multiply(masses[..., :-1], gaps, out=means)
    np.add.accumulate(means, axis=-1, out=means)
    np.add.accumulate(gaps * (table[3, ..., 1:] + table[3, ..., :-1]), axis=-1, out=table[5, ..., 1:])
    return table


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
        self.table = running_sums(self.ordered, weights)
        #: The same as numbers, faster to search one by one; only where making them takes no time.
        self.levels: Any = self.ordered.tolist() if risks.size <= SHORT else self.ordered
        #: How many risks are above the smallest one.
        self.above = np.count_nonzero(self.y)

    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        mass = float(self.table[1, -self.above - 1])
        return (float(self.table[2, -1]), 1.0), (0.0, max(1.0 / math.sqrt(mass), 1.0))

    def density(self, strength: Numbers, y: np.ndarray) -> np.ndarray:
        return self._shares(strength, y)

    @property
    def last(self) -> float:
        return -math.log(self.ordered[-self.above])

    def lines(self, z: np.ndarray) -> Lines:
        level = np.exp(-z)
        # The first of the sorted risks is zero, and below every level.
        below = self.ordered[1:].searchsorted(level, side="right")
        return self._on_segment(level, *self.table.take(below, axis=1))

    def line(self, z: float) -> Lines:
        level = math.exp(-z)
        return self._on_segment(level, *self.table[:, bisect_right(self.levels, level) - 1].tolist())

    def at_slope(self, slope: float, line: Lines) -> float:
        r"""The level μ with :math:`\sum_i p_i (\mu - y_i)_+^2 = \gamma^{-2}`: a quadratic equation."""
        square = 1.0 / (slope * slope)
        below = int(self.table[5].searchsorted(square, side="right")) - 1
        y, P, _, M, _, W = self.table[:, below].tolist()
        missing = square - W
        return -math.log(y + missing / (M + math.sqrt(M * M + P * missing)))

    @staticmethod
    def _on_segment(level: Numbers, y: Numbers, P: Numbers, S: Numbers, M: Numbers, R: Numbers, W: Numbers) -> Lines:
        gap = level - y
        mean = M + P * gap
        square = W + gap * (M + mean)
        root = square**0.5
        slope = 1.0 / root
        return Lines((R + S * gap) / mean, root / mean, slope, level * slope)


class RowFrontiers:
    """χ² frontiers of many sets of classifiers, a row each. Coordinates come as one row of them for each set."""

    def __init__(self, risks: np.ndarray, prior: np.ndarray) -> None:
        self.least = risks.min(axis=1)
        self.y, self.p = risks - self.least[:, None], prior
        order = np.argsort(self.y, axis=1)
        self.ordered = np.take_along_axis(self.y, order, 1)
        weights = np.take_along_axis(np.broadcast_to(prior, risks.shape), order, 1)
        self.tables = running_sums(self.ordered, weights).reshape(6, -1)
        #: The sorted risks, a column for each set: sums of truth values along the first axis are fast.
        self.columns, self.counts = np.ascontiguousarray(self.ordered.T), np.min_scalar_type(risks.shape[1])
        self.first = np.arange(0, risks.size, risks.shape[1])
        #: The prior's empirical risk above the smallest one, and its size; the spread of the risks.
        self.start, self.spread = self.tables[2, self.first + risks.shape[1] - 1], self.ordered[:, -1]

    def lines(self, z: np.ndarray, rows: np.ndarray | None = None) -> Lines:
        """The lines of all sets at coordinates of shape (B, K), or of some of them at one coordinate each."""
        level = np.exp(-z)
        columns = self.columns[:, None, :] if rows is None else self.columns[:, rows]
        below = np.add.reduce((columns <= level.T).view(np.uint8), axis=0, dtype=self.counts).T - 1
        first = self.first[:, None] if rows is None else self.first[rows]
        return SortedFrontier._on_segment(level, *self.tables.take(first + below, axis=1))

    def posteriors(self, z: np.ndarray) -> np.ndarray:
        """The posteriors at one coordinate for each set; minus infinity is the prior."""
        with np.errstate(over="ignore"):
            weights = np.maximum(1.0 - np.exp(z)[:, None] * self.y, 0.0) * self.p
        return weights / weights.sum(axis=1, keepdims=True)
