"""Solve many problems: :func:`solve_many`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..problem import Problem
from ..validation import check_kind, check_whole
from .running import solve

if TYPE_CHECKING:
    from ..solution import Solution
    from ..solver import Solver


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
