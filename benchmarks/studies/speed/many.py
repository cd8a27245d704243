"""How many problems a second: ``pm.solve_many`` on a batch and on a list, against a loop over ``pm.solve``.

    python -m pacb_models.benchmarks.studies.speed.many [--count 10000] [--size 50] [--repeats 3]

The loop is timed on a tenth of the problems, in turns with the others; problems are built beforehand on all sides. The
largest difference between the bounds is printed too.
"""

from __future__ import annotations

import argparse
import os

# One thread for every side, set before NumPy is imported: on a busy machine BLAS threads wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import pacb_models as pm

from .timing import best_seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    random = np.random.default_rng(0)
    true_risks = random.uniform(0.05, 0.5, options.size)
    risks = random.binomial(1000, true_risks, (options.count, options.size)) / 1000
    print("distance   loop µs   list µs   batch µs   list x   batch x   largest difference")
    for distance in ("linear", "squared", "kl"):
        batch = pm.ProblemBatch(risks, 1000, distance=distance)
        problems = list(batch)
        few = problems[: max(1, options.count // 10)]
        seconds = best_seconds(
            {
                "loop": lambda few=few: [pm.solve(problem) for problem in few],
                "list": lambda problems=problems: pm.solve_many(problems),
                "batch": lambda batch=batch: pm.solve_many(batch),
            },
            options.repeats,
        )
        loop, listed, together = (
            1e6 * seconds[name] / count
            for name, count in (("loop", len(few)), ("list", options.count), ("batch", options.count))
        )
        together_bounds = pm.solve_many(batch).bound
        off = max(abs(pm.solve(problem).bound - bound) for problem, bound in zip(few, together_bounds, strict=False))
        print(
            f"{distance:9s} {loop:8.0f} {listed:9.1f} {together:10.1f} {loop / listed:8.0f} {loop / together:9.0f} "
            f"{off:12.1e}"
        )


if __name__ == "__main__":
    main()
