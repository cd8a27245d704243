"""Results of several directories, or of several machines, in one: rows keep their environment and say where they came
from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pacb_models.errors import InputError

from .environment import Environments
from .results import ResultLog, read_rows, write_exports


def merge(directories: Sequence[str | Path], out: str | Path) -> Path:
    """Write the rows of all directories into a new one, with their environments numbered anew.

    A cell that was measured in several of them stays several measurements: on one machine they count as repetitions,
    and times of different machines are reported apart.
    """
    found = [(name, read_rows(path), Environments.read(path)) for name, path in _named(directories).items()]
    environments = Environments()
    with ResultLog(out) as log:
        for name, rows, known in found:
            numbers = {}
            for number in dict.fromkeys(row.environment for row in rows):
                # One that nothing is known of is nobody else's.
                numbers[number] = environments.number(known.entry(number) or {"unknown": f"{name}, {number}"}, out)
            for row in rows:
                source = name if row.source is None else f"{name}/{row.source}"
                log.append(row.told({"source": source, "environment": numbers[row.environment]}))
        if not environments.listed:
            raise InputError(f"there are no results in {', '.join(map(str, directories))}.")
        write_exports(out, log.measurements())
    return Path(out)


def _named(directories: Sequence[str | Path]) -> dict[str, Path]:
    """Directories by their last name, or by their whole path where last names are equal."""
    paths = list(dict.fromkeys(Path(os.path.realpath(directory)) for directory in directories))
    if len(paths) < 2:
        raise InputError("there must be at least two different directories to merge.")
    names = [path.name for path in paths]
    return {path.name if names.count(path.name) == 1 else str(path): path for path in paths}
