"""``pacb starts``: how often each local method finds the minimum, from the prior and from random starts."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacb_models.cli import DONE, add_command
from pacb_models.errors import InputError
from pacb_models.files import write_atomically
from pacb_models.validation import check_count

if TYPE_CHECKING:
    import pandas as pd


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command ``starts``."""
    parser = add_command(
        subparsers,
        "starts",
        run,
        "how often local methods find the minimum, from the prior and from random starts",
        "Start every local method from the prior and from random posteriors on instances of the collection 'hard',\n"
        "and count in which of the local minima it ends. Writes starts.csv, starts.md (tables) and starts.svg.\n\n"
        "  pacb starts --starts 100 --jobs 2 --out results/starts\n"
        "  pacb starts one-good-17-H20-chi2-kl --starts 20 --solvers fixed-point --out results/one",
    )
    parser.add_argument("instances", nargs="*", metavar="INSTANCE", help="names; a few of every family by default")
    parser.add_argument("--each", type=int, default=4, metavar="N", help="instances of every family")
    parser.add_argument("--largest", type=int, default=200, metavar="H", help="largest size of those")
    parser.add_argument("--starts", type=int, default=100, metavar="N", help="random starts per kind")
    parser.add_argument("--solvers", metavar="A,B,...", help="only these solvers")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes")
    parser.add_argument("--out", required=True, metavar="DIR", help="where the results go")
    return parser


def run(options: argparse.Namespace) -> int:
    """Measure, write, and print the table."""
    import pandas as pd

    from .families import instance
    from .starts import measure, telling_instances

    check_count("--starts", options.starts)
    chosen = [instance(name) for name in options.instances]
    chosen = chosen or telling_instances(check_count("--each", options.each), options.largest)
    solvers = options.solvers.split(",") if options.solvers else None
    print(f"{len(chosen)} instances, {options.starts} random starts of each kind", file=sys.stderr)
    records = pd.DataFrame(measure(chosen, options.starts, solvers, options.jobs))
    if records.empty:
        raise InputError(f"--solvers is {options.solvers!r}; none of them is a local method that can run here.")
    directory = Path(options.out)
    write_atomically(directory / "starts.csv", records.to_csv(index=False))
    write_atomically(directory / "starts.md", page(records))
    write_atomically(directory / "starts.svg", picture(records))
    print(table(records))
    return DONE


def shares(records: pd.DataFrame) -> pd.DataFrame:
    """Per family, solver and kind of start: the share of starts that ended in the best minimum, in per cent."""
    sums = records.groupby(["family", "solver", "start"], sort=False)[["starts", "best"]].sum()
    return (100.0 * sums["best"] / sums["starts"]).unstack("start")[list(records["start"].unique())]


def table(records: pd.DataFrame) -> str:
    """The shares as a Markdown table."""
    from .report.tables import pipes

    found = shares(records)
    kinds = [str(kind) for kind in found.columns]
    lines = [pipes(["family", "solver", *kinds]), f"| --- | --- |{' ---: |' * len(kinds)}"]
    for (family, solver), row in zip(found.index, found.itertuples(index=False)):
        lines.append(pipes([family, solver, *(f"{value:.0f}" for value in row)]))
    return "\n".join(lines)


def basins(records: pd.DataFrame) -> str:
    """Per family, over all methods and random starts: the shares of the best minimum, others, and none, as Markdown."""
    from .report.tables import pipes

    random = records[records["start"] != "prior"]
    lines = [pipes(["family", "instances", "best minimum", "another minimum", "none"]), f"| --- |{' ---: |' * 4}"]
    for family, rows in random.groupby("family", sort=False):
        total = rows["starts"].sum()
        parts = [f"{100.0 * rows[part].sum() / total:.0f} %" for part in ("best", "other", "nowhere")]
        lines.append(pipes([str(family), str(rows["problem"].nunique()), *parts]))
    return "\n".join(lines)


def page(records: pd.DataFrame) -> str:
    """Both tables with a sentence each."""
    starts = int(records.loc[records["start"] != "prior", "starts"].max())
    return "\n".join(
        [
            f"Starts, in per cent, that end in the best minimum: from the prior, and from {starts} Dirichlet "
            "posteriors of each of four concentrations.\n",
            table(records),
            "\nWhere random starts end, over all methods and concentrations:\n",
            basins(records),
            "",
        ]
    )


def picture(records: pd.DataFrame) -> bytes:
    """The share of random starts that end in the best minimum: a square per family and method."""
    from matplotlib.figure import Figure

    from .report import figures

    random = records[records["start"] != "prior"]
    sums = random.groupby(["family", "solver"], sort=False)[["starts", "best"]].sum()
    grid = (sums["best"] / sums["starts"]).unstack("solver")[list(random["solver"].unique())]
    with figures.styled():
        figure = Figure(figsize=(2.6 + 0.5 * grid.shape[1], 1.4 + 0.3 * grid.shape[0]), layout="constrained")
        axes = figure.add_subplot()
        image = axes.imshow(grid.to_numpy(), vmin=0.0, vmax=1.0, cmap="viridis", aspect="auto")
        axes.set_xticks(range(grid.shape[1]), grid.columns, rotation=45, ha="right")
        axes.set_yticks(range(grid.shape[0]), grid.index)
        axes.grid(False)
        figure.colorbar(image, label="starts that end in the best minimum")
        return figures.as_svg(figure)
