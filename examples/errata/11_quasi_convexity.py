"""Propositions 1 and 2: the condition fails at Q = Q', and at Q the minimiser, so that no problem satisfies it."""

import pacb_models as pm
from pacb_models.benchmarks.paper.claims import quasi_convexity_condition

problem = pm.BoundProblem([0.1, 0.2, 0.5], m=20, delta=0.05, distance="squared")
best = pm.solve(problem).posterior
for name, other in (("Q' = Q", best), ("Q' the prior", problem.prior)):
    condition = quasi_convexity_condition(problem, best, other, 0.5)
    print(f"Q the minimiser, {name:<13} {condition.left:8.5f} < {condition.right:8.5f}: {condition.holds}")
    assert not condition.holds
