"""Measuring on the workers of a Dask scheduler."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

from pacb_models.cluster import check_workers, version_complaint
from pacb_models.plugins import exception_text
from pacb_models.solving.registry import available_solvers

from .environment import Description, described_here
from .measurement import Measurement
from .measuring import Conditions, Pool, begun
from .suites import Cell

Turn = tuple[Cell, int]
#: A row, and the environment that it was measured in.
Measured = tuple[Measurement, Description]

#: The attribute of a Dask worker that holds the pools of its runs.
_POOLS = "pacb_pools"


def measured_there(conditions: Conditions, cell: Cell, repetition: int) -> Measured | None:
    """Measure one cell on a Dask worker, with the processes that it has for the run."""
    from distributed import get_worker

    # With the worker, which may serve several runs and several threads. One that has ended stays, and measures nothing.
    pools = vars(get_worker()).setdefault(_POOLS, {})
    return measured_here(pools.setdefault(conditions.run, Pool(conditions)), cell, repetition)


def measured_here(pool: Pool, cell: Cell, repetition: int) -> Measured | None:
    """Measure one cell, and describe where; None when the run has ended."""
    found = pool.measure(cell, repetition)
    return None if found is None else (found, described_here())


def on_workers(conditions: Conditions, tasks: Sequence[Turn]) -> dict[str, Any]:
    """What :func:`..work.run` is told for a cluster.

    What cannot be measured since a Dask worker dies of it again and again is an error of its own cell.
    """

    def lost(cell: Cell, repetition: int, reason: Exception) -> Measured:
        return begun(cell, repetition, conditions).told({"message": exception_text(reason)}), described_here()

    cells = [cell for cell, _ in tasks]
    return {
        "check": lambda client: _check_workers(client, cells),
        "failed": lost,
        "finish": lambda client: client.run(_end, conditions.run),
    }


def _end(run: str, dask_worker: Any) -> None:
    pool = vars(dask_worker).get(_POOLS, {}).get(run)
    if pool is not None:
        pool.end()


def _check_workers(client: Any, cells: Sequence[Cell]) -> None:
    """Refuse before anything is measured where a worker lacks the code of a problem or a solver."""
    makers = {pickle.dumps(cell.problem.make): cell.problem.make for cell in cells}
    named = [(f"{make.__module__}.{make.__qualname__}", code) for code, make in makers.items()]
    check_workers(client, complaint, sorted({cell.solver for cell in cells}), named)


def check_solvers(client: Any) -> None:
    """Refuse workers that lack a solver which runs here: what they compute would not be the same."""
    able = [name for name, state in available_solvers().items() if state.available]
    check_workers(client, complaint, able)


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
            return f"cannot import {name} ({exception_text(reason)})"
    return ""
