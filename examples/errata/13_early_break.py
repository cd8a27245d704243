"""Algorithm 1 stops at the first infeasible support, and misses the minimum of the squared and kl bounds."""

import pacb_models as pm
from pacb_models.benchmarks.problems.problem import from_table

example = pm.BoundProblem([0.0] + [0.4] * 49, m=110, delta=0.01, distance="squared", constant="paper")
mushroom = from_table("mushroom", 200, distance="kl", delta=0.01)
for name, problem in (("example of item 12", example), ("Mushroom, H = 200", mushroom)):
    stopped, best = pm.solve(problem, "subset-search"), pm.solve(problem)
    print(name)
    for who, solution in (("Algorithm 1", stopped), ("the minimum", best)):
        print(f"  {who}: bound {solution.bound:.7f}, classifiers in the support {solution.support_size}")
    assert best.bound < stopped.bound
