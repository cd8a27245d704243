"""The certificate where numbers are next to nothing: risks to 1e-300, priors to 1e-300, one example, tiny δ.

The references are posteriors of the path, computed in fifty digits (the exponents of mpmath have no end): a posterior
that is called global must not be beaten by any of them.
"""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from mpmath import exp, log, mp, mpf

import pacb_models as pm

from .path_reference import DIGITS, Reference

#: (risks, m, delta, prior, divergence, distance, order): each was once called global wrongly, or raised.
CASES = {
    "reported": ([1e-16, 0.0], 138, 1e-4, [0.857, 0.143], "chi2", "kl", 2.0),
    "tiny risk, uniform": ([0.0, 2.2975064792469896e-57], 10**9, 0.0628, None, "chi2", "kl", 2.0),
    "tiny risk and prior": ([0.0, 1.86e-66], 5, 0.0025, [3.1e-75, 1.0], "chi2", "kl", 2.0),
    "three tiny risks": ([0.0, 9.7e-30, 3.5e-245, 4.2e-187], 3, 0.005, [7e-6, 0.999, 1e-10, 1e-3], "chi2", "kl", 2.0),
    "next to no prior": ([1.6e-295, 2.7e-189, 5e-28, 0.0], 1000, 0.03, [2e-55, 7e-149, 1.0, 9e-45], "chi2", "kl", 2.0),
    "underflow, kl": ([0.299, 0.3008, 0.24, 0.0179], 2, 3e-6, [1.0, 5e-34, 3.6e-88, 1.5e-290], "chi2", "kl", 2.0),
    "underflow, squared": (
        [0.2, 7e-43, 1.1e-65, 1.2e-44],
        30,
        0.05,
        [1.6e-264, 1.7e-238, 1e-142, 1.0],
        "chi2",
        "squared",
        2.0,
    ),
    "vacuous": ([0.883, 1.0], 2, 1.3e-278, [1.0, 6e-22], "renyi", "kl", 3.0),
    "many examples, tiny delta": (
        [8e-10, 1e-87, 9.4e-96, 1.5e-29],
        10**9,
        5.8e-234,
        [0.4, 0.1, 0.2, 0.3],
        "renyi",
        "kl",
        3.0,
    ),
    "high order": ([0.97, 0.889, 1.0, 0.997], 1, 0.66, [6e-226, 3e-24, 1.0, 2e-149], "renyi", "kl", 12.0),
    "overflow of the curvature": ([0.0, 2.9e-12], 10**9, 4.7e-184, None, "renyi", "squared", 12.0),
    "order near one": ([1.0, 0.979, 1.0], 30, 0.0011, [1.0, 1e-246, 3e-65], "renyi", "kl", 1.5),
}


def smallest_on_path(problem: pm.BoundProblem, per_segment: int = 40) -> mpf:
    """The smallest bound among posteriors of the path, at levels from next to each risk to far above the next."""
    reference = Reference(problem)
    least = min(reference.risks)
    gaps = [risk - least for risk in reference.risks]
    edges = [*sorted({gap for gap in gaps if gap > 0}), mpf(10) ** 4]
    found = [reference.bound(reference.prior), reference.end()]
    if problem.divergence == "kl":
        parameters = [exp(log(mpf(10)) * k) for k in np.linspace(-3, float(log(2000 / edges[0]) / log(mpf(10))), 120)]
        return min([*found, *(reference.bound(reference.posterior(value)) for value in parameters)])
    fractions = [mpf(10) ** (-float(k)) for k in np.geomspace(0.001, 700, per_segment)]
    fractions += [mpf(k) / 12 for k in range(1, 12)]
    for low, high in pairwise(edges):
        for fraction in fractions:
            above = (high - low) * fraction
            weights = [
                p * (low - gap + above) ** (1 / (mpf(problem.order) - 1)) if gap <= low else mpf(0)
                for p, gap in zip(reference.prior, gaps)
            ]
            total = sum(weights)
            found.append(reference.bound([weight / total for weight in weights]))
    return min(found)


def check(problem: pm.BoundProblem) -> pm.Solution:
    """Nothing is raised or warned of, and nothing on the path is better than what is certified."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = pm.solve(problem, "frontier", merge=False)
    with mp.workdps(DIGITS):
        smallest = float(smallest_on_path(problem))
    tolerance = 1e-11 * max(smallest, min(1.0, 1e3 * smallest))
    if solution.is_global:
        assert solution.bound <= smallest + tolerance
    if solution.lower_bound is not None:
        assert solution.lower_bound <= smallest
    return solution


@pytest.mark.parametrize("name", CASES)
def test_cases_that_were_wrong(name):
    risks, m, delta, prior, divergence, distance, order = CASES[name]
    if prior is not None:
        prior = np.array(prior) / sum(prior)
    solution = check(pm.BoundProblem(risks, m, delta, distance, divergence, prior, order=order))
    assert solution.posterior is not None
    # The cases below have numbers that no arithmetic of ours holds; the others are solved and certified.
    assert solution.is_global or name in ("high order", "overflow of the curvature", "order near one")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(40))
def test_random_extremes(seed):
    """Risks and priors log-uniform over three hundred orders of magnitude."""
    random = np.random.default_rng(seed)
    size = int(random.integers(2, 5))
    risks = np.exp(random.uniform(np.log(random.choice([1e-8, 1e-17, 1e-60, 1e-300])), 0.0, size))
    risks[0] = random.choice([0.0, risks[0]])
    prior = np.exp(random.uniform(np.log(random.choice([1e-3, 1e-40, 1e-300])), 0.0, size))
    m, delta = int(random.choice([1, 3, 138, 10**6])), float(10.0 ** -random.uniform(0.1, random.choice([3, 30])))
    divergence, order = [("chi2", 2.0), ("chi2", 2.0), ("renyi", 1.3), ("renyi", 4.0), ("kl", 1.0)][seed % 5]
    distance = ("kl", "kl", "squared", "linear")[int(random.integers(4))]
    problem = pm.BoundProblem(risks, m, delta, distance, divergence, prior / prior.sum(), order=order)
    assert check(problem).is_global


def test_large_set_with_risks_next_to_zero():
    """Buckets must not lose the digits of an L of 1e-15: against the same set, merged, and against sorting it."""
    random = np.random.default_rng(0)
    tiny = 10.0 ** random.uniform(-18, -12, 40_000)
    risks = np.concatenate((np.zeros(50), tiny, random.uniform(0.2, 1.0, 40_000)))
    problem = pm.BoundProblem(risks, 138, 1e-4)
    solution = pm.solve(problem, "frontier", merge=False)
    # As good as without risk: those classifiers share the weight, and the bound is that of a set of zeros.
    assert solution.is_global
    share = np.where(risks <= 1e-12, 1.0, 0.0)
    # Sums of 40 000 weights are rounded in another order.
    assert solution.bound <= problem.bound(share / share.sum()) * (1 + 1e-13)
    assert (
        solution.bound
        <= pm.BoundProblem(np.where(risks < 1e-11, 0.0, risks), 138, 1e-4).bound(share / share.sum()) + 1e-9
    )
