"""A measurement: what one run of a solver on a problem came to. What that is worth, :mod:`..verdict` says."""

import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import NoneType
from typing import Any, Self, TypeVar, get_args, get_type_hints

from pacb_models.wording import shown

#: The version of the rows' form; rows of another form are refused.
SCHEMA = 3
#: Gaps whose first reach is timed, by their fields.
LEVELS = {f"seconds_to_{digits}_digits": 10.0**-digits for digits in (3, 6, 9)}
Kind = TypeVar("Kind")

#: The options that a solver is given.
Settings = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One row of the results. Numbers that are none (infinite, NaN) are None; texts of others are safe to show.

    Whatever is not of its field's type is refused with a ValueError: what a solver returns is not trusted.
    """

    schema: int = SCHEMA
    #: A digest of what is measured: the problem, the solver with its software, settings, seed and start.
    key: str
    repetition: int = 0
    #: The number of the environment, among those of the directory; and where merged rows come from.
    environment: int | None = None
    source: str | None = None
    suite: str | None = None
    #: The problem, the family that it is shown in, the data set behind it, and its number of classifiers.
    problem: str
    family: str
    dataset: str | None = None
    size: int | None = None
    problem_kind: str | None = None
    m: int | None = None
    delta: float | None = None
    distance: str | None = None
    divergence: str | None = None
    order: float | None = None
    constant: str | None = None
    prior: str | None = None
    constraints: str | None = None
    #: How many local minima the bound has.
    minima: int | None = None
    solver: str
    settings: Settings
    #: The program behind the solver, with its version, as it says itself.
    software: str | None = None
    #: Of the solver's draws, or of the list of starts, of which this is one.
    seed: int | None = None
    start: int | None = None
    status: str
    message: str | None = None
    bound: float | None = None
    lower_bound: float | None = None
    #: The certified minimum.
    reference_bound: float | None = None
    kkt_residual: float | None = None
    simplex_residual: float | None = None
    constraint_residual: float | None = None
    #: Whether the solver says that it has an optimum.
    claims: bool = False
    iterations: int | None = None
    gradient_evaluations: int | None = None
    merged_size: int | None = None
    setup_seconds: float | None = None
    #: By the solver's process; and from request to answer, as the runner saw it.
    seconds: float | None = None
    wall_seconds: float | None = None
    time_limit: float
    seconds_to_3_digits: float | None = None
    seconds_to_6_digits: float | None = None
    seconds_to_9_digits: float | None = None
    traced: bool | None = None
    peak_memory_bytes: int | None = None
    memory_limit_bytes: int | None = None
    support_size: int | None = None
    empirical_risk: float | None = None
    divergence_value: float | None = None
    parallel: bool = False
    timestamp: str | None = None

    def __post_init__(self) -> None:
        for name, value in conforming(vars(self)).items():
            object.__setattr__(self, name, value)
            if value is None and name in _REQUIRED:
                raise ValueError(f"it has no {name!r}")

    @property
    def gap(self) -> float | None:
        """How far the bound is above the certified minimum."""
        return None if self.bound is None or self.reference_bound is None else self.bound - self.reference_bound

    def told(self, facts: Mapping[str, object]) -> Self:
        """Return the row with what is known besides."""
        # Fields have types of their own, which are checked when the row is made.
        return replace(self, **facts)  # type: ignore[arg-type]

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Return the measurement with these fields; ValueError says what is wrong with them."""
        if "problem" in row and row.get("schema") != SCHEMA:
            raise ValueError(f"it was written by another version of pacb (schema {row.get('schema')}, not {SCHEMA})")
        if unknown := row.keys() - TYPES.keys():
            raise ValueError(f"it has the unknown field {min(unknown)!r}")
        return cls(**{**dict.fromkeys(_REQUIRED), **row})


_HINTS = get_type_hints(Measurement)
_REQUIRED = tuple(name for name, hint in _HINTS.items() if NoneType not in get_args(hint) and name != "schema")
#: The fields with their types, in the order of the exported columns; settings are the one type with arguments that is
#: no choice between a type and None.
TYPES = {name: dict if hint == Settings else (get_args(hint) or (hint,))[0] for name, hint in _HINTS.items()}


def conforming(found: Mapping[str, object]) -> dict[str, Any]:
    """Return fields as plain values of their types; ValueError names one that is something else."""
    return {name: plain(name, TYPES[name], value) for name, value in found.items()}


def plain(name: str, wanted: type[Kind], value: Any) -> Kind | None:
    """Return a value of that type, or None: texts on one line, numbers that JSON and Parquet hold; ValueError
    otherwise."""
    if getattr(value, "ndim", None) == 0:
        value = value.item()
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    value = int(value) if wanted is int and isinstance(value, float) and value.is_integer() else value
    good = isinstance(value, wanted)
    if wanted in (int, float) and isinstance(value, int):
        good = not isinstance(value, bool) and abs(value) < 2**63
    if not good:
        raise ValueError(f"{name} is {reprlib.repr(value)}; it must be {_NAMES[wanted]}")
    value = shown(value) if isinstance(value, str) else float(value) if wanted is float else value
    return value


_NAMES = {str: "a text", int: "an integer of 64 bits", float: "a number", bool: "true or false", dict: "a JSON object"}
