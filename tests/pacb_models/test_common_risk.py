"""The common risk of a convex sum, against the same sum and root in fifty digits."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

import pacb_models as pm
from pacb_models.numerics.common_risk import Total, common_risk

from .binomial_reference import log_tail


def score(k: int, m: int, level: mp.mpf, l: mp.mpf) -> mp.mpf:
    """The tie split's score (e - P(B < k))/P(B = k), not below zero."""
    below = mp.exp(log_tail(k - 1, m, l)) if k else mp.mpf(0)
    return max((level - below) / (mp.exp(log_tail(k, m, l)) - below), mp.mpf(0))


@pytest.mark.parametrize("seed", range(12))
def test_common_risk_of_any_prior_in_fifty_digits(seed):
    """The bound is not below the risk at which the scores add up to one, and not above it but for rounding."""
    random = np.random.default_rng(seed)
    m = int(random.choice([12, 60, 549]))
    errors = random.binomial(m, 0.05, 6) // int(random.choice([1, 4]))
    prior = random.dirichlet(np.full(6, 5.0))
    found = pm.certify(errors, m, 0.05, prior=prior)
    with mp.workdps(50):
        levels = [mp.mpf(0.05) * mp.mpf(p) for p in prior]

        def total(l: mp.mpf) -> mp.mpf:
            return sum(score(int(k), m, level, l) for k, level in zip(errors, levels, strict=True))

        high = mp.mpf(found.bound)
        assert total(high) >= 1
        assert total(high * (1 - mp.mpf(10) ** -13)) < 1


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0, 8.0, 40.0])
@pytest.mark.parametrize("right", [0.9, 50.0])
def test_sums_of_powers(power, right):
    """From far away, and where the curvature at the start says nothing of the root: a risk next to the root."""
    risks, weights = np.array([0.1, 0.2, 0.2 + 1e-9, 0.29]), np.array([0.2, 0.1, 0.4, 0.3]) * 10.0**power

    def total_at(t: float) -> Total:
        x = np.maximum(t - risks, 0.0)
        value, slope, bend = (
            float(weights @ x**power),
            float(weights @ (power * x ** (power - 1.0) * (x > 0.0))),
            float(weights[x > 0.0] @ (power * (power - 1.0) * x[x > 0.0] ** (power - 2.0))),
        )
        if value == 0.0:
            return Total(-math.inf, 0.0, 0.0, 0.0)
        return Total(math.log(value), slope / value, bend / value - (slope / value) ** 2, 2e-13 * power)

    with mp.workdps(50):

        def exact(t: mp.mpf) -> mp.mpf:
            return sum(mp.mpf(w) * max(t - mp.mpf(l), 0) ** mp.mpf(power) for w, l in zip(weights, risks, strict=True))

        found = common_risk(total_at, 0.1, right, 0.0)
        assert exact(mp.mpf(found.low)) <= 1 <= exact(mp.mpf(found.high))
        assert found.high - found.low <= 1e-11 and found.evaluations <= 60
        rough = common_risk(total_at, 0.1, right, 1e-4)
        assert found.low <= rough.high <= found.high + 1e-6


def test_a_sum_that_never_reaches_one_has_no_root():
    assert common_risk(lambda _: Total(-math.inf, 0.0, 0.0, 0.0), 0.0, 0.5, 1e-7).high == math.inf
    flat = common_risk(lambda t: Total(t - 1.0, 1.0, 0.0, 0.0), 0.0, 0.5, 1e-7)
    assert flat.high >= 0.5
