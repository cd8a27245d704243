"""Theorem 11 (22): the weights lack the prior and the one; the last line of the proof, (28), has them."""

import numpy as np

from pacb_models.benchmarks.problems.problem import from_table

problem = from_table("bupa", 50, distance="linear", delta=0.01)
prior, risks = problem.prior, problem.risks
printed = (risks.mean() - risks) / np.sqrt(problem.coefficient**2 - risks.var())
right = prior * (1 + printed)

print("sum of p_i q_i by (22)           ", round(abs((prior * printed).sum()), 9))
print("negative weights by (22), of 50  ", (printed < 0).sum())
print("sum of the weights by (28)       ", round(right.sum(), 9))
assert right.min() > 0
