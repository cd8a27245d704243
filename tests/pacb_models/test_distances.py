"""Distances: their inverses and derivatives against forty-digit arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import diff, mpf

from pacb_models import distances

from .mp_reference import PHI, invert

NAMES = sorted(distances.BY_NAME)
risks = st.floats(1e-6, 1 - 1e-6)
budgets = st.floats(-12, 1.5).map(lambda power: 10.0**power)


@given(st.sampled_from(NAMES), st.one_of(risks, st.just(0.0)), budgets)
def test_inverse(name, L, budget):
    exact = invert(name, mpf(L), mpf(budget))
    value = distances.BY_NAME[name].invert(L, budget)
    assert value == pytest.approx(float(exact), rel=1e-14)
    assert value >= exact * (1 - mpf(10) ** -15)


@given(st.sampled_from(NAMES), risks, budgets)
def test_inverse_solves_the_definition(name, L, budget):
    r = invert(name, mpf(L), mpf(budget))
    assume(name != "kl" or 1 - r > mpf(10) ** -10)  # forty digits of r are fewer of 1 - r
    assert abs(PHI[name](mpf(L), r) - mpf(budget)) <= mpf(10) ** -25 * (1 + mpf(budget))


@given(st.sampled_from(NAMES), st.floats(0.001, 0.999), st.floats(-6, 0.5).map(lambda power: 10.0**power))
def test_derivatives(name, L, budget):
    """First and second differences of the forty-digit inverse."""
    a, b = mpf(L), mpf(budget)
    r = invert(name, a, b)
    assume(name != "kl" or 1 - r > mpf(10) ** -8)  # nearer to one, 1 - r itself has lost its digits
    h, k = a * (1 - a) * mpf(10) ** -9, b * mpf(10) ** -9

    def f(i: int, j: int) -> mpf:
        return invert(name, a + i * h, b + j * k)

    exact = {
        "value": r,
        "L": (f(1, 0) - f(-1, 0)) / (2 * h),
        "b": (f(0, 1) - f(0, -1)) / (2 * k),
        "LL": (f(1, 0) - 2 * r + f(-1, 0)) / h**2,
        "Lb": (f(1, 1) - f(1, -1) - f(-1, 1) + f(-1, -1)) / (4 * h * k),
        "bb": (f(0, 1) - 2 * r + f(0, -1)) / k**2,
    }
    found = distances.BY_NAME[name].derivatives(L, budget)._asdict()
    # The kl second derivatives are differences of larger terms when r is near L: digits are lost in proportion, and
    # what is left is measured against those terms, the slope in b for the mixed one (it vanishes at L = 1/2).
    lost = float(r / (r - a) / (1 - r)) if name == "kl" else 1.0
    for field, value in exact.items():
        order = {"value": 0, "L": 1, "b": 1}.get(field, 2)
        tolerance = 1e-9 + 1e-15 * lost**order
        scale = max(1.0, float(exact["b"])) if field == "Lb" else 1.0
        assert found[field] == pytest.approx(float(value), rel=tolerance, abs=tolerance * scale), field


class TestKlAtTheEdges:
    kl = distances.BinaryKL()

    def test_no_empirical_risk(self):
        inverse = self.kl.derivatives(0.0, 0.5)
        assert inverse.value == pytest.approx(-math.expm1(-0.5), rel=1e-15)
        assert inverse.L == math.inf
        assert inverse.b == pytest.approx(math.exp(-0.5), rel=1e-14)  # d(1 - exp(-b))/db

    def test_vacuous_bound_is_flat(self):
        assert self.kl.derivatives(0.5, 1000.0) == (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    def test_no_budget(self):
        assert self.kl.derivatives(0.3, 0.0).value == 0.3

    def test_certain_error(self):
        assert self.kl.invert(1.0, 0.1) == 1.0


@given(st.sampled_from(NAMES), st.floats(0.0, 0.99), st.floats(1e-6, 0.999))
def test_forward(name, empirical, share):
    """The distance itself, with its slope and bend in the true risk."""
    excess = share * (1.0 - empirical)
    a, true = mpf(empirical), mpf(empirical) + mpf(excess)
    found = distances.BY_NAME[name].forward(*np.array([[empirical], [excess], [float(1 - true)]]))
    for order, value in enumerate(found):
        exact = diff(lambda l: PHI[name](a, l), true, order)
        assert value.item() == pytest.approx(float(exact), rel=1e-12, abs=1e-20), found._fields[order]


@pytest.mark.parametrize("name", ["squared", "pinsker", "ch"])
def test_no_budget_leaves_the_empirical_risk(name):
    inverse = distances.BY_NAME[name].derivatives(0.3, 0.0)
    assert (inverse.value, inverse.b) == (0.3, math.inf)


def test_only_kl_is_not_additive():
    assert {name for name in NAMES if not distances.BY_NAME[name].additive} == {"kl"}


@given(risks, budgets)
def test_minorants_of_kl_give_larger_bounds(L, budget):
    """2x² and twice the sixth-degree polynomial (whose budget has the factor 2m - 1) lie below the binary kl."""
    kl, pinsker = (distances.BY_NAME[name].invert(L, budget) for name in ("kl", "pinsker"))
    ch = distances.BY_NAME["ch"].invert(L, budget / 2)
    assert kl <= pinsker * (1 + 1e-14)
    assert kl <= ch * (1 + 1e-14)
    assert ch <= pinsker * (1 + 1e-14)


def test_exponents():
    assert {name: distances.BY_NAME[name].exponent(7) for name in NAMES} == {
        "linear": 7,
        "squared": 7,
        "kl": 7,
        "pinsker": 7,
        "ch": 13,
    }


@pytest.mark.parametrize("parent", NAMES)
def test_a_subclass_with_another_inverse_inherits_nothing_that_repeats_the_old_one(parent):
    """Half the budget: everything that is said of the inverse must follow."""
    known = distances.BY_NAME[parent]

    class Half(type(known)):
        def derivatives(self, L, budget):
            r = super().derivatives(L, 0.5 * budget)
            return r._replace(b=0.5 * r.b, Lb=0.5 * r.Lb, bb=0.25 * r.bb)

    distance, L, b = Half(), 0.2, 0.1
    r = known.derivatives(L, 0.5 * b)
    assert distance.invert(L, b) == r.value
    assert distance.slopes(L, b) == (r.value, r.L, 0.5 * r.b)
    assert distance.rate(L, b) == pytest.approx(r.L / (0.5 * r.b), rel=1e-12)
    assert distance.balance(L, b, 0.9 * distance.rate(L, b)) < 0.0 < distance.balance(L, b, 1.1 * distance.rate(L, b))
    assert distance.reaches(np.array([L]), np.array([b]), r.value).all()
    assert not distance.reaches(np.array([L]), np.array([b]), r.value + 1e-9).any()
