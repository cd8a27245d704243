"""``pacb train``: from data sets to risk files."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import InputError
from .datasets import Dataset, available_datasets, load_dataset
from .grids import GRIDS, lambda_grid
from .protocols import PROTOCOLS
from .risk_table import RiskTable
from .risks import Progress, train_risks
from .tables import SUFFIXES, load_table

_EXAMPLES = """examples:
  pacb train wdbc --count 50 --out wdbc.csv && pacb solve wdbc.csv --m 227 --distance kl
  pacb train all --data DIR --jobs 2 --out risks/ --resume
  pacb train my.csv --target label --missing drop --protocol hold-out --out risks.csv
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command to ``pacb``."""
    parser = subparsers.add_parser(
        "train",
        help="train the SVMs of a λ grid and write their risks",
        description="Train one SVM per λ and write its validation, test and training errors as a risk file.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("data", nargs="+", metavar="DATASET|FILE", help="a data set's name, 'all', or a CSV or Parquet file")
    add("--target", metavar="COLUMN", help="the class column of a file")
    add("--missing", choices=("refuse", "drop"), default="refuse", help="rows of a file that lack a value (refuse)")
    add("--ignore", metavar="COLUMN", action="append", default=[], help="a column of a file to leave out; repeatable")
    add("--grid", choices=tuple(GRIDS), default="paper", help="the λ values (paper)")
    add("--count", type=int, metavar="H", help="how many λ values of the paper's grid (1990)")
    add("--protocol", choices=PROTOCOLS, default="paper", help="own halves per SVM, or one hold-out for all (paper)")
    add("--seed", type=int, default=0, help="determines all splits (0)")
    add("--jobs", type=int, default=1, metavar="N", help="SVMs trained at once, -1 for one per core (1)")
    add("--data", dest="data_dir", metavar="DIR", help="directory of the raw UCI files (the variable PACB_DATA)")
    add("--out", metavar="FILE|DIR", help="the risk file, or for several data sets their directory (standard output)")
    add("--resume", action="store_true", help="go on with an interrupted run; keep files that are complete")
    add("--no-risk-column", dest="risk_column", action="store_false", help="write error counts only")
    parser.set_defaults(run=run)
    return parser


def run(options: argparse.Namespace) -> int:
    """Train on each data set in turn; the exit code."""
    names = _expand(options.data)
    if len(names) > 1 and options.out is None:
        raise InputError("several data sets need --out DIR; only one table can go to standard output.")
    for name in names:
        _train_one(name, options, _output(name, options.out, several=len(names) > 1))
    return 0


def _expand(names: list[str]) -> list[str]:
    """'all' stands for every data set."""
    return list(dict.fromkeys(each for name in names for each in (available_datasets() if name == "all" else [name])))


def _output(name: str, out: str | None, several: bool) -> Path | None:
    if out is None:
        return None
    directory = several or out.endswith("/") or Path(out).is_dir()
    return Path(out) / f"{Path(name).stem}.csv" if directory else Path(out)


def _train_one(name: str, options: argparse.Namespace, out: Path | None) -> None:
    command = _command(name, options)
    if options.resume and out is not None and out.exists() and _is_complete(out, command):
        print(f"{out}: complete, kept", file=sys.stderr)
        return
    dataset = _load(name, options)
    partial = None if out is None else out.with_name(out.name + ".partial")
    try:
        with _progress_bar(dataset.name) as progress:
            table = train_risks(
                dataset,
                options.grid,
                count=options.count,
                protocol=options.protocol,
                seed=options.seed,
                n_jobs=options.jobs,
                partial=partial,
                resume=options.resume,
                progress=progress,
                command=command,
            )
    except KeyboardInterrupt:
        if partial is not None and partial.exists():
            print(f"{partial} keeps what is done; the same command with --resume goes on from there.", file=sys.stderr)
        raise
    if out is None or partial is None:
        sys.stdout.write(table.to_csv(risk_column=options.risk_column))
        return
    table.write(out, risk_column=options.risk_column)
    partial.unlink(missing_ok=True)
    print(_summary(table, out), file=sys.stderr)


def _load(name: str, options: argparse.Namespace) -> Dataset:
    if name in available_datasets():
        return load_dataset(name, options.data_dir)
    if Path(name).suffix not in SUFFIXES:
        raise InputError(
            f"{name!r} is neither a data set ({', '.join(available_datasets())}) nor a {' or '.join(SUFFIXES)} file."
        )
    if options.target is None:
        raise InputError(f"{name} needs --target COLUMN, the column that holds the classes.")
    return load_table(name, options.target, missing=options.missing, ignore=options.ignore)


def _command(name: str, options: argparse.Namespace) -> str:
    """The command that determines the table: everything but where it goes and how fast."""
    words = ["pacb", "train", name, "--grid", options.grid]
    if options.grid == "paper":
        words += ["--count", str(len(lambda_grid(options.grid, options.count)))]
    words += ["--protocol", options.protocol, "--seed", str(options.seed)]
    if options.target is not None:
        words += ["--target", options.target, "--missing", options.missing]
        words += [word for column in options.ignore for word in ("--ignore", column)]
    return shlex.join(words)


def _is_complete(path: Path, command: str) -> bool:
    """Whether the file is the finished table of this command; --resume must not overwrite another's."""
    table = RiskTable.read(path)
    if table.command != command:
        raise InputError(f"{path} was made by '{table.command}', which is not what --resume would go on with.")
    return True


def _summary(table: RiskTable, path: Path) -> str:
    risks = table.risks()
    unconverged = int((~table.converged).sum())
    note = f", {unconverged} stopped at the iteration limit" if unconverged else ""
    return (
        f"{path}: {len(table)} SVMs{note}, validation risks {risks.min():.4f} to {risks.max():.4f} "
        f"on m = {table.validation_size} examples"
    )


@contextmanager
def _progress_bar(title: str) -> Iterator[Progress | None]:
    """A bar on standard error while a terminal is watching."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        yield None
        return
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
