"""Results of several directories, or machines, in one: rows keep their environment and say where they came from."""

import os
from collections.abc import Sequence
from pathlib import Path

from pacb_models.errors import InputError

from .environment import Environments
from .results import ResultLog, read_rows, write_exports


def merge(directories: Sequence[str | Path], out: str | Path) -> Path:
    """Write the rows of all directories into a new one, with their environments numbered anew.

    The same cell of several of them counts as repetitions on one machine, and is reported apart on different ones.
    """
    paths = list(dict.fromkeys(Path(os.path.realpath(directory)) for directory in directories))
    if len(paths) < 2:
        raise InputError("there must be at least two different directories to merge.")
    last = [path.name for path in paths]
    names = [path.name if last.count(path.name) == 1 else str(path) for path in paths]
    found = [(name, read_rows(path), Environments.read(path)) for name, path in zip(names, paths)]
    environments = Environments()
    with ResultLog(out) as log:
        for name, rows, known in found:
            for row in rows:
                # One that nothing is known of is nobody else's.
                described = known.entry(row.environment) or {"unknown": f"{name}, {row.environment}"}
                source = name if row.source is None else f"{name}/{row.source}"
                log.append(row.told({"source": source, "environment": environments.number(described, out)}))
        if not environments.environments:
            raise InputError(f"there are no results in {', '.join(map(str, directories))}.")
        write_exports(out, log.measurements())
    return Path(out)
