"""What the command can make: tables and figures, each with its name, its place in the paper, and how it is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..report.tables import Table
from .entries import Entries, Entry
from .numbers import TITLES
from .study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Results of items by name, as they are kept in files.
Results = Mapping[str, dict[str, Any]]


@dataclass(frozen=True)
class Item:
    """A table or a figure.

    ``compute`` returns what goes into the result file: plain numbers, texts, lists and dicts. ``uses`` names the
    settings of the study that it depends on beside the risk tables, ``needs`` the items it builds upon, and ``also``
    those that are made whenever it is asked for.
    """

    name: str
    source: str
    compute: Callable[[Study, Results], dict[str, Any]]
    uses: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What it shows."""
        return TITLES[self.name]


@dataclass(frozen=True)
class TableItem(Item):
    """A table: ``compute`` returns what :func:`table_result` makes; ``show`` lays it out."""

    show: Callable[[Entries, dict[str, Any]], list[Table]] = lambda entries, facts: []


@dataclass(frozen=True)
class FigureItem(Item):
    """A figure: ``draw`` makes it from the result, ``caption`` says what it shows, if need be from the result too."""

    draw: Callable[[dict[str, Any]], Figure] = lambda result: None
    caption: str | Callable[[dict[str, Any]], str] = ""


def table_result(entries: list[Entry], **facts: Any) -> dict[str, Any]:
    """A table's result: its cells, and facts for the notes below it."""
    return {"entries": [entry.as_dict() for entry in entries], "facts": facts}


def entries_of(result: dict[str, Any]) -> Entries:
    """The cells of a table's result."""
    return Entries(Entry(**entry) for entry in result["entries"])
