"""``pacb prove``: a proof of a global minimum as a file."""

from __future__ import annotations

import argparse
from typing import Any

from ..errors import RunStopped
from .arguments import add_problem_arguments, problem_from
from .program import DONE, add_command
from .streams import chatter_among_errors


def add_parser(subparsers: Any) -> None:
    parser = add_command(
        subparsers,
        "prove",
        _prove,
        "write a proof of a global minimum",
        "Minimise one bound and write a proof that 'pacb verify' checks without the solvers; it is checked at once.\n\n"
        "  pacb prove risks.csv --m 549 --out proof.json\n"
        "  pacb prove problem.json --out proof.json",
    )
    add_problem_arguments(parser)
    parser.add_argument("--out", required=True, metavar="FILE", help="the proof")


def _prove(options: argparse.Namespace) -> int:
    from ..files import check_writable
    from ..proofs.votes import verify
    from ..solving.running import solve

    check_writable("--out", options.out)
    problem: Any = problem_from(options)[0]
    with chatter_among_errors():
        solution = solve(problem)
    solution.save_proof(options.out)
    answer, sentence = verify.verify(options.out)
    if answer != verify.PROVEN:
        raise RunStopped(f"the proof in {options.out!r} is {sentence}")
    print(f"{options.out}: {sentence}")
    return DONE
