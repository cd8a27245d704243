"""Sums of products that stay on the thread that asks for them.

BLAS splits a product of more than some ten thousand numbers over threads. Waking them takes longer than the sum, much
longer where other programs keep the processors busy, so that long vectors are handed over in pieces.
"""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

import numpy as np

#: OpenBLAS takes one thread for vectors up to 10 000 numbers; a dozen arrays of so many stay in the processor's cache.
PIECE = 8192


def pieces(size: int, length: int = PIECE) -> Iterator[slice]:
    """Return the parts of a long array, one after the other."""
    return (slice(start, start + length) for start in range(0, size, length))


def dot(a: np.ndarray, b: np.ndarray) -> float:
    r""":math:`\sum_i a_i b_i` of two vectors."""
    if a.size < PIECE:
        return float(a.dot(b))
    whole = a.size - a.size % PIECE
    rows = np.vecdot(a[:whole].reshape(-1, PIECE), b[:whole].reshape(-1, PIECE))
    return float(rows.sum()) + float(np.dot(a[whole:], b[whole:]))


def products(rows: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the product of each of a few long rows with a vector."""
    if b.size <= PIECE:
        return np.asarray(np.vecdot(rows, b))
    return np.array([dot(row, b) for row in rows])


def combination(factors: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the sum of a few long rows, each times its factor."""
    return np.asarray(np.einsum("k,kh->h", factors, rows))


def one_thread() -> AbstractContextManager[object]:
    """Return a context in which BLAS takes one thread, for libraries that hand it vectors of their own."""
    return _libraries(len(sys.modules)).limit(limits=1)


@lru_cache(maxsize=1)
def _libraries(modules: int) -> Any:
    """Return the BLAS libraries in this process. Looking for them takes milliseconds; a new one comes with new
    modules."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
