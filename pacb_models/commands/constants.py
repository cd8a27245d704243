"""``pacb constants``: the moment constants I(m)."""

from __future__ import annotations

import argparse
import json
from typing import Any

from ..names import DISTANCES
from .program import DONE, add_command, refuse_ignored


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "constants",
        _constants,
        "print the moment constants I(m)",
        "Print the moment constant I(m) of each distance: exact, one-sided, and as printed in the paper.\n\n"
        "  pacb constants --m 1000",
    )
    parser.add_argument("--m", type=int, required=True, nargs="+", help="sample sizes")
    parser.add_argument("--divergence", default=None, help=f"one of {', '.join(DISTANCES)}; chi2 and kl by default")
    parser.add_argument("--order", type=float, default=2.0, help="Rényi order, with --divergence renyi")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _constants(options: argparse.Namespace) -> int:
    from ..constants import check_names, moment_constant
    from ..validation import check_order

    if options.divergence != "renyi":
        refuse_ignored(options, ["order"], "goes with --divergence renyi")
    chosen = [options.divergence] if options.divergence else ["chi2", "kl"]
    rows = []
    for divergence in chosen:
        check_names("linear", divergence, "exact")
        order = check_order(options.order) if divergence == "renyi" else 2.0
        for distance in DISTANCES[divergence]:
            for m in options.m:
                exact, one_sided = (
                    moment_constant(distance, m, constant, divergence, order) for constant in ("exact", "one-sided")
                )
                paper = None if divergence == "renyi" else moment_constant(distance, m, "paper", divergence, order)
                names = {"m": m, "divergence": divergence, "distance": distance}
                rows.append({**names, "exact": exact, "one-sided": one_sided, "paper": paper})
    if options.json:
        finite = [{key: None if value == float("inf") else value for key, value in row.items()} for row in rows]
        print(json.dumps({"constants": finite}, allow_nan=False))
    else:
        _print_constants(rows)
    return DONE


def _print_constants(rows: list[dict[str, Any]]) -> None:
    from .. import terminal

    cells = []
    for row in rows:
        ratio = None if row["paper"] is None else row["paper"] / row["exact"]
        values = [row["exact"], row["one-sided"], row["paper"]]
        numbers = ["-" if value is None else f"{value:.6g}" for value in values]
        cells.append(
            [str(row["m"]), row["divergence"], row["distance"], *numbers, "-" if ratio is None else f"{ratio:.4g}"]
        )
    titles = ("m", "divergence", "distance", "exact", "one-sided", "paper", "paper/exact")
    columns = [terminal.Column(title, title not in ("divergence", "distance")) for title in titles]
    lines = [terminal.Row(each, False if _too_small(row) else None) for each, row in zip(cells, rows, strict=True)]
    verdict = terminal.Row(_verdict_on_the_paper(rows), not any(map(_too_small, rows)))
    terminal.show(verdict, [terminal.Grid("", columns, lines)], "\n".join(terminal.aligned(columns, cells)))


def _verdict_on_the_paper(rows: list[dict[str, Any]]) -> list[str]:
    """One sentence on the paper's constants, none where it has none."""
    printed = [row for row in rows if row["paper"] is not None]
    if not printed:
        return []
    small = [f"{row['divergence']} {row['distance']} at m = {row['m']}" for row in filter(_too_small, printed)]
    if small:
        return [f"The paper's constant is too small, and its bound not proven, for {', '.join(small)}."]
    loosest = max(printed, key=lambda row: row["paper"] / row["exact"])
    ratio = f"{loosest['paper'] / loosest['exact']:.4g} times the exact one"
    where = f"{loosest['divergence']}, {loosest['distance']}, m = {loosest['m']}"
    return [f"No constant of the paper is too small; the loosest is {ratio} ({where})."]


def _too_small(row: dict[str, Any]) -> bool:
    """True when the paper's constant is below the exact one by more than the rounding of a printed number."""
    return row["paper"] is not None and row["paper"] < row["exact"] * (1.0 - 1e-6)
