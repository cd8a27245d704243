"""Checks of error counts, sample sizes and sums of losses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..constants import LARGEST_SAMPLE_SIZE
from ..errors import InputError
from ..numerics.binary_kl import all_or_refuse
from ..validation import _vector as vector
from ..validation import real_numbers, refuse_masked

_SAMPLE_SIZES = "a sample size must be a whole number from 1 to 1000000000"
_WHAT_TO_DO = (
    "pass the numbers of errors themselves, not rounded rates (a risk k/m is the count k); "
    "for losses between 0 and 1 pass their sums as losses="
)


def whole_numbers(name: str, values: object, expected: str) -> NDArray[np.int64]:
    """Integers of any shape; floating-point numbers pass when they are whole."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"{name} is ragged; {expected}.") from None
    refuse_masked(name, values)
    if array.dtype.kind in "iu":
        return array.astype(np.int64, copy=False)
    if array.dtype.kind != "f":
        raise InputError(f"{name} is of type {array.dtype}; {expected}.")
    with np.errstate(invalid="ignore"):
        integers = np.where(np.abs(array) < 2.0**62, array, -1.0).astype(np.int64)
    all_or_refuse(name, array, integers == array, expected)
    return integers


def check_counts(errors: object, m: object) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Error counts and sample sizes that go together: 0 <= errors <= m, 1 <= m <= 10^9."""
    k = whole_numbers("errors", errors, f"error counts are whole numbers: {_WHAT_TO_DO}")
    sizes = whole_numbers("m", m, _SAMPLE_SIZES)
    all_or_refuse("m", sizes, (sizes >= 1) & (sizes <= LARGEST_SAMPLE_SIZE), _SAMPLE_SIZES)
    if k.size and sizes.size and (k.min() < 0 or k.max() > sizes.min()):
        k, sizes = np.broadcast_arrays(k, sizes)
        all_or_refuse("errors", k, (k >= 0) & (k <= sizes), "a number of errors lies between 0 and m")
    return k, sizes


def check_sums(losses: object, m: int) -> NDArray[np.float64]:
    """Sums of m losses between 0 and 1: a non-empty vector with entries from 0 to m."""
    sums = vector("losses", losses)
    return all_or_refuse("losses", sums, (sums >= 0.0) & (sums <= m), "a sum of losses in [0, 1] lies between 0 and m")


def check_losses(losses: object) -> NDArray[np.float64]:
    """A table of losses between 0 and 1, with a row per example and a column per classifier."""
    matrix = np.array(real_numbers("losses", losses, "a table of numbers"))
    if matrix.ndim != 2 or not matrix.size:
        raise InputError(
            f"losses has the shape {matrix.shape}; it must have a row per example, a column per classifier."
        )
    with np.errstate(invalid="ignore"):
        bad = ~((matrix >= 0.0) & (matrix <= 1.0))
    if bad.any():
        row, column = np.argwhere(bad)[0].tolist()
        raise InputError(
            f"losses[{row}, {column}] is {float(matrix[row, column])!r}; every loss must lie between 0 and 1."
        )
    return matrix
