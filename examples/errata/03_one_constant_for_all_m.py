"""Table 3: one constant for every m > 1028. Mushroom with H = 50 has no errors: its bound is 1 - exp(-√(I/δ))."""

from math import exp, sqrt

import pacb_models as pm
from pacb_models.benchmarks.paper.cells import printed_value

print("printed                ", printed_value("fp-vs-solver", "mushroom", 50, "fixed-point", "bound"))
for constant in ("paper", "exact"):
    bound = 1 - exp(-sqrt(pm.moment_constant("kl", 2257, constant) / 0.01))
    print(f"with the {constant} constant {bound:.6f}")
