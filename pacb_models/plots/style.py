"""Colours and style of every figure."""

import os
import sys
from contextlib import AbstractContextManager, chdir, nullcontext
from importlib.util import find_spec
from pathlib import Path

from ..errors import InputError
from ..files import check_writable
from ..wording import one_line

#: Okabe and Ito's colours, with grey in the place of yellow, which is faint on white paper.
_COLOURS = ("#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F")
BLACK, ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE, GREY = _COLOURS

_STYLE = {
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    # The same drawing gives the same file.
    "svg.hashsalt": "pacb",
    "svg.fonttype": "path",
}
_MISSING = "pictures need matplotlib, which is not installed: pip install matplotlib."


def styled() -> AbstractContextManager[None]:
    """Return the context in which figures are made and saved: matplotlib's own defaults, whatever the user's are, and
    ours.

    A ``matplotlibrc`` in the current directory is not read, which may be unreadable; who imported matplotlib before us
    has chosen what it reads.
    """
    unread = "matplotlib" not in sys.modules and os.path.exists("matplotlibrc")
    try:
        with chdir(os.path.dirname(__file__)) if unread else nullcontext():
            from matplotlib import style
    except ImportError:
        raise InputError(_MISSING) from None
    return style.context(["default", _STYLE])


def literal(text: str, longest: int | None = None) -> str:
    """Return a text as it is: dollar signs begin no formula, and what is too long is cut.

    >>> print(literal("a$b"), literal("x" * 50, longest=5))
    a\\$b xxxx…
    """
    text = one_line(text)
    if longest is not None and len(text) > longest:
        text = f"{text[: longest - 1]}…"
    return text.replace("$", r"\$")


def check_picture(path: str | Path) -> Path:
    """Return a file that a picture can be written to, with matplotlib there to draw it."""
    target = Path(path)
    if target.suffix.lower() not in (".svg", ".pdf", ".png"):
        raise InputError("the picture's file", str(path), "it must end in .svg, .pdf or .png")
    check_writable("the picture's file", path)
    if find_spec("matplotlib") is None:
        raise InputError(_MISSING)
    return target
