"""A process that measures cells for a runner and can be killed without losing anything.

The runner keeps a worker and sends it cell after cell, so that imports are paid once; a solver that does not come back
is ended with its worker, and the next cell gets a new one. A worker answers several times, and every answer repeats the
key of the request: "accepted"; "built" with the problem's facts; "ready" once the solver's software is imported (the
clock starts here); "done" with the measurement (it stops here); "reference" with the certified optimum; "levels" with
the times to come close to it. "failed" takes the place of "built" for a problem that cannot be built.
"""

from __future__ import annotations

import inspect
import math
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from pacb_models import BoundProblem, Solution, SolverUnavailableError, solve
from pacb_models.plugins import described
from pacb_models.registry import capable_solvers, get_solver

from .problems import Problem
from .results import LEVELS, conform, reach_field
from .suites import Cell

#: Seconds for the tiny problem that warms a solver up: a global method may not close it.
WARM_UP_LIMIT = 5.0


class Request(NamedTuple):
    """What a runner asks for: a pickled cell, how to measure it, and its certified optimum where it is known."""

    key: str
    cell: bytes
    time_limit: float
    with_memory: bool
    reference: float | None


def facts(problem: BoundProblem) -> dict[str, Any]:
    """The columns of a row that describe the problem."""
    return {
        "problem_kind": problem.kind,
        "H": problem.size,
        "m": problem.m,
        "delta": problem.delta,
        "distance": problem.distance,
        "divergence": problem.divergence,
        "order": problem.order,
        "constant": problem.constant,
        "prior": "uniform" if problem.uniform_prior else "given",
    }


def warm_up(solver: str, problem: BoundProblem, warm: set[tuple[Any, ...]]) -> None:
    """Solve a tiny problem of the same kind, so that imports are not measured; once for each kind."""
    kind = (solver, problem.kind, problem.distance, problem.divergence, problem.order)
    if kind in warm:
        return
    warm.add(kind)
    with suppress(BaseException):
        # Whatever is wrong shows up in the measurement itself, with its message.
        limit: dict[str, Any] = {"time_limit": WARM_UP_LIMIT} if get_solver(solver).keeps_time_limit else {}
        solve(problem.replace(risks=[0.1, 0.2, 0.3], prior=None, m=100, delta=0.05), solver, **limit)


class References:
    """The certified optimum of each problem, computed once per worker."""

    def __init__(self) -> None:
        self._bounds: dict[str, float] = {}

    def bound(self, recipe: Problem, problem: BoundProblem) -> float:
        """The smallest possible bound; NaN where no exact solver applies."""
        if recipe.identity not in self._bounds:
            self._bounds[recipe.identity] = _certified(problem)
        return self._bounds[recipe.identity]


def _certified(problem: BoundProblem) -> float:
    for name in capable_solvers(problem):
        method = get_solver(name)
        if method.exact and method.missing() is None:
            solution = solve(problem, name)
            if solution.is_global:
                return solution.bound
    return math.nan


def measure(cell: Cell, problem: BoundProblem, time_limit: float) -> dict[str, Any]:
    """Solve and describe what came out; whatever is raised, or is not what it should be, becomes the status "error"."""
    started = time.perf_counter()
    try:
        return outcome(solve(problem, cell.solver, **_options(cell, time_limit)))
    except SolverUnavailableError as reason:
        return {"status": "unavailable", "message": str(reason)}
    except MemoryError:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_DATA)[0]
        within = "" if limit == resource.RLIM_INFINITY else f" (the limit is {limit / 2**30:.3g} GiB)"
        return {"status": "error", "message": f"out of memory{within}", "seconds": time.perf_counter() - started}
    except BaseException as reason:
        return {"status": "error", "message": described(reason), "seconds": time.perf_counter() - started}


def _options(cell: Cell, time_limit: float) -> dict[str, Any]:
    # Solvers are compared on the problem as it is, with all its classifiers, unless the cell's settings say otherwise.
    options = {"merge": False, **cell.options}
    if get_solver(cell.solver).keeps_time_limit:
        options.setdefault("time_limit", time_limit)
    return options


def outcome(solution: Solution) -> dict[str, Any]:
    """The columns of a row that a solution fills; ValueError names what is not of its column's type."""
    found = {
        "status": solution.status,
        "message": solution.message,
        "bound": solution.bound,
        "lower_bound": solution.lower_bound,
        "kkt_residual": solution.kkt_residual,
        "simplex_residual": solution.details.get("simplex_violation"),
        "iterations": solution.iterations,
        "gradient_evaluations": solution.details.get("gradient_evaluations"),
        "merged_size": solution.details.get("merged_size"),
        "setup_seconds": solution.setup_seconds,
        "seconds": solution.seconds,
        "support_size": solution.support_size,
        "empirical_risk": solution.empirical_risk,
        "divergence_value": solution.divergence,
    }
    conforming = conform(found)
    return {name: conforming[name] for name in found}


class Traces:
    """When a solver's bound comes close to the optimum, as shares of its time; found in a run of its own."""

    def __init__(self) -> None:
        self._points: dict[str, Sequence[Any]] = {}

    def shares(self, cell: Cell, problem: BoundProblem, time_limit: float, reference: float) -> list[float | None]:
        """For each of the levels the share of the time after which the gap stays within it; None: never, or unknown.

        Recording takes time, so the measured run does not; a second run does, of a solver that has an option ``trace``.
        """
        if cell.key not in self._points:
            self._points[cell.key] = _trace(cell, problem, time_limit)
        points = self._points[cell.key]
        return [_share(points, reference + level) for level in LEVELS]


