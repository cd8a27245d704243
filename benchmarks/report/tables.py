"""Tables for readers: rows of cells under one or two lines of headings, in Markdown and LaTeX.

HTML is made by the macro of ``kit.html``. The report, the pages and the reproduction of the paper use the same tables.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import pandas as pd

from .drawing import Picture

#: No value.
NONE = "–"


class Entry(NamedTuple):
    """What is shown; what it is ("printed", "best", "off" or nothing particular); and what it is sorted by."""

    text: str
    kind: str = ""
    value: float | None = None

    @property
    def sort_key(self) -> str:
        """For the page's script; empty, hence last, where there is no number."""
        if self.value is None:
            return self.text
        return "" if math.isnan(self.value) else repr(float(self.value))


class Group(NamedTuple):
    """Neighbouring columns under a common heading."""

    title: str
    columns: tuple[str, ...]


class Column(NamedTuple):
    """A heading, the records' key, and the way a value is shown; numbers are set flush right.

    ``text`` is the key of what is shown in place of the number, which the column is still sorted by.
    """

    title: str
    key: str
    show: Callable[[Any], str] = str
    numeric: bool = True
    text: str = ""

    def entry(self, record: pd.Series) -> Entry:
        """Return what it shows of a record."""
        value = record[self.key]
        if not self.numeric:
            return Entry(self.show(value))
        number = math.nan if value is None else float(value)
        return Entry(NONE if math.isnan(number) else record[self.text] if self.text else self.show(value), "", number)


@dataclass(frozen=True)
class Table:
    """A table with a title and notes; the columns of its first group say what a row is about."""

    name: str
    title: str
    groups: tuple[Group, ...]
    rows: Sequence[Sequence[Entry]]
    notes: Sequence[str] = ()
    #: Further columns of words.
    words: tuple[int, ...] = ()

    @classmethod
    def of(
        cls, name: str, title: str, columns: Sequence[Column], records: pd.DataFrame, notes: Sequence[str] = ()
    ) -> Table:
        """Return the columns of a data frame, each shown its way; the first says what a row is about."""
        rows = [[column.entry(record) for column in columns] for _, record in records.iterrows()]
        words = tuple(place for place, column in enumerate(columns) if not column.numeric)
        first, *others = (column.title for column in columns)
        return cls(name, title, (Group("", (first,)), Group("", tuple(others))), rows, notes, words)

    @property
    def labels(self) -> int:
        """How many columns say what a row is about."""
        return len(self.groups[0].columns)

    @property
    def columns(self) -> tuple[str, ...]:
        """The headings of the single columns."""
        return tuple(column for group in self.groups for column in group.columns)

    @property
    def has_groups(self) -> bool:
        """Whether there is a second line of headings."""
        return any(group.title for group in self.groups)

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns have numbers."""
        return tuple(place >= self.labels and place not in self.words for place in range(len(self.columns)))

    @property
    def group_starts(self) -> set[int]:
        """The columns with which a titled group begins."""
        places = accumulate((len(group.columns) for group in self.groups), initial=0)
        return {place for place, group in zip(places, self.groups) if group.title}


@dataclass(frozen=True)
class Part:
    """A part of a report: a finding, the picture that shows it, and words or a table on it."""

    anchor: str
    title: str
    text: str = ""
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()
    points: tuple[str, ...] = ()


def as_markdown(table: Table) -> str:
    """Return a pipe table. Markdown has one line of headings, so a group's title goes before each of its columns."""
    titles = [f"{group.title} {column}".strip() for group in table.groups for column in group.columns]
    marks = ["---:" if numeric else "---" for numeric in table.numeric]
    lines = [f"**{markdown_text(table.title)}**", ""] if table.title else []
    lines += [pipes(map(markdown_text, titles)), pipes(marks)]
    for row in table.rows:
        texts = ((markdown_text(cell.text), "**" * (cell.kind == "best")) for cell in row)
        lines.append(pipes(f"{bold}{text}{bold}" for text, bold in texts))
    lines += ["", *(f"* {markdown_text(note)}" for note in table.notes)]
    return "\n".join(lines).rstrip() + "\n"


