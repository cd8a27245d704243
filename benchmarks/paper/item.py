"""What the command can make: tables and figures, each with its name, its place in the paper, and how it is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from ..harness.environment import ipopt_version, versions
from ..report.drawing import Picture, draw
from ..report.tables import Table
from ..store import digest
from .cells import Cells
from .numbers import TEXTS, words
from .study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Raised when a result changes though nothing that its key names does; a test notices.
RESULTS_VERSION = 3

#: Results of items by name.
Results = Mapping[str, Cells]


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
    """A table or a figure: ``fill`` adds our values to the printed cells; a figure ``of`` a table draws those of that.

    ``uses`` names what it depends on of the study, beside the risk tables.
    """

    name: str
    fill: Callable[[Study, Cells], None] = lambda study, cells: None
    uses: tuple[str, ...] = ()
    of: str = ""

    @property
    def cells_of(self) -> str:
        """The item whose cells it shows."""
        return self.of or self.name

    @property
    def title(self) -> str:
        """What it shows."""
        return str(TEXTS[self.name]["title"])

    @property
    def source(self) -> str:
        """Where the paper has it."""
        return str(TEXTS[self.name]["source"])

    def key(self, study: Study) -> str:
        """That of its cells in the store: risk tables, what else of the study matters, printed numbers, software."""
        settings = [getattr(study, name) for name in self.uses]
        printed = (files(__package__) / "printed.csv").read_bytes()
        return digest(RESULTS_VERSION, self.name, settings, study.tables_digest, printed, versions(), ipopt_version())

    def compute(self, study: Study) -> Cells:
        """Its cells."""
        cells = Cells.printed(self.name)
        self.fill(study, cells)
        return cells

    def section(self, cells: Cells) -> Section:
        """What the document shows of them."""
        raise NotImplementedError


@dataclass(frozen=True)
class TableItem(Item):
    """A table: ``show`` lays the cells out."""

    show: Callable[[Cells], list[Table]] = lambda cells: []

    def section(self, cells: Cells) -> Section:
        text = cells.frame(self.name).to_csv(index=False)
        return Section(self.name, self.title, self.source, tuple(self.show(cells)), csv=text)


@dataclass(frozen=True)
class FigureItem(Item):
    """A figure: ``draw`` makes it of the cells, ``facts`` are what its caption says of them, if anything."""

    draw: Callable[[Cells], Figure] = lambda cells: None
    facts: Callable[[Cells], Mapping[str, object]] = lambda cells: {}

    def caption(self, cells: Cells) -> str:
        """What the figure shows."""
        return words(self.name, "caption", **self.facts(cells))[0]

    def section(self, cells: Cells) -> Section:
        caption = self.caption(cells)
        picture = draw(self.name, caption, self.draw(cells))
        return Section(self.name, self.title, self.source, illustration=picture, caption=caption)
