"""Certificates from error counts."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..immutable import read_only
from ..numerics.elementwise import Array
from .certificate import Certificate
from .common_risk import SmallestBound, common_risk
from .scores import Spread, TieSplit
from .support_function import support_function


class CountCertificate(Certificate):
    """From error counts, with a score for each classifier; the prior is None for the uniform one."""

    scoring: TieSplit | Spread

    @property
    def method(self) -> str:
        return f"spread {self.scoring.spread:g}" if isinstance(self.scoring, Spread) else "tie split"

    @cached_property
    def _smallest(self) -> SmallestBound:
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
        counts = self.errors.astype(np.float64)
        if self._prior is not None:
            found = self.scoring.box(counts, float(self.m), self.levels)
        else:
            distinct, places = np.unique(counts, return_inverse=True)
            found = self.scoring.box(distinct, float(self.m), self.levels[: distinct.size])[places]
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
