"""The gap between a kl bound and its empirical risk on the logistic scale, against forty digits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import atanh, exp, log, mp, mpf, sqrt

from pacb_models.numerics.binary_kl import kl
from pacb_models.numerics.logit_gap import logit_gap


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
