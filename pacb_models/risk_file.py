"""Reading risk files: one number per line, or a CSV with a column ``risk`` and optionally ``prior`` and ``name``.

Other columns are read when somebody asks for them by name: a latency that a constraint limits, for instance.
"""

from __future__ import annotations

import csv
import io
import math
import reprlib
from dataclasses import dataclass
from pathlib import Path

from .commands.streams import read_standard_input
from .errors import InputError


@dataclass(frozen=True)
class Table:
    """The cells below a header, with the numbers of their lines; no columns where there is no header."""

    source: str
    header: list[str]
    rows: list[tuple[int, list[str]]]

    def column(self, name: str) -> list[str]:
        """The cells below a word of the header."""
        return [cells[self.header.index(name)] for _, cells in self.rows]

    def numbers(self, name: str) -> list[float]:
        """The same as numbers."""
        return [
            _number(cell, name, self.source, line) for cell, (line, _) in zip(self.column(name), self.rows, strict=True)
        ]

    def further(self, name: str) -> list[float]:
        """Finite numbers of a column that a user names; capitals do not matter."""
        wanted = name.strip().lower()
        if not self.header:
            raise InputError(f"{self.source} has no header, so no column {name!r}; a CSV with a header has columns.")
        if self.header.count(wanted) != 1:
            count = "no column" if wanted not in self.header else f"{self.header.count(wanted)} columns"
            present = ", ".join(map(repr, dict.fromkeys(self.header)))
            raise InputError(f"{self.source} has {count} {name!r}; its columns are {present}.")
        values = self.numbers(wanted)
        for value, (line, _) in zip(values, self.rows, strict=True):
            if not math.isfinite(value):
                raise InputError(f"{self.source}, line {line}: {wanted} is {value}; it must be a finite number.")
        return values


@dataclass(frozen=True)
class RiskFile:
    """What a risk file holds, in the order of its lines."""

    risks: list[float]
    prior: list[float] | None
    names: list[str]


@dataclass(frozen=True)
class ValueFile:
    """A value for each classifier, in the order of the lines, and which column it came from."""

    kind: str
    values: list[float]
    prior: list[float] | None
    names: list[str]
    table: Table

    @property
    def source(self) -> str:
        """The file's name in complaints."""
        return self.table.source

    @property
    def lines(self) -> list[int]:
        """The number of each value's line."""
        return [line for line, _ in self.table.rows]


def read_risk_file(path: str | Path) -> RiskFile:
    """Read a risk file; ``"-"`` is standard input.

    Blank lines and lines that start with ``#`` are passed over. Without a header every line holds one number.
    """
    found = read_value_file(path, ("risk",))
    return RiskFile(found.values, found.prior, found.names)


def read_value_file(path: str | Path, kinds: tuple[str, ...]) -> ValueFile:
    """Read a file in the form of a risk file with a column of one of these names; without a header it is the first."""
    source = "standard input" if str(path) == "-" else str(path)
    try:
        text = read_standard_input() if str(path) == "-" else Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as reason:
        detail = reason.strerror if isinstance(reason, OSError) else "it is not a text file in UTF-8"
        raise InputError(f"cannot read the {kinds[0]} file {source!r}: {detail}.") from None
    return _parse(text, source, kinds)


def parse_risks(text: str, source: str) -> RiskFile:
    """Parse the text of a risk file; ``source`` names it in error messages."""
    found = _parse(text, source, ("risk",))
    return RiskFile(found.values, found.prior, found.names)


def _parse(text: str, source: str, kinds: tuple[str, ...]) -> ValueFile:
    rows = _rows(text.removeprefix("\ufeff"), source)
    column = " or ".join(map(repr, kinds))
    if not rows:
        raise InputError(
            f"{source} holds no {_plural(kinds[0])}; it must have one number per line or a CSV column {column}."
        )
    header = [cell.strip().lower() for cell in rows[0][1]]
    present = [kind for kind in kinds if kind in header]
    if len(present) > 1:
        raise InputError(f"{source} has columns {' and '.join(map(repr, present))}; there must be one of them.")
    if present:
        return _with_header(rows[1:], header, source, present[0])
    for line, cells in rows:
        if len(cells) > 1:
            raise InputError(
                f"{source}, line {line}: a file with several columns needs a header with a column {column}."
            )
    values = [_number(cells[0], kinds[0], source, line) for line, cells in rows]
    return ValueFile(kinds[0], values, None, _positions(rows), Table(source, [], rows))


def _plural(kind: str) -> str:
    return kind if kind.endswith("s") else f"{kind}s"


def _positions(rows: list[tuple[int, list[str]]]) -> list[str]:
    return [str(position) for position in range(len(rows))]


def _rows(text: str, source: str) -> list[tuple[int, list[str]]]:
    """Line number and cells of what is neither blank nor a comment."""
    # A comment becomes a blank line, so that quotes in it mean nothing and lines keep their numbers.
    lines = ("\n" if line.lstrip().startswith("#") else line for line in io.StringIO(text, newline=""))
    reader = csv.reader(lines, strict=True)
    try:
        return [(reader.line_num, cells) for cells in reader if "".join(cells).strip()]
    except csv.Error as reason:
        raise InputError(f"{source}, line {reader.line_num}: {reason}.") from None


def _with_header(rows: list[tuple[int, list[str]]], header: list[str], source: str, kind: str) -> ValueFile:
    for name in (kind, "prior", "name"):
        if header.count(name) > 1:
            raise InputError(f"{source} has {header.count(name)} columns {name!r}; there must be one.")
    if not rows:
        raise InputError(f"{source} has a header but no {_plural(kind)} below it.")
    for line, cells in rows:
        if len(cells) != len(header):
            raise InputError(f"{source}, line {line}: {len(cells)} cells, but the header has {len(header)}.")

    table = Table(source, header, rows)
    names = table.column("name") if "name" in header else _positions(rows)
    prior = table.numbers("prior") if "prior" in header else None
    return ValueFile(kind, table.numbers(kind), prior, names, table)


def _number(cell: str, name: str, source: str, line: int) -> float:
    try:
        if "_" in cell:  # Python's float takes 1_000
            raise ValueError
        return float(cell)
    except ValueError:
        raise InputError(
            f"{source}, line {line}: {name} is {reprlib.repr(cell.strip())}; it must be a number."
        ) from None
