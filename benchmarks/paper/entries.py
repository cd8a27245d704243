"""The cells of a reproduced table: what the paper prints, and what comes out here."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from .printed import TABLES, printed

#: What a cell can hold beside the printed value, in the order of the files; ``ours`` is what depends on no constant.
KEYS = ("ours", "paper", "both_halves", "exact")


@dataclass(frozen=True)
class Entry:
    """One cell: row and column as in ``printed.csv``, the printed text, values by version, and a remark.

    The printed text is "" where the paper has no such cell. A value is a number or a text; which one, the column says.
    """

    row: str
    column: str
    printed: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    note: str = ""


class Entries:
    """The cells of one table, found by row and column: the printed ones first, then others as they arrive."""

    def __init__(self, entries: Iterable[Entry] = ()):
        self._entries = {(entry.row, entry.column): entry for entry in entries}

    @classmethod
    def of(cls, table: str) -> Entries:
        """What the paper prints in a table, without our values."""
        cells = printed(table).itertuples() if table in TABLES else ()
        return cls(Entry(cell.row, cell.column, cell.value, {}, cell.note) for cell in cells)

    def add(self, row: str, column: str, key: str, value: Any) -> None:
        """Set one value; ``None`` is left out."""
        entry = self._entries.setdefault((row, column), Entry(row, column))
        if value is not None:
            entry.values[key] = value

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, key: tuple[str, str]) -> Entry:
        return self._entries[key]

    def get(self, row: str, column: str) -> Entry:
        """The cell, empty where there is none."""
        return self._entries.get((row, column), Entry(row, column))

    def value(self, row: str, column: str, key: str) -> Any:
        """One value; None where it is unknown."""
        return self.get(row, column).values.get(key)

    def printed(self, row: str, column: str) -> str:
        """The printed text, "" where there is none."""
        return self.get(row, column).printed

    def as_list(self) -> list[dict[str, Any]]:
        """For a JSON file."""
        return [asdict(entry) for entry in self]

    def to_csv(self) -> str:
        """One line per cell, with every version's value in full."""
        keys = [key for key in KEYS if any(key in entry.values for entry in self)]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["row", "column", "printed", *keys, "note"])
        for entry in self:
            values = (entry.values.get(key, "") for key in keys)
            writer.writerow([entry.row, entry.column, entry.printed, *values, entry.note])
        return text.getvalue()


def number(text: str) -> float | None:
    """A printed cell as a number, without its marks; None where it is none.

    >>> number("-44.36%"), number("0.27939*"), number("NA"), number("")
    (-44.36, 0.27939, None, None)
    """
    try:
        return float(text.rstrip("%*"))
    except ValueError:
        return None


def difference(entry: Entry, key: str) -> float | None:
    """How far a value is from the printed one, in per cent of it; None where one of them is no number, or zero."""
    printed_number, value = number(entry.printed), entry.values.get(key)
    if not printed_number or not isinstance(value, (int, float)):
        return None
    return 100.0 * (value / printed_number - 1.0)
