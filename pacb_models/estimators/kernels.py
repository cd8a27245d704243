"""The Gaussian kernel as libsvm computes it, and the decisions of SVMs that were trained on its matrix.

The entries are computed by the very operations that libsvm uses, so an SVM trained on the matrix is the SVM that
``SVC(kernel="rbf")`` would have trained, digit for digit.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from ..errors import InputError

#: Rows of which libsvm keeps a copy of its own. Those in use are enough, and stay near the processor; with all of them
#: (its default of 200 MB) it waits for memory, and rearranges them whenever it sets examples aside.
_CACHED_ROWS = 1000


def cache_size(rows: int) -> float:
    """The ``cache_size`` of an ``SVC`` whose kernel matrix is given: it changes the time, and nothing else."""
    return 4.0 * _CACHED_ROWS * rows / 2**20


def vote(decisions: np.ndarray, classes: int) -> np.ndarray:
    """The class with most wins over the others, one against one; among equals the first, as in libsvm."""
    votes = np.zeros((classes, decisions.shape[1]), dtype=np.int64)
    for (first, second), decision in zip(combinations(range(classes), 2), decisions):
        votes[first] += decision > 0
        votes[second] += decision <= 0
    return votes.argmax(axis=0)


def gaussian_kernel(X: np.ndarray, Z: np.ndarray, gamma: float) -> np.ndarray:
    """The kernel between the rows of two tables, by libsvm's operations in libsvm's order."""
    one_table = X is Z
    X, Z = np.ascontiguousarray(X, dtype=np.float64), np.ascontiguousarray(Z, dtype=np.float64)
    squares, other_squares = np.vecdot(X, X), np.vecdot(Z, Z)
    kernel = np.empty((X.shape[0], Z.shape[0]))
    for start in range(0, X.shape[0], 256):
        rows = slice(start, start + 256)
        # Among the rows of one table the blocks below the diagonal are those above it.
        columns = slice(start if one_table else 0, None)
        block = kernel[rows, columns]
        # One BLAS dot product per pair: a matrix product would round differently.
        np.vecdot(X[rows, None], Z[None, columns], out=block)
        block *= -2.0
        block += squares[rows, None] + other_squares[columns]
        if one_table:
            kernel[columns, rows] = block.T
    kernel *= -gamma
    np.exp(kernel, out=kernel)
    if not np.isfinite(kernel).all():
        raise InputError("X holds values that are not finite or too large: their kernel is not a number.")
    return kernel


def pairwise(machine: Any, support: np.ndarray, pool: int) -> tuple[np.ndarray, np.ndarray]:
    """The one-against-one decision functions over the pool's rows."""
    classes = len(machine.classes_)
    if classes == 2:
        # scikit-learn turns the sign for two classes; turn it back to libsvm's.
        coefficients = np.zeros((1, pool))
        coefficients[0, support] = -machine.dual_coef_[0]
        return coefficients, -machine.intercept_
    ends = np.cumsum(machine.n_support_)
    members = [slice(end - count, end) for end, count in zip(ends, machine.n_support_)]
    pairs = list(combinations(range(classes), 2))
    coefficients = np.zeros((len(pairs), pool))
    for row, (first, second) in zip(coefficients, pairs):
        row[support[members[first]]] = machine.dual_coef_[second - 1, members[first]]
        row[support[members[second]]] = machine.dual_coef_[first, members[second]]
    return coefficients, machine.intercept_
