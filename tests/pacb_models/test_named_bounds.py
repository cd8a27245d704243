"""The bounds that are known by their authors: Thiemann's λ and Catoni's, against the formulas as printed."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import exp, log, mpf, sqrt

import pacb_models as pm
from pacb_models.distances import Catoni, Relative

from ..drawn import powers_of_ten, weights
from .mp_reference import expectation, numbers, statistic

RISKS, PRIOR = np.array([0.02, 0.11, 0.3, 0.35, 0.6]), np.array([0.1, 0.3, 0.25, 0.05, 0.3])


def statistics(problem, q):
    q = numbers(q)
    return mpmath.fdot(q, numbers(problem.risks)), statistic(q, numbers(problem.prior), "kl", 1.0)


@given(weights(5, decades=3.0), st.integers(1, 10**5), st.floats(0.001, 0.5))
@settings(max_examples=50)
def test_thiemann_as_printed(q, m, delta):
    """The infimum over λ of theorem 3, and its minimiser, equation 8 (Thiemann, Igel, Wintenberger, Seldin 2017)."""
    problem = pm.BoundProblem(RISKS, m, delta, "relative", "kl", PRIOR, constant="paper")
    with mpmath.workdps(40):
        L, D = statistics(problem, q)
        complexity = D + log(2 * sqrt(mpf(m)) / mpf(delta))
        lambda_ = 2 / (sqrt(2 * m * L / complexity + 1) + 1)

        def printed(x):
            return L / (1 - x / 2) + complexity / (x * (1 - x / 2) * m)

        # It is a minimum of the printed function, which is convex in λ.
        assert printed(lambda_) <= min(printed(lambda_ * (1 - mpf(10) ** -6)), printed(lambda_ * (1 + mpf(10) ** -6)))
        assert problem.bound(q) == pytest.approx(float(printed(lambda_)), rel=1e-12)
        assert problem.judge(q).parameters["lambda"] == pytest.approx(float(lambda_), rel=1e-12)


def test_thiemanns_alternation_is_the_fixed_point():
    """λ in closed form, then the Gibbs posterior at λ m, from the prior on."""
    problem = pm.BoundProblem(RISKS, 120, 0.05, "relative", "kl", PRIOR, constant="paper")
    solution = pm.solve(problem, "fixed-point", trace=True)
    q, complexity = PRIOR, math.log(2 * math.sqrt(120) / 0.05)
    for point in solution.details["trace"]:
        assert point.bound == pytest.approx(problem.bound(q), rel=1e-12)
        D = float(np.sum(q * np.log(q / PRIOR)))
        lambda_ = 2 / (math.sqrt(2 * 120 * float(q @ RISKS) / (D + complexity) + 1) + 1)
        q = PRIOR * np.exp(-lambda_ * 120 * RISKS)
        q /= q.sum()
    assert solution.details["lambda"] == pytest.approx(lambda_, rel=1e-6)
    assert pm.solve(problem).bound == pytest.approx(solution.bound, rel=1e-12)


@given(weights(5, decades=3.0), st.integers(1, 10**5), st.floats(0.001, 0.5), powers_of_ten(-6.0, 3.0))
@settings(max_examples=50)
def test_catoni_as_printed(q, m, delta, beta):
    problem = pm.BoundProblem(RISKS, m, delta, Catoni(beta), "kl", PRIOR)
    with mpmath.workdps(60):
        L, D = statistics(problem, q)
        printed = (1 - exp(-beta * L - (D + log(1 / mpf(delta))) / m)) / (1 - exp(-mpf(beta)))
        assert problem.bound(q) == pytest.approx(float(printed), rel=1e-12)


@pytest.mark.parametrize("beta", [0.01, 0.7, 3.0])
def test_catonis_minimum_is_the_gibbs_posterior(beta):
    problem = pm.BoundProblem(RISKS, 40, 0.05, Catoni(beta), "kl", PRIOR)
    solution = pm.solve(problem)
    q = PRIOR * np.exp(-beta * 40 * RISKS)
    assert solution.posterior == pytest.approx(q / q.sum(), rel=1e-6)
    assert solution.is_global


@pytest.mark.parametrize("beta", [0.05, 1.0, 6.0])
def test_catonis_constant_is_the_moment(beta):
    m = 30
    for l in (1e-9, 0.02, 0.5, 0.97):
        with mpmath.workdps(40):
            scale = (1 - mpf(l) * (1 - exp(-mpf(beta)))) ** -m
            moment = expectation(m, mpf(l), lambda _, k: scale * exp(-mpf(beta) * k))  # noqa: B023
        assert float(moment) == pytest.approx(Catoni(beta).constant(m, "kl", 1.0, "exact"), rel=1e-12)


@pytest.mark.outside
@pytest.mark.parametrize("distance", [Relative(), Catoni(0.3), Catoni(2.0)], ids=repr)
def test_every_solver_agrees(distance):
    table = pm.cross_check(pm.BoundProblem(RISKS, 200, 0.05, distance, "kl", PRIOR))
    assert {row.solver for row in table.rows} >= {"frontier", "fixed-point", "mirror", "softmax"}
    assert {row.verdict for row in table.rows} == {"agrees"}


@pytest.mark.parametrize(
    ("distance", "divergence", "sentence"),
    [
        ("relative", "chi2", "distance is 'relative', which divergence 'chi2' does not have"),
        (Relative(), "renyi", "Relative.., which goes with the divergence 'kl' only, not 'renyi'"),
        (Catoni(2), "chi2", r"distance is Catoni\(2\), which goes with the divergence 'kl' only, not 'chi2'"),
    ],
    ids=str,
)
def test_other_divergences_are_refused(distance, divergence, sentence):
    with pytest.raises(pm.InputError, match=sentence):
        pm.BoundProblem(RISKS, 50, distance=distance, divergence=divergence)


@pytest.mark.parametrize("distance", [Relative(), Catoni(0.1)], ids=repr)
@pytest.mark.parametrize("size", [1, 2])
def test_the_bounds_hold_for_posteriors_that_see_the_sample(distance, size):
    """A thousand samples, δ = .2; a constant that is δ instead is noticed where the posterior cannot hide it."""
    random, true, m, delta = np.random.default_rng(1), np.linspace(0.3, 0.5, size), 80, 0.2
    violations = broken = 0
    samples, times = np.unique(random.binomial(m, true, size=(1000, size)), axis=0, return_counts=True)
    for counts, often in zip(samples, times.tolist(), strict=True):
        problem = pm.BoundProblem(counts / m, m, delta, distance, "kl")
        q = pm.solve(problem, "fixed-point").posterior
        violations += often * bool(q @ true > problem.bound(q))
        unpaid = max(problem.divergence_size(q), 0.0) / m
        broken += often * bool(q @ true > distance.invert(problem.empirical_risk(q), unpaid))
    assert violations <= delta * 1000
    assert broken > delta * 1000 or size > 1
