"""Rows of a study, kept as they are measured, and its table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pacb_models.files import write_atomically

from ..store import digest, kept


def options_for(
    description: str | None, kind: str, splits: int, arguments: Sequence[str] | None, **more: dict[str, Any]
) -> argparse.Namespace:
    """The options that studies of random splits share, and more by their names."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar=kind, help="which (all)")
    parser.add_argument("--splits", type=int, default=splits)
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="of the first split")
    parser.add_argument("--data", metavar="DIR", help="directory of the raw UCI files (the variable PACB_DATA)")
    parser.add_argument(
        "--out", type=Path, metavar="FILE.csv", help="the table; rows are kept beside it, in FILE.jsonl"
    )
    parser.add_argument("--resume", action="store_true", help="do not measure again what is kept there")
    for name, option in more.items():
        parser.add_argument(f"--{name.replace('_', '-')}", **option)
    options = parser.parse_args(arguments)
    options.seeds = range(options.first, options.first + options.splits)
    return options


def kept_table(
    out: Path | None,
    resume: bool,
    study: str,
    keys: Sequence[str],
    wanted: Iterable[tuple[Any, ...]],
    measure: Callable[..., list[dict[str, Any]]],
) -> pd.DataFrame:
    """The rows ``measure(*values)`` of every wanted value of the keys, as a table that is written to ``out``.

    They are kept beside it, in a store, as they are measured. ``study`` is its name and its version, which is raised
    when its rows change.
    """
    tasks = {digest(study, *values): values for values in wanted}
    numbers = {key: number for number, key in enumerate(tasks, start=1)}

    def compute(todo: Mapping[str, tuple[Any, ...]]) -> Iterator[tuple[str, Any]]:
        for key, values in todo.items():
            words = ", ".join(f"{name} {value}" for name, value in zip(keys, values))
            print(f"{numbers[key]} of {len(tasks)}: {words}", file=sys.stderr, flush=True)
            yield key, measure(*values)

    found = dict(kept(None if out is None else out.with_suffix(".jsonl"), tasks, compute, resume))
    rows = pd.DataFrame([row for key in tasks for row in found[key]])
    if out is not None:
        write_atomically(out, rows.to_csv(index=False))
    return rows
