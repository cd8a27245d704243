"""Certificates from error counts."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..immutable import read_only
from ..numerics.elementwise import Array
from ..numerics.rounding import EPSILON
from .binomial import ONE
from .certificate import Certificate
from .common_risk import SmallestBound, common_risk
from .limits import limit, uniform_level
from .scores import Spread, TieSplit, level_of_convexity
from .support_function import support_function


class CountCertificate(Certificate):
    """From error counts, with a score for each classifier; the prior is None for the uniform one."""

    scoring: TieSplit | Spread

    @property
    def method(self) -> str:
        return f"spread {self.scoring.spread:g}" if isinstance(self.scoring, Spread) else "tie split"

    @property
    def _uniform_level(self) -> float:
        return uniform_level(self.delta, self.errors.size)

    @cached_property
    def _smallest(self) -> SmallestBound:
        if self._prior is not None:
            return common_risk(self.scoring, self.errors, self.m, self.levels)
        if isinstance(self.scoring, TieSplit):
            return _shared_minimum(self.errors, self.m, self._uniform_level)
        counts, first, places, multiplicity = np.unique(
            self.errors, return_index=True, return_inverse=True, return_counts=True
        )
        found = common_risk(
            self.scoring, counts, self.m, np.full(counts.size, self._uniform_level), multiplicity.astype(np.float64)
        )
        weights = np.zeros(counts.size)
        weights[found.chosen] = found.weights
        chosen = np.flatnonzero(weights[places])
        return found._replace(chosen=chosen, weights=weights[places[chosen]], single=int(first[found.single]))

    @property
    def bound(self) -> float:
        """The common risk at which the scores add up to one."""
        return self._smallest.bound

    @cached_property
    def posterior(self) -> Array:
        """Weights proportional to the scores' slopes there."""
        found = self._smallest
        posterior = np.zeros(self.errors.size)
        if found.chosen.size == 0:
            posterior[self.errors == self.errors[found.single]] = found.weights
        else:
            posterior[found.chosen] = found.weights
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
        counts = self.errors.astype(np.float64)
        if self._prior is not None:
            found = self.scoring.box(counts, float(self.m), self.levels)
        else:
            distinct, places = np.unique(counts, return_inverse=True)
            found = self.scoring.box(distinct, float(self.m), np.full(distinct.size, self._uniform_level))[places]
        # One root alone may be rounded otherwise than among others; the smallest is one number.
        found = np.maximum(found, self.single_bound)
        found[self.single] = self.single_bound
        return read_only(found)

    def _bound_of(self, posterior: Array) -> float:
        """The largest risk of the posterior over the set; see :func:`~.support_function.support_function`."""
        return support_function(self.scoring, self.errors, self.m, self.levels, self.single_bounds, posterior)

    def _remarks(self) -> tuple[str, ...]:
        said = (
            "Ties could not be split for some classifiers, because delta times their prior weight is too large for "
            "that; they keep the bound of one classifier."
        )
        return () if self._smallest.convex else (said,)


def _shared_minimum(errors: NDArray[np.int64], m: int, level: float) -> SmallestBound:
    """The tie split for a uniform prior: classifiers with more than the fewest errors have score zero.

    ``chosen`` is left empty for "all with the fewest errors".
    """
    # Not numpy.argmin: it copies arrays that are read-only.
    fewest = int(errors.min())
    tied = errors == fewest
    single, ties, k, size = int(tied.argmax()), int(np.count_nonzero(tied)), float(fewest), float(m)
    box = limit(k, size, level)
    convex = ties == 1 or box >= 1.0 or fewest == 0 or level <= level_of_convexity(k, size, ONE)
    if convex and ties > 1 and box < 1.0:
        bound = limit(k, size, level, 1.0 / ties) * (1.0 + 2.0 * EPSILON)
        if bound < box:
            return SmallestBound(bound, np.array([], dtype=np.intp), np.array(1.0 / ties), single, box, True)
    return SmallestBound(box, np.array([single]), np.array([1.0]), single, box, convex)
