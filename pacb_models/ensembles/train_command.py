"""``pacb train``: from data sets to risk files."""

from __future__ import annotations

import argparse
from typing import Any

_EXAMPLES = """examples:
  pacb train wdbc --count 50 --out wdbc.csv && pacb solve wdbc.csv --m 227 --distance kl
  pacb train all --data DIR --jobs 2 --out risks/ --resume
  pacb train my.csv --target label --missing drop --protocol hold-out --out risks.csv
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command to ``pacb``."""
    parser = subparsers.add_parser(
        "train",
        help="train the SVMs of a λ grid and write their risks",
        description="Train one SVM per λ and write its validation, test and training errors as a risk file.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("data", nargs="+", metavar="DATASET|FILE", help="a data set's name, 'all', or a CSV or Parquet file")
    add("--target", metavar="COLUMN", help="the class column of a file")
    add("--missing", default="refuse", help="rows of a file that lack a value: 'refuse' or 'drop' (refuse)")
    add("--ignore", metavar="COLUMN", action="append", default=[], help="a column of a file to leave out; repeatable")
    add("--grid", default="paper", help="the λ values: 'paper' or 'arithmetic-geometric' (paper)")
    add("--count", type=int, metavar="H", help="how many λ values of the paper's grid (1990)")
    add("--protocol", default="paper", help="'paper', own halves per SVM, or 'hold-out', one for all (paper)")
    add("--seed", type=int, default=0, help="determines all splits (0)")
    add("--jobs", type=int, default=1, metavar="N", help="SVMs trained at once, -1 for one per core (1)")
    add("--dask", metavar="ADDRESS", help="train on the workers of a Dask scheduler; the table is the same")
    add("--data", dest="data_dir", metavar="DIR", help="directory of the raw UCI files (the variable PACB_DATA)")
    add("--out", metavar="FILE|DIR", help="the risk file, or for several data sets their directory (standard output)")
    add("--resume", action="store_true", help="go on with an interrupted run; keep files that are complete")
    add("--no-risk-column", dest="risk_column", action="store_false", help="write error counts only")
    parser.set_defaults(run=run)
    return parser


def run(options: argparse.Namespace) -> int:
    """Train on each data set in turn; the exit code."""
    from .training import train_all

    return train_all(options)
