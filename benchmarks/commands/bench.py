"""``pacb bench``: every solver on a suite of problems, and a report."""

from __future__ import annotations

import argparse
import re
import sys
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacb_models.commands.arguments import (
    CONSTRAINTS,
    SOLVER_FILE,
    add_constraint_arguments,
    constraints_from,
    named_solvers,
    parse_options,
)
from pacb_models.commands.program import DONE, FAILED, add_command, kept_in, refuse_ignored
from pacb_models.errors import InputError

from ..progress import progress_shown

# The runner and the suites are imported where they are used: ``pacb --help`` must not wait for NumPy.
if TYPE_CHECKING:
    from ..harness.measurement import Measurement
    from ..harness.suites import Suite


_DESCRIPTION = (
    "Run every solver on a suite of problems, each in a process that is ended at its time limit, and write\n"
    "results (results.jsonl, .csv, .parquet) and a report (report.html). The suites are listed below.\n\n"
    "  pacb bench                               the quick suite, a few minutes\n"
    "  pacb bench --suite paper --jobs 2 --out results/paper\n"
    "  pacb bench --out results/paper --suite paper --resume\n"
    "  pacb bench --risks mine.csv --m 500      your own risk file\n"
    "  pacb bench --risks mine.csv --m 500 --at-most latency=25 --support-at-most 5\n"
    "  pacb bench --risks models/one-good-01.json   a problem that 'pacb export' wrote\n"
    "  pacb bench --solvers mine.py:SOLVER,frontier,ipopt,ccp   your own solver\n"
    "  pacb bench --solvers ipopt,ccp --option starts=5         an option of solvers\n"
    "  pacb bench --solvers nl:ipopt,frontier   any program that reads .nl files, as AMPL's solvers do\n"
    "  pacb bench --repeat 5 --out results/five  every cell five times: medians and intervals\n"
    "  pacb bench --report results/paper        the report on an unfinished run\n"
    "  pacb bench --suite field --out results/field --page docs/field.md\n"
    "  pacb bench --compare results/old results/new\n"
    "  pacb bench --merge results/here results/there --out results/both"
)


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command ``bench``."""
    parser = add_command(subparsers, "bench", run, "compare the solvers on a suite of problems", _DESCRIPTION)
    add, plain = parser.add_argument, parser.format_help

    def with_suites() -> str:
        from ..harness.suites import suite_lines

        return "\n".join([plain(), "suites:", *(f"  {name:<16} {line}" for name, line in suite_lines().items()), ""])

    # In the place of the method: suites are imported when the help is wanted, and not before.
    vars(parser)["format_help"] = with_suites
    add("--suite", default="quick", help="one of those listed below")
    text = "risk files (with --m), or problems as JSON that 'pacb export' wrote, instead of a suite"
    add("--risks", nargs="+", metavar="FILE", help=text)
    add("--m", type=int, help="sample size of the risk files")
    add("--delta", type=float, default=0.05, help="confidence parameter for the risk files")
    add("--distance", action="append", help="distance for the risk files; repeatable, all three by default")
    add("--divergence", default="chi2", help="divergence for the risk files: chi2, kl or renyi")
    add("--order", type=float, default=2.0, help="Rényi order, with --divergence renyi")
    add("--constant", default="exact", help="constant for the risk files: exact, one-sided or paper")
    add("--solvers", metavar="A,B,...", help=f"only these solvers; {SOLVER_FILE}")
    text = "an option such as starts=5, for every solver that has it; repeatable"
    add("--option", action="append", default=[], metavar="NAME=VALUE", help=text)
    add("--problems", metavar="TEXT", help="only problems whose name contains this")
    add("--time-limit", type=float, metavar="SECONDS", help="per cell, instead of the suite's")
    text = "per cell, such as 800M or 4G, or 'none'; half of this machine's memory by default, divided by --jobs (with "
    add("--memory-limit", metavar="SIZE", help=f"{text}--dask give it, if workers have less)")
    add("--starts", type=int, metavar="N", help="start every local method from the same N random posteriors")
    add("--seed", type=int, metavar="S", help="of those posteriors (0 by default)")
    add("--repeat", type=int, default=1, metavar="N", help="measure every cell N times")
    add("--jobs", type=int, default=1, metavar="N", help="cells at the same time (timings are then marked)")
    add("--dask", metavar="ADDRESS", help="measure on the workers of a Dask scheduler")
    add("--out", metavar="DIR", help="output directory; results/SUITE-DATE-TIME by default")
    add("--resume", action="store_true", help="go on in a directory that holds results")
    add("--retry-failed", action="store_true", help="with --resume: measure failures again")
    add("--no-report", action="store_true", help="write the results only")
    add("--report", metavar="DIR", help="only write the report on what DIR holds, finished or not")
    add("--page", metavar="FILE.md", help="also write the report as Markdown, with figures and raw results beside it")
    add("--files", action="store_true", help="also write figures (SVG, PDF) and tables (Markdown, LaTeX) as files")
    add("--merge", nargs="+", metavar="DIR", help="put the results of several directories into the new one --out")
    add("--compare", nargs=2, metavar=("DIR1", "DIR2"), help="what became faster, slower or wrong")
    add_constraint_arguments(parser)
    return parser


#: What describes a user's risk files.
_BOUND = ("delta", "divergence", "order", "constant")
_OF_RISKS = ("m", "distance", *_BOUND, *CONSTRAINTS)
#: What shows results without measuring any, and the options that each of them takes.
_MODES = {"compare": (), "merge": ("out", "page", "files", "no_report"), "report": ("page", "files")}


def run(options: argparse.Namespace) -> int:
    """Run, report and summarise; or compare two runs."""
    if options.page is not None and not options.page.endswith(".md"):
        raise InputError("--page", options.page, "it must end in '.md'")
    if (options.page is not None or options.files) and options.no_report:
        raise InputError("--page and --files are forms of the report; they cannot be used with --no-report.")
    if options.page is not None:
        from ..report.page import figures_shown_by

        figures_shown_by(Path(options.page))  # somebody else's page is refused before anything is measured
    mode = next((name for name in _MODES if getattr(options, name) is not None), None)
    if mode is None:
        return _measure(options)
    others = set(vars(options)) - {mode, *_MODES[mode]}
    refuse_ignored(options, others, f"cannot be used with --{mode}, which measures nothing")
    if options.compare:
        from ..harness import compare

        comparison = compare.compare(*options.compare)
        print(comparison)
        return DONE if comparison.newly(found=False).empty else FAILED
    if options.merge:
        from ..harness.results import merge

        if not options.out:
            raise InputError("--merge needs --out, a new directory for the results.")
        return _summarise(merge(options.merge, options.out), options)
    return _summarise(Path(options.report), options)


def _measure(options: argparse.Namespace) -> int:
    from .. import verdict
    from ..harness.runner import run_suite

    chosen = _suite(options)
    memory_limit = _memory_limit(options.memory_limit)
    if options.resume and not options.out:
        raise InputError("--resume needs --out, the directory to go on in.")
    directory = Path(options.out or f"results/{chosen.name}-{datetime.now():%Y%m%d-%H%M%S}")
    print(f"{chosen.name}: {chosen.description}; {len(chosen.cells)} cells into {directory}", file=sys.stderr)
    with kept_in(directory if options.out else f"--out {directory}"), progress_shown() as show:
        failures = 0

        def tell(row: Measurement, done: int, total: int) -> None:
            nonlocal failures
            failures += not verdict.success(row)
            show("cells", done, total, f"{failures} failed")

        run_suite(
            chosen,
            directory,
            memory_limit=memory_limit,
            repeats=options.repeat,
            progress=tell,
            tell=lambda words: print(f"pacb bench: {words}", file=sys.stderr, flush=True),
            **{name: getattr(options, name) for name in ("jobs", "dask", "resume", "retry_failed", "time_limit")},
        )
    return _summarise(directory, options)


def _memory_limit(text: str | None) -> int | None:
    """Return bytes; None for the default, 0 for none."""
    if text is None or text == "none":
        return None if text is None else 0
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)B?", text.strip(), re.IGNORECASE)
    size = float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " ") if found else 0.0
    if not 2**20 <= size < 2**63:
        raise InputError("--memory-limit", text, "it must be a size from 1M to 8388607T, such as 4G, or 'none'")
    return int(size)


def _summarise(directory: Path, options: argparse.Namespace) -> int:
    """Write the report, print the summary; 1 for a contradiction among the results, or no success at all."""
    from ..harness.results import judged_results
    from ..report import text, write_report

    judged = judged_results(directory)
    report = None if options.no_report else write_report(directory, options.page, options.files, judged)
    print(text(judged))
    if report is not None:
        print(f"report: {report}")
    return DONE if judged.contradictions.empty and judged.runs["success"].any() else FAILED


def _suite(options: argparse.Namespace) -> Suite:
    from pacb_models.validation import check_count, check_positive

    from ..harness.suites import from_files, suite
    from ..problems.problem import TABLE_DISTANCES

    for name, least in (("jobs", 1), ("repeat", 1), ("starts", 1), ("seed", 0)):
        if (value := getattr(options, name)) is not None:
            check_count(f"--{name}", value, least, most=2**32 - 1)
    if options.time_limit is not None:
        check_positive("--time-limit", options.time_limit)
    if options.seed is not None and options.starts is None:
        raise InputError("--seed needs --starts.")
    if options.retry_failed and not options.resume:
        raise InputError("--retry-failed needs --resume.")
    # Before the suite is made, so that a solver in a file gets its problems as any other.
    solvers = named_solvers(options.solvers)
    if options.risks:
        if all(path.endswith(".json") for path in options.risks):
            refuse_ignored(options, _OF_RISKS, "needs files of risks; a problem as JSON has its own")
        elif options.m is None:
            raise InputError("--risks needs --m, the number of examples on which the risks were measured.")
        refuse_ignored(options, ["suite"], "cannot be used with --risks, which is a suite of its own")
        if options.divergence != "renyi":
            refuse_ignored(options, ["order"], "needs --divergence renyi")
        bound = {name: getattr(options, name) for name in _BOUND}
        limits = partial(constraints_from, options)
        chosen = from_files(options.risks, options.m, options.distance or TABLE_DISTANCES, limits, **bound)
    else:
        refuse_ignored(options, _OF_RISKS, "describes risk files; it needs --risks")
        chosen = suite(options.suite)
    chosen = chosen.select(solvers, options.problems).with_options(parse_options(options.option))
    return chosen if options.starts is None else chosen.with_starts(options.starts, options.seed or 0)
