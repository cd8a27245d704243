"""The reproduction: its items in order, and as files an HTML document, Markdown, LaTeX, figures and tables (CSV)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pacb_models.errors import InputError
from pacb_models.files import write_atomically
from pacb_models.plots.style import styled

from ..problems.problem import PAPER_DATASETS
from ..report.drawing import saved
from ..report.html import read_file, render_page, render_text
from ..report.tables import LATEX_NEEDS, Part, as_latex, as_markdown, latex_text
from .cells import BOTH_HALVES, PRINTED, REPRODUCED, Cells, Values, difference, number
from .item import Item, Results
from .items import bounds, constants, experiment, guarantees, posteriors, solvers
from .numbers import DOCUMENT, item_name, words
from .showing import per_cent
from .study import ALL_CLASSIFIERS, DISTANCES, Study

_IN_ORDER = (
    bounds.HEADLINE,
    constants.CONSTANTS_TABLE,
    bounds.BOUNDS_TABLE,
    solvers.FP_VS_SOLVER_TABLE,
    solvers.FP_VS_CCP_TABLE,
    posteriors.SPARSITY_TABLE,
    bounds.DIVERGENCES_TABLE,
    experiment.CROSS_VALIDATION_TABLE,
    experiment.DATA_TABLE,
    guarantees.CERTIFICATES_TABLE,
    guarantees.CHANGE_OF_MEASURE_TABLE,
    posteriors.SUPPORTS,
    *constants.MOMENTS,
    *posteriors.WEIGHTS,
    posteriors.DISTRIBUTIONS,
    posteriors.AGAINST_DELTA,
    guarantees.CERTIFICATES_FIGURE,
    guarantees.CHANGE_OF_MEASURE_FIGURE,
)
ITEMS: dict[str, Item] = {item.name: item for item in _IN_ORDER}


def chosen(names: Iterable[str]) -> list[Item]:
    """Return the items of these names, or numbers in the paper, in the order of the document, tables with the figures
    of them; "all", or none, stands for every one.
    """
    wanted = {item_name(name) for name in names} or {"all"}
    for name in sorted(wanted - {"all"}):
        if name not in ITEMS:
            raise InputError("NAME", name, f"it must be 'all', a number such as 'table3', or one of {', '.join(ITEMS)}")
    return [item for item in ITEMS.values() if wanted & {"all", item.name, item.cells_of}]


@dataclass(frozen=True)
class Document:
    """Everything that is written, before it has a format."""

    title: str
    subtitle: str
    introduction: list[str]
    summary: list[str]
    parts: list[Part]
    #: Every value of each table, by its name.
    csv: dict[str, str]


def compose(items: Sequence[Item], results: Results, study: Study) -> Document:
    """Return the document of these items."""
    with styled():
        parts = [item.part(results[item.name]) for item in items]
    subtitle = f"{len(items)} tables and figures" if len(items) > 1 else parts[0].title
    introduction = words("document", "introduction", starts=study.starts, seed=study.seed)
    csv = {item.name: results[item.name].frame(item.name).to_csv(index=False) for item in items if item.tables}
    return Document(DOCUMENT["title"], subtitle, introduction, _fidelity(results), parts, csv)


def same_order(cells: Cells, dataset: str) -> bool:
    """Return whether our three bounds with the paper's constants are in the printed order."""
    found = {distance: cells[dataset, ALL_CLASSIFIERS, distance, "bound"] for distance in DISTANCES}
    printed = sorted(DISTANCES, key=lambda distance: number(found[distance][PRINTED]))
    return printed == sorted(DISTANCES, key=lambda distance: found[distance][REPRODUCED])


def _fidelity(results: Results) -> list[str]:
    """Return how close the reproduction comes to print, in words."""
    said = []
    if cells := results.get("bounds"):
        optima, errors = (
            [cells[dataset, ALL_CLASSIFIERS, each, quantity] for dataset in PAPER_DATASETS for each in DISTANCES]
            for quantity in ("bound", "test_error")
        )
        gaps = [abs(values[REPRODUCED] - number(values[PRINTED])) for values in errors]
        facts = {"largest": max(gaps), "mean": sum(gaps) / len(gaps), "errors": len(gaps)}
        ordered = sum(same_order(cells, dataset) for dataset in PAPER_DATASETS)
        said += words("document", "table_3", ordered=ordered, datasets=len(PAPER_DATASETS), **facts, **_spreads(optima))
    if cells := results.get("fp-vs-solver"):
        optima = [solvers.as_meant(cells, *place, "fixed-point", "bound") for place in solvers.PLACES]
        # In either of the two tables.
        kinds = ("status", "test_error_status")
        letters = sum(any(solvers.letter_of(cells, *place, kind) for kind in kinds) for place in solvers.PLACES)
        said += words("document", "table_6", cells=len(solvers.PLACES), letters=letters, **_spreads(optima))
    return said


def _spreads(optima: list[Values]) -> dict[str, str]:
    found = {}
    for name, version in (("reproduced", REPRODUCED), ("both_halves", BOTH_HALVES)):
        offs = [difference(values, version) for values in optima]
        mean = sum(offs) / len(offs)
        found[name] = f"{per_cent(mean)} from print on average and {per_cent(max(offs, key=abs))} at most"
    return found


def write_document(document: Document, directory: Path) -> list[Path]:
    """Write all formats; the document's files."""
    files: dict[str, bytes | str] = {f"tables/{name}.csv": text for name, text in document.csv.items()}
    for part in document.parts:
        for picture in part.pictures:
            files |= {f"figures/{part.anchor}.{each}": saved(picture.figure, each) for each in ("svg", "pdf", "png")}
        if part.tables:
            files[f"tables/{part.anchor}.md"] = "\n".join(map(as_markdown, part.tables))
            files[f"tables/{part.anchor}.tex"] = LATEX_NEEDS + "\n".join(map(as_latex, part.tables))
    whole = {"paper.html": as_html(document)}
    for name, layout in (("paper.md", as_markdown), ("paper.tex", as_latex)):
        text = render_text(__package__, name, document=document, table=layout, latex=latex_text)
        whole[name] = text.rstrip() + "\n"
    for name, content in {**files, **whole}.items():
        write_atomically(directory / name, content)
    return [directory / name for name in whole]


def as_html(document: Document) -> str:
    """Return one page with styles and figures inside."""
    return render_page(__package__, "paper.html", document=document, style=read_file(__package__, "paper.css"))
