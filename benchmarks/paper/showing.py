"""How values are written in cells."""

from __future__ import annotations

from dataclasses import dataclass

from ..report.tables import NONE, Cell, Group
from .entries import Entries, Entry, difference
from .study import EXACT, PAPER, VERSIONS, Version

#: Differences from print above this, in per cent, are marked.
FAR = 8.0

#: Data sets as the paper writes them.
NAMES = {
    "spambase": "Spambase",
    "bupa": "Bupa",
    "bupa-no-leak": "Bupa without leak",
    "mammographic": "Mammographic",
    "wdbc": "Wdbc",
    "banknote": "Banknote",
    "mushroom": "Mushroom",
    "ionosphere": "Ionosphere",
    "waveform": "Waveform",
    "haberman": "Haberman",
}

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


def difference_cell(entry: Entry, key: str) -> Cell:
    """How far a value is from print, marked where it is far."""
    off = difference(entry, key)
    return Cell(per_cent(off), "off" if off is not None and abs(off) > FAR else "")


def known_versions(entries: Entries, versions: tuple[Version, ...] = VERSIONS) -> tuple[Version, ...]:
    """The versions of which any value is known: risk tables without training errors lack one."""
    return tuple(version for version in versions if any(version.name in entry.values for entry in entries))


@dataclass(frozen=True)
class BesidePrint:
    """The columns of one quantity: printed, then each version; with the paper's constants also the distance from print.

    Test errors come from another random test part than the paper's. Their distance says little, and is not given.
    """

    versions: tuple[Version, ...]
    decimals: int = 5
    with_difference: bool = True

    @classmethod
    def of(cls, quantity: str, entries: Entries) -> BesidePrint:
        """For the table's bounds or its test errors."""
        if quantity == "bound":
            return cls(known_versions(entries))
        return cls(known_versions(entries, (PAPER, EXACT)), with_difference=False)

    def group(self, title: str) -> Group:
        """The headings."""
        columns = ["printed"]
        for version in self.versions:
            columns += [TITLES[version.name], "±"] if self._compared(version) else [TITLES[version.name]]
        return Group(title, tuple(columns))

    def cells(self, entry: Entry, best: str = "") -> list[Cell]:
        """The cells below them; ``best`` names a version to be set in bold."""
        cells = [Cell(entry.printed or NONE, "printed")]
        for version in self.versions:
            text = shown(entry.values.get(version.name), self.decimals)
            cells.append(Cell(text, "best" if version.name == best else ""))
            if self._compared(version):
                cells.append(difference_cell(entry, version.name))
        return cells

    def _compared(self, version: Version) -> bool:
        return self.with_difference and version.constant == "paper"
