"""A PAC-Bayes bound as a certificate: it holds for all posteriors at once, so for single classifiers too."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..immutable import read_only
from ..numerics.elementwise import Array
from ..problem import Problem
from ..solution import Solution
from .certificate import Certificate


class PacBayesCertificate(Certificate):
    """The bound that a problem evaluates, with the posterior of a solution."""

    problem: Problem
    solution: Solution

    def __init__(
        self,
        problem: Problem,
        solution: Solution,
        errors: NDArray[Any] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        counts = problem.risks * problem.m if errors is None else errors
        known = {"problem": problem, "solution": solution}
        super().__init__(counts, problem.m, problem.delta, problem.prior, names, **known)

    @property
    def method(self) -> str:
        of = self.problem
        return f"PAC-Bayes bound, {of.distance} distance, {of.divergence} divergence, {of.constant} constant"

    @property
    def bound(self) -> float:
        return min(self.solution.bound, 1.0)

    @cached_property
    def posterior(self) -> Array:
        assert self.solution.posterior is not None
        return read_only(np.array(self.solution.posterior))

    @cached_property
    def single_bounds(self) -> Array:
        """The bounds of posteriors on one classifier; equal risks with equal prior weights have the same."""
        pairs = np.stack([self.problem.risks, self.problem.prior])
        _, first, places = np.unique(pairs, axis=1, return_index=True, return_inverse=True)
        everyone = np.arange(self.problem.size)
        bounds = np.array([self._bound_of((everyone == index).astype(np.float64)) for index in first])
        return read_only(bounds[places.ravel()])

    def _bound_of(self, posterior: Array) -> float:
        return min(self.problem.bound(posterior), 1.0)

    @property
    def notes(self) -> tuple[str, ...]:
        """Any posterior has a valid bound; the status says only whether it is the smallest."""
        status = self.solution.status
        said = f"The bound is valid but perhaps not the smallest: the solver ended with {status!r}."
        return (*(() if status == "optimal" else (said,)), *super().notes)
