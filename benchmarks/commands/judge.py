"""``pacb judge``: what other people's solvers wrote, recomputed and compared with the proven optimum."""

import argparse
import json
import math
from dataclasses import fields
from pathlib import Path
from typing import Any

from pacb_models.commands.program import DONE, FAILED, add_command
from pacb_models.errors import InputError
from pacb_models.wording import shown

_DESCRIPTION = (
    "Recompute bound, violation and KKT residual from the weights in a solution file, and compare them with the\n"
    "proven optimum. Files: .sol of AMPL's solvers (with the .col of the export), or of SCIP, HiGHS and Gurobi;\n"
    ".lst and .gdx of GAMS; .csv with one weight per line or a column 'weight'; .json with a list 'posterior'.\n"
    "Exit code 1: a solver claims what does not hold.\n\n"
    "  pacb export wdbc-H50-kl-exact --format nl --out models\n"
    "  ipopt models/wdbc-H50-kl-exact.nl -AMPL\n"
    "  pacb judge models/wdbc-H50-kl-exact.json models/wdbc-H50-kl-exact.sol --into results/mine"
)


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command ``judge``."""
    summary = "say what the solution file of another solver is worth"
    parser = add_command(subparsers, "judge", run, summary, _DESCRIPTION)
    add = parser.add_argument
    add("problem", metavar="PROBLEM", help="the JSON that 'pacb export' wrote, or a problem's name")
    add("solutions", nargs="+", metavar="SOLUTION", help="a .sol, .lst, .gdx, .csv or .json file")
    add("--solver", metavar="NAME", help="what to call the solver; as its file says by default")
    add("--into", metavar="DIR", help="add the rows to the results of 'pacb bench' there")
    add("--json", action="store_true", help="print one JSON object")
    return parser


def run(options: argparse.Namespace) -> int:
    """Judge every file; 1 when one of them claims what does not hold."""
    # Imported here: ``pacb --help`` must not wait for NumPy.
    from ..harness.submissions import Judge, Worth, add_to_log, solver_of
    from ..harness.suites import problems_named
    from ..problems.export import PROOF
    from ..problems.problem import from_file
    from ..problems.solution_files import read_solution

    text, columns, proof = options.problem, [], None
    if text.endswith(".json"):
        # What the export wrote beside it: the names of the variables, and the proof.
        recipe, stem = from_file(text), text.removesuffix(".json")
        columns, proof = [Path(f"{stem}.col")], stem + PROOF if Path(stem + PROOF).is_file() else None
    elif len(named := problems_named(text)) == 1:
        recipe = named[0]
    else:
        more = f"; {named[0].name!r} is one" if named else ""
        raise InputError(f"PROBLEM is {text!r}, which {len(named)} problems have as the beginning of a name{more}.")
    judge = Judge(recipe)
    findings = {}
    for text in options.solutions:
        found = read_solution(text, judge.problem.size, columns)
        findings[text] = judge.judge(found, solver_of(found, Path(text), options.solver))
    if options.json:
        told = {"problem": recipe.name, "optimum": judge.optimum, "proof": proof}
        solutions = [
            {"file": text, "solver": finding.solver, "verdict": finding.verdict, "sentence": finding.sentence}
            | {field.name: _plain(getattr(finding.numbers, field.name, None)) for field in fields(Worth)}
            for text, finding in findings.items()
        ]
        print(json.dumps(told | {"solutions": solutions}, allow_nan=False))
    else:
        for text, finding in findings.items():
            print(shown(f"{text}: {finding.solver}: {finding.sentence}"))
        if proof is not None:
            print(f"The optimum is proven by {proof} ('pacb verify' checks it).")
    if options.into is not None:
        names = [finding.solver for finding in findings.values()]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"--into takes one solution of each solver; {twice!r} has {names.count(twice)}.")
        add_to_log(options.into, recipe, list(findings.values()))
    return FAILED if any(finding.wrong for finding in findings.values()) else DONE


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
