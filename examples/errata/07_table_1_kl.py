"""Table 1, kl: the printed sign gives more weight to worse classifiers; Theorem 9, (15), is right."""

import numpy as np

import pacb_models as pm
from pacb_models.benchmarks.problems.problem import from_table

problem = from_table("wdbc", 50, distance="kl", constant="paper", delta=0.01)
solution = pm.solve(problem)
L, r, X = solution.empirical_risk, solution.bound, problem.statistic(solution.posterior)
slope = np.log((1 - r) * L / (r * (1 - L))) / (problem.coefficient * np.sqrt(X))
by_table_1, by_theorem_9 = 1 + (L - problem.risks) * slope, 1 + (problem.risks - L) * slope

for name, weights in (("Table 1", by_table_1), ("(15)", by_theorem_9)):
    print(f"correlation of weights and risks by {name:<8}", np.corrcoef(problem.risks, weights)[0, 1].round(3))
assert abs(solution.posterior - problem.prior * X * by_theorem_9).max() < 1e-12
print("(15) holds at the optimum")
