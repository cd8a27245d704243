"""Counting errors piece by piece: predictions that never are in memory together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..numerics.binary_kl import all_or_refuse
from ..validation import check_count
from .certificate import Certificate
from .certify import certify, check_names
from .counts import whole_numbers
from .labels import label_array, label_column


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
        check_names(self.names, len(self.names))
        if not self.names:
            raise InputError("names is empty; there must be at least one classifier.")
        self.m = check_count("m", m, least=0)
        counted = np.zeros(len(self.names), dtype=np.int64) if errors is None else errors
        counted = whole_numbers("errors", counted, "error counts are whole numbers")
        if counted.shape != (len(self.names),):
            raise InputError(f"errors has the shape {counted.shape}, but there are {len(self.names)} names.")
        within = (counted >= 0) & (counted <= self.m)
        all_or_refuse("errors", counted, within, f"a number of errors lies between 0 and m = {self.m}")
        self.errors: NDArray[np.int64] = counted.copy()

    def update(self, y: ArrayLike, predictions: Mapping[str, ArrayLike]) -> None:
        """Count the errors of one piece; ``predictions`` has a column per classifier (a dict or a data frame)."""
        truth = label_array("y", y)
        if truth.ndim != 1:
            raise InputError(f"y must be one-dimensional, but its shape is {truth.shape}.")
        found = np.empty(len(self.names), dtype=np.int64)
        for position, name in enumerate(self.names):
            if name not in predictions:
                raise InputError(f"predictions has no column {name!r}; it must have one for each classifier.")
            column = label_column(f"predictions[{name!r}]", predictions[name], truth, "y")
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
