"""Measuring processes as a runner sees them: started, asked, watched, and ended with everything they started."""

import json
import os
import pickle
import secrets
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from multiprocessing import Pipe
from multiprocessing.connection import wait
from typing import Any

from pacb_models.errors import InputError
from pacb_models.plugins import exception_text

from ..problems.problem import FACTS
from . import supervisor
from .measurement import Measurement
from .referee import Reference
from .suites import Cell
from .worker import SAID, Descents, Facts, unpacked, with_times

#: Seconds beyond the time limit for building a problem, for importing a solver's software (its clock starts
#: afterwards), for the certified optimum and for the trace (it has stopped before).
PREPARATION_LIMIT = 30.0
#: Seconds for a new process to answer at all.
START_LIMIT = 120.0
#: New processes that a request is tried in when the one before ended without having taken it on.
ATTEMPTS = 3
#: Idle processes that a run keeps: about one for each solver, which keep what they imported.
KEPT = 20
#: Seconds for a process to end what it started; then it is killed.
ENDING_LIMIT = 5.0

#: A measured solver gets one thread: otherwise it would be measured how many cores the machine has to spare.
_ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "RAYON")}


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
    parallel: bool = False
    #: Seconds after which an idle process leaves; 0 for never.
    idle_limit: float = 0.0
    kept: int = KEPT


def begun(cell: Cell, repetition: int, conditions: Conditions) -> Measurement:
    """Return the row of a cell before anything is known of how it went."""
    return Measurement(
        **{name: getattr(cell, name) for name in ("key", "solver", "settings", "seed", "start")},
        **{name: getattr(cell.problem, name) for name in ("family", "dataset", "size")},
        **{name: getattr(conditions, name) for name in ("suite", "time_limit", "parallel")},
        problem=cell.problem.name,
        repetition=repetition,
        status="error",
        memory_limit_bytes=conditions.memory_limit or None,
        timestamp=datetime.now(UTC).isoformat(timespec="seconds"),
    )


@dataclass
class Sheet:
    """What is known of a cell while it is measured."""

    cell: Cell
    row: Measurement
    #: What the solver's process says of its run, with the weights.
    returned: Facts | None = None
    descents: Descents = ()
    #: Whether somebody else killed its process, such as a system that is out of memory.
    killed: bool = False

    def note(self, **facts: object) -> None:
        """Add facts to the row."""
        self.row = self.row.told(facts)

    def fail(self, message: str, **facts: object) -> None:
        """Record that the cell came to nothing, for this reason."""
        self.note(status="error", message=message, claims=False, **facts)


class NotTakenOn(Exception):
    """The process ended before it took on the request, which is innocent of it."""


class Failed(Exception):
    """A cell came to nothing."""


class Refused(Failed):
    """The process says so, and is still good for something else."""


def search_path() -> list[str]:
    """Return where this process finds modules, without what Python itself put in front for ``-m`` and ``-c``.

    That is the current directory, where a file that happens to be called ``random.py`` would be run.
    """
    main = sys.modules.get("__main__")
    from_module = main is not None and main.__spec__ is not None
    here = os.getcwd()
    return [entry for entry in sys.path if entry and not (from_module and os.path.abspath(entry) == here)]


