"""Tables 6 and 7: Ipopt fails from a start that leaves the domain, and from zero; not on these problems as such."""

import pacb_models as pm
from pacb_models.benchmarks.paper.items.solvers import status_from_zero
from pacb_models.benchmarks.problems.problem import from_table

problem = from_table("bupa", 500, distance="kl", constant="paper", delta=0.01)
print(f"Bupa, H = 500: 0.01 times the sum of the risks is {0.01 * problem.risks.sum():.2f}")
for name, options in (("Ipopt's defaults", {}), ("a smaller push", {"bound_push": 1e-8, "bound_frac": 1e-8})):
    solution = pm.solve(problem, "ipopt", formulation="substituted", defaults=True, options=options, merge=False)
    print(f"  {name:<17} {solution.status}")

print("H = 50, every variable started at zero")
for name in ("spambase", "mammographic", "banknote"):
    problem = from_table(name, 50, distance="kl", constant="paper", delta=0.01)
    print(f"  {name:<17} {status_from_zero(problem)}")
