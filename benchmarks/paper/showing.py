"""How values are written in cells."""

from __future__ import annotations

from dataclasses import dataclass

from ..report.tables import NONE, Cell, Group
from .entries import KEYS, Entry, difference

#: Differences from print above this, in per cent, are marked.
FAR = 8.0

#: Data sets as the paper writes them.
NAMES = {
    name: name.capitalize()
    for name in "spambase bupa mammographic wdbc banknote mushroom ionosphere waveform haberman".split()
} | {"bupa-no-leak": "Bupa without leak"}

#: Short titles of the versions in headings.
TITLES = {"ours": "ours", "paper": "paper's const.", "both_halves": "both halves", "exact": "exact const."}


def shown(value: object, decimals: int = 5) -> str:
    """A number with so many decimals, an integer or text as it is, a dash for nothing.

    >>> shown(0.1234567), shown(12), shown(None), shown(-1e-9)
    ('0.12346', '12', '–', '0.00000')
    """
    if value is None or value == "":
        return NONE
    if isinstance(value, float):
        return f"{value + 0.0:.{decimals}f}" if abs(value) >= 0.5 * 10.0**-decimals else f"{0.0:.{decimals}f}"
    return str(value)


def per_cent(value: float | None) -> str:
    """A signed percentage with one decimal.

    >>> per_cent(7.51), per_cent(-0.04), per_cent(None)
    ('+7.5 %', '0.0 %', '–')
    """
    if value is None:
        return NONE
    text = f"{value:+.1f}".replace("-", "−")
    return f"{text.lstrip('+−') if text[1:] == '0.0' else text} %"


@dataclass(frozen=True)
class Beside:
    """The columns of one quantity: what is printed, then our values by version.

    Beside values with the paper's constants stands how far they are from print, marked where it is far. Test errors
    come from another random test part than the paper's. Their distance says little, and is not given.
    """

    keys: tuple[str, ...] = KEYS[1:]
    decimals: int = 5
    compared: bool = True

    @classmethod
    def of(cls, quantity: str) -> Beside:
        """For the table's bounds or its test errors."""
        return cls() if quantity == "bound" else cls(("paper", "exact"), compared=False)

    def group(self, title: str) -> Group:
        """The headings."""
        columns = ["printed"]
        for key in self.keys:
            columns += [TITLES[key], "±"] if self._compared(key) else [TITLES[key]]
        return Group(title, tuple(columns))

    def cells(self, entry: Entry, best: str = "") -> list[Cell]:
        """The cells below them; ``best`` names a version to be set in bold."""
        cells = [Cell(entry.printed or NONE, "printed")]
        for key in self.keys:
            cells.append(Cell(shown(entry.values.get(key), self.decimals), "best" if key == best else ""))
            if self._compared(key):
                off = difference(entry, key)
                cells.append(Cell(per_cent(off), "off" if off is not None and abs(off) > FAR else ""))
        return cells

    def _compared(self, key: str) -> bool:
        return self.compared and key in ("paper", "both_halves")


def named(dataset: str, *labels: object, first: bool = True) -> list[Cell]:
    """The cells that a row begins with; of several rows of a data set only the first names it."""
    return [Cell(NAMES[dataset] if first else ""), *(Cell(str(label)) for label in labels)]
