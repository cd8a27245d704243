"""Running a suite: cell after cell in processes that can be killed, logged as they finish, resumable."""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

from pacb_models.errors import InputError, RunStopped
from pacb_models.plugins import exception_text

from .. import verdict
from ..store import digest
from ..work import check_solvers, run
from .environment import Description, Environments, described_here, memory_bytes
from .measurement import Measurement
from .measuring import KEPT, Conditions, Pool, begun
from .results import ResultLog, write_exports
from .suites import Cell, Suite

OnRow = Callable[[Measurement, int, int], None]
#: A cell, and the number of its repetition.
Turn = tuple[Cell, int]
#: A row, and the environment that it was measured in.
Measured = tuple[Measurement, Description]

#: Idle seconds after which a process on a Dask worker leaves, since its runner may be gone without having said so; and
#: how many of them are kept, since a machine may have many workers.
IDLE_ON_DASK, KEPT_ON_DASK = 60.0, 3
#: The attribute of a Dask worker that holds the pools of its runs.
_POOLS = "pacb_pools"


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
    progress: OnRow | None = None,
    tell: Callable[[str], None] = lambda words: None,
) -> Path:
    """Measure every cell of a suite that the directory does not hold yet, and export the results.

    Parameters
    ----------
    suite : Suite
    directory : path
        Gets ``results.jsonl`` (one row per measurement, as it finishes), ``environment.json``, ``results.csv`` and
        ``results.parquet``.
    jobs, dask : int, str, optional
        Cells measured at the same time; or the address of a Dask scheduler whose workers measure them.
    resume, retry_failed : bool
        Go on in a directory that holds results; and measure cells again that were no success.
    time_limit : float, optional
        Seconds per cell, instead of the suite's.
    memory_limit : int, optional
        Bytes that a measuring process may allocate, 0 for any number; by default half of the machine's memory, divided
        by ``jobs``.
    repeats : int
        How often the whole suite is run. A cell that ran out of time is not measured again.
    progress, tell : function, optional
        Called with (row, measurements done, measurements in all) after every one; and with a sentence that the user
        should know at once.

    Raises
    ------
    RunStopped
        When the run cannot go on: the log cannot be written, or the cluster is gone. What is measured is in the log.
    """
    # For the export at the end: a user who interrupts does not want to wait for them then.
    import pandas  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    directory = Path(directory)
    suite = suite.installed(tell)
    conditions = Conditions(
        suite=suite.name,
        time_limit=suite.time_limit if time_limit is None else time_limit,
        with_memory=suite.measure_memory,
        memory_limit=memory_bytes() // (2 * max(jobs, 1)) if memory_limit is None else memory_limit,
        parallel=jobs > 1 or dask is not None,
        idle_limit=0.0 if dask is None else IDLE_ON_DASK,
        kept=KEPT if dask is None else KEPT_ON_DASK,
    )
    pool = Pool(conditions)
    with ResultLog(directory, resume) as log:
        known = log.measurements()
        if any(row.source is not None for row in known):
            raise InputError(f"{directory} holds results merged from several directories; go on in those.")
        environments = Environments.read(directory)
        environments.plan = {"suite": suite.name, "cells": len(suite.cells), "repeats": repeats}
        environments.write(directory)
        settled = {(row.key, row.repetition) for row in known if not retry_failed or verdict.success(row)}
        tasks = [(cell, number) for number in range(repeats) for cell in suite.cells]
        todo = [(cell, number) for cell, number in tasks if (cell.key, number) not in settled]
        before = done = len(tasks) - len(todo)
        try:
            with closing(_measured(suite, todo, pool, jobs, dask, known)) as rows:
                for done, found in enumerate(rows, before + 1):
                    if found is not None:
                        row = found[0].told({"environment": environments.number(found[1], directory)})
                        log.append(row)
                        if progress is not None:
                            progress(row, done, len(tasks))
            write_exports(directory, log.measurements())
        except InputError as reason:
            if done == before:
                raise
            # A file that cannot be written any more is a failure of the run, not of the user's words.
            raise RunStopped(str(reason).rstrip(".")) from None
        except BaseException:
            with suppress(InputError):
                if log.rows:
                    write_exports(directory, log.measurements())
            raise
        finally:
            pool.end()
    return directory


