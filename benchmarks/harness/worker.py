"""A process that measures cells of one solver for a runner, or judges them, and can be killed without loss.

It serves request after request, so that imports are paid once, and answers each several times, with the request's key.
A measurement: "accepted"; "built" with the problem's facts; "ready" once the solver's software is imported (the clock
starts here); "done" with what came out (it stops here); "trace" with the way down. A judgement (see :mod:`.referee`):
"accepted", "judged", "reference". "failed" takes the place of an answer that cannot be given.

Answers are JSON, and weights raw numbers after it: nothing that a measured process sends is ever run by the runner.
"""

import json
import os
import pickle
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from pacb_models import BoundProblem, Solution, SolverUnavailableError, average, solve, support, weights
from pacb_models.plugins import exception_text
from pacb_models.solving.registry import get_solver

from ..problems.problem import facts
from .measurement import LEVELS, Measurement, Settings, conforming
from .suites import Cell

#: Seconds for the tiny problem that warms a solver up: a global method may not close it.
WARM_UP_LIMIT = 5.0

#: What is said of a cell, by fields of its measurement; and weights, as "posterior".
Facts = dict[str, Any]
Say = Callable[[str, Facts], None]
#: Bounds on the way down, with the share of the time after which each was reached.
Descents = Sequence[tuple[float, float]]

#: What a solver's process may say of its own run.
SAID = (
    *("status", "message", "software", "lower_bound", "simplex_residual", "constraint_residual", "iterations"),
    *("gradient_evaluations", "merged_size", "setup_seconds", "seconds", "peak_memory_bytes"),
)


def tiny(problem: BoundProblem) -> BoundProblem:
    """Return the problem with three classifiers, and with constraints on them of the kinds that it has."""
    risks = np.array([0.1, 0.2, 0.3])
    given = {"tandem_risks": np.diag(risks)} if problem.kind == "tandem" else {"risks": risks}
    kinds = {} if problem.posteriors is None else problem.posteriors.kinds()
    known = {"average": average([0, 1, 2], at_most=1.5), "weights": weights(at_most=0.9), "support": support(at_most=2)}
    return problem.replace(**given, prior=None, m=100, delta=0.05, constraints=[known[kind] for kind in kinds])


def solved(cell: Cell, problem: BoundProblem, options: Settings) -> Facts:
    """Solve and describe what came out; whatever is raised, or is not what it should be, becomes the status "error"."""
    started = time.perf_counter()
    try:
        return outcome(solve(problem, cell.solver, **options))
    except SolverUnavailableError as reason:
        return {"status": "unavailable", "message": str(reason)}
    except MemoryError:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_DATA)[0]
        message = "out of memory" + f" (the limit is {limit / 2**30:.3g} GiB)" * (limit != resource.RLIM_INFINITY)
    except BaseException as reason:
        message = exception_text(reason)
    return {"status": "error", "message": message, "seconds": time.perf_counter() - started}


def outcome(solution: Solution) -> Facts:
    """Return what a solution says of itself, and its weights; ValueError names what is not of its field's type."""
    details = solution.details
    found = {
        "status": solution.status,
        "message": solution.message,
        # What is proven here is only said there: the referee has the weights, and no proof.
        "lower_bound": solution.claimed_lower_bound if solution.lower_bound is None else solution.lower_bound,
        "simplex_residual": details.get("simplex_violation"),
        "constraint_residual": details.get("constraint_violation"),
        "iterations": solution.iterations,
        "setup_seconds": solution.setup_seconds,
        "seconds": solution.seconds,
        **{name: details.get(name) for name in ("software", "gradient_evaluations", "merged_size")},
    }
    return conforming(found) | {"posterior": solution.posterior}


def way_down(cell: Cell, problem: BoundProblem, options: Settings) -> Descents:
    """Return every bound that was the smallest so far, with the share of the time after which it was reached.

    Recording takes time: it is done in a second run, of a solver that has an option ``trace``.
    """
    if "trace" not in (get_solver(cell.solver).option_names() or ()):
        return []
    found: list[tuple[float, float]] = []
    # What is raised was raised in the measured run, which has the message.
    with suppress(BaseException):
        points = solve(problem, cell.solver, **options, trace=True).details.get("trace", ())
        for bound, reached in points:
            if not found or bound < found[-1][0]:
                found.append((float(bound), reached / (points[-1][1] or 1.0)))
    return found


def with_times(row: Measurement, descents: Descents) -> Measurement:
    """Return the row with the seconds, set-up included, until the gap was at most each level; all where there is no
    trace."""
    if row.gap is None or row.seconds is None or row.reference_bound is None:
        return row
    found: Facts = {"traced": False}
    for name, level in LEVELS.items():
        share = next((share for low, share in descents if low <= row.reference_bound + level), None)
        found["traced"] |= share is not None
        if row.gap <= level:
            found[name] = (row.setup_seconds or 0.0) + row.seconds * (1.0 if share is None else min(share, 1.0))
    return row.told(found)


