r"""The bound of a given posterior: the largest :math:`\sum_i q_i l_i` over a confidence set of risks.

For convex scores :math:`\psi_i` on :math:`[a_i, b_i]` (zero up to :math:`a_i`, one at :math:`b_i`) it is

.. math:: \min_{\lambda \ge 0} \; \lambda + \sum_i \max_{l} \; [q_i l - \lambda \psi_i(l)],

and every :math:`\lambda` gives a valid bound. With u = 1/λ the maximum is at :math:`\psi_i'(l_i) = q_i u`, and the best
u makes the scores add up to one. A score that is not convex is dropped and its classifier put at the end of its box.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .binomial import EPSILON, tails_at
from .limits import limits
from .scores import Array, Score, Spread, TieSplit

_MOST_STEPS = 200
_INNER_STEPS = 60
#: The dual function is flat at its minimum, and every value of it is a bound.
_CLOSE = 1e-11


def support_function(
    scoring: TieSplit | Spread, errors: NDArray[np.int64], m: int, levels: Array, box: Array, posterior: Array
) -> float:
    """The bound of ``posterior``, rounded up; never above the mean of the box."""
    posterior = normed(posterior)
    corner = mean_of_box(posterior, box)
    counts = errors.astype(np.float64)
    moving = (posterior > 0.0) & (counts < m) & (box < 1.0) & (levels <= scoring.convex_level(counts, float(m)))
    if not moving.any():
        return corner
    # A classifier without errors has a positive score even at risk zero.
    idle = float(levels[~moving & (counts == 0.0)].sum()) * (1.0 - EPSILON * levels.size)
    fixed = float(posterior[~moving] @ box[~moving])
    dual = _Dual(scoring, counts[moving], float(m), levels[moving], box[moving], posterior[moving], idle)
    value = (fixed + dual.minimum()) * (1.0 + 8.0 * EPSILON * (1.0 + np.log2(posterior.size)))
    return min(value, corner)


def normed(posterior: Array) -> Array:
    """The weights with a sum of at least one, from weights that may sum to a little less."""
    return posterior / min(float(posterior.sum()), 1.0)


def mean_of_box(posterior: Array, box: Array) -> float:
    """The risk of a posterior at the largest risks of all classifiers, rounded up."""
    return min(float(posterior @ box) * (1.0 + 8.0 * EPSILON * (1.0 + np.log2(posterior.size))), 1.0)


class _Dual:
    """The dual function of the classifiers that move inside their boxes."""

    def __init__(
        self, scoring: TieSplit | Spread, k: Array, m: float, levels: Array, box: Array, q: Array, idle: float
    ) -> None:
        self.scoring, self.k, self.m, self.levels, self.q = scoring, k, m, levels, q
        self.high = box
        reach = np.minimum(levels * scoring.scale, 0.5)
        self.low = np.where(k == 0.0, 0.0, limits(np.maximum(k - 1.0, 0.0), np.full(k.size, m), reach))
        self.low = np.minimum(self.low, self.high)
        #: What the scores of these classifiers may add up to.
        self.budget = 1.0 - idle
        self.end_slopes = self.score(self.low).slope, self.score(self.high).slope

    def score(self, l: Array) -> Score:
        return self.scoring.score(tails_at(self.k, self.m, l), self.k, self.m, l, self.levels)

    def minimum(self) -> float:
        """Newton's method for the logarithm of u, kept inside a bracket; the best value on the way."""
        below = float(np.log((self.end_slopes[0] / self.q).min())) - 1.0
        above = float(np.log((self.end_slopes[1] / self.q).max())) + 1.0
        middle, l, best = 0.5 * (below + above), 0.5 * (self.low + self.high), np.inf
        for _ in range(_MOST_STEPS):
            price = float(np.exp(-middle))
            l, score = self._maximiser(price, l)
            best = min(best, self._value(price, l, score))
            excess = float(score.value.sum()) - self.budget
            if abs(excess) < _CLOSE or above - below < _CLOSE:
                break
            below, above = (below, middle) if excess > 0.0 else (middle, above)
            inside = (l > self.low) & (l < self.high)
            growth = float((score.slope[inside] ** 2 / score.bend[inside]).sum())
            middle = middle - excess / growth if growth > 0.0 else np.inf
            if not below < middle < above:
                middle = 0.5 * (below + above)
        return best

    def _maximiser(self, price: float, l: Array) -> tuple[Array, Score]:
        """Where q l - price * score is largest, from a guess; :meth:`_value` pays for what may be missing."""
        low, high, target = self.low, self.high, self.q / price
        l = np.where((l > low) & (l < high), l, 0.5 * (low + high))
        l = np.where(target <= self.end_slopes[0], low, np.where(target >= self.end_slopes[1], high, l))
        for _ in range(_INNER_STEPS):
            score = self.score(l)
            gap = target - score.slope
            moves = (l > self.low) & (l < self.high)
            if np.all((np.abs(gap) <= _CLOSE * target) | (high - low <= 4.0 * EPSILON * high) | ~moves):
                break
            low, high = np.where(moves & (gap > 0.0), l, low), np.where(moves & (gap <= 0.0), l, high)
            # For the slope's logarithm, since without errors the slope grows exponentially.
            with np.errstate(divide="ignore", invalid="ignore"):
                newton = l + np.log(target / score.slope) * score.slope / score.bend
            middle = np.where((newton > low) & (newton < high), newton, 0.5 * (low + high))
            l = np.where(moves, middle, l)
        return l, score

    def _value(self, price: float, l: Array, score: Score) -> float:
        """The dual function, from above: a concave function lies below its tangent."""
        gap = self.q - price * score.slope
        slack = price * score.slope_rounding
        missing = np.maximum((gap + slack) * (self.high - l), (gap - slack) * (self.low - l))
        gains = self.q * l - price * (score.value - score.rounding) + np.maximum(missing, 0.0)
        # ``low`` is rounded up: below, where the score is zero, there is a price of nothing, too.
        gains = np.where(self.k == 0.0, gains, np.maximum(gains, self.q * self.low))
        return price * self.budget + float(gains.sum())
