"""``pacb starts``: how often each local method finds the minimum, from the prior and from random starts."""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pacb_models.cli import DONE, add_command
from pacb_models.errors import InputError
from pacb_models.files import write_atomically


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command ``starts``."""
    parser = add_command(
        subparsers,
        "starts",
        run,
        "how often local methods find the minimum, from the prior and from random starts",
        "Start every local method from the prior and from random posteriors on instances of the collection 'hard'\n"
        "and on the paper's own problems, and count in which of the local minima it ends. Writes starts.md, a page\n"
        "with tables and a picture, starts.svg and starts.csv.\n\n"
        "  pacb starts --starts 100 --jobs 2 --out results/starts\n"
        "  pacb starts one-good-17-H20-chi2-kl --starts 20 --solvers fixed-point --out results/one",
    )
    parser.add_argument(
        "instances", nargs="*", metavar="INSTANCE", help="names; a few of every family, and the paper's own, by default"
    )
    parser.add_argument("--each", type=int, default=2, metavar="N", help="instances of every family")
    parser.add_argument(
        "--largest", type=int, default=60, metavar="H", help="largest size of those, where a family has so small ones"
    )
    parser.add_argument("--starts", type=int, default=100, metavar="N", help="random starts per kind")
    parser.add_argument("--solvers", metavar="A,B,...", help="only these solvers")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes")
    parser.add_argument("--out", required=True, metavar="DIR", help="where the results go")
    return parser


def run(options: argparse.Namespace) -> int:
    """Measure, write, and print the table."""
    import pandas as pd

    from pacb_models.validation import check_count

    from .environment import describe
    from .families import instance
    from .starts import measure, paper_problems, tasks, telling_instances
    from .starts_page import page, picture, table

    check_count("--starts", options.starts)
    check_count("--largest", options.largest)
    if options.jobs == 0:
        raise InputError("--jobs is 0; it must be a number of processes, or -1 for one per core.")
    directory = Path(options.out)
    if directory.exists() and not directory.is_dir():
        raise InputError(f"--out is {options.out!r}, which is a file; it must be a directory.")
    frozen = [instance(name) for name in dict.fromkeys(options.instances)]
    frozen = frozen or telling_instances(check_count("--each", options.each), options.largest)
    chosen = [each.problem for each in frozen] + ([] if options.instances else paper_problems())
    solvers = options.solvers.split(",") if options.solvers else None
    todo = tasks(chosen, solvers)
    if not todo:
        raise InputError(f"--solvers is {options.solvers!r}; none of them is a local method that can run here.")
    print(f"{len(chosen)} problems, {options.starts} random starts of each kind", file=sys.stderr)
    found: list[dict[str, Any]] = []
    for done, records_of_one in enumerate(measure(todo, options.starts, options.jobs), 1):
        found += map(asdict, records_of_one)
        if done % max(1, len(todo) // 20) == 0:
            print(f"{done}/{len(todo)} problems and solvers", file=sys.stderr, flush=True)
    records = pd.DataFrame(found)
    write_atomically(directory / "starts.csv", records.to_csv(index=False))
    write_atomically(directory / "starts.md", page(records, describe(), _command(options)))
    write_atomically(directory / "starts.svg", picture(records))
    print(table(records))
    return DONE


def _command(options: argparse.Namespace) -> str:
    """The command that measures the same again."""
    words = ["pacb", "starts", *options.instances]
    if not options.instances:
        words += ["--each", str(options.each), "--largest", str(options.largest)]
    words += ["--starts", str(options.starts)]
    words += ["--solvers", options.solvers] if options.solvers else []
    return shlex.join(words)
