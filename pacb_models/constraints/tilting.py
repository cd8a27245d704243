r"""The posterior of a constrained set that minimises :math:`T + \gamma L`, with the multipliers that prove it.

``T`` is the size of the divergence. Between caps and floors a minimiser's gradient of ``T`` is :math:`s_i = \theta -
\gamma y_i - \nu \tilde a_i`, so that

.. math:: q_i = \mathrm{clip}\big(p_i\,\rho(s_i, T),\, lo_i,\, up_i\big),

ρ the ``ratios`` of the divergence. Three nested roots, each monotone, none of which can diverge:

* θ at given ν and ``T``: the sum of the weights increases with θ. It is one in the end.
* ν at given ``T``: the dual, maximised over θ, is concave and continuously differentiable in ν. Its gradient is
  :math:`\tilde A q`, its Hessian :math:`-\sum_i w_i (\tilde a_i - \bar a)(\tilde a_i - \bar a)^T` over the weights
  strictly between their bounds, :math:`w_i = dq_i/ds_i`. Newton's step solves a quadratic program, and the search along
  it needs the slope only, which decreases.
* ``T``, for a homogeneous size, :math:`T = \min_\tau \tau^{1-\alpha} D/\alpha + (1 - 1/\alpha)\tau`: the minimum over
  ``q`` of the right side is convex in τ, so that :math:`\ln T(q(\tau)) - \ln\tau` decreases. It is zero in the end.

At one size :math:`d\theta/d\gamma` and :math:`-d\nu/d\gamma` are the coefficients of the regression of ``y`` on one and
the rows, weighted by ``w``, and :math:`-dL/d\gamma` is what it leaves. The next minimiser begins on that tangent, for
χ² at its end as long as the same weights are free.

Where caps and rows leave little, or γ is large, the dual has nearly corners, and ν is found along a path: some entropy
is added to ``T``, with which weights leave zero gently, and taken away again.

At large orders a weight rises from zero like the root of order α - 1 of its slope, and 16 digits of θ and ν do not tell
how high. Slopes are therefore a vector of their own to which small steps are added: their first rounding, a relative
1e-16 of the risks, is the only one that counts, and a slope near zero has all its digits.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..numerics.elementwise import Array
from ..numerics.inner import PIECE, combination, pieces, products

if TYPE_CHECKING:
    from ..divergences import Divergence
    from .posteriors import Posteriors


#: Rows, in their units, and the logarithm of the size are kept to the first number, the weights' sum to the second.
ACCURACY, ROUNDING = 4e-15, 1e-15
#: Limits of the iterations for θ, for ν, along one of its steps, and for the size.
LEVEL_STEPS, NEWTON_STEPS, SEARCH_STEPS, SIZE_STEPS = 120, 60, 50, 40
#: A direct way of so many passes over the classifiers is tried first, then a path of as many. Rows that are kept to the
#: last number need no path.
PASSES, ARRIVED = 1500, 1e-12
#: On a path the entropy falls from so many times the costs by the second factor to the third number, or at large orders
#: to the fourth times the costs. On the way rows and sizes are kept to the last two.
MUCH, PACE, MILD, TRACE, LOOSE, ROUGH = 100.0, 6.0, 0.05, 1e-13, 1e-5, 1e-3
#: A part of the path that leaves an error above the first number after so many passes is halved, in logarithms, unless
#: the entropy falls by less than the last factor in it.
MISSED, STEP, SHORTEST = 0.01, 500, 1.05
#: Steps of ν that leave more than half of the error, after which rounding is taken for the reason.
PATIENCE = 8
#: Weights that lack more to one get a θ of their own before ν moves on.
LACKING = 0.1
#: The first and the last step of θ where nothing is known, relative to the slopes, and the longest of ν.
REACH, FARTHEST, LONGEST = 1e-6, 1e15, 10.0
#: Long steps of θ begin with new slopes, and are repeated at large orders, so often at most.
SHORT, REPEATS = 1e-6, 4
#: Added to the root of the Hessian, relative to that of the speeds: rows may be dependent on the free weights.
RIDGE, FLATTEST = 1e-10, 1e-140
#: The largest speed of a weight, which is infinite where it leaves zero, and the smallest distance from there.
FASTEST, NEAREST = 1e200, 1e-300
#: How far a step of the logarithm of the size leads at first, relative to the simplest one.
STRETCH = 8.0


class Minimiser(NamedTuple):
    """Weights that minimise :math:`T + \\gamma L` over the set, and what proves it."""

    gamma: float
    theta: float
    #: The size that the weights' formula was used with; one where it does not need it.
    size: float
    #: Of the rows in their units.
    multipliers: Array
    posterior: Array
    #: By how much the weights break a row, or leave one with a multiplier unfilled, or by which factor the size is off.
    error: float
    #: How θ, the multipliers and the risk move with γ at one size, as long as the same weights are free.
    drift: Array
    #: The trace of entropy that is left.
    trace: float = 0.0

    def ahead(self, gammas: Array) -> Array:
        """γ, θ, the size, the multipliers and how far the risk has moved, on the tangent, a row for each γ."""
        far = gammas - self.gamma
        theta, *nu, moved = np.array([self.theta, *self.multipliers, 0.0])[:, None] + self.drift[:, None] * far
        return np.array([gammas, theta, np.full(far.size, self.size), *np.maximum(nu, 0.0), moved]).T


class Point(NamedTuple):
    """Slopes, the θ and ν that they belong to, the weights, what these lack to one, and the rows' averages."""

    slopes: Array
    theta: float
    nu: Array
    q: Array
    lack: float
    rows: Array
    error: float


