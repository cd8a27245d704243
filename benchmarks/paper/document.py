"""The reproduction as files: an HTML document, a set in Markdown and LaTeX, figures (SVG, PDF, PNG), tables (CSV)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pacb_models.files import write_atomically
from pacb_models.plots.style import styled

from ..problems.problem import PAPER_DATASETS
from ..report.drawing import saved
from ..report.html import read_file, render_page, render_text
from ..report.tables import LATEX_NEEDS, Part, as_latex, as_markdown, latex_text
from .cells import BOTH_HALVES, PRINTED, REPRODUCED, Cells, Values, difference, number
from .item import Item, Results
from .items.solvers import PLACES, as_meant, letter_of
from .numbers import DOCUMENT, words
from .showing import per_cent
from .study import ALL_CLASSIFIERS, DISTANCES, Study


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
    """The document of these items."""
    with styled():
        parts = [item.part(results[item.name]) for item in items]
    subtitle = f"{len(items)} tables and figures" if len(items) > 1 else parts[0].title
    introduction = words("document", "introduction", starts=study.starts, seed=study.seed)
    csv = {item.name: results[item.name].frame(item.name).to_csv(index=False) for item in items if item.tables}
    return Document(DOCUMENT["title"], subtitle, introduction, _fidelity(results), parts, csv)


def same_order(cells: Cells, dataset: str) -> bool:
    """Whether our three bounds with the paper's constants are in the printed order."""
    bounds = {distance: cells[dataset, ALL_CLASSIFIERS, distance, "bound"] for distance in DISTANCES}
    printed = sorted(DISTANCES, key=lambda distance: number(bounds[distance][PRINTED]))
    return printed == sorted(DISTANCES, key=lambda distance: bounds[distance][REPRODUCED])


def _fidelity(results: Results) -> list[str]:
    """How close the reproduction comes to print, in words."""
    said = []
    if cells := results.get("bounds"):
        bounds, errors = (
            [cells[dataset, ALL_CLASSIFIERS, each, quantity] for dataset in PAPER_DATASETS for each in DISTANCES]
            for quantity in ("bound", "test_error")
        )
        gaps = [abs(values[REPRODUCED] - number(values[PRINTED])) for values in errors]
        facts = {"largest": max(gaps), "mean": sum(gaps) / len(gaps), "errors": len(gaps)}
        ordered = sum(same_order(cells, dataset) for dataset in PAPER_DATASETS)
        said += words("document", "table_3", ordered=ordered, datasets=len(PAPER_DATASETS), **facts, **_spreads(bounds))
    if cells := results.get("fp-vs-solver"):
        bounds = [as_meant(cells, *place, "fixed-point", "bound") for place in PLACES]
        # In either of the two tables.
        kinds = ("status", "test_error_status")
        letters = sum(any(letter_of(cells, *place, kind) for kind in kinds) for place in PLACES)
        said += words("document", "table_6", cells=len(PLACES), letters=letters, **_spreads(bounds))
    return said


def _spreads(bounds: list[Values]) -> dict[str, str]:
    found = {}
    for name, version in (("reproduced", REPRODUCED), ("both_halves", BOTH_HALVES)):
        offs = [difference(values, version) for values in bounds]
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
    """One page with styles and figures inside."""
    return render_page(__package__, "paper.html", document=document, style=read_file(__package__, "paper.css"))
