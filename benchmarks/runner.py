"""Running a suite: cell after cell in processes that can be killed, logged as they finish, resumable."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pacb_models.errors import InputError
from pacb_models.registry import get_solver, supported_claim

from . import environment
from .results import LOG, ResultLog, export, read_rows, write_environment
from .suites import Cell, Suite
from .worker import TwoPipes

#: Largest difference from the certified optimum that counts as correct.
CORRECT_GAP = 1e-7
#: Seconds for building a problem and importing a solver's software, before its clock starts, and for the certified
#: optimum after it has stopped.
PREPARATION_LIMIT = 300.0

Progress = Callable[[dict[str, Any], int, int], None]


class Worker:
    """A measuring process and the pipes to it."""

    def __init__(self, threads: int = 1) -> None:
        child_in, parent_out = os.pipe()
        parent_in, child_out = os.pipe()
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        limits = {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pacb_models.benchmarks.worker", str(child_in), str(child_out), str(os.getpid())],
            pass_fds=(child_in, child_out),
            env={**os.environ, "PYTHONPATH": path, **limits},
            stdin=subprocess.DEVNULL,
            # Ctrl-C is the runner's to handle: the terminal must not send it to the worker as well.
            start_new_session=True,
        )
        os.close(child_in)
        os.close(child_out)
        self._pipes = TwoPipes(parent_in, parent_out)

    def run(self, cell: Cell, time_limit: float, with_memory: bool) -> tuple[dict[str, Any], bool]:
        """The measurement, and whether the worker is still good for another."""
        row: dict[str, Any] = {}
        started = time.perf_counter()
        try:
            self._pipes.send((cell, time_limit, with_memory))
            if not self._pipes.poll(PREPARATION_LIMIT):
                message = f"building the problem and importing took over {PREPARATION_LIMIT:g} s"
                return {"status": "error", "message": message}, False
            row.update(self._pipes.recv()[1])
            started = time.perf_counter()
            # A solver that keeps the limit itself gets a moment to say so.
            patience = 1.1 * time_limit + 1.0 if get_solver(cell.solver).keeps_time_limit else time_limit
            if not self._pipes.poll(patience):
                seconds = time.perf_counter() - started
                return {**row, "status": "time_limit", "message": "ended at the time limit", "seconds": seconds}, False
            row.update(self._pipes.recv()[1])
            return row, self._add_reference(row)
        except (EOFError, OSError):
            code = self._process.wait()
            cause = f"signal {-code}" if code < 0 else f"exit code {code}"
            seconds = time.perf_counter() - started
            return {**row, "status": "error", "message": f"the process ended with {cause}", "seconds": seconds}, False

    def _add_reference(self, row: dict[str, Any]) -> bool:
        """Complete a measurement by the certified optimum; without one it still counts, but the worker does not."""
        try:
            if self._pipes.poll(PREPARATION_LIMIT):
                row.update(self._pipes.recv()[1])
                return True
        except (EOFError, OSError):
            pass
        return False

    def kill(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        self._pipes.close()


class _Workers(threading.local):
    """The workers of each thread; kept between cells, replaced when they had to be killed."""

    def __init__(self) -> None:
        self.by_name: dict[str, Worker] = {}


_workers = _Workers()
_all_workers: set[Worker] = set()
_stopping = threading.Event()


def execute(
    cell: Cell, suite: str, time_limit: float, with_memory: bool, threads: int, parallel: bool
) -> dict[str, Any]:
    """Measure one cell and complete its row. Runs in the runner, in a thread of it, or on a Dask worker."""
    if _stopping.is_set():
        return {}
    # A worker for each solver: one that is killed does not take along what the others imported. But a single one in
    # each of several threads, which would need too much memory otherwise, and where every cell gets a new one anyway.
    name = "any" if parallel or with_memory else cell.solver
    if with_memory:
        _dismiss(name)
    if name not in _workers.by_name:
        _workers.by_name[name] = Worker(threads)
        _all_workers.add(_workers.by_name[name])
    row, usable = _workers.by_name[name].run(cell, time_limit, with_memory)
    if not usable:
        _dismiss(name)
    return complete(cell, row, suite, time_limit, parallel)


def _dismiss(name: str) -> None:
    worker = _workers.by_name.pop(name, None)
    if worker is not None:
        worker.kill()
        _all_workers.discard(worker)


def dismiss_all() -> None:
    """End every worker of this process."""
    while _all_workers:
        _all_workers.pop().kill()
    _workers.by_name.clear()


def complete(cell: Cell, row: dict[str, Any], suite: str, time_limit: float, parallel: bool) -> dict[str, Any]:
    """Add identity and judgement to a measurement.

    Success is a claim of optimality that the recomputed residuals support; correct is a bound within 1e-7 of the
    certified optimum, whatever is claimed. What is not a success is charged the time limit.
    """
    bound, reference = row.get("bound"), row.get("reference_bound")
    gap = bound - reference if bound is not None and reference is not None else None
    claims = row.get("status") == "optimal"
    residuals = (row.get("kkt_residual", math.inf), row.get("simplex_residual", math.inf))
    success = claims and supported_claim("optimal", *residuals) == "optimal"
    spent = row.get("seconds", 0.0) + row.get("setup_seconds", 0.0)
    return {
        "key": cell.key,
        "suite": suite,
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
        "charged_seconds": min(spent, time_limit) if success else time_limit,
        "time_limit": time_limit,
        "parallel": parallel,
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
    progress: Progress | None = None,
) -> Path:
    """Measure every cell of a suite that the directory does not hold yet, and export the results.

    Parameters
    ----------
    suite : Suite
    directory : path
        Gets ``results.jsonl`` (one row per cell, as it finishes), ``environment.json``, ``results.csv`` and
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
    progress : function, optional
        Called with (row, cells done, cells in all) after every cell.
    """
    directory = Path(directory)
    limit = suite.time_limit if time_limit is None else time_limit
    with ResultLog(directory) as log:
        known = _known_rows(directory, resume)
        settled = {key for key, row in known.items() if row["success"] or not retry_failed}
        todo = [cell for cell in suite.cells if cell.key not in settled]
        done = len(suite.cells) - len(todo)
        write_environment(directory, {"suite": suite.name, "cells": len(suite.cells), **environment.describe()})
        _stopping.clear()
        try:
            for row in _measured(suite, todo, limit, jobs, dask, list(known.values())):
                log.append(row)
                done += 1
                if progress is not None:
                    progress(row, done, len(suite.cells))
        finally:
            _stopping.set()
            dismiss_all()
            if (directory / LOG).stat().st_size:
                export(directory)
    return directory


def _known_rows(directory: Path, resume: bool) -> dict[str, dict[str, Any]]:
    log = directory / LOG
    if not log.exists() or log.stat().st_size == 0:
        return {}
    if not resume:
        raise InputError(
            f"{directory} holds results already; go on with --resume or choose another directory with --out."
        )
    return {row["key"]: row for row in read_rows(directory)}


def _measured(
    suite: Suite, cells: list[Cell], limit: float, jobs: int, dask: str | None, known: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Rows of the cells as they finish; where asked for, a solver that ran out of time is spared larger problems."""
    parallel = jobs > 1 or dask is not None
    threads = max(1, (os.cpu_count() or 1) // max(jobs, 1))
    arguments = (suite.name, limit, suite.measure_memory, threads, parallel)
    exhausted = {
        _kind(row["solver"], row["settings"], row["problem"]) for row in known if row["status"] == "time_limit"
    }
    for batch in _batches(suite, cells):
        ready = []
        for cell in batch:
            if suite.stop_at_limit and _kind_of(cell) in exhausted:
                message = "not tried: it ran out of time on a smaller problem"
                yield complete(cell, _not_tried(cell, message), suite.name, limit, parallel)
            else:
                ready.append(cell)
        for row in _in_parallel(ready, arguments, jobs, dask):
            if row:
                if row["status"] == "time_limit":
                    exhausted.add(_kind(row["solver"], row["settings"], row["problem"]))
                yield row


def _not_tried(cell: Cell, message: str) -> dict[str, Any]:
    described = {name: cell.problem.arguments.get(name) for name in ("m", "delta", "distance", "constant")}
    described["divergence"] = cell.problem.arguments.get("divergence", "chi2")
    return {"status": "time_limit", "message": message, "H": cell.problem.arguments.get("count"), **described}


def _batches(suite: Suite, cells: list[Cell]) -> list[list[Cell]]:
    """All at once, or size after size where a failure decides about larger problems."""
    if not suite.stop_at_limit:
        return [cells]
    sizes: dict[Any, list[Cell]] = {}
    for cell in cells:
        sizes.setdefault(cell.problem.arguments.get("count"), []).append(cell)
    return [sizes[size] for size in sorted(sizes)]


def _kind(solver: str, settings: str, problem: str) -> tuple[str, str, str]:
    """What must be equal for a failure at one size to say something about a larger one."""
    return solver, settings, "-".join(part for part in problem.split("-") if not part.startswith("H"))


def _kind_of(cell: Cell) -> tuple[str, str, str]:
    return _kind(cell.solver, json.dumps(cell.settings, sort_keys=True), cell.problem.name)


def _in_parallel(
    cells: list[Cell], arguments: tuple[Any, ...], jobs: int, dask: str | None
) -> Iterator[dict[str, Any]]:
    if dask is not None:
        yield from _with_dask(cells, arguments, dask)
    elif jobs == 1:
        for cell in cells:
            yield execute(cell, *arguments)
    else:
        from joblib import Parallel, delayed

        # Threads here, a process of its own for each thread's solver: threads only wait.
        pool = Parallel(n_jobs=jobs, backend="threading", return_as="generator_unordered", pre_dispatch=jobs)
        yield from pool(delayed(execute)(cell, *arguments) for cell in cells)


def _with_dask(cells: list[Cell], arguments: tuple[Any, ...], address: str) -> Iterator[dict[str, Any]]:
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise InputError("--dask needs the package distributed: pip install 'pacb-models[dask]'.") from None
    try:
        client = Client(address, timeout="10s")
    except (OSError, ValueError) as reason:
        raise InputError(f"--dask is {address!r}; no Dask scheduler answers there ({reason}).") from None
    with client:
        futures = [client.submit(execute, cell, *arguments, pure=False) for cell in cells]
        for _, row in as_completed(futures, with_results=True):
            yield row
