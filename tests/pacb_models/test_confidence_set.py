"""The common risk and the bound of a posterior over a confidence set, against the same in thirty and more digits."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

import pacb_models as pm

from .binomial_reference import log_tail


def score(k: int, m: int, level: mp.mpf, l: mp.mpf) -> mp.mpf:
    """The tie split's score (e - P(B < k))/P(B = k), not below zero."""
    below = mp.exp(log_tail(k - 1, m, l)) if k else mp.mpf(0)
    return (level - below) / (mp.exp(log_tail(k, m, l)) - below) if level > below else mp.mpf(0)


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


def spread_score(k: int, m: int, level: mp.mpf, l: mp.mpf, spread: float) -> mp.mpf:
    """The mean of (ln(e^d e) - ln P_U)_+ over U, divided by e^d, from the antiderivative of ln."""
    below, top = mp.exp(log_tail(k - 1, m, l)) if k else mp.mpf(0), mp.exp(log_tail(k, m, l))
    reach = level * mp.exp(spread)
    primitive = lambda y: y * (mp.log(reach) - mp.log(y) + 1) if y else mp.mpf(0)  # noqa: E731
    return (primitive(min(top, reach)) - primitive(below)) / (top - below) / mp.exp(spread) if reach > below else 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("errors", "m", "prior", "posterior", "spread"),
    [
        ([3, 4], 40, [0.3, 0.7], [0.6, 0.4], 0.0),
        ([0, 2], 30, [0.5, 0.5], [0.3, 0.7], 0.0),
        ([5, 5], 40, [0.9, 0.1], [0.55, 0.45], 0.0),
        ([3, 4], 40, [0.4, 0.6], [0.6, 0.4], 1.0),
        ([2, 2], 20, [0.5, 0.5], [0.51, 0.49], 2.9),
    ],
)
def test_bound_of_a_posterior_in_thirty_digits(errors, m, prior, posterior, spread):
    """The largest average over the set's boundary: golden sections in the first risk, bisections for the second."""
    certificate = pm.certify(errors, m, 0.05, prior=prior, spread=spread)
    found = certificate.bound_of(posterior)
    with mp.workdps(30):
        levels = [mp.mpf(0.05) * mp.mpf(p) for p in prior]

        def psi(i: int, l: mp.mpf) -> mp.mpf:
            arguments = errors[i], m, levels[i], l
            return spread_score(*arguments, spread) if spread else score(*arguments)

        def largest(i: int, budget: mp.mpf) -> mp.mpf:
            low, high = mp.mpf(0), mp.mpf(1) - mp.mpf(10) ** -20
            for _ in range(75):
                middle = (low + high) / 2
                low, high = (middle, high) if psi(i, middle) <= budget else (low, middle)
            return low

        def average(first: mp.mpf) -> mp.mpf:
            return mp.mpf(posterior[0]) * first + mp.mpf(posterior[1]) * largest(1, 1 - psi(0, first))

        low, high, golden = mp.mpf(0), largest(0, 1 - psi(1, mp.mpf(10) ** -25)), (mp.sqrt(5) - 1) / 2
        for _ in range(45):
            left, right = high - golden * (high - low), low + golden * (high - low)
            low, high = (left, high) if average(left) < average(right) else (low, right)
        true = average((low + high) / 2)
        assert true <= found <= true * (1 + mp.mpf(10) ** -11)
