r"""The χ² path: :math:`q_i \propto p_i (\mu - l_i)_+`, piece by piece.

Measured from the smallest risk :math:`l_0`, :math:`y_i = l_i - l_0`, let :math:`P, W, Q` be the sums of :math:`p_i (\mu
- y_i)_+^k` for :math:`k = 0, 1, 2`, and :math:`S, R` those of :math:`p_i y_i (\mu - y_i)_+^k` for :math:`k = 0, 1`.

.. math:: q_i = p_i (\mu - y_i)_+/W, \quad L = l_0 + R/W, \quad X = Q/W^2, \quad b = c\sqrt X, \quad d = c/\sqrt Q ,

and :math:`t = 1/W` is the parameter of the paper's closed form. From one risk to the next, a gap ``g`` away, :math:`W
\to W + Pg`, :math:`Q \to Q + g(2W + Pg)` and :math:`R \to R + Sg`: sums of positive terms, so that neither risks that
agree in eleven digits nor risks near one nor risks next to zero cost accuracy. (:math:`L = \mu - Q/W`, which would save
two sums, loses the digits of an ``L`` below :math:`10^{-10}`, and the kl distance sees its logarithm.) Between two
neighbouring risks, on a *segment*, the support is fixed, :math:`V = Q - W^2/P` is a constant, and the elasticity is
:math:`e = V P X^{3/2}/c`.

*At most one turn per segment.* As functions of ``t``, :math:`X = 1/P + t^2 V` and ``L`` is linear. So ``e`` is convex
and increasing, while the threshold is constant (squared) or :math:`L(1-L)`, which is concave (kl): :math:`T - e` is a
concave function of ``t``, and the excess rises on one interval of the segment at most. A segment therefore holds
exactly one turn from falling to rising when the excess changes its sign that way between its ends. When it does not,
such a turn is still possible, with one from rising to falling before or after it; but then it lies between the zeros
of :math:`T - e`, which Newton's method finds from either end of the segment, monotonically.

*Large sets.* Sorting is not needed to know where minima are not. The risks are counted into equal buckets, the sums
of the buckets give the path at their edges, and the enclosure of the excess between two edges excludes nearly all of
the buckets, whatever the arrangement of the risks inside them. Those that are left are cut again, or sorted.

*Prior weights next to nothing.* :math:`q_i^2/p_i \le X`, and where the bound is not vacuous :math:`X \le (745/c)^2 <
10^{24}` (kl; the others are above one long before). A classifier with :math:`p_i < 10^{-100}` then has :math:`q_i <
10^{-38}`. Such classifiers are left out of the search, so that nothing underflows, and get the weight that belongs to
the level μ found.
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
#: Steps back from the end of a rise, relative to the coordinate.
_STEPS_BACK = (0.0, 1e-15, 1e-14, 1e-12)
#: Rounding error of the empirical risk at the edges of buckets, relative to the position.
_ROUNDING = 1e-14
#: Classifiers with a smaller prior weight have no part in where a minimum is.
LEAST_PRIOR = 1e-100

#: Prior weights: an array, or one number for equal weights.
Prior = np.ndarray | float


class Ramp(NamedTuple):
    """The sums ``P, W, Q, S, R`` at μ = ``position``, and ``V`` of the risks below."""

    position: float
    P: float
    W: float
    Q: float
    V: float
    S: float
    R: float


class Segment:
    r"""The path between two neighbouring risks; its coordinate is :math:`z = \ln t = -\ln W`."""

    def __init__(self, ramp: Ramp, c: float, floor: float):
        self.ramp, self.c, self.floor = ramp, c, floor

    def position(self, z: float) -> float:
        """μ, measured from the smallest risk."""
        return self.ramp.position + (math.exp(-z) - self.ramp.W) / self.ramp.P

    def evaluate_one(self, z: float) -> Point:
        _, P, W0, Q0, V, S, R0 = self.ramp
        W = math.exp(-z)
        gap = max(W - W0, 0.0) / P
        Q = Q0 + gap * (W0 + W)
        root = math.sqrt(Q)
        w = root / W
        L = min(self.floor + (R0 + S * gap) / W, 1.0)
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
    if float(path.all_y.max() - path.all_y.min()) <= NEGLIGIBLE:
        return prior_is_optimal(problem)
    # Overflow and 0/0 occur where a prior weight or a gap is next to nothing; no comparison with their results holds.
    with np.errstate(all="ignore"):
        path.sweep()
        return outcome(problem, path, path.candidates, [], path.evaluations)


class ChiSquaredPath:
    """The path of a problem, and what has been found on it."""

    def __init__(self, problem: BoundProblem):
        self.problem = problem
        self.all_p: Prior = 1.0 / problem.size if problem.uniform_prior else problem.prior
        self.p, risks = self.all_p, problem.risks
        if not problem.uniform_prior and float(problem.prior.min()) < LEAST_PRIOR:
            kept = problem.prior >= LEAST_PRIOR
            self.p, risks = problem.prior[kept], risks[kept]
        self.floor = float(risks.min())
        #: All risks and those that have a part in the search, measured from the smallest of the latter.
        self.all_y = problem.risks - self.floor
        self.y = self.all_y if risks is problem.risks else risks - self.floor
        self.spread = float(self.y.max())
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
        if not y.size:
            self.add_end(mass)
            return
        if self.stationarity.excess(self.floor, self.c / root, self.c / (root * float(y.min()))) < 0.0:
            self.add_end(mass)
        # With μ this far above the largest risk, √Q is as large; hence d <= 1, or Φ <= d²/4 <= c/4 < b: the bound
        # falls.
        reach = 1.001 * (self.c if isinstance(self.stationarity, Linear) else math.sqrt(self.c))
        self.search(y, p, Ramp(0.0, mass, 0.0, 0.0, 0.0, 0.0, 0.0), self.spread + reach, 0)

    def add_end(self, mass: float) -> None:
        """Keep the end of the path, all weight on the smallest risk, as a candidate.

        The level at which it is stationary says what classifiers with next to no prior weight are to have.
        """
        budget = self.c / math.sqrt(mass)
        r = self.problem.distance_function.derivatives(self.floor, budget)
        level = budget * r.b / r.L if r.L > 0.0 else 0.0
        place = level if NEGLIGIBLE < level < math.inf else None
        self.candidates.append(Candidate(self.floor, budget, 1.0 / mass, place))

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
        # P, V and S belong to the n + 1 segments, W, Q and R to the n + 2 positions.
        P, V, S, W, Q, R = (np.empty(n + more) for more in (1, 1, 1, 2, 2, 2))
        P[0], V[0], S[0], W[0], Q[0], R[0] = base.P, base.V, base.S, base.W, base.Q, base.R
        P[1:] = p * np.arange(1, n + 1) if isinstance(p, float) else p.cumsum()
        P[1:] += base.P
        (p * y).cumsum(out=S[1:])
        S[1:] += base.S
        (S * gap).cumsum(out=R[1:])
        R[1:] += base.R
        (P * gap).cumsum(out=W[1:])
        W[1:] += base.W
        (gap * (W[1:] + W[:-1])).cumsum(out=Q[1:])
        Q[1:] += base.Q
        (p * (W[1:-1] / P[:-1]) * (W[1:-1] / P[1:])).cumsum(out=V[1:])
        V[1:] += base.V
        last = Ramp(upper, *(float(values[-1]) for values in (P, W, Q, V, S, R)))
        if base.W == 0.0:
            # Below the second smallest risk the path stands still.
            position, P, V, S, W, Q, R = (values[1:] for values in (position, P, V, S, W, Q, R))
        root = np.sqrt(Q)
        w = root / W
        L = np.minimum(self.floor + R / W, 1.0)
        ends = self.stationarity.ends(L, self.c * w, self.c / root)
        variation, cube = V * P / self.c, w * w * w
        # The path runs towards smaller positions.
        elasticity = variation * cube[1:], variation * cube[:-1]
        verdict = judge(self.stationarity, ends.take(slice(1, None)), ends.take(slice(-1)), elasticity, single=True)
        self.evaluations += position.size
        for i in (verdict.turning | verdict.open).nonzero()[0].tolist():
            ramp = Ramp(*(float(values[i]) for values in (position, P, W, Q, V, S, R)))
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
            first, last = rising
            lowest = self.excess_at(segment, first)
            # The excess is largest at the end of the rise; where that end is within rounding of the segment's own, at
            # which a tiny L may vanish and the excess with it, it shows a step before.
            tops = [last - step * max(1.0, abs(last)) for step in _STEPS_BACK]
            highest, last = max((self.excess_at(segment, z), z) for z in tops if z >= first)
            if not lowest < 0.0 <= highest:
                return
            interval = interval._replace(low=first, high=last, excess_low=lowest, excess_high=highest)
        self.add(segment, interval)

    def excess_at(self, segment: Segment, z: float) -> float:
        """The excess at a coordinate of a segment."""
        point = segment.evaluate_one(z)
        return float(self.stationarity.excess(point.L, point.b, point.d))

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
        W, Q = _accumulate(base, position, sums)
        root = np.sqrt(Q)
        # The sums of the buckets do without R; what that costs an L next to zero widens the enclosures.
        L, off = self.floor + (position - Q / W), _ROUNDING * position
        b, d = self.c * root / W, self.c / root
        upper_ends = self.stationarity.ends(np.clip(L + off, 0.0, 1.0), b, d)
        lower_ends = self.stationarity.ends(np.clip(L - off, 0.0, 1.0), b, d)
        least, most = self.stationarity.excess_range(upper_ends.take(slice(1, None)), lower_ends.take(slice(-1)))
        margin = _MARGIN * self.stationarity.size(b[:-1])
        is_open = ~((least > margin) | (most < -margin))
        if base.W == 0.0:
            # Below the second smallest risk the path stands still.
            is_open[0] = False
        self.evaluations += position.size
        edges = np.flatnonzero(np.diff(is_open.astype(np.int8), prepend=0, append=0))
        for i, j in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            # Intervals i to j - 1; interval k holds bucket k - 1.
            inside = np.flatnonzero((keys >= max(i - 1, 0)) & (keys < max(j - 1, 0)))
            below = np.flatnonzero(keys < max(i - 1, 0))
            lower = _raised(base, float(position[i]), y[below], _select(p, below))
            self.search(y[inside], _select(p, inside), lower, float(position[j]), depth + 1)

    # -- Posteriors --------------------------------------------------------------------------------------------------

    def posterior(self, place: float | None) -> np.ndarray:
        """The weights at a position; None is the end of the path."""
        if place is None:
            weights = np.where(self.all_y <= NEGLIGIBLE, self.problem.prior, 0.0)
        else:
            weights = np.subtract(place if self.y.size <= _SHORT else self.polish(place), self.all_y)
            np.maximum(weights, 0.0, out=weights)
            weights *= self.all_p
        weights /= weights.sum()
        return weights

    def support_size(self, place: float | None) -> int:
        return int(np.count_nonzero(self.all_y <= NEGLIGIBLE if place is None else self.all_y < place))

    def polish(self, position: float) -> float:
        """A Newton step on sums that are formed afresh, pairwise, at the position itself."""
        P, W, Q, R = self.moments(position)
        segment = Segment(Ramp(position, P, W, Q, max(Q - W * W / P, 0.0), 0.0, R), self.c, self.floor)
        point = segment.evaluate_one(-math.log(W))
        slope = self.stationarity.excess_slope(point.L, point.d, point.e) * point.speed
        if not slope > 0.0:
            return position
        # dμ = -(W/P) dz
        step = self.stationarity.excess(point.L, point.b, point.d) / slope * W / P
        return position + step if abs(step) <= 1e-6 * position else position

    def moments(self, position: float) -> tuple[float, float, float, float]:
        """The sums P, W, Q and R at a position."""
        P = W = Q = R = 0.0
        for i in range(0, self.y.size, _BLOCK):
            part = slice(i, i + _BLOCK)
            p = _select(self.p, part)
            ramp = position - self.y[part]
            np.maximum(ramp, 0.0, out=ramp)
            inside = ramp > 0.0
            P += p * int(np.count_nonzero(inside)) if isinstance(p, float) else float((p * inside).sum())
            weighted = ramp * p
            W += float(weighted.sum())
            R += float(np.dot(weighted, self.y[part]))
            weighted *= ramp
            Q += float(weighted.sum())
        return P, W, Q, R


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
    _, P, W, Q, V, _, _ = segment.ramp
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


def _accumulate(base: Ramp, position: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """W and Q at the edges of the buckets; two empty intervals surround the buckets."""
    mass, first, second = np.pad(sums, ((0, 0), (1, 1)))
    gap = np.diff(position)
    P = base.P + np.append(0.0, np.cumsum(mass))
    W = base.W + np.append(0.0, np.cumsum(P[:-1] * gap + first))
    Q = base.Q + np.append(0.0, np.cumsum(gap * (2.0 * W[:-1] + P[:-1] * gap) + second))
    return W, Q


def _raised(base: Ramp, position: float, y: np.ndarray, p: Prior) -> Ramp:
    """The ramp at a higher position; ``y`` are the risks between the two."""
    gap = position - base.position
    above = position - y
    weights = np.full(y.size, p) if isinstance(p, float) else p
    mass, moment = float(weights.sum()), float((weights * y).sum())
    P, S = base.P + mass, base.S + moment
    W = base.W + base.P * gap + float((weights * above).sum())
    Q = base.Q + gap * (2.0 * base.W + base.P * gap) + float((weights * above * above).sum())
    R = base.R + base.S * gap + float((weights * y * above).sum())
    V = base.V
    if mass > 0.0:
        # V of two groups of risks: their own, and that of their means.
        mean, base_mean = moment / mass, base.S / base.P
        V += float((weights * (y - mean) ** 2).sum()) + base.P * mass / P * (mean - base_mean) ** 2
    return Ramp(position, P, W, Q, V, S, R)
