r"""Bounds from a confidence set of risks: the smallest of all, and that of a given posterior.

**The smallest of all.** Let the true risks l satisfy :math:`\sum_i G_i(l_i) \le 1` with convex, non-decreasing
:math:`G_i`, and let t be the risk with :math:`\sum_i G_i(t) = 1`. Then t is the smallest bound of a posterior, that of
:math:`q_i = G_i'(t)/S`, :math:`S = \sum_i G_i'(t)`. *Not below*: all risks may be t at once (those that cannot be so
small are larger). *Not above*: :math:`1 \ge \sum_i G_i(l_i) \ge \sum_i G_i(t) + S \sum_i q_i (l_i - t)`, whatever t is,
so that

.. math:: \sum_i q_i l_i \le t + \frac{1 - \sum_i G_i(t)}S .

This right side is what is returned, with the rounding of the sum added to the numerator: it is a bound of the
posterior at t however far from the root t may be, and exceeds the root by the square of that distance.

**The bound of a given posterior** is the largest :math:`\sum_i q_i l_i` over the set. With convex, non-decreasing
:math:`G_i`, zero or not at their lower ends,

.. math:: \max_l \Big\{\sum_i q_i l_i : \sum_i G_i(l_i) \le 1\Big\}
          = \min_{\lambda \ge 0}\ \lambda + \sum_i \max_l\,[q_i l - \lambda G_i(l)].

At the maximum :math:`q_i = \lambda G_i'(l_i)`, or the risk is at an end of its range. Every λ gives a bound: what is
returned is a value of the right side. Errors in λ and in the risks change it in second order only, and what a risk may
miss of its maximum is added, together with all rounding.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .elementwise import Array
from .rounding import EPSILON

#: Logarithms that are off by less change the bound by their square.
_CLOSE = 1e-8
#: Logarithms and coordinates that are off by less are left to the common Newton step.
_NEAR = 0.3
_SHORT = 4.0


class Total(NamedTuple):
    """The logarithm of the sum at a common risk and its first two derivatives; ``error`` is what it may be off by,
    together with what the rounding of the slopes is worth."""

    value: float
    slope: float
    bend: float
    error: float


class Root(NamedTuple):
    """The common risk, enclosed: ``low`` is not above it, ``high`` not below it."""

    low: float
    high: float
    #: How many times the sum was evaluated.
    evaluations: int


def common_root(total_at: Callable[[float], Total], left: float, right: float, close: float) -> Root:
    """Return the root between ``left`` and ``right``, by Halley's method for the sum's logarithm from ``right``.

    Powers and exponentials, of which the sums consist, become nearly straight by it. It ends where the logarithm is
    below ``close``, or below its rounding; the last call of ``total_at`` is at the t that the bound belongs to.
    """
    t = right
    for count in itertools.count(1):
        at = total_at(t)
        left, right = (left, t) if at.value >= 0.0 else (t, right)
        noise = max(at.error, 4.0 * EPSILON * t * at.slope)
        if abs(at.value) <= max(close, noise) or right - left <= 4.0 * EPSILON * right or count == 200:
            break
        step = math.nan
        if at.slope > 0.0:
            newton = -at.value / at.slope
            step = newton / max(1.0 + 0.5 * newton * at.bend / at.slope, 0.5)
        # Rounding and curvature may lead astray.
        t = t + step if left < t + step < right else 0.5 * (left + right)
    if not at.slope > 0.0:
        return Root(left, math.inf, count)
    error = at.error + 4.0 * EPSILON  # with that of the logarithm and of its inverse
    high = t + (math.expm1(-at.value) + error) / at.slope
    # The slope grows with t: to the left a step of the same length removes a little less, so twice the length.
    low = t - 2.0 * (abs(at.value) + error) / at.slope
    return Root(low - 4.0 * EPSILON * t, high + 4.0 * EPSILON * t, count)


class Evaluated(NamedTuple):
    """Risks at their coordinates z, with ln G, ln G' and how G' grows; elementwise."""

    risk: Array
    #: The derivative of the risk in z.
    growth: Any
    log_value: Array
    log_slope: Array
    #: The derivative of ln G' in z.
    steepness: Array
    #: Limits to the relative errors of G and of G'.
    rounding: Any
    slope_rounding: Any


def largest_average(terms: Any, q: Array, spent: float, price: float, z: Array) -> tuple[float, Array]:
    r"""Return the bound, rounded up, and the risks that have it.

    ``terms`` evaluates the :math:`G_i`, each in a coordinate in which :math:`\ln G_i'` is nearly straight:
    ``evaluate(z)`` between ``low`` and ``high``; ``width`` is how long the range of risks is.

    Newton's method finds all risks and :math:`v = \ln(1/\lambda)` together, with :math:`\ln G_i' = \ln q_i + v`.
    ``spent`` is what classifiers without weight take of the sum; ``price`` (v) and ``z`` are where to start.
    """
    log_q = np.log(q)
    low, high, step, astray = -math.inf, math.inf, 0.0, False
    for _ in range(100):
        at, lag, moves = _evaluated(terms, z, log_q + price)
        total = _log_sum(at.log_value, spent)
        settled = _small(lag, at, moves)
        # The logarithm of a sum in which all that counts is yet to come.
        if astray or total < -20.0 or float(np.maximum(np.abs(lag * moves), np.abs(lag)).max()) > _NEAR:
            settled, (z, at, lag, moves) = True, _settled(terms, z, log_q + price)
            total = _log_sum(at.log_value, spent)
        effects = np.exp(at.log_slope - total) * at.growth * moves
        slope = float(effects.sum())
        exhausted = abs(total) <= 4.0 * float((np.exp(at.log_value - total) * at.rounding).sum())
        if slope > 0.0:
            # What is left of larger lags where all is settled is rounding.
            step = (-total - float((effects * lag).sum(where=(np.abs(lag) <= _CLOSE) | (not settled)))) / slope
            if settled and (exhausted or _small(step, at, moves)):
                break
        else:
            # Every risk is at an end of its range: on, in longer and longer steps, to where one leaves it.
            step, settled = math.copysign(max(_SHORT, 2.0 * abs(step)), -total), True
            if exhausted or abs(price) > 1e5:
                break
        if settled:
            low, high = (price, high) if step > 0.0 else (low, price)
        if 0.0 < slope < 0.1:
            # Exponential penalties near one: the tangent is flat and leads too far.
            step = min(max(step, -_SHORT), _SHORT)
        astray = not low < price + step < high
        if astray:
            step = 0.5 * (low + high) - price if math.isfinite(low + high) else 0.5 * step
        z = np.clip(z + (lag + step) * moves, terms.low, terms.high)
        price += step
    else:
        step, (z, at, lag, moves) = 0.0, _settled(terms, z, log_q + price)
    return _value(at, q, lag, moves, terms.width, price, spent), at.risk + at.growth * moves * (lag + step)


def _value(at: Evaluated, q: Array, lag: Array, moves: Array, width: Any, price: float, spent: float) -> float:
    """Return the dual function, from above. q l - λ G is concave in l: from here it rises by no more than its slope
    times the way to its maximum, which is at most twice that of a Newton step, and within the range."""
    # The logarithm of numbers that are as good as infinite
    if price < -700.0 or not np.isfinite(at.risk).all():
        return math.inf
    off = np.abs(lag) + at.slope_rounding
    way = np.where(off <= _NEAR, 2.0 * off * moves * at.growth, np.inf)
    rise = q * (np.abs(np.expm1(-lag)) + at.slope_rounding * np.exp(-lag))
    missing = rise * np.minimum(way, width)
    average, shares = q * at.risk, np.exp(at.log_value - price)
    share = math.exp(-price)
    value = float((average - shares * (1.0 - at.rounding) + missing).sum()) + share * (1.0 - spent)
    rounded = float(np.abs(average).sum()) + float(shares.sum()) + share
    return value + EPSILON * (8.0 + math.log2(q.size)) * rounded


def _evaluated(terms: Any, z: Array, wanted: Array) -> tuple[Evaluated, Array, Array]:
    """Return the terms, how far each ln G' is from where it should be, and dz/d(ln G'); both zero for risks at an
    end."""
    at = terms.evaluate(z)
    lag, moves = wanted - at.log_slope, 1.0 / at.steepness
    stuck = ((z <= terms.low) & (lag <= 0.0)) | ((z >= terms.high) & (lag >= 0.0))
    if stuck.any():
        lag, moves = np.where(stuck, 0.0, lag), np.where(stuck, 0.0, moves)
    return at, np.where(np.abs(lag) <= at.slope_rounding, 0.0, lag), moves


def _small(change: Any, at: Evaluated, moves: Array) -> bool:
    """Return whether changes of ln G' are too small to matter, or to show in the risks."""
    way = np.abs(change * moves)
    hidden = (way <= _NEAR) & (way * at.growth <= 4.0 * EPSILON * np.abs(at.risk))
    return bool(((np.abs(change) <= _CLOSE) | hidden).all())


def _log_sum(logarithms: Array, rest: float) -> float:
    """Return the logarithm of a sum of exponentials and a rest."""
    shift = float(logarithms.max())
    return shift + math.log(float(np.exp(logarithms - shift).sum()) + (rest * math.exp(-shift) if rest else 0.0))


def _settled(terms: Any, z: Array, wanted: Array) -> tuple[Array, Evaluated, Array, Array]:
    """Return where each ln G' has what is wanted, by Newton's method with the bisections that it may need."""
    low, high, before = (np.full_like(z, end) for end in (-np.inf, np.inf, np.inf))
    for _ in range(200):
        at, lag, moves = _evaluated(terms, z, wanted)
        if _small(lag, at, moves):
            break
        low, high = np.where(lag > 0.0, z, low), np.where(lag < 0.0, z, high)
        new = np.clip(z + lag * moves, terms.low, terms.high)
        # From above, the steps of Newton's method are all of the same length where ln G' is an exponential.
        slow, bracketed = np.abs(lag) > 0.5 * before, np.isfinite(low) & np.isfinite(high)
        new = np.where(slow, np.where(lag > 0.0, terms.high, terms.low), new)
        with np.errstate(invalid="ignore"):
            middle = 0.5 * (low + high)
        new = np.where(bracketed & (slow | (new <= low) | (new >= high)) & (lag != 0.0), middle, new)
        if (new == z).all():
            break
        z, before = new, np.abs(lag)
    return z, at, lag, moves