class PeakMemory:
    """How much the resident memory of this process rises above its present size, in bytes.

    getrusage's peak will not do: it can be neither reset nor freed from what the parent process once used.
    """

    def __init__(self) -> None:
        # Linux sets the peak back to the present size on this word.
        Path("/proc/self/clear_refs").write_text("5")
        self._before = self._told("VmRSS")

    def rise(self) -> int:
        """Return the largest size since, less the size at the start."""
        return max(self._told("VmHWM") - self._before, 0)

    def _told(self, name: str) -> int:
        # The kernel counts kibibytes.
        return 1024 * int(re.findall(rf"{name}:\s*(\d+)", Path("/proc/self/status").read_text())[0])


class Measurer:
    """Measures; keeps what is the same for several cells."""

    def __init__(self) -> None:
        self._warm: set[tuple[Any, ...]] = set()
        self._ways: dict[str, Descents] = {}

    def answer(self, say: Say, cell: Cell, time_limit: float, with_memory: bool) -> None:
        """Build, warm up, measure, trace; say so after each."""
        limited = get_solver(cell.solver).keeps_time_limit
        warm: Settings = {"time_limit": WARM_UP_LIMIT} if limited else {}
        try:
            problem = cell.problem.build()
            # The moment constant is the problem's, and kept for all of that m: the first solver must not pay for it.
            _ = problem.coefficient
            # Solvers are compared on the problem as it is, with all its classifiers, unless settings say otherwise.
            options = {"merge": False, **({"time_limit": time_limit} if limited else {}), **cell.options(problem)}
        except BaseException as reason:
            raise RuntimeError(f"the problem cannot be built: {exception_text(reason)}") from None
        say("built", facts(problem))
        constraints = () if problem.posteriors is None else tuple(problem.posteriors.kinds())
        kind = (problem.kind, problem.distance, problem.divergence, problem.order, constraints)
        if kind not in self._warm:
            self._warm.add(kind)
            # Imports are not measured. Whatever is wrong shows up in the measurement itself, with its message.
            with suppress(BaseException):
                solve(tiny(problem), cell.solver, **warm)
        say("ready", {"keeps_time_limit": limited})
        memory = PeakMemory() if with_memory else None
        found = solved(cell, problem, options)
        if memory is not None:
            found["peak_memory_bytes"] = memory.rise()
        say("done", found)
        if cell.key not in self._ways:
            self._ways[cell.key] = way_down(cell, problem, options)
        say("trace", {"descents": self._ways[cell.key]})


def serve(connection: Connection, idle_limit: float | None = None) -> None:
    """Answer requests (a key, "measure" or "judge", pickled arguments) until the runner hangs up, or is long silent."""
    from .referee import Referee

    roles: dict[str, Measurer | Referee] = {"measure": Measurer(), "judge": Referee()}
    while connection.poll(idle_limit):
        try:
            key, kind, arguments = connection.recv()
        except (EOFError, OSError):
            return

        def say(what: str, found: Facts, key: str = key) -> None:
            connection.send_bytes(packed(key, what, found))

        say("accepted", {})
        try:
            roles[kind].answer(say, *pickle.loads(arguments))
        except BaseException as reason:
            text = str(reason) if type(reason) is RuntimeError else exception_text(reason)
            say("failed", {"message": text})


def packed(key: str, what: str, found: Facts) -> bytes:
    """Return an answer: a line of JSON, which says if weights follow, and these as doubles."""
    if (weighted := found.get("posterior")) is None:
        return json.dumps([key, what, found]).encode()
    return json.dumps([key, what, found | {"posterior": True}]).encode() + b"\n" + np.asarray(weighted, "<f8").tobytes()


def unpacked(content: bytes) -> tuple[str, str, Facts]:
    """Return what :func:`packed` packed: the key, what is said, and facts; ValueError for anything else."""
    text, _, numbers = content.partition(b"\n")
    key, what, found = json.loads(text)
    if not (isinstance(key, str) and isinstance(what, str) and isinstance(found, dict)):
        raise ValueError("an answer is a key, a word and facts")
    if found.pop("posterior", None):
        found["posterior"] = np.frombuffer(numbers, "<f8")
    return key, what, found


def main(arguments: Sequence[str]) -> None:
    """Serve silently on the end of a pipe, by its number, with limits to memory (bytes) and idleness (s), or 0."""
    end, memory_limit = map(int, arguments[:2])
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
    serve(Connection(end), float(arguments[2]) or None)
