"""How many problems a second: ``pm.solve_many`` on a batch and on a list, against a loop over ``pm.solve``.

    python -m pacb_models.benchmarks.studies.speed.many [--count 10000] [--size 50] [--repeats 3]

The loop is timed on a tenth of the problems, in turns with the others; problems are built beforehand on all sides.
Times are those of one problem. The largest difference between the bounds is printed too.
"""

from __future__ import annotations

import numpy as np

import pacb_models as pm

from .timing import best_seconds, options, show


def main() -> None:
    """Each distance with the χ² divergence."""
    given = options(__doc__, count=10_000, size=50, repeats=3)
    random = np.random.default_rng(0)
    true_risks = random.uniform(0.05, 0.5, given.size)
    risks = random.binomial(1000, true_risks, (given.count, given.size)) / 1000
    for distance in ("linear", "squared", "kl"):
        batch = pm.ProblemBatch(risks, 1000, distance=distance)
        problems = list(batch)
        few = problems[: max(1, given.count // 10)]
        actions = {
            "loop": lambda few=few: [pm.solve(problem) for problem in few],
            "list": lambda problems=problems: pm.solve_many(problems),
            "batch": lambda batch=batch: pm.solve_many(batch),
        }
        seconds = best_seconds(actions, given.repeats)
        bounds = pm.solve_many(batch).bound
        off = max(abs(pm.solve(problem).bound - bound) for problem, bound in zip(few, bounds, strict=False))
        counts = {"loop": len(few), "list": given.count, "batch": given.count}
        show(f"{distance}, largest difference {off:.1e}", {name: seconds[name] / counts[name] for name in seconds})


if __name__ == "__main__":
    main()
