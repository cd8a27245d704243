r"""The bound of a given posterior: the largest :math:`\sum_i q_i l_i` over a confidence set of risks.

:mod:`pacb_models.numerics.confidence_sets` has the theorem. Here a score is zero up to :math:`a_i`, convex up to
:math:`b_i`, the end of its box, and one there. A score that is not convex is dropped and its classifier put at the end.
"""

import numpy as np
from numpy.typing import NDArray

from ..numerics.confidence_sets import Evaluated, largest_average
from ..numerics.elementwise import Array
from ..numerics.rounding import EPSILON
from .binomial import tails_at
from .limits import upper_limits
from .scores import Spread, TieSplit


def support_function(
    scoring: TieSplit | Spread, errors: NDArray[np.int64], m: int, levels: Array, box: Array, posterior: Array
) -> float:
    """Return the bound of ``posterior``, rounded up; never above the mean of the box."""
    posterior = normed(posterior)
    corner = mean_of_box(posterior, box)
    counts = errors.astype(np.float64)
    inside = (posterior > 0.0) & (counts < m) & (box < 1.0)
    begin = np.zeros(counts.size)
    some = inside & (counts > 0.0)
    reach = np.minimum(levels[some] * scoring.scale, 0.5)
    first = np.minimum(upper_limits(counts[some] - 1.0, np.full(reach.size, float(m)), reach), box[some])
    begin[some] = first + scoring.lead * (box[some] - first)
    moving = inside.copy()
    moving[inside] = levels[inside] <= scoring.convex_level(counts[inside], float(m))
    if not moving.any():
        return corner
    # A classifier without errors has a positive score even at risk zero.
    idle = float(levels[~moving & (counts == 0.0)].sum()) * (1.0 - EPSILON * levels.size)
    at_box = float(posterior[~moving] @ box[~moving])
    terms = _Terms(scoring, counts[moving], float(m), levels[moving], begin[moving], box[moving])
    bound, _ = largest_average(terms, posterior[moving], idle, *terms.start(posterior[moving], 1.0 - idle))
    return min((at_box + bound) * (1.0 + 8.0 * EPSILON * (1.0 + np.log2(posterior.size))), corner)


def normed(posterior: Array) -> Array:
    """Return the weights with a sum of at least one, from weights that may sum to a little less."""
    return posterior / min(float(posterior.sum()), 1.0)


def mean_of_box(posterior: Array, box: Array) -> float:
    """Return the risk of a posterior at the largest risks of all classifiers, rounded up."""
    return min(float(posterior @ box) * (1.0 + 8.0 * EPSILON * (1.0 + np.log2(posterior.size))), 1.0)


class _Terms:
    """The scores of classifiers that move inside their boxes.

    A coordinate is ln(s + c), s the share of the way from a to b, measured by ln(1 - l), in which scores without errors
    are exponentials. Where slopes start from nearly zero c is as small, so that they are exponentials, too.
    """

    def __init__(self, scoring: TieSplit | Spread, k: Array, m: float, levels: Array, begin: Array, box: Array) -> None:
        self.scoring, self.k, self.m, self.levels, self.box = scoring, k, m, levels, box
        self.width = box - begin
        self.first = np.log1p(-begin)
        self.way = np.log1p(-box) - self.first
        self.shift = np.where((k > 0.0) & (scoring.lead > 0.0), scoring.lead, 1.0)
        self.low, self.high = np.log(self.shift), np.log1p(self.shift)
        every = np.arange(k.size)
        # The beginning is rounded up: below, where the score is zero, there is a price of nothing, too.
        value = np.where(k > 0.0, -300.0, np.log(levels))
        self.resting = self._scores(begin, self.shift, every)._replace(log_value=value)

    def evaluate(self, z: Array) -> Evaluated:
        """Return the scores; nothing has to be computed of those that rest."""
        at, moved = Evaluated(*(part.copy() for part in self.resting)), (z > self.low).nonzero()[0]
        if moved.size:
            total = np.exp(z[moved])
            share = np.where(z[moved] < self.high[moved], total - self.shift[moved], 2.0)
            l = np.minimum(-np.expm1(self.first[moved] + share * self.way[moved]), self.box[moved])
            for part, new in zip(at, self._scores(l, total, moved), strict=True):
                part[moved] = new
        return at

    def _scores(self, l: Array, pace: Array, index: NDArray[np.intp]) -> Evaluated:
        """Return scores at risks; ``pace`` is the derivative of the share in the coordinate."""
        k = self.k[index]
        score = self.scoring.score(tails_at(k, self.m, l), k, self.m, l, self.levels[index])
        value, slope = np.maximum(score.value, score.rounding), np.maximum(score.slope, score.slope_rounding)
        growth = pace * self.way[index] * (l - 1.0)
        steepness = np.maximum(score.bend / slope * growth, 1e-12)
        roundings = score.rounding / value, score.slope_rounding / slope
        return Evaluated(l, growth, np.log(value), np.log(slope), steepness, *roundings)

    def start(self, q: Array, budget: float) -> tuple[float, Array]:
        """Begin as if every score rose with the logarithm of its slope in a straight line, from one end to the
        other."""
        last = np.log((self.m - self.k) / (1.0 - self.box) / self.scoring.scale / q)
        # The slope rises by no more than a factor of e^5.
        first = np.clip(self.resting.log_slope - np.log(q), last - 5.0, last - 1e-9)
        points, rise = np.concatenate([first, last]), 1.0 / (last - first)
        order = points.argsort()
        points, pace = points[order], np.cumsum(np.concatenate([rise, -rise])[order])
        sums = np.concatenate([[0.0], np.cumsum(pace[:-1] * np.diff(points))])
        price = float(np.interp(budget, sums, points))
        return price, np.log(np.clip((price - first) * rise, 0.0, 1.0) + self.shift)
