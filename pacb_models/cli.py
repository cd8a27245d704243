"""The command line, ``pacb``.

The commands on a single problem live here. Larger ones (``bench``, ``reproduce``, ``train``, ``certify``) are found
through the entry-point group ``pacb_models.commands``: a function ``add_parser(subparsers)`` that adds one command
and sets its ``run``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from . import __version__, streams
from .errors import InputError, RunStopped, SolverUnavailableError
from .names import CONSTANTS, DISTANCES
from .plugins import load, load_all, registered
from .wording import at_least, at_most, confidence_text, one_line

if TYPE_CHECKING:
    from .problem import Problem

DONE, FAILED, BAD_INPUT = 0, 1, 2

#: The entry-point group of further commands.
GROUP = "pacb_models.commands"

_DISTANCE_NAMES = tuple(dict.fromkeys(name for names in DISTANCES.values() for name in names))

_RISKS_HELP = (
    "one risk per line, or a CSV with a column 'risk' and optionally 'prior' and 'name'; '-' reads standard input"
)


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaint is one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: {message} (see '{self.prog} --help')\n")


class HelpFormatter(argparse.RawDescriptionHelpFormatter, argparse.ArgumentDefaultsHelpFormatter):
    """Examples keep their line breaks; options show their defaults."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default in (None, False, argparse.SUPPRESS):
            return action.help
        return super()._get_help_string(action)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0: done, 1: a solver failed or solvers disagree, 2: bad input."""
    streams.prepare()
    try:
        return _answered(sys.argv[1:] if arguments is None else arguments)
    finally:
        streams.flush_errors()


def _answered(arguments: Sequence[str]) -> int:
    """The exit code of one command; whatever ends it is said in one line."""
    command = next((f" {word}" for word in arguments if not word.startswith("-")), "")
    try:
        try:
            return _run(arguments, command.strip())
        finally:
            streams.flush_output()
    except InputError as reason:
        return _complain(command, reason, BAD_INPUT)
    except (SolverUnavailableError, RunStopped) as reason:
        return _complain(command, reason, FAILED)
    except BrokenPipeError:
        return DONE  # the reader of our output (head, less) left
    except OSError as reason:
        where = f": {reason.filename}" if reason.filename else ""
        return _complain(command, f"{reason.strerror or reason}{where}", FAILED)
    except KeyboardInterrupt:
        return _complain(command, "interrupted", 130)


def _run(arguments: Sequence[str], command: str) -> int:
    options = build_parser(command).parse_args(arguments)
    return options.run(options)


def _complain(command: str, reason: object, status: int) -> int:
    # One line, whatever the message quotes; where it cannot be written, the status says it.
    with suppress(OSError):
        print(f"pacb{command}: {' '.join(str(reason).split())}", file=sys.stderr)
    return status


def build_parser(command: str = "") -> argparse.ArgumentParser:
    """The parser with our commands and those that are plugged in; of the latter only ``command``, when that is one."""
    parser = Parser(
        prog="pacb",
        description="What validation errors guarantee of a set of classifiers: certificates, and PAC-Bayesian bounds.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"pacb {__version__}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in _COMMANDS.values():
        add(subparsers)
    if command not in _COMMANDS:
        _add_plugged_in(subparsers, command)
    return parser


def _add_plugged_in(subparsers: Any, command: str) -> None:
    entry = next((entry for entry in registered(GROUP) if entry.name == command), None)
    if entry is None:
        load_all(GROUP, lambda add: add(subparsers))
    else:
        load(entry, lambda add: add(subparsers))


def add_command(subparsers: Any, name: str, run: Any, summary: str, description: str = "") -> argparse.ArgumentParser:
    """Add one command in the common form; for our commands and plugged-in ones alike."""
    parser = subparsers.add_parser(
        name, help=summary, description=description or summary, formatter_class=HelpFormatter
    )
    parser.set_defaults(run=run)
    return parser


def add_problem_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that describe one problem."""
    parser.add_argument("risks", metavar="RISKS.csv", help=_RISKS_HELP)
    parser.add_argument("--m", type=int, required=True, help="number of examples on which each risk was measured")
    parser.add_argument(
        "--direct", action="store_true", help="the bound without change of measure: convex and never larger"
    )
    add_bound_arguments(parser)


