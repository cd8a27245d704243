"""Reading risk files: one number per line, or a CSV with a column ``risk`` and optionally ``prior`` and ``name``.

Other columns are read when they are asked for by name: a latency that a constraint limits, for instance.
"""

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
        """Return finite numbers of a column that a user names; capitals do not matter."""
        wanted = name.strip().lower()
        if not self.header:
            raise InputError(f"{self.source} has no header, so no column {name!r}; a CSV with a header has columns.")
        if self.header.count(wanted) != 1:
            count = "no column" if wanted not in self.header else f"{self.header.count(wanted)} columns"
            columns = [*dict.fromkeys(self.header)]
            present = ", ".join(map(reprlib.repr, columns[:20]))
            present += f" and {len(columns) - 20} more" if len(columns) > 20 else ""
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
    if str(path) != "-":
        with reading(path, f"the {kinds[0]} file "):
            return parse_risks(Path(path).read_text(encoding="utf-8"), str(path), kinds)
    with reading("standard input", f"the {kinds[0]} file "):
        if sys.stdin is None:
            raise OSError(None, "it is closed")
        text = sys.stdin.buffer.read().decode() if hasattr(sys.stdin, "buffer") else sys.stdin.read()
        return parse_risks(text, "standard input", kinds)


def parse_risks(text: str, source: str, kinds: tuple[str, ...] = ("risk",)) -> RiskFile:
    """Parse the text of a risk file; ``source`` names it in complaints."""
    rows = _rows(text.removeprefix("\ufeff"), source)
    expected = " or ".join(map(repr, kinds))
    things = kinds[0] if kinds[0].endswith("s") else f"{kinds[0]}s"
    if not rows:
        raise InputError(f"{source} holds no {things}; it must have one number per line or a CSV column {expected}.")
    header = [cell.strip().lower() for cell in rows[0][1]]
    present = [kind for kind in kinds if kind in header]
    if len(present) > 1:
        raise InputError(f"{source} has columns {' and '.join(map(repr, present))}; there must be one of them.")
    if present:
        found = RiskFile(source, present[0], header, rows[1:])
        for name in (present[0], "prior", "name"):
            if header.count(name) > 1:
                raise InputError(f"{source} has {header.count(name)} columns {name!r}; there must be one.")
        if not found.rows:
            raise InputError(f"{source} has a header but no {things} below it.")
    else:
        found = RiskFile(source, kinds[0], [], rows)
    for line, cells in found.rows:
        if present and len(cells) != len(header):
            raise InputError(f"{source}, line {line}: {len(cells)} cells, but the header has {len(header)}.")
        if not present and len(cells) > 1:
            needed = f"a file with several columns needs a header with a column {expected}"
            raise InputError(f"{source}, line {line}: {needed}.")
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
