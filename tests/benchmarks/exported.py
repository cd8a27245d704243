"""Problems that are small enough to be exported, solved by others and judged."""

import numpy as np

import pacb_models as pm
from pacb_models.benchmarks.problems.families import instances
from pacb_models.benchmarks.problems.problem import Problem
from pacb_models.constraints import Constraint

LATENCY = np.linspace(40.0, 10.0, 12)
ROWS = (pm.average(LATENCY, at_most=24.0, name="latency"), pm.average(LATENCY[::-1], 30.0, 12.0, name="memory (GiB)"))
BOX = pm.weights(at_most=0.2, at_least=0.01)


def smallest(kind: str) -> Problem:
    """The smallest tuned two-minima instance of a kind, for example "chi2-squared"."""
    found = [frozen for frozen in instances() if frozen.family == "one-good" and frozen.name.endswith(kind)]
    return min(found, key=lambda frozen: frozen.size)


def constrained_problem(*constraints: Constraint, size: int = 12, **bound: object) -> Problem:
    """The risks rise as the latencies fall: what is accurate is slow."""
    arguments = {"m": 300, "distance": "linear", "constraints": list(constraints)} | bound
    return Problem("constrained", "mine", pm.BoundProblem, {"risks": np.linspace(0.1, 0.4, size), **arguments})
