"""Minimise PAC-Bayesian bounds over a finite set of classifiers.

>>> import pacb_models as pm
>>> problem = pm.BoundProblem([0.12, 0.15, 0.31], m=549, delta=0.05, distance="kl")
>>> solution = pm.solve(problem)
>>> problem.bound(solution.posterior) == solution.bound
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .binary_kl import kl_inverse
from .certificates import Certificate, certify, clopper_pearson
from .constants import moment_constant
from .cross_check import cross_check
from .direct import DirectProblem
from .errors import InputError, SolverUnavailableError, UnsupportedProblemError
from .problem import BoundProblem
from .registry import available_solvers, solve
from .solution import Solution

if TYPE_CHECKING:
    from .ensembles import StochasticClassifier, StochasticSVC

__version__ = "0.2.0"

__all__ = [
    "BoundProblem",
    "Certificate",
    "DirectProblem",
    "InputError",
    "Solution",
    "SolverUnavailableError",
    "StochasticClassifier",
    "StochasticSVC",
    "UnsupportedProblemError",
    "available_solvers",
    "certify",
    "clopper_pearson",
    "cross_check",
    "kl_inverse",
    "moment_constant",
    "solve",
]

# The estimators need scikit-learn, which costs more to import than everything else here.
_LAZY = ("StochasticClassifier", "StochasticSVC")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from . import ensembles

        return getattr(ensembles, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
