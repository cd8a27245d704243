"""``pacb train``: from data sets to risk files."""

import argparse
from typing import Any

from pacb_models.commands.program import add_command


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command to ``pacb``."""
    parser = add_command(
        subparsers,
        "train",
        run,
        "train the SVMs of a λ grid, and write their risks",
        "Train one SVM per λ and write its validation, test and training errors as a risk file.\n\n"
        "  pacb train wdbc --count 50 --out wdbc.csv && pacb solve wdbc.csv --m 227 --distance kl\n"
        "  pacb train all --data DIR --jobs 2 --out risks/ --resume\n"
        "  pacb train my.csv --target label --missing drop --protocol hold-out --out risks.csv",
    )
    add = parser.add_argument
    add("data", nargs="+", metavar="DATASET|FILE", help="a data set's name, 'all', or a CSV or Parquet file")
    add("--target", metavar="COLUMN", help="the class column of a file")
    add("--missing", default="refuse", help="rows of a file that lack a value: 'refuse' or 'drop'")
    add("--ignore", metavar="COLUMN", action="append", default=[], help="a column of a file to leave out; repeatable")
    add("--grid", default="paper", help="the λ values: 'paper' or 'arithmetic-geometric'")
    add("--count", type=int, metavar="H", help="how many λ values of the paper's grid (1990)")
    add("--protocol", default="paper", help="'paper', own halves per SVM, or 'hold-out', one for all")
    add("--seed", type=int, default=0, help="determines all splits")
    add("--jobs", type=int, default=1, metavar="N", help="SVMs trained at once, -1 for one per core")
    add("--dask", metavar="ADDRESS", help="train on the workers of a Dask scheduler; the table is the same")
    add("--data", dest="data_dir", metavar="DIR", help="directory of the raw UCI files (the variable PACB_DATA)")
    add("--out", metavar="FILE|DIR", help="the risk file, or for several data sets their directory (standard output)")
    add("--resume", action="store_true", help="go on with an interrupted run; keep files that are complete")
    add("--no-risk-column", dest="risk_column", action="store_false", help="write error counts only")
    return parser


def run(options: argparse.Namespace) -> int:
    """Train on each data set in turn; the exit code."""
    from .training import train_all

    return train_all(options)
