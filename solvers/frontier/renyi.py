r"""The path of a Rényi order :math:`\alpha > 1`: :math:`q_i \propto p_i (\mu - l_i)_+^\beta`.

With :math:`\beta = 1/(\alpha - 1)`, :math:`x_i = (\mu - l_i)_+` and :math:`M_k = \sum_i p_i x_i^k`,

.. math:: w = D^{1/\alpha} = M_{\beta+1}^{1/\alpha}/M_\beta, \quad b = c\,w, \quad
          N = M_{\beta+1}^{1/(\beta+1)}, \quad d = c/N, \quad L + N w = \mu ,

since the path consists of the minimisers of the convex functions :math:`L + N w`. Two consequences: the linear bound is
minimal where :math:`N = c`, and :math:`\mathrm dN/\mathrm d\mu = 1/w`. The elasticity is

.. math:: e = \frac{\beta N}{c}\, \sum_i q_i \frac{(l_i - L)^2}{x_i}
            = \frac{\beta N}{c M_\beta} \sum_i p_i x_i^{\beta-1} (l_i - L)^2 .

The path is swept twice: over the risks, for the segments between neighbouring risks in which the excess can be zero,
and inside those.

*Range of the elasticity in a segment.* ``N``, ``L`` and :math:`M_\beta` rise with μ; each :math:`x_i^{\beta-1}` rises
when :math:`\beta \ge 1` and falls when :math:`\beta < 1`. For fixed weights the sum of squares is a parabola in
``L``, enclosed by its values over the interval between the empirical risks at the two ends.

*Coordinate in a segment.* For orders above two the weight of the item that enters at :math:`\mu = l_k` grows like
:math:`(\mu - l_k)^\beta`, vertically; hence :math:`\mu = l_k + g f^{\max(\alpha - 1, 1)}` with ``g`` the gap to the
next risk, and :math:`z = -\ln f`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pacb_models.problem import BoundProblem
from pacb_models.solution import Outcome

from .minima import NEGLIGIBLE, Candidate, outcome, prior_is_optimal
from .stationarity import STATIONARITY, Linear, Numbers, Point
from .sweep import SHORTEST, Interval, find_turns, solve_turn

#: Largest number of powers formed at once.
_BATCH = 1 << 14
#: Risks at which a large set is looked at first.
_FIRST_POINTS = 17
#: Where the sweep of a segment ends, close to its lower risk: the entering weight is this part of what it becomes.
_CLOSEST = 1e-20
#: Coordinates of the first cuts of a segment: finer where its weight is not small.
_FIRST_CUTS = -np.log([1.0, 0.7, 0.4, 0.1, 0.01, 1e-5])
#: The logarithm of the smallest ratio whose powers are formed; what lies below has an elasticity beyond all bounds.
_SMALLEST = -600.0


def minimise(problem: BoundProblem) -> Outcome:
    """The global minimum of a bound of Rényi order, and every other local one."""
    path = RenyiPath(problem)
    if path.spread <= NEGLIGIBLE:
        return prior_is_optimal(problem)
    with np.errstate(all="ignore"):
        path.sweep()
        return outcome(problem, path, path.candidates, path.undecided, path.evaluations)


class Place(NamedTuple):
    """μ as a risk and the logarithm of its distance above it, which can be far below the rounding of the risk."""

    risk: float
    log_above: float


class RenyiPath:
    r"""The path at the risks: its coordinate is :math:`-k` where μ is the k-th distinct risk above the smallest."""

    def __init__(self, problem: BoundProblem):
        self.problem = problem
        self.floor = float(problem.risks.min())
        order = np.argsort(problem.risks)
        self.y, self.p = problem.risks[order] - self.floor, problem.prior[order]
        self.spread = float(self.y[-1])
        self.c, self.alpha = problem.coefficient, problem.order
        self.beta = 1.0 / (self.alpha - 1.0)
        self.stationarity = STATIONARITY[problem.distance]
        # N >= μ - mean: with μ this far above the mean d <= 1, or Φ <= d²/4 <= c/4 < b, and the bound falls.
        reach = 1.001 * (self.c if isinstance(self.stationarity, Linear) else math.sqrt(self.c))
        self.levels = np.append(np.unique(self.y[self.y > NEGLIGIBLE]), self.spread + reach)
        self.candidates: list[Candidate] = []
        self.undecided: list[Interval] = []
        self.evaluations = 0

    def sweep(self) -> None:
        """Find every local minimum."""
        last = self.levels.size - 1
        few = self.levels.size * self.y.size <= _BATCH
        ranks = np.arange(last + 1.0) if few else np.unique(np.linspace(0, last, _FIRST_POINTS).round())
        turns = find_turns(self, self.stationarity, -ranks[::-1])
        self.evaluations += turns.evaluations
        for interval in turns.open:
            if interval.high - interval.low == 1.0:
                self.sweep_segment(int(-interval.high))
            else:
                self.undecided.append(interval)
        if turns.last_excess < 0.0:
            end = self.evaluate(np.zeros(1))
            self.add(self.floor, float(end.b[0]), Place(0.0, math.log(self.levels[0])))

    def add(self, L: float, b: float, place: Place) -> None:
        """Keep a local minimum as a candidate."""
        statistic = float(np.float64(b / self.c) ** self.alpha)
        self.candidates.append(Candidate(L, b, statistic, place))

    def sweep_segment(self, rank: int) -> None:
        """Find the turns between two neighbouring risks."""
        segment = self.segment(rank)
        turns = find_turns(segment, self.stationarity, np.append(_FIRST_CUTS, -math.log(segment.closest)))
        self.evaluations += turns.evaluations
        self.undecided += turns.open
        for bracket in turns.upward:
            point, count = solve_turn(segment, self.stationarity, bracket)
            self.evaluations += count
            self.add(float(point.L), float(point.b), segment.place(point.z))

    def segment(self, rank: int) -> Segment:
        """The segment above the risk of that rank."""
        low = float(self.levels[rank])
        count = int(np.searchsorted(self.y, low, side="right"))
        return Segment(self, self.y[:count], self.p[:count], low, float(self.levels[rank + 1]) - low)

    def evaluate(self, z: np.ndarray) -> Point:
        level = self.levels[(-z).astype(np.intp)]
        if level.size * self.y.size <= _BATCH:
            sums = self._sums(level[:, None], self.y, self.p)
        else:
            counts = np.searchsorted(self.y, level)
            sums = np.array([self._sums(one, self.y[:k], self.p[:k]) for one, k in zip(level, counts, strict=True)]).T
        mass, risk, ramp = sums
        N = level * ramp ** (1.0 / (self.beta + 1.0))
        w = ramp ** (1.0 / self.alpha) / mass
        unknown = np.full(z.shape, np.nan)
        return Point(z, self.floor + risk / mass, self.c * w, self.c / N, unknown, unknown)

    def _sums(self, level: Numbers, y: np.ndarray, p: np.ndarray) -> tuple[Numbers, Numbers, Numbers]:
        r"""The sums of :math:`p x^\beta`, :math:`p x^\beta y` and :math:`p x^{\beta+1}`, :math:`x = (1 - y/\mu)_+`."""
        ratio = np.maximum(1.0 - y / level, 0.0)
        weights = ratio**self.beta * p
        return weights.sum(axis=-1), (weights * y).sum(axis=-1), (weights * ratio).sum(axis=-1)

    def elasticity_range(self, start: Point, end: Point) -> tuple[np.ndarray, np.ndarray]:
        return start.e, end.e

    def cut(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        return np.floor(0.5 * (start + end))[:, None]

    def is_atom(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        return end - start <= 1.0

    def posterior(self, place: Place) -> np.ndarray:
        above = math.exp(place.log_above)
        distance = place.risk - (self.problem.risks - self.floor)
        weights = np.maximum(distance + above, 0.0)
        weights /= place.risk + above
        weights **= self.beta
        weights[distance < 0.0] = 0.0
        weights[np.abs(distance) <= NEGLIGIBLE] = math.exp(self.beta * (place.log_above - math.log(place.risk + above)))
        weights *= self.problem.prior
        return weights / weights.sum()

    def support_size(self, place: Place) -> int:
        return int(np.count_nonzero(self.y <= place.risk + NEGLIGIBLE))


class Moments(NamedTuple):
    r"""What a segment remembers of a point."""

    #: μ and ``N``.
    level: np.ndarray
    N: np.ndarray
    #: Sums of :math:`p (x/\mu)^\beta` and of :math:`p (x/\mu)^{\beta-1}`.
    mass: np.ndarray
    inverse: np.ndarray
    #: Mean and variance of the risks with the latter weights.
    center: np.ndarray
    variance: np.ndarray
    #: Empirical risk above the smallest risk.
    y: np.ndarray


class Segment:
    """The path between two neighbouring risks, ``low`` and ``low + gap``."""

    def __init__(self, path: RenyiPath, y: np.ndarray, p: np.ndarray, low: float, gap: float):
        self.c, self.floor, self.alpha, self.beta = path.c, path.floor, path.alpha, path.beta
        self.y, self.p, self.low, self.gap = y, p, low, gap
        self.below = low - y
        self.entering = np.searchsorted(y, low)
        self.power = max(self.alpha - 1.0, 1.0)
        # With power one, μ is close to the lower risk when it is so on the risk's own scale.
        self.closest = _CLOSEST if self.power > 1.0 else _CLOSEST * min(low / gap, 1.0)

    def place(self, z: float) -> Place:
        return Place(self.low, math.log(self.gap) - self.power * z)

    def evaluate(self, z: np.ndarray) -> Point:
        if z.size * self.y.size <= _BATCH:
            return self._evaluate(z[:, None], z)
        points = [self.evaluate_one(float(one)) for one in z]
        return Point(*(np.array(values) for values in zip(*points, strict=True)))

    def evaluate_one(self, z: float) -> Point:
        return self._evaluate(z, z)

    def _evaluate(self, column: np.ndarray | float, z: np.ndarray | float) -> Point:
        log_above = math.log(self.gap) - self.power * column
        above = np.exp(log_above)
        level = self.low + above
        ratio = (self.below + above) / level
        log_entering = log_above - np.log(level)
        ratio[..., self.entering :] = np.exp(np.maximum(log_entering, _SMALLEST))
        rho = ratio ** (self.beta - 1.0) * self.p
        q = rho * ratio
        q[..., self.entering :] = np.exp(self.beta * log_entering) * self.p[self.entering :]
        mass = q.sum(axis=-1)
        ramp = (q * ratio).sum(axis=-1)
        y = (q * self.y).sum(axis=-1) / mass
        inverse = rho.sum(axis=-1)
        center = (rho * self.y).sum(axis=-1) / inverse
        level, above = np.reshape(level, np.shape(z)), np.reshape(above, np.shape(z))
        variance = (rho * (self.y - np.expand_dims(center, -1)) ** 2).sum(axis=-1) / inverse
        N = level * ramp ** (1.0 / (self.beta + 1.0))
        w = ramp ** (1.0 / self.alpha) / mass
        d = self.c / N
        e = self.beta * N / self.c * inverse / (level * mass) * (variance + (y - center) ** 2)
        memory = np.stack((level, N, mass, inverse, center, variance, y), axis=-1)
        return Point(z, self.floor + y, self.c * w, d, e, d / (N * w) * self.power * above, memory)

    def elasticity_range(self, start: Point, end: Point) -> tuple[np.ndarray, np.ndarray]:
        top, bottom = Moments(*start.memory.T), Moments(*end.memory.T)
        # The weights x^(β-1) are smallest at one end and largest at the other.
        few, many = (bottom, top) if self.beta >= 1.0 else (top, bottom)
        closest = np.clip(few.center, bottom.y, top.y)
        farthest = np.where(np.abs(bottom.y - many.center) > np.abs(top.y - many.center), bottom.y, top.y)
        return self._elasticity(bottom.N, few, closest, top), self._elasticity(top.N, many, farthest, bottom)

    def _elasticity(self, N: np.ndarray, weights: Moments, y: np.ndarray, mass: Moments) -> np.ndarray:
        """The elasticity's formula with its factors from different points."""
        # Sums are stored relative to μ: x^(β-1)/M_β carries the factor μ^(β-1)/μ^β, each μ that of its point.
        scale = self.beta / self.c * N / (mass.mass * mass.level) * (weights.level / mass.level) ** (self.beta - 1.0)
        return scale * weights.inverse * (weights.variance + (y - weights.center) ** 2)

    def cut(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        pieces = 4 if self.y.size <= 4096 else 2
        return start[:, None] + (end - start)[:, None] * np.arange(1, pieces) / pieces

    def is_atom(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        return end - start <= SHORTEST
