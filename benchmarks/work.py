"""One way to run: a function on many tasks, here, in processes or threads of this machine, or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Mapping
from typing import Any, TypeVar

Key = TypeVar("Key", bound=Hashable)


def run(
    function: Callable[..., Any],
    tasks: Mapping[Key, tuple[Any, ...]],
    n_jobs: int = 1,
    cluster: str | None = None,
    *,
    threads: bool = False,
    blas: bool = False,
    failed: Callable[..., Any] | None = None,
    **how: Any,
) -> Generator[tuple[Key, Any], None, None]:
    """Yield the key of every task with ``function(*task)``, as they finish.

    Parameters
    ----------
    function : callable
        One that processes and workers can import.
    tasks : mapping
        The arguments of each call, by a key.
    n_jobs : int
        Calls at once: 1 in this process, -1 for one per core.
    cluster : str, optional
        The address of a Dask scheduler, whose workers are used instead.
    threads : bool
        Threads instead of processes: for what waits, or works outside of Python's lock.
    blas : bool
        Let BLAS have its threads. Results depend on their number, in the last digits.
    failed : function, optional
        On a cluster: makes a result of a task and its exception, ``failed(*task, exception)``, which else is raised.
    how
        Further arguments of :func:`pacb_models.cluster.spread`.
    """
    if cluster is not None:
        from pacb_models.cluster import spread

        from .harness.cluster import check_solvers

        if failed is not None:
            how["failed"] = lambda task, reason: (task[0], failed(*task[1], reason))
        done = spread(_call, list(tasks.items()), cluster, shared=(function, blas), **{"check": check_solvers, **how})
        yield from (result for _, result in done)
    elif n_jobs == 1:
        yield from (_call((function, blas), task) for task in tasks.items())
    else:
        from joblib import Parallel, delayed

        from pacb_models.processes import ended_with_us

        with ended_with_us():
            parallel = Parallel(n_jobs, prefer="threads" if threads else None, return_as="generator_unordered")
            yield from parallel(delayed(_call)((function, blas), task) for task in tasks.items())


def _call(shared: tuple[Callable[..., Any], bool], task: tuple[Any, tuple[Any, ...]]) -> tuple[Any, Any]:
    from threadpoolctl import threadpool_limits

    (function, blas), (key, arguments) = shared, task
    with threadpool_limits(None if blas else 1):
        return key, function(*arguments)
