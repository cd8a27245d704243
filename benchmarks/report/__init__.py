"""The report on a run: one HTML file to show, tables and figures to cite.

:func:`write_report` reads what a run left in its directory, finished or not, and the embedded risk tables; it measures
nothing. ``report.html`` needs nothing but itself: styles, script and figures are inside.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pacb_models.errors import InputError
from pacb_models.files import write_atomically

#: Called with a few words at every step.
Progress = Callable[[str], None]


def write_report(directory: str | Path, progress: Progress | None = None, page: str | Path | None = None) -> Path:
    """Write ``report.html``, ``tables/*.md``, ``tables/*.tex``, ``figures/*.svg`` and ``figures/*.pdf``.

    Parameters
    ----------
    directory : path
        Holds ``results.jsonl`` and, where the run recorded it, ``environment.json``.
    progress : function, optional
        Called with a few words at every step.
    page : path, optional
        A Markdown file to write as well; see :mod:`.page`.

    Returns
    -------
    Path
        That of ``report.html``.
    """
    # Imported here: matplotlib, jinja2 and pandas are heavy, and the tables of a run do without the first two.
    from ..environment import Environments
    from ..results import load_results
    from . import analysis, html, tables
    from .content import describe
    from .page import write_page

    directory = Path(directory)
    say = progress or (lambda words: None)
    results = load_results(directory)
    if results.empty:
        raise InputError(f"{directory} holds no finished run yet.")
    content = describe(analysis.prepare(results), Environments.read(directory), say)
    say("writing tables")
    for table in content.tables():
        write_atomically(directory / "tables" / f"{table.name}.md", tables.as_markdown(table))
        write_atomically(directory / "tables" / f"{table.name}.tex", tables.as_latex(table))
    say("writing figures")
    for illustration in content.illustrations():
        write_atomically(directory / "figures" / f"{illustration.name}.svg", illustration.svg)
        write_atomically(directory / "figures" / f"{illustration.name}.pdf", illustration.pdf)
    say("writing report.html")
    report = directory / "report.html"
    write_atomically(report, html.render(content))
    if page is not None:
        write_page(directory, content, Path(page))
    return report
