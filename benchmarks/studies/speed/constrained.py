"""What constraints cost: the certified minimum under five averages, and under a limit on the support.

    python -m pacb_models.benchmarks.studies.speed.constrained [--repeats 3] [--largest 100000]

χ² divergence, kl distance. Each line is one ratio, of two actions that take turns in this process:

* five averages, H = 1990, against Ipopt with the Pyomo model (building included, as for everybody);
* five averages, the largest H, against Clarabel on the linear distance *without* constraints;
* at most ten classifiers of the largest H, against one ``np.argsort`` of as many numbers.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

# One thread for every side, set before NumPy is imported: on a busy machine BLAS threads wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import pacb_models as pm

from .timing import best_seconds


def with_averages(count: int, rows: int, seed: int = 0) -> pm.BoundProblem:
    """Classifiers that cost more the better they are, with limits below what the bound alone would choose."""
    random = np.random.default_rng(seed)
    risks = random.binomial(2000, random.uniform(0.05, 0.5, count)) / 2000
    free = pm.BoundProblem(risks, m=2000)
    best = np.asarray(pm.solve(free).posterior)
    limits = []
    for number in range(rows):
        costs = random.uniform(0.0, 1.0, count) * (1.0 - risks) ** (number + 1)
        limits.append(pm.average(costs, at_most=float(0.97 * costs @ best), name=f"cost {number}"))
    return free.replace(constraints=limits)


def compared(what: str, ours: Callable[[], object], other: str, theirs: Callable[[], object], repeats: int) -> None:
    """One line: seconds of both, and how many times theirs ours take."""
    for action in (ours, theirs):  # imports, and moment constants
        action()
    seconds = best_seconds({"ours": ours, "theirs": theirs}, repeats)
    ratio = seconds["ours"] / seconds["theirs"]
    print(
        f"{what:<42} {seconds['ours']:9.4f} s   {other:<28} {seconds['theirs']:9.4f} s   ratio {ratio:.2f}", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--largest", type=int, default=100_000)
    options = parser.parse_args()
    small, large = with_averages(1990, 5), with_averages(options.largest, 5)
    linear = large.replace(distance="linear", constraints=())
    sparse = large.replace(constraints=[pm.support(at_most=10)])
    numbers = np.random.default_rng(1).random(options.largest)
    for problem, name in ((small, "five averages, H = 1990"), (large, f"five averages, H = {options.largest}")):
        solution = pm.solve(problem, "frontier")
        tight = sum(rate > 0.0 for rate in solution.multipliers.values())
        print(f"# {name}: {tight} rows bind, {solution.status}, global: {solution.is_global}")
    compared(
        "five averages, H = 1990",
        lambda: pm.solve(small, "frontier"),
        "ipopt, the same problem",
        lambda: pm.solve(small, "ipopt"),
        options.repeats,
    )
    compared(
        f"five averages, H = {options.largest}",
        lambda: pm.solve(large, "frontier"),
        "Clarabel, linear, no rows",
        lambda: pm.solve(linear, "cvxpy", merge=False),
        1,
    )
    compared(
        f"at most 10 of {options.largest} classifiers",
        lambda: pm.solve(sparse, "frontier"),
        "one argsort",
        lambda: np.argsort(numbers),
        options.repeats,
    )


if __name__ == "__main__":
    main()
