"""Numerics: sums of products, and the logit gap of a kl bound against forty digits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import atanh, exp, log, mp, mpf, sqrt

from pacb_models.numerics.binary_kl import kl, logit_gap
from pacb_models.numerics.inner import PIECE, combination, dot, products

# --- sums of products, long vectors of which are handed to BLAS in pieces --------------------------------------------


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 5])
def test_every_product_is_counted_once(size):
    random = np.random.default_rng(size)
    a, b = random.standard_normal((2, size))
    assert dot(a, b) == pytest.approx(math.fsum((a * b).tolist()), abs=1e-11)
    assert dot(np.repeat(a, 2)[::2], b) == pytest.approx(dot(a, b), abs=1e-11)
    rows = random.standard_normal((3, size))
    assert products(rows, b) == pytest.approx([dot(row, b) for row in rows], abs=1e-11)
    assert combination(np.array([1.0, 0.0, -2.0]), rows) == pytest.approx(rows[0] - 2.0 * rows[2])


# --- the gap between a kl bound and its empirical risk on the logistic scale -----------------------------------------


@given(st.floats(1e-12, 1 - 1e-6), st.floats(-12, 3).map(lambda power: 10.0**power))
def test_logit_gap(L, budget):
    """One Newton step in forty digits moves it by rounding only."""
    with mp.workdps(40):
        a, d = mpf(L), mpf(float(logit_gap(L, budget)))
        grown = 1 + a * (exp(d) - 1)
        correction = (log(grown) - a * d - mpf(budget)) / (a * exp(d) / grown - a)
        assert abs(correction / d) < 1e-12


def test_logit_gap_of_an_array():
    L, r = np.array([0.1, 0.25, 0.5]), np.array([0.3, 0.5, 0.9])
    assert logit_gap(L, kl(L, r)) == pytest.approx(np.log(r / (1 - r) / (L / (1 - L))), rel=1e-14)
    assert logit_gap(1.0, 0.5) == np.inf
    # No empirical risk counts as one of 1e-300: d = b + ln(r/L), r = 1 - exp(-b).
    assert float(logit_gap(0.0, 0.5)) == pytest.approx(0.5 + np.log(-np.expm1(-0.5)) + 300 * np.log(10), rel=1e-14)


def test_logit_gap_of_a_tiny_budget():
    """d² L(1-L)/2 to first order, and 2 artanh of the difference: no digits lost when r is L in double precision."""
    assert float(logit_gap(0.5, 1e-20)) == pytest.approx(float(2 * atanh(sqrt(mpf("2e-20")))), rel=1e-9)
