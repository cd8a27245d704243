"""Running a suite: cell after cell in processes that can be killed, logged as they finish, resumable."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pacb_models.errors import InputError, RunStopped
from pacb_models.registry import supported_claim

from . import environment, measuring
from .cluster import Task, measured
from .environment import Environments
from .measuring import IDLE_LIMIT, Conditions
from .results import LOG, LogError, ResultLog, export, read_rows
from .suites import Cell, Suite

#: Largest difference from the certified optimum that counts as correct.
CORRECT_GAP = 1e-7

Row = dict[str, Any]
Progress = Callable[[Row, int, int], None]


def execute(cell: Cell, repetition: int, conditions: Conditions) -> Row | None:
    """Measure one cell and complete its row. Runs in the runner, in a thread of it, or on a Dask worker."""
    found = measuring.measure(cell, conditions)
    return None if found is None else complete(cell, repetition, found, conditions)


def complete(cell: Cell, repetition: int, row: Row, conditions: Conditions) -> Row:
    """Add identity and judgement to a measurement.

    Success is a claim of optimality that the recomputed residuals support; correct is a bound within 1e-7 of the
    certified optimum, whatever is claimed. What is not a success is charged the time limit.
    """
    bound, reference = row.get("bound"), row.get("reference_bound")
    gap = None
    if bound is not None and reference is not None and math.isfinite(reference):
        gap = bound - reference
    claims = row.get("status") == "optimal"
    residuals = [math.inf if row.get(name) is None else row[name] for name in ("kkt_residual", "simplex_residual")]
    success = claims and supported_claim("optimal", *residuals) == "optimal"
    spent = (row.get("seconds") or 0.0) + (row.get("setup_seconds") or 0.0)
    limit = conditions.time_limit
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
        **row,
        "gap": gap,
        "claims": claims,
        "success": success,
        "correct": gap is not None and abs(gap) <= CORRECT_GAP,
        "charged_seconds": min(spent, limit) if success else limit,
        "time_limit": limit,
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
    if not sys.platform.startswith("linux"):
        raise InputError(
            f"the harness measures in processes that it limits and kills as Linux can; this is {sys.platform}. "
            "Solving, checking and certifying work here."
        )
    directory = Path(directory)
    conditions = Conditions(
        suite=suite.name,
        time_limit=suite.time_limit if time_limit is None else time_limit,
        with_memory=suite.measure_memory,
        memory_limit=environment.memory_bytes() // (2 * max(jobs, 1)) if memory_limit is None else memory_limit,
        threads=max(1, environment.cores() // max(jobs, 1)),
        parallel=jobs > 1 or dask is not None,
        idle_limit=IDLE_LIMIT if dask is not None else 0.0,
    )
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
            with closing(_measured(suite, todo, conditions, jobs, dask, known, tell)) as rows:
                for row in rows:
                    done += 1
                    if row is not None:
                        log.append({**row, "environment": _numbered(row["environment"], environments, directory)})
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
            measuring.end(conditions.run)
    return directory


def _export(directory: Path) -> None:
    if (directory / LOG).exists() and (directory / LOG).stat().st_size:
        export(directory)


def _numbered(described: dict[str, Any], environments: Environments, directory: Path) -> int:
    """The number of a row's environment; a new one is on disk before a row names it."""
    before = len(environments.listed)
    number = environments.number(described)
    if number > before:
        environments.write(directory)
    return number


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
    conditions: Conditions,
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
                yield complete(cell, repetition, _not_tried(cell, message), conditions)
            else:
                ready.append((cell, repetition))
        for row in _in_parallel(ready, conditions, jobs, dask, tell):
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
    tasks: Sequence[Task], conditions: Conditions, jobs: int, dask: str | None, tell: Callable[[str], None]
) -> Iterator[Row | None]:
    if not tasks:
        return
    if dask is not None:
        with closing(measured(tasks, execute, conditions, dask, tell)) as rows:
            for (cell, repetition), row in rows:
                # An error of Dask's own has no identity yet.
                yield row if row is None or "key" in row else complete(cell, repetition, row, conditions)
    elif jobs == 1:
        for cell, repetition in tasks:
            yield execute(cell, repetition, conditions)
    else:
        from joblib import Parallel, delayed

        # Threads here, a process of its own for each thread's solver: threads only wait.
        pool = Parallel(n_jobs=jobs, backend="threading", return_as="generator_unordered", pre_dispatch=jobs)
        yield from pool(delayed(execute)(cell, repetition, conditions) for cell, repetition in tasks)
