"""What is known of all risks at once with probability 1 - delta, and the bounds that follow from it.

A confidence set gives the smallest bound and its posterior, a bound for each classifier alone, and one for any
posterior; all of them hold together, because they hold wherever the true risks lie in the set.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..immutable import Immutable
from .binomial import EPSILON, SCALAR
from .common_risk import CommonRisk, common_risk
from .limits import limit
from .scores import Array, Spread, TieSplit, level_of_convexity
from .support_function import support_function

#: Levels delta * p_i are rounded down by more than the product's rounding.
BELOW_ONE = 1.0 - 4.0 * EPSILON
#: Below, products lose digits: a level of zero, at which nothing is known, stands for such ones.
_SMALLEST_LEVEL = float(np.finfo(np.float64).tiny)


class ConfidenceSet(Immutable):
    """A set that holds the true risks of all classifiers with probability at least 1 - delta.

    By default the smallest bound of a posterior is that of the best classifier alone.
    """

    #: What a bound is about, in words.
    claim = "errs with probability"

    @property
    @abstractmethod
    def method(self) -> str:
        """Which set, in words."""

    @property
    @abstractmethod
    def single_bounds(self) -> Array:
        """The bound of each classifier."""

    @abstractmethod
    def bound_of(self, posterior: Array) -> float:
        """The bound of any posterior."""

    @cached_property
    def single(self) -> int:
        """The classifier with the smallest bound of its own."""
        return int(np.argmin(self.single_bounds))

    @property
    def single_bound(self) -> float:
        """Its bound."""
        return float(self.single_bounds[self.single])

    @property
    def bound(self) -> float:
        """The smallest bound of a posterior."""
        return self.single_bound

    @cached_property
    def posterior(self) -> Array:
        """The posterior that has it."""
        return frozen((np.arange(self.single_bounds.size) == self.single).astype(np.float64))

    @property
    def note(self) -> str | None:
        """What a reader should know beside the numbers."""
        return None


@dataclass(frozen=True, eq=False, repr=False)
class CountSet(ConfidenceSet):
    """From error counts, with a score for each classifier; ``prior`` is None for the uniform one."""

    errors: NDArray[np.int64]
    m: int
    delta: float
    prior: Array | None
    scoring: TieSplit | Spread

    @property
    def method(self) -> str:
        """Which score."""
        return f"spread {self.scoring.spread:g}" if isinstance(self.scoring, Spread) else "tie split"

    @cached_property
    def levels(self) -> Array:
        """delta p_i, rounded down."""
        return levels_of(self.delta, self.prior, self.errors.size)

    @property
    def _uniform_level(self) -> float:
        return uniform_level(self.delta, self.errors.size)

    @cached_property
    def _smallest(self) -> CommonRisk:
        if self.prior is not None:
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
        return frozen(posterior)

    @property
    def single(self) -> int:
        """The classifier with the smallest limit."""
        return self._smallest.single

    @property
    def single_bound(self) -> float:
        """Its limit."""
        return self._smallest.single_bound

    @cached_property
    def single_bounds(self) -> Array:
        """The box around the set: Clopper and Pearson's limits at the levels delta p_i for the tie split."""
        counts = self.errors.astype(np.float64)
        if self.prior is not None:
            found = self.scoring.box(counts, float(self.m), self.levels)
        else:
            distinct, places = np.unique(counts, return_inverse=True)
            found = self.scoring.box(distinct, float(self.m), np.full(distinct.size, self._uniform_level))[places]
        # One root alone may be rounded otherwise than among others; the smallest is one number.
        found = np.maximum(found, self.single_bound)
        found[self.single] = self.single_bound
        return frozen(found)

    def bound_of(self, posterior: Array) -> float:
        """The largest risk of the posterior over the set; see :func:`~.support_function.support_function`."""
        return support_function(self.scoring, self.errors, self.m, self.levels, self.single_bounds, posterior)

    @property
    def note(self) -> str | None:
        """Says where the box had to do."""
        if self._smallest.convex:
            return None
        return (
            "Ties could not be split for every classifier, because delta times its prior weight is too large for that; "
            "for those the bound is their own."
        )


def frozen(array: Array) -> Array:
    """The array, read-only from now on."""
    array.setflags(write=False)
    return array


def levels_of(delta: float, prior: Array | None, size: int) -> Array:
    """delta p_i, rounded down; the weights may sum to a little more than one, the levels to no more than delta."""
    if prior is None:
        return np.full(size, uniform_level(delta, size))
    levels = prior * (delta * BELOW_ONE / max(1.0, float(prior.sum())))
    levels[levels < _SMALLEST_LEVEL] = 0.0
    return levels


def uniform_level(delta: float, size: int) -> float:
    """delta/H, rounded down."""
    return delta / size * (1.0 if size == 1 else BELOW_ONE)


def shared_bound(k: float, ties: int, m: int, level: float) -> tuple[float, float, bool]:
    """For a uniform prior and ``ties`` classifiers with the fewest errors, k: their common bound, that of one of them
    alone, and whether the score is convex, so that they can share. Classifiers with more errors have score zero.
    """
    box = limit(k, float(m), level)
    if ties == 1 or box >= 1.0:
        return box, box, True
    if k > 0.0 and level > level_of_convexity(k, float(m), SCALAR):
        return box, box, False
    return min(limit(k, float(m), level, 1.0 / ties) * (1.0 + 2.0 * EPSILON), box), box, True


def _shared_minimum(errors: NDArray[np.int64], m: int, level: float) -> CommonRisk:
    """The tie split for a uniform prior; ``chosen`` is left empty for "all with the fewest errors"."""
    # Not numpy.argmin: it copies arrays that are read-only.
    fewest = int(errors.min())
    tied = errors == fewest
    single, ties = int(tied.argmax()), int(np.count_nonzero(tied))
    bound, box, convex = shared_bound(float(fewest), ties, m, level)
    if bound >= box:
        return CommonRisk(box, np.array([single]), np.array([1.0]), single, box, convex)
    return CommonRisk(bound, np.array([], dtype=np.intp), np.array(1.0 / ties), single, box, convex)
