"""``pacb export``: problems as files for other people's solvers, with their certified optima."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacb_models.commands.arguments import (
    BOUND,
    CONSTRAINTS,
    add_bound_arguments,
    add_constraint_arguments,
    constraints_from,
)
from pacb_models.commands.program import DONE, add_command, refuse_ignored
from pacb_models.errors import InputError

# Problems and suites are imported where they are used: ``pacb --help`` must not wait for NumPy.
if TYPE_CHECKING:
    from ..problems.problem import Problem


_DESCRIPTION = (
    "Write problems as models that other solvers read, with names and a start, and beside each a JSON file (data,\n"
    "certified optimum, posterior, local minima) and the proof that 'pacb verify' checks. Formats: nl (AMPL's\n"
    "solvers), gms (GAMS), bar (BARON); for chi2, lp and mps (quadratic rows of the linear and the squared\n"
    "distance, for SCIP, Gurobi, CPLEX; or a quadratic objective, for HiGHS); for the linear distance, clarabel\n"
    "(cones); tex, to read; inc and jl, the bound for a model of your own in GAMS and JuMP.\n\n"
    "  pacb export one-good-01 --out models     an instance of the collection 'hard'\n"
    "  pacb export wdbc-H50-kl-exact --out models\n"
    "  pacb export hard --out build/hard --archive dist/hard.tar.xz\n"
    "  pacb export risks.csv --m 549 --distance squared --format lp --out models\n"
    "  pacb export risks.csv --m 549 --at-most latency=25 --format nl --out models\n"
    "  pacb export one-good-01 --format mps --formulation touching --out models\n"
    "  pacb export risks.csv --m 549 --format jl --out blocks"
)


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command ``export``."""
    summary = "write problems as .nl, .gms, .bar, .lp, ... files, with their optima"
    parser = add_command(subparsers, "export", run, summary, _DESCRIPTION)
    add = parser.add_argument
    text = "a problem by its name or the beginning of it, all problems of a suite, or a risk file (with --m)"
    add("problems", nargs="+", metavar="PROBLEM|SUITE|RISKS.csv", help=text)
    add("--out", required=True, metavar="DIR", help="where the files go")
    add("--format", action="append", help="repeatable; 'nl', 'gms' and 'bar' by default")
    text = "'lifted'; 'substituted', the paper's, dense; 'squares', without roots, as lp and mps have it by default; "
    add("--formulation", help=f"{text}'touching', a quadratic program with the same minimum")
    add("--no-suffixes", action="store_true", help="without scaling factors, which some readers refuse")
    add("--floors", action="store_true", help="tiny lower bounds, for solvers that would evaluate log at zero")
    add("--largest", type=int, metavar="H", help="above, only the JSON is written (default 10000)")
    add("--archive", metavar="FILE.tar.xz", help="also pack everything, with an index, a README and the checker")
    add("--m", type=int, help="sample size of the risk files")
    add_bound_arguments(parser)
    add_constraint_arguments(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Write every problem asked for, once."""
    if sys.flags.optimize > 1:
        raise InputError("export does not run without docstrings, which Pyomo reads; leave out -OO or PYTHONOPTIMIZE.")
    from pacb_models.validation import check_choice

    from ..problems.export import LARGEST_MODEL, export, pack
    from ..problems.model_files import DEFAULT, FORMATS, FORMULATIONS

    if options.archive is not None and not options.archive.endswith(".tar.xz"):
        # Nothing that is exported, or exported from, ends like this.
        raise InputError("--archive", options.archive, "it must end in '.tar.xz'")
    if not any(map(_is_file, options.problems)):
        refuse_ignored(options, ("m", *BOUND, *CONSTRAINTS), "describes risk files, and none is given")
    if options.divergence != "renyi":
        refuse_ignored(options, ["order"], "needs --divergence renyi")
    formats = [check_choice("--format", name, tuple(FORMATS)) for name in options.format or DEFAULT]
    form = options.formulation and check_choice("--formulation", options.formulation, tuple(FORMULATIONS))
    largest = LARGEST_MODEL if options.largest is None else options.largest
    recipes: dict[str, Problem] = {}
    for recipe in (each for text in options.problems for each in _recipes(text, options)):
        # By name, which is that of their files: the same one may be asked for twice, but not two of one name.
        if (first := recipes.setdefault(recipe.name, recipe)).identity != recipe.identity:
            both = f"{first.family!r} and {recipe.family!r} would both be written as {recipe.name!r}"
            raise InputError(f"{both}; export them into different directories.")
    written: list[Path] = []
    for recipe in recipes.values():
        written += export(recipe, options.out, formats, form, largest, not options.no_suffixes, options.floors)
    print(f"{len(recipes)} problem{'s' * (len(recipes) > 1)}, {len(written)} files in {options.out}", file=sys.stderr)
    if options.archive:
        pack(options.out, written, options.archive, largest)
        print(f"packed into {options.archive}", file=sys.stderr)
    return DONE


def _is_file(text: str) -> bool:
    """Return whether this is meant as a risk file."""
    return text.endswith(".csv") or Path(text).is_file()


def _recipes(text: str, options: argparse.Namespace) -> list[Problem]:
    """Return the problems that one argument stands for."""
    from pacb_models.risk_file import read_risk_file

    from ..harness.suites import problems_named, suite, suite_lines
    from ..problems.problem import of_risk_file

    if _is_file(text):
        if options.m is None:
            raise InputError("a risk file needs --m, the number of examples on which the risks were measured.")
        content, name = read_risk_file(text), f"{Path(text).stem}-{options.divergence}-{options.distance}"
        bound = {name: getattr(options, name) for name in ("m", *BOUND)}
        return [of_risk_file(name, text, content, constraints_from(options, content), **bound)]
    if text in suite_lines():
        return list({cell.problem.name: cell.problem for cell in suite(text).cells}.values())
    if found := problems_named(text):
        return found
    raise InputError(
        f"{text!r} is neither a suite ({', '.join(suite_lines())}) nor a risk file, and no problem's name begins with "
        "it; names are like 'wdbc-H50-kl-exact', or in the first column of 'hard.csv' and 'constrained.csv'."
    )
