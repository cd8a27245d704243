"""Finding solvers and running them: :func:`solve`, :func:`available_solvers`.

Solvers are found through the entry-point group ``pacb_models.solvers`` only, so a third party's registers as ours do.
"""

from __future__ import annotations

import inspect
import math
import numbers
import reprlib
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

import numpy as np

from .errors import InputError, SolverUnavailableError, UnsupportedProblemError
from .merging import Merged
from .plugins import PluginError, described, load, registered
from .problem import Problem
from .solution import STATUSES, Outcome, Solution
from .solver import Solver

GROUP = "pacb_models.solvers"

#: A point whose recomputed KKT residual, or whose own weights' distance from the simplex, is above this is never
#: reported as "optimal" ...
OPTIMAL_RESIDUAL = 1e-6
#: ... and above this not even as "acceptable".
ACCEPTABLE_RESIDUAL = 1e-4

#: A lower bound may exceed the bound of the solver's own posterior by rounding, up to this. More refutes it.
ROUNDING = 1e-12

#: Order in which solvers are listed; others follow by name.
_ORDER = (
    "frontier",
    "fixed-point",
    "subset-search",
    "direct",
    "cvxpy",
    "ipopt",
    "cyipopt",
    "ccp",
    "mirror",
    "spg",
    "lbfgsb",
    "frank-wolfe",
    "softmax",
    "casadi",
    "dnlp",
    "slsqp",
    "trust-constr",
    "scip",
)

#: Names that solvers had, and those of today.
_RENAMED = {"scipy": "'slsqp' and 'trust-constr'"}


@lru_cache(maxsize=1)
def _entry_points() -> dict[str, Any]:
    found = {entry.name: entry for entry in registered(GROUP)}
    rank = {name: position for position, name in enumerate(_ORDER)}
    return {name: found[name] for name in sorted(found, key=lambda name: (rank.get(name, len(rank)), name))}


def solver_names() -> list[str]:
    """Names of all registered solvers, whether or not they can run here."""
    return list(_entry_points())


@cache
def get_solver(name: str) -> Solver:
    """The registered solver of that name."""
    points = _entry_points()
    if name in _RENAMED and name not in points:
        raise InputError(f"solver is {name!r}, which is called {_RENAMED[name]} now.")
    if name not in points:
        raise InputError(f"solver is {name!r}; it must be 'auto' or one of {', '.join(map(repr, points))}.")
    try:
        return load(points[name], _solver)
    except PluginError as reason:
        return _Unloadable(name, str(reason).rstrip("."))


def _solver(found: object) -> Solver:
    """What an entry point names, when it is a solver."""
    if not isinstance(found, Solver):
        raise TypeError(f"it is {reprlib.repr(found)}, not an instance of pacb_models.solver.Solver")
    return found


class _Unloadable(Solver):
    """Stands for an entry point that cannot be used, so that one broken package does not take the others along."""

    def __init__(self, name: str, reason: str) -> None:
        self.name, self.reason = name, reason

    def missing(self) -> str:
        return self.reason

    def unsupported(self, problem: Problem) -> None:
        """Nothing is known of what it handles; :meth:`missing` has the reason that counts."""
        return None


class Availability(str):
    """What keeps a solver from running; empty (and false as a complaint) when nothing does."""

    @property
    def available(self) -> bool:
        return not self


def available_solvers(problem: Problem | None = None) -> dict[str, Availability]:
    """Every registered solver with what keeps it from running here (or on ``problem``); empty when nothing does.

    >>> import pacb_models as pm
    >>> pm.available_solvers()["frontier"].available
    True
    """
    table = {}
    for name in solver_names():
        solver = get_solver(name)
        reason = _asked(solver.missing)
        if reason is None and problem is not None:
            reason = _asked(solver.unsupported, problem)
        table[name] = Availability(reason or "")
    return table


def _asked(question: Callable[..., str | None], *arguments: object) -> str | None:
    """What a solver says that keeps it from running; an exception keeps it too, and no other solver."""
    try:
        return question(*arguments)
    except Exception as reason:
        return f"it raised {described(reason)}"


def capable_solvers(problem: Problem) -> list[str]:
    """Names of the solvers that can handle the problem, installed or not."""
    return [name for name in solver_names() if _asked(get_solver(name).unsupported, problem) is None]


