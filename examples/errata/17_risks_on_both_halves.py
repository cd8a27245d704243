"""Section 7: the printed bounds fit risks that are measured on training and validation examples together."""

import pacb_models as pm
from pacb_models.benchmarks.paper.printed import printed_value
from pacb_models.benchmarks.problems.risks import load_risk_table

table = load_risk_table("spambase")
print("printed, Spambase, H = 50    ", printed_value("fp-vs-solver", "spambase", "bound_fp_H50"))
for name, risks in (("on the validation half", table.risks(50)), ("on both halves", table.both_halves_risks(50))):
    solution = pm.solve(pm.BoundProblem(risks, m=table.m, delta=0.01, distance="kl", constant="paper"))
    print(f"risks {name:<23} {solution.bound:.5f}")
