"""The limits among some constraints by name, to change one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .kinds import Average, Constraint


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
