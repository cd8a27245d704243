"""The companion paper's squared constant belongs to Pinsker's distance; for the squared one it is loose."""

import pacb_models as pm

print("    m  squared, right  Pinsker's  printed for squared")
for m in (138, 1000):
    right, pinsker, printed = (
        pm.moment_constant(distance, m, constant, "kl")
        for distance, constant in (("squared", "exact"), ("pinsker", "exact"), ("squared", "paper"))
    )
    print(f"{m:5}  {right:14.4f}  {pinsker:9.4f}  {printed:19.4f}")
