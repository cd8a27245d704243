"""Appendix A.3.1, (35): the warm start often does not exist, and is never near H*."""

import numpy as np

import pacb_models as pm
from pacb_models.benchmarks.problems.problem import PAPER_DATASETS, from_table

H = 1990
print("data set      crossing    H*")
for name in PAPER_DATASETS:
    problem = from_table(name, H, distance="linear", delta=0.01)
    sums = np.cumsum(np.sort(problem.risks) ** 2)
    crossing = np.searchsorted(sums, H * problem.coefficient**2) + 1
    print(f"{name:<12} {crossing if crossing <= H else 'none':>9}  {pm.solve(problem).support_size:4}")
