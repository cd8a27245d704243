"""Rounding towards plus infinity: a constant that is too small makes an invalid bound."""

import math
from fractions import Fraction
from typing import NamedTuple

#: The distance of one to the next larger number.
EPSILON = 2.0**-52


class Constant(NamedTuple):
    """A moment constant I(m) and its logarithm, neither of them too small."""

    value: float
    log_value: float


def ceil_to_float(exact: Fraction) -> float:
    """Return the smallest float that is not below ``exact``."""
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def ceil_sqrt(n: int) -> float:
    """Return the smallest float that is not below the square root of ``n``."""
    nearest = math.sqrt(n)
    return nearest if Fraction(nearest) ** 2 >= n else math.nextafter(nearest, math.inf)


def ceil_log(value: float) -> float:
    """Return a float not below ln(value), within two units in the last place (``math.log`` errs by less than one)."""
    return math.nextafter(math.log(value), math.inf)


def ceil_exp(log_value: float) -> float:
    """Return a positive float not below exp(log_value), within two units in the last place; inf where it overflows."""
    try:
        return max(math.nextafter(math.exp(log_value), math.inf), math.ulp(0.0))
    except OverflowError:
        return math.inf


def from_fraction(exact: Fraction) -> Constant:
    """Return a constant that is known exactly."""
    value = ceil_to_float(exact)
    return Constant(value, ceil_log(value))


def from_logarithm(log_value: float, power: float = 1.0) -> Constant:
    """Return a computed logarithm, padded by more than its error; ``power`` is the power of the distance in the
    moment."""
    # Sums and maxima are right to about 3e-15, and to 2e-16 times the power where that is larger.
    log_value += 5e-14 + 1e-15 * power + 2 * math.ulp(log_value)
    return Constant(ceil_exp(log_value), log_value)
