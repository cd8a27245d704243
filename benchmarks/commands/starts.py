"""``pacb starts``: how often each local method finds the minimum, from the prior and from random starts."""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pacb_models.commands.program import DONE, SOLVER_FILE, add_command, named_solvers, refuse_ignored
from pacb_models.errors import InputError
from pacb_models.files import write_atomically


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command ``starts``."""
    parser = add_command(
        subparsers,
        "starts",
        run,
        "count how often local methods find the minimum",
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
    parser.add_argument("--solvers", metavar="A,B,...", help=f"only these solvers; {SOLVER_FILE}")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes")
    parser.add_argument("--out", required=True, metavar="DIR", help="where the results go")
    parser.add_argument("--resume", action="store_true", help="go on in a directory that holds results")
    return parser


def run(options: argparse.Namespace) -> int:
    """Measure, write, and print the table."""
    import pandas as pd

    from pacb_models.validation import check_count, check_jobs

    from ..harness.environment import describe
    from ..problems.families import instance
    from ..studies.starts import measure, paper_problems, tasks, telling_instances
    from ..studies.starts_page import page, picture, table

    check_count("--starts", options.starts)
    check_count("--largest", options.largest)
    check_jobs("--jobs", options.jobs)
    directory = Path(options.out)
    if directory.exists() and not directory.is_dir():
        raise InputError(f"--out is {options.out!r}, which is a file; it must be a directory.")
    frozen = [instance(name) for name in dict.fromkeys(options.instances)]
    frozen = frozen or telling_instances(check_count("--each", options.each), options.largest)
    chosen = [each.problem for each in frozen] + ([] if options.instances else paper_problems())
    solvers = named_solvers(options.solvers)
    todo = tasks(chosen, solvers)
    for name in sorted(set(solvers or ()) - {solver for _, solver in todo.values()}):
        raise InputError(f"--solvers names {name!r}, which cannot run here on these problems.")
    if options.instances:
        refuse_ignored(options, ["each", "largest"], "chooses instances, and they are named")
    print(f"{len(chosen)} problems, {options.starts} random starts of each kind", file=sys.stderr)
    found: dict[str, list[Any]] = {}
    try:
        for key, ends in measure(todo, options.starts, directory, options.jobs, options.resume):
            found[key] = ends
            if len(found) % max(1, len(todo) // 20) == 0:
                print(f"{len(found)}/{len(todo)} problems and solvers", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        again = f"{_command(options)} {shlex.join([f'--out={options.out}', '--resume'])}"
        print(f"\ninterrupted; what was measured is in {directory}. To go on: {again}", file=sys.stderr)
        return 130
    records = pd.DataFrame([asdict(each) for key in todo for each in found[key]])
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
