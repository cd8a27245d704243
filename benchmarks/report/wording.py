"""Numbers and lists as a reader wants them, and the words of the report."""

import math
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_UNITS = ((60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def significant(value: float, digits: int = 3) -> str:
    """Return decimal notation with so many significant digits.

    >>> significant(0.0123456), significant(1234.5), significant(99.96)
    ('0.0123', '1230', '100')
    """
    if not math.isfinite(value):
        return "–"
    if value == 0.0:
        return "0"
    # Rounding first: 99.96 has one digit less before the point than what it is rounded to.
    rounded = float(f"{value:.{digits - 1}e}")
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:.{max(decimals, 0)}f}"


def scientific(value: float) -> str:
    """Return two digits and a power of ten; a dash where there is no number.

    >>> scientific(1.234e-8), scientific(0.0), scientific(float("nan"))
    ('1.2e-08', '0', '–')
    """
    if not math.isfinite(value):
        return "–"
    return "0" if value == 0.0 else f"{value:.1e}"


def duration(seconds: float, digits: int = 3) -> str:
    """Return seconds in the unit that suits them; a dash where nothing was measured.

    >>> duration(0.000153), duration(0.0153), duration(2.5), duration(90), duration(float("nan"))
    ('153 µs', '15.3 ms', '2.50 s', '1.50 min', '–')
    """
    if math.isnan(seconds):
        return "–"
    size, unit = next((entry for entry in _UNITS if seconds >= entry[0]), _UNITS[-1])
    return f"{significant(seconds / size, digits)} {unit}"


def percent(share: float) -> str:
    """Return a share of one. Only all is called 100 %, only nothing 0 %.

    >>> percent(0.5), percent(0.99999), percent(1.0), percent(1e-6)
    ('50 %', '99.9 %', '100 %', '0.1 %')
    """
    if not math.isfinite(share):
        return "–"
    if 0.0 < share < 1.0:
        share = min(max(share, 0.001), 0.999)
    text = f"{100.0 * share:.1f}"
    return f"{text.removesuffix('.0')} %"


def listed(words: Sequence[object]) -> str:
    """Return a list in a sentence.

    >>> listed([]), listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('', 'a', 'a and b', 'a, b and c')
    """
    texts = [str(word) for word in words]
    return " and ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a number and its noun.

    >>> counted(1, "run"), counted(2, "run")
    ('1 run', '2 runs')
    """
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def filled(text: str, **values: Any) -> str:
    """Return a text of a file, whose line breaks are blanks, with what is computed in the place of its braces.

    >>> filled("one\\n  and {other}", other="two")
    'one and two'
    """
    return re.sub(r"\s*\n\s*", " ", text.strip()).format(**values)


_TEXTS: dict[str, str] = tomllib.loads(Path(__file__).with_name("texts.toml").read_text(encoding="utf-8"))


def said(anchor: str, **values: Any) -> str:
    """Return what the report says of a part."""
    return filled(_TEXTS[anchor], **values)
