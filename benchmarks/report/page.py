"""The report as a page of the documentation: Markdown, with pictures and the raw results in a folder beside it.

``docs/field.md`` is made this way. Details are left to the report and to the raw results.
"""

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd

from pacb_models.errors import InputError
from pacb_models.files import write_atomically

from ..harness.environment import ENVIRONMENT
from ..harness.results import TABLE, read_rows, write_exports
from ..harness.suites import suite, suite_lines
from ..verdict import CORRECT_GAP, PRIOR
from .content import Content
from .html import render_text
from .tables import as_markdown, markdown_text
from .wording import said

#: How a page begins.
_TITLE = "# How the solvers compare: the suite `"


def write_page(directory: Path, content: Content, page: Path, runs: pd.DataFrame) -> None:
    """Write the page on the run in a directory, and beside it the folder with its pictures and data."""
    beside, earlier = page.with_suffix(""), figures_shown_by(page)
    write_exports(directory, read_rows(directory))
    whole = suite(content.suite) if content.suite in suite_lines() else None
    remark = whole.remark() if whole else ""
    if remark:
        # The findings alone, where the page has something else to say: other pages explain the words.
        alone = []
        for part in content.parts:
            points = tuple(point for point in part.points if point != said("optimum", gap=CORRECT_GAP))
            tables = tuple(replace(table, notes=()) for table in part.tables)
            alone.append(replace(part, text="", tables=tables, points=points))
        content = replace(content, parts=tuple(alone))
    parts = (*content.parts, *content.paper)
    drawn = {f"{picture.name}.svg": picture.svg for part in parts for picture in part.pictures}
    data = {name: (directory / name).read_bytes() for name in (TABLE, ENVIRONMENT) if (directory / name).exists()}
    for name, file in {**drawn, **data}.items():
        write_atomically(beside / name, file)
    problems = {cell.problem.name for cell in whole.cells} if whole else set()
    shared = problems & set(runs["problem"])
    named = content.suite.replace("`", "'")  # which would end the code in which it stands
    text = render_text(
        __package__,
        "page.md",
        named=named,
        # What is not in a suite was measured by a command that the log does not know.
        made=_made_by(runs, named, page.name) if whole else [],
        **{"title": _TITLE, "content": content, "folder": page.stem, "page": page.name, "data": list(data)},
        **{"whole": whole, "missing": f"{len(shared)} of its {len(problems)}" if shared != problems else ""},
        **{"remark": remark, "md": markdown_text, "table": as_markdown},
    )
    write_atomically(page, text.rstrip() + "\n")
    for name in earlier - drawn.keys():
        (beside / name).unlink(missing_ok=True)


def _made_by(runs: pd.DataFrame, named: str, page: str) -> list[str]:
    """Return the commands that measured the runs: all in one, or those from random starts apart from the others."""
    local, drawn = runs["local"], runs["local"] & (runs["start"] != PRIOR)
    commands = []
    for rows in (runs[~drawn], runs[drawn]) if (local & ~drawn).any() and drawn.any() else (runs,):
        command = f"pacb bench --suite {named}"
        if starts := rows.loc[drawn[rows.index], "start"].nunique():
            command += f" --starts {starts}"
            command += f" --solvers {','.join(sorted(rows['solver'].unique()))}" if len(rows) < len(runs) else ""
        repeats = int(rows["repetition"].max()) + 1
        commands.append(command + (f" --repeat {repeats}" if repeats > 1 else ""))
    return [f"{commands[0]} --page {page}"] if len(commands) == 1 else commands


def figures_shown_by(page: Path) -> set[str]:
    """Return the figures that the page of an earlier run shows: ours to remove, unlike others in the folder."""
    text = page.read_text(encoding="utf-8") if page.exists() else _TITLE
    if not text.startswith(_TITLE):
        raise InputError("page", str(page), "it is no page of ours; choose another file")
    return set(re.findall(rf"^!\[.*\]\({re.escape(page.stem)}/([^/()]+\.svg)\)$", text, re.MULTILINE))
