"""One formula for numbers and for arrays: the functions it needs, from ``math`` or from NumPy.

``math`` is ten times as fast on a single number, and most problems are small.
"""

import math
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: A number, or an array of them: formulas hold elementwise.
Numbers = Any

SCALAR = SimpleNamespace(
    exp=math.exp,
    expm1=math.expm1,
    log=math.log,
    log1p=math.log1p,
    sqrt=math.sqrt,
    spacing=math.ulp,
    minimum=min,
    maximum=max,
    where=lambda condition, yes, no: yes if condition else no,
)


def everywhere(condition: Any) -> bool:
    """Return whether a condition on a number, or on all numbers of an array, holds."""
    return condition if isinstance(condition, bool) else bool(condition.all())


def log_ratio(a: Numbers, b: Numbers) -> Numbers:
    """Return ln(a/b) of numbers that are not negative; where one is zero, its limit."""
    if isinstance(a, np.ndarray):
        # Division by zero is the caller's to silence.
        return np.log(a / b)
    return math.log(a / b) if a > 0.0 < b else math.inf if a > 0.0 else -math.inf


def functions_of(value: Numbers) -> ModuleType | SimpleNamespace:
    """``math``'s functions for a plain number, NumPy's for an array."""
    return np if isinstance(value, np.ndarray) else SCALAR
