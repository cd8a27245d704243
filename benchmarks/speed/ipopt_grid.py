"""The paper's kl grid with Ipopt: nine risk sets × H = 50, 200, 500, 1000, 1990, both constants, against ``frontier``.

    python -m pacb_models.benchmarks.speed.ipopt_grid [--direct-defaults] [--large 100000] [--verbose]

The paper's Ipopt failed in 34 of its 45 cells. ``--direct-defaults`` repeats the grid the paper's way, direct
formulation and Ipopt's default options, each cell limited to ``--time-limit`` seconds; ``--large`` adds one lifted
problem of that many classifiers.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

import pacb_models as pm
from pacb_models.benchmarks.problems import PAPER_DATASETS
from pacb_models.benchmarks.risks import load_risk_table

SIZES = (50, 200, 500, 1000, 1990)
CONSTANTS = ("exact", "paper")
#: The paper's Bupa, whose label leaks; its other version is no part of the paper's grid.
TOLERANCE = 1e-7


def cells(constant: str) -> Iterator[tuple[str, pm.BoundProblem]]:
    """The 45 problems with one constant."""
    for name in PAPER_DATASETS:
        table = load_risk_table(name)
        for size in SIZES:
            problem = pm.BoundProblem(table.risks(size), table.m, delta=0.01, distance="kl", constant=constant)
            yield f"{name} H={size}", problem


def run_grid(title: str, solver: str, verbose: bool, **options: Any) -> None:
    """Solve the grid, and print how many cells end optimal at the reference's bound."""
    for constant in CONSTANTS:
        statuses: Counter[str] = Counter()
        gaps, residuals, iterations = [], [], []
        agree, seconds, setup_seconds = 0, 0.0, 0.0
        for name, problem in cells(constant):
            reference = pm.solve(problem, "frontier")
            solution = pm.solve(problem, solver, merge=False, **options)
            gap = solution.bound - reference.bound
            right = solution.status == "optimal" and abs(gap) <= TOLERANCE
            agree += right
            statuses[solution.status] += 1
            if solution.status == "optimal":
                gaps.append(abs(gap))
                residuals.append(solution.kkt_residual)
                iterations.append(solution.iterations or 0)
            seconds += solution.seconds
            setup_seconds += solution.setup_seconds
            if verbose or not right:
                print(
                    f"  {name} {constant}: {solution.status}, gap {gap:.1e}, {solution.iterations} iterations",
                    flush=True,
                )
        ended = ", ".join(f"{count} {status}" for status, count in statuses.most_common())
        print(
            f"{title}, {constant} constant: {ended}; {agree} of {sum(statuses.values())} optimal and within "
            f"{TOLERANCE:g} of frontier; of the optimal: largest gap {max(gaps, default=np.nan):.1e}, KKT residual "
            f"{max(residuals, default=np.nan):.1e}, at most {max(iterations, default=0)} iterations; "
            f"set-up {setup_seconds:.1f} s, solving {seconds:.1f} s",
            flush=True,
        )


def run_large(size: int) -> None:
    """One lifted problem with many classifiers: error counts of binomial classifiers on 2000 examples."""
    rng = np.random.default_rng(1)
    problem = pm.BoundProblem(rng.binomial(2000, rng.beta(4, 16, size)) / 2000, 2000, delta=0.01, distance="kl")
    reference = pm.solve(problem, "frontier")
    for solver in ("ipopt", "cyipopt"):
        began, processor = time.perf_counter(), time.process_time()
        solution = pm.solve(problem, solver, merge=False)
        print(
            f"{solver}, H={size}: {solution.status}, {solution.iterations} iterations, gap "
            f"{solution.bound - reference.bound:.1e}, KKT residual {solution.kkt_residual:.1e}; set-up "
            f"{solution.setup_seconds:.1f} s, solving {solution.seconds:.1f} s, "
            f"in all {time.perf_counter() - began:.1f} s, {time.process_time() - processor:.1f} s of processor time",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--direct-defaults", action="store_true", help="the paper's set-up too")
    parser.add_argument("--time-limit", type=float, default=20.0, help="seconds per cell of the paper's set-up")
    parser.add_argument("--large", type=int, default=0, help="number of classifiers of one large problem")
    parser.add_argument("--verbose", action="store_true", help="one line per cell")
    arguments = parser.parse_args()
    run_grid("ipopt, lifted", "ipopt", arguments.verbose)
    run_grid("cyipopt", "cyipopt", arguments.verbose)
    if arguments.direct_defaults:
        options = {"formulation": "direct", "defaults": True, "time_limit": arguments.time_limit}
        run_grid("ipopt, direct, Ipopt's default options", "ipopt", arguments.verbose, **options)
    if arguments.large:
        run_large(arguments.large)


if __name__ == "__main__":
    main()
