"""A process that measures cells for a runner and can be killed without losing anything.

The runner keeps one worker and sends it cell after cell, so that imports are paid once; a solver that does not come
back is ended with its worker, and the next cell gets a new one. A worker answers three times: "ready" with the
problem's facts once it is built and the solver's software imported (the clock starts here), "done" with the measurement
(it stops here), and "reference" with the certified optimum.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from pacb_models import BoundProblem, Solution, SolverUnavailableError, solve
from pacb_models.registry import capable_solvers, get_solver

from .problems import Problem
from .suites import Cell


def facts(problem: BoundProblem) -> dict[str, Any]:
    """The columns of a row that describe the problem."""
    return {
        "H": problem.size,
        "m": problem.m,
        "delta": problem.delta,
        "distance": problem.distance,
        "divergence": problem.divergence,
        "order": problem.order,
        "constant": problem.constant,
        "prior": "uniform" if problem.uniform_prior else "given",
    }


@cache
def warm_up(solver: str, distance: str, divergence: str, order: float) -> None:
    """Solve a tiny problem of the same kind, so that imports are not measured."""
    tiny = BoundProblem([0.1, 0.2, 0.3], m=100, distance=distance, divergence=divergence, order=max(order, 1.5))
    try:
        solve(tiny, solver)
    except Exception:
        # Whatever is wrong shows up in the measurement itself, with its message.
        return


class References:
    """The certified optimum of each problem, computed once per worker."""

    def __init__(self) -> None:
        self._bounds: dict[str, float] = {}

    def bound(self, recipe: Problem, problem: BoundProblem) -> float:
        """The smallest possible bound; NaN where no exact solver applies."""
        identity = recipe.identity
        if identity not in self._bounds:
            exact = [name for name in capable_solvers(problem) if get_solver(name).exact]
            bounds = [solution.bound for name in exact if (solution := solve(problem, name)).is_global]
            self._bounds[identity] = min(bounds, default=float("nan"))
        return self._bounds[identity]


def measure(cell: Cell, problem: BoundProblem, time_limit: float) -> dict[str, Any]:
    """Solve and describe what came out; an exception becomes the status "error"."""
    # Solvers are compared on the problem as it is, with all its classifiers, unless the cell's settings say otherwise.
    options = {"merge": False, **cell.options}
    if get_solver(cell.solver).keeps_time_limit:
        options.setdefault("time_limit", time_limit)
    started = time.perf_counter()
    try:
        return outcome(solve(problem, cell.solver, **options))
    except SolverUnavailableError as reason:
        return {"status": "unavailable", "message": str(reason)}
    except MemoryError:
        return {"status": "error", "message": "out of memory", "seconds": time.perf_counter() - started}
    except Exception as reason:
        message = f"{type(reason).__name__}: {reason}"
        return {"status": "error", "message": message, "seconds": time.perf_counter() - started}


def outcome(solution: Solution) -> dict[str, Any]:
    """The columns of a row that a solution fills."""
    return {
        "status": solution.status,
        "message": solution.message,
        "bound": solution.bound,
        "kkt_residual": solution.kkt_residual,
        "simplex_residual": solution.details.get("simplex_violation"),
        "iterations": solution.iterations,
        "setup_seconds": solution.setup_seconds,
        "seconds": solution.seconds,
        "support_size": solution.support_size,
        "empirical_risk": solution.empirical_risk,
        "divergence_value": solution.divergence,
    }


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


def serve(connection: TwoPipes) -> None:
    """Answer requests until the runner hangs up."""
    references = References()
    while True:
        try:
            cell, time_limit, with_memory = connection.recv()
        except EOFError:
            return
        problem = cell.problem.build()
        # The moment constant is the problem's, and kept for all of that m: the first solver must not pay for it.
        _ = problem.coefficient
        warm_up(cell.solver, problem.distance, problem.divergence, problem.order)
        connection.send(("ready", facts(problem)))
        memory = PeakMemory() if with_memory else None
        row = measure(cell, problem, time_limit)
        if memory is not None:
            row["peak_memory_bytes"] = memory.rise()
        connection.send(("done", row))
        # Afterwards: the certified optimum is not the measured solver's to find, nor to be charged for.
        connection.send(("reference", {"reference_bound": references.bound(cell.problem, problem)}))


def _leave_with(parent: int) -> None:
    """End this process when the runner is gone: a runner that was killed cannot end it."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def main() -> None:
    """Serve on the two pipe ends named on the command line; solvers' chatter goes nowhere."""
    incoming, outgoing, parent = map(int, sys.argv[1:4])
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()
    serve(TwoPipes(incoming, outgoing))


class TwoPipes:
    """A connection made of a pipe in each direction."""

    def __init__(self, incoming: int, outgoing: int):
        self._incoming = Connection(incoming, writable=False)
        self._outgoing = Connection(outgoing, readable=False)
        self.recv = self._incoming.recv
        self.poll = self._incoming.poll
        self.send = self._outgoing.send

    def close(self) -> None:
        self._incoming.close()
        self._outgoing.close()


if __name__ == "__main__":
    main()
