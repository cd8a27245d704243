"""Rows of a study in a CSV file: what it holds is not measured again."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pacb_models.files import write_atomically


def options_for(
    description: str | None, kind: str, splits: int, arguments: Sequence[str] | None, **more: dict[str, Any]
) -> argparse.Namespace:
    """The options that studies of random splits share, and more by their names."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar=kind, help="which (all)")
    parser.add_argument("--splits", type=int, default=splits)
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="of the first split")
    parser.add_argument("--data", metavar="DIR", help="directory of the raw UCI files (the variable PACB_DATA)")
    parser.add_argument("--out", type=Path, metavar="FILE.csv", help="rows are kept here, and not measured again")
    for name, option in more.items():
        parser.add_argument(f"--{name.replace('_', '-')}", **option)
    options = parser.parse_args(arguments)
    options.seeds = range(options.first, options.first + options.splits)
    return options


def measured(
    path: Path | None,
    keys: Sequence[str],
    wanted: Iterable[tuple[Any, ...]],
    measure: Callable[..., list[dict[str, Any]]],
) -> pd.DataFrame:
    """All rows: those of the file, and ``measure(*values)`` for every wanted value of the keys that it lacks."""
    rows = pd.read_csv(path) if path is not None and path.exists() else pd.DataFrame(columns=list(keys))
    known = set(rows[list(keys)].itertuples(index=False, name=None))
    todo = list(wanted)
    for number, values in enumerate(todo, start=1):
        if values not in known:
            rows = pd.concat([rows.dropna(axis=1, how="all"), pd.DataFrame(measure(*values))], ignore_index=True)
            words = ", ".join(f"{key} {value}" for key, value in zip(keys, values))
            print(f"{number} of {len(todo)}: {words}", file=sys.stderr, flush=True)
            if path is not None:
                write_atomically(path, rows.to_csv(index=False))
    return rows
