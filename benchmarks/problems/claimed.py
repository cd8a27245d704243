"""What a solver's file claims, beside its weights: a value, and that the rows of the model hold.

In the lifted model the value can be too small while the weights are good: a variable that stands for a sum may fall
short of the sum.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pacb_models import BoundProblem
from pacb_models.algebra import Squares, Values
from pacb_models.models.lifted import box, write
from pacb_models.solver import MODEL, lacking
from pacb_models.solving.judging import onto_simplex

from .solution_files import SolutionFile


class Claimed(Values):
    """The lifted model at the variables of a file: its objective, and by how much each row and range is violated."""

    def __init__(self, problem: BoundProblem, weights: np.ndarray, given: dict[str, float]) -> None:
        # Without what is negative, which is a violation of its own: a logarithm makes no number of it.
        super().__init__(problem, np.maximum(weights, 0.0))
        self._given = given
        self.violations = {"q": max(0.0, -float(weights.min()))}
        if problem.posteriors is not None:
            lower, upper = box(problem)
            self._violate("weights at least", float((lower - weights).max()))
            self._violate("weights at most", float((weights - upper).max()))
            self._violate("support", problem.posteriors.surplus(weights))

    def sqrt(self, x: Any) -> float:
        return np.sqrt(x)

    def variable(self, name: str, value: float, lower: float | None = None, upper: float | None = None) -> float:
        # NumPy's numbers: a file may have a zero that is divided by.
        value = np.float64(self._given.get(name, value))
        limits = [lower - value] if lower is not None else []
        self._violate(name, *limits, *([value - upper] if upper is not None else []))
        return super().variable(name, value)

    def constrain(self, name: str, left: Any, right: Any, equality: bool, scale: float) -> None:
        self._violate(name, abs(left - right) if equality else right - left)

    def _violate(self, name: str, *amounts: float) -> None:
        amounts = tuple(math.inf if math.isnan(amount) else float(amount) for amount in amounts)
        self.violations[name] = max(*amounts, self.violations.get(name, 0.0), 0.0)


class ClaimedSquares(Squares, Claimed):
    """The same for the model without square roots."""


class Claim(NamedTuple):
    """The smallest value that a file claims, its largest violation, and what is violated."""

    claimed: float | None
    violation: float
    violated: str


def claims(problem: BoundProblem, found: SolutionFile) -> Claim:
    """Return what a file claims of its weights."""
    assert found.weights is not None
    posterior, violation = onto_simplex(found.weights)
    if posterior is None or lacking(problem, *MODEL):
        return Claim(found.objective, violation, "q")
    with np.errstate(all="ignore"):
        models = [kind(problem, found.weights, found.variables) for kind in (Claimed, ClaimedSquares)]
        values = [float(write(model)) for model in models]
    # The formulation of the file is that whose variables it has.
    model, value = max(zip(models, values), key=lambda pair: len(found.variables.keys() & pair[0].variables.keys()))
    violated = max(model.violations, key=lambda name: model.violations[name])
    stated = [found.objective, value if found.variables else None]
    smallest = min((value for value in stated if value is not None and math.isfinite(value)), default=None)
    return Claim(smallest, model.violations[violated], violated)
