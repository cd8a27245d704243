"""What is printed: guarantees rounded to the side on which they stay true, and third-party names in one line."""

import math
import textwrap
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal


def at_most(bound: float, digits: int = 4) -> str:
    """Return an upper bound, rounded up.

    >>> at_most(0.12341), at_most(1.7366e-9), at_most(1.0)
    ('0.1235', '1.737e-9', '1')
    """
    return _rounded(bound, digits, ROUND_CEILING)


def at_least(bound: float, digits: int = 4) -> str:
    """Return a lower bound, rounded down.

    >>> at_least(0.12349)
    '0.1234'
    """
    return _rounded(bound, digits, ROUND_FLOOR)


def percentage_at_most(bound: float) -> str:
    """Return an upper bound in per cent, rounded up.

    >>> percentage_at_most(0.061812), percentage_at_most(1.0)
    ('6.19 %', '100 %')
    """
    return f"{_rounded(Decimal(bound) * 100 if math.isfinite(bound) else 100, 3, ROUND_CEILING)} %"


def percentage(share: float) -> str:
    """Return an observed share in per cent, to the nearest tenth.

    >>> percentage(13 / 284)
    '4.6 %'
    """
    return f"{100.0 * share:.1f} %"


def confidence_text(delta: float, digits: int = 4) -> str:
    """Return the probability ``1 - delta``, rounded down; ``digits`` of what it lacks to one are kept.

    >>> confidence_text(0.05), confidence_text(4e-7), confidence_text(1e-30)
    ('0.95', '0.9999996', '1 - 1e-30')
    """
    # A confidence closer to one than this is printed as a difference.
    if delta < 1e-9:
        return f"1 - {delta_text(delta, digits)}"
    lacking = Decimal(repr(delta))
    places = digits if delta > 0.5 else digits - 1 - lacking.adjusted()
    return _rounded(1 - lacking, places, ROUND_FLOOR)  # the difference is exact


def delta_text(delta: float, digits: int = 4) -> str:
    """Return the confidence parameter, as it is typed, rounded up.

    >>> delta_text(0.05), delta_text(0.0121, 2)
    ('0.05', '0.013')
    """
    return _rounded(Decimal(repr(delta)), digits, ROUND_CEILING)


def share_text(delta: float, digits: int = 3) -> str:
    """Return a part of the confidence parameter, rounded down: printed parts must not add up to more than the whole.

    >>> share_text(0.05 / 12)
    '0.00416'
    """
    return _rounded(Decimal(repr(delta)), digits, ROUND_FLOOR)


def one_line(text: str) -> str:
    r"""Return a text with line breaks, tabs and control characters as escapes, so that it breaks no table and no
    terminal.

    >>> print(one_line("a\nb"))
    a\nb
    """
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def paragraphs(lines: Iterable[str], width: int = 80) -> str:
    """Return lines of text, wrapped; an indented one goes on with a larger indent.

    >>> print(paragraphs(["  one two three", "one two three"], width=9))
      one two
        three
    one two
    three
    """
    plain, indented = (
        textwrap.TextWrapper(width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        for indent in ("", "    ")
    )
    return "\n".join((indented if line.startswith("  ") else plain).fill(line) for line in lines)


def _rounded(number: float | Decimal, digits: int, rounding: str) -> str:
    if not math.isfinite(number):
        return str(number)
    rounded = Context(prec=digits, rounding=rounding).plus(Decimal(number)).normalize()
    return format(rounded, "f" if -5 < rounded.adjusted() < 10 else "e")


def shown(text: str, longest: int = 1000) -> str:
    """Return a text on one line that no terminal obeys, and not too long: names and messages may be a third party's.

    >>> shown("a\\n\\x1b[31mb")
    'a \\\\x1b[31mb'
    """
    line = one_line(" ".join(text[:longest].split()))
    if max(len(text), len(line)) <= longest:
        return line
    note = f" ... ({len(text)} characters)"
    return line[: longest - len(note)] + note
