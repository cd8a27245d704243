"""What is checked of a divergence before a proof is built on it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from .divergence import Divergence

if TYPE_CHECKING:
    from ..problem import BoundProblem

#: Sizes above the prior's at which a budget is looked at, and rounding errors relative to it.
_STEPS = np.array([0.0, 1e-3, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0])
_ROUNDING = 1e-9


def concave_budget(problem: BoundProblem) -> bool:
    """Whether the budget is concave and increasing in the divergence's size, on a grid."""
    return _concave(problem.divergence_function, problem.coefficient, float(problem.exponent))


@lru_cache(maxsize=4096)
def _concave(divergence: Divergence, coefficient: float, exponent: float) -> bool:
    least = divergence.size(np.ones(1), np.ones(1))
    sizes = (least + _STEPS).tolist()
    values = np.array([divergence.size_budget(size, coefficient, exponent).value for size in sizes])
    first, second = np.triu_indices(len(sizes), 1)
    middles = [0.5 * (sizes[i] + sizes[j]) for i, j in zip(first.tolist(), second.tolist())]
    middle = np.array([divergence.size_budget(size, coefficient, exponent).value for size in middles])
    concave = middle >= 0.5 * (values[first] + values[second]) - _ROUNDING * np.abs(middle)
    return bool((np.diff(values) > 0.0).all() and concave.all())
