r"""The path of a Rényi order :math:`\alpha > 1`: :math:`q_i \propto p_i (\mu - l_i)_+^\beta`.

With :math:`\beta = 1/(\alpha - 1)`, :math:`x_i = (\mu - l_i)_+` and :math:`M_k = \sum_i p_i x_i^k`,

.. math:: w = D^{1/\alpha} = M_{\beta+1}^{1/\alpha}/M_\beta, \quad b = c\,w, \quad
          N = M_{\beta+1}^{1/(\beta+1)}, \quad d = c/N, \quad L + N w = \mu ,

since the path consists of the minimisers of the convex functions :math:`L + N w`. Two consequences: the linear bound is
minimal where :math:`N = c`, and :math:`\mathrm dN/\mathrm d\mu = 1/w`. The elasticity is

.. math:: e = \frac{\beta N}{c}\, \sum_i q_i \frac{(l_i - L)^2}{x_i}
            = \frac{\beta N}{c M_\beta} \sum_i p_i x_i^{\beta-1} (l_i - L)^2 .

The path is swept twice: over the risks, for the segments between neighbouring risks in which the excess can be zero,
and inside those. Of a large set the largest risks are left out before anything is sorted: from one μ to another with
half as many risks below there is no turn, as long as the enclosure of the excess says so. The linear distance needs no
sweep: ``N`` is a norm of convex functions, hence convex in μ, and Newton's method finds :math:`N = c` from beyond.

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
from .stationarity import STATIONARITY, Ends, Linear, Numbers, Point
from .sweep import SHORTEST, Interval, find_turns, judge, solve_turn

#: Logarithms of prior weights: an array, or one number for equal weights.
Logarithms = np.ndarray | float

#: Largest number of powers formed at once.
_BATCH = 1 << 14
#: Risks at which a large set is looked at first.
_FIRST_POINTS = 9
#: A set of this size is sorted as it is.
_FEW_ITEMS = 1 << 14
#: Risks of a large set from whose order levels with half as many risks below are read.
_SAMPLE = 1024
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
        self.y = problem.risks - self.floor
        # Weights are formed from logarithms: near order one they leave the floating-point range before they are normed.
        self.log_p: Logarithms = -math.log(problem.size) if problem.uniform_prior else np.log(problem.prior)
        self.spread = float(self.y.max())
        self.c, self.alpha = problem.coefficient, problem.order
        self.beta = 1.0 / (self.alpha - 1.0)
        self.stationarity = STATIONARITY[problem.distance]
        # N >= μ - mean: with μ this far above the mean d <= 1, or Φ <= d²/4 <= c/4 < b, and the bound falls.
        reach = 1.001 * (self.c if isinstance(self.stationarity, Linear) else math.sqrt(self.c))
        #: Beyond this μ the bound falls.
        self.top = self.spread + reach
        self.candidates: list[Candidate] = []
        self.undecided: list[Interval] = []
        self.evaluations = 0

    def sweep(self) -> None:
        """Find every local minimum."""
        self.narrow()
        if isinstance(self.stationarity, Linear):
            self.solve_linear()
            return
        self.sort()
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

    def narrow(self) -> None:
        """Leave out the largest risks of a large set while no turn needs them."""
        if self.y.size <= _FEW_ITEMS:
            return
        sample = np.sort(self.y[:: -(-self.y.size // _SAMPLE)])
        start = self._ends(self.top, self.y, self.log_p)
        unknown = np.full(1, np.nan), np.full(1, np.nan)
        rank = sample.size // 2
        while self.y.size > _FEW_ITEMS and sample[rank] > NEGLIGIBLE:
            kept = self.y < sample[rank]
            y, log_p = self.y[kept], _part(self.log_p, kept)
            end = self._ends(sample[rank], y, log_p)
            self.evaluations += 1
            if not y.max() > NEGLIGIBLE or judge(self.stationarity, start, end, unknown).open[0]:
                return
            self.y, self.log_p, self.top, start = y, log_p, float(sample[rank]), end
            rank //= 2

    def _ends(self, level: float, y: np.ndarray, log_p: Logarithms) -> Ends:
        """The point of the path where μ is ``level``, which is above every risk given."""
        N, w, risk = self._norms(level, *self._sums(level, y, log_p))
        return self.stationarity.ends(np.array([self.floor + risk]), np.array([self.c * w]), np.array([self.c / N]))

    def sort(self) -> None:
        """Put the risks in order."""
        if isinstance(self.log_p, float):
            self.y = np.sort(self.y)
        else:
            order = np.argsort(self.y)
            self.y, self.log_p = self.y[order], self.log_p[order]
        first = np.searchsorted(self.y, NEGLIGIBLE, side="right")
        rises = np.append(True, self.y[first + 1 :] > self.y[first:-1])
        #: The distinct risks above the smallest, and the end of the path.
        self.levels = np.append(self.y[first:][rises], self.top)

    def solve_linear(self) -> None:
        """The turn of the linear distance, where N = c: Newton's method from beyond, with dN/dμ = 1/w."""
        level = self.top
        while True:
            kept = self.y < level
            if not kept.all():
                self.y, self.log_p = self.y[kept], _part(self.log_p, kept)
            N, w, risk = self._norms(level, *self._sums(level, self.y, self.log_p))
            self.evaluations += 1
            step = float((N - self.c) * w)
            if not 1e-15 * level < step < level:
                break
            level -= step
        if math.isfinite(step):
            low = float(self.y.max())
            self.add(self.floor + float(risk), self.c * float(w), Place(low, math.log(level - low)))

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
        return Segment(self, self.y[:count], _part(self.log_p, slice(count)), low, float(self.levels[rank + 1]) - low)

    def evaluate(self, z: np.ndarray) -> Point:
        level = self.levels[(-z).astype(np.intp)]
        if level.size * self.y.size <= _BATCH:
            sums = self._sums(level[:, None], self.y, self.log_p)
        else:
            counts = np.searchsorted(self.y, level)
            parts = [
                self._sums(one, self.y[:k], _part(self.log_p, slice(k))) for one, k in zip(level, counts, strict=True)
            ]
            sums = tuple(np.array(column) for column in zip(*parts, strict=True))
        N, w, risk = self._norms(level, *sums)
        unknown = np.full(z.shape, np.nan)
        return Point(z, self.floor + risk, self.c * w, self.c / N, unknown, unknown)

    def _sums(self, level: Numbers, y: np.ndarray, log_p: Logarithms) -> tuple[Numbers, ...]:
        """The sums that :meth:`_norms` takes."""
        ratio = np.maximum(1.0 - y / level, 0.0)
        weights, largest = _weights(self.beta * np.log(ratio) + log_p)
        return weights.sum(axis=-1), (weights * y).sum(axis=-1), (weights * ratio).sum(axis=-1), largest

    def elasticity_range(self, start: Point, end: Point) -> tuple[np.ndarray, np.ndarray]:
        return start.e, end.e

    def _norms(
        self, level: Numbers, mass: Numbers, risk: Numbers, ramp: Numbers, largest: Numbers
    ) -> tuple[Numbers, Numbers, Numbers]:
        r"""``N``, ``w`` and the empirical risk, from sums over the weights :math:`p x^\beta` of one, ``y`` and ``x``.

        ``x`` is measured in units of μ, and the weights in units of the largest, whose logarithm is given.
        """
        N = level * np.exp((np.log(ramp) + largest) / (self.beta + 1.0))
        w = np.exp((np.log(ramp) + largest) / self.alpha - largest) / mass
        return N, w, risk / mass

    def cut(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        return np.floor(0.5 * (start + end))[:, None]

    def is_atom(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        return end - start <= 1.0

    def posterior(self, place: Place) -> np.ndarray:
        above = math.exp(place.log_above)
        distance = place.risk - (self.problem.risks - self.floor)
        support = np.flatnonzero(distance >= -NEGLIGIBLE)
        distance = distance[support]
        # A logarithm of zero is minus infinity, and the weight zero.
        log_x = np.log(np.maximum(distance + above, 0.0))
        log_x[np.abs(distance) <= NEGLIGIBLE] = place.log_above
        log_x *= self.beta
        prior = self.problem.prior[support]
        # In units of the largest weight. The prior is multiplied, as its logarithm would cost digits, between two
        # halves of the power, as either may leave the range of floating-point numbers that their product is in.
        largest = int(np.argmax(log_x if self.problem.uniform_prior else log_x + np.log(prior)))
        half = np.exp(0.5 * (log_x - log_x[largest]))
        weights = half * (prior / prior[largest]) * half
        posterior = np.zeros(self.problem.size)
        posterior[support] = weights / weights.sum()
        return posterior

    def support_size(self, place: Place) -> int:
        return int(np.count_nonzero(self.y <= place.risk + NEGLIGIBLE))


class Moments(NamedTuple):
    r"""What a segment remembers of a point."""

    #: μ and ``N``.
    level: np.ndarray
    N: np.ndarray
    #: Sums of :math:`p (x/\mu)^\beta` and of :math:`p (x/\mu)^{\beta-1}` in units of the former's largest term ...
    mass: np.ndarray
    inverse: np.ndarray
    #: ... of which this is the logarithm.
    largest: np.ndarray
    #: Mean and variance of the risks with the latter weights.
    center: np.ndarray
    variance: np.ndarray
    #: Empirical risk above the smallest risk.
    y: np.ndarray


class Segment:
    """The path between two neighbouring risks, ``low`` and ``low + gap``."""

    def __init__(self, path: RenyiPath, y: np.ndarray, log_p: Logarithms, low: float, gap: float):
        self.path = path
        self.y, self.log_p, self.low, self.gap = y, log_p, low, gap
        self.below = low - y
        self.entering = np.searchsorted(y, low)
        self.power = max(path.alpha - 1.0, 1.0)
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

    def _evaluate(self, column: Numbers, z: Numbers) -> Point:
        path = self.path
        log_above = math.log(self.gap) - self.power * column
        above = np.exp(log_above)
        level = self.low + above
        log_ratio = np.log((self.below + above) / level)
        log_ratio[..., self.entering :] = log_above - np.log(level)
        ratio = np.exp(np.maximum(log_ratio, _SMALLEST))
        weights, largest = _weights(path.beta * log_ratio + self.log_p)
        rho = weights / ratio
        sums = weights.sum(axis=-1), (weights * self.y).sum(axis=-1), (weights * ratio).sum(axis=-1), largest
        level, above = np.reshape(level, np.shape(z)), np.reshape(above, np.shape(z))
        N, w, y = path._norms(level, *sums)
        inverse = rho.sum(axis=-1)
        center = (rho * self.y).sum(axis=-1) / inverse
        variance = (rho * (self.y - center[..., None]) ** 2).sum(axis=-1) / inverse
        moments = Moments(level, N, sums[0], inverse, largest, center, variance, y)
        d = path.c / N
        e = self._elasticity(N, moments, y, moments)
        speed = d / (N * w) * self.power * above
        return Point(z, path.floor + y, path.c * w, d, e, speed, np.array(moments).T)

    def elasticity_range(self, start: Point, end: Point) -> tuple[np.ndarray, np.ndarray]:
        assert start.memory is not None and end.memory is not None
        top, bottom = Moments(*start.memory.T), Moments(*end.memory.T)
        # The weights x^(β-1) are smallest at one end and largest at the other.
        few, many = (bottom, top) if self.path.beta >= 1.0 else (top, bottom)
        closest = np.clip(few.center, bottom.y, top.y)
        farthest = np.where(np.abs(bottom.y - many.center) > np.abs(top.y - many.center), bottom.y, top.y)
        return self._elasticity(bottom.N, few, closest, top), self._elasticity(top.N, many, farthest, bottom)

    def _elasticity(self, N: np.ndarray, weights: Moments, y: np.ndarray, mass: Moments) -> np.ndarray:
        """The elasticity's formula with its factors from different points."""
        beta = self.path.beta
        # Sums are in units of their points: of μ, hence the factors μ^(β-1) and μ^β, and of the largest weight.
        units = np.exp((beta - 1.0) * np.log(weights.level / mass.level) + (weights.largest - mass.largest))
        squares = weights.inverse * (weights.variance + (y - weights.center) ** 2)
        return beta / self.path.c * N * units * squares / (mass.mass * mass.level)

    def cut(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        pieces = 4 if self.y.size <= 4096 else 2
        return start[:, None] + (end - start)[:, None] * np.arange(1, pieces) / pieces

    def is_atom(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        return end - start <= SHORTEST


def _part(log_p: Logarithms, which: np.ndarray | slice) -> Logarithms:
    return log_p if isinstance(log_p, float) else log_p[which]


def _weights(logarithms: np.ndarray) -> tuple[np.ndarray, Numbers]:
    """The exponentials in units of the largest (in each row), and the logarithm of that."""
    largest = logarithms.max(axis=-1)
    logarithms -= largest[..., None]
    return np.exp(logarithms, out=logarithms), largest
