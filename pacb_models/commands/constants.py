"""``pacb constants``: the moment constants I(m)."""

import argparse
import json
import math
from itertools import product
from typing import Any

from .. import terminal
from ..names import CONSTANTS, DISTANCES
from .program import DONE, add_command, refuse_ignored


def add_parser(subparsers: Any) -> None:
    parser = add_command(
        subparsers,
        "constants",
        _constants,
        "print the moment constants I(m)",
        "Print the moment constant I(m) of each distance: exact, one-sided, and as printed in the paper.\n\n"
        "  pacb constants --m 1000",
    )
    add = parser.add_argument
    add("--m", type=int, required=True, nargs="+", help="sample sizes")
    add("--divergence", default=None, help=f"one of {', '.join(DISTANCES)}; chi2 and kl by default")
    add("--order", type=float, default=2.0, help="Rényi order, with --divergence renyi")
    add("--json", action="store_true", help="print one JSON object")


def _constants(options: argparse.Namespace) -> int:
    from ..constants import check_pair, moment_constant

    if options.divergence != "renyi":
        refuse_ignored(options, ["order"], "needs --divergence renyi")
    rows = []
    for divergence in [options.divergence] if options.divergence else ["chi2", "kl"]:
        order = check_pair("linear", divergence, "exact", options.order)
        kinds = CONSTANTS if divergence != "renyi" else ("exact", "one-sided")
        for distance, m in product(DISTANCES[divergence], options.m):
            row = {"m": m, "divergence": divergence, "distance": distance, **dict.fromkeys(CONSTANTS)}
            rows.append(row | {kind: moment_constant(distance, m, kind, divergence, order) for kind in kinds})
    if options.json:
        finite = [{key: None if value == math.inf else value for key, value in row.items()} for row in rows]
        print(json.dumps({"constants": finite}, allow_nan=False))
        return DONE
    titles = ("m", "divergence", "distance", "exact", "one-sided", "paper", "paper/exact")
    columns = [terminal.Column(title, title not in ("divergence", "distance")) for title in titles]
    cells = [[str(row[title]) for title in titles[:3]] + _numbers(row) for row in rows]
    lines = [terminal.Line(each, False if _too_small(row) else None) for each, row in zip(cells, rows, strict=True)]
    plain = "\n".join(terminal.aligned(columns, cells))
    terminal.show(_verdict_on_the_paper(rows), [terminal.Grid("", columns, lines)], plain)
    return DONE


def _numbers(row: dict[str, Any]) -> list[str]:
    """Return the constants, and the paper's over the exact one."""
    paper = ["-", "-"] if row["paper"] is None else [f"{row['paper']:.6g}", f"{row['paper'] / row['exact']:.4g}"]
    return [f"{row['exact']:.6g}", f"{row['one-sided']:.6g}", *paper]


def _verdict_on_the_paper(rows: list[dict[str, Any]]) -> terminal.Line:
    """Return one sentence on the paper's constants, none where it has none."""
    printed = [row for row in rows if row["paper"] is not None]
    if not printed:
        return terminal.Line([], True)
    small = [f"{row['divergence']} {row['distance']} at m = {row['m']}" for row in filter(_too_small, printed)]
    if small:
        sentence = f"The paper's constant is too small, and its bound not proven, for {', '.join(small)}."
        return terminal.Line([sentence], False)
    loosest = max(printed, key=lambda row: row["paper"] / row["exact"])
    ratio = f"{loosest['paper'] / loosest['exact']:.4g} times the exact one"
    where = f"{loosest['divergence']}, {loosest['distance']}, m = {loosest['m']}"
    return terminal.Line([f"No constant of the paper is too small; the loosest is {ratio} ({where})."], True)


def _too_small(row: dict[str, Any]) -> bool:
    """Return True when the paper's constant is below the exact one by more than the rounding of a printed number."""
    return row["paper"] is not None and row["paper"] < row["exact"] * (1.0 - 1e-6)
