"""Run a method on a problem, or on many: :func:`solve`, :func:`solve_many`."""

import time
import traceback
from collections.abc import Iterable
from typing import Any

from ..distances.checks import check_once
from ..errors import InputError, SolverUnavailableError
from ..merging import Merged
from ..plugins import exception_text
from ..problem import Problem
from ..solution import Outcome, Solution
from ..solver import Solver
from ..validation import check_kind, check_whole
from .judging import BadOutcome, assess, check_form
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
        raise InputError("merge", merge, "it must be 'auto', True or False")
    check_kind("problem", problem, Problem, "a problem, as pm.BoundProblem makes one")
    check_once(problem)
    method = choose(problem, solver)
    known = method.option_names() if options else None
    for name in options:
        if known is not None and name not in known:
            valid = ", ".join(map(repr, known)) or "none"
            raise InputError(f"option {name!r} is unknown to solver {method.name!r}; its options are {valid}.")
    started = time.perf_counter()
    wanted = method.merges(problem, options) if merge == "auto" else merge
    merged = problem.merged() if wanted else Merged(problem, problem)
    ready = time.perf_counter()
    outcome, seconds = _attempt(method, merged.problem, options)
    outcome.setup_seconds += ready - started
    outcome.details["merged_size"] = merged.problem.size
    return merged.invert(assess(merged.problem, outcome, method.name, max(seconds, 0.0)), method)


def solve_many(
    problems: Iterable[Problem], solver: str | Solver = "auto", *, n_jobs: int | None = None
) -> list[Solution]:
    """Minimise many bounds, one after the other or in several processes.

    Parameters
    ----------
    problems : iterable of problems, in any mixture
    solver : str or Solver
        As in :func:`pacb_models.solve`.
    n_jobs : int, optional
        How many processes, as joblib counts them: -1 is one for each processor, None is one, or what
        ``joblib.parallel_config`` says.

    Returns
    -------
    list of Solution
        In the order of the problems.

    Examples
    --------
    >>> import pacb_models as pm
    >>> problems = [pm.BoundProblem([0.1, 0.2, 0.4], m=m, distance="squared") for m in (100, 1000)]
    >>> [solution.is_global for solution in pm.solve_many(problems)]
    [True, True]
    """
    from joblib import Parallel, delayed

    if n_jobs is not None:
        check_whole("n_jobs", n_jobs, lambda n: n != 0, "it must be a whole number other than 0, or None")
    check_kind("problems", problems, Iterable, "a sequence of problems")
    listed = list(problems)
    for number, problem in enumerate(listed):
        check_kind(f"problems[{number}]", problem, Problem, "a problem")
    solutions: list[Solution] = Parallel(n_jobs)(delayed(solve)(problem, solver) for problem in listed)
    return solutions


def _attempt(method: Solver, problem: Problem, options: dict[str, Any]) -> tuple[Outcome, float]:
    """Return what a method makes of a problem, and the seconds; one that fails in any way of its own has the status
    "error".

    Options that it refuses, software and memory that are missing, and an interrupt are not its own: they stay
    exceptions.
    """
    started = time.perf_counter()
    try:
        outcome = check_form(method.run(problem, **options), problem.size)
        return outcome, time.perf_counter() - started - outcome.setup_seconds
    except (InputError, SolverUnavailableError, MemoryError):
        raise
    except BadOutcome as reason:
        outcome = Outcome(None, "error", f"{reason}.")
    except (Exception, SystemExit) as reason:
        message = f"it raised {exception_text(reason)}."
        trace = "".join(traceback.format_tb(reason.__traceback__))
        outcome = Outcome(None, "error", message, details={"traceback": f"{trace}{message}"})
    return outcome, time.perf_counter() - started
