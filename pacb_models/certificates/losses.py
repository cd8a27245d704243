r"""Losses between 0 and 1 that are no errors: a p-value from the sum of losses.

A sum S of m independent losses in [0, 1] with mean l is below B ~ Binomial(m, l) in the convex order (Hoeffding 1963):
:math:`E f(S) \le E f(B)` for convex f. With :math:`f(x) = (c - x)_+` and Markov's inequality, for every c > s,

.. math:: P(S \le s) \le \frac{E(c - S)_+}{c - s} \le \frac{E_l(c - B)_+}{c - s} =: p_c(s, l).

The smallest over c is non-decreasing in s and non-increasing in l, hence a p-value, and the risk at which it falls to a
level e is an upper confidence limit at that level (Bentkus 2004). Between integers :math:`p_c` is monotone in c, so
integers do. With f = P(B = c - 1) and R = P(B < c)/f, de Moivre's identity gives
:math:`E(c - B)_+ = f [(m - c + 1) l - (m l - c) R]`.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..immutable import read_only
from ..numerics.binary_kl import kl_inverse
from ..numerics.elementwise import Array
from ..numerics.inner import pieces
from ..numerics.rounding import EPSILON
from .binomial import TAILS_AT_ONCE, Tail, tails_at
from .certificate import Certificate
from .support_function import mean_of_box, normed


def loss_limits(sums: Array, m: int, levels: Array) -> Array:
    """Upper confidence limits for the mean losses behind sums of m losses, rounded up."""
    result = np.empty(sums.size)
    for block in pieces(sums.size, TAILS_AT_ONCE):
        result[block] = _block(sums[block] * (1.0 + 4.0 * EPSILON), float(m), levels[block])
    return result


def _block(s: Array, m: float, e: Array) -> Array:
    # Chernoff's limit holds for such sums too: where to start, and what is left where no better c exists.
    with np.errstate(divide="ignore"):
        budget = -np.log(e) / m * (1.0 + 2.0 * EPSILON)
    limits = np.asarray(kl_inverse(np.minimum(s / m * (1.0 + EPSILON), 1.0), budget))
    active = np.flatnonzero((limits < 1.0) & (np.floor(s) <= m * limits))
    knots = np.zeros(s.size)
    while active.size:
        c = _best_knot(s[active], m, limits[active])
        limits[active] = _limit(s[active], m, e[active], c, limits[active])
        moved = c != knots[active]
        knots[active] = c
        active = active[moved]
    return np.minimum(limits * (1.0 + 4.0 * EPSILON), 1.0)


def _shortfall(at: Tail, c: Array, m: float, l: Array) -> Array:
    """E(c - B)_+ / P(B = c - 1)."""
    return (m - c + 1.0) * l - (m * l - c) * (1.0 + at.below)


def _best_knot(s: Array, m: float, l: Array) -> Array:
    """The integer c in (s, m l + 1] with the smallest p_c, quasi-convex in c: the first where one more is no help."""
    low, high = np.floor(s) + 1.0, np.maximum(np.minimum(np.floor(m * l) + 1.0, m), np.floor(s) + 1.0)
    while np.any(low < high):
        c = np.floor(0.5 * (low + high))
        at = tails_at(c - 1.0, m, l)
        next_tail = 1.0 + at.below + (m - c + 1.0) * l / (c * (1.0 - l))
        enough = next_tail * (c - s) >= _shortfall(at, c, m, l)
        low, high = np.where(enough, low, c + 1.0), np.where(enough, c, high)
    return low


def _limit(s: Array, m: float, e: Array, c: Array, high: Array) -> Array:
    """The root of p_c(s, l) = e by bisection below ``high``; its upper end, where p_c is at most e beyond rounding."""
    target = np.log(e) + np.log(c - s)
    low = np.minimum(np.maximum(s, c - 1.0) / m, high)
    for _ in range(100):
        l = 0.5 * (low + high)
        at = tails_at(c - 1.0, m, l)
        shortfall = _shortfall(at, c, m, l)
        lost = 4.0 * (at.rounding + 4.0 * EPSILON) * (1.0 + (m - c + 1.0) * l / shortfall)
        enough = at.log_mass + np.log(shortfall) + lost <= target
        low, high = np.where(enough, low, l), np.where(enough, l, high)
        if np.all(high - low <= 4.0 * EPSILON * high):
            break
    return high


class LossCertificate(Certificate):
    """From losses: a limit for each mean loss at the level delta p_i. Ties have nothing to share here."""

    claim = "has an expected loss of"
    counted = "sum of losses"

    def _bound_of(self, posterior: Array) -> float:
        """The mean of the limits."""
        return mean_of_box(normed(posterior), self.single_bounds)


class LossSumCertificate(LossCertificate):
    """From sums of losses."""

    method = "losses in [0, 1]"

    @cached_property
    def single(self) -> int:
        """The smallest sum of losses; with a prior, the smallest limit."""
        return int(np.argmin(self.errors if self._prior is None else self.single_bounds))

    @cached_property
    def single_bound(self) -> float:
        """The smallest limit, the only one that is computed for it when the prior is uniform."""
        best = [self.single]
        if self._prior is None:
            return float(loss_limits(self.errors[best], self.m, self.levels[best])[0])
        return float(self.single_bounds[self.single])

    @cached_property
    def single_bounds(self) -> Array:
        return read_only(loss_limits(self.errors, self.m, self.levels))
