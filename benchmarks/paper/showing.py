"""How values are written in cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..problems.problem import LEAK_FREE, PAPER_DATASETS
from ..report.tables import NONE, Entry, Group
from .cells import BOTH_HALVES, CORRECTED, PRINTED, REPRODUCED, Values, difference

#: Differences from print above this, in per cent, are marked.
FAR = 8.0

#: Data sets as the paper writes them.
NAMES = {name: name.capitalize() for name in PAPER_DATASETS} | {LEAK_FREE: "Bupa without leak"}

#: Short titles of the versions in headings.
_TITLES = {REPRODUCED: "paper's const.", BOTH_HALVES: "both halves", CORRECTED: "exact const."}
#: What has no constant.
OURS = {REPRODUCED: "ours"}


def as_text(value: object, decimals: int = 5) -> str:
    """A number with so many decimals, an integer or text as it is, a dash for nothing.

    >>> as_text(0.1234567), as_text(12), as_text(None), as_text(-1e-9)
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

    versions: tuple[str, ...] = tuple(_TITLES)
    decimals: int = 5
    compared: bool = True
    titles: Mapping[str, str] = field(default_factory=lambda: _TITLES)

    @classmethod
    def of(cls, quantity: str) -> Beside:
        """For the table's bounds or its test errors."""
        return cls() if quantity == "bound" else cls((REPRODUCED, CORRECTED), compared=False)

    def group(self, title: str) -> Group:
        """The headings."""
        columns = ["printed"]
        for version in self.versions:
            columns += [self.titles[version], *(["±"] if self._compared(version) else [])]
        return Group(title, tuple(columns))

    def cells(self, values: Values, best: str = "") -> list[Entry]:
        """The cells below them; ``best`` names a version to be set in bold."""
        cells = [Entry(values.get(PRINTED) or NONE, "printed")]
        for version in self.versions:
            cells.append(Entry(as_text(values.get(version), self.decimals), "best" if version == best else ""))
            if self._compared(version):
                off = difference(values, version)
                cells.append(Entry(per_cent(off), "off" if off is not None and abs(off) > FAR else ""))
        return cells

    def _compared(self, version: str) -> bool:
        return self.compared and version != CORRECTED


def named(dataset: str, *labels: object, first: bool = True) -> list[Entry]:
    """The cells that a row begins with; of several rows of a data set only the first names it."""
    return [Entry(NAMES[dataset] if first else ""), *(Entry(str(label)) for label in labels)]
