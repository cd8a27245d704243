"""Theorem 4 (9): the factor must be 1/H', the size of the support, and not 1/H."""

import numpy as np

import pacb_models as pm
from pacb_models.benchmarks.problems.problem import from_table

H, delta = 1990, 0.1
problem = from_table("ionosphere", H, distance="linear", delta=delta)
support = pm.solve(problem).support_size
risks = np.sort(problem.risks)[:support]
bracket = 1 + (risks.mean() - risks) / np.sqrt(H / (support * 4 * problem.m * delta) - risks.var())

print("classifiers in the support   ", support)
print("sum of the weights with 1/H  ", round(bracket.sum() / H, 4))
print("sum of the weights with 1/H' ", round(bracket.sum() / support, 4))
assert abs(bracket.sum() / support - 1) < 1e-12
