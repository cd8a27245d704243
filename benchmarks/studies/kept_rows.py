"""What studies have in common: their options, and a table whose rows are kept as they are measured."""

import argparse
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pacb_models.files import write_atomically
from pacb_models.validation import check_choice

from ..store import digest, kept

#: The options of studies of random splits: how many, the seed of the first, the raw files, the table, whether to go on.
SPLITS: dict[str, Any] = {"splits": 5, "first": 0, "data": Path, "out": Path, "resume": False}

#: Lines of a study's table, by its columns.
Rows = list[dict[str, Any]]


class KeptRows(NamedTuple):
    """The rows of a study: its name, a version, raised when they change (a test notices), and what determines one."""

    name: str
    version: int
    keys: tuple[str, ...]

    def table(self, given: argparse.Namespace, rows_of: Callable[..., Rows], *wanted: Iterable[Any]) -> pd.DataFrame:
        """Yield the rows ``rows_of(split, *values)`` of every split and wanted values, kept in a store beside
        ``out``."""
        every = product(range(given.first, given.first + given.splits), *wanted)
        tasks = {digest(f"{self.name} {self.version}", *values): values for values in every}
        numbers = {key: number for number, key in enumerate(tasks, start=1)}

        def compute(todo: Mapping[str, tuple[Any, ...]]) -> Iterator[tuple[str, Rows]]:
            for key, values in todo.items():
                words = ", ".join(f"{name} {value}" for name, value in zip(self.keys, values))
                print(f"{numbers[key]} of {len(tasks)}: {words}", file=sys.stderr, flush=True)
                yield key, rows_of(*values)

        path = None if given.out is None else given.out.with_suffix(".jsonl")
        found = dict(kept(path, tasks, compute, given.resume))
        table = pd.DataFrame([row for key in tasks for row in found[key]])
        if given.out is not None:
            write_atomically(given.out, table.to_csv(index=False))
        return table


def options(
    description: str | None, arguments: Sequence[str] | None = None, names: Collection[str] = (), **defaults: Any
) -> argparse.Namespace:
    """Return what was asked for: ``names`` that are known, all by default, and options of the kind of their defaults.

    A default is a number or a word; a tuple of them, for an option that takes several; a type, where the option may be
    left out; or False, for a flag.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    if names:
        parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}; default: all")
    for name, default in defaults.items():
        kind: dict[str, Any] = {"type": type(default), "help": f"default: {default}", "default": default}
        if isinstance(default, type):
            kind = {"type": default}
        elif isinstance(default, tuple):
            help_text = f"default: {' '.join(map(str, default))}"
            kind = {"type": type(default[0]), "nargs": "+", "help": help_text, "default": default}
        elif default is False:
            kind = {"action": "store_true"}
        parser.add_argument(f"--{name.replace('_', '-')}", **kind)
    found = parser.parse_args(arguments)
    if names:
        found.names = [check_choice("NAME", name, tuple(names)) for name in found.names] or list(names)
    return found
