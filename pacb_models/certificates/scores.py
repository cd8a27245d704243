r"""The scores of a confidence set of risks: convex functions of each risk that must not add up to one.

Let :math:`g(k, l) \ge 0` have mean at most one under Binomial(m, l), whatever l. By Markov's inequality the true risks
satisfy :math:`\sum_i p_i g(k_i, l_i) < 1/\delta` with probability at least :math:`1-\delta`, however the classifiers'
errors depend on each other. A score is :math:`\delta p_i g(k_i, l_i)`. The two here have mean exactly
:math:`e = \delta p_i`, the level of the classifier: they are averages over U of functions of
:math:`P_U = P_l(B < k) + U P_l(B = k)`, which is uniformly distributed when U is.

In the derivatives Q is P(B < k)/P(B = k), A is k/l, and B is (m - k)/(1 - l); dQ/dl = Q (B - A) - A.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..numerics.elementwise import Array, Numbers
from ..numerics.rounding import EPSILON
from .binomial import Tail, tail, tails_at
from .limits import upper_limits

_SMALLEST = 1e-300  # stands for risk 0, which only classifiers without errors can have, where it divides 0


class Score(NamedTuple):
    """Scores, their first two derivatives with respect to the risk, and limits to the rounding of the first two."""

    value: Array
    slope: Array
    bend: Array
    rounding: Array
    slope_rounding: Array


def level_of_convexity(k: Numbers, m: Numbers, lib: Any) -> Numbers:
    """Return P(B < k) at the risk (k + 1)/(m + 1), rounded down, for 0 < k < m."""
    at = tail(k, m, (k + 1.0) / (m + 1.0), (m - k) / (m + 1.0), lib)
    return at.below * lib.exp(at.log_mass - 2.0 * at.rounding)


class TieSplit:
    r"""The rejection probability of the randomised test of Clopper and Pearson,

    .. math:: \psi(l) = \frac{e - P_l(B < k)}{P_l(B = k)}, \quad \text{kept between 0 and 1}.

    It is one from CP(k; e) on, where a classifier alone is rejected: the set lies in Bonferroni's box. Inside,
    :math:`\psi' = (1-\psi) A + \psi B`, and :math:`\psi''` is linear in :math:`\psi` and not negative at both ends
    where (m + 1) l >= k + 1.
    """

    #: The score is positive where P(B < k) is below ``scale`` times the level.
    scale = 1.0
    #: On this share of the way to the box the slope, which starts from zero, is too small to be computed.
    lead = 0.0

    def score(self, at: Tail, k: Array, m: float, l: Numbers, level: Array) -> Score:
        """Return the score where it is positive and the risk not beyond :meth:`box`."""
        l = np.maximum(l, _SMALLEST)
        a, b = k / l, (m - k) / (1.0 - l)
        gap = b - a
        whole = level * np.exp(-at.log_mass)
        value = whole - at.below
        slope = a + value * gap
        bend = value * (b / (1.0 - l) + a / l) - a / l + slope * gap
        rounding = (whole + at.below) * (at.rounding + 4.0 * EPSILON)
        return Score(value, slope, bend, rounding, rounding * np.abs(gap) + 8.0 * EPSILON * slope)

    def box(self, k: Array, m: float, level: Array) -> Array:
        """Return the risk at which the score of a classifier alone is one, rounded up: Clopper and Pearson's limit."""
        return upper_limits(k, np.full(k.size, m), level)

    def convex_level(self, k: Array, m: float) -> Array:
        """Return the level up to which the score is convex: P(B < k) at (k + 1)/(m + 1), so that it is zero up to
        there.

        Without errors the score is e/(1 - l)^m, always convex; with nothing but errors it is concave.
        """
        size = max(m, 2.0)
        level = level_of_convexity(np.clip(k, 1.0, size - 1.0), np.full(k.size, size), np)
        return np.where(k == 0.0, 1.0, np.where(k == m, 0.0, level))


