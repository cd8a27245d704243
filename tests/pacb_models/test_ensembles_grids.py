from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from pacb_models.errors import InputError
from pacb_models.estimators.grids import arithmetic_geometric_grid, lambda_grid, paper_grid


def test_paper_grid_is_the_double_nearest_each_decimal():
    exact = [Decimal("0.10") + i * Decimal("0.01") for i in range(1990)]
    assert paper_grid().tolist() == [float(value) for value in exact]


@pytest.mark.parametrize("count", [1, 50, 200, 500, 1000])
def test_smaller_paper_grids_are_prefixes(count):
    assert lambda_grid("paper", count).tolist() == paper_grid()[:count].tolist()


def test_arithmetic_geometric_grid_is_the_union_of_its_four_series():
    low, high = Fraction(1, 10**10), Fraction(1, 10)
    expected = set()
    for base in (2, 3, 5):
        term = Fraction(1, base)
        while term >= low:
            if term <= high:
                expected.add(float(term))
            term /= base
    geometric = len(expected)
    expected |= {float(Decimal("0.1") + k * Decimal("0.05")) for k in range(99)}
    grid = arithmetic_geometric_grid()
    assert geometric == 30 + 18 + 13
    assert np.all(np.diff(grid) > 0) and len(grid) == 160
    np.testing.assert_allclose(grid, sorted(expected), rtol=1e-15)
    assert grid[-1] == 5.0 and 0.1 in grid and 0.25 in grid


def test_own_values_are_kept_in_their_order():
    assert lambda_grid([3.0, 0.5, 1.0]).tolist() == [3.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("grid", "count", "sentence"),
    [
        ("geometric", None, "grid is 'geometric'; it must be one of 'paper', 'arithmetic-geometric' or"),
        ("paper", 0, "count is 0; it must be a whole number of at least 1"),
        ("arithmetic-geometric", 50, "count is 50; only the grid 'paper'"),
        ([0.1, 0.0], None, r"grid\[1\] is 0.0; every λ must be a positive finite number"),
        ([0.1, float("nan")], None, r"grid\[1\] is nan"),
        ([], None, "non-empty sequence"),
        (["a"], None, "non-empty sequence"),
    ],
)
def test_bad_grids_get_a_sentence(grid, count, sentence):
    with pytest.raises(InputError, match=sentence):
        lambda_grid(grid, count)
