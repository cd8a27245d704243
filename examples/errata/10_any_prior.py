"""Section 9: for any prior the support is the set of classifiers below a threshold, so that H candidates suffice."""

import numpy as np

import pacb_models as pm
from pacb_models.benchmarks.problems.risks import load_risk_table

table = load_risk_table("spambase")
prior = np.random.default_rng(0).dirichlet(np.ones(1990))
solution = pm.solve(pm.BoundProblem(table.risks(), m=table.m, delta=0.01, distance="kl", prior=prior))
used = solution.posterior > 0

print("certified as the global minimum ", solution.is_global)
print("classifiers in the support      ", used.sum())
print("largest risk in the support     ", table.risks()[used].max().round(5))
print("smallest risk outside           ", table.risks()[~used].min().round(5))
assert table.risks()[used].max() < table.risks()[~used].min()
