"""Appendix C.3: the printed procedure returns every start unchanged, so that Table 8 shows random posteriors."""

import numpy as np
from scipy.optimize import brentq

import pacb_models as pm
from pacb_models.benchmarks.paper.cells import printed_value
from pacb_models.benchmarks.problems.problem import from_table

problem = from_table("wdbc", 50, distance="kl", constant="paper", delta=0.01)
start = np.random.default_rng(0).dirichlet(np.ones(50))

print(f"a random posterior              {problem.bound(start):.5f}")
for variant in ("paper", "one-sided"):
    found = pm.solve(problem, "ccp", variant=variant, start=start)
    print(f"the {variant + ' procedure from it':<27} {found.bound:.5f}")
print(f"the minimum                     {pm.solve(problem).bound:.5f}")

print("\nprinted CCP bounds, and those of 1000 random posteriors with the mean risk of the printed fixed point")
for name in ("spambase", "bupa", "mammographic", "wdbc", "ionosphere", "waveform", "haberman"):
    printed = {key: printed_value("fp-vs-ccp", name, 50, "ccp", f"bound_{key}") for key in ("min", "max", "mean", "sd")}
    m = int(printed_value("fp-vs-solver", name, quantity="validation_size"))
    budget = np.sqrt(pm.moment_constant("kl", m, "paper") / 0.01)
    bound = printed_value("fp-vs-ccp", name, 50, "fixed-point", "bound")
    risk = brentq(lambda L, bound=bound, budget=budget: pm.kl_inverse(L, budget) - bound, 0.0, bound)
    posteriors = np.random.default_rng(0).dirichlet(np.ones(50), size=1000)
    bounds = pm.kl_inverse(risk, budget * np.sqrt(50 * (posteriors**2).sum(axis=1)))
    row = name.ljust(13)
    for low, high, mean, deviation in (
        (printed["min"], printed["max"], printed["mean"], printed["sd"]),
        (bounds.min(), bounds.max(), bounds.mean(), bounds.std()),
    ):
        row += f"  [{low:.3f}, {high:.3f}] {mean:.4f} ± {deviation:.4f}"
    print(row)
