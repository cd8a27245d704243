"""Numerics: sums of products; kl, its inverse and its logit gap against hundreds of digits."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pacb_models.errors import InputError
from pacb_models.numerics.binary_kl import kl, kl_inverse, logit_gap
from pacb_models.numerics.inner import PIECE, combination, dot, products

SMALLEST = 5e-324
# Digits that leave 50 correct ones after 1 - 5e-324 and the cancellation in kl(q, q(1 + 1e-16)).
DIGITS = 450
A_FEW_ULP = 9  # 4 or 5 of them are the margin

probabilities = st.floats(0.0, 1.0) | st.floats(-323.0, 0.0).map(lambda e: 10.0**e)
budgets = st.floats(0.0, math.inf) | st.floats(-323.0, 4.0).map(lambda e: 10.0**e)


def exact_kl(a: float, b) -> mpmath.mpf:
    """The definition, in working precision."""
    a, b = mpmath.mpf(a), mpmath.mpf(b)
    value = mpmath.mpf(0)
    for part, whole in ((a, b), (1 - a, 1 - b)):
        if part > 0:
            if whole == 0:
                return mpmath.inf
            value += part * mpmath.log(part / whole)
    return value


def assert_just_outside(q: float, budget: float, root: float, side: str) -> None:
    """root is at or beyond the true root, by no more than a few units in the last place."""
    outward = 1 if side == "upper" else -1
    end = 1.0 if side == "upper" else 0.0
    assert 0.0 <= root <= 1.0
    assert (root - q) * outward >= 0.0
    with mpmath.workdps(DIGITS):
        if root != end:
            assert exact_kl(q, root) >= budget, "inside the true root"
        nearer = mpmath.mpf(root) - outward * A_FEW_ULP * mpmath.mpf(float(np.spacing(root * (1 - 2.0**-53))))
        if (nearer - q) * outward > 0:
            assert exact_kl(q, nearer) <= budget, "too far outside the true root"


@pytest.mark.long
@pytest.mark.parametrize("side", ["upper", "lower"])
@settings(max_examples=300)
@given(q=probabilities, budget=budgets)
@example(q=0.0, budget=1e-300)
@example(q=0.0, budget=700.0)
@example(q=1.0, budget=700.0)
@example(q=1.0, budget=1e-300)
@example(q=0.5, budget=370.0)
@example(q=SMALLEST, budget=SMALLEST)
@example(q=SMALLEST, budget=1.0)
@example(q=1e-320, budget=SMALLEST)
@example(q=1e-200, budget=SMALLEST)
@example(q=1e-151, budget=1e-149)
@example(q=0.3, budget=1e-300)
@example(q=0.3, budget=1e300)
@example(q=1 - 2**-53, budget=1e-17)
@example(q=1 - 2**-53, budget=100.0)
@example(q=8e-15, budget=6e-15)
def test_scalar_roots_lie_just_outside_the_true_ones(side, q, budget):
    assert_just_outside(q, budget, kl_inverse(q, budget, side), side)


@pytest.mark.parametrize("side", ["upper", "lower"])
def test_array_roots_lie_just_outside_the_true_ones(side):
    generator = np.random.default_rng(5)
    size = 600
    q = np.choose(
        np.arange(size) % 3,
        [generator.random(size), 10 ** generator.uniform(-300, 0, size), 1 - 10 ** generator.uniform(-15, 0, size)],
    )
    budget = np.where(
        generator.random(size) < 0.5, 10 ** generator.uniform(-20, 3, size), q * 10 ** generator.uniform(-6, 2.8, size)
    )
    roots = kl_inverse(q, budget, side)
    for values in zip(q.tolist(), budget.tolist(), roots.tolist()):
        assert_just_outside(*values, side)


def test_exact_cases():
    q = np.array([0.0, SMALLEST, 1e-17, 0.3, 1 - 2**-53, 1.0])
    for side, end in (("upper", 1.0), ("lower", 0.0)):
        np.testing.assert_array_equal(kl_inverse(q, 0.0, side), q)
        # an infinite budget allows every r, except that kl(q, r) is no longer a matter of budget at q = end
        np.testing.assert_array_equal(kl_inverse(q, math.inf, side), np.full(6, end))
        np.testing.assert_array_equal(kl_inverse(end, [0.0, 1e-300, 1.0, math.inf], side), np.full(4, end))
        assert [kl_inverse(x, 0.0, side) for x in q.tolist()] == q.tolist()
        assert [kl_inverse(x, math.inf, side) for x in q.tolist()] == [end] * 6


def test_blocks_and_broadcasting_do_not_change_the_roots():
    q = np.linspace(0, 1, 101)[:, None]
    budget = np.geomspace(1e-9, 50, 97)
    roots = kl_inverse(q, budget)
    assert roots.shape == (101, 97)  # more elements than one block
    one_by_one = [[kl_inverse(float(x), float(c)) for c in budget] for x in q[:, 0]]
    np.testing.assert_allclose(roots, one_by_one, rtol=1e-15)
    assert kl_inverse(np.zeros((0, 3)), 1.0).shape == (0, 3)


def test_scalars_in_any_dress_give_a_float():
    expected = kl_inverse(0.25, 0.5)
    for q, budget in ((np.float64(0.25), np.float64(0.5)), (np.array(0.25), 0.5)):
        assert type(kl_inverse(q, budget)) is float
        assert kl_inverse(q, budget) == expected
    assert type(kl_inverse(0, 1)) is float
    assert type(kl(0.1, 0.2)) is float


def near(drawn):
    """Arguments that nearly agree, where the definition cancels."""
    a, exponent, sign = drawn
    return a, min(max(a + sign * 10.0**exponent, 0.0), 1.0)


nearly_equal = st.tuples(st.floats(1e-3, 1 - 1e-3), st.floats(-15.9, 0.0), st.sampled_from([-1, 1])).map(near)


@pytest.mark.long
@settings(max_examples=600)
@given(st.tuples(probabilities, probabilities) | nearly_equal)
@example((0.0, 0.0))
@example((1.0, 1.0))
@example((0.5, SMALLEST))
@example((1e-300, 2e-300))
@example((1.0, 0.5))
@example((1e-20, 1.0))
@example(near((0.2863438678596614, -15.875, 1)))  # 1 - a and 1 - b round to the same number
def test_kl_is_accurate_for_any_pair(pair):
    with mpmath.workdps(DIGITS):
        expected = exact_kl(*pair)
        if expected == mpmath.inf:
            assert kl(*pair) == math.inf
        else:
            # the smallest normal number allows for underflow
            assert abs(kl(*pair) - expected) <= 2e-15 * expected + mpmath.mpf(2) ** -1070


def test_kl_of_arrays_broadcasts():
    a, b = np.array([0.0, 0.2, 1.0]), np.array([[0.2], [0.7]])
    expected = [[kl(x, y) for x in a] for y in b[:, 0]]
    np.testing.assert_array_equal(kl(a, b), expected)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((1.5, 0.1), "q is 1.5; a probability must lie in [0, 1]."),
        ((-0.1, 0.1), "q is -0.1; a probability must lie in [0, 1]."),
        (([0.1, -0.25], 0.1), "q[1] is -0.25; a probability must lie in [0, 1]."),
        (([[0.1, 0.2], [0.3, math.nan]], 0.1), "q[1, 1] is nan; a probability must lie in [0, 1]."),
        ((math.nan, 0.1), "q is nan; a probability must lie in [0, 1]."),
        ((0.1, -1.0), "budget is -1.0; it must be at least 0."),
        ((0.1, [1.0, math.nan]), "budget[1] is nan; it must be at least 0."),
        (("half", 0.1), "q is 'half'; it must be a number or an array of numbers."),
        ((0.1, None, "upper"), "budget is None; it must be a number or an array of numbers."),
        ((0.1, 0.1, "both"), "side is 'both'; it must be one of 'upper', 'lower'."),
        ((0.1, 0.1, np.zeros(2)), "side is array([0., 0.]); it must be one of 'upper', 'lower'."),
        (([0.1, 0.2], [1, 2, 3]), "q has the shape (2,), budget has the shape (3,); the shapes must go together."),
    ],
)
def test_bad_input_is_refused_in_one_sentence(arguments, sentence):
    with pytest.raises(InputError) as caught:
        kl_inverse(*arguments)
    assert str(caught.value) == sentence


def test_kl_refuses_what_is_not_a_probability():
    with pytest.raises(InputError, match=r"^b\[2\] is 1\.25; a probability must lie in \[0, 1\]\.$"):
        kl(0.5, [0.1, 0.2, 1.25])


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
    with mpmath.workdps(40):
        a, d = mpmath.mpf(L), mpmath.mpf(float(logit_gap(L, budget)))
        grown = 1 + a * (mpmath.exp(d) - 1)
        correction = (mpmath.log(grown) - a * d - mpmath.mpf(budget)) / (a * mpmath.exp(d) / grown - a)
        assert abs(correction / d) < 1e-12


def test_logit_gap_of_an_array():
    L, r = np.array([0.1, 0.25, 0.5]), np.array([0.3, 0.5, 0.9])
    assert logit_gap(L, kl(L, r)) == pytest.approx(np.log(r / (1 - r) / (L / (1 - L))), rel=1e-14)
    assert logit_gap(1.0, 0.5) == np.inf
    # No empirical risk counts as one of 1e-300: d = b + ln(r/L), r = 1 - exp(-b).
    assert float(logit_gap(0.0, 0.5)) == pytest.approx(0.5 + np.log(-np.expm1(-0.5)) + 300 * np.log(10), rel=1e-14)


def test_logit_gap_of_a_tiny_budget():
    """d² L(1-L)/2 to first order, and 2 artanh of the difference: no digits lost when r is L in double precision."""
    assert float(logit_gap(0.5, 1e-20)) == pytest.approx(2.0 * math.atanh(math.sqrt(2e-20)), rel=1e-9, abs=0.0)
