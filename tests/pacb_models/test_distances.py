"""Distances: their inverses and derivatives against forty-digit arithmetic."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import diff, mpf

import pacb_models as pm
from pacb_models import distances

from .mp_reference import PHI, invert

NAMES = sorted(distances.BY_NAME)
risks = st.floats(1e-6, 1 - 1e-6)
budgets = st.floats(-12, 1.5).map(lambda power: 10.0**power)


@given(st.sampled_from(NAMES), st.one_of(risks, st.just(0.0)), budgets)
def test_inverse(name, L, budget):
    exact = invert(name, mpf(L), mpf(budget))
    value = distances.BY_NAME[name].invert(L, budget)
    assert value == pytest.approx(float(exact), rel=1e-14, abs=0.0)
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


def test_kl_at_the_edges():
    kl = distances.BinaryKL()
    inverse = kl.derivatives(0.0, 0.5)
    assert inverse.value == pytest.approx(-math.expm1(-0.5), rel=1e-15) and inverse.L == math.inf
    assert inverse.b == pytest.approx(math.exp(-0.5), rel=1e-14)  # d(1 - exp(-b))/db
    assert kl.derivatives(0.5, 1000.0) == (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert kl.derivatives(0.3, 0.0).value == 0.3 and kl.invert(1.0, 0.1) == 1.0


@given(st.sampled_from(NAMES), st.floats(0.0, 0.99), st.floats(1e-6, 0.999))
def test_forward(name, empirical, share):
    """The distance itself, with its slope and bend in the true risk."""
    excess = share * (1.0 - empirical)
    a, true = mpf(empirical), mpf(empirical) + mpf(excess)
    found = distances.BY_NAME[name].forward(*np.array([[empirical], [excess], [float(1 - true)]]))
    for order, value in enumerate(found):
        exact = diff(lambda l: PHI[name](a, l), true, order)
        assert value.item() == pytest.approx(float(exact), rel=1e-12, abs=1e-20), found._fields[order]


@pytest.mark.parametrize("name", ["squared", "pinsker", "ch", "relative"])
def test_no_budget_leaves_the_empirical_risk(name):
    inverse = distances.BY_NAME[name].derivatives(0.3, 0.0)
    assert (inverse.value, inverse.b) == (0.3, math.inf)


@pytest.mark.parametrize("name", NAMES)
def test_the_bound_of_an_additive_distance_is_the_risk_and_a_term_of_the_budget(name):
    """That is what ``additive`` says."""
    distance = distances.BY_NAME[name]
    added = [distance.invert(L, 0.02) - L for L in (0.0, 0.1, 0.3, 0.6)]
    same = added == pytest.approx(added[:1] * 4, rel=1e-12)
    assert same == distance.additive, f"set additive = {same} in the class {type(distance).__name__}"


def test_exponents():
    """That of the sixth-degree polynomial is its authors'; the others have m."""
    assert {name: distances.BY_NAME[name].exponent(7) for name in NAMES} == {name: 7 for name in NAMES} | {"ch": 13}


@pytest.mark.parametrize("parent", NAMES)
def test_a_class_that_derives_from_one_of_ours_is_refused(parent):
    class Half(type(distances.BY_NAME[parent])):
        def derivatives(self, L, budget):
            return super().derivatives(L, 0.5 * budget)

    final = type(distances.BY_NAME[parent]).__name__
    sentence = rf"distance is Half\(\), whose class derives from {final}, which is final; derive it from Distance\."
    with pytest.raises(pm.InputError, match=sentence):
        pm.BoundProblem([0.1, 0.2], m=10, distance=Half(), divergence="kl")


# --- the same by other ways ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_at_numbers_are_those_at_arrays(name):
    distance = distances.BY_NAME[name]
    for L in (0.0, 0.001, 0.2, 0.7):
        for budget in (*((0.0,) if name == "kl" else ()), 1e-6, 0.03, 0.4):
            with np.errstate(all="ignore"):
                arrays = distance.derivatives(np.array([L]), np.array([budget]))
            assert distance.derivatives(L, budget) == pytest.approx([np.ravel(each)[0] for each in arrays], rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_reaches_is_the_comparison_with_the_inverse(name):
    distance = distances.BY_NAME[name]
    L, budget = (grid.ravel() for grid in np.meshgrid([0.0, 0.01, 0.3, 0.6], [1e-4, 0.02, 0.2]))
    r = np.asarray(distance.invert(L, budget))
    inside = r < 0.999
    for factor in (0.5, 0.99, 1.0 - 1e-9):
        assert distance.reaches(L, budget, L + factor * (r - L)).all()
    for factor in (1.0 + 1e-9, 1.01):
        beyond = np.minimum(L + factor * (r - L), 1.0 - 1e-4)
        assert not distance.reaches(L, budget, beyond)[inside & (beyond > r)].any()
        with np.errstate(all="ignore"):
            assert not distance.reaches(L, budget, math.inf).any()
