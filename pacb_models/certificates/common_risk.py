r"""The smallest bound that a confidence set of risks gives any posterior.

Support-line lemma: let the scores satisfy :math:`\psi_i(l) \ge \psi_i(t) + s_i (l - t)` for all l, let
:math:`S = \sum_i s_i > 0` and :math:`q_i = s_i/S`. Where the scores of the true risks add up to less than one,

.. math:: \sum_i q_i l_i \le t + \frac{1 - \sum_i \psi_i(t)}S,

since :math:`1 > \sum_i \psi_i(l_i) \ge \sum_i \psi_i(t) + S \sum_i q_i (l_i - t)`. For convex scores every t gives such
a bound; the smallest is the t at which the scores add up to one: at the point (t, ..., t) of the set's boundary the
supporting plane has the normal q, and a posterior's bound is at least t because that point belongs to the closed set.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .binomial import EPSILON, SCALAR, Tail, tail, tails_at
from .scores import Array, Spread, TieSplit

_MOST_STEPS = 200
_CLOSE = 1e-7  # a further step would be of its square
_FEW = 11  # so many tails are computed faster one by one


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
    winner, box, near, at = _best_single(scoring, keys, best, float(m))
    single = int(np.argmax((group == winner) & (levels == best[winner])))
    counts = np.ones(levels.size) if multiplicity is None else multiplicity
    alone = CommonRisk(box, np.array([single]), np.array([1.0 / counts[single]]), single, box, True)
    if box >= 1.0:
        return alone
    least = at.below * np.exp(at.log_mass) / scoring.scale
    reach = best[near] > least
    near, least, at = near[reach], least[reach], Tail(*(part[reach] for part in at))
    lower, upper = np.full(keys.size, np.inf), np.zeros(keys.size)
    lower[near], upper[near] = least, scoring.convex_level(keys[near], float(m))
    reached = np.flatnonzero(levels > lower[group])
    chosen = reached[levels[reached] <= upper[group[reached]]]
    position = np.zeros(keys.size, dtype=np.intp)
    position[near] = np.arange(near.size)
    found = _newton(scoring, keys[near], at, position[group[chosen]], chosen, m, levels[chosen], counts[chosen], box)
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
    scoring: TieSplit | Spread, keys: Array, best: Array, m: float
) -> tuple[int, float, NDArray[np.intp], Tail]:
    """The count with the smallest box at its ``best`` level, that box, and the tails there of counts near it.

    Only counts with a larger level than every smaller count can have it. A box is a root, which costs several tails;
    that no other one is smaller shows at one tail each: its score at the root is not above one.
    """
    before = np.concatenate([[0.0], np.maximum.accumulate(best)[:-1]])
    records = np.flatnonzero((best > before) & (keys < m))
    none = np.zeros(0, dtype=np.intp)
    if not records.size:
        return int(np.argmax(best)), 1.0, none, _none()
    largest = float(best[records[-1]])
    winner = _guess(keys[records] / m, m, best[records]) if records.size > 1 else 0
    box = 1.0
    if largest * scoring.scale <= 0.5:  # else the tails are no lower ones
        box = scoring.box_of(float(keys[records[winner]]), m, float(best[records[winner]]))
    if box >= 1.0:
        boxes = scoring.box(keys[records], m, best[records])
        winner, box = int(np.argmin(boxes)), float(boxes.min())
        near = np.flatnonzero((best > 0.0) & (keys - 1.0 < m * box) & (keys < m)) if box < 1.0 else none
        return int(records[winner]), box, near, tails_at(keys[near], m, box) if near.size else _none()
    winner = int(records[winner])
    is_record = np.zeros(keys.size, dtype=bool)
    is_record[records] = True
    while True:
        near = np.flatnonzero((best > 0.0) & (keys - 1.0 < m * box) & (keys < m))
        at = _tails_up_to(keys[near], m, box, largest * scoring.scale)
        near = near[: at.below.size]
        own = (is_record[near] & (near != winner)).nonzero()[0]
        if not own.size:
            return winner, box, near, at
        scores = scoring.score(Tail(*(part[own] for part in at)), keys[near[own]], m, box, best[near[own]])
        if float((scores.value - scores.rounding).max()) <= 1.0:
            return winner, box, near, at
        rival = int(near[own[int(np.argmax(scores.value))]])
        smaller = scoring.box_of(float(keys[rival]), m, float(best[rival]))
        if smaller >= box:  # by rounding
            return winner, box, near, at
        winner, box = rival, smaller


def _guess(rates: Array, m: float, levels: Array) -> int:
    """Which limit is probably the smallest, by Bernstein's."""
    with np.errstate(divide="ignore"):
        budget = -np.log(levels) / m
    return int(np.argmin(rates + np.sqrt(2.0 * rates * budget) + 2.0 * budget))


