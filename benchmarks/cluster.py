"""Measuring on the workers of a Dask scheduler."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any

from pacb_models import __version__
from pacb_models.cluster import check_workers, spread, version_complaint
from pacb_models.plugins import described
from pacb_models.registry import available_solvers, solver_names

from . import measuring
from .measuring import Conditions
from .suites import Cell

Task = tuple[Cell, int]


def measured(
    tasks: Sequence[Task],
    execute: Callable[..., Any],
    conditions: Conditions,
    address: str,
    tell: Callable[[str], None],
) -> Generator[tuple[Task, dict[str, Any]], None, None]:
    """``execute(cell, repetition, conditions)`` of every task on the cluster, as they finish.

    What cannot be measured since a Dask worker dies of it again and again is an error of its own cell.
    """
    return spread(
        partial(_execute, execute, conditions),
        tasks,
        address,
        tell=tell,
        check=lambda client: _check_workers(client, [cell for cell, _ in tasks]),
        failed=lambda reason: {"status": "error", "message": described(reason)},
        finish=lambda client: client.run(measuring.end, conditions.run),
    )


def _execute(execute: Callable[..., Any], conditions: Conditions, task: Task) -> Any:
    return execute(*task, conditions)


def _check_workers(client: Any, cells: Sequence[Cell]) -> None:
    """Refuse before anything is measured where a worker lacks the code of a problem or a solver."""
    makers = {pickle.dumps(cell.problem.make): cell.problem.make for cell in cells}
    named = [(f"{make.__module__}.{make.__qualname__}", code) for code, make in makers.items()]
    check_workers(client, complaint, __version__, named, sorted({cell.solver for cell in cells}))


def check_solvers(client: Any) -> None:
    """Refuse workers that lack a solver which runs here: what they compute would not be the same."""
    able = [name for name, state in available_solvers().items() if state.available]
    check_workers(client, solver_complaint, __version__, able)


def solver_complaint(version: str, solvers: Sequence[str]) -> str:
    """What a Dask worker, where this runs, says of solvers that it cannot run; empty when it can run all."""
    if (text := version_complaint(version)) != "":
        return text
    found = available_solvers()
    absent = [name for name in solvers if name not in found or not found[name].available]
    return f"cannot run the solver {absent[0]!r}" if absent else ""


def complaint(version: str, makers: Sequence[tuple[str, bytes]], solvers: Sequence[str]) -> str:
    """What a Dask worker, where this runs, lacks; empty when nothing."""
    if (text := version_complaint(version)) != "":
        return text
    for name, code in makers:
        try:
            pickle.loads(code)
        except Exception as reason:
            return f"cannot import {name} ({described(reason)})"
    absent = [solver for solver in solvers if solver not in solver_names()]
    return f"has no solver {absent[0]!r}" if absent else ""
