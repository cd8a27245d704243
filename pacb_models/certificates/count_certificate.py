"""Certificates from error counts: of one sample, and of many samples at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..immutable import Immutable
from .binomial import EPSILON
from .certificate import Certificate, frozen
from .common_risk import CommonRisk, common_risk
from .limits import levels_of, limit, limits, uniform_level
from .scores import Array, Spread, TieSplit, level_of_one
from .support_function import support_function


class CountCertificate(Certificate):
    """From error counts, with a score for each classifier; the prior is None for the uniform one."""

    scoring: TieSplit | Spread

    @property
    def method(self) -> str:
        """Which score."""
        return f"spread {self.scoring.spread:g}" if isinstance(self.scoring, Spread) else "tie split"

    @cached_property
    def levels(self) -> Array:
        """delta p_i, rounded down."""
        return levels_of(self.delta, self._prior, self.errors.size)

    @property
    def _uniform_level(self) -> float:
        return uniform_level(self.delta, self.errors.size)

    @cached_property
    def _smallest(self) -> CommonRisk:
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
        if self._prior is not None:
            found = self.scoring.box(counts, float(self.m), self.levels)
        else:
            distinct, places = np.unique(counts, return_inverse=True)
            found = self.scoring.box(distinct, float(self.m), np.full(distinct.size, self._uniform_level))[places]
        # One root alone may be rounded otherwise than among others; the smallest is one number.
        found = np.maximum(found, self.single_bound)
        found[self.single] = self.single_bound
        return frozen(found)

    def _bound_of(self, posterior: Array) -> float:
        """The largest risk of the posterior over the set; see :func:`~.support_function.support_function`."""
        return support_function(self.scoring, self.errors, self.m, self.levels, self.single_bounds, posterior)

    def _remarks(self) -> tuple[str, ...]:
        """Says where the box had to do."""
        said = (
            "Ties could not be split for every classifier, because delta times its prior weight is too large for that; "
            "for those the bound is their own."
        )
        return () if self._smallest.convex else (said,)


def shared_bound(k: float, ties: int, m: int, level: float) -> tuple[float, float, bool]:
    """For a uniform prior and ``ties`` classifiers with the fewest errors, k: their common bound, that of one of them
    alone, and whether the score is convex, so that they can share. Classifiers with more errors have score zero.
    """
    box = limit(k, float(m), level)
    if ties == 1 or box >= 1.0:
        return box, box, True
    if k > 0.0 and level > level_of_one(k, float(m)):
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


@dataclass(frozen=True, eq=False, repr=False)
class Certificates(Immutable):
    """The certificates of B samples of the same H classifiers; field by field those of :class:`Certificate`.

    The arrays have a row (``errors``, ``posterior``, ``single_bounds``) or an entry per sample.
    """

    errors: NDArray[np.int64]
    m: int
    delta: float

    def __len__(self) -> int:
        return len(self.errors)

    @cached_property
    def _tied(self) -> NDArray[np.bool_]:
        return self.errors == self.errors.min(axis=1, keepdims=True)

    @cached_property
    def _bounds(self) -> Array:
        """Bound and single bound of each sample, computed once for each pair of fewest errors and number of ties."""
        size = self.errors.shape[1]
        codes = self.errors.min(axis=1) * (size + 1) + np.count_nonzero(self._tied, axis=1)
        distinct, places = np.unique(codes, return_inverse=True)
        level = uniform_level(self.delta, size)
        pairs = (divmod(code, size + 1) for code in distinct.tolist())
        found = [shared_bound(float(fewest), ties, self.m, level)[:2] for fewest, ties in pairs]
        return frozen(np.array(found).T[:, places])

    @cached_property
    def single(self) -> NDArray[np.intp]:
        """The classifier with the fewest errors, the first of several."""
        return np.argmax(self._tied, axis=1)

    @property
    def bound(self) -> Array:
        """The bounds of the random classifiers."""
        return self._bounds[0]

    @property
    def single_bound(self) -> Array:
        """The smallest bounds of single classifiers."""
        return self._bounds[1]

    @cached_property
    def posterior(self) -> Array:
        """Uniform on the classifiers with the fewest errors where that has the smaller bound."""
        weights = self._tied / np.count_nonzero(self._tied, axis=1, keepdims=True)
        alone = self.bound >= self.single_bound
        weights[alone] = 0.0
        weights[alone, self.single[alone]] = 1.0
        return frozen(weights)

    @cached_property
    def single_bounds(self) -> Array:
        """The bound of each classifier in each sample."""
        distinct, places = np.unique(self.errors, return_inverse=True)
        level = np.full(distinct.size, uniform_level(self.delta, self.errors.shape[1]))
        found = limits(distinct.astype(np.float64), np.full(distinct.size, float(self.m)), level)
        return frozen(found[places].reshape(self.errors.shape))

    def __repr__(self) -> str:
        return (
            f"Certificates({len(self)} samples of {self.errors.shape[1]} classifiers, m={self.m}, delta={self.delta!r})"
        )
