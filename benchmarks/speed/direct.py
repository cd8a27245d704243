"""The exact minimum of direct bounds against sorting: how many argsorts of the risks one solution takes.

    python -m pacb_models.benchmarks.speed.direct [--size 10000000] [--repeats 3]

Finding the root and its posterior is the solver's part; the whole of ``solve`` also merges equal risks and recomputes
bound and residual from the weights. Risks are error counts over m, as measured risks are, and numbers without ties.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np

import pacb_models as pm

from .timing import best_seconds

PAIRS = (("chi2", "linear"), ("chi2", "squared"), ("chi2", "kl"), ("kl", "kl"))


def samples(size: int, m: int) -> dict[str, np.ndarray]:
    """Risks with and without ties."""
    random = np.random.default_rng(0)
    true = 0.05 + 0.45 * random.beta(2.0, 3.0, size=size)
    return {"counts": random.binomial(m, true) / m, "no ties": np.clip(true + random.normal(0, 0.01, size), 0, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", type=int, default=1_000_000, help="number of classifiers")
    parser.add_argument("--m", type=int, default=1000, help="number of examples")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    for name, risks in samples(options.size, options.m).items():
        actions: dict[str, Callable[[], object]] = {"argsort": risks.argsort}
        for divergence, distance in PAIRS:
            problem = pm.DirectProblem(risks, options.m, 0.05, distance, divergence)
            actions[f"{divergence}-{distance} root"] = partial(_root, problem)
            actions[f"{divergence}-{distance} solve"] = partial(_solve, problem)
        seconds = best_seconds(actions, options.repeats)
        print(f"{name}, H = {options.size:,}: argsort {seconds['argsort']:.3f} s")
        for action, time in seconds.items():
            if action != "argsort":
                print(f"  {action:20s} {time:8.3f} s  {time / seconds['argsort']:6.2f} argsorts")


def _root(problem: pm.DirectProblem) -> np.ndarray:
    fresh = problem.replace()
    return fresh.weights_at(fresh.common_risk.high)


def _solve(problem: pm.DirectProblem) -> pm.Solution:
    return pm.solve(problem.replace())


if __name__ == "__main__":
    main()