def add_bound_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that describe a bound."""
    parser.add_argument("--delta", type=float, default=0.05, help="the bound holds with probability at least 1 - delta")
    parser.add_argument("--distance", default="kl", help=f"one of {', '.join(_DISTANCE_NAMES)}")
    parser.add_argument("--divergence", default="chi2", help=f"one of {', '.join(DISTANCES)}")
    parser.add_argument("--order", type=float, default=2.0, help="Rényi order, with --divergence renyi")
    parser.add_argument(
        "--constant",
        default="exact",
        help=f"one of {', '.join(CONSTANTS)}; 'one-sided' is smaller and as valid, 'paper' reproduces printed figures",
    )


def problem_from(options: argparse.Namespace) -> tuple[Problem, list[str]]:
    """The problem that the arguments describe, and the classifiers' names."""
    from .direct import DirectProblem
    from .problem import BoundProblem
    from .risk_file import read_risk_file

    if options.direct and options.plot:
        raise InputError("--plot draws a bound along its path of optimal posteriors, which direct bounds do not have.")
    content = read_risk_file(options.risks)
    problem = (DirectProblem if options.direct else BoundProblem)(
        content.risks,
        m=options.m,
        delta=options.delta,
        distance=options.distance,
        divergence=options.divergence,
        prior=content.prior,
        constant=options.constant,
        order=options.order,
    )
    return problem, content.names


def add_plot_argument(parser: argparse.ArgumentParser, what: str) -> None:
    """The option that asks for a picture."""
    parser.add_argument("--plot", metavar="FILE", help=f"draw {what}, into a file that ends in .svg, .pdf or .png")


def check_plot(path: str | None) -> None:
    """Refuse a picture that cannot be written before anything is computed for it."""
    if path is not None:
        from .plots.style import check_picture

        check_picture(path)


def _draw_path(path: str | None, problem: Any, solutions: Any) -> None:
    if path is not None:
        from .plots import PathDisplay

        PathDisplay.from_problem(problem, solutions).save(path)


def parse_options(pairs: Sequence[str]) -> dict[str, Any]:
    """``NAME=VALUE`` pairs as keyword arguments; a value is read as JSON where it is JSON, else as text."""
    options = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.isidentifier():
            raise InputError(f"--option is {pair!r}; it must have the form NAME=VALUE.")
        if name in ("problem", "solver"):
            raise InputError(f"--option is {pair!r}, but the {name} is no option of a solver.")
        try:
            options[name] = json.loads(text)
        except json.JSONDecodeError:
            options[name] = text
    return options


def _add_solve(subparsers: Any) -> None:
    parser = add_command(
        subparsers,
        "solve",
        _solve,
        "minimise one bound",
        "Minimise one bound and print the posterior's certificate.\n\n"
        "  pacb solve risks.csv --m 549 --delta 0.01 --distance kl\n"
        "  pacb solve risks.csv --m 549 --direct --constant one-sided\n"
        "  pacb solve risks.csv --m 549 --solver ipopt --option formulation=direct --json",
    )
    add_problem_arguments(parser)
    parser.add_argument("--solver", default="auto", help="a name that 'pacb doctor' lists, or 'auto' for the exact one")
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="an option of the solver; repeatable"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object with all fields and weights")
    parser.add_argument("--top", type=int, default=10, metavar="N", help="how many of the largest weights to print")
    add_plot_argument(parser, "the bound along the path of optimal posteriors, with this solution on it")


def _solve(options: argparse.Namespace) -> int:
    from .registry import solve
    from .validation import check_count

    check_count("--top", options.top, least=0)
    check_plot(options.plot)
    problem, names = problem_from(options)
    solution = solve(problem, options.solver, **parse_options(options.option))
    if options.json:
        print(json.dumps(solution.as_dict(), allow_nan=False))
    else:
        print(_describe(problem, solution, names, options.top))
    _draw_path(options.plot, problem, solution)
    return DONE if solution.status in ("optimal", "acceptable") else FAILED


