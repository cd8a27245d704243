"""What the command can make: tables and figures, each with its name, its place in the paper, and how it is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..report.drawing import Picture, draw
from ..report.tables import Table
from .cells import Cells
from .numbers import TEXTS, words
from .study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Results of items by name, as they are kept in files.
Results = Mapping[str, dict[str, Any]]


@dataclass(frozen=True)
class Section:
    """A table or a figure of the document."""

    name: str
    title: str
    source: str
    panels: tuple[Table, ...] = ()
    illustration: Picture | None = None
    caption: str = ""
    csv: str = ""

    @property
    def wide(self) -> bool:
        """Whether its tables are set across the page."""
        return any(len(panel.columns) > 10 for panel in self.panels)


@dataclass(frozen=True)
class Item:
    """A table or a figure.

    ``uses`` names the settings of the study that it depends on beside the risk tables, ``needs`` the items it builds
    upon, and ``also`` those that are made whenever it is asked for.
    """

    name: str
    make: Callable[..., dict[str, Any] | None]
    uses: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What it shows."""
        return TEXTS[self.name]["title"]

    @property
    def source(self) -> str:
        """Where the paper has it."""
        return TEXTS[self.name]["source"]

    def compute(self, study: Study, results: Results) -> dict[str, Any]:
        """What goes into the result file: plain numbers, texts, lists and dicts."""
        raise NotImplementedError

    def section(self, result: dict[str, Any]) -> Section:
        """What the document shows of a result."""
        raise NotImplementedError


@dataclass(frozen=True)
class TableItem(Item):
    """A table: ``make`` fills the cells, ``show`` lays them out."""

    show: Callable[[Cells], list[Table]] = lambda cells: []

    def compute(self, study: Study, results: Results) -> dict[str, Any]:
        cells = Cells.printed(self.name)
        self.make(study, cells)
        return {"cells": cells.records()}

    def section(self, result: dict[str, Any]) -> Section:
        cells = cells_of(result)
        text = cells.frame(self.name).to_csv(index=False)
        return Section(self.name, self.title, self.source, tuple(self.show(cells)), csv=text)


@dataclass(frozen=True)
class FigureItem(Item):
    """A figure: ``draw`` makes it from the result, ``facts`` what its caption says of the result, if anything."""

    draw: Callable[[dict[str, Any]], Figure] = lambda result: None
    facts: Callable[[dict[str, Any]], dict[str, Any]] = lambda result: {}

    def compute(self, study: Study, results: Results) -> dict[str, Any]:
        return self.make(study, results) or {}

    def caption(self, result: dict[str, Any]) -> str:
        """What the figure shows."""
        return words(self.name, "caption", **self.facts(result))[0]

    def section(self, result: dict[str, Any]) -> Section:
        caption = self.caption(result)
        picture = draw(self.name, caption, self.draw(result))
        return Section(self.name, self.title, self.source, illustration=picture, caption=caption)


def cells_of(result: dict[str, Any]) -> Cells:
    """The cells of a table's result."""
    return Cells.of_records(result["cells"])