def _trace(cell: Cell, problem: BoundProblem, time_limit: float) -> Sequence[Any]:
    if "trace" not in inspect.signature(get_solver(cell.solver).run).parameters:
        return ()
    try:
        options = {**_options(cell, time_limit), "trace": True}
        return solve(problem, cell.solver, **options).details.get("trace", ())
    except BaseException:
        # As in the measured run, which has the message.
        return ()


def _share(points: Sequence[Any], wanted: float) -> float | None:
    """Where in a trace (bounds, or pairs of bound and seconds) the bound first is at most what is wanted."""
    for position, point in enumerate(points):
        bound = point if isinstance(point, float) else point[0]
        if bound <= wanted:
            if isinstance(point, float):
                return position / max(len(points) - 1, 1)
            return point[1] / points[-1][1] if points[-1][1] > 0.0 else 0.0
    return None


def times_to_levels(row: dict[str, Any], shares: Sequence[float | None], reference: float) -> dict[str, Any]:
    """Seconds, set-up included, until the gap was at most each level; all of the time where there is no trace."""
    solving, building = row.get("seconds"), row.get("setup_seconds")
    bound = row.get("bound")
    if bound is None or solving is None or not math.isfinite(reference):
        return {}
    found: dict[str, Any] = {"traced": any(share is not None for share in shares)}
    for level, share in zip(LEVELS, shares, strict=True):
        if bound - reference <= level:
            found[reach_field(level)] = (building or 0.0) + solving * (1.0 if share is None else min(share, 1.0))
    return found


class PeakMemory:
    """How much the resident memory of this process rises above its present size, in bytes.

    getrusage's peak will not do: it can be neither reset nor freed from what the parent process once used.
    """

    def __init__(self) -> None:
        # Linux sets the peak back to the present size on this word.
        Path("/proc/self/clear_refs").write_text("5")
        self._before = _status("VmRSS")

    def rise(self) -> int:
        """The largest size since, less the size at the start."""
        return max(_status("VmHWM") - self._before, 0)


def _status(name: str) -> int:
    """A size that the kernel tells about this process, in bytes (it counts kibibytes)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return 1024 * int(line.split()[1])
    raise OSError(f"/proc/self/status has no {name}")


@dataclass
class Kept:
    """What a worker keeps between cells."""

    references: References = field(default_factory=References)
    traces: Traces = field(default_factory=Traces)
    warm: set[tuple[Any, ...]] = field(default_factory=set)


def serve(connection: TwoPipes, idle_limit: float | None = None) -> None:
    """Answer requests until the runner hangs up, or asks nothing for too long."""
    kept = Kept()
    while connection.poll(idle_limit):
        try:
            request = Request(*connection.recv())
        except EOFError:
            return
        say = partial(_say, connection, request.key)
        say("accepted", {})
        _answer(request, say, kept)


def _say(connection: TwoPipes, key: str, kind: str, found: dict[str, Any]) -> None:
    connection.send((key, kind, found))


def _answer(request: Request, say: Callable[[str, dict[str, Any]], None], kept: Kept) -> None:
    try:
        cell: Cell = pickle.loads(request.cell)
        problem = cell.problem.build()
        # The moment constant is the problem's, and kept for all of that m: the first solver must not pay for it.
        _ = problem.coefficient
        described_problem = facts(problem)
    except BaseException as reason:
        say("failed", {"message": f"the problem cannot be built: {described(reason)}"})
        return
    say("built", described_problem)
    warm_up(cell.solver, problem, kept.warm)
    say("ready", {})
    memory = PeakMemory() if request.with_memory else None
    row = measure(cell, problem, request.time_limit)
    if memory is not None:
        row["peak_memory_bytes"] = memory.rise()
    say("done", row)
    # Afterwards: the certified optimum is not the measured solver's to find, nor to be charged for.
    try:
        reference = kept.references.bound(cell.problem, problem) if request.reference is None else request.reference
    except BaseException:
        # The exact solver's own cell has the reason.
        reference = math.nan
    say("reference", {"reference_bound": reference})
    shares = kept.traces.shares(cell, problem, request.time_limit, reference)
    say("levels", times_to_levels(row, shares, reference))


def _leave_with(parent: int) -> None:
    """End this process and what it started when the runner is gone: a runner that was killed cannot end it."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os.killpg(os.getpgrp(), signal.SIGKILL)


def main(arguments: Sequence[str]) -> None:
    """Serve on two pipe ends; solvers' chatter goes nowhere.

    The arguments: the ends' numbers, the runner's process, a limit to memory in bytes and one to idleness in seconds
    (either may be 0 for none).
    """
    incoming, outgoing, parent, memory_limit = map(int, arguments[:4])
    idle_limit = float(arguments[4])
    for end in (incoming, outgoing):
        # A program that a solver starts must not keep the runner waiting for the end of the file.
        os.set_inheritable(end, False)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    if memory_limit:
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        limit = memory_limit if hard == resource.RLIM_INFINITY else min(memory_limit, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()
    serve(TwoPipes(incoming, outgoing), idle_limit or None)


class TwoPipes:
    """A connection made of a pipe in each direction."""

    def __init__(self, incoming: int, outgoing: int):
        self.incoming = Connection(incoming, writable=False)
        self._outgoing = Connection(outgoing, readable=False)
        self.recv = self.incoming.recv
        self.poll = self.incoming.poll
        self.send = self._outgoing.send

    def close(self) -> None:
        """Close both ends."""
        self.incoming.close()
        self._outgoing.close()


if __name__ == "__main__":
    main(sys.argv[1:])
