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
from .binomial import Tail, stacked, tail_of_one, tails_at
from .scores import Spread, TieSplit

_NOTHING = Total(-math.inf, 0.0, 0.0, 0.0)
_FEW = 11  # tails that are computed one by one, as far as they are needed


class SmallestBound(NamedTuple):
    """The bound, the items with weight and their weights; the best item alone; whether every score was convex."""

    bound: float
    chosen: NDArray[np.intp]
    weights: Array
    single: int
    single_bound: float
    convex: bool


def common_risk(
    scoring: TieSplit | Spread, errors: NDArray[np.int64], m: int, levels: Array, multiplicity: Array | None = None
) -> SmallestBound:
    """Solve sum of scores = 1 for items with ``errors`` and ``levels``, each standing for ``multiplicity`` classifiers.

    Items whose score is not convex at their level are left out of the sum, which only shrinks it.
    """
    keys, group = _grouped(errors, m)
    best = np.zeros(keys.size)
    np.maximum.at(best, group, levels)
    winner, box, near, at = _best_single(scoring, keys, best, float(m))
    single = int(((group == winner) & (levels == best[winner])).argmax())
    counts = np.ones(levels.size) if multiplicity is None else multiplicity
    alone = SmallestBound(box, np.array([single]), np.array([1.0 / counts[single]]), single, box, True)
    if box >= 1.0:
        return alone
    least = np.full(keys.size, np.inf)
    least[near] = _positive_from(scoring, at)
    reached = (levels > least[group]).nonzero()[0]
    if not reached.size or (reached.size == 1 and counts[single] == 1.0):
        return alone
    places = near.searchsorted(group[reached])
    near = near[: int(places.max()) + 1]
    convex = levels[reached] <= scoring.convex_level(keys[near], float(m))[places]
    if not convex.all():
        alone, reached, places = alone._replace(convex=False), reached[convex], places[convex]
    if not reached.size:
        return alone
    known = box, Tail(*(part[: near.size] for part in at))
    sums = _Sums(scoring, keys[near], float(m), places, reached, levels[reached], counts[reached], known)
    bound = root(sums, 0.0, box, 1e-7).high  # it is off by the square of that
    return alone if bound >= box else alone._replace(bound=bound, chosen=sums.chosen, weights=sums.weights)


def _grouped(errors: NDArray[np.int64], m: int) -> tuple[Array, NDArray[np.intp]]:
    """Distinct counts, and each item's place among them; every count up to m where that is the shorter way."""
    if m <= 4 * errors.size + 1000:
        return np.arange(m + 1.0), errors
    keys, group = np.unique(errors, return_inverse=True)
    return keys.astype(np.float64), group


def _best_single(
    scoring: TieSplit | Spread, keys: Array, best: Array, m: float
) -> tuple[int, float, NDArray[np.intp], Tail]:
    """The count with the smallest box at its ``best`` level, that box, and the tails there of counts near it.

    Only counts with a larger level than every smaller count can have it.
    """
    ends = int(keys.searchsorted(m))
    record = best[:ends] > 0.0
    record[1:] &= best[1:ends] > np.maximum.accumulate(best[:ends])[:-1]
    records = record.nonzero()[0]
    if not records.size:
        return int(best.argmax()), 1.0, records, stacked([])
    boxes = scoring.box(keys[records], m, best[records])
    winner, box = int(records[boxes.argmin()]), float(boxes.min())
    if box >= 1.0:
        return winner, box, records[:0], stacked([])
    # The counts that occur and have a lower tail.
    near = (best[: min(ends, int(keys.searchsorted(m * box + 1.0)))] > 0.0).nonzero()[0]
    at = _tails_up_to(keys[near], m, box, float(best[records[-1]]) * scoring.scale)
    return winner, box, near[: at.below.size], at


def _tails_up_to(keys: Array, m: float, l: float, reach: float) -> Tail:
    """The tails of ascending counts at one risk, up to the last that may have P(B < k) below ``reach``."""
    few: list[Tail] = []
    for k in keys[:_FEW].tolist():
        few.append(at := tail_of_one(k, m, l))
        if (1.0 + at.below) * math.exp(at.log_mass) >= reach:  # P(B <= k)
            return stacked(few)
    return tails_at(keys, m, l) if keys.size > _FEW else stacked(few)


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
    counts: Array
    #: A risk and the tails there.
    known: tuple[float, Tail]

    def __call__(self, t: float) -> Total:
        at = self.known[1] if t == self.known[0] else _tails(self.keys, self.m, t)
        inside = (self.levels > _positive_from(self.scoring, at)[self.group]).nonzero()[0]
        if not inside.size:
            return _NOTHING
        group, levels, counts = self.group[inside], self.levels[inside], self.counts[inside]
        self.chosen = self.items[inside]
        pick = group if self.keys.size > 1 else 0  # numbers are faster than arrays of one
        score = self.scoring.score(Tail(*(part[pick] for part in at)), self.keys[pick], self.m, t, levels)
        value, slope, bend = float(counts @ score.value), float(counts @ score.slope), float(counts @ score.bend)
        if value <= 0.0:  # by rounding
            return _NOTHING
        # A score is between zero and one: a slope s that is off is so over a distance of t, or 1/s, at most.
        error = float(counts @ (score.rounding + score.slope_rounding * np.maximum(t, 1.0 / score.slope)))
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
