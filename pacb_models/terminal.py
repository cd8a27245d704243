"""Tables for a terminal; what goes to a file or a pipe is plain text.

On a terminal the verdict comes first. The tables are rich's where it is installed, and else the plain text.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rich.table import Table


class Column(NamedTuple):
    """A heading; numbers are flush right."""

    title: str
    numeric: bool = True


class Line(NamedTuple):
    """The cells of a line, and whether it is good news (True), bad news (False) or neither (None)."""

    cells: Sequence[str]
    good: bool | None = None


#: Of news.
_COLOURS = {True: "green", False: "bold red", None: ""}


class Grid(NamedTuple):
    """A table under a title; news is told by its last column, in words, and by colour."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Line]


def show(verdict: Line, grids: Sequence[Grid], plain: str) -> None:
    """Print a verdict and tables, or the plain text where the output is no terminal.

    The verdict's cells are sentences, of which the first is the news.
    """
    if not sys.stdout.isatty():
        print(plain)
        return
    try:
        from rich.console import Console
        from rich.text import Text
    except ImportError:
        print(*verdict.cells, "", plain, sep="\n")
        return
    console = Console(highlight=False)
    for k, sentence in enumerate(verdict.cells):
        console.print(Text(sentence, "" if k else f"bold {_COLOURS[verdict.good]}"))
    for grid in grids:
        console.print("", _drawn(grid), sep="\n")


def aligned(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table in plain text, the headings first.

    >>> print(*aligned([Column("name", numeric=False), Column("risk")], [["a", "0.25"], ["bc", "1"]]), sep="\\n")
    name  risk
    a     0.25
    bc       1
    """
    lines = [[column.title for column in columns], *rows]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    sides = [str.rjust if column.numeric else str.ljust for column in columns]
    padded = ([side(cell, width) for side, cell, width in zip(sides, cells, widths, strict=True)] for cells in lines)
    return ["  ".join(cells).rstrip() for cells in padded]


def _drawn(grid: Grid) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    form: dict[str, Any] = {"box": box.SIMPLE_HEAD, "pad_edge": False, "collapse_padding": True, "show_edge": False}
    headed = any(column.title for column in grid.columns)
    table = Table(title=grid.title or None, title_justify="left", title_style="bold", show_header=headed, **form)
    for column in grid.columns:
        # Folded, so that a narrow window shows every digit.
        table.add_column(column.title, justify="right" if column.numeric else "left", overflow="fold")
    for row in grid.rows:
        *cells, last = row.cells
        # As text: square brackets in names are no markup.
        table.add_row(*map(Text, cells), Text(last, _COLOURS[row.good]))
    return table
