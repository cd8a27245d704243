"""Divergences: size, derivatives, budget and duality."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from mpmath import exp, log, mpf, workdps

from pacb_models import divergences
from pacb_models.divergences import ChiSquared, KullbackLeibler, Renyi

from ..own_bounds import Mixed
from .mp_reference import numbers, statistic

ALL = [ChiSquared(), Renyi(2.0), Renyi(1.2), Renyi(1.5), Renyi(4.0), KullbackLeibler()]


def shares(size: int, least: int):
    return arrays(int, size, elements=st.integers(least, 1000)).filter(lambda k: k.sum() > 0).map(lambda k: k / k.sum())


pairs = st.integers(1, 8).flatmap(lambda size: st.tuples(shares(size, 0), shares(size, 1)))


def exact(divergence, q, p):
    return statistic(q, p, "kl" if divergence.name == "kl" else "renyi", divergence.order)


def exact_size(divergence, q, p):
    D = exact(divergence, q, p)
    return D if divergence.name == "kl" else D ** (1 / mpf(divergence.order))


@pytest.mark.long
@given(st.sampled_from(ALL), pairs)
def test_statistic(divergence, pair):
    q, p = pair
    expected = float(exact(divergence, numbers(q), numbers(p)))
    assert divergence.statistic(q, p) == pytest.approx(expected, rel=1e-13, abs=1e-15)


@given(st.sampled_from([*ALL, Renyi(50.0)]), pairs)
def test_size(divergence, pair):
    q, p = pair
    expected = float(exact_size(divergence, numbers(q), numbers(p)))
    assert divergence.size(q, p) == pytest.approx(expected, rel=1e-13, abs=1e-15)


# A second difference loses twenty digits, and more where the size is much larger than what a weight changes.
@workdps(70)
@given(st.sampled_from(ALL), pairs)
def test_gradient_and_curvature(divergence, pair):
    """The second derivatives along two weights are the diagonal, and the multiple of the gradient's products."""
    q, p = pair
    size = divergence.size(q, p)
    gradient, (diagonal, multiple) = divergence.gradient(q, p, size), divergence.curvature(q, p, size)
    weights, prior, support = numbers(q), numbers(p), np.flatnonzero(q)

    def moved(**steps):
        return exact_size(divergence, [w + steps.get(f"_{i}", 0) for i, w in enumerate(weights)], prior)

    for i in support:
        h = weights[i] * mpf(10) ** -10
        below, here, above = (moved(**{f"_{i}": step}) for step in (-h, 0, h))
        assert gradient[i] == pytest.approx(float((above - below) / (2 * h)), rel=1e-12, abs=1e-13)
        second = float((above - 2 * here + below) / h**2)
        assert diagonal[i] + multiple * gradient[i] ** 2 == pytest.approx(second, rel=1e-9, abs=1e-11 * diagonal[i])
    for i, j in pairwise(support):
        h, k = weights[i] * mpf(10) ** -10, weights[j] * mpf(10) ** -10
        corners = (a * b * moved(**{f"_{i}": a * h, f"_{j}": b * k}) for a in (-1, 1) for b in (-1, 1))
        mixed = float(sum(corners) / (4 * h * k))
        assert multiple * gradient[i] * gradient[j] == pytest.approx(mixed, rel=1e-9, abs=1e-11)


@given(st.sampled_from(ALL), pairs)
def test_value_is_zero_only_at_the_prior(divergence, pair):
    q, p = pair
    assert divergence.value(divergence.size(p, p)) <= 1e-14
    if np.abs(q - p).max() > 1e-3:
        assert divergence.value(divergence.size(q, p)) > 0.0


@given(st.integers(0, 2**32 - 1))
def test_no_size_is_below_that_of_the_prior(seed):
    """Where ln(I/δ) is nothing a budget below zero would have a complex root."""
    random = np.random.default_rng(seed)
    p = random.dirichlet(np.ones(50))
    q = p * (1.0 + 1e-9 * random.standard_normal(50))
    assert KullbackLeibler().size(q / q.sum(), p) >= 0.0


def test_coefficient_of_kl_needs_no_finite_constant():
    """At m = 10⁵ the linear constant exp(0.1233 m) is beyond the range of doubles."""
    log_constant = 1e5 * (1 / math.expm1(1) + math.log1p(-math.exp(-1)))
    found = KullbackLeibler().coefficient(math.inf, log_constant, 0.05)
    assert found == pytest.approx(log_constant - math.log(0.05), rel=1e-15)


def test_only_kl_is_steep_at_weight_zero():
    q, p = np.array([0.0, 1.0]), np.array([0.5, 0.5])
    assert KullbackLeibler().steep
    assert KullbackLeibler().gradient(q, p, math.log(2.0))[0] < -700.0
    for divergence in (ChiSquared(), Renyi(1.1), Renyi(5.0)):
        assert not divergence.steep
        # Orders below two read zero as the smallest normal number, whose power is as good as zero here.
        assert 0.0 <= divergence.gradient(q, p, divergence.size(q, p))[0] < 1e-30


