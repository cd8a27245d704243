"""Random numbers that are the same on every processor.

An instance with a certified optimum must be the same to the last bit wherever it is generated. Elementary functions
(``exp``, ``log``, powers) and sums of floating-point numbers differ in the last digit between processors, as do the
samplers built on them. So a draw is an integer, taken from the raw 64-bit stream of a named bit generator, which NumPy
keeps the same in all its versions; and what is computed from integers uses nothing but integer arithmetic and single
additions, multiplications and divisions, which IEEE 754 rounds correctly everywhere.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


class Draws:
    """A stream of random integers that belongs to a seed."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def integers(self, count: int, low: int, high: int) -> npt.NDArray[np.int64]:
        """``count`` integers from ``low`` to ``high``, both included, all (but for a 2⁻⁴⁰ part) equally likely."""
        raw = np.asarray(self._bits.random_raw(count), dtype=np.uint64)
        return low + (raw % np.uint64(high - low + 1)).astype(np.int64)

    def prior(self, count: int, factors: int = 1) -> npt.NDArray[np.float64]:
        """Random prior weights: products of so many integers from 1 to 1000, over their sum."""
        weights = np.ones(count, dtype=np.int64)
        for _ in range(factors):
            weights *= self.integers(count, 1, 1000)
        return weights / int(weights.sum())
