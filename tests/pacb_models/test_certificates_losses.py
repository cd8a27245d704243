"""Losses one by one: the limit by hand, coverage that fails when it is shrunk, and the limit of sums beside it."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pacb_models as pm
from pacb_models import InputError
from pacb_models.certificates.betting import betting_limits


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


@pytest.mark.parametrize(
    ("losses", "options", "named"),
    [
        ([[0.1, 1.2]], {}, r"losses\[0, 1\] is 1.2; every loss must lie between 0 and 1"),
        ([[0.1], [float("nan")]], {}, r"losses\[1, 0\] is nan"),
        (np.zeros((0, 2)), {}, r"losses has the shape \(0, 2\)"),
        ([[0.1], [0.2]], {"m": 3}, "m is 3, but losses has 2 rows"),
        ([[0.1], [0.2]], {"names": ["a", "b"]}, "names has 2 entries"),
        ([[0.1], [0.2]], {"spread": 1.0}, "losses is given together with errors or spread"),
    ],
)
def test_bad_input_is_one_sentence(losses, options, named):
    with pytest.raises(InputError, match=named):
        pm.certify(losses=losses, **options)
