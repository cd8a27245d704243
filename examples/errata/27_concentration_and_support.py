"""Section 8.1: KL posteriors, of full support, are the concentrated ones; χ² posteriors are spread out."""

import pacb_models as pm
from pacb_models.benchmarks.paper.items.posteriors import classifiers_for
from pacb_models.benchmarks.problems.problem import PAPER_DATASETS, from_table

print("classifiers that have 80 % of the weight, of 1990; linear distance")
print("data set      KL    χ²")
for name in PAPER_DATASETS:
    counts = []
    for divergence in ("kl", "chi2"):
        problem = from_table(name, 1990, distance="linear", divergence=divergence, delta=0.01)
        counts.append(classifiers_for(pm.solve(problem).posterior, problem.risks, 0.8))
    print(f"{name:<12} {counts[0]:3}  {counts[1]:4}")
