"""Running a suite: cell after cell in processes that can be killed, logged as they finish, resumable."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pacb_models.errors import InputError, RunStopped, SolverUnavailableError

from .. import verdict
from . import environment
from .cluster import Task, measured
from .environment import Environments
from .journal import LogError
from .measuring import IDLE_LIMIT, KEPT, KEPT_ON_DASK, Conditions, Pool
from .results import LOG, ResultLog, export, read_rows
from .suites import Cell, Suite

Row = dict[str, Any]
Progress = Callable[[Row, int, int], None]


def execute(cell: Cell, repetition: int, pool: Pool) -> Row | None:
    """Measure one cell and complete its row. Runs in the runner, in a thread of it, or on a Dask worker."""
    found = pool.measure(cell)
    return None if found is None else complete(cell, repetition, found, pool.conditions)


def complete(cell: Cell, repetition: int, row: Row, conditions: Conditions) -> Row:
    """Add identity and judgement (see :mod:`..verdict`) to a measurement."""
    return {
        "key": cell.key,
        "repetition": repetition,
        "environment": environment.describe(),
        "suite": conditions.suite,
        "problem": cell.problem.name,
        "dataset": cell.problem.dataset,
        "solver": cell.solver,
        "settings": json.dumps(cell.settings, sort_keys=True),
        "seed": cell.seed,
        "start": cell.start,
        "claims": False,
        **row,
        **verdict.of_run(row),
        "time_limit": conditions.time_limit,
        "memory_limit_bytes": conditions.memory_limit or None,
        "parallel": conditions.parallel,
        "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def run_suite(
    suite: Suite,
    directory: str | Path,
    *,
    jobs: int = 1,
    dask: str | None = None,
    resume: bool = False,
    retry_failed: bool = False,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    repeats: int = 1,
    progress: Progress | None = None,
    tell: Callable[[str], None] = lambda words: None,
) -> Path:
    """Measure every cell of a suite that the directory does not hold yet, and export the results.

    Parameters
    ----------
    suite : Suite
    directory : path
        Gets ``results.jsonl`` (one row per measurement, as it finishes), ``environment.json``, ``results.csv`` and
        ``results.parquet``.
    jobs : int
        Cells measured at the same time, with joblib.
    dask : str, optional
        Address of a Dask scheduler whose workers measure the cells instead.
    resume : bool
        Go on in a directory that holds results.
    retry_failed : bool
        With ``resume``: measure cells again that were no success.
    time_limit : float, optional
        Seconds per cell, instead of the suite's.
    memory_limit : int, optional
        Bytes that a measuring process may allocate, 0 for any number; by default half of the machine's memory, divided
        by ``jobs``.
    repeats : int
        How often every cell is measured, the whole suite after the whole suite. One that ran out of time is not
        measured again.
    progress : function, optional
        Called with (row, measurements done, measurements in all) after every one.
    tell : function, optional
        Called with a sentence that the user should know at once.

    Raises
    ------
    RunStopped
        When the run cannot go on: the log cannot be written, or the cluster is gone. What is measured is in the log.
    """
    # For the export at the end: a user who interrupts does not want to wait for them then.
    import pandas  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    directory = Path(directory)
    suite = _installed(suite, tell)
    conditions = Conditions(
        suite=suite.name,
        time_limit=suite.time_limit if time_limit is None else time_limit,
        with_memory=suite.measure_memory,
        memory_limit=environment.memory_bytes() // (2 * max(jobs, 1)) if memory_limit is None else memory_limit,
        parallel=jobs > 1 or dask is not None,
        idle_limit=0.0 if dask is None else IDLE_LIMIT,
        kept=KEPT if dask is None else KEPT_ON_DASK,
    )
    pool = Pool(conditions)
    with ResultLog(directory) as log:
        known = _known_rows(directory, resume)
        environments = Environments.read(directory)
        environments.plan = {"suite": suite.name, "cells": len(suite.cells), "repeats": repeats}
        environments.write(directory)
        settled = {(row["key"], row["repetition"]) for row in known if row["success"] or not retry_failed}
        tasks = [(cell, number) for number in range(repeats) for cell in suite.cells]
        todo = [(cell, number) for cell, number in tasks if (cell.key, number) not in settled]
        begun = done = len(tasks) - len(todo)
        try:
            with closing(_measured(suite, todo, pool, jobs, dask, known, tell)) as rows:
                for row in rows:
                    done += 1
                    if row is not None:
                        log.append({**row, "environment": environments.number(row["environment"], directory)})
                        if progress is not None:
                            progress(row, done, len(tasks))
            _export(directory)
        except (LogError, InputError) as reason:
            if isinstance(reason, InputError) and done == begun:
                raise
            # A file that cannot be written any more is a failure of the run, not of the user's words.
            raise RunStopped(str(reason).rstrip(".")) from None
        except BaseException:
            with suppress(InputError):
                _export(directory)
            raise
        finally:
            pool.end()
    return directory


def _installed(suite: Suite, tell: Callable[[str], None]) -> Suite:
    """The cells of solvers that can run here; the others are named, and are no failures."""
    found, absent = suite.installed()
    for name, reason in absent.items():
        tell(f"left out: {name}, which cannot run here ({reason})")
    if not found.cells:
        raise SolverUnavailableError(f"none of the solvers can run here: {', '.join(absent)}")
    return found


def _export(directory: Path) -> None:
    if (directory / LOG).exists() and (directory / LOG).stat().st_size:
        export(directory)


def _known_rows(directory: Path, resume: bool) -> list[Row]:
    log = directory / LOG
    if not log.exists() or log.stat().st_size == 0:
        return []
    if not resume:
        raise InputError(
            f"{directory} holds results already; go on with --resume or choose another directory with --out."
        )
    rows = read_rows(directory)
    if any(row["source"] is not None for row in rows):
        raise InputError(f"{directory} holds results merged from several directories; go on in those.")
    return rows


def _measured(
    suite: Suite,
    tasks: list[Task],
    pool: Pool,
    jobs: int,
    dask: str | None,
    known: list[Row],
    tell: Callable[[str], None],
) -> Generator[Row | None, None, None]:
    """Rows of the tasks as they finish, None for one that is not repeated.

    Where asked for, a solver that ran out of time is spared larger problems.
    """
    slow = [row for row in known if row["status"] == "time_limit"]
    out_of_time = {row["key"] for row in slow}
    exhausted = {_kind(row["solver"], row["settings"], row["problem"]) for row in slow}
    for batch in _batches(suite, tasks):
        ready = []
        for cell, repetition in batch:
            if repetition > 0 and cell.key in out_of_time:
                yield None
            elif suite.stop_at_limit and _kind_of(cell) in exhausted:
                message = "not tried: it ran out of time on a smaller problem"
                out_of_time.add(cell.key)
                yield complete(cell, repetition, _not_tried(cell, message), pool.conditions)
            else:
                ready.append((cell, repetition))
        for row in _in_parallel(ready, pool, jobs, dask, tell):
            if row is not None and row["status"] == "time_limit":
                out_of_time.add(row["key"])
                exhausted.add(_kind(row["solver"], row["settings"], row["problem"]))
            yield row


def _not_tried(cell: Cell, message: str) -> Row:
    described = {name: cell.problem.arguments.get(name) for name in ("m", "delta", "distance", "constant")}
    described["divergence"] = cell.problem.arguments.get("divergence", "chi2")
    return {"status": "time_limit", "message": message, "H": cell.problem.arguments.get("count"), **described}


def _batches(suite: Suite, tasks: list[Task]) -> list[list[Task]]:
    """A batch per repetition; or per size too, where a failure decides about larger problems."""
    batches: dict[tuple[Any, ...], list[Task]] = {}
    for cell, repetition in tasks:
        size = cell.problem.arguments.get("count") if suite.stop_at_limit else 0
        batches.setdefault((repetition, size), []).append((cell, repetition))
    return [batches[place] for place in sorted(batches)]


def _kind(solver: str, settings: str, problem: str) -> tuple[str, str, str]:
    """What must be equal for a failure at one size to say something about a larger one."""
    return solver, settings, "-".join(part for part in problem.split("-") if not part.startswith("H"))


def _kind_of(cell: Cell) -> tuple[str, str, str]:
    return _kind(cell.solver, json.dumps(cell.settings, sort_keys=True), cell.problem.name)


def _in_parallel(
    tasks: Sequence[Task], pool: Pool, jobs: int, dask: str | None, tell: Callable[[str], None]
) -> Iterator[Row | None]:
    if not tasks:
        return
    if dask is not None:
        with closing(measured(tasks, execute, pool.conditions, dask, tell)) as rows:
            for (cell, repetition), row in rows:
                # An error of Dask's own has no identity yet.
                yield row if row is None or "key" in row else complete(cell, repetition, row, pool.conditions)
    elif jobs == 1:
        for cell, repetition in tasks:
            yield execute(cell, repetition, pool)
    else:
        from joblib import Parallel, delayed

        # Threads here, which only wait for the pool's processes.
        threads = Parallel(n_jobs=jobs, backend="threading", return_as="generator_unordered", pre_dispatch=jobs)
        yield from threads(delayed(execute)(cell, repetition, pool) for cell, repetition in tasks)