def _none() -> Tail:
    return Tail(np.zeros(0), np.zeros(0), np.zeros(0))


def _tails_up_to(keys: Array, m: float, l: float, reach: float) -> Tail:
    """The tails of ascending counts at one risk, up to the last that has P(B < k) below ``reach``."""
    few: list[Tail] = []
    for k in keys[:_FEW].tolist():
        at = _tail_of_one(k, m, l)
        if few and at.below * math.exp(at.log_mass) >= reach:
            return Tail(*(np.array(part) for part in zip(*few, strict=True)))
        few.append(at)
    if keys.size > _FEW:
        return tails_at(keys, m, l)
    return Tail(*(np.array(part) for part in zip(*few, strict=True)))


def _tail_of_one(k: float, m: float, l: float) -> Tail:
    if k > 0.0:
        return tail(k, m, l, 1.0 - l, SCALAR)
    log_mass = m * math.log1p(-l)
    return Tail(log_mass, 0.0, EPSILON * (2.0 - 2.0 * log_mass))


def _newton(
    scoring: TieSplit | Spread,
    keys: Array,
    at: Tail,
    group: NDArray[np.intp],
    items: NDArray[np.intp],
    m: int,
    levels: Array,
    counts: Array,
    start: float,
) -> CommonRisk | None:
    """Newton's method from the right for a convex increasing sum; None when the sum does not reach one there.

    ``at`` are the tails of ``keys`` at ``start``.
    """
    t = start
    bound = start
    for step in range(_MOST_STEPS):
        if step:
            inside = keys - 1.0 < m * t
            at = _tails(np.where(inside, keys, 0.0), float(m), t)
            limit = np.where(inside, at.below * np.exp(at.log_mass) / scoring.scale, np.inf)
            kept = (levels > limit[group]).nonzero()[0]
            if kept.size < items.size:
                group, items, levels, counts = group[kept], items[kept], levels[kept], counts[kept]
        if items.size == 0:
            return None
        tail_of_items = Tail(*(part[group] for part in at))
        score = scoring.score(tail_of_items, keys[group], m, t, levels)
        total, slope = float(counts @ score.value), float(counts @ score.slope)
        rounding = float(counts @ (score.rounding + score.slope_rounding * np.maximum(t, 1.0 / score.slope)))
        if step == 0 and total < 1.0:
            return None
        # Any t gives a valid bound: a further step cannot repair, only shrink it.
        new = t + (1.0 - total + rounding) / slope
        bound = new * (1.0 + 8.0 * EPSILON)
        if new >= t * (1.0 - _CLOSE) or step == _MOST_STEPS - 1:
            return CommonRisk(bound, items, score.slope / slope, -1, start, True)
        t = new
        # Larger counts have smaller scores.
        keys = keys[: int(np.maximum.reduce(group)) + 1]
    return None


def _tails(keys: Array, m: float, l: float) -> Tail:
    """The tails of counts at one risk; few are done faster one by one."""
    if keys.size > _FEW:
        return tails_at(keys, m, l)
    return Tail(*(np.array(part) for part in zip(*(_tail_of_one(k, m, l) for k in keys.tolist()), strict=True)))
