"""Measuring processes as a runner sees them: started, asked, watched, and ended with everything they started."""

from __future__ import annotations

import json
import os
import pickle
import secrets
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from typing import Any

from pacb_models.plugins import described
from pacb_models.registry import get_solver

from .suites import Cell
from .worker import Request, TwoPipes

#: Seconds beyond the time limit for building a problem, for importing a solver's software (its clock starts
#: afterwards), for the certified optimum and for the trace (it has stopped before).
PREPARATION_LIMIT = 30.0
#: Seconds for a new process to answer at all.
START_LIMIT = 120.0
#: New processes that a cell is tried in when the one before ended without having taken it on.
ATTEMPTS = 3
#: Idle seconds after which a process on a Dask worker leaves: its runner may be gone without having said so.
IDLE_LIMIT = 60.0

#: What a measuring process runs: our module, with the runner's own search path after the interpreter's.
_PROGRAM = (
    "import json, sys\n"
    "sys.path += [entry for entry in json.loads(sys.argv.pop(1)) if entry not in sys.path]\n"
    "from pacb_models.benchmarks.worker import main\n"
    "main(sys.argv[1:])\n"
)


@dataclass(frozen=True)
class Conditions:
    """How the cells of a run are measured."""

    suite: str
    time_limit: float
    #: A name that no other run has: several may share a Dask worker.
    run: str = field(default_factory=lambda: secrets.token_hex(8))
    with_memory: bool = False
    #: Bytes that a measuring process may allocate; 0 for any number.
    memory_limit: int = 0
    threads: int = 1
    parallel: bool = False
    idle_limit: float = 0.0


class NotTakenOn(Exception):
    """The process ended before it took on the cell, which is innocent of it."""


class Confused(Exception):
    """A process answered something that was not asked."""


def search_path() -> list[str]:
    """Where this process finds modules, without what Python itself put in front for ``-m`` and ``-c``.

    That is the current directory, where a file that happens to be called ``random.py`` would be run.
    """
    main = sys.modules.get("__main__")
    from_module = main is not None and main.__spec__ is not None
    here = os.getcwd()
    return [entry for entry in sys.path if entry and not (from_module and os.path.abspath(entry) == here)]


class Worker:
    """A measuring process and the pipes to it."""

    def __init__(self, conditions: Conditions) -> None:
        child_in, parent_out = os.pipe()
        parent_in, child_out = os.pipe()
        limits = {
            name: str(conditions.threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        }
        numbers = (child_in, child_out, os.getpid(), conditions.memory_limit, conditions.idle_limit)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM, json.dumps(search_path()), *map(str, numbers)],
            pass_fds=(child_in, child_out),
            # The safe path holds for the programs that solvers start, too.
            env={**os.environ, "PYTHONSAFEPATH": "1", **limits},
            stdin=subprocess.DEVNULL,
            # Ctrl-C is the runner's to handle, and a group of its own can be ended as a whole.
            start_new_session=True,
        )
        os.close(child_in)
        os.close(child_out)
        self._pipes = TwoPipes(parent_in, parent_out)
        self._end = os.pidfd_open(self._process.pid)
        self._thread = threading.get_ident()
        self._killed = False
        self._key = ""

    def run(self, cell: Cell, conditions: Conditions, reference: float | None) -> tuple[dict[str, Any], bool]:
        """The measurement, and whether the worker is still good for another.

        Raises :class:`NotTakenOn` when the worker was gone before it began.
        """
        row: dict[str, Any] = {}
        self._key = cell.key
        patience = PREPARATION_LIMIT + conditions.time_limit
        started = time.perf_counter()
        try:
            self._ask(Request(cell.key, pickle.dumps(cell), conditions.time_limit, conditions.with_memory, reference))
            found = self._answer("built", patience)
            if found is None:
                return _failed(f"building the problem took over {patience:g} s"), False
            if "message" in found:
                return _failed(found["message"]), True
            row.update(found)
            hanging = (conditions.run, cell.solver, row["problem_kind"], row["distance"], row["divergence"])
            if hanging in _hanging:
                message = f"not tried: its warm-up took over {patience:g} s before"
                return {**row, **_failed(message)}, False
            if self._answer("ready", patience) is None:
                _hanging.add(hanging)
                return {**row, **_failed(f"importing and warming up took over {patience:g} s")}, False
            started = time.perf_counter()
            # A solver that keeps the limit itself gets a moment to say so.
            limit = conditions.time_limit
            found = self._answer("done", 1.1 * limit + 1.0 if get_solver(cell.solver).keeps_time_limit else limit)
            if found is None:
                seconds = time.perf_counter() - started
                return {**row, "status": "time_limit", "message": "ended at the time limit", "seconds": seconds}, False
            row.update(found)
        except (EOFError, OSError):
            seconds = time.perf_counter() - started
            return {**row, **_failed(f"the process ended with {self._cause()}"), "seconds": seconds}, False
        return row, self._add_reference(row, patience)

    def _ask(self, request: Request) -> None:
        try:
            self._pipes.send(tuple(request))
            accepted = self._answer("accepted", START_LIMIT)
        except (EOFError, OSError):
            raise NotTakenOn(f"the measuring process ended with {self._cause()}") from None
        if accepted is None:
            raise NotTakenOn(f"the measuring process did not answer within {START_LIMIT:g} s")

    def _answer(self, kind: str, seconds: float) -> dict[str, Any] | None:
        """What the worker says next; None when it takes longer. Raises EOFError when its process has ended."""
        # The end of the process too: a child that a solver forked may hold the pipe open.
        ready = wait([self._pipes.incoming, self._end], seconds)
        if not ready:
            return None
        if not self._pipes.poll(0):
            raise EOFError
        key, found, facts = self._pipes.recv()
        if key != self._key or found not in (kind, "failed"):
            raise Confused(f"the measuring process answered {found!r} for cell {key}, not {kind!r} for {self._key}")
        return facts

    def _add_reference(self, row: dict[str, Any], patience: float) -> bool:
        """Complete a measurement by the certified optimum; without one it still counts, but the worker does not."""
        with suppress(EOFError, OSError):
            for kind in ("reference", "levels"):
                found = self._answer(kind, patience)
                if found is None:
                    return False
                row.update(found)
            return True
        return False

    def _cause(self) -> str:
        """How the process ended, or that it did not; it is left to be waited for."""
        if self._killed:
            return "its dismissal"
        if not wait([self._end], 5.0):
            return "its pipe closed"
        found = os.waitid(os.P_PIDFD, self._end, os.WEXITED | os.WNOWAIT)
        if found is None or found.si_code == os.CLD_EXITED:
            return f"exit code {0 if found is None else found.si_status}"
        return f"signal {found.si_status}"

    def kill(self) -> None:
        """End the process, whatever it is doing, and all that it started and that stayed in its group."""
        if self._killed:
            return
        self._killed = True
        with suppress(ProcessLookupError):
            # Before it is waited for: until then nobody else can have its number.
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if threading.get_ident() == self._thread:
            # Another thread may be reading from the pipe; it closes it with the object.
            self._pipes.close()
            os.close(self._end)