# --- duality ----------------------------------------------------------------------------------------------------------

DUAL = [ChiSquared(), KullbackLeibler(), Renyi(1.2), Renyi(4.0), Renyi(50.0), Mixed()]
prices = arrays(float, 8, elements=st.floats(-3.0, 3.0))
names = pytest.mark.parametrize("divergence", DUAL, ids=repr)


def exact_conjugate(divergence, g, p):
    """What is subtracted from g·q, or, of a norm, what it is divided by: from the definitions, in fifty digits."""
    terms = list(zip(numbers(g), numbers(p)))
    if divergence.name == "kl":
        return sum(v * exp(s) for s, v in terms)
    if divergence.name == "mixed":
        ratios = [((1 + 6 * max(s, 0)) ** mpf("0.5") - 1) / 3 for s, _ in terms]
        return sum(v * (s * w - (w**2 + w**3) / 2) for (s, v), w in zip(terms, ratios))
    alpha = mpf(divergence.order)
    return sum(v * max(s, 0) ** (alpha / (alpha - 1)) for s, v in terms)


def exact_height(divergence, total, level):
    if divergence.name == "mixed":
        return level - total
    return level - log(total) if divergence.name == "kl" else level / total ** (1 - 1 / mpf(divergence.order))


@names
@given(prices, shares(8, 1))
def test_conjugate_and_supporting_line_in_fifty_digits(divergence, g, p):
    g[0] = 1.0
    total = divergence.conjugate(np.array([g, 0.5 * g]), p)
    assert total.shape == (2,)
    expected = exact_conjugate(divergence, g, p)
    assert total[0] == pytest.approx(float(expected), rel=1e-12)
    assert total[1] == pytest.approx(float(exact_conjugate(divergence, 0.5 * g, p)), rel=1e-12)
    slope, height = divergence.supporting(total[0], 2.0, 0.7)
    assert height == pytest.approx(float(exact_height(divergence, expected, mpf(0.7))), rel=1e-12, abs=1e-12)
    # The line divides T + γ x ≥ h by the norm where the size is one, and leaves the slope elsewhere.
    zero = exact_height(divergence, expected, mpf(0))
    assert slope == pytest.approx(float(exact_height(divergence, expected, mpf(2)) - zero), rel=1e-12)


@names
@given(shares(8, 1), shares(8, 1))
def test_fenchel_young_is_an_equality_at_the_gradient(divergence, q, p):
    size = divergence.size(q, p)
    g = divergence.gradient(q, p, size)
    total = divergence.conjugate(g[None].copy(), p)[0]
    _, height = divergence.supporting(total, 0.0, float(np.dot(g, q)))
    assert height == pytest.approx(size, rel=1e-12, abs=1e-12)


@names
@given(shares(8, 1), shares(8, 1))
def test_prices_are_the_gradient_and_ratios_their_inverse(divergence, q, p):
    size = divergence.size(q, p)
    g, given = divergence.prices(q / p, size), divergence.gradient(q, p, size)
    # Those of KL leave out a constant.
    assert g - g[0] == pytest.approx(given - given[0], rel=1e-13, abs=1e-13)
    assert divergence.ratios(g, size) == pytest.approx(q / p, rel=1e-12)
    assert divergence.prices(divergence.ratios(g, size), size) == pytest.approx(g, rel=1e-12, abs=1e-13)


@names
@pytest.mark.parametrize("entropy", [1e-3, 0.1, 2.0])
def test_ratios_with_entropy_and_their_speeds(divergence, entropy):
    """The gradient at the ratios, with ε ln(q/p), is what was asked for; speeds against difference quotients."""
    g, p, size, h = np.array([-0.6, -0.1, 0.1, 0.9, 1.4]), np.full(5, 0.2), 1.3, 1e-6
    ratios = divergence.ratios(g, size, entropy)
    assert (ratios > 0.0).all()
    assert divergence.prices(ratios, size) + entropy * np.log(ratios) == pytest.approx(g, rel=1e-9, abs=1e-9)
    speeds = divergence.speeds(p * ratios, p, g, entropy)
    quotients = p * (divergence.ratios(g + h, size, entropy) - divergence.ratios(g - h, size, entropy)) / (2.0 * h)
    assert speeds == pytest.approx(quotients, rel=1e-5)


@names
def test_weights_are_zero_below_the_price_of_weight_zero(divergence):
    if divergence.name != "kl":
        assert (divergence.ratios(np.array([-1.0, 0.0]), 1.0) == 0.0).all()


def test_by_name():
    assert [divergences.by_name(name, 3.0).order for name in ("chi2", "renyi", "kl")] == [2.0, 3.0, 1.0]
    assert [divergences.by_name(name, 3.0).name for name in divergences.BY_NAME] == list(divergences.BY_NAME)
