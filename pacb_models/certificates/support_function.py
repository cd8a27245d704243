r"""The bound of a given posterior: the largest :math:`\sum_i q_i l_i` over a confidence set of risks.

:mod:`pacb_models.numerics.support_function` has the theorem. Here a score is zero up to :math:`a_i`, convex up to
:math:`b_i`, the end of its box, and one there. A score that is not convex is dropped and its classifier put at the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.support_function import Look
from ..numerics.support_function import support_function as largest_average
from .binomial import EPSILON, tails_at
from .limits import limits
from .scores import Array, Spread, TieSplit

#: Logarithms: of a score of zero, of a share of the way at which a slope that starts from zero is known, of its rise.
_NOTHING, _LEAST, _STEEP = -300.0, -18.0, 5.0
_FLAT = 1e-12


def support_function(
    scoring: TieSplit | Spread, errors: NDArray[np.int64], m: int, levels: Array, box: Array, posterior: Array
) -> float:
    """The bound of ``posterior``, rounded up; never above the mean of the box."""
    posterior = normed(posterior)
    corner = mean_of_box(posterior, box)
    counts = errors.astype(np.float64)
    inside = (posterior > 0.0) & (counts < m) & (box < 1.0)
    begin = np.zeros(counts.size)
    some = inside & (counts > 0.0)
    reach = np.minimum(levels[some] * scoring.scale, 0.5)
    begin[some] = np.minimum(limits(counts[some] - 1.0, np.full(reach.size, float(m)), reach), box[some])
    moving = inside & scoring.convex_from(begin, counts, float(m))
    if not moving.any():
        return corner
    # A classifier without errors has a positive score even at risk zero.
    idle = float(levels[~moving & (counts == 0.0)].sum()) * (1.0 - EPSILON * levels.size)
    fixed = float(posterior[~moving] @ box[~moving])
    terms = _Terms(scoring, counts[moving], float(m), levels[moving], begin[moving], box[moving])
    bound, _ = largest_average(terms, posterior[moving], idle, *terms.start(posterior[moving], 1.0 - idle))
    return min((fixed + bound) * (1.0 + 8.0 * EPSILON * (1.0 + np.log2(posterior.size))), corner)


def normed(posterior: Array) -> Array:
    """The weights with a sum of at least one, from weights that may sum to a little less."""
    return posterior / min(float(posterior.sum()), 1.0)


def mean_of_box(posterior: Array, box: Array) -> float:
    """The risk of a posterior at the largest risks of all classifiers, rounded up."""
    return min(float(posterior @ box) * (1.0 + 8.0 * EPSILON * (1.0 + np.log2(posterior.size))), 1.0)


class _Terms:
    """The scores of classifiers that move inside their boxes.

    A coordinate is the share of the way from a to b, measured by ln(1 - l), in which scores without errors are
    exponentials; its logarithm where the slope starts from zero.
    """

    def __init__(self, scoring: TieSplit | Spread, k: Array, m: float, levels: Array, begin: Array, box: Array) -> None:
        self.scoring, self.k, self.m, self.levels, self.box = scoring, k, m, levels, box
        self.width = box - begin
        self.first = np.log1p(-begin)
        self.way = np.log1p(-box) - self.first
        slopes = scoring.first_slope(begin, k, m, levels)
        self.bent = bent = slopes == 0.0
        self.low, self.high = np.where(bent, _LEAST, 0.0), np.where(bent, 0.0, 1.0)
        # The logarithms of the slopes at both ends, the last one to a few digits.
        last = np.log((m - k) / (1.0 - box) / scoring.scale)
        first = np.log(np.where(bent, np.exp(last - _STEEP), slopes))
        self.slopes = first, np.maximum(last, first + 1e-9)
        # The beginning is rounded up: below, where the score is zero, there is a price of nothing, too.
        value, rounding = np.where(k > 0.0, _NOTHING, np.log(levels)), np.full(k.size, 16.0 * EPSILON)
        parts = begin, self.width, value, first, self.slopes[1] - first, rounding, rounding
        self.resting = Look(*(part.copy() for part in parts))
        if bent.any():
            at = self._moved(self.low[bent], bent.nonzero()[0])
            for part, new in zip(self.resting, at._replace(log_value=self.resting.log_value[bent]), strict=True):
                part[bent] = new

    def look(self, z: Array, which: Any) -> Look:
        """The scores; nothing has to be computed of those that rest."""
        at = Look(*(part[which].copy() for part in self.resting))
        moved = (z > self.low[which]).nonzero()[0]
        if moved.size:
            for part, new in zip(at, self._moved(z[moved], np.arange(self.k.size)[which][moved]), strict=True):
                part[moved] = new
        return at

    def _moved(self, z: Array, index: NDArray[np.intp]) -> Look:
        bent, way, k, levels = self.bent[index], self.way[index], self.k[index], self.levels[index]
        share = np.where(bent, np.exp(z), z)
        l = np.minimum(-np.expm1(self.first[index] + np.where(share < 1.0, share, 2.0) * way), self.box[index])
        score = self.scoring.score(tails_at(k, self.m, l), k, self.m, l, levels)
        value, slope = np.maximum(score.value, score.rounding), np.maximum(score.slope, score.slope_rounding)
        growth = np.where(bent, share, 1.0) * way * (l - 1.0)
        steepness = np.maximum(score.bend / slope * growth, _FLAT)
        roundings = score.rounding / value, score.slope_rounding / slope
        return Look(l, growth, np.log(value), np.log(slope), steepness, *roundings)

    def start(self, q: Array, budget: float) -> tuple[float, Array]:
        """As if every score rose with the logarithm of its slope in a straight line, from one end to the other."""
        first, last = (slope - np.log(q) for slope in self.slopes)
        rise = 1.0 / (last - first)
        points, changes = np.concatenate([first, last]), np.concatenate([rise, -rise])
        order = points.argsort()
        points = points[order]
        sums = np.concatenate([[0.0], np.cumsum(np.cumsum(changes[order])[:-1] * np.diff(points))])
        price = float(np.interp(budget, sums, points))
        share = np.clip((price - first) * rise, 0.0, 1.0)
        with np.errstate(divide="ignore"):
            return price, np.where(self.bent, np.maximum(np.log(share), _LEAST), share)
