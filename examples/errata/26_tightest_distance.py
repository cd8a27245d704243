"""Section 1: with exact constants the kl distance gives the tightest bounds on seven of nine data sets."""

import pacb_models as pm
from pacb_models.benchmarks.problems.problem import PAPER_DATASETS, from_table

print("data set       linear  squared       kl  smallest")
for name in PAPER_DATASETS:
    bounds = {
        distance: pm.solve(from_table(name, 1990, distance=distance, delta=0.01)).bound
        for distance in ("linear", "squared", "kl")
    }
    shown = "  ".join(f"{bound:7.4f}" for bound in bounds.values())
    print(f"{name:<12} {shown}  {min(bounds, key=bounds.get)}")
