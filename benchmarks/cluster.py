"""Measuring on the workers of a Dask scheduler, which may lack our code, lose their connection, or die."""

from __future__ import annotations

import pickle
import time
from asyncio import CancelledError
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import Any

from pacb_models import __version__
from pacb_models.errors import InputError
from pacb_models.plugins import described
from pacb_models.registry import solver_names

from . import measuring
from .measuring import Conditions
from .suites import Cell

#: Seconds without any Dask worker after which a run is stopped.
PATIENCE = 60.0
#: Seconds between looks at what has finished.
PAUSE = 0.05


class RunStopped(RuntimeError):
    """A run cannot go on; what it has measured is in its log."""


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
    client = _connect(address)
    try:
        with _Watch(client, address, tell) as watch:
            watch.wait_for_workers()
            _check_workers(client, [cell for cell, _ in tasks])
            waiting = list(reversed(tasks))
            pending: dict[Any, Task] = {}
            while waiting or pending:
                # A few more than can run at a time: what is not submitted yet is not lost with the scheduler.
                while waiting and len(pending) < 2 * watch.threads + 2:
                    task = waiting.pop()
                    pending[client.submit(execute, *task, conditions, pure=False)] = task
                for future in [future for future in pending if future.status != "pending"]:
                    found = _result(future)
                    task = pending.pop(future)
                    if found is None:
                        waiting.append(task)
                    else:
                        yield task, found
                watch.look()
                time.sleep(PAUSE)
    finally:
        with suppress(Exception):
            client.run(measuring.end, conditions.run)
        client.close(timeout=5)


def _connect(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise InputError("--dask needs the package distributed: pip install 'pacb-models[dask]'.") from None
    try:
        return Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as reason:
        raise InputError(f"--dask is {address!r}; no Dask scheduler answers there ({reason}).") from None


def _result(future: Any) -> dict[str, Any] | None:
    """What came out; None when it was lost with the Dask worker that had it, and must be measured again."""
    from distributed import TimeoutError as TooLate

    if future.status == "error":
        return {"status": "error", "message": described(future.exception())}
    if future.status == "finished":
        with suppress(TooLate, CancelledError):
            return future.result(timeout=2.0)
    return None


class _Watch:
    """Looks after the scheduler and its workers; Dask itself would wait for ever, without a word."""

    def __init__(self, client: Any, address: str, tell: Callable[[str], None]) -> None:
        import logging

        self._client, self._address, self._tell = client, address, tell
        self._absent_since: float | None = None
        # Dask's own words on a lost connection are tracebacks; ours is a sentence.
        self._loggers = [logging.getLogger(name) for name in ("distributed", "tornado", "asyncio")]
        self._levels = [logger.level for logger in self._loggers]

    def __enter__(self) -> _Watch:
        for logger in self._loggers:
            logger.setLevel("CRITICAL")
        return self

    def __exit__(self, *_: object) -> None:
        for logger, level in zip(self._loggers, self._levels, strict=True):
            logger.setLevel(level)

    @property
    def threads(self) -> int:
        """How many cells can be measured at the same time."""
        return sum(worker["nthreads"] for worker in self._workers().values())

    def _workers(self) -> dict[str, Any]:
        if self._client.status != "running":
            raise RunStopped(f"the Dask scheduler at {self._address} is gone")
        return self._client.scheduler_info(n_workers=-1)["workers"]

    def look(self) -> None:
        """Say that no worker is left, and stop after a while."""
        if self._workers():
            self._absent_since = None
        elif self._absent_since is None:
            self._absent_since = time.monotonic()
            self._tell(f"the Dask scheduler at {self._address} has no workers; waiting {PATIENCE:g} s for one")
        elif time.monotonic() - self._absent_since > PATIENCE:
            raise RunStopped(f"the Dask scheduler at {self._address} had no workers for {PATIENCE:g} s")

    def wait_for_workers(self) -> None:
        """Return when there is a worker."""
        while not self._workers():
            self.look()
            time.sleep(PAUSE)


def _check_workers(client: Any, cells: Sequence[Cell]) -> None:
    """Refuse before anything is measured where a worker lacks the code of a problem or a solver."""
    makers = {pickle.dumps(cell.problem.make): cell.problem.make for cell in cells}
    named = [(f"{make.__module__}.{make.__qualname__}", code) for code, make in makers.items()]
    solvers = sorted({cell.solver for cell in cells})
    try:
        found = client.run(complaint, __version__, named, solvers)
    except Exception as reason:
        raise InputError(f"--dask: the workers cannot run pacb-models {__version__} ({described(reason)}).") from None
    for worker, text in found.items():
        if text:
            raise InputError(f"--dask: the worker {worker} {text}; install there what is installed here.")


def complaint(version: str, makers: Sequence[tuple[str, bytes]], solvers: Sequence[str]) -> str:
    """What a Dask worker, where this runs, lacks; empty when nothing."""
    if __version__ != version:
        return f"has pacb-models {__version__}, not {version}"
    for name, code in makers:
        try:
            pickle.loads(code)
        except Exception as reason:
            return f"cannot import {name} ({described(reason)})"
    absent = [solver for solver in solvers if solver not in solver_names()]
    return f"has no solver {absent[0]!r}" if absent else ""
