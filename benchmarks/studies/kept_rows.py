"""What studies have in common: a table whose rows are kept as they are measured."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pacb_models.files import write_atomically

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

    def table(
        self, options: argparse.Namespace, wanted: Iterable[tuple[Any, ...]], rows_of: Callable[..., Rows]
    ) -> pd.DataFrame:
        """The rows ``rows_of(*values)`` of every wanted value of the keys, kept in a store beside the table ``out``."""
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


def seeds(given: argparse.Namespace) -> range:
    """Those of the splits."""
    return range(given.first, given.first + given.splits)
