"""Minimise PAC-Bayesian bounds over a finite set of classifiers.

>>> import pacb_models as pm
>>> problem = pm.BoundProblem([0.12, 0.15, 0.31], m=549, delta=0.05, distance="kl")
>>> solution = pm.solve(problem)
>>> problem.bound(solution.posterior) == solution.bound
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .binary_kl import kl_inverse
    from .certificates import Certificate, ErrorCounts, clopper_pearson
    from .certificates.certify import certify
    from .checking import cross_check
    from .constants import moment_constant
    from .direct import DirectProblem
    from .ensembles import CertifiedClassifier, StochasticClassifier, StochasticSVC
    from .errors import InputError, SolverUnavailableError, UnsupportedProblemError
    from .many import ProblemBatch, SolutionBatch, solve_many
    from .problem import BoundProblem
    from .registry import available_solvers, solve
    from .solution import Solution

__version__ = "0.2.0"

__all__ = [
    "BoundProblem",
    "Certificate",
    "CertifiedClassifier",
    "DirectProblem",
    "ErrorCounts",
    "InputError",
    "ProblemBatch",
    "Solution",
    "SolutionBatch",
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
    "solve_many",
]

#: Where the public names live. A module is imported when a name of it is first used: nobody waits for NumPy or
#: scikit-learn who does not need them, and ``pacb`` can be interrupted while they load.
_HOME = {
    "BoundProblem": "problem",
    "Certificate": "certificates",
    "CertifiedClassifier": "ensembles",
    "DirectProblem": "direct",
    "ErrorCounts": "certificates",
    "InputError": "errors",
    "ProblemBatch": "many",
    "Solution": "solution",
    "SolutionBatch": "many",
    "SolverUnavailableError": "errors",
    "StochasticClassifier": "ensembles",
    "StochasticSVC": "ensembles",
    "UnsupportedProblemError": "errors",
    "available_solvers": "registry",
    "certify": "certificates",
    "clopper_pearson": "certificates",
    "cross_check": "checking",
    "kl_inverse": "binary_kl",
    "moment_constant": "constants",
    "solve": "registry",
    "solve_many": "many",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
