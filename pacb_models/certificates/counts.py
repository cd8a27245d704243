"""Error counts, sample sizes and sums of losses: checked, and counted piece by piece."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..constants import LARGEST_SAMPLE_SIZE
from ..errors import InputError
from ..validation import all_or_refuse, broadcast, check_count, first_repeated, refuse_masked
from .labels import label_array, label_columns

if TYPE_CHECKING:
    from .certificate import Certificate

_SAMPLE_SIZES = "a sample size must be a whole number from 1 to 1000000000"
_WHAT_TO_DO = (
    "pass the numbers of errors themselves, not rounded rates (a risk k/m is the count k); "
    "for losses between 0 and 1 pass their sums as losses="
)


def whole_numbers(name: str, values: object, expected: str) -> NDArray[np.int64]:
    """Return integers of any shape; floating-point numbers pass when they are whole."""
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
    """Return error counts and sample sizes that go together: 0 <= errors <= m, 1 <= m <= 10^9."""
    k = whole_numbers("errors", errors, f"error counts are whole numbers: {_WHAT_TO_DO}")
    sizes = whole_numbers("m", m, _SAMPLE_SIZES)
    all_or_refuse("m", sizes, (sizes >= 1) & (sizes <= LARGEST_SAMPLE_SIZE), _SAMPLE_SIZES)
    if k.size and sizes.size and (k.min() < 0 or k.max() > sizes.min()):
        k, sizes = broadcast(errors=k, m=sizes)
        all_or_refuse("errors", k, (k >= 0) & (k <= sizes), "a number of errors lies between 0 and m")
    return k, sizes


def check_names(names: Iterable[object] | None, size: int | None = None) -> list[str] | None:
    """Return a name for each of ``size`` classifiers as text, and no name twice."""
    if names is None:
        return None
    try:
        texts = [str(name) for name in names]
    except TypeError:
        raise InputError("names", names, "it must be a sequence of names") from None
    if size is not None and len(texts) != size:
        raise InputError(f"names has {len(texts)} entries, but there are {size} classifiers; the two must match.")
    # A sentence about a classifier must not be true of another one of its name.
    repeated = first_repeated(texts)
    if repeated is not None:
        raise InputError(f"names has {repeated!r} more than once; classifiers must have different names.")
    return texts


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
        self.names = check_names(names) or []
        if not self.names:
            raise InputError("names is empty; there must be at least one classifier.")
        self.m = check_count("m", m, least=0)
        given = [0] * len(self.names) if errors is None else errors
        counted = whole_numbers("errors", given, "error counts are whole numbers")
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
        missing = [name for name in self.names if name not in predictions]
        if missing:
            raise InputError(f"predictions has no column {missing[0]!r}; it must have one for each classifier.")
        columns = label_columns(predictions, self.names, truth, ("y", y))
        self.errors += [np.count_nonzero(column != truth) for column in columns]
        self.m += truth.size

    def __add__(self, other: ErrorCounts) -> ErrorCounts:
        if not isinstance(other, ErrorCounts):
            return NotImplemented
        if self.names != other.names:
            named = " and ".join(reprlib.repr(part.names) for part in (self, other))
            raise InputError(f"the names of the two differ: {named}.")
        return ErrorCounts(self.names, self.errors + other.errors, self.m + other.m)

    def __radd__(self, other: object) -> ErrorCounts:
        return self if other == 0 else NotImplemented  # so that sum() works

    def certify(self, delta: float = 0.05, **options: Any) -> Certificate:
        """Return the certificate of what was counted; see :func:`pacb_models.certify`."""
        from .certify import certify

        return certify(self.errors, self.m, delta, names=self.names, **options)

    def __repr__(self) -> str:
        return f"ErrorCounts({len(self.names)} classifiers, m={self.m})"
