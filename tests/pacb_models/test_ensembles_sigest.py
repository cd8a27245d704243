import itertools
import statistics

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pacb_models.errors import InputError
from pacb_models.estimators.sigest import sigest

from ..drawn import arrays


def brute_force(X, pairs, levels=(0.1, 0.9)):
    """kernlab's formula with plain Python: sorted distances, linear interpolation between order statistics."""
    distances = sorted(sum((a - b) ** 2 for a, b in zip(X[i], X[j])) for i, j in pairs)
    distances = [distance for distance in distances if distance > 0]

    def quantile(level):
        position = level * (len(distances) - 1)
        below = int(position)
        above = min(below + 1, len(distances) - 1)
        return distances[below] + (position - below) * (distances[above] - distances[below])

    return statistics.fmean(1 / quantile(level) for level in levels)


def test_all_pairs_against_brute_force():
    X = np.random.RandomState(1).randn(40, 3) * [1.0, 10.0, 0.1]
    X[7] = X[8]  # a pair at distance zero, which does not count
    pairs = list(itertools.combinations(range(40), 2))
    assert sigest(X) == pytest.approx(brute_force(X.tolist(), pairs), rel=1e-12)
    assert sigest(X, quantiles=(0.25, 0.5)) == pytest.approx(brute_force(X.tolist(), pairs, (0.25, 0.5)), rel=1e-12)


@given(st.floats(0.01, 100.0), arrays(st.integers(-1000, 1000), 36))
def test_scaling_the_data_scales_the_width(scale, numbers):
    X = numbers.reshape(12, 3) / 100
    assume(len(np.unique(X, axis=0)) == len(X))
    assert sigest(scale * X) == pytest.approx(sigest(X) / scale**2, rel=1e-9)


@pytest.mark.parametrize("X", [np.zeros((1, 3)), np.zeros(5)])
def test_too_little_data(X):
    with pytest.raises(InputError, match="at least two rows"):
        sigest(X)


def test_rows_that_do_not_differ():
    with pytest.raises(InputError, match="no two rows that differ"):
        sigest(np.ones((4, 2)))
