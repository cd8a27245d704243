"""Run a method on a problem: :func:`solve`."""

from __future__ import annotations

import inspect
import time
import traceback
from functools import lru_cache
from typing import Any

from ..distances.checks import check_once
from ..errors import InputError, SolverUnavailableError
from ..plugins import described
from ..problem import Problem
from ..solution import Outcome, Solution
from ..solver import Solver
from .judging import BadOutcome, assess, check_form
from .merging import Merged
from .registry import choose


def solve(problem: Problem, solver: str | Solver = "auto", *, merge: str | bool = "auto", **options: Any) -> Solution:
    """Minimise a bound.

    Parameters
    ----------
    problem : BoundProblem or DirectProblem
        Or any other :class:`~pacb_models.problem.Problem` with ``bound`` and ``gradient``.
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
        reported as optimal, whatever the solver claims. A solver that raises an exception has the status "error" and no
        posterior.

    Examples
    --------
    >>> import pacb_models as pm
    >>> problem = pm.BoundProblem([0.1, 0.2, 0.4], m=500, delta=0.05, distance="linear")
    >>> solution = pm.solve(problem)
    >>> solution.status, solution.is_global
    ('optimal', True)
    """
    if not isinstance(merge, bool) and merge != "auto":
        raise InputError(f"merge is {merge!r}; it must be 'auto', True or False.")
    check_once(problem)
    method = choose(problem, solver)
    if options:
        _check_options(method, options)
    started = time.perf_counter()
    wanted = method.merges(problem, options) if merge == "auto" else merge
    merged = problem.merged() if wanted else Merged(problem, problem)
    ready = time.perf_counter()
    outcome = attempt(method, merged.problem, options)
    seconds = time.perf_counter() - ready - outcome.setup_seconds
    outcome.setup_seconds += ready - started
    outcome.details["merged_size"] = merged.problem.size
    return merged.invert(assess(merged.problem, outcome, method.name, max(seconds, 0.0)), method)


def attempt(method: Solver, problem: Problem, options: dict[str, Any]) -> Outcome:
    """What a method makes of a problem; one that fails in any way of its own has the status "error".

    Options that it refuses, software and memory that are missing, and an interrupt are not its own: they stay
    exceptions. It gets a problem of its own: later solvers, and the judge, see what the caller gave, and nothing that
    it computed from that.
    """
    own = object.__new__(type(problem))
    vars(own).update(vars(problem))
    try:
        outcome = check_form(method.run(own, **options), problem.size)
        changed = [name for name, value in vars(problem).items() if vars(own).get(name) is not value]
        if changed:
            raise BadOutcome(f"it changed {', '.join(changed)} of the problem that it was given")
        return outcome
    except (InputError, SolverUnavailableError, MemoryError):
        raise
    except BadOutcome as reason:
        return Outcome(None, "error", f"{reason}.")
    except (Exception, SystemExit) as reason:
        message = f"it raised {described(reason)}."
        return Outcome(None, "error", message, details={"traceback": traceback.format_exc()})


def _check_options(method: Solver, options: dict[str, Any]) -> None:
    """Refuse keywords that the method's ``run`` does not take; one that takes ``**options`` judges for itself."""
    known = _options_of(type(method).run)
    if known is None:
        return
    for name in options:
        if name not in known:
            valid = ", ".join(map(repr, known)) or "none"
            raise InputError(f"option {name!r} is unknown to solver {method.name!r}; its options are {valid}.")


@lru_cache(maxsize=256)
def _options_of(run: Any) -> tuple[str, ...] | None:
    """The names of a method's options; None when it takes any."""
    parameters = list(inspect.signature(run).parameters.values())[2:]
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return tuple(parameter.name for parameter in parameters)
