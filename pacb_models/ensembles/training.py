"""What ``pacb train`` does: train on one data set after another, and write the risk files."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import InputError, RunStopped
from ..validation import check_choice
from ..wording import one_line
from .datasets import Dataset, available_datasets, load_dataset
from .grids import GRIDS, lambda_grid
from .protocols import PROTOCOLS
from .risk_table import RiskTable
from .risks import Progress, train_risks
from .tables import MISSING, SUFFIXES, load_table


def train_all(options: argparse.Namespace) -> int:
    """Train on each data set in turn; the exit code."""
    check_choice("--grid", options.grid, tuple(GRIDS))
    check_choice("--protocol", options.protocol, PROTOCOLS)
    check_choice("--missing", options.missing, MISSING)
    for name, out in _outputs(_expand(options.data), options.out).items():
        _train_one(name, options, out)
    return 0


def _expand(names: list[str]) -> list[str]:
    """'all' stands for every data set."""
    return list(dict.fromkeys(each for name in names for each in (available_datasets() if name == "all" else [name])))


def _outputs(names: list[str], out: str | None) -> dict[str, Path | None]:
    """Where each table goes: no two to one file, and none over a data set."""
    if out is None:
        if len(names) > 1:
            raise InputError("several data sets need --out DIR; only one table can go to standard output.")
        return dict.fromkeys(names)
    directory = len(names) > 1 or out.endswith("/") or Path(out).is_dir()
    paths = {name: Path(out) / f"{Path(name).stem}.csv" if directory else Path(out) for name in names}
    owners: dict[Path, str] = {}
    for name, path in paths.items():
        first = owners.setdefault(path, name)
        if first != name:
            raise InputError(f"the tables of {first!r} and {name!r} would both go to {str(path)!r}; train them apart.")
        for data in names:
            if Path(data).suffix in SUFFIXES and path.exists() and Path(data).exists() and path.samefile(data):
                raise InputError(f"the table of {name!r} would overwrite the data in {data!r}; choose another --out.")
    return dict(paths)


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
                dask=options.dask,
                partial=partial,
                resume=options.resume,
                progress=progress,
                command=command,
            )
    except (KeyboardInterrupt, RunStopped):
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
    return one_line(shlex.join(words))


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
