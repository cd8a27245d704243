"""``pacb check``: every solver on one problem."""

from __future__ import annotations

import argparse
import json
from typing import Any

from .arguments import SOLVER_FILE, add_problem_arguments, draw_path, named_solvers, problem_from
from .program import DONE, FAILED, add_command
from .streams import chatter_among_errors


def add_parser(subparsers: Any) -> None:
    parser = add_command(
        subparsers,
        "check",
        _check,
        "compare every solver on one bound",
        "Run every solver that can handle the problem and compare them with the certified optimum.\n"
        "Exit code 1 when one fails or disagrees.\n\n"
        "  pacb check risks.csv --m 549 --distance squared\n"
        "  pacb check risks.csv --m 549 --distance squared --direct\n"
        "  pacb check risks.csv --m 549 --at-most latency=25 --support-at-most 5\n"
        "  pacb check risks.csv --m 549 --solvers mine.py:SOLVER,frontier,ipopt",
    )
    add_problem_arguments(parser, "the bound along the path of optimal posteriors, with every solver's point on it")
    add = parser.add_argument
    add("--solvers", metavar="A,B,...", help=f"which solvers, all that can by default; {SOLVER_FILE}")
    add("--tol", type=float, default=1e-7, help="largest difference between bounds that counts as agreement")
    add("--time-limit", type=float, default=60.0, metavar="SECONDS", help="for each solver that keeps one")
    add("--json", action="store_true", help="print one JSON object")


def _check(options: argparse.Namespace) -> int:
    from ..solving.checking import cross_check

    problem, _ = problem_from(options)
    methods = named_solvers(options.solvers)
    with chatter_among_errors():
        table = cross_check(problem, methods, options.tol, time_limit=options.time_limit)
    if options.json:
        print(json.dumps(table.as_dict(), allow_nan=False))
    else:
        table.show()
        if problem.posteriors is not None:
            from ..constraints.wording import ABOUT

            print(ABOUT)
    draw_path(options.plot, problem, table.solutions)
    return DONE if table.agree else FAILED
