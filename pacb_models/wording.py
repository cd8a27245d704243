"""What is printed: guarantees rounded to the side on which they stay true, and other people's names in one line."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

#: A confidence closer to one than this is printed as a difference.
CLOSEST = 1e-9


def at_most(bound: float, digits: int = 4) -> str:
    """An upper bound, rounded up.

    >>> at_most(0.12341), at_most(1.7366e-9), at_most(1.0)
    ('0.1235', '1.737e-9', '1')
    """
    return _rounded(bound, Context(prec=digits, rounding=ROUND_CEILING))


def at_least(bound: float, digits: int = 4) -> str:
    """A lower bound, rounded down.

    >>> at_least(0.12349)
    '0.1234'
    """
    return _rounded(bound, Context(prec=digits, rounding=ROUND_FLOOR))


def confidence(delta: float) -> float:
    """The probability ``1 - delta`` as a number that is not above it, and below one.

    >>> confidence(0.05), confidence(1e-20)
    (0.95, 0.9999999999999999)
    """
    # Numbers as they are typed and shown: 0.05 is meant, not the binary fraction next to it.
    exact = 1 - Fraction(repr(delta))
    nearest = float(exact)
    return nearest if Fraction(repr(nearest)) <= exact else math.nextafter(nearest, 0.0)


def confidence_text(delta: float, digits: int = 4) -> str:
    """The probability ``1 - delta``, rounded down; ``digits`` of what it lacks to one are kept.

    >>> confidence_text(0.05), confidence_text(4e-7), confidence_text(1e-30)
    ('0.95', '0.9999996', '1 - 1e-30')
    """
    decimal = Decimal(repr(delta))
    if delta < CLOSEST:
        return f"1 - {delta_text(delta, digits)}"
    places = digits if delta > 0.5 else digits - 1 - decimal.adjusted()
    return _written(Context(prec=places, rounding=ROUND_FLOOR).subtract(Decimal(1), decimal))


def delta_text(delta: float, digits: int = 4) -> str:
    """A part of the confidence parameter, as it is typed, rounded up.

    >>> delta_text(0.05), delta_text(0.0121, 2)
    ('0.05', '0.013')
    """
    return _written(Context(prec=digits, rounding=ROUND_CEILING).plus(Decimal(repr(delta))))


def one_line(text: str) -> str:
    r"""A text with line breaks, tabs and control characters as escapes, so that it breaks no table and no terminal.

    >>> print(one_line("a\nb"))
    a\nb
    """
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def _rounded(bound: float, context: Context) -> str:
    return _written(context.create_decimal_from_float(bound)) if math.isfinite(bound) else str(bound)


def _written(number: Decimal) -> str:
    number = number.normalize()
    return format(number, "f" if -5 < number.adjusted() < 10 else "e")
