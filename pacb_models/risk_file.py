"""Reading risk files: one number per line, or a CSV with a column ``risk`` and optionally ``prior`` and ``name``."""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass
from pathlib import Path

from .errors import InputError


@dataclass(frozen=True)
class RiskFile:
    """What a risk file holds, in the order of its lines."""

    risks: list[float]
    prior: list[float] | None
    names: list[str]


def read_risk_file(path: str | Path) -> RiskFile:
    """Read a risk file; ``"-"`` is standard input.

    Blank lines and lines that start with ``#`` are passed over. Without a header every line holds one number.
    """
    if str(path) == "-":
        return parse_risks(sys.stdin.read(), "standard input")
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as reason:
        detail = reason.strerror if isinstance(reason, OSError) else "it is not a text file"
        raise InputError(f"cannot read the risk file {str(path)!r}: {detail}.") from None
    return parse_risks(text, str(path))


def parse_risks(text: str, source: str) -> RiskFile:
    """Parse the text of a risk file; ``source`` names it in error messages."""
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not lines:
        raise InputError(f"{source} holds no risks; it must have one number per line or a CSV column 'risk'.")
    header = [cell.strip().lower() for cell in next(csv.reader([lines[0][1]]))]
    if "risk" in header:
        return _with_header(lines[1:], header, source)
    if len(header) > 1:
        raise InputError(
            f"{source}, line {lines[0][0]}: a file with several columns needs a header with a column 'risk'."
        )
    risks = [_number(line, "risk", source, number) for number, line in lines]
    return RiskFile(risks, None, [str(k) for k in range(len(risks))])


def _with_header(lines: list[tuple[int, str]], header: list[str], source: str) -> RiskFile:
    columns: dict[str, list[str]] = {name: [] for name in header}
    for number, line in lines:
        cells = next(csv.reader([line]))
        if len(cells) != len(header):
            raise InputError(f"{source}, line {number}: {len(cells)} cells, but the header has {len(header)}.")
        for name, cell in zip(header, cells, strict=True):
            columns[name].append(cell)
    if not lines:
        raise InputError(f"{source} has a header but no risks below it.")

    def numbers(name: str) -> list[float]:
        return [_number(cell, name, source, line[0]) for cell, line in zip(columns[name], lines, strict=True)]

    names = columns.get("name") or [str(k) for k in range(len(lines))]
    return RiskFile(numbers("risk"), numbers("prior") if "prior" in columns else None, names)


def _number(cell: str, name: str, source: str, line: int) -> float:
    try:
        return float(cell)
    except ValueError:
        raise InputError(f"{source}, line {line}: {name} is {cell.strip()!r}; it must be a number.") from None
