"""The figure kit: looks of methods, logarithmic axes, names beside points and curves, and the formats of a picture."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pacb_models.plots.palette import Palette
from pacb_models.plots.style import BLACK, literal, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

#: Curves with a colour and a name in one picture (more than these nobody tells apart), and the colour of the others.
NAMED, PALE = 7, "#c2c2c2"
#: Words of matplotlib's for a line or a mark.
Look = Mapping[str, Any]
#: Fonts of the reader's, so that text stays text: it can be searched, and the file is small.
_FONTS = {"svg.fonttype": "none", "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans", "Arial"]}


class Looks:
    """Colour, line and mark of each method, the same in every picture: seven of them are named, the others grey."""

    def __init__(self, named: Iterable[str]):
        self.named = list(named)[:NAMED]
        self._palette = Palette(self.named)

    def __getitem__(self, method: str) -> Look:
        grey = {"color": PALE, "linestyle": "-", "marker": "o"}
        return self._palette[method] if method in self.named else grey


@dataclass(frozen=True)
class Picture:
    """A drawn figure: file name, a sentence for who cannot see it, SVG, and the figure for other formats.

    ``tips`` are words for parts of it, by the ``gid`` that they were given: a reader points at a mark, and sees them.
    """

    name: str
    description: str
    figure: Figure | None = None
    tips: Mapping[str, str] = field(default_factory=dict)
    drawn: bytes = b""

    @cached_property
    def svg(self) -> bytes:
        """The picture as a file of its own."""
        return self.drawn or saved(self.figure, "svg")

    @property
    def inline(self) -> str:
        """The picture as a part of a page: no identifiers that two pictures could share, and the tips in it.

        Styles are attributes, since the page's policy allows no style but the page's.
        """
        text = self.svg.decode()
        text, rules = re.subn(r'<style type="text/css">\*\{[^}]*\}</style>', "", text[text.index("<svg") :])
        if rules:
            text = text.replace("<svg", '<svg stroke-linejoin="round" stroke-linecap="butt"', 1)
        text = re.sub(
            r' style="([^"]*)"', lambda style: re.sub(r"\s*([\w-]+): *([^;]*);?", r' \1="\2"', style[1]), text
        )
        text = re.sub(r' id="[A-Za-z]+[0-9.a-z]*_\d+"', "", text)
        for gid, words in self.tips.items():
            solver = escape(gid.partition(":")[2])
            mark = f'<g class="mark" data-solver="{solver}"><title>{escape(words)}</title>'
            text = text.replace(f'<g id="{escape(gid)}">', mark)
        return text


def draw(name: str, description: str, figure: Figure, tips: Mapping[str, str] | None = None) -> Picture:
    """Return a picture of a figure, drawn now while the style holds."""
    picture = Picture(name, description, figure, tips or {})
    _ = picture.svg
    return picture


def saved(figure: Any, file_format: str) -> bytes:
    """Return the figure in a format, without a date: the same drawing gives the same file."""
    from matplotlib import rc_context

    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}[file_format]
    buffer = io.BytesIO()
    with styled(), rc_context(_FONTS):
        figure.savefig(buffer, format=file_format, metadata=metadata, dpi=110)
    return buffer.getvalue()


def new_axes(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a new figure with one pair of axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def log_axis(axis: Axis, show: Callable[[float], str]) -> None:
    """Make an axis logarithmic, with plain labels."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    # Every axis has its letter; matplotlib does not declare it.
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})  # type: ignore[attr-defined]
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(base=10.0, subs=(1.0,) if high >= 10.0 * low else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: show(value)))
    axis.set_minor_formatter(NullFormatter())
    axis.set_minor_locator(NullLocator())


#: Places to try for a name that finds none beside its point.
_SIDES = ((6.0, "left"), (-6.0, "right"), (26.0, "left"), (-26.0, "right"), (0.0, "center"))
_HEIGHTS = [sign * distance for distance in range(16, 200, 8) for sign in (-1.0, 1.0)]
_FARTHER = [(dx, dy, align) for dy in _HEIGHTS for dx, align in _SIDES]


