"""The report on a run: one HTML file to show, and a page of Markdown where one is asked for.

It reads what a run left in its directory, finished or not, and the embedded risk tables; it measures nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pacb_models.files import write_atomically
from pacb_models.terminal import Column, aligned

from .wording import counted, duration, listed, significant

if TYPE_CHECKING:
    import pandas as pd

    from ..verdict import Judged

_NUMBERS = ("found", "elsewhere", "false claims", "median", "90 %", "× fastest")


def write_report(
    directory: str | Path, page: str | Path | None = None, files: bool = False, judged: Judged | None = None
) -> Path:
    """Write ``report.html``, which needs nothing but itself: styles, script and figures are inside.

    Parameters
    ----------
    directory : path
        Holds ``results.jsonl`` and, where the run recorded it, ``environment.json``.
    page : path, optional
        A Markdown file to write as well; see :mod:`.page`.
    files : bool
        Also write the figures (SVG, PDF) and tables (Markdown, LaTeX) as files, to cite.
    judged : Judged, optional
        The results of the directory, where they are read and judged already.

    Returns
    -------
    Path
        That of ``report.html``.
    """
    # Imported here: matplotlib, jinja2 and pandas are heavy, and the tables of a run do without the first two.
    from ..harness.environment import Environments
    from ..harness.results import judged_results
    from .content import describe
    from .drawing import saved
    from .html import read_file, render_page
    from .page import write_page
    from .tables import LATEX_NEEDS, as_latex, as_markdown

    directory = Path(directory)
    judged = judged or judged_results(directory)
    content = describe(judged, Environments.read(directory))
    script = read_file(__package__, "report.js")
    write_atomically(directory / "report.html", render_page(__package__, "report.html", content=content, script=script))
    for part in (*content.parts, *content.paper, *content.details) if files else ():
        for table in part.tables:
            write_atomically(directory / "tables" / f"{table.name}.md", as_markdown(table))
            write_atomically(directory / "tables" / f"{table.name}.tex", LATEX_NEEDS + as_latex(table, part.title))
        for picture in part.pictures:
            write_atomically(directory / "figures" / f"{picture.name}.svg", picture.svg)
            if picture.figure is not None:
                write_atomically(directory / "figures" / f"{picture.name}.pdf", saved(picture.figure, "pdf"))
    if page is not None:
        write_page(directory, content, Path(page), judged.runs)
    return directory / "report.html"


def text(judged: Judged) -> str:
    """Return what a run came to, for a terminal: the table of solvers and the verdict."""
    runs, rows = judged.runs, []
    for row in judged.by_solver.itertuples():
        times = duration(row.median, 2), duration(row.ninety, 2), significant(row.relative, 2)
        rows.append([row.method, f"{row.found} of {row.runs}", str(row.elsewhere), str(row.false_claims), *times])
    lines = aligned([Column("solver", numeric=False), *map(Column, _NUMBERS)], rows)
    lines.append("elsewhere: ended in another local minimum, which is no false claim")
    lines.append("times: of the runs that found the optimum, set-up included")
    if (repetitions := int(runs["repetition"].max()) + 1) > 1:
        lines.append(f"of {repetitions} repetitions the median time counts, and the worst outcome")
    return "\n".join([*lines, *caveats(runs), judged.sentence()])


def caveats(runs: pd.DataFrame) -> Iterator[str]:
    """Yield which times cannot be compared, and which solvers have none; here and in the report."""
    if parallel := int(runs["parallel"].sum()):
        which = "All times" if parallel == len(runs) else f"The times of {counted(parallel, 'run')}"
        yield f"{which} were measured while other runs shared the machine; do not compare them with a serial run's."
    absent = runs.loc[runs["status"] == "unavailable", "method"].unique()
    if len(absent):
        yield f"Not measured, because their software is missing: {listed(absent)}."
