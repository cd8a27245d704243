"""Which sample size is m: the validation size. Banknote, H = 50, has no errors: its bound is 1 - exp(-√(I/δ))."""

from math import exp, sqrt

import pacb_models as pm
from pacb_models.benchmarks.paper.cells import printed_value

print("printed           ", printed_value("fp-vs-solver", "banknote", 50, "fixed-point", "bound"))
for size, m in (("training", 548), ("validation", 549)):
    bound = 1 - exp(-sqrt(pm.moment_constant("kl", m, "paper") / 0.01))
    print(f"{size:<10} m = {m} {bound:.5f}")