def _failed(message: str) -> dict[str, Any]:
    return {"status": "error", "message": message}


class _Workers(threading.local):
    """The workers of each thread; kept between cells, replaced when they had to be killed."""

    def __init__(self) -> None:
        self.by_name: dict[tuple[str, str], Worker] = {}


_workers = _Workers()
#: Every worker with the name of its run.
_all_workers: dict[Worker, str] = {}
#: Runs that have ended; what is left of them is not measured.
_ended: set[str] = set()
#: Solvers that did not come back from their warm-up, with the run (a Dask worker sees several) and the kind of problem.
_hanging: set[tuple[Any, ...]] = set()
#: Certified optima by the problem's identity, NaN where none can be had.
_references: dict[str, float] = {}


def measure(cell: Cell, conditions: Conditions) -> dict[str, Any] | None:
    """Measure one cell in a process of this thread; whatever happens there is a row. None when the run has ended."""
    # A worker for each solver: one that is killed does not take along what the others imported. But a single one in
    # each of several threads, which would need too much memory otherwise, and where every cell gets a new one anyway.
    name = (conditions.run, "any" if conditions.parallel or conditions.with_memory else cell.solver)
    if conditions.with_memory:
        _dismiss(name)
    for _ in range(ATTEMPTS):
        if conditions.run in _ended:
            return None
        try:
            row, usable = _worker(name, conditions).run(cell, conditions, _references.get(cell.problem.identity))
        except NotTakenOn as reason:
            _dismiss(name)
            row = _failed(f"{reason}, {ATTEMPTS} times")
            continue
        except Exception as reason:
            # Answers may be left in its pipe, and must not be taken for another cell's.
            _dismiss(name)
            return _failed(described(reason))
        except BaseException:
            _dismiss(name)
            raise
        if not usable:
            _dismiss(name)
        if row.get("reference_bound") is not None:
            _references[cell.problem.identity] = row["reference_bound"]
        break
    return row


def _worker(name: tuple[str, str], conditions: Conditions) -> Worker:
    if name not in _workers.by_name:
        worker = Worker(conditions)
        _workers.by_name[name] = worker
        _all_workers[worker] = conditions.run
    return _workers.by_name[name]


def _dismiss(name: tuple[str, str]) -> None:
    worker = _workers.by_name.pop(name, None)
    if worker is not None:
        _all_workers.pop(worker, None)
        worker.kill()


def end(run: str) -> None:
    """End every worker that this process has for a run, and start no more for it."""
    _ended.add(run)
    for worker, owner in list(_all_workers.items()):
        if owner == run:
            _all_workers.pop(worker, None)
            worker.kill()
    for name in [name for name in _workers.by_name if name[0] == run]:
        del _workers.by_name[name]
