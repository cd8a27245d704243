"""What the command can make: tables and figures, each with its name, its place in the paper, and how it is computed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files

from matplotlib.figure import Figure

from ..harness.environment import ipopt_version, versions
from ..report.drawing import draw as picture_of
from ..report.tables import Part, Table
from ..store import digest
from .cells import Cells
from .numbers import TEXTS, words
from .study import Study

#: Raised when a result changes though nothing that its key names does; a test notices.
RESULTS_VERSION = 3

#: Results of items by name.
Results = Mapping[str, Cells]


@dataclass(frozen=True)
class Item:
    """A table or a figure: ``fill`` adds our values to the printed cells, ``tables`` lay them out, or ``draw`` makes
    a figure of them; ``facts`` are what its caption says of them.

    ``uses`` names what it depends on of the study, beside the risk tables. A figure ``of`` a table has its cells.
    """

    name: str
    fill: Callable[[Study, Cells], None] = lambda study, cells: None
    uses: tuple[str, ...] = ()
    of: str = ""
    tables: tuple[Callable[[Cells], Table], ...] = ()
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
        """Return the key of its cells in the store: risk tables, what else of the study matters, printed numbers,
        software."""
        settings = [getattr(study, name) for name in self.uses]
        printed = (files(__package__) / "printed.csv").read_bytes()
        return digest(RESULTS_VERSION, self.name, settings, study.tables_digest, printed, versions(), ipopt_version())

    def compute(self, study: Study) -> Cells:
        """Return the cells."""
        cells = Cells.printed(self.name)
        self.fill(study, cells)
        return cells

    def caption(self, cells: Cells) -> str:
        """Return what the figure shows."""
        return words(self.name, "caption", **self.facts(cells))[0]

    def part(self, cells: Cells) -> Part:
        """Return what the document shows of them; its words are where the paper has it."""
        heading = (self.name, TEXTS[self.name]["title"], self.source)
        if self.draw is None:
            return Part(*heading, tables=tuple(table(cells) for table in self.tables))
        return Part(*heading, (picture_of(self.name, self.caption(cells), self.draw(cells)),))
