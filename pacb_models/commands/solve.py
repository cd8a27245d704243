"""``pacb solve`` and ``pacb check``: minimise one bound, with one solver or with all."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from ..errors import RunStopped
from ..terminal import Column, aligned
from ..wording import at_least, at_most, confidence_text, one_line
from .arguments import SOLVER_FILE, add_problem_arguments, draw_path, named_solvers, parse_options, problem_from
from .program import DONE, FAILED, add_command
from .streams import chatter_among_errors

if TYPE_CHECKING:
    from ..problem import Problem


def add_parser(subparsers: Any) -> None:
    parser = add_command(
        subparsers,
        "solve",
        _solve,
        "minimise one bound",
        "Find the posterior with the least bound; print its bound, risk and weights, and whether it is proven.\n\n"
        "  pacb solve risks.csv --m 549 --delta 0.01 --distance kl\n"
        "  pacb solve risks.csv --m 549 --direct --constant one-sided\n"
        "  pacb solve models/one-good-01.json       a problem that 'pacb export' wrote\n"
        "  pacb solve risks.csv --m 549 --at-most latency=25 --weights-at-most 0.2\n"
        "  pacb solve risks.csv --m 549 --solver ipopt --option formulation=substituted --json",
    )
    add_problem_arguments(parser, "the bound along the path of optimal posteriors, with this solution on it")
    add = parser.add_argument
    add("--solver", default="auto", help=f"a name that 'pacb doctor' lists, 'auto' for the exact one, or {SOLVER_FILE}")
    add("--option", action="append", default=[], metavar="NAME=VALUE", help="an option of the solver; repeatable")
    add("--proof", metavar="FILE", help="write the proof of the minimum, which 'pacb verify' checks")
    add("--json", action="store_true", help="print one JSON object with all fields and weights")
    add("--top", type=int, default=10, metavar="N", help="how many of the largest weights to print")

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


def _solve(options: argparse.Namespace) -> int:
    from ..files import check_writable
    from ..solving.registry import named_solver
    from ..solving.running import solve
    from ..validation import check_count

    check_count("--top", options.top, least=0)
    if options.proof is not None:
        check_writable("--proof", options.proof)
    problem, names = problem_from(options)
    method, settings = named_solver(options.solver), parse_options(options.option)
    with chatter_among_errors():
        solution = solve(problem, method, **settings)
    if options.json:
        print(json.dumps(solution.as_dict(), allow_nan=False))
    elif solution.posterior is None and solution.status == "error":
        raise RunStopped(f"solver {solution.solver!r} failed: {solution.message}")
    else:
        print(_describe(problem, solution, names, options.top))
    if options.proof is not None:
        solution.save_proof(options.proof)
    draw_path(options.plot, problem, solution)
    return DONE if solution.status in ("optimal", "acceptable") else FAILED


def _describe(problem: Problem, solution: Any, names: list[str], top: int) -> str:
    """Return a solution for reading."""
    risk = "true tandem risk" if solution.vote_statement else "true risk"
    sure = f"({risk} at most this, with probability at least {confidence_text(problem.delta)})"
    said = [("bound", f"{at_most(solution.bound, 10)}   {sure}")]
    if solution.vote_statement:
        vote = f"{at_most(solution.vote_bound, 10)}   (true risk of the weighted vote at most this)"
        said.append(("vote bound", vote))
    scope = "the global minimum" if solution.is_global else "not certified as global"
    said += [
        ("empirical risk", f"{solution.empirical_risk:.10f}   on {problem.m} examples"),
        ("divergence", f"{solution.divergence:.6g}   ({problem.divergence})"),
        ("support", f"{solution.support_size} of {problem.size} classifiers"),
        ("status", f"{solution.status}, {scope}" + (f": {solution.message}" if solution.message else "")),
    ]
    # Of a global minimum it is known to be the bound itself, but for rounding.
    if solution.lower_bound is not None and not solution.is_global:
        proven = at_least(solution.lower_bound, 10)
        said.append(("lower bound", f"{proven}   (no bound is smaller: the proof was checked)"))
    solver = one_line(solution.solver)
    if solution.claimed_lower_bound is not None:
        claimed = at_least(solution.claimed_lower_bound, 10)
        said.append(("claimed", f"{claimed}   ({solver} says that no bound is smaller; not proven)"))
    effort = "" if solution.iterations is None else f"{solution.iterations} iterations, "
    effort += f"{solution.seconds:.4f} s, KKT residual {solution.kkt_residual:.1e}"
    said.append(("solver", f"{solver}, {effort}"))
    constant = f"I(m) = {problem.constant_value:.6g} ({problem.constant})"
    said.append(("constant", f"{constant}, distance {problem.distance}"))
    if problem.posteriors is not None and solution.posterior is not None:
        from ..constraints.wording import ABOUT, findings

        sentences = [*findings(problem.posteriors, solution.posterior, solution.multipliers), ABOUT]
        said += zip(["constraints", *[""] * len(sentences)], sentences)
    if len(solution.local_minima):
        others = ", ".join(at_most(minimum.bound, 6) for minimum in solution.local_minima[:5])
        said.append(("local minima", f"{len(solution.local_minima)} more, with bounds {others}"))
    lines = [f"{what:<17}{sentence}" for what, sentence in said]
    if solution.posterior is not None and top > 0:
        cells = []
        for i in (-solution.posterior).argsort(kind="stable")[: min(top, solution.support_size)].tolist():
            cells.append([one_line(names[i]), f"{solution.posterior[i]:10.6f}", f"{problem.risks[i]:8.5f}"])
        lines += ["", *aligned([Column("name", numeric=False), Column("weight"), Column("risk")], cells)]
        if solution.support_size > top:
            lines.append(f"... and {solution.support_size - top} more (--top N or --json)")
    return "\n".join(lines)


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
