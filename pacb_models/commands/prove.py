"""``pacb prove`` and ``pacb verify``: proofs of global minima as files, and their check in ball arithmetic."""

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

    parser = add_command(
        subparsers,
        "verify",
        _verify,
        "check proofs of global minima",
        "Check proofs in ball arithmetic, without the solvers: pacb_models/proofs/verify.py, which runs alone, too\n"
        "(with votes.py for votes, and moments.py for constants).\n"
        "Exit code 0: all are proven; 1: one is refuted; 2: one is undecided or cannot be read.\n\n"
        "  pacb verify proof.json",
    )
    parser.add_argument(
        "--constant", action="store_true", help="also say whether the moment constant is large enough, up to m = 10000"
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a proof that 'pacb prove' has written")


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


def _verify(options: argparse.Namespace) -> int:
    from ..proofs.moments import constant
    from ..proofs.votes import verify

    codes = [verify.say(answer, options.files) for answer in (verify.verify, *[constant] * options.constant)]
    return verify.REFUTED if verify.REFUTED in codes else max(codes)
