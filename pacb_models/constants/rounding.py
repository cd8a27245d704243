"""Rounding towards plus infinity: a constant that is too small makes an invalid bound."""

from __future__ import annotations

import math
from fractions import Fraction

SMALLEST = math.ulp(0.0)


def ceil_to_float(exact: Fraction) -> float:
    """The smallest float that is not below ``exact``."""
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def ceil_sqrt(n: int) -> float:
    """The smallest float that is not below the square root of ``n``."""
    nearest = math.sqrt(n)
    return nearest if Fraction(nearest) ** 2 >= n else math.nextafter(nearest, math.inf)


def ceil_log(value: float) -> float:
    """A float not below ln(value), within two units in the last place (``math.log`` errs by less than one)."""
    return math.nextafter(math.log(value), math.inf)


def ceil_exp(log_value: float) -> float:
    """A positive float not below exp(log_value), within two units in the last place; inf where it overflows."""
    try:
        return max(math.nextafter(math.exp(log_value), math.inf), SMALLEST)
    except OverflowError:
        return math.inf
