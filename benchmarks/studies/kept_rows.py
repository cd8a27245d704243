"""What studies have in common: their options, and a table whose rows are kept as they are measured."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pacb_models.files import write_atomically
from pacb_models.validation import check_choice

from ..store import digest, kept

#: Lines of a study's table, by its columns.
Rows = list[dict[str, Any]]


class KeptRows(NamedTuple):
    """The rows of a study: its name, a version, raised when they change (a test notices), and what determines one."""

    name: str
    version: int
    keys: tuple[str, ...]

    def table(
        self, options: argparse.Namespace, wanted: Iterable[tuple[Any, ...]], rows_of: Callable[..., Rows]
    ) -> pd.DataFrame:
        """The rows ``rows_of(*values)`` of every wanted value of the keys, kept in a store beside the table."""
        tasks = {digest(f"{self.name} {self.version}", *values): values for values in wanted}
        numbers = {key: number for number, key in enumerate(tasks, start=1)}

        def compute(todo: Mapping[str, tuple[Any, ...]]) -> Iterator[tuple[str, Rows]]:
            for key, values in todo.items():
                words = ", ".join(f"{name} {value}" for name, value in zip(self.keys, values))
                print(f"{numbers[key]} of {len(tasks)}: {words}", file=sys.stderr, flush=True)
                yield key, rows_of(*values)

        path = None if options.out is None else options.out.with_suffix(".jsonl")
        found = dict(kept(path, tasks, compute, options.resume))
        table = pd.DataFrame([row for key in tasks for row in found[key]])
        if options.out is not None:
            write_atomically(options.out, table.to_csv(index=False))
        return table


def options_for(
    description: str | None,
    arguments: Sequence[str] | None,
    number: int,
    kind: str = "",
    known: Collection[str] = (),
    of: str = "splits",
    **more: Mapping[str, Any],
) -> argparse.Namespace:
    """The options that studies of random splits (or what else they count) share, with their usual number; and more.

    ``kind`` is what a study has names for, of which those that are ``known`` may be chosen.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    if kind:
        parser.add_argument("names", nargs="*", metavar=kind, help="which (all)")
        parser.add_argument("--data", metavar="DIR", help="directory of the raw UCI files (the variable PACB_DATA)")
    parser.add_argument(f"--{of}", type=int, default=number, help=f"default: {number}")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="of the first of them")
    parser.add_argument(
        "--out", type=Path, metavar="FILE.csv", help="the table; rows are kept beside it, in FILE.jsonl"
    )
    parser.add_argument("--resume", action="store_true", help="do not measure again what is kept there")
    for name, option in more.items():
        parser.add_argument(f"--{name.replace('_', '-')}", **option)
    options = parser.parse_args(arguments)
    options.seeds = range(options.first, options.first + getattr(options, of))
    if kind:
        options.names = [check_choice(kind, name, tuple(known)) for name in options.names] or list(known)
    return options
