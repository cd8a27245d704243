"""What the command can make: tables and figures, each with its name, its place in the paper, and how it is computed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files

from matplotlib.figure import Figure

from ..harness.environment import ipopt_version, versions
from ..report.drawing import Picture
from ..report.drawing import draw as picture_of
from ..report.tables import Table
from ..store import digest
from .cells import Cells
from .numbers import TEXTS, words
from .study import Study

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
    """A table or a figure: ``fill`` adds our values to the printed cells, and ``show`` lays them out as tables or
    ``draw`` makes a figure of them; ``facts`` are what its caption says of them.

    ``uses`` names what it depends on of the study, beside the risk tables. A figure ``of`` a table has its cells.
    """

    name: str
    fill: Callable[[Study, Cells], None] = lambda study, cells: None
    uses: tuple[str, ...] = ()
    of: str = ""
    show: Callable[[Cells], list[Table]] | None = None
    draw: Callable[[Cells], Figure] | None = None
    facts: Callable[[Cells], Mapping[str, object]] = lambda cells: {}

    @property
    def cells_of(self) -> str:
        """The item whose cells it shows."""
        return self.of or self.name

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

    def caption(self, cells: Cells) -> str:
        """What the figure shows."""
        return words(self.name, "caption", **self.facts(cells))[0]

    def section(self, cells: Cells) -> Section:
        """What the document shows of them."""
        heading = (self.name, TEXTS[self.name]["title"], self.source)
        if self.draw is None:
            return Section(*heading, tuple(self.show(cells)), csv=cells.frame(self.name).to_csv(index=False))
        caption = self.caption(cells)
        return Section(*heading, illustration=picture_of(self.name, caption, self.draw(cells)), caption=caption)
