"""One way to run: a function on many tasks, here, in processes or threads of this machine, or on a cluster."""

import pickle
from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from pacb_models.plugins import exception_text
from pacb_models.solving.registry import available_solvers

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

    ``n_jobs`` calls run at once, in this process (1) or in others (-1: one per core), or in ``threads``, for what waits
    or works outside of Python's lock; or on the workers of the Dask scheduler at the address ``cluster``, where
    ``failed(*task, exception)`` makes a result of an exception, and ``how`` are further arguments of
    :func:`pacb_models.cluster.spread`. Unless ``blas`` says so, BLAS has one thread: results depend on their number, in
    the last digits.
    """
    if cluster is not None:
        from pacb_models.cluster import spread

        if failed is not None:
            how["failed"] = lambda task, reason: (task[0], failed(*task[1], reason))
        done = spread(_call, tasks.items(), cluster, shared=(function, blas), **{"check": check_solvers, **how})
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


def check_solvers(client: Any, solvers: Sequence[str] = (), makers: Iterable[Callable[..., Any]] = ()) -> None:
    """Refuse workers that lack a solver, by default one that runs here, or the code of a function."""
    from pacb_models.cluster import check_workers

    able = [name for name, state in available_solvers().items() if state.available]
    named = {pickle.dumps(make): f"{make.__module__}.{make.__qualname__}" for make in makers}
    check_workers(client, complaint, solvers or able, named)


def complaint(version: str, solvers: Sequence[str], makers: Mapping[bytes, str]) -> str:
    """Return what a Dask worker, where this runs, lacks: the version, a solver, code; empty when nothing."""
    from pacb_models.cluster import version_complaint

    if text := version_complaint(version):
        return text
    found = available_solvers()
    for name in solvers:
        if name not in found or not found[name].available:
            return f"cannot run the solver {name!r} ({found.get(name, 'it has none of that name')})"
    for code, name in makers.items():
        try:
            pickle.loads(code)
        except Exception as reason:
            return f"cannot import {name} ({exception_text(reason)})"
    return ""