def _describe(problem: Problem, solution: Any, names: list[str], top: int) -> str:
    """A solution for reading."""
    scope = "the global minimum" if solution.is_global else "not certified as global"
    lines = [
        f"bound            {at_most(solution.bound, 10)}   (true risk at most this, with probability at least "
        f"{confidence_text(problem.delta)})",
        f"empirical risk   {solution.empirical_risk:.10f}   on {problem.m} examples",
        f"divergence       {solution.divergence:.6g}   ({problem.divergence})",
        f"support          {solution.support_size} of {problem.size} classifiers",
        f"status           {solution.status}, {scope}" + (f": {solution.message}" if solution.message else ""),
        *_proven(solution),
        f"solver           {solution.solver}, {_effort(solution)}, KKT residual {solution.kkt_residual:.1e}",
        f"constant         I(m) = {problem.constant_value:.6g} ({problem.constant}), distance {problem.distance}",
    ]
    if len(solution.local_minima):
        others = ", ".join(at_most(minimum.bound, 6) for minimum in solution.local_minima[:5])
        lines.append(f"local minima     {len(solution.local_minima)} more, with bounds {others}")
    if solution.posterior is not None and top > 0:
        order = (-solution.posterior).argsort(kind="stable")[: min(top, solution.support_size)]
        shown = {i: one_line(names[i]) for i in order.tolist()}
        width = max(len(name) for name in ["name", *shown.values()])
        lines.append(f"\n{'name'.ljust(width)}  {'weight':>10}  {'risk':>8}")
        for i, name in shown.items():
            lines.append(f"{name.ljust(width)}  {solution.posterior[i]:10.6f}  {problem.risks[i]:8.5f}")
        if solution.support_size > top:
            lines.append(f"... and {solution.support_size - top} more (--top N or --json)")
    return "\n".join(lines)


def _proven(solution: Any) -> list[str]:
    # Of a global minimum it is known to be the bound itself, but for rounding.
    if solution.lower_bound is None or solution.is_global:
        return []
    proven = at_least(solution.lower_bound, 10)
    return [f"lower bound      {proven}   (no posterior has a smaller bound, as the solver proves)"]


def _effort(solution: Any) -> str:
    count = "" if solution.iterations is None else f"{solution.iterations} iterations, "
    return f"{count}{solution.seconds:.4f} s"


