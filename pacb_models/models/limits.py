"""The averages that a problem constrains, as rows of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..constraints.posteriors import Row
from ..problem import Problem


class Limit(NamedTuple):
    """A row :math:`a \\cdot q \\le b`, or :math:`= b`, of a model."""

    row: Row
    #: The row in its unit, :math:`(a - b)/s`: its product with the weights is at most zero.
    values: NDArray[np.float64]
    #: The unit ``s``.
    unit: float
    equality: bool

    @property
    def name(self) -> str:
        """As the user calls it."""
        return self.row.name

    def written(self, average: Callable[[NDArray[np.float64]], Any]) -> Any:
        """The row of a modelling system, as the user wrote it: at most or at least, in his unit."""
        sign = -1.0 if self.row.turned else 1.0
        left, right = average(sign * self.row.values), sign * self.row.limit
        if self.equality:
            return left == right
        return left >= right if self.row.turned else left <= right


def limits(problem: Problem) -> list[Limit]:
    """The rows of a problem's constraints, but for those that say nothing of the posterior: their numbers are all equal
    to the limit, or all zero.

    Two that are opposite are one equation: as inequalities they would leave an interior-point method no interior.
    """
    posteriors = problem.posteriors
    if posteriors is None:
        return []
    found: list[Limit] = []
    for row, values, unit in zip(posteriors.rows, posteriors.matrix, posteriors.scales.tolist(), strict=True):
        if not (values.any() and row.values.any()):
            continue
        opposite = next((k for k, other in enumerate(found) if np.array_equal(other.values, -values)), None)
        if opposite is None:
            found.append(Limit(row, values, unit, False))
        else:
            found[opposite] = found[opposite]._replace(equality=True)
    return found


def box(problem: Problem) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Floors and caps of the weights, zero and infinity where there are none."""
    posteriors = problem.posteriors
    if posteriors is None:
        return np.zeros(problem.size), np.full(problem.size, np.inf)
    return posteriors.lower, np.where(posteriors.upper < 1.0, posteriors.upper, np.inf)
