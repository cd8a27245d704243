"""``pacb certify``: a certificate from error counts, or from predictions."""

from __future__ import annotations

import argparse
from typing import Any

from ..cluster import say
from ..errors import InputError
from . import fit
from .program import add_command, add_plot_argument, check_plot


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command ``certify``."""
    parser = add_command(
        subparsers,
        "certify",
        run,
        "certify classifiers, from error counts or predictions",
        "Print what the error counts of a set of classifiers guarantee: a bound for each classifier alone, the best\n"
        "first, and one for a random choice among them, all valid together with probability 1 - delta.\n\n"
        "  printf 'name,errors\\nforest,23\\nboosting,21\\n' > counts.csv\n"
        "  pacb certify counts.csv --m 549\n"
        "  pacb certify counts.csv --m 549 --spread 3 --json\n"
        "  pacb certify sums.csv --m 549 --losses\n"
        "  pacb certify --predictions predictions/ --target label\n"
        "  pacb certify --predictions predictions/ --target label --choose 0.2    one of many, chosen on a part\n\n"
        "To train classifiers on a table and certify them: pacb fit.",
    )
    add_options(parser)
    # The command of this name trained on a table until version 0.2.
    hidden = _Hidden(parser)
    fit.add_options(hidden)
    parser.set_defaults(options_of_fit=hidden.added)
    return parser


def add_options(parser: argparse.ArgumentParser) -> None:
    """What a certificate is made from, and how it is shown."""
    parser.add_argument(
        "counts",
        metavar="COUNTS.csv",
        nargs="?",
        help="one error count per line, or a CSV with a column 'errors' (or 'risk', exact multiples of 1/m) and "
        "optionally 'prior' and 'name'; '-' reads standard input",
    )
    parser.add_argument("--m", type=int, help="with COUNTS.csv: number of examples on which the errors were counted")
    parser.add_argument(
        "--predictions",
        nargs="+",
        metavar="FILE",
        help="instead of COUNTS.csv: CSV or Parquet files, or folders of them, with a column of predictions per "
        "classifier; errors are counted batch by batch, so that the files may be larger than memory",
    )
    parser.add_argument("--target", metavar="COLUMN", help="with --predictions: the column of the true labels")
    parser.add_argument("--ignore", default="", metavar="A,B,...", help="with --predictions: columns to leave out")
    parser.add_argument(
        "--choose",
        type=float,
        metavar="SHARE",
        help="with --predictions: this share of the rows chooses one classifier, the others certify it alone",
    )
    parser.add_argument("--seed", type=int, default=0, help="of that division; fix it and the share beforehand")
    parser.add_argument("--delta", type=float, default=0.05, help="it holds with probability at least 1 - delta")
    parser.add_argument(
        "--spread",
        type=float,
        default=0.0,
        help="above 0, to be fixed beforehand: counts on classifiers that are nearly as good as the best (3 for grids)",
    )
    parser.add_argument(
        "--losses", action="store_true", help="the column is 'losses': sums of losses between 0 and 1, not errors"
    )
    parser.add_argument("--top", type=int, default=10, metavar="N", help="how many of the best classifiers to print")
    parser.add_argument("--json", action="store_true", help="print one JSON object with all fields")
    add_plot_argument(parser, "the best classifiers' observed errors and bounds")


def run(options: argparse.Namespace) -> int:
    """Read, certify, print."""
    given = [flag for dest, (flag, usual) in options.options_of_fit.items() if getattr(options, dest) != usual]
    if options.target is not None and not options.predictions:
        if options.m is not None or options.counts is None:
            raise InputError(
                "--target goes with --predictions; to train on a table: pacb fit TABLE.csv --target COLUMN."
            )
        say("pacb certify TABLE --target COLUMN is called pacb fit now; this name works until version 0.4.")
        options.file = options.counts
        return fit.run(options)
    if given:
        raise InputError(f"{given[0]} goes with pacb fit.")
    check_plot(options.plot)
    # Imported here: ``pacb --help`` must not wait for NumPy.
    from . import counts_file

    return counts_file.run(options)


class _Hidden:
    """Adds the options that a parser lacks, without a word in its help."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._parser = parser
        self._known = {flag for action in parser._actions for flag in action.option_strings}
        self.added: dict[str, tuple[str, Any]] = {}

    def add_argument(self, flag: str, **settings: Any) -> None:
        if flag not in self._known:
            action = self._parser.add_argument(flag, **{**settings, "help": argparse.SUPPRESS})
            self.added[action.dest] = (flag, action.default)
