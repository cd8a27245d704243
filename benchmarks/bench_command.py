"""``pacb bench``: every solver on a suite of problems, and a report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacb_models.cli import DONE, FAILED, add_command
from pacb_models.errors import InputError

# The runner and the suites are imported where they are used: ``pacb --help`` must not wait for NumPy.
if TYPE_CHECKING:
    from .runner import Progress
    from .suites import Suite


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command ``bench``."""
    parser = add_command(
        subparsers,
        "bench",
        run,
        "compare the solvers on a suite of problems",
        "Run every solver on a suite of problems, each in a process that is ended at its time limit, and write\n"
        "results (results.jsonl, .csv, .parquet) and a report (report.html).\n\n"
        "  pacb bench                               the quick suite, a few minutes\n"
        "  pacb bench --suite paper --jobs 2 --out results/paper\n"
        "  pacb bench --out results/paper --suite paper --resume\n"
        "  pacb bench --risks mine.csv --m 500      your own risk file\n"
        "  pacb bench --report results/paper        the report on an unfinished run\n"
        "  pacb bench --compare results/old results/new",
    )
    parser.add_argument(
        "--suite", default="quick", help="'quick', 'paper', 'scaling' or another package's; an unknown name lists all"
    )
    parser.add_argument("--risks", nargs="+", metavar="FILE", help="risk files to use instead of a suite (with --m)")
    parser.add_argument("--m", type=int, help="sample size of the risk files")
    parser.add_argument("--delta", type=float, default=0.05, help="confidence parameter for the risk files")
    parser.add_argument(
        "--distance", action="append", help="distance for the risk files; repeatable, all three by default"
    )
    parser.add_argument("--solvers", metavar="A,B,...", help="only these solvers")
    parser.add_argument("--problems", metavar="TEXT", help="only problems whose name contains this")
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="per cell, instead of the suite's")
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="cells at the same time (timings are then marked)"
    )
    parser.add_argument("--dask", metavar="ADDRESS", help="measure on the workers of a Dask scheduler")
    parser.add_argument("--out", metavar="DIR", help="output directory; results/SUITE-DATE-TIME by default")
    parser.add_argument("--resume", action="store_true", help="go on in a directory that holds results")
    parser.add_argument("--retry-failed", action="store_true", help="with --resume: measure failures again")
    parser.add_argument("--no-report", action="store_true", help="write the results only")
    parser.add_argument("--report", metavar="DIR", help="only write the report on what DIR holds, finished or not")
    parser.add_argument("--compare", nargs=2, metavar=("DIR1", "DIR2"), help="what became faster, slower or wrong")
    return parser


def run(options: argparse.Namespace) -> int:
    """Run, report and summarise; or compare two runs."""
    if options.compare:
        from . import compare

        comparison = compare.compare(*options.compare)
        print(comparison)
        return DONE if comparison.newly_wrong.empty else FAILED
    if options.report:
        return _summarise(Path(options.report), with_report=True)
    from .runner import run_suite

    chosen = _suite(options)
    directory = _directory(options, chosen)
    print(f"{chosen.name}: {chosen.description}; {len(chosen.cells)} cells into {directory}", file=sys.stderr)
    try:
        with _progress(len(chosen.cells)) as progress:
            run_suite(
                chosen,
                directory,
                jobs=options.jobs,
                dask=options.dask,
                resume=options.resume,
                retry_failed=options.retry_failed,
                time_limit=options.time_limit,
                progress=progress,
            )
    except KeyboardInterrupt:
        again = f"pacb bench --suite {chosen.name} --out {directory} --resume"
        print(f"\ninterrupted; what was measured is in {directory}. To go on: {again}", file=sys.stderr)
        return 130
    return _summarise(directory, with_report=not options.no_report)


def _summarise(directory: Path, with_report: bool) -> int:
    """Write the report, print the summary; a contradiction among the results is a failure."""
    from . import summary
    from .report import write_report
    from .results import load_results

    results = load_results(directory)
    page = write_report(directory) if with_report else None
    print(summary.text(results))
    if page is not None:
        print(f"report: {page}")
    return DONE if summary.contradictions(results).empty else FAILED


def _suite(options: argparse.Namespace) -> Suite:
    from .suites import DISTANCES, from_files, suite

    if options.jobs < 1:
        raise InputError(f"--jobs is {options.jobs}; it must be at least 1.")
    if options.time_limit is not None and not options.time_limit > 0:
        raise InputError(f"--time-limit is {options.time_limit}; it must be a positive number of seconds.")
    if options.retry_failed and not options.resume:
        raise InputError("--retry-failed goes with --resume.")
    if options.risks:
        if options.m is None:
            raise InputError("--risks needs --m, the number of examples on which the risks were measured.")
        chosen = from_files(options.risks, options.m, options.distance or DISTANCES, delta=options.delta)
    else:
        chosen = suite(options.suite)
    return chosen.select(options.solvers.split(",") if options.solvers else None, options.problems)


def _directory(options: argparse.Namespace, chosen: Suite) -> Path:
    if options.out:
        return Path(options.out)
    if options.resume:
        raise InputError("--resume needs --out, the directory to go on in.")
    return Path("results") / f"{chosen.name}-{datetime.now():%Y%m%d-%H%M%S}"


@contextmanager
def _progress(cells: int) -> Iterator[Progress]:
    """A bar on a terminal; elsewhere a line now and then."""
    if not sys.stderr.isatty():
        yield _lines(cells)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failures]} failed"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("cells", total=cells, failures=0)
        failures = 0

        def show(row: dict[str, Any], done: int, total: int) -> None:
            nonlocal failures
            failures += not row["success"]
            bar.update(task, completed=done, failures=failures, description=f"{row['solver']:<13}")

        yield show


def _lines(cells: int) -> Progress:
    step = max(1, cells // 20)
    failures = 0

    def show(row: dict[str, Any], done: int, total: int) -> None:
        nonlocal failures
        failures += not row["success"]
        if done % step == 0 or done == total:
            print(f"{done}/{total} cells, {failures} failed", file=sys.stderr, flush=True)

    return show
