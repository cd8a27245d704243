"""Reading risk files: one number per line, or a CSV with a column ``risk`` and optionally ``prior`` and ``name``.

Other columns are read when they are asked for by name: a latency that a constraint limits, for instance.
"""

from __future__ import annotations

import csv
import io
import math
import reprlib
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .errors import InputError
from .files import reading
from .wording import some_of


@dataclass(frozen=True)
class RiskFile:
    """A number for each classifier, in the order of the lines.

    ``rows`` are the cells with the numbers of their lines; ``header`` is empty where there is none, and ``kind`` is the
    name of the column with the numbers.
    """

    source: str
    kind: str
    header: list[str]
    rows: list[tuple[int, list[str]]]

    @cached_property
    def values(self) -> list[float]:
        """The numbers."""
        return self._numbers(self.kind)

    @cached_property
    def prior(self) -> list[float] | None:
        """The prior weights, if the file has them."""
        return self._numbers("prior") if "prior" in self.header else None

    @property
    def names(self) -> list[str]:
        """The classifiers' names; their positions when the file has none."""
        if "name" not in self.header:
            return [str(position) for position in range(len(self.rows))]
        return [cells[self.header.index("name")] for _, cells in self.rows]

    def column(self, name: str) -> list[float]:
        """Finite numbers of a column that a user names; capitals do not matter."""
        wanted = name.strip().lower()
        if not self.header:
            raise InputError(f"{self.source} has no header, so no column {name!r}; a CSV with a header has columns.")
        if self.header.count(wanted) != 1:
            count = "no column" if wanted not in self.header else f"{self.header.count(wanted)} columns"
            present = some_of(list(dict.fromkeys(self.header)))
            raise InputError(f"{self.source} has {count} {name!r}; its columns are {present}.")
        values = self._numbers(wanted)
        for value, (line, _) in zip(values, self.rows, strict=True):
            if not math.isfinite(value):
                raise InputError(f"{self.source}, line {line}: {wanted} is {value}; it must be a finite number.")
        return values

    def _numbers(self, name: str) -> list[float]:
        place = self.header.index(name) if self.header else 0
        found = []
        for line, cells in self.rows:
            try:
                # Python's float takes 1_000.
                found.append(float(cells[place].replace("_", "?")))
            except ValueError:
                shown = reprlib.repr(cells[place].strip())
                raise InputError(f"{self.source}, line {line}: {name} is {shown}; it must be a number.") from None
        return found


def read_risk_file(path: str | Path, kinds: tuple[str, ...] = ("risk",)) -> RiskFile:
    """Read a risk file, or one with another column of numbers, of one of these names; ``"-"`` is standard input.

    Blank lines and lines that start with ``#`` are passed over. Without a header every line holds one number.
    """
    source = "standard input" if str(path) == "-" else str(path)
    with reading(source, f"the {kinds[0]} file "):
        text = _standard_input() if str(path) == "-" else Path(path).read_text(encoding="utf-8")
        return parse_risks(text, source, kinds)


def _standard_input() -> str:
    if sys.stdin is None:
        raise OSError(None, "it is closed")
    return sys.stdin.buffer.read().decode() if hasattr(sys.stdin, "buffer") else sys.stdin.read()


def parse_risks(text: str, source: str, kinds: tuple[str, ...] = ("risk",)) -> RiskFile:
    """Parse the text of a risk file; ``source`` names it in complaints."""
    rows = _rows(text.removeprefix("\ufeff"), source)
    expected = " or ".join(map(repr, kinds))
    if not rows:
        raise InputError(
            f"{source} holds no {_plural(kinds[0])}; it must have one number per line or a CSV column {expected}."
        )
    header = [cell.strip().lower() for cell in rows[0][1]]
    present = [kind for kind in kinds if kind in header]
    if len(present) > 1:
        raise InputError(f"{source} has columns {' and '.join(map(repr, present))}; there must be one of them.")
    if present:
        _check_columns(rows[1:], header, source, present[0])
        found = RiskFile(source, present[0], header, rows[1:])
    else:
        for line, cells in rows:
            if len(cells) > 1:
                raise InputError(
                    f"{source}, line {line}: a file with several columns needs a header with a column {expected}."
                )
        found = RiskFile(source, kinds[0], [], rows)
    # What is no number is told now.
    _ = found.values, found.prior
    return found


def _rows(text: str, source: str) -> list[tuple[int, list[str]]]:
    """Line number and cells of what is neither blank nor a comment."""
    # A comment becomes a blank line, so that quotes in it mean nothing and lines keep their numbers.
    lines = ("\n" if line.lstrip().startswith("#") else line for line in io.StringIO(text, newline=""))
    reader = csv.reader(lines, strict=True)
    try:
        return [(reader.line_num, cells) for cells in reader if "".join(cells).strip()]
    except csv.Error as reason:
        raise InputError(f"{source}, line {reader.line_num}: {reason}.") from None


def _check_columns(rows: list[tuple[int, list[str]]], header: list[str], source: str, kind: str) -> None:
    for name in (kind, "prior", "name"):
        if header.count(name) > 1:
            raise InputError(f"{source} has {header.count(name)} columns {name!r}; there must be one.")
    if not rows:
        raise InputError(f"{source} has a header but no {_plural(kind)} below it.")
    for line, cells in rows:
        if len(cells) != len(header):
            raise InputError(f"{source}, line {line}: {len(cells)} cells, but the header has {len(header)}.")


def _plural(kind: str) -> str:
    return kind if kind.endswith("s") else f"{kind}s"
