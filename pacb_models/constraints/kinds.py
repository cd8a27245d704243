"""The constraints that a posterior can be asked to keep. Each is immutable, and says itself in words and in JSON."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from fractions import Fraction
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from ..immutable import read_only
from ..numerics.elementwise import Array
from ..validation import all_or_refuse, check_count, check_number, vector

#: Whole numbers below the first are exact in floating point; differences and sums above the second might overflow.
EXACT, FARTHEST = 2.0**53, 1e300
_FINITE = f"must be a finite number, at most {FARTHEST:g} in size"


@dataclass(frozen=True, eq=False, repr=False)
class Constraint:
    """What every constraint offers."""

    #: What JSON calls it.
    kind: ClassVar[str]

    def check_size(self, size: int) -> None:
        """Refuse arrays that do not have one entry for each of so many classifiers."""
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray) and value.size != size:
                raise InputError(
                    f"{self.kind}: {name} has {value.size} entries, but there are {size} classifiers; the two must "
                    "match."
                )

    def limit_names(self, number: int) -> dict[str, str]:
        """Return what each limit is called, by its field; ``number`` counts the averages."""
        raise NotImplementedError

    def as_record(self) -> dict[str, Any]:
        """Return JSON-ready fields, with the kind."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        lists = {name: value.tolist() for name, value in given.items() if isinstance(value, np.ndarray)}
        return {"kind": self.kind} | given | lists

    def __repr__(self) -> str:
        """Write it as it is made, arrays by their length."""
        parts = []
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                shown = f"[{value.size} values]"
            else:
                shown = repr(value) if isinstance(value, str | None) else f"{value:g}"
            parts += [] if value is None else [shown if field.default is MISSING else f"{field.name}={shown}"]
        return f"{self.kind}({', '.join(parts)})"

    def _set(self, **limits: Any) -> None:
        """Replace limits by finite numbers, or by read-only copies of arrays of them."""
        for name, value in limits.items():
            what = f"{self.kind}: {name}"
            if name in ("values", "sizes") or np.ndim(value):
                array = vector(what, value)
                value = read_only(all_or_refuse(what, array, np.abs(array) <= FARTHEST, f"every entry {_FINITE}"))
            elif value is not None:
                value = check_number(what, value, lambda x: abs(x) <= FARTHEST, f"it {_FINITE}")
            object.__setattr__(self, name, value)


@dataclass(frozen=True, eq=False, repr=False)
class Average(Constraint):
    r""":math:`\sum_i q_i a_i` is at most, or at least, a number."""

    values: Array
    at_most: float | None = None
    at_least: float | None = None
    name: str | None = None

    kind = "average"

    def __post_init__(self) -> None:
        name = self.name
        if name is not None and (not isinstance(name, str) or not name.strip()):
            raise InputError("average: name", name, "it must be a text")
        self._set(at_most=self.at_most, at_least=self.at_least, values=self.values)
        if self.at_most is None and self.at_least is None:
            raise InputError("average: at_most and at_least are both missing; give one of them, or both.")
        if self.at_most is not None and self.at_least is not None and self.at_least > self.at_most:
            raise InputError(f"average: at_least is {self.at_least:g}, which is above at_most, {self.at_most:g}.")

    def limit_names(self, number: int) -> dict[str, str]:
        name = self.name or f"average {number}"
        return {"at_most": name, "at_least": name if self.at_most is None else f"{name} (at least)"}


@dataclass(frozen=True, eq=False, repr=False)
class Weights(Constraint):
    """Every weight is at most, or at least, a number: one for all classifiers, or one for each."""

    at_most: float | Array | None = None
    at_least: float | Array | None = None

    kind = "weights"

    def __post_init__(self) -> None:
        if self.at_most is None and self.at_least is None:
            raise InputError("weights: at_most and at_least are both missing; give one of them, or both.")
        self._set(at_most=self.at_most, at_least=self.at_least)
        for field, value in vars(self).items():
            if value is not None:
                for bad in np.extract(np.less(value, 0.0) | np.greater(value, 1.0), value).tolist():
                    raise InputError(f"weights: {field}", bad, "a weight is between 0 and 1")

    def limit_names(self, number: int) -> dict[str, str]:
        return {"at_most": "weights at most", "at_least": "weights at least"}


@dataclass(frozen=True, eq=False, repr=False)
class Support(Constraint):
    """At most so many classifiers have weight, or classifiers of at most a total size."""

    at_most: int | None = None
    sizes: Array | None = None
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
        self._set(sizes=self.sizes, total=self.total)
        sizes = cast(Array, self.sizes)
        all_or_refuse("support: sizes", sizes, sizes >= 0.0, "a size is not negative")

    def limit_names(self, number: int) -> dict[str, str]:
        return {"at_most": "support", "total": "support"}

    def costs(self, size: int) -> tuple[Array, float]:
        """Return what each of so many classifiers takes of a budget, and the budget; classifiers that are counted take
        one.

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
        """Return the budget as it was typed."""
        return _decimal(self.total) if self.total is not None else Fraction(self.at_most or 0)

    def exact_size(self, classifiers: Iterable[int]) -> Fraction:
        """Return what some classifiers take of it."""
        if self.sizes is None:
            return Fraction(len(set(classifiers)))
        return sum((_decimal(self.sizes[i]) for i in classifiers), Fraction(0))


def _decimal(value: float) -> Fraction:
    """Return the shortest decimal that is a number, which is what was typed."""
    return Fraction(repr(float(value)))


#: The classes by what JSON calls them.
KINDS: dict[str, type[Constraint]] = {kind.kind: kind for kind in (Average, Weights, Support)}


def from_record(record: object) -> Constraint:
    """Return the constraint of some JSON fields."""
    try:
        given = dict(record) if isinstance(record, dict) else {}
        return KINDS[given.pop("kind")](**given)
    except (TypeError, KeyError):
        raise InputError(f"constraints holds {record!r:.80}; it must be written by to_json.") from None


def named_limits(constraints: Sequence[Constraint]) -> dict[str, tuple[int, str]]:
    """Return the limits that are one number, by name: the place of the constraint, and its field.

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
    """Return the constraints with another number for one limit."""
    changed: Any = constraints[place]
    return (*constraints[:place], replace(changed, **{field: value}), *constraints[place + 1 :])


def average(
    values: ArrayLike, at_most: float | None = None, at_least: float | None = None, name: str | None = None
) -> Average:
    r"""Return a limit on the posterior's average :math:`\sum_i q_i a_i` of a number per classifier: a latency, a rate.

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
    """Return caps and floors of the weights: a number for all classifiers, or an array with one for each.

    >>> weights(at_most=0.2)
    weights(at_most=0.2)
    """
    return Weights(cast(Any, at_most), cast(Any, at_least))


def support(at_most: int | None = None, sizes: ArrayLike | None = None, total: float | None = None) -> Support:
    """Return a limit on how many classifiers have weight, or on their total size (memory, for instance).

    >>> support(at_most=5)
    support(at_most=5)
    """
    return Support(at_most, cast(Any, sizes), total)
