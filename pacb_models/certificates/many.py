"""Certificates of many samples at once: the tie split for a uniform prior in vectorised passes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..immutable import Immutable
from .confidence_sets import frozen, shared_bound, uniform_level
from .limits import limits
from .scores import Array


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
    def single(self) -> NDArray[np.intp]:
        """The classifier with the fewest errors, the first of several."""
        return np.argmax(self._tied, axis=1)

    @cached_property
    def _fewest(self) -> NDArray[np.int64]:
        return self.errors.min(axis=1, keepdims=True)

    @cached_property
    def _tied(self) -> NDArray[np.bool_]:
        return self.errors == self._fewest

    @cached_property
    def _kinds(self) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Distinct pairs of the fewest errors and the number of classifiers that have them, and each sample's."""
        ties = np.count_nonzero(self._tied, axis=1)
        codes = self._fewest[:, 0] * (self.errors.shape[1] + 1) + ties
        distinct, places = np.unique(codes, return_inverse=True)
        return np.stack(np.divmod(distinct, self.errors.shape[1] + 1)), places

    @cached_property
    def _bounds(self) -> Array:
        """Bound and single bound of each kind."""
        (counts, ties), _ = self._kinds
        level = uniform_level(self.delta, self.errors.shape[1])
        found = [shared_bound(float(k), int(r), self.m, level)[:2] for k, r in zip(counts, ties, strict=True)]
        return np.array(found).T

    @cached_property
    def bound(self) -> Array:
        """The bounds of the random classifiers."""
        return frozen(self._bounds[0][self._kinds[1]])

    @cached_property
    def single_bound(self) -> Array:
        """The smallest bounds of single classifiers."""
        return frozen(self._bounds[1][self._kinds[1]])

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
