"""Theorem 13: B*(H') decreases throughout, and goes on doing so beyond H*, where weights are negative."""

import numpy as np

import pacb_models as pm
from pacb_models.benchmarks.paper.items.posteriors import components
from pacb_models.benchmarks.problems.problem import from_table

problem = from_table("ionosphere", 1990, distance="linear", delta=0.1)
bounds = sum(components(problem.risks, problem.coefficient))
best = pm.solve(problem).support_size

for size in (100, best, 1001, 1901):
    print(f"B*({size:4}) = {bounds[size - 1]:.4f}" + ("   H*" if size == best else ""))
assert np.nanmax(np.diff(bounds)) < 1e-12
print("it never increases")
