"""Checks of what a caller passes in; every failure is one sentence about one argument."""

import math
import numbers
import reprlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import Any, TypeVar

import numpy as np

from .errors import InputError

Name = TypeVar("Name")

#: How far a distribution's weights may sum from one.
SUM_TOLERANCE = 1e-9
#: What ``float`` takes and is no real number.
_NO_NUMBERS = str | bytes | np.complexfloating | np.timedelta64 | np.datetime64


def real_numbers(name: str, values: object, expected: str = "a number or an array of numbers") -> np.ndarray:
    """``values`` of any shape as float64 (a copy unless it is that already); only real numbers, all of them known."""
    refuse_masked(name, values)
    try:
        array = np.asarray(values)
        objects = array.flat if array.dtype.kind == "O" else ()
        if array.dtype.kind not in "biufO" or any(isinstance(entry, str | bytes | None) for entry in objects):
            raise TypeError
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        raise InputError(_not_numbers(name, values, expected)) from None


def refuse_masked(name: str, values: object) -> None:
    """Refuse an array with masked entries, which NumPy's conversions take for known."""
    if np.ma.is_masked(values):
        raise InputError(f"{name} is a masked array; every entry must be known.")


def vector(name: str, values: object) -> np.ndarray:
    """Return a one-dimensional, non-empty, NaN-free float64 copy of ``values``."""
    array = np.array(real_numbers(name, values, "a sequence of numbers"))
    if array.ndim != 1:
        raise InputError(f"{name} must be one-dimensional, but its shape is {array.shape}.")
    if array.size == 0:
        raise InputError(f"{name} must hold at least one number, but it is empty.")
    return all_or_refuse(name, array, ~np.isnan(array), "every entry must be a number")


def _not_numbers(name: str, values: object, expected: str) -> str:
    """Return the sentence about the first entry that is no number, or about the whole when it has no entries."""
    if isinstance(values, list | tuple) or (isinstance(values, np.ndarray) and values.ndim > 0):
        for index, value in enumerate(values):
            with suppress(TypeError, ValueError, OverflowError):
                if not isinstance(value, _NO_NUMBERS):
                    float(value)
                    continue
            return f"{name}[{index}] is {reprlib.repr(value)}; every entry must be a number."
    return f"{name} is {reprlib.repr(values)}; it must be {expected}."


def all_or_refuse(name: str, array: np.ndarray, good: np.ndarray, expected: str) -> np.ndarray:
    """Return the array, when all entries are good; else a sentence about the first that is not."""
    if not good.all():
        bad = np.argwhere(~good)
        where = f"[{', '.join(map(str, bad[0]))}]" if array.ndim else ""
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        raise InputError(f"{name}{where} is {float(array[tuple(bad[0])])!r}{more}; {expected}.")
    return array


