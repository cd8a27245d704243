r"""The χ² path: :math:`q_i \propto p_i (\mu - l_i)_+`, piece by piece.

Measured from the smallest risk, let :math:`P, W, Q` be the sums of :math:`p_i (\mu - l_i)_+^k` for :math:`k = 0, 1, 2`.

.. math:: q_i = p_i (\mu - l_i)_+/W, \quad L = \mu - Q/W, \quad X = Q/W^2, \quad b = c\sqrt X, \quad d = c/\sqrt Q ,

and :math:`t = 1/W` is the parameter of the paper's closed form. From one risk to the next, a gap ``g`` away, :math:`W
\to W + Pg` and :math:`Q \to Q + g(2W + Pg)`: sums of positive terms, so that neither risks that agree in eleven
digits nor risks near one cost accuracy. Between two neighbouring risks, on a *segment*, the support is fixed,
:math:`V = Q - W^2/P` is a constant, and the elasticity is :math:`e = V P X^{3/2}/c`.

*At most one turn per segment.* As functions of ``t``, :math:`X = 1/P + t^2 V` and ``L`` is linear. So ``e`` is convex
and increasing, while the threshold is constant (squared) or :math:`L(1-L)`, which is concave (kl): :math:`T - e` is a
concave function of ``t``, and the excess rises on one interval of the segment at most. A segment therefore holds
exactly one turn from falling to rising when the excess changes its sign that way between its ends. When it does not,
such a turn is still possible, with one from rising to falling before or after it; but then it lies between the zeros
of :math:`T - e`, which Newton's method finds from either end of the segment, monotonically.

*Large sets.* Sorting is not needed to know where minima are not. The risks are counted into equal buckets, the sums
of the buckets give the path at their edges, and the enclosure of the excess between two edges excludes nearly all of
the buckets, whatever the arrangement of the risks inside them. Those that are left are cut again, or sorted.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from pacb_models.problem import BoundProblem
from pacb_models.solution import Outcome

from .minima import NEGLIGIBLE, Candidate, outcome, prior_is_optimal
from .stationarity import STATIONARITY, Linear, Point, Squared, Stationarity
from .sweep import Interval, judge, solve_turn

#: Sets up to this size are sorted at once.
_SMALL = 16_384
#: Sets up to this size need no second look: running sums of so few terms are accurate enough.
_SHORT = 1024
#: Buckets of a larger one; their sums stay in the processor's cache.
_BUCKETS = 4096
#: After so many rounds of buckets within buckets the rest is sorted.
_DEEPEST = 4
#: Elements handled at a time, so that temporary arrays stay in the cache.
_BLOCK = 32_768
#: What an enclosure must exceed, relative to the budget, to settle a bucket: far above rounding, far below its width.
_MARGIN = 1e-9

#: Prior weights: an array, or one number for equal weights.
Prior = np.ndarray | float


class Ramp(NamedTuple):
    r"""The sums :math:`\sum p (\mu - y)_+^k`, ``k = 0, 1, 2``, at μ = ``position``, and ``V`` of the risks below."""

    position: float
    P: float
    W: float
    Q: float
    V: float


class Segment:
    r"""The path between two neighbouring risks; its coordinate is :math:`z = \ln t = -\ln W`."""

    def __init__(self, ramp: Ramp, c: float, floor: float):
        self.ramp, self.c, self.floor = ramp, c, floor

    def position(self, z: float) -> float:
        """μ, measured from the smallest risk."""
        return self.ramp.position + (math.exp(-z) - self.ramp.W) / self.ramp.P

    def evaluate_one(self, z: float) -> Point:
        position, P, W0, Q0, V = self.ramp
        W = math.exp(-z)
        gap = (W - W0) / P
        Q = Q0 + gap * (W0 + W)
        root = math.sqrt(Q)
        w = root / W
        L = self.floor + max(position + gap - Q / W, 0.0)
        d = self.c / root
        return Point(z, L, self.c * w, d, (V * w) * (P * w) * w / self.c, d * W * W / (P * Q))

    def rising_part(self, stationarity: Stationarity, low: float, high: float) -> tuple[float, float] | None:
        """The part of an interval on which the excess rises; None when there is none."""
        first = self._start_of_rise(stationarity, low, high)
        last = None if first is None else self._start_of_rise(stationarity, high, first)
        return None if first is None or last is None else (first, last)

    def _start_of_rise(self, stationarity: Stationarity, z: float, other: float) -> float | None:
        r"""The first coordinate from ``z`` towards the other end where :math:`T \ge e`; None if there is none between.

        :math:`T - e` is concave in ``t`` and lies below its tangents: Newton's iterates from outside stay outside.
        """
        low, high = min(z, other), max(z, other)
        for _ in range(200):
            point = self.evaluate_one(z)
            distance = stationarity.threshold(point.L, point.d) - point.e
            if distance >= 0.0:
                break
            t, X = math.exp(z), (point.b / self.c) ** 2
            slope = -self.ramp.V * (stationarity.threshold_slope(point.L) + 3.0 * point.e * t / X)
            if not slope * (other - z) > 0.0 or t <= distance / slope:
                return None
            previous, z = z, math.log(t - distance / slope)
            if not low <= z <= high:
                return None
            if abs(z - previous) <= 1e-15 * max(1.0, abs(z)):
                break
        return z


def minimise(problem: BoundProblem) -> Outcome:
    """The global minimum of a χ² bound, and every other local one."""
    path = ChiSquaredPath(problem)
    if path.spread <= NEGLIGIBLE:
        return prior_is_optimal(problem)
    # Overflow and 0/0 occur where a prior weight or a gap is next to nothing; no comparison with their results holds.
    with np.errstate(all="ignore"):
        path.sweep()
        return outcome(problem, path, path.candidates, [], path.evaluations)


class ChiSquaredPath:
    """The path of a problem, and what has been found on it."""

    def __init__(self, problem: BoundProblem):
        self.problem = problem
        self.floor = float(problem.risks.min())
        self.y = problem.risks - self.floor
        self.spread = float(self.y.max())
        self.p: Prior = 1.0 / problem.size if problem.uniform_prior else problem.prior
        self.c = problem.coefficient
        self.stationarity = STATIONARITY[problem.distance]
        self.candidates: list[Candidate] = []
        self.evaluations = 0

    # -- Locating the turns ------------------------------------------------------------------------------------------

    def sweep(self) -> None:
        """Find every local minimum."""
        y, p = self.y, self.p
        lowest: Any
        others: Any
        if y.size <= _SMALL:
            y, p = _sorted(y, p)
            count = int(y.searchsorted(NEGLIGIBLE, side="right"))
            lowest, others = slice(count), slice(count, None)
        else:
            lowest = y <= NEGLIGIBLE
            count, others = int(np.count_nonzero(lowest)), ~lowest
        mass, y, p = _mass(p, lowest, count), y[others], _select(p, others)
        root = math.sqrt(mass)
        if self.stationarity.excess(self.floor, self.c / root, self.c / (root * float(y.min()))) < 0.0:
            self.candidates.append(Candidate(self.floor, self.c / root, 1.0 / mass, None))
        # With μ this far above the largest risk, √Q is as large; hence d <= 1, or Φ <= d²/4 <= c/4 < b: the bound
        # falls.
        reach = 1.001 * (self.c if isinstance(self.stationarity, Linear) else math.sqrt(self.c))
        self.search(y, p, Ramp(0.0, mass, 0.0, 0.0, 0.0), self.spread + reach, 0)

    def search(self, y: np.ndarray, p: Prior, base: Ramp, upper: float, depth: int) -> None:
        """Find the turns between ``base.position`` and ``upper``; ``y`` are the risks between the two, in any order."""
        if y.size <= _SMALL or depth > _DEEPEST:
            self.walk(*_sorted(y, p), base, upper)
        elif y.min() == y.max():
            self.walk(y[:1], np.array([_mass(p, slice(None), y.size)]), base, upper)
        else:
            self.search_buckets(y, p, base, upper, depth)

    def walk(self, y: np.ndarray, p: Prior, base: Ramp, upper: float) -> None:
        """Judge every segment between sorted risks."""
        for i in range(0, max(y.size, 1), _BLOCK):
            part = slice(i, i + _BLOCK)
            end = upper if i + _BLOCK >= y.size else float(y[i + _BLOCK])
            base = self.judge_segments(y[part], _select(p, part), base, end)

    def judge_segments(self, y: np.ndarray, p: Prior, base: Ramp, upper: float) -> Ramp:
        """Judge the segments between sorted risks, collect their turns, and return the sums at ``upper``."""
        n = y.size
        position = np.empty(n + 2)
        position[0], position[1:-1], position[-1] = base.position, y, upper
        gap = position[1:] - position[:-1]
        # P and V belong to the n + 1 segments, W and Q to the n + 2 positions.
        P, V, W, Q = np.empty(n + 1), np.empty(n + 1), np.empty(n + 2), np.empty(n + 2)
        P[0], V[0], W[0], Q[0] = base.P, base.V, base.W, base.Q
        P[1:] = p * np.arange(1, n + 1) if isinstance(p, float) else p.cumsum()
        P[1:] += base.P
        (P * gap).cumsum(out=W[1:])
        W[1:] += base.W
        (gap * (W[1:] + W[:-1])).cumsum(out=Q[1:])
        Q[1:] += base.Q
        (p * (W[1:-1] / P[:-1]) * (W[1:-1] / P[1:])).cumsum(out=V[1:])
        V[1:] += base.V
        last = Ramp(upper, float(P[-1]), float(W[-1]), float(Q[-1]), float(V[-1]))
        at_end = base.W == 0.0
        if at_end:
            # Below the second smallest risk the path stands still.
            position, P, V, W, Q = position[1:], P[1:], V[1:], W[1:], Q[1:]
        root = np.sqrt(Q)
        w = root / W
        L = self.floor + np.maximum(position - Q / W, 0.0)
        if at_end:
            L[0] = self.floor
        ends = self.stationarity.ends(L, self.c * w, self.c / root)
        variation, cube = V * P / self.c, w * w * w
        # The path runs towards smaller positions.
        elasticity = variation * cube[1:], variation * cube[:-1]
        verdict = judge(self.stationarity, ends.take(slice(1, None)), ends.take(slice(-1)), elasticity, single=True)
        self.evaluations += position.size
        for i in (verdict.turning | verdict.open).nonzero()[0].tolist():
            ramp = Ramp(*(float(values[i]) for values in (position, P, W, Q, V)))
            if ramp.Q > 0.0:
                columns = (W[i + 1], W[i], ends.excess[i + 1], ends.excess[i], ends.L[i], ends.b[i + 1])
                start, end, *rest = (float(number) for number in columns)
                interval = Interval(-math.log(start), -math.log(end), *rest)
                self.settle(Segment(ramp, self.c, self.floor), interval, bool(verdict.turning[i]))
        return last

    def settle(self, segment: Segment, interval: Interval, turning: bool) -> None:
        """Add the turn of a segment, if there is one, to the candidates; ``turning`` says that there is."""
        if not turning:
            rising = segment.rising_part(self.stationarity, interval.low, interval.high)
            if rising is None:
                return
            points = [segment.evaluate_one(z) for z in rising]
            excess = [self.stationarity.excess(point.L, point.b, point.d) for point in points]
            if not excess[0] < 0.0 <= excess[1]:
                return
            interval = interval._replace(low=rising[0], high=rising[1], excess_low=excess[0], excess_high=excess[1])
        self.add(segment, interval)

    def add(self, segment: Segment, bracket: Interval) -> None:
        """Solve for the turn in a bracket and keep it as a candidate."""
        z = _closed_form(self.stationarity, segment)
        if z is None:
            point, count = solve_turn(segment, self.stationarity, bracket)
            self.evaluations += count
        else:
            point = segment.evaluate_one(min(max(z, bracket.low), bracket.high))
        self.candidates.append(Candidate(point.L, point.b, (point.b / self.c) ** 2, segment.position(point.z)))

    # -- Large sets --------------------------------------------------------------------------------------------------

    def search_buckets(self, y: np.ndarray, p: Prior, base: Ramp, upper: float, depth: int) -> None:
        """Exclude buckets of risks that cannot hold a turn, and search the others."""
        low, high = float(y.min()), float(y.max())
        width = (high - low) / _BUCKETS
        keys, sums = _bucket_sums(y, p, low, width)
        position = np.concatenate(([base.position], low + width * np.arange(_BUCKETS), [high, upper]))
        ramps = _accumulate(base, position, sums)
        _, _, W, Q, _ = ramps
        root = np.sqrt(Q)
        L = self.floor + np.maximum(position - Q / W, 0.0)
        at_end = base.W == 0.0
        if at_end:
            L[1] = self.floor
        ends = self.stationarity.ends(L, self.c * root / W, self.c / root)
        least, most = self.stationarity.excess_range(ends.take(slice(1, None)), ends.take(slice(-1)))
        margin = _MARGIN * self.stationarity.size(ends.b[:-1])
        is_open = ~((least > margin) | (most < -margin))
        if at_end:
            # Below the second smallest risk the path stands still.
            is_open[0] = False
        self.evaluations += position.size
        edges = np.flatnonzero(np.diff(is_open.astype(np.int8), prepend=0, append=0))
        for i, j in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            # Intervals i to j - 1; interval k holds bucket k - 1.
            inside = np.flatnonzero((keys >= max(i - 1, 0)) & (keys < max(j - 1, 0)))
            lower = Ramp(*(float(values[i]) for values in ramps))
            self.search(y[inside], _select(p, inside), lower, float(position[j]), depth + 1)

    # -- Posteriors --------------------------------------------------------------------------------------------------

    def posterior(self, place: float | None) -> np.ndarray:
        """The weights at a position; None is the end of the path."""
        if place is None:
            weights = np.where(self.y <= NEGLIGIBLE, self.problem.prior, 0.0)
        else:
            weights = np.subtract(place if self.y.size <= _SHORT else self.polish(place), self.y)
            np.maximum(weights, 0.0, out=weights)
            weights *= self.p
        weights /= weights.sum()
        return weights

    def support_size(self, place: float | None) -> int:
        return int(np.count_nonzero(self.y <= NEGLIGIBLE if place is None else self.y < place))

    def polish(self, position: float) -> float:
        """A Newton step on sums that are formed afresh, pairwise, at the position itself."""
        P, W, Q = self.moments(position)
        segment = Segment(Ramp(position, P, W, Q, max(Q - W * W / P, 0.0)), self.c, self.floor)
        point = segment.evaluate_one(-math.log(W))
        slope = self.stationarity.excess_slope(point.L, point.d, point.e) * point.speed
        if not slope > 0.0:
            return position
        # dμ = -(W/P) dz
        step = self.stationarity.excess(point.L, point.b, point.d) / slope * W / P
        return position + step if abs(step) <= 1e-6 * position else position

    def moments(self, position: float) -> tuple[float, float, float]:
        """The sums P, W and Q at a position."""
        P = W = Q = 0.0
        for i in range(0, self.y.size, _BLOCK):
            part = slice(i, i + _BLOCK)
            p = _select(self.p, part)
            ramp = position - self.y[part]
            np.maximum(ramp, 0.0, out=ramp)
            inside = ramp > 0.0
            P += p * int(np.count_nonzero(inside)) if isinstance(p, float) else float((p * inside).sum())
            weighted = ramp * p
            W += float(weighted.sum())
            weighted *= ramp
            Q += float(weighted.sum())
        return P, W, Q


def _sorted(y: np.ndarray, p: Prior) -> tuple[np.ndarray, Prior]:
    """Risks in increasing order, and their prior weights."""
    if isinstance(p, float):
        return np.sort(y), p
    order = np.argsort(y)
    return y[order], p[order]


def _mass(p: Prior, which: np.ndarray | slice, count: int) -> float:
    """The prior mass of some items, of which there are ``count``."""
    return p * count if isinstance(p, float) else float(p[which].sum())


def _select(p: Prior, which: np.ndarray | slice) -> Prior:
    """The prior weights of some items."""
    return p if isinstance(p, float) else p[which]


def _closed_form(stationarity: Stationarity, segment: Segment) -> float | None:
    r"""The coordinate of the turn on a segment, where a formula gives it.

    Linear: :math:`Q = c^2`, a quadratic equation for the distance from the segment's lower risk, solved without
    cancellation. Squared: :math:`Q^{3/2} = (c/4) W`. With :math:`W = P\tau`, :math:`Q = V + P\tau^2` and
    :math:`s = P\tau^2/Q` it reads :math:`s(1-s)^2 = 16 V^2/(c^2 P)`, whose root in [1/3, 1] (the minimum; the other in
    [0, 1] is a maximum) is with :math:`\sin A = 6\sqrt3\,V/(c\sqrt P)` given by

    .. math:: \tau^2 = \frac VP \frac s{1-s}, \qquad
              \frac{s}{1-s} = \frac{\sin^2((\pi - A)/3)}{\sin((2\pi - A)/3)\,\sin(A/3)} .
    """
    _, P, W, Q, V = segment.ramp
    c = segment.c
    if isinstance(stationarity, Linear):
        short = c * c - Q
        return -math.log(W + P * short / (W + math.sqrt(max(W * W + P * short, 0.0))))
    if isinstance(stationarity, Squared):
        third = math.asin(min(6.0 * math.sqrt(3.0) * V / (c * math.sqrt(P)), 1.0)) / 3.0
        ratio = V / math.sin(third) if V > 0.0 else 0.5 * c * math.sqrt(P / 3.0)
        tau2 = ratio / P * math.sin(math.pi / 3.0 - third) ** 2 / math.sin(2.0 * math.pi / 3.0 - third)
        return -math.log(P * math.sqrt(tau2))
    return None


def _bucket_sums(y: np.ndarray, p: Prior, low: float, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Each risk's bucket, and per bucket the sums of p times the distance to its upper edge to the powers 0, 1, 2."""
    keys = np.empty(y.size, np.uint16)
    sums = np.zeros((3, _BUCKETS))
    for i in range(0, y.size, _BLOCK):
        part = slice(i, i + _BLOCK)
        distance = y[part] - low
        distance /= width
        key = distance.astype(np.intp)
        np.minimum(key, _BUCKETS - 1, out=key)
        keys[part] = key
        np.subtract(key + 1.0, distance, out=distance)
        if isinstance(p, float):
            sums[0] += np.bincount(key, minlength=_BUCKETS)
            weighted = distance.copy()
        else:
            sums[0] += np.bincount(key, p[part], _BUCKETS)
            weighted = distance * p[part]
        sums[1] += np.bincount(key, weighted, _BUCKETS)
        weighted *= distance
        sums[2] += np.bincount(key, weighted, _BUCKETS)
    if isinstance(p, float):
        sums *= p
    return keys, sums * np.array([[1.0], [width], [width**2]])


def _accumulate(base: Ramp, position: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, ...]:
    """The fields of the ramps at the edges of the buckets; two empty intervals surround the buckets."""
    mass, first, second = np.pad(sums, ((0, 0), (1, 1)))
    gap = np.diff(position)
    P = base.P + np.append(0.0, np.cumsum(mass))
    W = base.W + np.append(0.0, np.cumsum(P[:-1] * gap + first))
    Q = base.Q + np.append(0.0, np.cumsum(gap * (2.0 * W[:-1] + P[:-1] * gap) + second))
    # V of two groups of risks: their own, and that of their means.
    filled = mass > 0.0
    within = np.where(filled, np.maximum(second - first * first / mass, 0.0), 0.0)
    apart = np.where(filled, W[:-1] / P[:-1] + gap - first / mass, 0.0)
    V = base.V + np.append(0.0, np.cumsum(within + P[:-1] * mass / P[1:] * apart**2))
    return position, P, W, Q, V
