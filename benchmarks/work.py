"""Calls of a function, shared out over processes or over the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any


def finished(
    function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], jobs: int, dask: str | None = None
) -> Iterator[tuple[int, Any]]:
    """The place of each argument list and what the function returns for it, as they finish; one BLAS thread each."""
    if dask is not None:
        from pacb_models.cluster import spread

        from .harness.cluster import check_solvers

        tasks = list(enumerate(arguments))
        done = spread(_call, tasks, dask, shared=function, check=check_solvers)
        yield from ((place, result) for (place, _), result in done)
        return
    from joblib import Parallel, delayed

    from pacb_models.processes import ended_with_us

    with ended_with_us():
        work = (delayed(_call)(function, task) for task in enumerate(arguments))
        yield from enumerate(Parallel(n_jobs=jobs, return_as="generator")(work))


def _call(function: Callable[..., Any], task: tuple[int, tuple[Any, ...]]) -> Any:
    # The last digits of a linear solve depend on the number of threads.
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return function(*task[1])
