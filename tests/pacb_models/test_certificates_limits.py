"""Limits: Clopper and Pearson's against sixty digits, a few units in the last place above; of losses, by hand."""

import math

import mpmath as mp
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pacb_models as pm
from pacb_models import InputError
from pacb_models.certificates.limits import limit
from pacb_models.certificates.losses import betting_limits

from .binomial_reference import log_tail, log_upper_tail

SIZES = [1, 2, 3, 5, 10, 37, 100, 1000, 10**4, 10**6, 10**9]
LEVELS = [0.5, 0.4999, 0.05, 0.01, 1e-3, 1e-5, 1e-10, 1e-30, 1e-100, 1e-300]
LARGE_LEVELS = [0.5000001, 0.51, 0.9, 0.999, 1 - 1e-9]


def counts_of(m: int) -> list[int]:
    edges = {0, 1, 2, 3, 5, 17, round(m**0.5), m // 10, m // 3, m // 2, m - 2, m - 1}
    # At 10⁹ the reference sums a million terms in the middle; one such count will do.
    if m == 10**9:
        edges -= {m // 3, m // 10}
    return sorted(k for k in edges if 0 <= k < m)


def is_above(limit: float, k: int, m: int, level: float) -> bool:
    """Whether the limit is at or above the root: the tail is at most the level there."""
    if level <= 0.5:
        return log_tail(k, m, mp.mpf(limit)) <= mp.log(level)
    return log_upper_tail(k, m, mp.mpf(limit)) >= mp.log(1 - mp.mpf(level))


def below(limit: float, units: int) -> float:
    return limit - units * np.spacing(limit)


@pytest.mark.long
@pytest.mark.parametrize(
    ("m", "levels", "units"),
    [
        *((m, LEVELS if m < 10**6 else LEVELS[2::3], 32) for m in SIZES),
        *((m, LARGE_LEVELS, 256) for m in (1, 2, 5, 37, 1000, 10**6)),
    ],
)
def test_limits_are_not_below_the_root_and_a_few_units_above_at_most(m, levels, units):
    with mp.workdps(60):
        for k in counts_of(m):
            for level, found in zip(levels, pm.clopper_pearson(k, m, levels), strict=True):
                for value in (float(found), pm.clopper_pearson(k, m, level)):
                    assert value == 1.0 or is_above(value, k, m, level), (k, m, level, value)
                    assert not is_above(below(value, units), k, m, level), (k, m, level, value)


def test_all_but_one_error_at_levels_next_to_one():
    """The m-th root of a number next to zero: its logarithm's rounding counts as often as it is large."""
    levels = 1.0 - np.random.default_rng(0).uniform(1.0, 9.0, 60) * 10.0 ** -np.arange(1, 16).repeat(4)
    with mp.workdps(60):
        for m in (2, 3, 4, 7):
            for level, found in zip(levels, pm.clopper_pearson(m - 1, m, levels), strict=True):
                for value in (float(found), pm.clopper_pearson(m - 1, m, level)):
                    assert mp.mpf(value) ** m >= 1 - mp.mpf(level), (m, level, value)
                    assert mp.mpf(below(value, 128)) ** m < 1 - mp.mpf(level), (m, level, value)


@pytest.mark.parametrize("share", [1e-6, 0.01, 1 / 3, 0.5, 0.999])
def test_limits_with_a_share_of_the_mass(share):
    with mp.workdps(60):
        for m in (5, 37, 549, 10**4, 10**6):
            for k in counts_of(m):
                for level in (0.4, 0.05, 1e-3, 1e-9, 1e-200):
                    if k == 0 and level / share >= 1.0:
                        continue
                    value = limit(float(k), float(m), level, share)
                    assert value == 1.0 or log_tail(k, m, mp.mpf(value), share) <= mp.log(level), (k, m, level, value)
                    assert log_tail(k, m, mp.mpf(below(value, 32)), share) > mp.log(level), (k, m, level, value)


def test_every_example_an_error_has_the_limit_one():
    assert pm.clopper_pearson(7, 7, 0.05) == 1.0
    assert pm.clopper_pearson([10**9, 0], 10**9, 1e-300)[0] == 1.0


def test_broadcasting_and_scalars():
    table = pm.clopper_pearson(np.arange(6)[:, None], 5, [0.05, 0.01])
    assert table.shape == (6, 2)
    alone = [[pm.clopper_pearson(k, 5, delta) for delta in (0.05, 0.01)] for k in range(6)]
    np.testing.assert_allclose(table, alone, rtol=4e-15)
    assert isinstance(pm.clopper_pearson(3, 5, 0.05), float)
    assert pm.clopper_pearson([2, 2], [10, 20], 0.05).shape == (2,)
    assert pm.clopper_pearson([], 20, 0.05).shape == (0,)


@settings(max_examples=60)
@given(m=st.integers(1, 10**9), share=st.floats(0, 1), delta=st.floats(1e-300, 0.999))
def test_limits_rise_with_the_errors_and_fall_with_delta(m, share, delta):
    k = min(int(share * m), m - 1)
    value = pm.clopper_pearson(k, m, delta)
    assert k / m * (1 - 1e-15) < value <= 1.0 or delta > 0.4
    assert pm.clopper_pearson(k + 1, m, delta) >= value
    assert pm.clopper_pearson(k, m, delta / 2) >= value


@pytest.mark.parametrize(
    ("errors", "m", "delta", "words"),
    [
        (25.254, 549, 0.05, "errors is 25.254; error counts are whole numbers"),
        ([1, -1], 10, 0.05, r"errors\[1\] is -1.0; a number of errors lies between 0 and m"),
        (11, 10, 0.05, "errors is 11.0; a number of errors lies between 0 and m"),
        (1, 0, 0.05, "m is 0.0; a sample size"),
        (1, 10**9 + 1, 0.05, "a sample size"),
        ([1, 2], [10, 10, 10], 0.05, r"errors has the shape \(2,\), m has the shape \(3,\)"),
        (1, 10, 0.0, "delta is 0.0; it must lie strictly between 0 and 1"),
        (1, 10, float("nan"), "delta is nan"),
        (float("nan"), 10, 0.05, "errors is nan"),
        ("three", 10, 0.05, "errors is of type"),
        (1 + 0j, 10, 0.05, "errors is of type complex128"),
        (np.ma.masked_array([1, 2], mask=[0, 1]), 10, 0.05, "errors is a masked array"),
    ],
)
def test_bad_input_is_one_sentence(errors, m, delta, words):
    with pytest.raises(InputError, match=words):
        pm.clopper_pearson(errors, m, delta)


# --- losses one by one -----------------------------------------------------------------------------------------------


def wealth(losses, u, level):
    """The largest wealth of the documented bet, step by step."""
    m, target = len(losses), math.log(1 / level)
    best, log_wealth, total, squares, variance, seen, large = -math.inf, 0.0, 0.5, 0.25, 0.25, 0.25, 0.25
    for t, x in enumerate(losses, start=1):
        guess = seen / t + math.sqrt(2 * target * variance / m) + target / m
        cap = min(max(1 - large / t / guess, 0.5), 0.99)
        bet = min(math.sqrt(2 * target / (m * variance)), cap / (1 - u) if u < 1 else math.inf)
        log_wealth += math.log1p(bet * (u - x))
        best = max(best, log_wealth)
        total, seen, large = total + x, seen + x, large + x**4
        squares += (x - total / (t + 1)) ** 2
        variance = squares / (t + 1)
    return best


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60), st.floats(1e-6, 0.6))
def test_the_limit_is_where_the_wealth_reaches_its_target(losses, level):
    column = np.array(losses)
    found = float(betting_limits(column[:, None], np.array([level]))[0])
    ordered = column[np.random.default_rng(0).permutation(len(losses))]
    assert column.mean() <= found <= 1.0
    if found < 1.0:
        assert wealth(ordered, found, level) >= math.log(1 / level) * (1 - 1e-9)
    below = found * (1 - 1e-9) if found < 1.0 else 1.0 - 1e-9
    if below > column.mean() * (1 + 1e-9):
        assert wealth(ordered, below, level) <= math.log(1 / level) * (1 + 1e-6)


