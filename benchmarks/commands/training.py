"""What ``pacb train`` does: train on one data set after another, and write the risk files."""

import argparse
import shlex
import sys
from contextlib import nullcontext
from pathlib import Path

from pacb_models.commands.program import kept_in, refuse_ignored
from pacb_models.errors import InputError
from pacb_models.estimators.grids import GRIDS, lambda_grid
from pacb_models.estimators.tables import MISSING, SUFFIXES, Dataset, load_table
from pacb_models.files import held
from pacb_models.validation import check_choice, check_jobs
from pacb_models.wording import one_line

from ..experiments.datasets import available_datasets, load_dataset
from ..experiments.protocols import PROTOCOLS
from ..experiments.risk_table import RiskTable
from ..experiments.risks import Experiment, train_risks
from ..progress import progress_shown


def train_all(options: argparse.Namespace) -> int:
    """Train on each data set in turn; the exit code."""
    for name, choices in (("grid", tuple(GRIDS)), ("protocol", PROTOCOLS), ("missing", MISSING)):
        check_choice(f"--{name}", getattr(options, name), choices)
    check_jobs("--jobs", options.jobs)
    known = available_datasets()
    names = list(dict.fromkeys(each for name in options.data for each in (known if name == "all" else [name])))
    files = [name for name in names if name not in known]
    for name in files:
        if Path(name).suffix not in SUFFIXES:
            raise InputError(f"{name!r} is neither a data set ({', '.join(known)}) nor a {' or '.join(SUFFIXES)} file.")
        if options.target is None:
            raise InputError(f"{name} needs --target COLUMN, the column that holds the classes.")
    if not files:
        refuse_ignored(options, ["target", "missing", "ignore"], "is for tables in files, and none is given")
    if len(files) == len(names):
        refuse_ignored(options, ["data"], "is for data sets by name, and none is given")
    for name, out in _outputs(names, options.out).items():
        _train_one(name, options, out)
    return 0


def _outputs(names: list[str], out: str | None) -> dict[str, Path | None]:
    """Return where each table goes: no two to one file, and none over a data set."""
    if out is None:
        if len(names) > 1:
            raise InputError("several data sets need --out DIR; only one table can go to standard output.")
        return dict.fromkeys(names)
    directory = len(names) > 1 or out.endswith("/") or Path(out).is_dir()
    paths = {name: Path(out) / f"{Path(name).stem}.csv" if directory else Path(out) for name in names}
    owners: dict[Path, str] = {}
    for name, path in paths.items():
        if (first := owners.setdefault(path, name)) != name:
            raise InputError(f"the tables of {first!r} and {name!r} would both go to {str(path)!r}; train them apart.")
        for data in names:
            if Path(data).suffix in SUFFIXES and path.exists() and Path(data).exists() and path.samefile(data):
                raise InputError(f"the table of {name!r} would overwrite the data in {data!r}; choose another --out.")
    return dict(paths)


def _train_one(name: str, options: argparse.Namespace, out: Path | None) -> None:
    # The command that determines the table: everything but where it goes and how fast.
    words = ["pacb", "train", name, "--grid", options.grid]
    if options.grid == "paper":
        words += ["--count", str(len(lambda_grid(options.grid, options.count)))]
    words += ["--protocol", options.protocol, "--seed", str(options.seed)]
    if options.target is not None:
        words += ["--target", options.target, "--missing", options.missing]
        words += [word for column in options.ignore for word in ("--ignore", column)]
    command = one_line(shlex.join(words))
    if name in available_datasets():
        dataset = load_dataset(name, options.data_dir)
    else:
        dataset = load_table(name, options.target, missing=options.missing, ignore=options.ignore)
    if out is None:
        sys.stdout.write(_trained(dataset, options, command, None).to_csv(risk_column=options.risk_column))
    elif out.exists() and not out.is_file():
        # A device or a pipe: nothing is kept beside it.
        _trained(dataset, options, command, None).write(out, risk_column=options.risk_column)
    else:
        with held(out):
            if _is_complete(out, dataset, options, command):
                print(f"{out}: complete, kept", file=sys.stderr)
                return
            partial = out.with_name(out.name + ".partial")
            table = _trained(dataset, options, command, partial)
            table.write(out, risk_column=options.risk_column)
            partial.unlink(missing_ok=True)
            risks, unconverged = table.risks(), int((~table.converged).sum())
            note = f", {unconverged} stopped at the iteration limit" if unconverged else ""
            told = f"{len(table)} SVMs{note}, validation risks {risks.min():.4f} to {risks.max():.4f}"
            print(f"{out}: {told} on m = {table.validation_size} examples", file=sys.stderr)


def _trained(dataset: Dataset, options: argparse.Namespace, command: str, partial: Path | None) -> RiskTable:
    with nullcontext() if partial is None else kept_in(partial), progress_shown(lines=False) as show:
        return train_risks(
            dataset,
            options.grid,
            n_jobs=options.jobs,
            partial=partial,
            progress=lambda done, total: show(dataset.name, done, total),
            command=command,
            **{name: getattr(options, name) for name in ("count", "protocol", "seed", "dask", "resume")},
        )


def _is_complete(path: Path, dataset: Dataset, options: argparse.Namespace, command: str) -> bool:
    """Return whether --resume keeps the file, the finished table of this command and data; no other is ours to
    overwrite."""
    if not path.exists() or path.stat().st_size == 0:
        return False
    there = f"--out is {str(path)!r}, which"
    try:
        table = RiskTable.read(path)
    except InputError as reason:
        raise InputError(f"{there} is there already. {reason}") from None
    if table.command != command:
        raise InputError(f"{there} was made by '{table.command}'; delete it, or choose another file.")
    if not options.resume:
        return False
    lambdas = lambda_grid(options.grid, options.count)
    experiment = Experiment(dataset, lambdas, protocol=options.protocol, seed=options.seed)
    if table.digest != table.digest_with(experiment.fingerprint):
        raise InputError(
            f"{there} is not the table of these data and settings: the data changed, or the table did, or it is of an "
            "earlier version; delete it to train anew."
        )
    return True