def solve(problem: Problem, solver: str | Solver = "auto", *, merge: str | bool = "auto", **options: Any) -> Solution:
    """Minimise a bound.

    Parameters
    ----------
    problem : BoundProblem or DirectProblem
    solver : str or Solver
        A registered name, or a solver object that is not registered; ``"auto"`` takes the exact global solver where it
        applies, else the first that can.
    merge : {"auto", True, False}
        Whether classifiers of equal risk are made one for the solver, which is exact (see :meth:`Problem.merged`) and
        leaves at most ``m + 1`` of them. The solution is that of the problem as given: weights are shared out again and
        supports counted in its classifiers. ``"auto"`` hands the problem over as it is where the answer could depend on
        it (to the paper's Algorithm 1 and its convex–concave procedure, and when there is a starting posterior), and to
        ``frontier`` when it is small, where merging takes longer than it saves. False always does.
        ``details["merged_size"]`` is the number of classifiers that the solver saw.
    **options
        Passed to the solver; see its documentation.

    Returns
    -------
    Solution
        With bound and residuals recomputed from the weights. A point that fails our own stationarity check is never
        reported as optimal, whatever the solver claims.

    Examples
    --------
    >>> import pacb_models as pm
    >>> problem = pm.BoundProblem([0.1, 0.2, 0.4], m=500, delta=0.05, distance="linear")
    >>> solution = pm.solve(problem)
    >>> solution.status, solution.is_global
    ('optimal', True)
    """
    method = choose(problem, solver)
    _check_options(method, options)
    started = time.perf_counter()
    merged = problem.merged() if _may_merge(merge, problem, method, options) else Merged(problem, problem)
    ready = time.perf_counter()
    outcome = _checked(method.run(merged.problem, **options), merged.problem.size, method.name)
    seconds = time.perf_counter() - ready - outcome.setup_seconds
    outcome.setup_seconds += ready - started
    outcome.details["merged_size"] = merged.problem.size
    solution = assess(merged.problem, outcome, method.name, max(seconds, 0.0))
    return solution if merged.groups is None else _of_original(solution, merged, method)


def _checked(outcome: object, size: int, solver: str) -> Outcome:
    """What a solver returned, when it has the form of an outcome; another package's may return anything."""
    if not isinstance(outcome, Outcome):
        raise RuntimeError(f"solver {solver!r} returned {reprlib.repr(outcome)}; it must return an Outcome.")

    def require(field: str, holds: bool, expected: str) -> None:
        if not holds:
            shown = reprlib.repr(getattr(outcome, field))
            raise RuntimeError(f"solver {solver!r} returned the {field} {shown}; it must be {expected}.")

    require("status", outcome.status in STATUSES, f"one of {', '.join(STATUSES)}")
    weights = outcome.posterior
    if weights is not None:
        numeric = isinstance(weights, np.ndarray | list | tuple) and np.asarray(weights).dtype.kind in "fiu"
        require("posterior", numeric and np.shape(weights) == (size,), f"an array of {size} numbers, or None")
    require("iterations", outcome.iterations is None or _is_number(outcome.iterations, numbers.Integral), "a count")
    require("setup_seconds", _is_number(outcome.setup_seconds, numbers.Real), "a number")
    require("lower_bound", outcome.lower_bound is None or _is_number(outcome.lower_bound, numbers.Real), "a number")
    require("message", isinstance(outcome.message, str), "a text")
    require("local_minima", isinstance(outcome.local_minima, tuple), "a tuple")
    require("details", isinstance(outcome.details, dict), "a dict")
    return outcome


