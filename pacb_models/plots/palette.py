"""One palette: a solver's colour says in every picture what kind of method it is, its mark and line which one.

Other names, of third-party solvers or of a user's own curves, have a look by their name; the next one where that is
taken in the same picture.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any
from zlib import crc32

from .display import Axes, Display
from .style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION

_LINES = ("-", "--", "-.", (0, (5, 1)), ":", (0, (3, 1, 1, 1)), (0, (8, 3)))
#: The star is left to minima.
MARKS = "osD^vPX"

#: Our solvers by the kind of method.
KINDS = {
    "exact": (BLACK, ("frontier", "direct")),
    "fixed points": (VERMILION, ("fixed-point", "subset-search")),
    "nonlinear programs": (BLUE, ("ipopt", "cyipopt", "casadi", "dnlp", "slsqp", "trust-constr")),
    "conic programs": (GREEN, ("ccp", "cvxpy")),
    "first order": (ORANGE, ("lbfgsb", "spg", "mirror", "frank-wolfe", "softmax")),
    "branch and bound": (SKY, ("scip",)),
}
#: Colour and mark of each: kinds begin with different marks, so that the first of them differ without colour.
SOLVERS = {
    name: (colour, MARKS[(first + place) % len(MARKS)])
    for first, (colour, names) in enumerate(KINDS.values())
    for place, name in enumerate(names)
}
#: Colours of other names: first those that the exact solver and the paper's do not have.
_FREE = (PURPLE, SKY, ORANGE)
_OTHERS = (GREEN, BLUE, VERMILION, BLACK)


class Palette:
    """The looks of names that stand in one picture, or in the pictures of one report.

    >>> Palette(["ipopt", "ccp"])["ipopt"]
    {'color': '#0072B2', 'linestyle': '-.', 'marker': 'D'}
    """

    def __init__(self, names: Iterable[str]):
        self._styles: dict[str, tuple[str, str]] = {}
        for name in sorted(dict.fromkeys(names), key=lambda name: name not in SOLVERS):
            taken = list(self._styles.values())
            colours = [colour for colour, _ in taken]
            self._styles[name] = min(_candidates(name), key=lambda style: (style in taken, colours.count(style[0])))

    def __getitem__(self, name: str) -> dict[str, Any]:
        colour, mark = self._styles[name]
        return {"color": colour, "linestyle": _LINES[MARKS.index(mark)], "marker": mark}


def kind_of(name: str) -> str:
    """Return the kind of a solver of ours, with any settings; another name is a kind of its own."""
    solver = name.partition(" ")[0]
    return next((kind for kind, (_, names) in KINDS.items() if solver in names), name)


def _candidates(name: str) -> list[tuple[str, str]]:
    """Return the looks that a name can have, the first choice first; "ipopt starts=5" has the colour of ipopt."""
    if name in SOLVERS:
        return [SOLVERS[name]]
    number, solver = crc32(name.encode()), name.partition(" ")[0]
    first = number % len(_FREE)
    colours = (SOLVERS[solver][0],) if solver in SOLVERS else (*_FREE[first:], *_FREE[:first], *_OTHERS)
    first = number // len(_FREE) % len(MARKS)
    return [(colour, mark) for mark, colour in product(MARKS[first:] + MARKS[:first], colours)]


@dataclass(eq=False, repr=False)
class PaletteDisplay(Display):
    """The look of each solver of ours, by the kind of method."""

    def _height(self) -> float:
        return 2.4

    def _draw(self, ax: Axes) -> None:
        palette = Palette(SOLVERS)
        for line, (_, names) in enumerate(KINDS.values()):
            for place, name in enumerate(names):
                ax.plot([place, place + 0.2], [line, line], **palette[name])
                ax.text(place + 0.26, line, name, va="center", fontsize=6.5)
        ax.set_yticks(range(len(KINDS)), list(KINDS))
        ax.set(ylim=(len(KINDS) - 0.5, -0.5), xlim=(-0.1, max(len(names) for _, names in KINDS.values())), xticks=[])
        ax.grid(False)

    def title(self) -> str:
        return "The colour says the kind of method, the mark which one"