def _measured(
    suite: Suite, tasks: list[Turn], pool: Pool, jobs: int, dask: str | None, known: list[Measurement]
) -> Generator[Measured | None, None, None]:
    """Yield rows of the tasks as they finish, None for one not repeated; slow solvers may be spared larger problems."""
    cells = {cell.key: cell for cell in suite.cells}
    out_of_time = {row.key for row in known if row.status == "time_limit" and row.key in cells}
    exhausted = {_group(cells[key]) for key in out_of_time}
    # A batch per repetition; or per size too, where a failure decides about larger problems.
    batches: dict[tuple[int, int], list[Turn]] = {}
    for cell, repetition in tasks:
        place = repetition, cell.problem.size or 0 if suite.stop_at_limit else 0
        batches.setdefault(place, []).append((cell, repetition))
    for _, batch in sorted(batches.items(), key=lambda entry: entry[0]):
        ready = []
        for cell, repetition in batch:
            if repetition > 0 and cell.key in out_of_time:
                yield None
            elif suite.stop_at_limit and _group(cell) in exhausted:
                out_of_time.add(cell.key)
                words = {"status": "time_limit", "message": "not tried: it ran out of time on a smaller problem"}
                yield begun(cell, repetition, pool.conditions).told(words), described_here()
            else:
                ready.append((cell, repetition))
        for found in _in_parallel(ready, pool, jobs, dask) if ready else ():
            if found is not None and found[0].status == "time_limit":
                out_of_time.add(found[0].key)
                exhausted.add(_group(cells[found[0].key]))
            yield found


def _group(cell: Cell) -> str:
    """Return what must be equal for a failure at one size to say something about a larger one."""
    return digest(cell.solver, cell.settings, cell.problem.family)


def _in_parallel(tasks: list[Turn], pool: Pool, jobs: int, dask: str | None) -> Iterator[Measured | None]:
    """Yield the rows of tasks as they finish; by processes of the pool, or on a cluster of one on each worker."""
    conditions = pool.conditions

    def lost(cell: Cell, repetition: int, reason: Exception) -> Measured:
        """Record an error of its own cell where a Dask worker dies of it again and again."""
        return begun(cell, repetition, conditions).told({"message": exception_text(reason)}), described_here()

    # Solver by solver on a cluster: a worker keeps few processes, and each measures one.
    ordered = tasks if dask is None else sorted(tasks, key=lambda task: task[0].solver)
    named = {(cell.key, repetition): (cell, repetition) for cell, repetition in ordered}
    if dask is None:
        # Threads, which only wait for the pool's processes.
        done = run(partial(_measured_by, pool), named, jobs, threads=True, blas=True)
    else:
        solvers, makers = sorted({cell.solver for cell, _ in tasks}), [cell.problem.make for cell, _ in tasks]
        done = run(
            partial(_measured_there, conditions),
            named,
            cluster=dask,
            blas=True,
            failed=lost,
            check=lambda client: check_solvers(client, solvers, makers),
            finish=lambda client: client.run(_end, conditions.run),
        )
    with closing(done):
        yield from (found for _, found in done)


def _measured_by(pool: Pool, cell: Cell, repetition: int) -> Measured | None:
    """Measure one cell, and describe where; None when the run has ended."""
    found = pool.measure(cell, repetition)
    return None if found is None else (found, described_here())


def _measured_there(conditions: Conditions, cell: Cell, repetition: int) -> Measured | None:
    """Measure one cell on a Dask worker, with the processes that it has for the run."""
    from distributed import get_worker

    # With the worker, which may serve several runs and several threads. One that has ended stays, and measures nothing.
    pools = vars(get_worker()).setdefault(_POOLS, {})
    return _measured_by(pools.setdefault(conditions.run, Pool(conditions)), cell, repetition)


def _end(run: str, dask_worker: Any) -> None:
    if pool := vars(dask_worker).get(_POOLS, {}).get(run):
        pool.end()