def _is_number(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _may_merge(merge: str | bool, problem: Problem, method: Solver, options: dict[str, Any]) -> bool:
    """Whether the solver is to see a merged problem."""
    if merge == "auto":
        return method.merges(problem, options)
    if not isinstance(merge, bool):
        raise InputError(f"merge is {merge!r}; it must be 'auto', True or False.")
    return merge


def _of_original(solution: Solution, merged: Merged[Any], method: Solver) -> Solution:
    """A solution of the merged problem as one of the original. Bound, divergence and KKT residual are the same."""
    posterior = None if solution.posterior is None else merged.expand(solution.posterior)
    return replace(
        solution,
        posterior=posterior,
        support_size=0 if posterior is None else int(np.count_nonzero(posterior)),
        local_minima=merged.expand_points(solution.local_minima),
        details=method.expand_details(solution.details, merged),
    )


def _check_options(method: Solver, options: dict[str, Any]) -> None:
    """Refuse keywords that the method's ``run`` does not take; one that takes ``**options`` judges for itself."""
    if not options:
        return
    parameters = inspect.signature(method.run).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return
    known = [parameter.name for parameter in parameters][1:]
    for name in options:
        if name not in known:
            valid = ", ".join(map(repr, known)) or "none"
            raise InputError(f"option {name!r} is unknown to solver {method.name!r}; its options are {valid}.")


def choose(problem: Problem, solver: str | Solver) -> Solver:
    """The method for a problem, or an error that says why it cannot run."""
    if solver == "auto":
        return _automatic(problem)
    method = solver if isinstance(solver, Solver) else get_solver(solver)
    reason = _asked(method.unsupported, problem)
    if reason is not None:
        able = ", ".join(capable_solvers(problem)) or "no registered solver"
        raise UnsupportedProblemError(
            f"solver {method.name!r} cannot minimise {problem.describe()} ({reason}); {able} can."
        )
    missing = _asked(method.missing)
    if missing is not None:
        raise SolverUnavailableError(f"solver {method.name!r} cannot run here: {missing}.")
    return method


def _automatic(problem: Problem) -> Solver:
    """The first exact solver that can, else the first that can. Exact ones are listed first, so few are imported."""
    fallback = None
    for name in solver_names():
        method = get_solver(name)
        if _asked(method.unsupported, problem) is not None or _asked(method.missing) is not None:
            continue
        if method.exact:
            return method
        fallback = fallback or method
    if fallback is None:
        raise UnsupportedProblemError(f"no solver that can run here minimises {problem.describe()}.")
    return fallback


def onto_simplex(weights: np.ndarray) -> tuple[np.ndarray | None, float]:
    """Solver output as a posterior (negative noise cut off, sum one), and how far off the simplex it was.

    The posterior is None when nothing usable is left.
    """
    q = np.asarray(weights, dtype=np.float64)
    lowest, total = float(q.min()), float(q.sum())
    violation = max(-lowest, abs(total - 1.0))
    if lowest < 0.0:
        q = np.maximum(q, 0.0)
        total = float(q.sum())
    if not (math.isfinite(total) and total > 0.0):
        return None, math.inf
    return (q if total == 1.0 else q / total), violation


def assess(problem: Problem, outcome: Outcome, solver: str, seconds: float) -> Solution:
    """Turn a solver's outcome into a solution: recompute everything, and correct a claim that does not hold."""
    posterior, violation = (None, math.inf) if outcome.posterior is None else onto_simplex(outcome.posterior)
    status, message = outcome.status, outcome.message
    bound, risk, divergence, residual, support = math.inf, math.nan, math.nan, math.inf, 0
    if posterior is not None:
        risk = problem.empirical_risk(posterior)
        divergence = problem.divergence_function.value(problem.statistic(posterior))
        bound, residual = problem.judge(posterior)
        support = int(np.count_nonzero(posterior))
    elif status in ("optimal", "acceptable"):
        message = f"no usable weights were returned; the solver said {status!r}. {message}".strip()
        status = "numerical_error"
    if status in ("optimal", "acceptable"):
        held = supported_claim(status, residual, violation)
        if held != status:
            fact = (
                f"the KKT residual is {residual:.1e}"
                if residual >= violation
                else f"its weights are off the simplex by {violation:.1e}"
            )
            message = f"the solver said {status!r}, but {fact}. {message}".strip()
            status = held
    lower_bound = outcome.lower_bound
    refuted = lower_bound is not None and not lower_bound <= bound + ROUNDING
    if refuted:
        message = (
            f"the solver's lower bound, {lower_bound:.10g}, is above the bound of its own weights. {message}".strip()
        )
    return Solution(
        posterior=posterior,
        bound=float(bound),
        empirical_risk=float(risk),
        divergence=float(divergence),
        support_size=support,
        status=status,
        message=message,
        iterations=outcome.iterations,
        seconds=seconds,
        setup_seconds=outcome.setup_seconds,
        kkt_residual=float(residual),
        is_global=outcome.is_global and status == "optimal" and not refuted,
        solver=solver,
        local_minima=outcome.local_minima,
        details={**outcome.details, "simplex_violation": violation},
        lower_bound=None if lower_bound is None or refuted else min(float(lower_bound), float(bound)),
    )


def supported_claim(status: str, kkt_residual: float, simplex_violation: float) -> str:
    """The strongest of "optimal", "acceptable", "not_converged" that a claim and the recomputed residuals allow.

    The one rule for what counts as solved: :func:`solve` corrects claims by it, and the benchmarks judge by it.
    """
    off = max(kkt_residual, simplex_violation)
    if off <= OPTIMAL_RESIDUAL:
        return status
    return "acceptable" if off <= ACCEPTABLE_RESIDUAL else "not_converged"
