"""The smallest bound under limits on other bounds, against grids of posteriors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pacb_models as pm

risks = st.lists(st.floats(0.0, 0.6), min_size=3, max_size=3)


def grid(steps: int = 60) -> np.ndarray:
    """Posteriors on three classifiers."""
    return np.array([[a, b, steps - a - b] for a in range(steps + 1) for b in range(steps + 1 - a)]) / steps


@pytest.mark.long
@settings(max_examples=10)
@given(risks, risks, st.floats(0.05, 0.95), st.sampled_from(["chi2", "kl"]), st.sampled_from(["kl", "squared"]))
def test_no_posterior_of_a_grid_is_below(first, second, share, divergence, distance):
    errors = pm.BoundProblem(first, m=500, divergence=divergence, distance=distance)
    misses = pm.BoundProblem(second, m=200, divergence=divergence, distance="kl")
    smallest, free = pm.solve(misses).bound, misses.bound(pm.solve(errors).posterior)
    limit = smallest + share * (free - smallest) + 1e-6
    found = pm.minimise_certified(errors, {"misses": (misses, limit)}, tolerance=1e-5)
    assert found.bounds["misses"] == misses.bound(found.posterior) <= limit
    assert found.bound == errors.bound(found.posterior)
    assert found.bound * (1.0 - 1.1e-5) <= found.lower_bound <= found.bound
    kept = [q for q in grid() if misses.bound(q) <= limit]
    assert all(errors.bound(q) >= found.lower_bound for q in kept)


@pytest.mark.long
def test_a_limit_that_does_not_bind_changes_nothing():
    errors = pm.BoundProblem([0.1, 0.12, 0.2], m=1000)
    misses = pm.BoundProblem([0.2, 0.12, 0.05], m=400)
    free = pm.solve(errors)
    found = pm.minimise_certified(errors, {"misses": (misses, 0.9)}, tolerance=1e-4)
    assert found.bound == pytest.approx(free.bound, rel=2e-4)
    assert found.lower_bound <= free.bound


@pytest.mark.long
def test_averages_of_the_problem_are_kept():
    errors = pm.BoundProblem([0.1, 0.12, 0.2], m=1000, constraints=pm.average([1.0, 2.0, 3.0], at_least=2.2, name="a"))
    misses = pm.BoundProblem([0.2, 0.12, 0.05], m=400)
    found = pm.minimise_certified(errors, {"misses": (misses, 0.25)}, tolerance=1e-3)
    assert float(np.dot(found.posterior, [1.0, 2.0, 3.0])) >= 2.2 - 1e-9
    assert found.bounds["misses"] <= 0.25


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        ({}, "limits is empty"),
        ({"a": (pm.BoundProblem([0.1, 0.2], m=10), 0.5)}, "has other classifiers or another prior"),
        ({"a": (pm.BoundProblem([0.1, 0.2, 0.3], m=10, divergence="kl"), 0.5)}, "has another divergence"),
        ({"a": (pm.BoundProblem([0.1, 0.2, 0.3], m=10), 0.01)}, "no posterior was found .* a at most 0.01"),
    ],
)
def test_bad_limits_are_one_sentence(limits, sentence):
    with pytest.raises(pm.InputError, match=sentence):
        pm.minimise_certified(pm.BoundProblem([0.1, 0.2, 0.3], m=100), limits)
