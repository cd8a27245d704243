"""Sums of products: long vectors, which are handed to BLAS in pieces."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pacb_models.numerics.inner import PIECE, combination, dot, products


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 5])
def test_every_product_is_counted_once(size):
    random = np.random.default_rng(size)
    a, b = random.standard_normal((2, size))
    assert dot(a, b) == pytest.approx(math.fsum((a * b).tolist()), abs=1e-11)
    assert dot(np.repeat(a, 2)[::2], b) == pytest.approx(dot(a, b), abs=1e-11)
    rows = random.standard_normal((3, size))
    assert products(rows, b) == pytest.approx([dot(row, b) for row in rows], abs=1e-11)
    assert combination(np.array([1.0, 0.0, -2.0]), rows) == pytest.approx(rows[0] - 2.0 * rows[2])