class Spread:
    r"""A score that grows with the logarithm of :math:`P_U`, for many classifiers that are nearly as good as the best,

    .. math:: e^{-d} \int_0^1 \bigl(\ln(e^d e) - \ln P_U\bigr)_+ dU.

    The mean of :math:`(c' - \ln P)_+` for uniform P is :math:`e^{c'}` where c' <= 0, so its own is e. The integrand is
    convex in l, since :math:`P_U` is a logarithmically concave function of it, and so is the integral:
    :math:`e^{-d} (u y + u - Q \ln(1 + u/Q))`, where u is the share of U with a positive integrand, y its value there.
    """

    lead = 1e-8

    def __init__(self, spread: float) -> None:
        self.spread = spread
        self.scale = math.exp(spread)

    def score(self, at: Tail, k: Array, m: float, l: Numbers, level: Array) -> Score:
        """Do as :class:`TieSplit` does."""
        l = np.maximum(l, _SMALLEST)
        a, b = k / l, (m - k) / (1.0 - l)
        q = np.maximum(at.below, 1e-300)
        # Far inside the box the logarithm alone is in the range of numbers.
        log_reached = self.spread + np.log(level) - at.log_mass
        reached = np.exp(np.minimum(log_reached, 700.0))
        share = np.clip(reached - at.below, 0.0, 1.0)
        whole = share >= 1.0
        height = np.where(whole, log_reached - np.log(q + 1.0), 0.0)
        log_ratio = np.log1p(share / q)
        rest = share - at.below * log_ratio
        q_slope = at.below * (b - a) - a
        share_slope = np.where(whole, 0.0, a + share * (b - a))
        ratio_slope = (share_slope + q_slope) / (share + q) - np.where(k == 0.0, 0.0, q_slope / q)
        rest_slope = share_slope - q_slope * log_ratio - at.below * ratio_slope
        log_ratio = np.where(k == 0.0, 0.0, log_ratio)
        slope = a * log_ratio + (b - a) * rest
        bend = a * (ratio_slope - log_ratio / l) + (b - a) * rest_slope + (b / (1.0 - l) + a / l) * rest
        rounding = (1.0 + height) * (np.minimum(reached, at.below + 1.0) + at.below) * (at.rounding + 8.0 * EPSILON)
        parts = height + rest, slope, bend, rounding, rounding * (a + b) + 8.0 * EPSILON * slope
        return Score(*(part / self.scale for part in parts))

    def box(self, k: Array, m: float, level: Array) -> Array:
        """Do as :class:`TieSplit` does; a root by Newton's method, from beyond it."""
        box = np.ones(k.size)
        with np.errstate(divide="ignore"):
            exponent = np.log(level) + self.spread - self.scale
        without = k == 0.0
        box[without] = np.minimum(-np.expm1((exponent[without] + 1.0) / m) * (1.0 + 8.0 * EPSILON), 1.0)
        # P_U <= P(B <= k) everywhere: beyond this limit the integral is larger than exp(spread).
        between = np.flatnonzero(~without & (k < m) & (exponent > -700.0))
        start = upper_limits(k[between], np.full(between.size, m), np.exp(exponent[between]))
        # Next to one there is no room for a step.
        between, start = between[start < 1.0 - 4.0 * EPSILON], start[start < 1.0 - 4.0 * EPSILON]
        k, level, l = k[between], level[between], start
        for _ in range(100):
            inside = np.minimum(l, 1.0 - EPSILON)
            at = self.score(tails_at(k, m, inside), k, m, inside, level)
            new = np.minimum(l, inside + (1.0 - at.value + at.rounding) / at.slope)
            if np.all(l - new <= 4.0 * EPSILON * l):
                break
            l = new
        box[between] = np.minimum(l * (1.0 + 8.0 * EPSILON), 1.0)
        return box

    def convex_level(self, k: Array, m: float) -> Array:
        """Return one for each: the score is convex at every level."""
        return np.ones(k.size)