class Named(NamedTuple):
    """A point, in data, with its name."""

    x: float
    y: float
    name: str
    colour: str = BLACK


def name_points(axes: Axes, points: Sequence[Named], size: float = 8.0, avoid: Any = None, clear: float = 5.0) -> None:
    """Write the name of each point where it covers no other point and no other name, with a line to a distant one.

    ``avoid`` is a curve (its x and y) that names should not cover, ``clear`` the radius of a mark in points. The layout
    must be final: places are found in pixels.
    """
    figure: Any = axes.get_figure()
    unit, inside = figure.dpi / 72.0, axes.get_window_extent()
    places = axes.transData.transform(np.array([(point.x, point.y) for point in points]).reshape(-1, 2))
    taken = np.hstack([places - clear * unit, places + clear * unit])
    if avoid is not None:
        curve = axes.transData.transform(np.column_stack(list(avoid)))
        taken = np.vstack([taken, np.hstack([curve - unit, curve + unit])])
    near = clear + 2.0
    offsets = [(near, 0.0, "left"), (-near, 0.0, "right"), (0.0, -near - 4, "center"), (0.0, near + 4, "center")]
    offsets += _FARTHER
    shifts = unit * np.array([offset[:2] for offset in offsets])
    shares = np.array([({"left": 0.0, "center": 0.5, "right": 1.0}[align], 0.5) for *_, align in offsets])
    corner = np.array([inside.x1, inside.y1 + 6 * unit])
    for point, place in zip(points, places, strict=True):
        extent = size * unit * np.array([0.6 * len(point.name), 1.25])
        low = place + shifts - shares * extent
        high = low + extent
        covered = np.all((low[:, None] < taken[:, 2:]) & (taken[:, :2] < high[:, None]), axis=2).sum(axis=1)
        within = np.all((inside.min <= low) & (high <= corner), axis=1)
        # The first that covers least; where none is inside, beside the point.
        best = int(np.argmin(np.where(within, covered, np.inf)))
        taken = np.vstack([taken, np.hstack([low[best], high[best]])])
        dx, dy, align = offsets[best]
        distant = abs(dx) + abs(dy) > clear + 8.0
        line = {"arrowstyle": "-", "color": "#bbbbbb", "lw": 0.6, "shrinkB": 3.0} if distant else None
        _write(axes, point, (dx, dy), textcoords="offset points", ha=align, fontsize=size, arrowprops=line)


def name_ends(axes: Axes, ends: Sequence[Named], size: float = 8.0) -> None:
    """Write the name of each curve beside its right end, in a column where none covers another."""
    figure: Any = axes.get_figure()
    ordered, box = sorted(ends, key=lambda end: end.y), axes.get_window_extent()
    wanted = np.array([axes.transData.transform((end.x, end.y))[1] for end in ordered])
    steps = 1.3 * size * figure.dpi / 72.0 * np.arange(len(ends))
    places = np.maximum.accumulate(wanted - steps) + steps
    # As a block, about as far up as down from where they would be.
    places += np.median(wanted - places) if ordered else 0.0
    for end, place in zip(ordered, places):
        line = {"arrowstyle": "-", "color": end.colour, "lw": 0.5, "alpha": 0.6, "shrinkB": 0.0}
        to = (1.03, (place - box.y0) / box.height)
        _write(axes, end, to, textcoords="axes fraction", fontsize=size, arrowprops=line)


def _write(axes: Axes, named: Named, place: tuple[float, float], **look: Any) -> None:
    look |= {"va": "center", "color": named.colour, "annotation_clip": False}
    axes.annotate(literal(named.name), (named.x, named.y), place, **look)


def settle(figure: Figure, right: float = 1.0) -> None:
    """Lay the figure out for good, up to a share of its width; names are placed afterwards."""
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0.0, 0.0, right, 1.0))
    figure.draw_without_rendering()
    figure.set_layout_engine(None)
