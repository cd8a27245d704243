"""Appendix C.3: the printed procedure returns every start unchanged; linearising one side only does not."""

import numpy as np

import pacb_models as pm
from pacb_models.benchmarks.problems.problem import from_table

problem = from_table("wdbc", 50, distance="kl", constant="paper", delta=0.01)
start = np.random.default_rng(0).dirichlet(np.ones(50))

print(f"a random posterior              {problem.bound(start):.5f}")
for variant in ("paper", "one-sided"):
    print(
        f"the {variant + ' procedure from it':<27} {pm.solve(problem, 'ccp', variant=variant, start=start).bound:.5f}"
    )
print(f"the minimum                     {pm.solve(problem).bound:.5f}")
