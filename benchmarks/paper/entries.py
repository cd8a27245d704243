"""The cells of a reproduced table: what the paper prints, and what comes out here."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .printed import printed

#: What a cell can hold beside the printed value, in the order of the files; ``ours`` is what depends on no constant.
KEYS = ("ours", "paper", "both_halves", "exact")

#: A number, a text or None; which one, the column says.
Value = Any


@dataclass(frozen=True)
class Entry:
    """One cell: row and column as in ``printed.csv``, the printed text, values by version, and a remark.

    The printed text is "" where the paper has no such cell.
    """

    row: str
    column: str
    printed: str = ""
    values: Mapping[str, Value] = field(default_factory=dict)
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For a JSON file."""
        return {
            "row": self.row,
            "column": self.column,
            "printed": self.printed,
            "values": dict(self.values),
            "note": self.note,
        }


class Entries:
    """The cells of one table, found by row and column."""

    def __init__(self, entries: Iterable[Entry]):
        self._entries = {(entry.row, entry.column): entry for entry in entries}

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, key: tuple[str, str]) -> Entry:
        return self._entries[key]

    def get(self, row: str, column: str) -> Entry:
        """The cell, empty where there is none."""
        return self._entries.get((row, column), Entry(row, column))

    def value(self, row: str, column: str, key: str) -> Value:
        """One value; None where it is unknown."""
        return self.get(row, column).values.get(key)

    def printed(self, row: str, column: str) -> str:
        """The printed text, "" where there is none."""
        return self.get(row, column).printed


class Collector:
    """Gathers values and puts them beside the printed ones."""

    def __init__(self, table: str):
        cells = printed(table)
        self._printed = {(cell.row, cell.column): cell for cell in cells.itertuples()}
        self._values: dict[tuple[str, str], dict[str, Value]] = {key: {} for key in self._printed}
        self._notes: dict[tuple[str, str], list[str]] = {
            key: [cell.note] if cell.note else [] for key, cell in self._printed.items()
        }

    def add(self, row: str, column: str, key: str, value: Value, note: str = "") -> None:
        """Set one value; ``None`` is left out."""
        cell = (row, column)
        self._values.setdefault(cell, {})
        if value is not None:
            self._values[cell][key] = value
        if note:
            self._notes.setdefault(cell, []).append(note)

    def entries(self) -> list[Entry]:
        """The printed cells in the paper's order, then the others in the order of their arrival."""
        return [
            Entry(row, column, self._text(row, column), values, "; ".join(self._notes.get((row, column), ())))
            for (row, column), values in self._values.items()
        ]

    def _text(self, row: str, column: str) -> str:
        cell = self._printed.get((row, column))
        return "" if cell is None else cell.value


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


def to_csv(entries: Entries) -> str:
    """One line per cell, with every version's value in full."""
    keys = [key for key in KEYS if any(key in entry.values for entry in entries)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["row", "column", "printed", *keys, "note"])
    for entry in entries:
        values = [entry.values.get(key) for key in keys]
        writer.writerow([entry.row, entry.column, entry.printed, *("" if v is None else v for v in values), entry.note])
    return text.getvalue()