class Process:
    """A process that measures one solver, or judges, and the pipe to it."""

    def __init__(self, solver: str, memory_limit: int, idle_limit: float) -> None:
        self.solver = solver
        self._pipe, its_end = Pipe()
        arguments = (json.dumps(search_path()), os.getpid(), its_end.fileno(), memory_limit, idle_limit)
        self._process = subprocess.Popen(
            [sys.executable, "-P", supervisor.__file__, *map(str, arguments)],
            pass_fds=(its_end.fileno(),),
            # The safe path holds for the programs that solvers start, too.
            env={**os.environ, "PYTHONSAFEPATH": "1", **_ONE_THREAD},
            stdin=subprocess.DEVNULL,
            # Ctrl-C is the runner's to handle, and a group of its own can be ended as a whole.
            start_new_session=True,
        )
        its_end.close()
        self.number = self._process.pid
        self._end = os.pidfd_open(self.number)
        weakref.finalize(self, os.close, self._end)
        self._dismissed = False
        self._ending = threading.Lock()
        self._key = ""

    def ask(self, key: str, kind: str, *arguments: Any) -> None:
        """Hand over a request; :class:`NotTakenOn` when the process is gone, or does not answer."""
        self._key = key
        try:
            self._pipe.send((key, kind, pickle.dumps(arguments)))
            accepted = self.answer("accepted", START_LIMIT)
        except (EOFError, OSError):
            raise NotTakenOn(f"the measuring process ended with {self.cause()}") from None
        if accepted is None:
            raise NotTakenOn(f"the measuring process did not answer within {START_LIMIT:g} s")

    def answer(self, kind: str, seconds: float) -> Facts | None:
        """Return what the process says next; None when it takes longer. Raises EOFError when it has ended."""
        # The end of the process too: a child that a solver forked may hold the pipe open.
        if not wait([self._pipe, self._end], seconds):
            return None
        if not self._pipe.poll(0):
            raise EOFError
        try:
            key, found, facts = unpacked(self._pipe.recv_bytes())
        except (ValueError, TypeError, RecursionError):
            raise Failed(f"the measuring process answered nonsense for cell {self._key}") from None
        if key != self._key or found not in (kind, "failed"):
            raise Failed(f"the measuring process answered {found!r} for cell {key}, not {kind!r} for {self._key}")
        if found == "failed":
            raise Refused(str(facts.get("message")))
        return facts

    def awaited(self, kind: str, seconds: float, what: str) -> Facts:
        """Return the same for what it must say in that time."""
        if (facts := self.answer(kind, seconds)) is None:
            raise Failed(f"{what} took over {seconds:g} s")
        return facts

    def cause(self) -> str:
        """Return how the process ended, or that it did not; it is left to be waited for."""
        if self._dismissed:
            return "its dismissal"
        if not wait([self._end], ENDING_LIMIT):
            return "its pipe closed"
        found: Any = os.waitid(os.P_PIDFD, self._end, os.WEXITED | os.WNOWAIT)
        return f"{'exit code' if found.si_code == os.CLD_EXITED else 'signal'} {found.si_status}"

    def dismiss(self) -> None:
        """Ask the process to end, and all that it started; :meth:`kill` sees to it."""
        self._dismissed = True
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._end, signal.SIGTERM)

    def kill(self) -> None:
        """End the process, whatever it is doing, and all that it started."""
        with self._ending:
            if self._process.returncode is None:
                self.dismiss()
                wait([self._end], ENDING_LIMIT)
                # Before it is waited for: until then nobody else can have its number.
                with suppress(ProcessLookupError):
                    os.killpg(self.number, signal.SIGKILL)
                self._process.wait()


#: How a process ends that somebody else kills, and what stands for a solver's name where weights are judged.
_KILLED, _REFEREE = f"signal {int(signal.SIGKILL)}", ""


