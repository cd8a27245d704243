"""The arguments of the command line that constrain the posterior; averages and sizes are columns of the risk file."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from ..constraints import Constraint
    from ..risk_file import RiskFile

_FORM = "COLUMN=NUMBER"

#: The names of the arguments.
CONSTRAINTS = ("at_most", "at_least", "weights_at_most", "weights_at_least", "support_at_most", "sizes")


def add_constraint_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that constrain the posterior of one problem."""
    group = parser.add_argument_group(
        "constraints on the posterior",
        "The bound stays valid whatever they are. "
        "A constraint is about averages on the sample; the bound is about true risk.",
    )
    for word in ("most", "least"):
        group.add_argument(
            f"--at-{word}",
            action="append",
            default=[],
            metavar=_FORM,
            help=f"the average of a column of the risk file is at {word} this number; repeatable",
        )
    for word in ("most", "least"):
        group.add_argument(f"--weights-at-{word}", type=float, metavar="WEIGHT", help=f"every weight is at {word} this")
    group.add_argument("--support-at-most", type=int, metavar="K", help="at most this many classifiers have weight")
    group.add_argument(
        "--sizes", metavar=_FORM, help="the classifiers with weight have at most this sum of a column (a memory, say)"
    )


def constraints_from(options: argparse.Namespace, table: RiskFile) -> list[Constraint]:
    """The constraints that the arguments describe."""
    from ..constraints import average, support, weights

    limits: dict[str, dict[str, Any]] = {}
    for side in ("at_most", "at_least"):
        for text in getattr(options, side):
            option = f"--{side.replace('_', '-')}"
            name, number = _column_and_number(option, text)
            known = limits.setdefault(name.lower(), {"name": name})
            if side in known:
                raise InputError(f"{option} is given twice for the column {name!r}; it must be given once.")
            known[side] = number
    found: list[Constraint] = [average(table.column(given["name"]), **given) for given in limits.values()]
    if options.weights_at_most is not None or options.weights_at_least is not None:
        found.append(weights(options.weights_at_most, options.weights_at_least))
    if options.support_at_most is not None:
        found.append(support(at_most=options.support_at_most))
    if options.sizes is not None:
        name, total = _column_and_number("--sizes", options.sizes)
        found.append(support(sizes=table.column(name), total=total))
    return found


def _column_and_number(option: str, text: str) -> tuple[str, float]:
    name, _, number = text.rpartition("=")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not name.strip() or not math.isfinite(value):
        raise InputError(option, text, f"it must have the form {_FORM}")
    return name.strip(), value
