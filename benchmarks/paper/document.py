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
from .numbers import words
from .study import Study

TITLE = "Optimal posteriors for χ²-divergence PAC-Bayesian bounds, reproduced and corrected"


@dataclass(frozen=True)
class Document:
    """Everything that is written, before it has a format."""

    title: str
    subtitle: str
    introduction: tuple[str, ...]
    summary: tuple[str, ...]
    sections: tuple[Section, ...]


def compose(items: Sequence[Item], results: Results, study: Study) -> Document:
    """The document of these items."""
    with styled():
        sections = tuple(item.section(results[item.name]) for item in items)
    return Document(
        TITLE,
        f"{len(items)} tables and figures" if len(items) > 1 else items[0].title,
        tuple(words("document", "introduction", starts=study.starts, seed=study.seed)),
        tuple(fidelity.sentences(results)),
        sections,
    )


def write_document(document: Document, directory: Path) -> list[Path]:
    """Write all formats; the document's files."""
    for section in document.sections:
        _write_section(section, directory)
    whole = {"paper.html": as_html(document)}
    for name, table in (("paper.md", as_markdown), ("paper.tex", as_latex)):
        text = render_text(read_file(__package__, name), document=document, table=table, latex=latex_text)
        whole[name] = text.rstrip() + "\n"
    for name, text in whole.items():
        write_atomically(directory / name, text)
    return [directory / name for name in whole]


def _write_section(section: Section, directory: Path) -> None:
    if section.illustration is not None:
        formats = ("svg", "pdf", "png")
        files = {f"figures/{section.name}.{each}": saved(section.illustration.figure, each) for each in formats}
    else:
        texts = {
            "csv": section.csv,
            "md": "\n".join(map(as_markdown, section.panels)),
            "tex": LATEX_NEEDS + "\n".join(map(as_latex, section.panels)),
        }
        files = {f"tables/{section.name}.{suffix}": text.encode() for suffix, text in texts.items()}
    for name, content in files.items():
        write_atomically(directory / name, content)


def as_html(document: Document) -> str:
    """One page with styles and figures inside."""
    template, style = (read_file(__package__, name) for name in ("paper.html", "paper.css"))
    return render_page(template, document=document, style=style)
