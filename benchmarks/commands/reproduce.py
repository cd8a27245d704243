"""``pacb reproduce``: the paper's tables and figures beside its printed numbers."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacb_models.commands.program import DONE, add_command, kept_in, refuse_ignored
from pacb_models.errors import InputError
from pacb_models.wording import paragraphs

from ..paper.numbers import listed_items
from ..progress import progress_shown

# The paper is imported where it is computed: ``pacb --help`` must not wait for NumPy.
if TYPE_CHECKING:
    from ..paper.cells import Cells
    from ..paper.item import Item
    from ..paper.study import Study


_DESCRIPTION = (
    "Compute the paper's tables and figures again, with its constants and with exact ones, each beside the\n"
    "printed numbers. Say how close they come, and write DIR/paper.html, paper.md, paper.tex, tables/*.csv and\n"
    "figures/*.svg.\n\n"
    "  pacb reproduce --out paper                     everything, from the embedded risk tables\n"
    "  pacb reproduce table3 figure1 --out paper      one table and one figure\n"
    "  pacb reproduce all --out paper --resume        go on after an interruption\n"
    "  pacb reproduce all --out paper --from-data --data DIR --with-cv     train everything anew\n\n"
)


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command ``reproduce``."""
    summary, description = "compute the paper's tables and figures again", _DESCRIPTION + listed_items()
    parser = add_command(subparsers, "reproduce", run, summary, description)
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="tables and figures, by number or by name; all by default")
    add("--out", required=True, metavar="DIR", help="output directory")
    add("--from-data", action="store_true", help="train the SVMs anew instead of using embedded tables")
    add("--data", metavar="DIR", help="directory of the raw UCI files (the variable PACB_DATA)")
    add("--starts", type=int, default=1000, help="random starts of the convex–concave procedures")
    add("--with-cv", action="store_true", help="run the cross-validation anew (27 CPU minutes)")
    add("--seed", type=int, default=0, help="determines all that is random")
    add("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes")
    add("--dask", metavar="ADDRESS", help="compute on the workers of a Dask scheduler")
    add("--resume", action="store_true", help="keep what an earlier run in DIR has finished")
    return parser


def run(options: argparse.Namespace) -> int:
    """Compute what is asked for and write the document."""
    from pacb_models.validation import check_count

    from ..experiments.cross_validation import load_cross_validation
    from ..paper.document import chosen, compose, write_document
    from ..paper.study import Study, cross_validations, embedded_tables, train_tables

    items = chosen(options.names)
    directory = Path(options.out)
    for name, least in (("starts", 1), ("seed", 0), ("jobs", 1)):
        check_count(f"--{name}", getattr(options, name), least=least)
    if not (options.from_data or options.with_cv):
        refuse_ignored(options, ["data"], "needs --from-data or --with-cv")
    if "cross-validation" not in {item.name for item in items}:
        refuse_ignored(options, ["with-cv"], "is for the table 'cross-validation', which is not asked for")
    if directory.exists() and not directory.is_dir():
        raise InputError(f"--out is {options.out!r}, which is a file; it must be a directory.")
    with kept_in(directory), progress_shown() as report:
        how = {"seed": options.seed, "jobs": options.jobs, "dask": options.dask, "report": report}
        new = {**how, "resume": options.resume}
        tables = train_tables(directory / "risks", options.data, **new) if options.from_data else embedded_tables()
        baselines = cross_validations(directory, options.data, **new) if options.with_cv else load_cross_validation()
        study = Study(tables, starts=options.starts, baselines=baselines, **how)
        results = compute(items, study, directory, options.resume)
        report("writing the document", 0, 1)
        document = compose(items, results, study)
        paths = write_document(document, directory)
    print("\n".join([*(paragraphs([sentence]) for sentence in document.summary), *map(str, paths)]))
    return DONE


def compute(items: Sequence[Item], study: Study, directory: Path, resume: bool) -> dict[str, Cells]:
    """Return the cells of each item; with ``resume``, those that are kept are not computed again."""
    from ..paper.cells import Cells
    from ..paper.document import ITEMS
    from ..store import Store

    found: dict[str, Cells] = {}
    todo = {item.cells_of: ITEMS[item.cells_of] for item in items}
    with Store(directory / "results.jsonl", resume) as store:
        for position, (name, item) in enumerate(todo.items()):
            study.report(name, position, len(todo))
            place = item.key(study)
            if place not in store.rows:
                store.add(place, item.compute(study).records())
            found[name] = Cells.of_records(store.rows[place])
    return {item.name: found[item.cells_of] for item in items}