def broadcast(**arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return arrays of shapes that go together, in one shape."""
    try:
        return np.broadcast_arrays(*arrays.values())
    except ValueError:
        shapes = ", ".join(f"{name} has the shape {array.shape}" for name, array in arrays.items())
        raise InputError(f"{shapes}; the shapes must go together.") from None


def check_risks(risks: object) -> np.ndarray:
    """Return empirical risks: a non-empty vector with entries in [0, 1]."""
    array = vector("risks", risks)
    return all_or_refuse("risks", array, (array >= 0.0) & (array <= 1.0), "every risk must lie in [0, 1]")


def check_error_counts(errors: object, m: int) -> np.ndarray:
    """Return numbers of errors among ``m`` examples: a non-empty vector of whole numbers from 0 to ``m``."""
    array = vector("errors", errors)
    good = (array >= 0.0) & (array <= m) & (np.rint(array) == array)
    return all_or_refuse("errors", array, good, f"every count must be a whole number from 0 to m = {m}").astype(np.intp)


def check_kind(name: str, value: object, kind: type | tuple[type, ...], expected: str) -> None:
    """Refuse what is of another class; ``expected`` completes the sentence."""
    if not isinstance(value, kind):
        raise InputError(name, value, f"it must be {expected}")


def check_number(name: str, value: object, good: Callable[[float], bool], expected: str) -> float:
    """Return a real number for which ``good`` holds; ``expected`` completes the sentence."""
    # A whole number beyond all floats is larger than any limit.
    with suppress(OverflowError):
        if isinstance(value, numbers.Real) and not isinstance(value, bool | np.timedelta64) and good(float(value)):
            return float(value)
    raise InputError(name, value, expected)


def check_whole(name: str, value: object, good: Callable[[int], bool], expected: str) -> int:
    """Return a whole number for which ``good`` holds; ``expected`` completes the sentence."""
    if isinstance(value, bool | np.timedelta64) or not isinstance(value, numbers.Integral) or not good(int(value)):
        raise InputError(name, value, expected)
    return int(value)


def check_delta(delta: object) -> float:
    """Return the confidence parameter: a real number strictly between 0 and 1."""
    level = check_number("delta", delta, lambda d: 0.0 < d < 1.0, "it must be a number strictly between 0 and 1")
    # Below, quotients by delta would leave the floating-point range.
    return check_number("delta", level, lambda d: d >= 1e-300, "it must be at least 1e-300")


def _distribution(name: str, values: object, size: int, zero: bool, expected: str) -> np.ndarray:
    """Return weights, ``zero`` or above, whose sum must be nearly one; made one, where more than rounding is missing or
    too much: a prior that sums to more would lower a bound, and so would a posterior that sums to less.
    """
    array = vector(name, values)
    if array.size != size:
        raise InputError(f"{name} has {array.size} entries, but there are {size} risks; the two must match.")
    all_or_refuse(name, array, array >= 0.0 if zero else array > 0.0, expected)
    with np.errstate(over="ignore"):
        total = float(array.sum())
    if not abs(total - 1.0) <= SUM_TOLERANCE:
        raise InputError(f"{name} sums to {total:.12g}; it must sum to 1 (within {SUM_TOLERANCE:g}).")
    # What rounding alone may do to a sum.
    return array if abs(total - 1.0) <= 1e-14 else array / total


def check_prior(prior: object, size: int) -> np.ndarray:
    """Return a prior over ``size`` classifiers: positive weights that sum to one; ``None`` means uniform."""
    if prior is None:
        return np.full(size, 1.0 / size)
    return _distribution("prior", prior, size, False, "every prior weight must be positive")


def check_posterior(posterior: object, size: int, name: str = "posterior") -> np.ndarray:
    """Return non-negative weights of ``size`` classifiers that sum to one; ``name`` is the argument they came in."""
    return _distribution(name, posterior, size, True, "every posterior weight must be non-negative")


def check_fraction(name: str, value: object) -> float:
    """Return a real number from 0 to 1."""
    return check_number(name, value, lambda x: 0.0 <= x <= 1.0, "it must be a number from 0 to 1")


def check_order(order: object) -> float:
    """Return the Rényi order: a finite real number above one."""
    return check_number("order", order, lambda x: 1.0 < x < math.inf, "a Rényi order must be a finite number above 1")


def check_positive(name: str, value: object) -> float:
    """Return a finite real number above zero: a tolerance, a time limit."""
    return check_number(name, value, lambda x: 0.0 < x < math.inf, "it must be a positive number")


def check_choice(name: str, value: object, choices: tuple[str, ...] | list[str]) -> str:
    """Check that it is one of a short list of names."""
    if not isinstance(value, str | None) or value not in choices:
        raise InputError(name, value, f"it must be one of {', '.join(map(repr, choices))}")
    return str(value)


def first_repeated(names: Sequence[Name]) -> Name | None:
    """Return the first name that stands in the list more than once; None when all differ."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def check_columns(source: object, columns: Sequence[Any], asked: Iterable[tuple[str, Any]] = ()) -> None:
    """Check the columns of a table: no name twice, and those that arguments ask for, pairs of an argument and a
    name."""
    twice = first_repeated(columns)
    if twice is not None:
        raise InputError(f"{source} has two columns {twice!r}; every column needs a name of its own.")
    for argument, name in asked:
        if name not in columns:
            names = [str(column) for column in columns]
            # Of more columns those with similar names are listed.
            listed = names if len(names) <= 50 else get_close_matches(str(name), names, 5) or names[:5]
            more = f", ... ({len(names)} in all)" if len(names) > len(listed) else ""
            raise InputError(argument, name, f"the columns of {source} are {', '.join(listed)}{more}")


def check_jobs(name: str, value: object) -> int:
    """Return how much is done at once: a positive number, or -1 for one per core."""
    return check_whole(name, value, lambda n: n == -1 or n >= 1, "it must be a positive number, or -1 for one per core")


def check_count(name: str, value: object, least: int = 1, most: float = math.inf) -> int:
    """Return a whole number from ``least`` to ``most``."""
    expected = f"of at least {least}" if most == math.inf else f"from {least} to {most}"
    return check_whole(name, value, lambda n: least <= n <= most, f"it must be a whole number {expected}")


def check_final(name: str, thing: object, base: type) -> None:
    """Refuse an object whose class derives from a final one: it would inherit what belongs to another formula."""
    for parent in type(thing).__mro__[1:]:
        if "__final__" in vars(parent):
            final = f"whose class derives from {parent.__name__}, which is final"
            raise InputError(f"{name} is {thing!r}, {final}; derive it from {base.__name__}.")
