"""Table 5: the printed kl constants come out when the terms k = 0 and k = m are not squared."""

import numpy as np
from scipy.special import rel_entr
from scipy.stats import binom

import pacb_models as pm
from pacb_models.benchmarks.paper.cells import printed_value


def largest_on_the_grid(m, powers):
    """The largest of the sums over k of P(k) kl(k/m, l)^power, for l = 0.001, 0.002, ..., 0.999."""
    k = np.arange(m + 1)
    return max(
        np.sum(binom.pmf(k, m, l) * (rel_entr(k / m, l) + rel_entr(1 - k / m, 1 - l)) ** powers)
        for l in np.arange(1, 1000) / 1000
    )


print("    m    printed  two terms unsquared        exact  printed / exact")
for m in (50, 100, 200, 500, 1000, 1020, 1028):
    powers = np.full(m + 1, 2)
    powers[[0, m]] = 1
    printed, unsquared = printed_value("constants", "", m, "kl", "constant"), largest_on_the_grid(m, powers)
    exact = pm.moment_constant("kl", m)
    # The value for m = 500 is cut, not rounded, in print.
    assert abs(printed - unsquared) < 1e-7
    print(f"{m:5}  {printed:.7f}  {unsquared:19.8f}  {exact:.5e}  {printed / exact:15.1f}")
