"""Lemmas 2 and 3: the squared constant is (3m - 2)/(16m³), in exact rational arithmetic."""

from fractions import Fraction
from math import comb

import pacb_models as pm


def fourth_moment(m, l):
    """E[(k/m - l)⁴] of a Binomial(m, l) variable k."""
    return sum(comb(m, k) * l**k * (1 - l) ** (m - k) * (Fraction(k, m) - l) ** 4 for k in range(m + 1))


grid = [Fraction(k, 200) for k in range(101)]
print("    m  supremum at l  times m³   printed / right")
for m in (2, 3, 5, 10, 40):
    largest = max(grid, key=lambda l: fourth_moment(m, l))
    right, printed = Fraction(3 * m - 2, 16 * m**3), Fraction(12 * m - 11, 16 * m**3)
    assert fourth_moment(m, largest) == right
    assert abs(pm.moment_constant("squared", m) / right - 1) < 1e-14
    print(f"{m:5}  {largest!s:>13}  {right * m**3!s:>8}   {float(printed / right):15.2f}")
