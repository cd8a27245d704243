"""The fixed-point iteration need not converge: for H' = 2 in the example of item 12 it grows without limit."""

from itertools import accumulate

from pacb_models import moment_constant

H, support, delta, variance = 50, 2, 0.01, 0.04
root = (H * moment_constant("squared", 110, "paper") / delta) ** 0.5


def step(s, _):
    """The sum of squared weights after one more step of the iteration."""
    return 1 / support + 4 * s**1.5 * support * variance / root


steps = list(accumulate(range(40), step, initial=1 / support))
for number in range(0, 41, 8):
    print(f"step {number:2}: {steps[number]:.3g}")
