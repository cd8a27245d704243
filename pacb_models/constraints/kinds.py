"""The constraints that a posterior can be asked to keep. Each is immutable, and says itself in words and in JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from fractions import Fraction
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..immutable import read_only
from ..validation import all_or_refuse, check_count, check_number, real_numbers

#: Whole numbers below are exact in floating point.
EXACT = 2.0**53


@dataclass(frozen=True, eq=False, repr=False)
class Constraint:
    """What every constraint offers."""

    #: What JSON calls it.
    kind: ClassVar[str]

    def check_size(self, size: int) -> None:
        """Refuse arrays that do not have one entry for each of so many classifiers."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray) and value.size != size:
                raise InputError(
                    f"{self.kind}: {field.name} has {value.size} entries, but there are {size} classifiers; the two "
                    "must match."
                )

    def limit_names(self, number: int) -> dict[str, str]:
        """What each limit is called, by its field; ``number`` counts the averages."""
        raise NotImplementedError

    def as_record(self) -> dict[str, Any]:
        """JSON-ready fields, with the kind."""
        record: dict[str, Any] = {"kind": self.kind}
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                record[field.name] = value.tolist() if isinstance(value, np.ndarray) else value
        return record

    def __repr__(self) -> str:
        """As it is made, arrays by their length."""
        given = [(field, getattr(self, field.name)) for field in fields(self)]
        parts = [
            ("" if field.default is MISSING else f"{field.name}=") + _shown(value)
            for field, value in given
            if value is not None
        ]
        return f"{self.kind}({', '.join(parts)})"


#: Differences and sums of larger numbers might overflow.
FARTHEST = 1e300
_OUT_OF_REACH = f"numbers beyond {FARTHEST:g} are out of reach"


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"[{value.size} values]"
    return repr(value) if isinstance(value, str) else f"{value:g}"


def _limit(what: str, value: object) -> float | None:
    """A number that an average or a total is compared with; None where there is none."""
    if value is None:
        return None
    number = check_number(what, value, math.isfinite, "it must be a finite number")
    return check_number(what, number, lambda x: abs(x) <= FARTHEST, _OUT_OF_REACH)


def _finite(what: str, values: object) -> NDArray[np.float64]:
    array = np.array(real_numbers(what, values, "a sequence of numbers"))
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"{what} must be a sequence of numbers, one for each classifier; its shape is {array.shape}.")
    all_or_refuse(what, array, np.isfinite(array), "every entry must be a finite number")
    return read_only(all_or_refuse(what, array, np.abs(array) <= FARTHEST, _OUT_OF_REACH))


@dataclass(frozen=True, eq=False, repr=False)
class Average(Constraint):
    r""":math:`\sum_i q_i a_i` is at most, or at least, a number."""

    values: NDArray[np.float64]
    at_most: float | None = None
    at_least: float | None = None
    name: str | None = None

    kind = "average"

    def __post_init__(self) -> None:
        name = self.name
        if name is not None and (not isinstance(name, str) or not name.strip()):
            raise InputError("average: name", name, "it must be a text")
        at_most, at_least = _limit("average: at_most", self.at_most), _limit("average: at_least", self.at_least)
        if at_most is None and at_least is None:
            raise InputError("average: at_most and at_least are both missing; give one of them, or both.")
        if at_most is not None and at_least is not None and at_least > at_most:
            raise InputError(f"average: at_least is {at_least:g}, which is above at_most, {at_most:g}.")
        for field, value in (("at_most", at_most), ("at_least", at_least)):
            object.__setattr__(self, field, value)
        object.__setattr__(self, "values", _finite("average: values", self.values))

    def limit_names(self, number: int) -> dict[str, str]:
        name = self.name or f"average {number}"
        second = name if self.at_most is None else f"{name} (at least)"
        return {"at_most": name, "at_least": second}


@dataclass(frozen=True, eq=False, repr=False)
class Weights(Constraint):
    """Every weight is at most, or at least, a number: one for all classifiers, or one for each."""

    at_most: float | NDArray[np.float64] | None = None
    at_least: float | NDArray[np.float64] | None = None

    kind = "weights"

    def __post_init__(self) -> None:
        if self.at_most is None and self.at_least is None:
            raise InputError("weights: at_most and at_least are both missing; give one of them, or both.")
        for field in ("at_most", "at_least"):
            value: Any = getattr(self, field)
            if value is None:
                continue
            value = _limit(f"weights: {field}", value) if np.ndim(value) == 0 else _finite(f"weights: {field}", value)
            for bad in np.extract((np.asarray(value) < 0.0) | (np.asarray(value) > 1.0), value).tolist():
                raise InputError(f"weights: {field}", bad, "a weight is between 0 and 1")
            object.__setattr__(self, field, value)

    def limit_names(self, number: int) -> dict[str, str]:
        return {"at_most": "weights at most", "at_least": "weights at least"}