class Tilting:
    """Minimisers of :math:`T + \\gamma y` over a set of posteriors, ``y`` the risk above some number."""

    def __init__(self, divergence: Divergence, risks: Array, prior: Array, posteriors: Posteriors) -> None:
        self.divergence, self.y, self.p = divergence, risks, prior
        self.rows, self.lower = posteriors.matrix, posteriors.lower
        # A cap of one is none, and would leave θ open where one classifier has all weight.
        self.upper = np.where(posteriors.upper < 1.0, posteriors.upper, 2.0)
        #: How often the weights were computed.
        self.passes = 0
        self.gamma, self.entropy, self.accuracy, self.limit = 0.0, 0.0, ACCURACY, PASSES
        self.drift = np.zeros(len(self.rows) + 2)

    def at(self, gamma: float, start: Minimiser | None = None) -> Minimiser:
        """Return the minimiser at one γ, beginning at another; along a path of easier problems where that does not
        arrive."""
        self.limit = self.passes + PASSES
        first = start or self._first(gamma, self.unit)
        found = self._from(gamma, first, first.trace)
        if found.error <= ARRIVED or not len(self.rows):
            return found
        self.limit = self.passes + PASSES
        other = self._along_path(gamma)
        return other if other.error < found.error else found

    def of_strength(self, strength: float, start: Minimiser | None = None) -> Minimiser:
        r"""Return the minimiser at some γ: of :math:`T^\alpha/(\alpha\tau^{\alpha-1})` plus the strength times ``y``
        for a homogeneous size, τ the size of the prior. That is one root less than the minimiser at a given γ."""
        if not self.growth:
            return self.at(strength, start)
        self.limit = self.passes + PASSES
        found = self._from(strength, start or self._first(strength, self.unit), 0.0, self.unit)
        return found if found.error <= ARRIVED else self.at(found.gamma, start)

    def _along_path(self, gamma: float) -> Minimiser:
        """Minimise :math:`T + \\gamma L` and less and less of KL from the middle of the box, none in the end.

        For large orders a trace is left, far below what a bound can show.
        """
        mixed, sharp = self.divergence.homogeneous, self.divergence.homogeneous and self.divergence.order > 2.0
        spread, most = gamma * float(np.ptp(self.y)), self.limit
        entropy, end = MUCH * (self.unit + spread), MILD
        before = last = (math.inf, self._first(gamma, float((self.upper / self.p).max()) if mixed else 1.0))
        while True:
            final = entropy <= end if sharp else entropy == 0.0
            self.accuracy = ACCURACY if final else LOOSE
            # Multipliers are nearly linear in the amount of entropy, in the end.
            share = (entropy - last[0]) / (last[0] - before[0]) if before[0] < math.inf else 0.0
            theta = last[1].theta + share * (last[1].theta - before[1].theta)
            nu = last[1].multipliers + share * (last[1].multipliers - before[1].multipliers)
            start = last[1]._replace(theta=theta, multipliers=np.maximum(nu, 0.0))
            self.limit = most if final else min(self.passes + STEP, most)
            found = self._from(gamma, start, entropy)
            if not final and found.error > MISSED and self.passes <= most and SHORTEST * entropy < last[0] < math.inf:
                # The way from the last one was too far.
                entropy = math.sqrt(entropy * last[0])
                continue
            before, last = last, (entropy, found)
            if final or self.passes > most:
                self.accuracy = ACCURACY
                return last[1] if final else last[1]._replace(error=math.inf)
            end = TRACE * (last[1].size + spread) if sharp else MILD
            entropy = max(entropy / PACE, end) if entropy > end else 0.0

    @np.errstate(all="ignore")
    def _from(self, gamma: float, start: Minimiser, entropy: float, unit: float = 0.0) -> Minimiser:
        """Return the minimiser from the next one; with a unit, the one of that strength."""
        self.gamma, self.entropy, self.drift, size = gamma, entropy, start.drift, unit or start.size
        passes = self.passes
        scale = (start.size / unit) ** self.growth if unit else 1.0
        theta, nu = self._moved(start.theta, start.multipliers, start.gamma, scale)
        point = self._climbed(self._slopes(theta, nu), theta, nu, size)
        excess, sized = 0.0, self.divergence.homogeneous and not unit
        if sized:
            point, size, excess = self._sized(point, size)
        if abs(point.lack) > ROUNDING:
            q = self._filled(point.q)
            excess = math.log(self.divergence.size(q, self.p) / size) if sized else excess
            point = self._point(point.slopes, point.theta, point.nu, q)
        if self.drift is start.drift and self.passes > passes + 1:
            self._step(point)
        # A weight is one where it is so but for rounding.
        q, error = np.where(point.q > 1.0 - ROUNDING, 1.0, point.q), max(point.error, abs(excess))
        if not unit:
            return Minimiser(gamma, point.theta, size, point.nu, q, error, self.drift, entropy)
        size = self.divergence.size(q, self.p)
        scale = (unit / size) ** self.growth
        return Minimiser(gamma * scale, point.theta * scale, size, point.nu * scale, q, error, self.drift)

    def _first(self, gamma: float, size: float) -> Minimiser:
        nu, theta = np.zeros(len(self.rows)), 1.0 + gamma * float(self.y.min())
        return Minimiser(gamma, theta, size, nu, self.p, math.inf, np.zeros(nu.size + 2))

    @property
    def growth(self) -> float:
        """The power of the size that a strength has beside γ; none at large orders, whose powers are out of reach."""
        power = self.divergence.order - 1.0
        return power if self.divergence.homogeneous and power <= 1.0 else 0.0

    @cached_property
    def unit(self) -> float:
        """The size of the prior, moved between the bounds."""
        return self.divergence.size(self._filled(self.p), self.p) if self.divergence.homogeneous else 1.0

    def _filled(self, q: Array) -> Array:
        """Return weights between the bounds that sum to one: what they lack is spread over the room that is left."""
        q = np.clip(q, self.lower, self.upper)
        lack = 1.0 - float(np.add.reduce(q))
        if abs(lack) <= ROUNDING:
            return q
        room = self.upper - q if lack > 0.0 else self.lower - q
        q += min(lack / (float(np.add.reduce(room)) or lack), 1.0) * room
        return np.clip(q, self.lower, self.upper, out=q)

    @property
    def power(self) -> float:
        """Weights are about this root of their slopes, exponential at zero."""
        power = 0.0 if self.entropy > 0.0 else self.divergence.order - 1.0
        return power if self.divergence.homogeneous else min(power, 1.0)

    @cached_property
    def tilts(self) -> Array:
        """What makes the entropy that from the prior the one from the middle of the box."""
        upper = np.minimum(self.upper, 1.0)
        share = (1.0 - float(self.lower.sum())) / (float((upper - self.lower).sum()) or 1.0)
        return np.log(self.p / np.maximum(self.lower + share * (upper - self.lower), NEAREST))

    def _moved(self, theta: float, nu: Array, gamma: float, scale: float) -> tuple[float, Array]:
        """θ and ν on the tangent, from those of another γ, all three scaled first."""
        far = self.gamma - gamma * scale
        return scale * theta + far * self.drift.item(0), np.maximum(scale * nu + far * self.drift[1:-1], 0.0)

    def _slopes(self, theta: float, nu: Array) -> Array:
        slopes = theta - self.gamma * self.y
        return slopes - combination(nu, self.rows) if nu.any() else slopes

    def _clipped(self, slopes: Array, size: float) -> Array:
        self.passes += 1
        if self.entropy > 0.0:
            slopes = slopes - self.entropy * self.tilts
        q = self.divergence.ratios(slopes, size, self.entropy)
        q *= self.p
        return np.minimum(np.maximum(q, self.lower, out=q), self.upper, out=q)

    def _speeds(self, slopes: Array, q: Array) -> tuple[Array, NDArray[np.intp]]:
        """Return which weights are strictly between their bounds, and how fast those move with their slopes."""
        free = np.flatnonzero((q > self.lower) & (q < self.upper))
        slopes, q, p = slopes.take(free), q.take(free), self.p.take(free)
        if self.entropy > 0.0:
            slopes = slopes - self.entropy * self.tilts.take(free)
        return np.minimum(np.abs(self.divergence.speeds(q, p, slopes, self.entropy)), FASTEST), free

    # -- The sum -----------------------------------------------------------------------------------------------------

    def _point(self, slopes: Array, theta: float, nu: Array, q: Array) -> Point:
        lack, rows = 1.0 - float(np.add.reduce(q)), products(self.rows, q)
        broken = (abs(row) if each > 0.0 else row for row, each in zip(rows.tolist(), nu.tolist()))
        return Point(slopes, theta, nu, q, lack, rows, max(abs(lack), *broken) if nu.size else abs(lack))

    def _levelled(self, point: Point, size: float, accuracy: float) -> Point:
        """Return the point at which the weights sum to one, with the same multipliers."""
        slopes, theta, q = point.slopes, point.theta, point.q
        for repeat in range(REPEATS):
            step, q = self._level(slopes, self._clipped(slopes, size) if repeat else q, size, accuracy)
            if step == 0.0:
                break
            theta += step
            slopes = slopes + step if abs(step) <= SHORT * abs(theta) else self._slopes(theta, point.nu)
            if self.power <= 1.0 or abs(step) <= ROUNDING * abs(theta):
                break
        return self._point(slopes, theta, point.nu, q)

    def _level(self, slopes: Array, q: Array, size: float, accuracy: float) -> tuple[float, Array]:
        """Return what to add to the slopes, and the weights then.

        The step is exact where the free weights stay the same for χ² and the KL divergence; elsewhere it takes a power
        of their sum for linear, or the sum for linear in the logarithm of the smallest slope. Where it leads out of the
        interval that holds the root, or gains little, the interval is halved.
        """
        low, high, step, last = -math.inf, math.inf, 0.0, math.inf
        below = above = None
        scale = 1.0 + float(np.abs(slopes).max())
        reach, farthest = REACH * scale, FARTHEST * scale
        for _ in range(LEVEL_STEPS):
            moved = slopes + step
            q = q if step == 0.0 else self._clipped(moved, size)
            total = float(np.add.reduce(q))
            if abs(total - 1.0) <= accuracy:
                return step, q
            if total < 1.0:
                low, below = step, (total, q)
            else:
                high, above = step, (total, q)
            following = step + self._newton(moved, q, total)
            gained, last = abs(total - 1.0) <= 0.5 * last, abs(total - 1.0)
            if high == math.inf or low == -math.inf:
                if not (low < following < high and gained and (self.power <= 1.0 or abs(following - step) <= reach)):
                    following = step + math.copysign(reach, 1.0 - total)
                    reach *= 10.0
            elif not low < following < high or not gained:
                following = 0.5 * (low + high)
            if following in (step, low, high) or abs(following) > farthest or self.passes > self.limit:
                break
            step = following
        if below is None or above is None or above[0] == math.inf:
            return step, q
        # Two neighbouring numbers are on both sides.
        share = (1.0 - below[0]) / (above[0] - below[0])
        return step, np.clip((1.0 - share) * below[1] + share * above[1], self.lower, self.upper)

    def _newton(self, slopes: Array, q: Array, total: float) -> float:
        speeds, free = self._speeds(slopes, q)
        speed, mass = float(np.add.reduce(speeds)), float(np.add.reduce(q.take(free)))
        needed = mass + 1.0 - total
        if not (0.0 < speed < math.inf and 0.0 < mass < math.inf and needed > 0.0):
            return math.nan
        growth = math.log(needed / mass)
        power = self.power
        return mass / speed * (growth if power == 0.0 else math.expm1(min(power * growth, 700.0)) / power)

    # -- The multipliers ---------------------------------------------------------------------------------------------

    def _climbed(self, slopes: Array, theta: float, nu: Array, size: float) -> Point:
        """Return the point that maximises the dual over θ and ν, at one size, from another."""
        point = self._point(slopes, theta, nu, self._clipped(slopes, size))
        if not abs(point.lack) <= LACKING:
            point = self._levelled(point, size, self.accuracy)
        best, idle = point, 0
        for _ in range(NEWTON_STEPS if len(self.rows) else 0):
            if best.error <= self.accuracy or idle > PATIENCE or self.passes > self.limit:
                break
            step, lead = self._step(point)
            if not float(np.dot(point.rows, step)) + point.lack * lead > 0.0:
                break
            point = self._searched(point, step, lead, size)
            idle = 0 if point.error <= 0.5 * best.error else idle + 1
            best = min(best, point, key=lambda each: each.error)
        return self._levelled(best, size, ROUNDING) if abs(best.lack) > ROUNDING else best

    def _step(self, point: Point) -> tuple[Array, float]:
        """Step to the maximum of the quadratic model over :math:`\\nu \\ge 0`, and how θ moves with it."""
        held = np.flatnonzero((point.nu > 0.0) | (point.rows > 0.0))
        triangle = self._triangle(point, held)
        corner = triangle[0, 0] or math.inf
        # With the sum of the weights brought to one.
        means, root = triangle[0, 1:-1] / corner, triangle[1:-1, 1:-1]
        nu, slopes = point.nu[held], point.rows[held] + means * point.lack
        target = np.linalg.solve(root.T, slopes)
        move = np.linalg.solve(root, target)
        if (nu + move < 0.0).any():
            move = _nonnegative(root, nu, slopes, target)
        step, drift = np.zeros((2, len(self.rows)))
        step[held], drift[held] = move, -np.linalg.solve(root, triangle[1:-1, -1])
        self.drift = np.array([triangle[0, -1] / corner + float(means @ drift[held]), *drift, -(triangle[-1, -1] ** 2)])
        lead = float(means @ move) + point.lack / corner**2
        longest = LONGEST * (1.0 + float(np.abs(point.slopes).max()))
        shorter = min(1.0, longest / (max(float(np.abs(step).max(initial=0.0)), abs(lead)) or 1.0))
        return step * shorter, lead * shorter

    def _triangle(self, point: Point, held: NDArray[np.intp]) -> Array:
        """Return the triangular factor of ones, some rows and the risks, times the roots of the speeds.

        Without its first row and column it is a root of the Hessian, which itself has half as many digits.
        """
        speeds, free = self._speeds(point.slopes, point.q)
        ridge = RIDGE * math.sqrt(float(np.add.reduce(speeds)))
        # The squares of smaller numbers are none: the step is along the slopes then.
        triangle = np.diag([0.0, *[ridge if ridge > FLATTEST else 1.0] * held.size, 0.0])
        np.sqrt(speeds, out=speeds)
        for some in pieces(speeds.size, PIECE // len(triangle)):
            part, here = speeds[some], free[some]
            piece = np.vstack((part, self.rows[held[:, None], here] * part, self.y.take(here) * part))
            triangle = _triangular(np.vstack((triangle, piece.T)))
        return triangle

    def _searched(self, point: Point, step: Array, lead: float, size: float) -> Point:
        """Go along the segment to where the slope has fallen to half at most; as the dual is concave it
        decreases."""
        falling = step < 0.0
        furthest = float((point.nu[falling] / -step[falling]).min()) if falling.any() else math.inf
        tilts = combination(step, self.rows)
        first, ahead, nested = float(np.dot(point.rows, step)) + point.lack * lead, lead, False
        low, high, share, at_low, at_high = 0.0, math.inf, min(1.0, furthest), first, -math.inf
        moved = point
        for _ in range(SEARCH_STEPS):
            nu = np.maximum(point.nu + share * step, 0.0)
            if share == furthest:
                nu[falling & (point.nu + share * step <= 1e-15 * point.nu)] = 0.0
            slopes = point.slopes - share * tilts + share * ahead
            moved = self._point(slopes, point.theta + share * ahead, nu, self._clipped(slopes, size))
            if nested or not abs(moved.lack) <= LACKING:
                nested, moved = True, self._levelled(moved, size, max(ROUNDING, 1e-3 * point.error))
                ahead = (moved.theta - point.theta) / share
            slope = float(np.dot(moved.rows, step)) + (0.0 if nested else moved.lack * lead)
            if abs(slope) <= 0.5 * first or (slope > 0.0 and share >= furthest) or self.passes > self.limit:
                break
            if slope > 0.0:
                low, at_low = share, slope
            else:
                high, at_high = share, slope
            # Where the straight line between the slopes has none, away from the ends.
            between = min(max(at_low / (at_low - at_high), 0.1), 0.9)
            share = min(4.0 * share, furthest) if high == math.inf else low + (high - low) * between
        return moved

    # -- The size ----------------------------------------------------------------------------------------------------

    def _sized(self, point: Point, size: float) -> tuple[Point, float, float]:
        """Return the point whose size is the one that its weights were computed with."""
        # Sizes are at least one, and at most the largest ratio.
        low, high, before = -ACCURACY, math.log(float((self.upper / self.p).max())) + ACCURACY, None
        at, excess, stretch = math.log(size), math.inf, STRETCH
        for _ in range(SIZE_STEPS):
            if not point.q.any():
                break
            # Less than the way to the root: the size of the weights increases with that of the formula.
            safe = math.log(self.divergence.size(point.q, self.p))
            excess = safe - at
            if abs(excess) <= (ACCURACY if self.accuracy == ACCURACY else ROUGH) or self.passes > self.limit:
                break
            low, high = (max(safe, low), high) if excess > 0.0 else (low, min(safe, high))
            following, furthest = safe, at + stretch * excess
            if before is not None:
                following = at + excess * (before[0] - at) / (excess - before[1]) if before[1] != excess else furthest
                following = min(max(following, min(safe, furthest)), max(safe, furthest))
                stretch *= 2.0 if following == furthest else 1.0
                if not low <= following <= high:
                    following = 0.5 * (low + high) if low < high else safe
            if following == at:
                break
            # The weights at another size are those at another γ, all slopes scaled.
            slopes, theta, nu = point.slopes, point.theta, point.nu
            if self.growth:
                theta, nu = self._moved(theta, nu, self.gamma, math.exp(self.growth * (at - following)))
                slopes = self._slopes(theta, nu)
            before, at, size = (at, excess), following, math.exp(following)
            point = self._climbed(slopes, theta, nu, size)
        return point, size, excess


def _triangular(matrix: Array) -> Array:
    """Return the triangular factor ``R`` with :math:`R^T R = M^T M`."""
    factor: Array = np.asarray(np.linalg.qr(matrix, mode="r"))
    return factor


def _nonnegative(root: Array, nu: Array, slopes: Array, target: Any) -> Array:
    """Return the step to the maximum of a quadratic model over :math:`\\nu \\ge 0`."""
    from scipy.optimize import nnls

    try:
        free = nnls(root, root @ nu + target)[0] > 0.0
    except RuntimeError:
        free = (nu > 0.0) | (slopes > 0.0)
    # Solved once more for the step itself, which may be far smaller than the multipliers.
    step: Array = np.where(free, 0.0, -nu)
    part, rest = _triangular(root[:, free]), slopes - root.T @ (root @ step)
    step[free] = np.linalg.solve(part, np.linalg.solve(part.T, rest[free]))
    return step