DISTRIBUTIONS = {
    "many small": (lambda random, shape: random.beta(0.3, 3.0, shape), 0.3 / 3.3),
    "some large": (
        lambda random, shape: np.where(random.random(shape) < 0.9, random.beta(1, 30, shape), random.beta(3, 2, shape)),
        0.9 / 31 + 0.1 * 0.6,
    ),
    "errors": (lambda random, shape: (random.random(shape) < 0.1).astype(float), 0.1),
}


@pytest.mark.long
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_limits_hold_and_smaller_ones_do_not(name):
    """Columns are samples of their own here."""
    draw, mean = DISTRIBUTIONS[name]
    delta, draws = 0.2, 2000
    found = betting_limits(draw(np.random.default_rng(1), (2000, draws)), np.full(draws, delta))
    assert np.count_nonzero(found < mean) <= delta * draws < np.count_nonzero(0.9 * found < mean)


def test_priors_names_and_posteriors():
    losses = np.random.default_rng(0).beta(1, 9, (300, 3))
    prior = np.array([0.5, 0.3, 0.2])
    found = pm.certify(losses=pd.DataFrame(losses, columns=["a", "b", "c"]), prior=prior, delta=0.1)
    assert found.names == ["a", "b", "c"] and found.single == int(np.argmin(found.single_bounds))
    np.testing.assert_allclose(found.single_bounds, betting_limits(losses, 0.1 * prior), rtol=1e-12)
    assert found.bound_of([0.2, 0.3, 0.5]) == pytest.approx(found.single_bounds @ [0.2, 0.3, 0.5], rel=1e-12)
    assert found.bound == found.single_bound and found.posterior[found.single] == 1.0
    assert found.m == 300 and "has an expected loss of at most" in str(found)
    np.testing.assert_allclose(found.errors, losses.sum(axis=0))
    # The limit of the sums is larger.
    assert found.bound < pm.certify(losses=losses.sum(axis=0), m=300, prior=prior, delta=0.1).bound
