"""What constraints cost: the certified minimum under five averages, and under a limit on the support.

    python -m pacb_models.benchmarks.studies.speed.constrained [--repeats 3] [--largest 100000]

χ² divergence, kl distance. Each pair of actions takes turns in this process:

* five averages, H = 1990, against Ipopt with the Pyomo model (building included, as for everybody);
* five averages, the largest H, against Clarabel on the linear distance *without* constraints;
* at most ten classifiers of the largest H, against one ``np.argsort`` of as many numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import pacb_models as pm

from .timing import best_seconds, options, show


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


def show_beside(problem: pm.BoundProblem, other: str, theirs: Callable[[], object], repeats: int) -> None:
    """The exact solver beside another action; what is imported and computed once does not count."""
    theirs()
    solution = pm.solve(problem, "frontier")
    binding = sum(rate > 0.0 for rate in solution.multipliers.values())
    title = f"H = {problem.size}, {binding} of {len(problem.constraints)} constraints bind, {solution.status}"
    show(title, best_seconds({other: theirs, "frontier": lambda: pm.solve(problem, "frontier")}, repeats))


def main() -> None:
    """The three comparisons."""
    given = options(__doc__, repeats=3, largest=100_000)
    small, large = with_averages(1990, 5), with_averages(given.largest, 5)
    linear = large.replace(distance="linear", constraints=())
    numbers = np.random.default_rng(1).random(given.largest)
    show_beside(small, "ipopt, the same problem", lambda: pm.solve(small, "ipopt"), given.repeats)
    show_beside(large, "Clarabel, linear, no rows", lambda: pm.solve(linear, "cvxpy", merge=False), 1)
    sparse = large.replace(constraints=[pm.support(at_most=10)])
    show_beside(sparse, "one argsort", lambda: np.argsort(numbers), given.repeats)


if __name__ == "__main__":
    main()
