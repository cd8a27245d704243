r"""The smallest bound that a confidence set of risks gives any posterior.

Support-line lemma: let the scores satisfy :math:`\psi_i(l) \ge \psi_i(t) + s_i (l - t)` for all l, let
:math:`S = \sum_i s_i > 0` and :math:`q_i = s_i/S`. Where the scores of the true risks add up to less than one,

.. math:: \sum_i q_i l_i \le t + \frac{1 - \sum_i \psi_i(t)}S,

since :math:`1 > \sum_i \psi_i(l_i) \ge \sum_i \psi_i(t) + S \sum_i q_i (l_i - t)`. For convex scores every t gives such
a bound; the smallest is the t at which the scores add up to one: at the point (t, ..., t) of the set's boundary the
supporting plane has the normal q, and a posterior's bound is at least t because that point belongs to the closed set.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .binomial import EPSILON, tails_at
from .scores import Array, Spread, TieSplit

_MOST_STEPS = 200


class CommonRisk(NamedTuple):
    """The bound, the items with weight and their weights; the best item alone; whether every score was convex."""

    bound: float
    chosen: NDArray[np.intp]
    weights: Array
    single: int
    single_bound: float
    convex: bool


def common_risk(
    scoring: TieSplit | Spread, errors: NDArray[np.int64], m: int, levels: Array, multiplicity: Array | None = None
) -> CommonRisk:
    """Solve sum of scores = 1 for items with ``errors`` and ``levels``, each standing for ``multiplicity`` classifiers.

    Items whose score is not convex at their level are left out of the sum, which only shrinks it.
    """
    keys, group = _grouped(errors, m)
    best = np.zeros(keys.size)
    np.maximum.at(best, group, levels)
    single, box = _best_single(scoring, keys, group, best, errors, m, levels)
    counts = np.ones(levels.size) if multiplicity is None else multiplicity
    alone = CommonRisk(box, np.array([single]), np.array([1.0 / counts[single]]), single, box, True)
    if box >= 1.0:
        return alone
    near = np.flatnonzero((best > 0.0) & (keys - 1.0 < m * box) & (keys < m))
    at = tails_at(keys[near], m, box)
    least = at.below * np.exp(at.log_mass) / scoring.scale
    near, least = near[best[near] > least], least[best[near] > least]
    lower, upper = np.full(keys.size, np.inf), np.zeros(keys.size)
    lower[near], upper[near] = least, scoring.convex_level(keys[near], m)
    reached = np.flatnonzero(levels > lower[group])
    chosen = reached[levels[reached] <= upper[group[reached]]]
    position = np.zeros(keys.size, dtype=np.intp)
    position[near] = np.arange(near.size)
    found = _newton(scoring, keys[near], position[group[chosen]], chosen, m, levels[chosen], counts[chosen], box)
    convex = chosen.size == reached.size
    if found is None or found.bound >= box:
        return alone._replace(convex=convex)
    return found._replace(single=single, single_bound=box, convex=convex)


def _grouped(errors: NDArray[np.int64], m: int) -> tuple[Array, NDArray[np.intp]]:
    """Distinct counts, and each item's place among them; every count up to m where that is the shorter way."""
    if m <= 4 * errors.size + 1000:
        return np.arange(m + 1.0), errors
    keys, group = np.unique(errors, return_inverse=True)
    return keys.astype(np.float64), group


def _best_single(
    scoring: TieSplit | Spread,
    keys: Array,
    group: NDArray[np.intp],
    best: Array,
    errors: NDArray[np.int64],
    m: int,
    levels: Array,
) -> tuple[int, float]:
    """The item with the smallest box; only counts with a larger level than every smaller count can have it."""
    before = np.concatenate([[0.0], np.maximum.accumulate(best)[:-1]])
    records = np.flatnonzero(best > before)
    boxes = scoring.box(keys[records], float(m), best[records])
    winner = records[int(np.argmin(boxes))]
    single = int(np.argmax((group == winner) & (levels == best[winner])))
    return single, float(boxes.min())


def _newton(
    scoring: TieSplit | Spread,
    keys: Array,
    group: NDArray[np.intp],
    items: NDArray[np.intp],
    m: int,
    levels: Array,
    counts: Array,
    start: float,
) -> CommonRisk | None:
    """Newton's method from the right for a convex increasing sum; None when the sum does not reach one there."""
    t = start
    bound = start
    for step in range(_MOST_STEPS):
        inside = keys - 1.0 < m * t
        at = tails_at(np.where(inside, keys, 0.0), m, t)
        limit = np.where(inside, at.below * np.exp(at.log_mass) / scoring.scale, np.inf)
        kept = levels > limit[group]
        group, items, levels, counts = group[kept], items[kept], levels[kept], counts[kept]
        if items.size == 0:
            return None
        tail = type(at)(*(part[group] for part in at))
        score = scoring.score(tail, keys[group], m, np.full(items.size, t), levels)
        total, slope = float(counts @ score.value), float(counts @ score.slope)
        rounding = float(counts @ (score.rounding + score.slope_rounding * np.maximum(t, 1.0 / score.slope)))
        if step == 0 and total < 1.0:
            return None
        # Any t gives a valid bound: a further step cannot repair, only shrink it.
        new = t + (1.0 - total + rounding) / slope
        bound = new * (1.0 + 8.0 * EPSILON)
        if new >= t * (1.0 - 1e-10) or step == _MOST_STEPS - 1:
            return CommonRisk(bound, items, score.slope / slope, -1, start, True)
        t = new
    return None
