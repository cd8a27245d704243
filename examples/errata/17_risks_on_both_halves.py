"""Section 7: the printed bounds fit risks that are measured on training and validation examples together."""

import numpy as np
from scipy.optimize import brentq

import pacb_models as pm
from pacb_models.benchmarks.paper.cells import printed_value
from pacb_models.benchmarks.problems.risks import load_risk_table

table = load_risk_table("spambase")
print("printed, Spambase, H = 50    ", printed_value("fp-vs-solver", "spambase", 50, "fixed-point", "bound"))
for name, risks in (("on the validation half", table.risks(50)), ("on both halves", table.both_halves_risks(50))):
    solution = pm.solve(pm.BoundProblem(risks, m=table.m, delta=0.01, distance="kl", constant="paper"))
    print(f"risks {name:<23} {solution.bound:.5f}")

print("\nmean risk, H = 50 and H = 1990: of print, on the validation half, on both halves")
for name in ("spambase", "bupa", "mammographic", "wdbc", "ionosphere", "waveform", "haberman"):
    table, cells = load_risk_table(name), []
    for size in (50,) if name == "ionosphere" else (50, 1990):
        # With nearly uniform weights the printed bound B determines the risk L: kl(L, B) = sqrt(I/delta).
        bound = printed_value("fp-vs-solver", name, size, "fixed-point", "bound")
        m = int(printed_value("fp-vs-solver", name, quantity="validation_size"))
        budget = np.sqrt(pm.moment_constant("kl", m, "paper") / 0.01)
        risk = brentq(lambda L, bound=bound, budget=budget: pm.kl_inverse(L, budget) - bound, 0.0, bound)
        cells += [f"{each:.3f}" for each in (risk, table.risks(size).mean(), table.both_halves_risks(size).mean())]
    print(f"{name:<13}", "  ".join(cells))
