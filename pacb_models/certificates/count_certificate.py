r"""Certificates from error counts: the smallest bound that a confidence set of risks gives any posterior.

The scores of the true risks add up to less than one; :mod:`pacb_models.numerics.confidence_sets` has the theorem. A
score jumps to infinity at the end of its classifier's box, which no true risk exceeds: the common risk is never above
the smallest box.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..immutable import read_only
from ..numerics.confidence_sets import Total, common_root
from ..numerics.elementwise import SCALAR, Array
from ..numerics.rounding import EPSILON
from .binomial import Tail, tails_at
from .certificate import Certificate
from .limits import limit, uniform_level
from .scores import Spread, TieSplit, level_of_convexity
from .support_function import support_function

_NOTHING = Total(-math.inf, 0.0, 0.0, 0.0)


class SmallestBound(NamedTuple):
    """The bound, the classifiers with weight and their weights; the best one alone; whether every score was convex."""

    bound: float
    chosen: NDArray[np.intp]
    weights: Array
    single: int
    single_bound: float
    convex: bool


class CountCertificate(Certificate):
    """From error counts, with a score for each classifier; the prior is None for the uniform one."""

    scoring: TieSplit | Spread

    @property
    def method(self) -> str:
        return f"spread {self.scoring.spread:g}" if isinstance(self.scoring, Spread) else "tie split"

    @cached_property
    def _smallest(self) -> SmallestBound:
        if self._prior is None and isinstance(self.scoring, TieSplit):
            return _shared_minimum(self.errors, self.m, uniform_level(self.delta, self.errors.size))
        return common_risk(self.scoring, self.errors, self.m, self.levels)

    @property
    def bound(self) -> float:
        """The common risk at which the scores add up to one."""
        return self._smallest.bound

    @cached_property
    def posterior(self) -> Array:
        """Weights proportional to the scores' slopes there."""
        posterior = np.zeros(self.errors.size)
        posterior[self._smallest.chosen] = self._smallest.weights
        return read_only(posterior)

    @property
    def single(self) -> int:
        return self._smallest.single

    @property
    def single_bound(self) -> float:
        return self._smallest.single_bound

    @cached_property
    def single_bounds(self) -> Array:
        """The box around the set: Clopper and Pearson's limits at the levels delta p_i for the tie split."""
        if self._prior is None:
            counts, places = np.unique(self.errors.astype(np.float64), return_inverse=True)
            found = self.scoring.box(counts, float(self.m), self.levels[: counts.size])[places]
        else:
            found = self.scoring.box(self.errors.astype(np.float64), float(self.m), self.levels)
        # One root alone may be rounded otherwise than among others; the smallest is one number.
        found = np.maximum(found, self.single_bound)
        found[self.single] = self.single_bound
        return read_only(found)

    def _bound_of(self, posterior: Array) -> float:
        """Return the largest risk of the posterior over the set; see :func:`~.support_function.support_function`."""
        return support_function(self.scoring, self.errors, self.m, self.levels, self.single_bounds, posterior)

    @property
    def notes(self) -> tuple[str, ...]:
        said = (
            "Ties could not be split for some classifiers, because delta times their prior weight is too large for "
            "that; they keep the bound of one classifier."
        )
        return (*(() if self._smallest.convex else (said,)), *super().notes)


def _shared_minimum(errors: NDArray[np.int64], m: int, level: float) -> SmallestBound:
    """Return the tie split for a uniform prior: classifiers with more than the fewest errors have score zero."""
    # Not numpy.argmin: it copies arrays that are read-only.
    tied = np.flatnonzero(errors == errors.min())
    single, ties, k, size = int(tied[0]), tied.size, float(errors[tied[0]]), float(m)
    box = limit(k, size, level)
    convex = ties == 1 or box >= 1.0 or k == 0.0 or level <= level_of_convexity(k, size, SCALAR)
    if convex and ties > 1 and box < 1.0:
        bound = limit(k, size, level, 1.0 / ties) * (1.0 + 2.0 * EPSILON)
        if bound < box:
            return SmallestBound(bound, tied, np.array(1.0 / ties), single, box, True)
    return SmallestBound(box, tied[:1], np.array(1.0), single, box, convex)


def common_risk(scoring: TieSplit | Spread, errors: NDArray[np.int64], m: int, levels: Array) -> SmallestBound:
    """Solve sum of scores = 1 for classifiers with ``errors`` and ``levels``.

    Those whose score is not convex at their level are left out of the sum, which only shrinks it.
    """
    # Distinct counts, and each classifier's place among them; every count up to m where that is the shorter way.
    if m <= 4 * errors.size + 1000:
        distinct, group = np.arange(m + 1), errors
    else:
        distinct, group = np.unique(errors, return_inverse=True)
    keys, best = distinct.astype(np.float64), np.zeros(distinct.size)
    np.maximum.at(best, group, levels)
    winner, box, near = _best_single(scoring, keys, best, float(m))
    tied = np.flatnonzero((group == winner) & (levels == best[winner]))
    alone = SmallestBound(box, tied, np.array(1.0 / tied.size), int(tied[0]), box, True)
    if box >= 1.0:
        return alone
    least = np.full(keys.size, np.inf)
    least[near] = _positive_from(scoring, tails_at(keys[near], float(m), box))
    reached = (levels > least[group]).nonzero()[0]
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
    bound = common_root(sums, 0.0, box, 1e-7).high  # it is off by the square of that
    return alone if bound >= box else alone._replace(bound=bound, chosen=sums.chosen, weights=sums.weights)


def _best_single(scoring: TieSplit | Spread, keys: Array, best: Array, m: float) -> tuple[int, float, NDArray[np.intp]]:
    """Return the count with the smallest box at its ``best`` level, that box, and the counts that have a lower tail
    there.

    Only counts with a larger level than every smaller count can have it.
    """
    ends = int(keys.searchsorted(m))
    record = best[:ends] > 0.0
    record[1:] &= best[1:ends] > np.maximum.accumulate(best[:ends])[:-1]
    records = record.nonzero()[0]
    if not records.size:
        return int(best.argmax()), 1.0, records
    boxes = scoring.box(keys[records], m, best[records])
    box = float(boxes.min())
    near = best[: min(ends, int(keys.searchsorted(m * box + 1.0)))] > 0.0
    return int(records[boxes.argmin()]), box, near.nonzero()[0]


def _positive_from(scoring: TieSplit | Spread, at: Tail) -> Array:
    """Return the levels above which scores are positive."""
    return at.below * np.exp(at.log_mass) / scoring.scale


@dataclass
class _Sums:
    """The sum of the scores at a common risk; keeps which classifiers have a positive one there, and their weights."""

    scoring: TieSplit | Spread
    keys: Array
    m: float
    group: NDArray[np.intp]
    items: NDArray[np.intp]
    levels: Array

    def __call__(self, t: float) -> Total:
        # P(B < k) counts as infinite where k - 1 >= m t and the tail is no lower one.
        lower = self.keys - 1.0 < self.m * t
        at = tails_at(np.where(lower, self.keys, 0.0), self.m, t)
        at = at._replace(log_mass=np.where(lower, at.log_mass, 0.0), below=np.where(lower, at.below, np.inf))
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
