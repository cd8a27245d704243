"""What a solver's file claims, beside its weights: a value, and that the rows of the model hold.

In the lifted model the value can be too small while the weights are good: a variable that stands for a sum may fall
short of the sum.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pacb_models import BoundProblem
from pacb_models.models.algebra import Numbers
from pacb_models.models.lifted import write
from pacb_models.solver import unmet
from pacb_models.solving.judging import onto_simplex

from .solution_files import SolutionFile


class Claimed(Numbers):
    """The lifted model at the variables of a file: its objective, and by how much each row and range is violated."""

    def __init__(self, problem: BoundProblem, weights: np.ndarray, given: dict[str, float]) -> None:
        super().__init__(problem, np.maximum(weights, 0.0))
        self.ratios, self._given = weights / problem.prior, given
        self.violations = {"q": max(0.0, -float(weights.min()))}

    def variable(self, name: str, value: float, lower: float | None = None, upper: float | None = None) -> float:
        value = self._given.get(name, value)
        below = 0.0 if lower is None else lower - value
        above = 0.0 if upper is None else value - upper
        self.violations[name] = max(below, above, 0.0)
        return super().variable(name, value)

    def constrain(self, name: str, difference: Any, equality: bool, scale: float) -> None:
        off = abs(difference) if equality else -difference
        self.violations[name] = math.inf if math.isnan(off) else max(float(off), 0.0)


def claims(problem: BoundProblem, found: SolutionFile) -> dict[str, Any]:
    """The smallest value that a file claims, and its largest violation."""
    assert found.weights is not None
    if unmet(problem, "model"):
        return {"claimed": found.objective, "violation": onto_simplex(found.weights)[1], "violated": "q"}
    with np.errstate(all="ignore"):
        model = Claimed(problem, found.weights, found.variables)
        objective = float(write(model))
    violated = max(model.violations, key=lambda name: model.violations[name])
    stated = [found.objective, objective if found.variables else None]
    values = [value for value in stated if value is not None and math.isfinite(value)]
    return {
        "claimed": min(values, default=None),
        "violation": model.violations[violated],
        "violated": violated,
    }
