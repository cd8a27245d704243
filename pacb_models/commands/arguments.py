"""The arguments that describe a problem, solvers, their options and a picture, and what they stand for."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..names import CONSTANTS, DISTANCES
from .program import refuse_ignored

if TYPE_CHECKING:
    from ..constraints import Constraint
    from ..problem import Problem
    from ..risk_file import RiskFile

#: The names of the arguments that constrain the posterior, that describe a bound, and a problem beside its risks.
CONSTRAINTS = ("at_most", "at_least", "weights_at_most", "weights_at_least", "support_at_most", "sizes")
BOUND = ("delta", "distance", "divergence", "order", "constant")
_OF_RISKS = ("m", "direct", *BOUND, *CONSTRAINTS)

#: For the help of ``--solver`` and ``--solvers``.
SOLVER_FILE = "FILE.py:SOLVER for an object in a Python file, nl:PROGRAM for a program that reads .nl files"

_FORM = "COLUMN=NUMBER"
_RISKS_HELP = (
    "one risk per line, or a CSV with a column 'risk' and optionally 'prior', 'name' and columns for constraints; "
    "'-' reads standard input; or a problem as JSON, which 'pacb export' writes and which needs no options"
)


def add_problem_arguments(parser: argparse.ArgumentParser, plot: str = "") -> None:
    """Add what describes one problem, and where there is something to ``plot``, the option for it."""
    add = parser.add_argument
    add("risks", metavar="RISKS.csv|PROBLEM.json", help=_RISKS_HELP)
    add("--m", type=int, help="number of examples on which each risk was measured")
    add("--direct", action="store_true", help="the bound without change of measure: convex and never larger")
    add_bound_arguments(parser)
    add_constraint_arguments(parser)
    parser.set_defaults(plot=None)
    if plot:
        add_plot_argument(parser, plot)


def add_bound_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what describes a bound."""
    add = parser.add_argument
    add("--delta", type=float, default=0.05, help="the bound holds with probability at least 1 - delta")
    add("--distance", default="kl", help=f"one of {', '.join(DISTANCES['kl'])}")
    add("--divergence", default="chi2", help=f"one of {', '.join(DISTANCES)}")
    add("--order", type=float, default=2.0, help="Rényi order, with --divergence renyi")
    meaning = "'one-sided' is smaller and as valid, 'paper' reproduces printed figures"
    add("--constant", default="exact", help=f"one of {', '.join(CONSTANTS)}; {meaning}")


def add_constraint_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what constrains the posterior of one problem; averages and sizes are columns of the risk file."""
    add = parser.add_argument_group(
        "constraints on the posterior",
        "The bound stays valid whatever they are. "
        "A constraint is about averages on the sample; the bound is about true risk.",
    ).add_argument
    for word in ("most", "least"):
        text = f"the average of a column of the risk file is at {word} this number; repeatable"
        add(f"--at-{word}", action="append", default=[], metavar=_FORM, help=text)
    for word in ("most", "least"):
        add(f"--weights-at-{word}", type=float, metavar="WEIGHT", help=f"every weight is at {word} this")
    add("--support-at-most", type=int, metavar="K", help="at most this many classifiers have weight")
    text = "the classifiers with weight have at most this sum of a column (a memory, say)"
    add("--sizes", metavar=_FORM, help=text)


def add_plot_argument(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the option that asks for a picture."""
    parser.add_argument("--plot", metavar="FILE", help=f"draw {what}, into a file that ends in .svg, .pdf or .png")


def problem_from(options: argparse.Namespace) -> tuple[Problem, list[str]]:
    """Return the problem that the arguments describe, or that is in a JSON file, and the classifiers' names."""
    from ..direct import DirectProblem
    from ..problem import BoundProblem
    from ..problem_file import read_problem
    from ..risk_file import read_risk_file

    check_plot(options.plot)
    problem: Problem
    if options.risks.endswith(".json"):
        refuse_ignored(options, _OF_RISKS, "needs a file of risks; a problem as JSON has its own")
        problem = read_problem(options.risks)[1]
        names = [str(number) for number in range(problem.size)]
    elif options.m is None:
        raise InputError("--m is missing; a file of risks needs the number of examples.")
    else:
        if options.divergence != "renyi":
            refuse_ignored(options, ["order"], "needs --divergence renyi")
        content = read_risk_file(options.risks)
        bound = {name: getattr(options, name) for name in ("m", *BOUND)}
        form, constraints = DirectProblem if options.direct else BoundProblem, constraints_from(options, content)
        problem = form(content.values, prior=content.prior, constraints=constraints, **bound)
        names = content.names
    if options.plot and (problem.kind != "bound" or problem.constraints):
        raise InputError("--plot draws a bound along its path of optimal posteriors, which this problem does not have.")
    return problem, names


def constraints_from(options: argparse.Namespace, table: RiskFile) -> list[Constraint]:
    """Return the constraints that the arguments describe."""
    from ..constraints import average, support, weights

    limits: dict[str, dict[str, Any]] = {}
    for side in ("at_most", "at_least"):
        for text in getattr(options, side):
            option = f"--{side.replace('_', '-')}"
            name, number = _column_and_number(option, text)
            known = limits.setdefault(name.lower(), {"name": name})
            if side in known:
                raise InputError(f"{option} is given twice for the column {name!r}; it must be given once.")
            known[side] = number
    found: list[Constraint] = [average(table.column(given["name"]), **given) for given in limits.values()]
    if options.weights_at_most is not None or options.weights_at_least is not None:
        found.append(weights(options.weights_at_most, options.weights_at_least))
    if options.support_at_most is not None:
        found.append(support(at_most=options.support_at_most))
    if options.sizes is not None:
        name, total = _column_and_number("--sizes", options.sizes)
        found.append(support(sizes=table.column(name), total=total))
    return found


def _column_and_number(option: str, text: str) -> tuple[str, float]:
    name, _, number = text.rpartition("=")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not name.strip() or not math.isfinite(value):
        raise InputError(option, text, f"it must have the form {_FORM}")
    return name.strip(), value


def check_plot(path: str | None) -> None:
    """Refuse a picture that cannot be written before anything is computed for it."""
    if path is not None:
        from ..plots.style import check_picture

        check_picture(path)


def draw_path(path: str | None, problem: Any, solutions: Any) -> None:
    """Draw the bound along its path, with solutions on it, where a picture is asked for."""
    if path is not None:
        from ..plots import PathDisplay

        PathDisplay.from_problem(problem, solutions).save(path)


def named_solvers(text: str | None) -> list[str] | None:
    """Return the names in ``--solvers A,B,FILE.py:SOLVER``; None where nothing was chosen."""
    from ..solving.registry import named_solver

    return None if text is None else list(dict.fromkeys(named_solver(word.strip()) for word in text.split(",")))


def parse_options(pairs: Sequence[str]) -> dict[str, Any]:
    """``NAME=VALUE`` pairs as keyword arguments; a value is read as JSON where it is JSON, else as text."""
    options = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.isidentifier():
            raise InputError("--option", pair, "it must have the form NAME=VALUE")
        if name in ("problem", "solver"):
            raise InputError(f"--option is {pair!r}, but the {name} is no option of a solver.")
        try:
            options[name] = json.loads(text)
        except (ValueError, RecursionError):
            options[name] = text
    return options
