"""Divergences: statistic, derivatives and budget."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from mpmath import mpf

from pacb_models import divergences
from pacb_models.divergences import ChiSquared, KullbackLeibler, Renyi

from .mp_reference import numbers, statistic

ALL = [ChiSquared(), Renyi(2.0), Renyi(1.2), Renyi(1.5), Renyi(4.0), KullbackLeibler()]


def shares(size: int, least: int):
    return arrays(int, size, elements=st.integers(least, 1000)).filter(lambda k: k.sum() > 0).map(lambda k: k / k.sum())


pairs = st.integers(1, 8).flatmap(lambda size: st.tuples(shares(size, 0), shares(size, 1)))


def exact(divergence, q, p):
    return statistic(q, p, "kl" if divergence.name == "kl" else "renyi", divergence.order)


@pytest.mark.long
@given(st.sampled_from(ALL), pairs)
def test_statistic(divergence, pair):
    q, p = pair
    expected = float(exact(divergence, numbers(q), numbers(p)))
    assert divergence.statistic(q, p) == pytest.approx(expected, rel=1e-13, abs=1e-15)


@given(st.sampled_from(ALL), pairs)
def test_gradient_and_curvature(divergence, pair):
    q, p = pair
    gradient, curvature = divergence.gradient(q, p), divergence.curvature(q, p)
    for i in np.flatnonzero(q):
        w, v = mpf(float(q[i])), mpf(float(p[i]))
        h = w * mpf(10) ** -10
        below, here, above = (exact(divergence, [x], [v]) for x in (w - h, w, w + h))
        assert gradient[i] == pytest.approx(float((above - below) / (2 * h)), rel=1e-12, abs=1e-13)
        assert curvature[i] == pytest.approx(float((above - 2 * here + below) / h**2), rel=1e-9)


@given(st.sampled_from(ALL), pairs)
def test_value_is_zero_only_at_the_prior(divergence, pair):
    q, p = pair
    assert divergence.value(divergence.statistic(p, p)) <= 1e-14
    if np.abs(q - p).max() > 1e-3:
        assert divergence.value(divergence.statistic(q, p)) > 0.0


@given(st.sampled_from(ALL), st.floats(1.0, 1e3), st.floats(1e-4, 10.0), st.integers(1, 10**6))
def test_budget(divergence, D, coefficient, exponent):
    """Value against the formula, slope and bend against its differences."""
    alpha, c = mpf(divergence.order), mpf(coefficient)

    def formula(x: mpf) -> mpf:
        return (x + c) / exponent if divergence.name == "kl" else c * x ** (1 / alpha)

    x = mpf(D)
    h = x * mpf(10) ** -10
    budget = divergence.budget(D, coefficient, exponent)
    assert budget.value == pytest.approx(float(formula(x)), rel=1e-14)
    assert budget.slope == pytest.approx(float((formula(x + h) - formula(x - h)) / (2 * h)), rel=1e-12)
    bend = (formula(x + h) - 2 * formula(x) + formula(x - h)) / h**2
    assert budget.bend == pytest.approx(float(bend), rel=1e-8, abs=1e-15)


@given(st.sampled_from([ChiSquared(), Renyi(1.5), Renyi(4.0)]), st.floats(1e-9, 10.0), st.floats(0.001, 0.9))
def test_coefficient_of_an_order(divergence, constant, delta):
    expected = (mpf(constant) / mpf(delta)) ** (1 - 1 / mpf(divergence.order))
    assert divergence.coefficient(constant, math.log(constant), delta) == pytest.approx(float(expected), rel=1e-14)


def test_coefficient_of_kl_needs_no_finite_constant():
    """At m = 10⁵ the linear constant exp(0.1233 m) is beyond the range of doubles."""
    log_constant = 1e5 * (1 / math.expm1(1) + math.log1p(-math.exp(-1)))
    found = KullbackLeibler().coefficient(math.inf, log_constant, 0.05)
    assert found == pytest.approx(log_constant - math.log(0.05), rel=1e-15)


@given(pairs)
def test_order_two_is_chi_squared_to_the_last_digit(pair):
    q, p = pair
    assert Renyi(2.0).statistic(q, p) == ChiSquared().statistic(q, p)
    assert (Renyi(2.0).gradient(q, p) == ChiSquared().gradient(q, p)).all()


@given(pairs)
def test_kl_is_the_limit_of_the_orders(pair):
    q, p = pair
    order = 1.0 + 1e-6
    limit = math.log(Renyi(order).statistic(q, p)) / (order - 1.0)
    assert limit == pytest.approx(KullbackLeibler().statistic(q, p), rel=1e-4, abs=1e-8)


def test_only_kl_is_steep_at_weight_zero():
    q, p = np.array([0.0, 1.0]), np.array([0.5, 0.5])
    assert KullbackLeibler().steep
    assert KullbackLeibler().gradient(q, p)[0] < -700.0
    for divergence in (ChiSquared(), Renyi(1.1), Renyi(5.0)):
        assert not divergence.steep
        # Orders below two read zero as the smallest normal number, whose power is as good as zero here.
        assert 0.0 <= divergence.gradient(q, p)[0] < 1e-30


def test_by_name():
    assert [divergences.by_name(name, 3.0).order for name in divergences.NAMES] == [2.0, 3.0, 1.0]
    assert [divergences.by_name(name, 3.0).name for name in divergences.NAMES] == list(divergences.NAMES)
