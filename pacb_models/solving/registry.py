"""Finding solvers and running them: :func:`solve`, :func:`available_solvers`.

Solvers are found through the entry-point group ``pacb_models.solvers`` only, so a third party's registers as ours do.
"""

import reprlib
from collections.abc import Callable
from functools import cache
from typing import Any

from ..errors import InputError, SolverUnavailableError, UnsupportedProblemError
from ..plugins import FileEntry, PluginError, exception_text, in_files, load, made_known, registered
from ..problem import Problem
from ..solver import Solver
from ..validation import check_kind

SOLVERS_GROUP = "pacb_models.solvers"

#: Order in which solvers are listed; others follow by name.
_ORDER = (
    "frontier fixed-point subset-search direct cvxpy ipopt cyipopt ccp mirror spg lbfgsb frank-wolfe softmax casadi "
    "dnlp slsqp trust-constr scip"
).split()


def _entry_points() -> dict[str, Any]:
    return _listed(in_files())


@cache
def _listed(files: tuple[FileEntry, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {entry.name: entry for entry in registered(SOLVERS_GROUP)}
    found |= {entry.name: entry for entry in files}
    rank = {name: position for position, name in enumerate(_ORDER)}
    return {name: found[name] for name in sorted(found, key=lambda name: (rank.get(name, len(rank)), name))}


def solver_names() -> list[str]:
    """Return names of all registered solvers, whether or not they can run here."""
    return list(_entry_points())


def named_solver(text: str) -> str:
    """Return the name of a solver that a user typed: itself, or that of the solver in a file ``mine.py:SOLVER``, or
    that of a program ``nl:PROGRAM``.
    """
    return made_known(text, solver_names, _solver)


def solver_identity(name: str) -> str:
    """Return what tells a solver from others of its name: for one in a file, a digest of the file."""
    entry = _entry_points().get(name)
    return f"{name} {entry.digest}" if isinstance(entry, FileEntry) else name


def get_solver(name: str) -> Solver:
    """Return the registered solver of that name."""
    points = _entry_points()
    check_kind("solver", name, str, "the name of a solver, or a Solver")
    if name not in points:
        raise InputError("solver", name, f"it must be 'auto' or one of {', '.join(map(repr, points))}")
    return _loaded(points[name])


@cache
def _loaded(entry: Any) -> Solver:
    try:
        return load(entry, _solver)
    except PluginError as reason:
        return _Unloadable(entry.name, str(reason).rstrip("."))


def _solver(found: object) -> Solver:
    """Return what an entry point names, when it is a solver."""
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
        """Refuse nothing, as nothing is known of it; :meth:`missing` has the reason that counts."""
        return None


class Availability(str):
    """What keeps a solver from running; empty (and false as a complaint) when nothing does."""

    @property
    def available(self) -> bool:
        return not self


def available_solvers(problem: Problem | None = None) -> dict[str, Availability]:
    """Return every registered solver with what keeps it from running here (or on ``problem``); empty when nothing does.

    >>> import pacb_models as pm
    >>> pm.available_solvers()["frontier"].available
    True
    """
    if problem is not None:
        check_kind("problem", problem, Problem, "a problem, as pm.BoundProblem makes one")
    table = {}
    for name in solver_names():
        solver = get_solver(name)
        reason = _asked(solver.missing)
        if reason is None and problem is not None:
            reason = _asked(solver.refusal, problem)
        table[name] = Availability(reason or "")
    return table


def _asked(question: Callable[..., str | None], *arguments: object) -> str | None:
    """Return what a solver says that keeps it from running; an exception keeps it too, and no other solver."""
    try:
        return question(*arguments)
    except (Exception, SystemExit) as reason:
        return f"it raised {exception_text(reason)}"


def capable_solvers(problem: Problem) -> list[str]:
    """Return names of the solvers that can handle the problem, installed or not."""
    return [name for name in solver_names() if _asked(get_solver(name).refusal, problem) is None]


def choose(problem: Problem, solver: str | Solver) -> Solver:
    """Return the method for a problem, or an error that says why it cannot run."""
    if solver == "auto":
        return _automatic(problem)
    method = solver if isinstance(solver, Solver) else get_solver(solver)
    reason = _asked(method.refusal, problem)
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
    """Return the first exact solver that can, else the first that can. Exact ones are listed first, so few are
    imported."""
    fallback = None
    for entry in _entry_points().values():
        method = _loaded(entry)
        if _asked(method.refusal, problem) is not None or _asked(method.missing) is not None:
            continue
        if method.exact:
            return method
        fallback = fallback or method
    if fallback is None:
        raise UnsupportedProblemError(f"no solver that can run here minimises {problem.describe()}.")
    return fallback