class Pool:
    """The processes of one run, for several threads. Each measures one solver only, or judges, apart from solvers."""

    def __init__(self, conditions: Conditions) -> None:
        if not sys.platform.startswith("linux"):
            raise InputError(
                f"the harness measures in processes that it limits and kills as Linux can; this is {sys.platform}. "
                "Solving, checking and certifying work here."
            )
        self.conditions = conditions
        self._patience = PREPARATION_LIMIT + conditions.time_limit
        self._lock = threading.Lock()
        self._ended = False
        self._processes: set[Process] = set()
        #: Those that wait for a request, the one that has waited longest first.
        self._idle: list[Process] = []
        #: Solvers that did not come back from their warm-up, with the kind of problem.
        self._hanging: set[tuple[Any, ...]] = set()
        #: By the problem's identity.
        self._references: dict[str, Reference] = {}

    def measure(self, cell: Cell, repetition: int = 0) -> Measurement | None:
        """Measure one cell and judge it; whatever happens there is a row. None when the run has ended."""
        blank = begun(cell, repetition, self.conditions)
        sheet = Sheet(cell, blank)
        self._with_process(cell.solver, sheet, self._measure)
        if sheet.killed:  # that may not be the solver's fault
            sheet = Sheet(cell, blank, killed=True)
            self._with_process(cell.solver, sheet, self._measure)
        if sheet.returned is not None:
            self._with_process(_REFEREE, sheet, self._judge)
        return None if self._ended else sheet.row

    def end(self) -> None:
        """End every process, and start no more."""
        with self._lock:
            self._ended = True
            processes, self._processes, self._idle = list(self._processes), set(), []
        for act in (Process.dismiss, Process.kill):
            for process in processes:
                act(process)

    def _with_process(self, solver: str, sheet: Sheet, work: Callable[[Process, Sheet], bool]) -> None:
        """Let a process work on a cell; what goes wrong becomes its status. ``work`` says if it is good for another."""
        for _ in range(ATTEMPTS):
            if self._ended:
                return
            process, usable = self._take(solver), False
            try:
                usable = work(process, sheet)
                return
            except NotTakenOn as reason:
                sheet.fail(f"{reason}, {ATTEMPTS} times")
            except Failed as reason:
                sheet.fail(str(reason))
                usable = isinstance(reason, Refused)
                return
            except Exception as reason:
                # Answers may be left in its pipe, and must not be taken for another cell's.
                sheet.fail(exception_text(reason))
                return
            finally:
                self._give_back(process, usable)

    def _take(self, solver: str) -> Process:
        with self._lock:
            for process in reversed(self._idle):
                if process.solver == solver:
                    self._idle.remove(process)
                    return process
        limit = 0 if solver == _REFEREE else self.conditions.memory_limit
        process = Process(solver, limit, self.conditions.idle_limit)
        with self._lock:
            self._processes.add(process)
        return process

    def _give_back(self, process: Process, usable: bool) -> None:
        with self._lock:
            self._idle.append(process)
            spare = [process] if not usable or self._ended else self._idle[: -self.conditions.kept]
            self._idle = [each for each in self._idle if each not in spare]
            self._processes -= set(spare)
        for each in spare:
            each.kill()

    def _measure(self, process: Process, sheet: Sheet) -> bool:
        """Fill the row with what the solver's process says of it."""
        cell, limit, patience = sheet.cell, self.conditions.time_limit, self._patience
        process.ask(cell.key, "measure", cell, limit, self.conditions.with_memory)
        started = time.perf_counter()
        try:
            sheet.note(**_only(FACTS, process.awaited("built", patience, "building the problem")))
            hanging = (cell.solver, sheet.row.problem_kind, sheet.row.distance, sheet.row.divergence)
            if hanging in self._hanging:
                raise Failed(f"not tried: its warm-up took over {patience:g} s before")
            if (ready := process.answer("ready", patience)) is None:
                self._hanging.add(hanging)
                raise Failed(f"importing and warming up took over {patience:g} s")
            started = time.perf_counter()
            # A solver that keeps the limit itself gets a moment to say so.
            done = process.answer("done", 1.1 * limit + 1.0 if ready.get("keeps_time_limit") else limit)
            taken = time.perf_counter() - started
            sheet.note(wall_seconds=taken)
        except (EOFError, OSError):
            cause = process.cause()
            again = ", twice" if sheet.killed and cause == _KILLED else ""
            # Its memory is limited otherwise: it is not this program that kills it so.
            sheet.killed = cause == _KILLED and not sheet.killed
            sheet.fail(f"the process ended with {cause}{again}", seconds=time.perf_counter() - started)
            return False
        if done is None:
            sheet.note(status="time_limit", message="ended at the time limit", seconds=taken)
            return False
        said = _only(SAID, done)
        sheet.note(**said, claims=said.get("status") == "optimal")
        sheet.returned = _only((*SAID, "posterior"), done)
        with suppress(EOFError, OSError):
            if (trace := process.answer("trace", patience)) is not None:
                sheet.descents = trace["descents"]
                # What a solver has left behind would take time from the others.
                return not self.conditions.with_memory and len(supervisor.descendants(process.number)) == 1
        return False

    def _judge(self, process: Process, sheet: Sheet) -> bool:
        """Complete a measurement; without a certified optimum it still counts."""
        recipe, identity = sheet.cell.problem, sheet.cell.problem.identity
        process.ask(sheet.cell.key, "judge", recipe, sheet.cell.solver, sheet.returned, self._references.get(identity))
        try:
            sheet.note(**process.awaited("judged", self._patience, "judging what it returned"))
        except (EOFError, OSError):
            # No solver runs there: whatever ended it may not end the next one.
            raise NotTakenOn(f"the process that judges what it returned ended with {process.cause()}") from None
        with suppress(EOFError, OSError, Failed):
            if (found := process.answer("reference", self._patience)) is not None:
                self._references[identity] = found["reference_bound"], found["minima"]
                sheet.note(reference_bound=found["reference_bound"], minima=found["minima"])
                sheet.row = with_times(sheet.row, sheet.descents)
                return bool(found["clean"])
        return False


def _only(names: Iterable[str], facts: Facts) -> Facts:
    """Return those facts that may be said here: a solver's process must not name another problem."""
    return {name: facts[name] for name in names if name in facts}
