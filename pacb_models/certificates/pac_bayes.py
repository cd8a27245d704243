"""A PAC-Bayes bound as a confidence statement: it holds for all posteriors at once, so for single classifiers too."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..problem import Problem
from ..solution import Solution
from .confidence_sets import ConfidenceSet, frozen
from .scores import Array


@dataclass(frozen=True, eq=False, repr=False)
class PacBayesSet(ConfidenceSet):
    """The bound that a problem evaluates, with the posterior of a solution."""

    problem: Problem
    solution: Solution

    @property
    def method(self) -> str:
        """Which bound."""
        of = self.problem
        return f"PAC-Bayes bound, {of.distance} distance, {of.divergence} divergence, {of.constant} constant"

    @property
    def bound(self) -> float:
        """At the solution's posterior."""
        return min(self.solution.bound, 1.0)

    @cached_property
    def posterior(self) -> Array:
        """The solution's."""
        assert self.solution.posterior is not None
        return frozen(np.array(self.solution.posterior))

    @cached_property
    def single_bounds(self) -> Array:
        """The bounds of posteriors on one classifier; equal risks with equal prior weights have the same."""
        pairs = np.stack([self.problem.risks, self.problem.prior])
        distinct, first, places = np.unique(pairs, axis=1, return_index=True, return_inverse=True)
        bounds = np.empty(distinct.shape[1])
        alone = np.zeros(self.problem.size)
        for position, index in enumerate(first):
            alone[index] = 1.0
            bounds[position] = self.bound_of(alone)
            alone[index] = 0.0
        return frozen(bounds[places.ravel()])

    def bound_of(self, posterior: Array) -> float:
        """The bound at any posterior."""
        return min(self.problem.bound(posterior), 1.0)

    @property
    def note(self) -> str | None:
        """Any posterior has a valid bound; the status says only whether it is the smallest."""
        if self.solution.status == "optimal":
            return None
        return f"The bound is valid but perhaps not the smallest: the solver ended with {self.solution.status!r}."
