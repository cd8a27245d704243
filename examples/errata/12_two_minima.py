"""Remarks 2 and 4: the squared bound can have two local minima, and so can the kl bound."""

import numpy as np

import pacb_models as pm

squared = pm.BoundProblem([0.0] + [0.4] * 49, m=110, delta=0.01, distance="squared", constant="paper")
kl = pm.BoundProblem([0.0] + [0.3] * 49, m=100, delta=0.01, distance="kl")
for problem in (squared, squared.replace(constant="exact"), kl):
    point = np.eye(50)[0]
    solution = pm.solve(problem)
    minima = sorted([solution.bound, *(other.bound for other in solution.local_minima)])
    print(f"{problem.distance}, {problem.constant} constant")
    print(f"  the point mass on the best classifier, {problem.bound(point):.5f}, is a {problem.classify(point)}")
    print(f"  all local minima: {', '.join(f'{bound:.5f}' for bound in minima)}")
    assert len(minima) == 2
