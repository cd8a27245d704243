"""The report as a page of the documentation: Markdown, with figures and the raw results beside it.

``docs/field.md`` is made this way: the page, a folder of the same name with the figures, ``results.parquet`` and
``environment.json``. What it shows is what ``report.html`` shows, but for tables too long to read, figures of merged
problems, which have a table, and the optimal posteriors, which are not about the solvers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pacb_models.files import write_atomically

from ..results import export, load_results
from ..suites import suite, suite_names
from .content import Content, Illustration, Section
from .findings import Finding
from .tables import Table, as_markdown, markdown_text

#: Files of the run that lie beside the page.
PARQUET, ENVIRONMENT = "results.parquet", "environment.json"

#: Tables with more rows are left to the raw results.
LONGEST = 60


def write_page(directory: Path, content: Content, page: Path) -> None:
    """Write the page on the run in a directory, and beside it the folder with its figures and data."""
    beside = page.with_suffix("")
    export(directory)
    shown = [illustration for section in _sections(content) for illustration in _illustrations(section)]
    for illustration in shown:
        write_atomically(beside / f"{illustration.name}.svg", illustration.svg)
    data = [name for name in (PARQUET, ENVIRONMENT) if (directory / name).exists()]
    for name in data:
        write_atomically(beside / name, (directory / name).read_bytes())
    _remove_others(beside, {f"{illustration.name}.svg" for illustration in shown})
    measured = set(load_results(directory)["problem"])
    write_atomically(page, "\n".join(_lines(content, page, data, measured)).rstrip() + "\n")


def _sections(content: Content) -> list[Section]:
    return [section for section in content.sections if section.anchor != "posteriors"]


def _illustrations(section: Section) -> list[Illustration]:
    every = (*section.illustrations, *section.folded)
    return [illustration for illustration in every if not illustration.name.endswith("-merged")]


def _remove_others(beside: Path, figures: set[str]) -> None:
    """Figures of an earlier run that this one has not."""
    for path in beside.glob("*.svg"):
        if path.name not in figures:
            path.unlink()


def _lines(content: Content, page: Path, data: list[str], measured: set[str]) -> Iterator[str]:
    folder = page.stem
    yield f"# Results of the suite `{content.suite}`\n"
    yield f"{content.subtitle}\n"
    if content.suite in suite_names():
        description = suite(content.suite).description
        yield f"{description[0].upper()}{description[1:]}.\n"
    yield f"Made by `pacb bench --suite {content.suite} --page {page.name}`.\n"
    yield f"Raw results: {', '.join(f'[{name}]({folder}/{name})' for name in data)}.\n"
    for warning in (*_missing(content.suite, measured), *content.warnings):
        yield f"**{warning}**\n"
    yield from _findings("Which solver to take", content.winners)
    yield from _tables([content.choices])
    yield from _findings("Where each fails", content.weaknesses)
    yield from _findings("Can it all be true?", content.verdicts)
    yield from _tables(content.summary_tables)
    for section in _sections(content):
        yield from _section(section, folder)
    yield "## Environment\n"
    yield from _tables([content.environment])
    yield "## Known limits\n"
    yield from (f"* {limit}" for limit in content.limits)


def _missing(name: str, measured: set[str]) -> Iterator[str]:
    """Where only some problems of a suite were chosen, that this is so."""
    if name in suite_names():
        whole = {cell.problem.name for cell in suite(name).cells}
        if whole - measured:
            yield f"A part of the suite: {len(whole & measured)} of its {len(whole)} problems."


def _findings(title: str, found: Iterable[Finding]) -> Iterator[str]:
    yield f"## {title}\n"
    yield from (f"* **{markdown_text(finding.subject)}**: {markdown_text(finding.text)}" for finding in found)
    yield ""


def _tables(tables: Iterable[Table]) -> Iterator[str]:
    for table in tables:
        if len(table.rows) <= LONGEST:
            yield as_markdown(table)
        else:
            yield f"{table.caption} ({len(table.rows)} rows: in the raw results.)\n"


def _section(section: Section, folder: str) -> Iterator[str]:
    yield f"## {section.title}\n"
    if section.text:
        yield f"{section.text}\n"
    yield from _tables(section.tables)
    for illustration in _illustrations(section):
        yield f"![{illustration.description}]({folder}/{illustration.name}.svg)\n"
