"""``pacb certificate``: the smallest certificate from error counts."""

from __future__ import annotations

import argparse
from typing import Any

from .cli import add_command, add_plot_argument, check_plot


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command ``certificate``."""
    parser = add_command(
        subparsers,
        "certificate",
        run,
        "the smallest certificate from error counts",
        "Print what the error counts of a set of classifiers guarantee: a bound for each classifier alone, the best\n"
        "first, and one for a random choice among them, all valid together with probability 1 - delta.\n\n"
        "  printf 'name,errors\\nforest,23\\nboosting,21\\n' > counts.csv\n"
        "  pacb certificate counts.csv --m 549\n"
        "  pacb certificate counts.csv --m 549 --spread 3 --json\n"
        "  pacb certificate sums.csv --m 549 --losses\n"
        "  pacb certificate --predictions predictions/ --target label",
    )
    parser.add_argument(
        "counts",
        metavar="COUNTS.csv",
        nargs="?",
        help="one error count per line, or a CSV with a column 'errors' (or 'risk', exact multiples of 1/m) and "
        "optionally 'prior' and 'name'; '-' reads standard input",
    )
    parser.add_argument("--m", type=int, help="number of examples on which the errors were counted")
    parser.add_argument(
        "--predictions",
        nargs="+",
        metavar="FILE",
        help="instead of COUNTS.csv: CSV or Parquet files, or folders of them, with a column of predictions per "
        "classifier; errors are counted batch by batch, so that the files may be larger than memory",
    )
    parser.add_argument("--target", metavar="COLUMN", help="with --predictions: the column of the true labels")
    parser.add_argument("--ignore", default="", metavar="A,B,...", help="with --predictions: columns to leave out")
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
    return parser


def run(options: argparse.Namespace) -> int:
    """Read, certify, print."""
    check_plot(options.plot)
    # Outside the package of the certificates and imported here: ``pacb --help`` must not wait for NumPy.
    from .certificates import counts_file

    return counts_file.run(options)
