"""Counting errors piece by piece: predictions that never are in memory together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from .certificate import Certificate
from .certify import certify


class ErrorCounts:
    """Numbers of errors of named classifiers on the examples seen so far.

    ``update`` adds examples, ``+`` merges the counts of two parts: the map and the reduce of a computation on pieces.

    >>> counts = ErrorCounts(["a", "b"])
    >>> counts.update([0, 1, 1], {"a": [0, 1, 0], "b": [1, 1, 1]})
    >>> other = ErrorCounts(["a", "b"])
    >>> other.update([0], {"a": [0], "b": [1]})
    >>> (counts + other).errors.tolist(), (counts + other).m
    ([1, 2], 4)
    """

    def __init__(self, names: Sequence[str], errors: ArrayLike | None = None, m: int = 0) -> None:
        self.names = [str(name) for name in names]
        repeated = next((name for name in self.names if self.names.count(name) > 1), None)
        if repeated is not None:
            raise InputError(f"names has {repeated!r} more than once; classifiers must have different names.")
        if not self.names:
            raise InputError("names is empty; there must be at least one classifier.")
        self.errors: NDArray[np.int64] = np.zeros(len(self.names), dtype=np.int64)
        if errors is not None:
            self.errors += np.asarray(errors, dtype=np.int64)
        self.m = int(m)

    def update(self, y: ArrayLike, predictions: Mapping[str, ArrayLike]) -> None:
        """Count the errors of one piece; ``predictions`` has a column per classifier (a dict or a data frame)."""
        truth = np.asarray(y)
        if truth.ndim != 1:
            raise InputError(f"y must be one-dimensional, but its shape is {truth.shape}.")
        _refuse_missing("y", truth)
        found = np.empty(len(self.names), dtype=np.int64)
        for position, name in enumerate(self.names):
            if name not in predictions:
                raise InputError(f"predictions has no column {name!r}; it must have one for each classifier.")
            column = np.asarray(predictions[name])
            if column.shape != truth.shape:
                raise InputError(f"predictions[{name!r}] has shape {column.shape}, but y has {truth.shape}.")
            if (column.dtype.kind in "OUST") != (truth.dtype.kind in "OUST"):
                raise InputError(f"predictions[{name!r}] is of type {column.dtype}, but y of {truth.dtype}.")
            _refuse_missing(f"predictions[{name!r}]", column)
            found[position] = np.count_nonzero(column != truth)
        self.errors += found
        self.m += truth.size

    def __add__(self, other: ErrorCounts) -> ErrorCounts:
        if not isinstance(other, ErrorCounts):
            return NotImplemented
        if self.names != other.names:
            raise InputError(f"the names of the two differ: {self.names} and {other.names}.")
        return ErrorCounts(self.names, self.errors + other.errors, self.m + other.m)

    def __radd__(self, other: object) -> ErrorCounts:
        return self if other == 0 else NotImplemented  # so that sum() works

    def certify(self, delta: float = 0.05, **options: Any) -> Certificate:
        """The certificate of what was counted; see :func:`pacb_models.certify`."""
        return certify(self.errors, self.m, delta, names=self.names, **options)

    def __repr__(self) -> str:
        return f"ErrorCounts({len(self.names)} classifiers, m={self.m})"


def _refuse_missing(name: str, values: NDArray[Any]) -> None:
    """NaN differs from itself; None appears among objects only."""
    if values.dtype.kind not in "fO":
        return
    missing = values != values
    if values.dtype.kind == "O":
        missing = missing | np.fromiter((value is None for value in values), dtype=bool, count=values.size)
    if np.any(missing):
        raise InputError(f"{name}[{int(np.argmax(missing))}] is missing; every label must be known.")
