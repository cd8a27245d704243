"""The report as a page of the documentation: Markdown, with pictures and the raw results beside it.

``docs/field.md`` is made this way: the page, and a folder of the same name with the pictures, ``results.parquet`` and
``environment.json``. It has the six parts of the report and the section on the paper's methods; details are left to the
report and to the raw results.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pacb_models.errors import InputError
from pacb_models.files import write_atomically

from ..harness.results import export, load_results
from ..harness.suites import suite, suite_names
from .content import Content
from .part import Part
from .tables import as_markdown, markdown_text

#: Files of the run that lie beside the page.
PARQUET, ENVIRONMENT = "results.parquet", "environment.json"

#: How a page begins.
_TITLE = "# How the solvers compare: the suite `"


def write_page(directory: Path, content: Content, page: Path) -> None:
    """Write the page on the run in a directory, and beside it the folder with its pictures and data."""
    beside = page.with_suffix("")
    earlier = figures_shown_by(page)
    export(directory)
    drawn = {
        f"{picture.name}.svg": picture.svg for part in (*content.parts, *content.paper) for picture in part.pictures
    }
    data = {name: (directory / name).read_bytes() for name in (PARQUET, ENVIRONMENT) if (directory / name).exists()}
    for name, file in {**drawn, **data}.items():
        write_atomically(beside / name, file)
    measured = set(load_results(directory)["problem"])
    lines = _lines(content, page, list(data), measured)
    write_atomically(page, "\n".join(lines).rstrip() + "\n")
    for name in earlier - drawn.keys():
        (beside / name).unlink(missing_ok=True)


def figures_shown_by(page: Path) -> set[str]:
    """The figures that the page of an earlier run shows: ours to remove, unlike others in the folder."""
    if not page.exists():
        return set()
    text = page.read_text(encoding="utf-8")
    if not text.startswith(_TITLE):
        raise InputError(f"--page is {str(page)!r}, which is no page of ours; choose another file.")
    return set(re.findall(rf"^!\[.*\]\({re.escape(page.stem)}/([^/()]+\.svg)\)$", text, re.MULTILINE))


def _lines(content: Content, page: Path, data: list[str], measured: set[str]) -> Iterator[str]:
    named = content.suite.replace("`", "'")  # which would end the code in which it stands
    yield f"{_TITLE}{named}`\n"
    yield f"{content.subtitle}\n"
    yield f"{content.introduction}\n"
    mark = "**" if content.contradicted else ""
    yield f"{mark}{markdown_text(content.verdict)}{mark}\n"
    if content.suite in suite_names():
        yield f"The problems: {markdown_text(suite(content.suite).description)}.\n"
    for warning in (*_missing(content.suite, measured), *content.warnings):
        yield f"**{markdown_text(warning)}**\n"
    *parts, last = content.parts
    for part in parts:
        yield from _part(part, page.stem, "##")
    if content.paper:
        yield "## The paper's methods: fixed point, Ipopt and CCP\n"
        for part in content.paper:
            yield from _part(part, page.stem, "###")
    yield from _part(last, page.stem, "##")
    links = ", ".join(f"[{name}]({page.stem}/{name})" for name in data)
    yield f"* Raw results: {links}. Made by `pacb bench --suite {named} --page {page.name}`."


def _missing(name: str, measured: set[str]) -> Iterator[str]:
    """Where only some problems of a suite were chosen, that this is so."""
    if name in suite_names():
        whole = {cell.problem.name for cell in suite(name).cells}
        if whole - measured:
            yield f"A part of the suite: {len(whole & measured)} of its {len(whole)} problems."


def _part(part: Part, folder: str, mark: str) -> Iterator[str]:
    yield f"{mark} {markdown_text(part.title)}\n"
    if part.pictures:
        # One paragraph: pictures stand side by side where there is room.
        shown = (f"![{markdown_text(each.description)}]({folder}/{each.name}.svg)" for each in part.pictures)
        yield "\n".join(shown) + "\n"
    if part.text:
        yield f"{markdown_text(part.text)}\n"
    yield from map(as_markdown, part.tables)
    yield from (f"* {markdown_text(point)}" for point in part.points)
