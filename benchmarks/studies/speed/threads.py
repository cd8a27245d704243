"""Whether BLAS threads slow the solvers down while all processors are busy: the default against one thread.

    python -m pacb_models.benchmarks.studies.speed.threads [--sizes 100000 1000000] [--rounds 5] [--seconds 60]

Processes that do nothing but count keep every processor busy; they end with the run, and by themselves. Two others, one
of them held to one BLAS thread, run the same methods in turns, so that both see the machine in the same state; the best
time of each counts. Slow methods are given a few iterations only. A ratio near one says that no threads are woken.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

#: Methods with the options that keep their runs short; slsqp and trust-constr have matrices of H² numbers.
METHODS: dict[str, dict[str, int]] = {
    "frontier": {},
    "fixed-point": {},
    "subset-search": {},
    "mirror": {"max_iterations": 10},
    "spg": {"max_iterations": 10},
    "lbfgsb": {"max_iterations": 10},
    "frank-wolfe": {"max_iterations": 10},
    "softmax": {"max_iterations": 10},
    "cyipopt": {"max_iterations": 3},
}

#: What a process runs: for every name that it reads, the seconds of that method on one problem.
PROGRAM = """
import json, sys, time
import numpy as np
import pacb_models as pm
size, methods = json.loads(sys.argv[1])
risks = np.random.default_rng(0).beta(4, 16, size)
many = pm.ProblemBatch(risks[: size // 50 * 50].reshape(-1, 50), 549)
chi2, kl = pm.BoundProblem(risks, m=5490), pm.BoundProblem(risks, m=5490, divergence="kl")
counts = np.rint(549 * risks).astype(int)
actions = {
    "certify": lambda: pm.certify(counts, 549, prior=chi2.prior).bound,
    "solve_many": lambda: pm.solve_many(many),
}
for line in sys.stdin:
    name = line.strip()
    problem = kl if name == "softmax" else chi2
    action = actions.get(name) or (lambda: pm.solve(problem, name, merge=False, **methods[name]))
    began = time.perf_counter()
    action()
    print(time.perf_counter() - began, flush=True)
"""

#: What a process that keeps a processor busy runs.
BUSY = "import sys, time\nend = time.monotonic() + float(sys.argv[1])\nwhile time.monotonic() < end: sum(range(10**6))"


@contextmanager
def busy_processors(seconds: float) -> Iterator[None]:
    """Every processor busy for at most so many seconds."""
    command = [sys.executable, "-c", BUSY, str(seconds)]
    running = [subprocess.Popen(command) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def worker(size: int, one: bool) -> subprocess.Popen[str]:
    """A process that measures methods, with one BLAS thread or with as many as BLAS takes."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    environment |= dict.fromkeys(names, "1") if one else {}
    command = [sys.executable, "-c", PROGRAM, json.dumps([size, METHODS])]
    return subprocess.Popen(command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def seconds_of(name: str, process: subprocess.Popen[str]) -> float:
    """The seconds that a method takes in a process."""
    print(name, file=process.stdin, flush=True)
    return float(process.stdout.readline() if process.stdout else "nan")


def main() -> None:
    """Print a line for each size and method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--methods", nargs="+", choices=[*METHODS, "certify", "solve_many"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60.0, help="after so many for one method no round begins (60)")
    options = parser.parse_args()
    names = options.methods or [*METHODS, "certify", "solve_many"]
    for size in options.sizes:
        workers = [worker(size, one) for one in (False, True)]
        try:
            print(f"H = {size}, {os.cpu_count()} processors busy", flush=True)
            for name in names:
                best, began = [math.inf, math.inf], time.monotonic()
                with busy_processors(10.0 * options.seconds):
                    for _ in range(options.rounds + 1):
                        best = [min(each, seconds_of(name, process)) for each, process in zip(best, workers)]
                        if time.monotonic() - began > options.seconds:
                            break
                default, one = best
                print(f"  {name:<15} one thread {1e3 * one:9.1f} ms  default {1e3 * default:9.1f} ms", end="")
                print(f"  ratio {default / one:5.2f}", flush=True)
        finally:
            for process in workers:
                process.kill()
                process.wait()


if __name__ == "__main__":
    main()
