"""The reproduction as files: an HTML document, a set in Markdown and LaTeX, figures (SVG, PDF, PNG), tables (CSV)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pacb_models.files import write_atomically
from pacb_models.plots.style import styled

from ..report.drawing import saved
from ..report.html import read_file, render_page, render_text
from ..report.tables import LATEX_NEEDS, as_latex, as_markdown, latex_text
from . import fidelity
from .item import Item, Results, Section
from .numbers import DOCUMENT, words
from .study import Study


@dataclass(frozen=True)
class Document:
    """Everything that is written, before it has a format."""

    title: str
    subtitle: str
    introduction: list[str]
    summary: list[str]
    sections: list[Section]


def compose(items: Sequence[Item], results: Results, study: Study) -> Document:
    """The document of these items."""
    with styled():
        sections = [item.section(results[item.name]) for item in items]
    subtitle = f"{len(items)} tables and figures" if len(items) > 1 else sections[0].title
    introduction = words("document", "introduction", starts=study.starts, seed=study.seed)
    return Document(DOCUMENT["title"], subtitle, introduction, fidelity.sentences(results), sections)


def write_document(document: Document, directory: Path) -> list[Path]:
    """Write all formats; the document's files."""
    files: dict[str, bytes | str] = {}
    for section in document.sections:
        if section.illustration is not None:
            figure = section.illustration.figure
            files |= {f"figures/{section.name}.{each}": saved(figure, each) for each in ("svg", "pdf", "png")}
            continue
        table = f"tables/{section.name}"
        files[f"{table}.csv"] = section.csv
        files[f"{table}.md"] = "\n".join(map(as_markdown, section.panels))
        files[f"{table}.tex"] = LATEX_NEEDS + "\n".join(map(as_latex, section.panels))
    whole = {"paper.html": as_html(document)}
    for name, layout in (("paper.md", as_markdown), ("paper.tex", as_latex)):
        text = render_text(read_file(__package__, name), document=document, table=layout, latex=latex_text)
        whole[name] = text.rstrip() + "\n"
    for name, content in {**files, **whole}.items():
        write_atomically(directory / name, content)
    return [directory / name for name in whole]


def as_html(document: Document) -> str:
    """One page with styles and figures inside."""
    template, style = (read_file(__package__, name) for name in ("paper.html", "paper.css"))
    return render_page(template, document=document, style=style)
