"""The result log: one JSON object per finished cell, appended and flushed, so that a killed run loses nothing."""

from __future__ import annotations

import fcntl
import io
import json
import math
import os
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from pacb_models.errors import InputError
from pacb_models.files import write_atomically

if TYPE_CHECKING:
    import pandas

LOG = "results.jsonl"
ENVIRONMENT = "environment.json"

#: The fields of a row, in the order of the exported columns.
FIELDS = (
    "key",
    "suite",
    "problem",
    "dataset",
    "H",
    "m",
    "delta",
    "distance",
    "divergence",
    "order",
    "constant",
    "prior",
    "solver",
    "settings",
    "seed",
    "status",
    "message",
    "bound",
    "reference_bound",
    "gap",
    "kkt_residual",
    "simplex_residual",
    "claims",
    "success",
    "correct",
    "iterations",
    "setup_seconds",
    "seconds",
    "charged_seconds",
    "time_limit",
    "peak_memory_bytes",
    "support_size",
    "empirical_risk",
    "divergence_value",
    "parallel",
    "timestamp",
)


class ResultLog:
    """The log of one output directory, held by one process at a time.

    Use it as a context manager. A second process is refused with a sentence while the first is at it; a lock left by a
    killed process is no lock, since the system drops it with the process.
    """

    def __init__(self, directory: str | Path):
        self.directory = Path(directory)
        self._lock: IO[str]
        self._file: IO[str]

    def __enter__(self) -> ResultLog:
        self.directory.mkdir(parents=True, exist_ok=True)
        self._lock = open(self.directory / ".lock", "w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise InputError(
                f"another run is writing to {self.directory}; wait for it or choose another directory with --out."
            ) from None
        _drop_torn_line(self.directory / LOG)
        self._file = open(self.directory / LOG, "a", encoding="utf-8")
        return self

    def append(self, row: dict[str, Any]) -> None:
        """Write one row and make sure that it is on disk."""
        record = {name: _plain(row.get(name)) for name in FIELDS}
        self._file.write(json.dumps(record, allow_nan=False) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()
        self._lock.close()


def _drop_torn_line(path: Path) -> None:
    """Remove what a killed process left of its last row: everything after the last line break."""
    if not path.exists():
        return
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_rows(directory: str | Path) -> list[dict[str, Any]]:
    """The newest row of every cell, in the order of first appearance; an unfinished last line is passed over."""
    path = Path(directory) / LOG
    if not path.exists():
        raise InputError(f"{directory} holds no results ({LOG} is missing).")
    newest: dict[str, dict[str, Any]] = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith("\n"):
                break
            try:
                row = json.loads(line)
                newest[row["key"]] = row
            except (json.JSONDecodeError, KeyError, TypeError):
                raise InputError(f"{path}, line {number} is not a result row.") from None
    return list(newest.values())


def load_results(directory: str | Path) -> pandas.DataFrame:
    """The rows as a data frame with the columns :data:`FIELDS`."""
    import pandas

    return pandas.DataFrame(read_rows(directory), columns=list(FIELDS))


def export(directory: str | Path) -> None:
    """Write ``results.csv`` and ``results.parquet`` beside the log."""
    frame = load_results(directory)
    write_atomically(Path(directory) / "results.csv", frame.to_csv(index=False))
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    write_atomically(Path(directory) / "results.parquet", buffer.getvalue())


def write_environment(directory: str | Path, environment: dict[str, Any]) -> None:
    """Record the machine of the latest run in the directory."""
    write_atomically(Path(directory) / ENVIRONMENT, json.dumps(environment, indent=2) + "\n")


def read_environment(directory: str | Path) -> dict[str, Any]:
    """What :func:`write_environment` recorded; empty when nothing is there."""
    path = Path(directory) / ENVIRONMENT
    return json.loads(path.read_text()) if path.exists() else {}
