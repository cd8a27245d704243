"""Whether BLAS threads slow the solvers down while all processors are busy: the default against one thread.

    python -m pacb_models.benchmarks.studies.speed.threads [--sizes 100000 1000000] [--rounds 5] [--seconds 60]

Processes that do nothing but count keep every processor busy; they end with the run, and by themselves. Two others, one
of them held to one BLAS thread, run the same methods in turns, so that both see the machine in the same state; the best
time of each counts. Slow methods are given a few iterations only; ``CertifiedClassifier`` has 100 trees and a hundredth
of the size as examples. A ratio near one says that no threads are woken.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from .timing import options, show

#: Methods with the options that keep their runs short; slsqp and trust-constr have matrices of H² numbers.
METHODS: dict[str, dict[str, int]] = {
    **{name: {} for name in ("frontier", "fixed-point", "subset-search")},
    **{name: {"max_iterations": 10} for name in ("mirror", "spg", "lbfgsb", "frank-wolfe", "softmax")},
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
def certified():
    from sklearn.tree import DecisionTreeClassifier
    points = np.random.default_rng(0).normal(size=(size // 100, 5))
    labels = (points.sum(axis=1) > np.random.default_rng(1).normal(size=len(points))).astype(int)
    grid = {"max_depth": [1, 2, 4, 8], "random_state": range(25)}
    half = len(points) // 2
    model = pm.CertifiedClassifier(estimator=DecisionTreeClassifier(), param_grid=grid, validation_size=None)
    model.fit(points[:half], labels[:half]).calibrate(points[half:], labels[half:])
actions = {
    "CertifiedClassifier": certified,
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
def running(*processes: subprocess.Popen[str]) -> Iterator[None]:
    """End the processes afterwards."""
    try:
        yield
    finally:
        for process in processes:
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
    """Print both times for each size and method; after so many seconds for one method no round begins."""
    names = (*METHODS, "certify", "solve_many", "CertifiedClassifier")
    given = options(__doc__, sizes=(100_000, 1_000_000), methods=names, rounds=5, seconds=60.0)
    for size in given.sizes:
        workers = {"one thread": worker(size, True), "default": worker(size, False)}
        with running(*workers.values()):
            for name in given.methods:
                best, began = dict.fromkeys(workers, math.inf), time.monotonic()
                command = [sys.executable, "-c", BUSY, str(10.0 * given.seconds)]
                with running(*(subprocess.Popen(command, text=True) for _ in range(os.cpu_count() or 1))):
                    for _ in range(given.rounds + 1):
                        best = {kind: min(best[kind], seconds_of(name, each)) for kind, each in workers.items()}
                        if time.monotonic() - began > given.seconds:
                            break
                show(f"{name}, H = {size}, {os.cpu_count()} processors busy", best)


if __name__ == "__main__":
    main()
