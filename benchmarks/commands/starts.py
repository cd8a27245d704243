"""``pacb starts``: the name of ``pacb bench --suite starts`` until version 0.2."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from pacb_models.commands.program import add_command, main


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the former name."""
    parser = add_command(subparsers, "starts", run, "the former name of 'bench --suite starts'")
    parser.add_argument("--starts", type=int, default=100, metavar="N", help="random starts")
    parser.add_argument("--solvers", metavar="A,B,...", help="only these solvers")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes")
    parser.add_argument("--out", required=True, metavar="DIR", help="where the results go")
    parser.add_argument("--resume", action="store_true", help="go on in a directory that holds results")
    return parser


def run(options: argparse.Namespace) -> int:
    """Say what it is called now, and do that."""
    given = [f"--{name}={getattr(options, name)}" for name in ("starts", "solvers", "jobs", "out")]
    words = ["bench", "--suite=starts", *(word for word in given if not word.endswith("=None"))]
    words += ["--resume"] if options.resume else []
    print(f"pacb starts is now: pacb {' '.join(words)}; this name works until version 0.4.", file=sys.stderr)
    return main(words)
