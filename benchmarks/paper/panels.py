"""Tables for readers: rows of cells under one or two lines of headings, in Markdown and LaTeX.

HTML is made by the document's template.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..report.tables import pipes
from .latex import latex_text

#: No value.
NONE = "–"


class Cell(NamedTuple):
    """What is shown, and what it is: "printed", "best", "off" (far from print), "title" or nothing particular."""

    text: str
    kind: str = ""


class Group(NamedTuple):
    """Neighbouring columns under a common heading."""

    title: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Panel:
    """A table with a title and notes; the first ``labels`` columns say what a row is about."""

    name: str
    title: str
    groups: tuple[Group, ...]
    rows: tuple[tuple[Cell, ...], ...]
    labels: int = 1
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The headings of the single columns."""
        return tuple(column for group in self.groups for column in group.columns)

    @property
    def has_groups(self) -> bool:
        """Whether there is a second line of headings."""
        return any(group.title for group in self.groups)


def as_markdown(panel: Panel) -> str:
    """A pipe table. Markdown has one line of headings, so a group's title goes before each of its columns."""
    titles = [f"{group.title} {column}".strip() for group in panel.groups for column in group.columns]
    marks = ["---" if position < panel.labels else "---:" for position in range(len(titles))]
    lines = [f"**{panel.title}**", "", pipes(titles), pipes(marks)]
    lines += [pipes([_emphasised(cell) for cell in row]) for row in panel.rows]
    lines += ["", *(f"* {note}" for note in panel.notes)]
    return "\n".join(lines).rstrip() + "\n"


def _emphasised(cell: Cell) -> str:
    return f"**{cell.text}**" if cell.kind == "best" else cell.text


def as_latex(panel: Panel, label: str) -> str:
    """A floating table in the style of booktabs, shrunk to the width of the page where it is wider."""
    alignment = "l" * panel.labels + "r" * (len(panel.columns) - panel.labels)
    body = [" & ".join(_latex_cell(cell) for cell in row) + r" \\" for row in panel.rows]
    lines = [
        r"\begin{table}[H]",
        r"\centering",
        rf"\caption{{{latex_text(panel.title)}}}",
        rf"\label{{tab:{label}}}",
        r"\begin{adjustbox}{max width=\linewidth, max totalheight=0.75\textheight}",
        rf"\begin{{tabular}}{{{alignment}}}",
        r"\toprule",
        *_latex_headings(panel),
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{adjustbox}",
        r"\end{table}",
        *_latex_notes(panel.notes),
    ]
    return "\n".join(lines) + "\n"


def _latex_headings(panel: Panel) -> list[str]:
    line = " & ".join(map(latex_text, panel.columns)) + r" \\"
    if not panel.has_groups:
        return [line]
    spans, rules, position = [], [], 1
    for group in panel.groups:
        width = len(group.columns)
        spans.append(rf"\multicolumn{{{width}}}{{c}}{{{latex_text(group.title)}}}")
        if group.title:
            rules.append(rf"\cmidrule(lr){{{position}-{position + width - 1}}}")
        position += width
    return [" & ".join(spans) + r" \\", "".join(rules), line]


def _latex_cell(cell: Cell) -> str:
    text = latex_text(cell.text)
    return {"best": rf"\textbf{{{text}}}", "printed": rf"\textit{{{text}}}"}.get(cell.kind, text)


def _latex_notes(notes: Sequence[str]) -> list[str]:
    if not notes:
        return []
    items = [rf"\item {latex_text(note)}" for note in notes]
    return [r"\begin{itemize}\footnotesize", *items, r"\end{itemize}"]
