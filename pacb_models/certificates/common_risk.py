r"""The smallest bound that a confidence set of risks gives any posterior.

The scores of the true risks add up to less than one; :mod:`pacb_models.numerics.common_risk` has the theorem. A score
jumps to infinity at the end of its classifier's box, which no true risk exceeds: the common risk is never above the
smallest box.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..numerics.common_risk import Total
from ..numerics.common_risk import common_root as root
from ..numerics.elementwise import Array
from .binomial import Tail, tails_at
from .scores import Spread, TieSplit

_NOTHING = Total(-math.inf, 0.0, 0.0, 0.0)


class SmallestBound(NamedTuple):
    """The bound, the items with weight and their weights; the best item alone; whether every score was convex."""

    bound: float
    chosen: NDArray[np.intp]
    weights: Array
    single: int
    single_bound: float
    convex: bool


def common_risk(scoring: TieSplit | Spread, errors: NDArray[np.int64], m: int, levels: Array) -> SmallestBound:
    """Solve sum of scores = 1 for classifiers with ``errors`` and ``levels``.

    Those whose score is not convex at their level are left out of the sum, which only shrinks it.
    """
    keys, group = _grouped(errors, m)
    best = np.zeros(keys.size)
    np.maximum.at(best, group, levels)
    winner, box = _best_single(scoring, keys, best, float(m))
    single = int(((group == winner) & (levels == best[winner])).argmax())
    alone = SmallestBound(box, np.array([single]), np.ones(1), single, box, True)
    if box >= 1.0:
        return alone
    # The counts that occur and have a lower tail.
    near = (best[: int(keys.searchsorted(min(m, m * box + 1.0)))] > 0.0).nonzero()[0]
    at = tails_at(keys[near], float(m), box)
    least = np.full(keys.size, np.inf)
    least[near] = _positive_from(scoring, at)
    # At equal levels the score of one error more is zero here, and would be positive by rounding.
    reached = (levels * (1.0 - 1e-9) > least[group]).nonzero()[0]
    if reached.size <= 1:
        return alone
    places = near.searchsorted(group[reached])
    near = near[: int(places.max()) + 1]
    convex = levels[reached] <= scoring.convex_level(keys[near], float(m))[places]
    if not convex.all():
        alone, reached, places = alone._replace(convex=False), reached[convex], places[convex]
    if not reached.size:
        return alone
    sums = _Sums(scoring, keys[near], float(m), places, reached, levels[reached])
    bound = root(sums, 0.0, box, 1e-7).high  # it is off by the square of that
    return alone if bound >= box else alone._replace(bound=bound, chosen=sums.chosen, weights=sums.weights)


def _grouped(errors: NDArray[np.int64], m: int) -> tuple[Array, NDArray[np.intp]]:
    """Distinct counts, and each item's place among them; every count up to m where that is the shorter way."""
    if m <= 4 * errors.size + 1000:
        return np.arange(m + 1.0), errors
    keys, group = np.unique(errors, return_inverse=True)
    return keys.astype(np.float64), group


def _best_single(scoring: TieSplit | Spread, keys: Array, best: Array, m: float) -> tuple[int, float]:
    """The count with the smallest box at its ``best`` level, and that box.

    Only counts with a larger level than every smaller count can have it.
    """
    ends = int(keys.searchsorted(m))
    record = best[:ends] > 0.0
    record[1:] &= best[1:ends] > np.maximum.accumulate(best[:ends])[:-1]
    records = record.nonzero()[0]
    if not records.size:
        return int(best.argmax()), 1.0
    boxes = scoring.box(keys[records], m, best[records])
    return int(records[boxes.argmin()]), float(boxes.min())


def _positive_from(scoring: TieSplit | Spread, at: Tail) -> Array:
    """The levels above which scores are positive."""
    return at.below * np.exp(at.log_mass) / scoring.scale


@dataclass
class _Sums:
    """The sum of the scores at a common risk; keeps which items have a positive score there, and their weights."""

    scoring: TieSplit | Spread
    keys: Array
    m: float
    group: NDArray[np.intp]
    items: NDArray[np.intp]
    levels: Array

    def __call__(self, t: float) -> Total:
        at = _tails(self.keys, self.m, t)
        inside = (self.levels > _positive_from(self.scoring, at)[self.group]).nonzero()[0]
        if not inside.size:
            return _NOTHING
        group, levels = self.group[inside], self.levels[inside]
        self.chosen = self.items[inside]
        score = self.scoring.score(Tail(*(part[group] for part in at)), self.keys[group], self.m, t, levels)
        value, slope, bend = float(score.value.sum()), float(score.slope.sum()), float(score.bend.sum())
        if value <= 0.0:  # by rounding
            return _NOTHING
        # A score is between zero and one: a slope s that is off is so over a distance of t, or 1/s, at most.
        error = float((score.rounding + score.slope_rounding * np.maximum(t, 1.0 / score.slope)).sum())
        self.weights = score.slope / slope
        relative = slope / value
        return Total(math.log(value), relative, bend / value - relative * relative, error / value)


def _tails(keys: Array, m: float, l: float) -> Tail:
    """The tails of ascending counts at one risk; P(B < k) is infinite where k - 1 >= m l."""
    if keys[-1] - 1.0 < m * l:
        return tails_at(keys, m, l)
    lower = keys - 1.0 < m * l
    at = tails_at(np.where(lower, keys, 0.0), m, l)
    return at._replace(log_mass=np.where(lower, at.log_mass, 0.0), below=np.where(lower, at.below, np.inf))
