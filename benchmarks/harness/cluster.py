"""Measuring on the workers of a Dask scheduler."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any

from pacb_models import __version__
from pacb_models.cluster import check_workers, spread, version_complaint
from pacb_models.plugins import described
from pacb_models.solving.registry import available_solvers

from .measuring import Conditions, Pool
from .suites import Cell

Task = tuple[Cell, int]

#: The attribute of a Dask worker that holds the pools of its runs.
_POOLS = "pacb_pools"


def measured(
    tasks: Sequence[Task],
    execute: Callable[..., Any],
    conditions: Conditions,
    address: str,
    tell: Callable[[str], None],
) -> Generator[tuple[Task, dict[str, Any]], None, None]:
    """``execute(cell, repetition, pool)`` of every task on the cluster, as they finish, with a pool on each worker.

    What cannot be measured since a Dask worker dies of it again and again is an error of its own cell.
    """
    return spread(
        partial(_execute, execute, conditions),
        # Solver by solver: a worker keeps few processes, and each measures one.
        sorted(tasks, key=lambda task: task[0].solver),
        address,
        tell=tell,
        check=lambda client, workers: _check_workers(client, workers, [cell for cell, _ in tasks]),
        failed=lambda reason: {"status": "error", "message": described(reason)},
        finish=lambda client, workers: client.run(_end, conditions.run, workers=workers),
    )


def _execute(execute: Callable[..., Any], conditions: Conditions, task: Task) -> Any:
    from distributed import get_worker

    # With the worker, which may serve several runs and several threads. One that has ended stays, and measures nothing.
    pools = vars(get_worker()).setdefault(_POOLS, {})
    return execute(*task, pools.setdefault(conditions.run, Pool(conditions)))


def _end(run: str, dask_worker: Any) -> None:
    pool = vars(dask_worker).get(_POOLS, {}).get(run)
    if pool is not None:
        pool.end()


def _check_workers(client: Any, workers: list[str], cells: Sequence[Cell]) -> None:
    """Refuse before anything is measured where a worker lacks the code of a problem or a solver."""
    makers = {pickle.dumps(cell.problem.make): cell.problem.make for cell in cells}
    named = [(f"{make.__module__}.{make.__qualname__}", code) for code, make in makers.items()]
    check_workers(client, workers, complaint, __version__, sorted({cell.solver for cell in cells}), named)


def check_solvers(client: Any, workers: list[str]) -> None:
    """Refuse workers that lack a solver which runs here: what they compute would not be the same."""
    able = [name for name, state in available_solvers().items() if state.available]
    check_workers(client, workers, complaint, __version__, able)


def complaint(version: str, solvers: Sequence[str], makers: Sequence[tuple[str, bytes]] = ()) -> str:
    """What a Dask worker, where this runs, lacks: the version, a solver, what makes a problem; empty when nothing."""
    if (text := version_complaint(version)) != "":
        return text
    found = available_solvers()
    for name in solvers:
        if name not in found or not found[name].available:
            return f"cannot run the solver {name!r} ({found.get(name, 'it has none of that name')})"
    for name, code in makers:
        try:
            pickle.loads(code)
        except Exception as reason:
            return f"cannot import {name} ({described(reason)})"
    return ""
