"""Labels of examples: known, told apart exactly, and as small whole numbers where many columns are compared."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError

_TEXT = "OUST"
_MOST_CODES = 1 << 12


def label_array(name: str, values: ArrayLike) -> NDArray[Any]:
    """Return an array without missing labels: masked ones, NaN, None, and what pandas writes for them."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"{name} is ragged; every row must have as many labels as the others.") from None
    missing = np.zeros(array.shape, dtype=bool)
    if isinstance(values, np.ma.MaskedArray):
        missing |= np.ma.getmaskarray(values)
    if array.dtype.kind == "O":
        missing |= np.fromiter(map(is_missing, array.flat), dtype=bool, count=array.size).reshape(array.shape)
    elif array.dtype.kind in "fcmM":
        missing |= array != array
    if missing.any():
        raise InputError(f"{name}[{int(np.argmax(missing))}] is missing; every label must be known.")
    if array.dtype.kind == "f" and array.size and np.abs(array).max() >= largest_exact(array.dtype):
        place = int(np.argmax(np.abs(array)))
        raise InputError(
            f"{name}[{place}] is {float(array.flat[place])!r}, a floating-point number that stands for several whole "
            "numbers; give such labels as text or as integers of one type."
        )
    return array


def largest_exact(kind: Any) -> float:
    """Return the number from which on floating-point numbers of this type stand for several whole ones."""
    return 2.0 ** (np.finfo(kind).nmant + 1)


def check_same_rows(parts: Iterable[tuple[str, Any]]) -> None:
    """Refuse tables and columns of pandas, each after its name, whose indices differ: rows are taken by position."""
    indexed = [(name, values.index) for name, values in parts if hasattr(values, "iloc")]
    for name, index in indexed[1:]:
        if not indexed[0][1].equals(index):
            wanted = "their rows must be the same examples in the same order"
            raise InputError(f"{indexed[0][0]} and {name} have different indices; {wanted}.")


def is_missing(value: object) -> bool:
    """Tell NaN, which differs from itself; of pandas' NA not even that can be told."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def check_comparable(name: str, column: NDArray[Any], truth: NDArray[Any], of_truth: str) -> None:
    """Refuse to mix numbers and text; compared with the other kind they would all differ, or be converted.

    Whole numbers that NumPy rounds are larger than any floating-point label (see :func:`largest_exact`), so that these
    compare exactly.
    """
    if (column.dtype.kind in _TEXT) != (truth.dtype.kind in _TEXT):
        raise InputError(f"{name} is of type {column.dtype}, but {of_truth} of {truth.dtype}.")


def label_columns(
    predictions: Any, names: Iterable[Any], truth: NDArray[Any], of_truth: tuple[str, Any]
) -> list[NDArray[Any]]:
    """Return the labels of each classifier, one for each of the true ones and comparable with them."""
    given = [(f"predictions[{name!r}]", predictions[name]) for name in names]
    check_same_rows([of_truth, *given])
    columns = []
    for name, values in given:
        column = label_array(name, values)
        if column.shape != truth.shape:
            raise InputError(f"{name} has shape {column.shape}, but {of_truth[0]} has {truth.shape}.")
        check_comparable(name, column, truth, of_truth[0])
        columns.append(column)
    return columns


def coded(parts: Sequence[NDArray[Any]]) -> tuple[list[NDArray[Any]], int]:
    """Return the parts with their labels as whole numbers from 0 on, in the order of the labels, and how many there
    are."""
    if {part.dtype.kind for part in parts} <= set("iub"):
        low, high = min(int(part.min()) for part in parts), max(int(part.max()) for part in parts)
        if 0 <= low <= high < _MOST_CODES:
            return list(parts), high + 1
        if high - low < _MOST_CODES:
            # Modulo 2^64 the difference is right whatever the types are, and it is small.
            shift = np.uint64(low % 2**64)
            return [(part.astype(np.uint64) - shift).astype(np.int16) for part in parts], high - low + 1
    # As Python's objects: signed and unsigned numbers of 64 bits have no type in common that tells them apart.
    known = set[Any]().union(*(part.ravel().tolist() for part in parts))
    try:
        code_of = {label: code for code, label in enumerate(sorted(known))}
    except TypeError:
        types = ", ".join(sorted({type(label).__name__ for label in known}))
        raise InputError(f"the labels are of several types ({types}); they must be of one.") from None
    codes = (np.fromiter(map(code_of.__getitem__, part.ravel().tolist()), np.int32, part.size) for part in parts)
    return [code.reshape(part.shape) for code, part in zip(codes, parts, strict=True)], len(known)