def pipes(texts: Any) -> str:
    """Return a line of a Markdown table."""
    return "| " + " | ".join(text.replace("|", r"\|") for text in texts) + " |"


def markdown_text(text: str) -> str:
    """Return text that Markdown shows as it is, on one line; pipes are left to :func:`pipes`.

    >>> markdown_text("<b>*a*</b>\\n[x](y)")
    '&lt;b&gt;\\\\*a\\\\*&lt;/b&gt; \\\\[x\\\\](y)'
    """
    line = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # Between letters an underscore is no mark.
    return re.sub(r"([\\`*\[\]~#]|(?<!\w)_|_(?!\w))", r"\\\1", line)


def as_latex(table: Table, caption: str = "") -> str:
    """Return a floating table in the style of booktabs, no wider than the page; ``caption`` is for one without a
    title."""
    fonts = {"best": r"\textbf{%s}", "printed": r"\textit{%s}"}
    texts = [[fonts.get(cell.kind, "%s") % latex_text(cell.text) for cell in row] for row in table.rows]
    headings = [(latex_text(group.title), latex_text(column)) for group in table.groups for column in group.columns]
    columns = pd.MultiIndex.from_tuples(headings) if table.has_groups else [column for _, column in headings]
    layout = "".join("r" if numeric else "l" for numeric in table.numeric)
    tabular = pd.DataFrame(texts, columns=columns).to_latex(
        index=False, escape=False, column_format=layout, multicolumn_format="c"
    )
    notes = [rf"\item {latex_text(note)}" for note in table.notes]
    lines = [
        r"\begin{table}[H]",
        r"\centering",
        rf"\caption{{{latex_text(table.title or caption)}}}",
        rf"\label{{tab:{table.name}}}",
        r"\begin{adjustbox}{max width=\linewidth, max totalheight=0.75\textheight}",
        tabular.rstrip(),
        r"\end{adjustbox}",
        r"\end{table}",
        *([r"\begin{itemize}\footnotesize", *notes, r"\end{itemize}"] if notes else []),
    ]
    return "\n".join(lines) + "\n"


#: What tables in LaTeX need.
LATEX_NEEDS = "% needs \\usepackage{booktabs,adjustbox,float}\n"
#: Single marks, and after them words that are made of several.
_MARKS = {
    "\\": r"\textbackslash{}",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
    **{"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "…": r"\dots{}", "é": r"\'e", "\u00a0": "~"},
    **{"–": "--", "’": "'", "“": "``", "”": "''", "<": "$<$", ">": "$>$", "−": "$-$", "′": "$'$"},
    **{"²": "$^2$", "³": "$^3$", "⁴": "$^4$"},
    **{mark: rf"$\{name}$" for mark, name in zip("χµλδαφΔ", "chi mu lambda delta alpha varphi Delta".split())},
    **{mark: rf"$\{name}$" for mark, name in zip("×·√±≤≥→", "times cdot surd pm leq geq to".split())},
}
_WORDS = {
    **{rf"I\_{name}": rf"$I_{{\mathrm{{{name}}}}}$" for name in ("kl", "sq")},
    **{r"$\varphi$\_CH": r"$\varphi_{\mathrm{CH}}$", "l\u0302": r"$\hat{l}$"},
}


def latex_text(text: str) -> str:
    """Return text that LaTeX prints as it is, in ASCII.

    >>> latex_text("50 % of χ²_a")
    '50 \\\\% of $\\\\chi$$^2$\\\\_a'
    """
    text = "".join(_MARKS.get(mark, mark) for mark in text)
    for word, latex in _WORDS.items():
        text = text.replace(word, latex)
    return text
