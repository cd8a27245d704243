"""Colours and style of every figure."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..files import check_writable
from ..wording import one_line

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

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


def import_matplotlib() -> None:
    """Import matplotlib without the ``matplotlibrc`` of the current directory, which it would read, and fail with.

    For programs of ours: who imported matplotlib before us has chosen what it reads.
    """
    if "matplotlib" in sys.modules or not os.path.exists("matplotlibrc"):
        return
    here = os.getcwd()
    os.chdir(os.path.dirname(__file__))
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError(_MISSING) from None
    finally:
        os.chdir(here)


def styled() -> AbstractContextManager[None]:
    """The context in which figures are made and saved: matplotlib's own defaults, whatever the user's are, and ours."""
    import_matplotlib()
    from matplotlib import style

    return style.context(["default", _STYLE])


_MISSING = "pictures need matplotlib, which is not installed: pip install matplotlib."


def new_axes(ax: Axes | None, width: float = 6.4, height: float = 4.2) -> Axes:
    """The axes that the caller gave, or those of a new figure (which no window shows until it is asked to)."""
    if ax is not None:
        return ax
    import_matplotlib()
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError(_MISSING) from None
    with styled():
        return Figure(figsize=(width, height), layout="constrained").add_subplot()


def legend_below(ax: Axes, columns: int = 1) -> None:
    """A legend under the axes of a figure of our own, where it covers nothing."""
    figure: Any = ax.get_figure()
    figure.legend(loc="outside lower center", fontsize=8.0, ncols=columns, markerscale=0.65)


def literal(text: str, longest: int | None = None) -> str:
    """A text as it is: dollar signs begin no formula, and what is too long is cut.

    >>> print(literal("a$b"), literal("x" * 50, longest=5))
    a\\$b xxxx…
    """
    text = one_line(text)
    if longest is not None and len(text) > longest:
        text = f"{text[: longest - 1]}…"
    return text.replace("$", r"\$")


#: Endings that a picture's file may have.
FORMATS = (".svg", ".pdf", ".png")


def check_picture(path: str | Path) -> Path:
    """A file that a picture can be written to, with matplotlib there to draw it."""
    import importlib.util
    from pathlib import Path

    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        raise InputError("the picture's file", str(path), "it must end in .svg, .pdf or .png")
    check_writable("the picture's file", path)
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError(_MISSING)
    return target
