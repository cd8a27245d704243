"""``pacb verify``: check proofs in ball arithmetic."""

from __future__ import annotations

import argparse
from typing import Any

from .program import add_command


def add_parser(subparsers: Any) -> None:
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


def _verify(options: argparse.Namespace) -> int:
    from ..proofs.moments import constant
    from ..proofs.votes import verify

    codes = [verify.say(answer, options.files) for answer in (verify.verify, *[constant] * options.constant)]
    return verify.REFUTED if verify.REFUTED in codes else max(codes)