@dataclass(frozen=True, eq=False, repr=False)
class Support(Constraint):
    """At most so many classifiers have weight, or classifiers of at most a total size."""

    at_most: int | None = None
    sizes: NDArray[np.float64] | None = None
    total: float | None = None

    kind = "support"

    def __post_init__(self) -> None:
        if (self.sizes is None) != (self.total is None):
            raise InputError("support: sizes and total go together; give both, or at_most.")
        if (self.at_most is None) == (self.sizes is None):
            raise InputError("support: give at_most, a number of classifiers, or sizes and total; not both.")
        if self.at_most is not None:
            object.__setattr__(self, "at_most", check_count("support: at_most", self.at_most))
            return
        sizes, total = _finite("support: sizes", self.sizes), _limit("support: total", self.total)
        if sizes.min() < 0.0:
            raise InputError(f"support: sizes has the entry {float(sizes.min())!r}; a size is not negative.")
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "total", total)

    def limit_names(self, number: int) -> dict[str, str]:
        return {"at_most": "support", "total": "support"}

    def costs(self, size: int) -> tuple[NDArray[np.float64], float]:
        """What each of so many classifiers takes of a budget, and the budget; classifiers that are counted take one.

        Sizes are the decimals that were typed, in a unit in which they are whole numbers, so that sums and differences
        are exact: in floating point 2.3 - 1.3 is less than 1.0. Where that unit is too small the budget is larger than
        typed by what a sum of so many sizes within it may be off.
        """
        if self.sizes is None or self.total is None:
            return np.ones(size), float(self.at_most or 0)
        decimals = [*map(_decimal, self.sizes.tolist()), self.exact_total()]
        unit = math.lcm(*(each.denominator for each in decimals))
        if unit * sum(abs(each) for each in decimals) < EXACT:
            *sizes, total = (float(each * unit) for each in decimals)
            return np.array(sizes), total
        return self.sizes, self.total + 2.0 * (size + 1) * float(np.finfo(float).eps) * abs(self.total)

    def exact_total(self) -> Fraction:
        """The budget as it was typed."""
        return _decimal(self.total) if self.total is not None else Fraction(self.at_most or 0)

    def exact_size(self, classifiers: Iterable[int]) -> Fraction:
        """What some classifiers take of it."""
        if self.sizes is None:
            return Fraction(len(set(classifiers)))
        return sum((_decimal(self.sizes[i]) for i in classifiers), Fraction(0))


def _decimal(value: float) -> Fraction:
    """The shortest decimal that is a number, which is what was typed."""
    return Fraction(repr(float(value)))


#: The classes by what JSON calls them.
KINDS: dict[str, type[Constraint]] = {kind.kind: kind for kind in (Average, Weights, Support)}


def from_record(record: object) -> Constraint:
    """The constraint of some JSON fields."""
    fields_ = dict(record) if isinstance(record, dict) else {}
    kind = KINDS.get(fields_.pop("kind", None))
    if kind is None:
        raise InputError(f"constraints holds {record!r:.80}; it must be written by to_json.")
    try:
        return kind(**fields_)
    except TypeError:
        raise InputError(f"constraints holds {record!r:.80}; it must be written by to_json.") from None


def named_limits(constraints: Sequence[Constraint]) -> dict[str, tuple[int, str]]:
    """The limits that are one number, by name: the place of the constraint, and its field.

    An average has the name of its row, as in models and multipliers. The others are called "weights at most",
    "weights at least" and "support".
    """
    found: dict[str, tuple[int, str]] = {}
    number = 0
    for place, each in enumerate(constraints):
        number += isinstance(each, Average)
        for field, name in each.limit_names(number).items():
            value = getattr(each, field)
            if value is not None and not isinstance(value, np.ndarray):
                found[name] = place, field
    return found


def with_limit(constraints: Sequence[Constraint], place: int, field: str, value: float) -> tuple[Constraint, ...]:
    """The constraints with another number for one limit."""
    changed: Any = constraints[place]
    return (*constraints[:place], replace(changed, **{field: value}), *constraints[place + 1 :])


def average(
    values: ArrayLike, at_most: float | None = None, at_least: float | None = None, name: str | None = None
) -> Average:
    r"""A limit on the posterior's average :math:`\sum_i q_i a_i` of a number per classifier: a latency, a rate.

    Parameters
    ----------
    values : array of shape (H,)
    at_most, at_least : float, optional
        One of them, or both.
    name : str, optional
        How models, multipliers and messages call it; "average 1", "average 2", … by default.

    >>> average([10.0, 40.0, 15.0], at_most=25, name="latency")
    average([3 values], at_most=25, name='latency')
    """
    return Average(cast(Any, values), at_most, at_least, name)


def weights(at_most: float | ArrayLike | None = None, at_least: float | ArrayLike | None = None) -> Weights:
    """Caps and floors of the weights: a number for all classifiers, or an array with one for each.

    >>> weights(at_most=0.2)
    weights(at_most=0.2)
    """
    return Weights(cast(Any, at_most), cast(Any, at_least))


def support(at_most: int | None = None, sizes: ArrayLike | None = None, total: float | None = None) -> Support:
    """A limit on how many classifiers have weight, or on their total size (memory, for instance).

    >>> support(at_most=5)
    support(at_most=5)
    """
    return Support(at_most, cast(Any, sizes), total)