def _add_check(subparsers: Any) -> None:
    parser = add_command(
        subparsers,
        "check",
        _check,
        "cross-check every solver on one problem",
        "Run every solver that can handle the problem and compare them with the certified optimum.\n"
        "Exit code 1 when one fails or disagrees.\n\n"
        "  pacb check risks.csv --m 549 --distance squared\n"
        "  pacb check risks.csv --m 549 --distance squared --direct",
    )
    add_problem_arguments(parser)
    parser.add_argument("--solvers", metavar="A,B,...", help="which solvers; all that can by default")
    parser.add_argument(
        "--tol", type=float, default=1e-7, help="largest difference between bounds that counts as agreement"
    )
    parser.add_argument(
        "--time-limit", type=float, default=60.0, metavar="SECONDS", help="for each solver that keeps one"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_plot_argument(parser, "the bound along the path of optimal posteriors, with every solver's point on it")


def _check(options: argparse.Namespace) -> int:
    from .checking import cross_check

    check_plot(options.plot)
    problem, _ = problem_from(options)
    names = options.solvers.split(",") if options.solvers else None
    table = cross_check(problem, names, options.tol, time_limit=options.time_limit)
    if options.json:
        print(json.dumps(table.as_dict(), allow_nan=False))
    else:
        table.show()
    _draw_path(options.plot, problem, table.solutions)
    return DONE if table.agree else FAILED


def _add_constants(subparsers: Any) -> None:
    parser = add_command(
        subparsers,
        "constants",
        _constants,
        "the moment constants I(m)",
        "Print the moment constant I(m) of each distance: exact, one-sided, and as printed in the paper.\n\n"
        "  pacb constants --m 1000",
    )
    parser.add_argument("--m", type=int, required=True, nargs="+", help="sample sizes")
    parser.add_argument("--divergence", default=None, help=f"one of {', '.join(DISTANCES)}; chi2 and kl by default")
    parser.add_argument("--order", type=float, default=2.0, help="Rényi order, with --divergence renyi")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _constants(options: argparse.Namespace) -> int:
    from .constants import check_names, moment_constant
    from .validation import check_order

    chosen = [options.divergence] if options.divergence else ["chi2", "kl"]
    rows = []
    for divergence in chosen:
        check_names("linear", divergence, "exact")
        order = check_order(options.order) if divergence == "renyi" else 2.0
        for distance in DISTANCES[divergence]:
            for m in options.m:
                exact, one_sided = (
                    moment_constant(distance, m, constant, divergence, order) for constant in ("exact", "one-sided")
                )
                paper = None if divergence == "renyi" else moment_constant(distance, m, "paper", divergence, order)
                names = {"m": m, "divergence": divergence, "distance": distance}
                rows.append({**names, "exact": exact, "one-sided": one_sided, "paper": paper})
    if options.json:
        finite = [{key: None if value == float("inf") else value for key, value in row.items()} for row in rows]
        print(json.dumps({"constants": finite}, allow_nan=False))
        return DONE
    _print_constants(rows)
    return DONE


def _print_constants(rows: list[dict[str, Any]]) -> None:
    from . import terminal

    lines = [
        f"{'m':>10}  {'divergence':<10}  {'distance':<8}  "
        f"{'exact':>12}  {'one-sided':>12}  {'paper':>12}  {'paper/exact':>11}"
    ]
    cells = []
    for row in rows:
        paper = "-" if row["paper"] is None else f"{row['paper']:.6g}"
        ratio = "-" if row["paper"] is None else f"{row['paper'] / row['exact']:.4g}"
        exact, one_sided = f"{row['exact']:.6g}", f"{row['one-sided']:.6g}"
        names = [str(row["m"]), row["divergence"], row["distance"]]
        lines.append(
            f"{names[0]:>10}  {names[1]:<10}  {names[2]:<8}  {exact:>12}  {one_sided:>12}  {paper:>12}  {ratio:>11}"
        )
        cells.append(terminal.Row([*names, exact, one_sided, paper, ratio], False if _too_small(row) else None))
    titles = ("m", "divergence", "distance", "exact", "one-sided", "paper", "paper/exact")
    columns = [terminal.Column(title, title not in ("divergence", "distance")) for title in titles]
    verdict = terminal.Row(_verdict_on_the_paper(rows), not any(map(_too_small, rows)))
    terminal.show(verdict, [terminal.Grid("", columns, cells)], "\n".join(lines))


def _verdict_on_the_paper(rows: list[dict[str, Any]]) -> list[str]:
    """One sentence on the paper's constants, none where it has none."""
    printed = [row for row in rows if row["paper"] is not None]
    if not printed:
        return []
    small = [f"{row['divergence']} {row['distance']} at m = {row['m']}" for row in filter(_too_small, printed)]
    if small:
        return [f"The paper's constant is too small, and its bound not proven, for {', '.join(small)}."]
    loosest = max(printed, key=lambda row: row["paper"] / row["exact"])
    ratio = f"{loosest['paper'] / loosest['exact']:.4g} times the exact one"
    where = f"{loosest['divergence']}, {loosest['distance']}, m = {loosest['m']}"
    return [f"No constant of the paper is too small; the loosest is {ratio} ({where})."]


def _too_small(row: dict[str, Any]) -> bool:
    """True when the paper's constant is below the exact one by more than the rounding of a printed number."""
    return row["paper"] is not None and row["paper"] < row["exact"] * (1.0 - 1e-6)


def _add_doctor(subparsers: Any) -> None:
    parser = add_command(
        subparsers, "doctor", _doctor, "which solvers work here, versions, and how to get the missing ones"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _doctor(options: argparse.Namespace) -> int:
    from . import doctor

    report = doctor.examine()
    if options.json:
        print(json.dumps(report, allow_nan=False))
    else:
        doctor.print_report(report)
    return DONE


#: The commands that need no look at what is installed.
_COMMANDS = {"solve": _add_solve, "check": _add_check, "constants": _add_constants, "doctor": _add_doctor}
