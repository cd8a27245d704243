r"""χ²: :math:`D = \sum_i q_i^2/p_i = \chi^2 + 1`, budget :math:`b = \sqrt{D\,I/\delta}`: Rényi order two."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import Any

import numpy as np

from ..numerics.elementwise import Numbers
from ..numerics.inner import dot
from .divergence import Divergence
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

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not cls.rooted:
            # Rows have lines in terms of the root.
            cls.row_frontiers = Divergence.row_frontiers  # type: ignore[method-assign]

    def size(self, q: np.ndarray, p: np.ndarray) -> float:
        with np.errstate(over="ignore"):
            statistic = dot(q, q / p)
        return math.sqrt(statistic) if self.rooted and 1e-300 < statistic < 1e300 else super().size(q, p)

    def sizes(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        statistics = np.vecdot(q, q / p)
        ours = self.rooted and bool(((statistics > 1e-300) & (statistics < 1e300)).all())
        return np.sqrt(statistics) if ours else super().sizes(q, p)

    def size_gradient(self, q: np.ndarray, p: np.ndarray, size: float) -> np.ndarray:
        return q / (p * size) if self.rooted else self.gradient(q, p)

    def curvature(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        return 2.0 / p

    def frontier(self, risks: np.ndarray, prior: np.ndarray, uniform: bool) -> Frontier:
        return (super().frontier if risks.size > MANY else self.sorted_frontier)(risks, prior, uniform)

    def summed_frontier(self, risks: np.ndarray, prior: np.ndarray) -> Frontier:
        return super().frontier(risks, prior, False)

    def sorted_frontier(self, risks: np.ndarray, prior: np.ndarray, uniform: bool) -> Frontier:
        return SortedFrontier(risks, prior, uniform) if self.rooted else super().frontier(risks, prior, uniform)

    def supports(self, risks: np.ndarray, prior: np.ndarray) -> OrderedSupports:
        return OrderedSupports(risks, prior)

    def row_frontiers(self, risks: np.ndarray, prior: np.ndarray, uniform: bool) -> RowFrontiers:
        return RowFrontiers(risks, prior, uniform)

    # They fit the budget above, too.
    express, cone = Renyi.express, Renyi.cone

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def running_sums(y: np.ndarray, p: np.ndarray) -> np.ndarray:
    """At each of the sorted risks μ: the risk itself, and the sums of p, of p y, and of p (μ - y), p y (μ - y) and
    p (μ - y)² over those below; of one set, or of many with a column each."""
    table = np.zeros((6, *y.shape))
    table[0], table[1] = y, p
    np.multiply(p, y, out=table[2])
    _accumulate(table[1:3])
    gaps = y[1:] - y[:-1]
    np.multiply(table[1, :-1], gaps, out=table[3, 1:])
    np.multiply(table[2, :-1], gaps, out=table[4, 1:])
    _accumulate(table[3:5])
    np.multiply(gaps, table[3, 1:] + table[3, :-1], out=table[5, 1:])
    _accumulate(table[5:])
    return table


def _accumulate(rows: np.ndarray) -> None:
    """Add up along the second axis; of many sets, one risk after the other, which is twice as fast."""
    if rows.ndim == 2:
        np.add.accumulate(rows, axis=1, out=rows)
        return
    for k in range(1, rows.shape[1]):
        rows[:, k] += rows[:, k - 1]


def on_segment(level: Numbers, y: Numbers, P: Numbers, S: Numbers, M: Numbers, R: Numbers, W: Numbers) -> Lines:
    """The line at a level, from the sums at the risk below it."""
    gap = level - y
    mean = M + P * gap
    square = W + gap * (M + mean)
    root = square**0.5
    slope = 1.0 / root
    return Lines((R + S * gap) / mean, root / mean, slope, level * slope)


def level_of(square: Numbers, y: Numbers, P: Numbers, S: Numbers, M: Numbers, R: Numbers, W: Numbers) -> Numbers:
    r"""The level μ with :math:`\sum_i p_i (\mu - y_i)_+^2` a given square, from the sums at the risk below it."""
    missing = square - W
    return y + missing / (M + (M * M + P * missing) ** 0.5)


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

    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        mass = float(self.table[1, -self.higher - 1])
        return (float(self.table[2, -1]), 1.0), (0.0, max(1.0 / math.sqrt(mass), 1.0))

    @property
    def last(self) -> float:
        return -math.log(self.ordered[-self.higher])

    # At order two the power is one.
    density = PowerFrontier._shares

    def lines(self, z: np.ndarray) -> Lines:
        level = np.exp(-z)
        # The first of the sorted risks is zero, and below every level.
        below = self.ordered[1:].searchsorted(level, side="right")
        return on_segment(level, *self.table.take(below, axis=1))

    def line(self, z: float) -> Lines:
        level = math.exp(-z)
        return on_segment(level, *self.table[:, bisect_right(self.levels, level) - 1].tolist())

    def at_slope(self, slope: float, line: Lines) -> float:
        square = 1.0 / (slope * slope)
        below = int(self.table[5].searchsorted(square, side="right")) - 1
        return -math.log(level_of(square, *self.table[:, below].tolist()))


def count_true(truths: np.ndarray) -> np.ndarray:
    """How many are true along the first axis: the shortest numbers that hold them are added up fastest."""
    total = np.add.reduce(truths.view(np.uint8), axis=0, dtype=np.min_scalar_type(len(truths)))
    return np.asarray(total, dtype=np.intp)


class RowFrontiers:
    """χ² frontiers of many sets of classifiers, a row of risks each; of the arrays made here they are the last axis."""

    on_segment = staticmethod(on_segment)

    def __init__(self, risks: np.ndarray, prior: np.ndarray, uniform: bool) -> None:
        self.least = risks.min(axis=1)
        self.y, self.p = risks - self.least[:, None], prior
        if uniform:
            ordered, weights = np.sort(self.y, axis=1), prior[:, None]
        else:
            order = np.argsort(self.y, axis=1)
            ordered = np.take_along_axis(self.y, order, 1)
            weights = np.take_along_axis(np.broadcast_to(prior, risks.shape), order, 1).T
        self.levels = np.ascontiguousarray(ordered.T)
        self.table = running_sums(self.levels, weights)
        self.sets = np.arange(len(risks))
        #: The prior's empirical risk above the smallest one, and how many risks are the smallest.
        self.start, self.ties = self.table[2, -1], count_true(self.levels == 0.0)
        #: The next one, counted from the smallest; zero where there is none.
        self.last = self.levels[np.minimum(self.ties, risks.shape[1] - 1), self.sets]

    def net(self, steps: np.ndarray, factors: np.ndarray) -> tuple[np.ndarray, np.ndarray, Lines]:
        """Levels in increasing order, some from each risk to the next and multiples of the largest: the number of the
        risk below each, the levels, and their lines, the prior's last."""
        y, table, prior = self.levels, self.table, (self.start, np.ones(self.sets.size), np.zeros(self.sets.size))
        below = np.append(np.arange(len(y) - 1).repeat(steps.size), np.full(factors.size, len(y) - 1))
        inner, outer = y[:-1, None] + (y[1:] - y[:-1])[:, None] * steps[:, None], y[-1] * factors[:, None]
        level = np.concatenate((inner.reshape(-1, self.sets.size), outer))
        parts = zip(on_segment(inner, *table[:, :-1, None]), on_segment(outer, *table[:, -1]), prior)
        x, size, slope = (np.vstack((part.reshape(-1, self.sets.size), rest, last)) for part, rest, last in parts)
        # At level zero there is no line.
        np.copyto(slope[:-1], 0.0, where=level == 0.0)
        return below, level, Lines(x, size, slope, size)

    def lines(self, level: np.ndarray) -> Lines:
        """The lines at some levels of each set."""
        return on_segment(level, *self._sums(self.levels[:, None] <= level))

    def at_slope(self, slope: np.ndarray) -> tuple[np.ndarray, Lines]:
        """The level of each set whose line has a slope, and the line."""
        square = slope**-2.0
        sums = self._sums(self.table[5] <= square)
        level = level_of(square, *sums)
        return level, on_segment(level, *sums)

    def _sums(self, below: np.ndarray) -> np.ndarray:
        """The sums at the last risk that is below."""
        place = (count_true(below) - 1) * self.sets.size + self.sets
        return self.table.reshape(6, -1).take(place, axis=1)

    def posteriors(self, z: np.ndarray) -> np.ndarray:
        """The posteriors at one coordinate for each set; minus infinity is the prior."""
        weights = np.maximum(1.0 - np.exp(z)[:, None] * self.y, 0.0) * self.p
        return weights / weights.sum(axis=1, keepdims=True)
