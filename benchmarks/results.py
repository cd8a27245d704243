"""The result log: one JSON object per measurement, appended and flushed, so that a killed run loses nothing."""

from __future__ import annotations

import io
import json
import math
import os
import re
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from pacb_models.errors import InputError
from pacb_models.files import write_atomically

from .environment import Environments

if TYPE_CHECKING:
    import pandas

LOG = "results.jsonl"

#: The version of the rows' form; a reader refuses what is newer than itself.
SCHEMA = 2

#: Gaps whose first reach is timed, and their columns.
LEVELS = (1e-3, 1e-6, 1e-9)


def reach_field(level: float) -> str:
    """The column with the seconds until the gap was at most ``level``.

    >>> reach_field(1e-6)
    'seconds_to_1e-06'
    """
    return f"seconds_to_{level:.0e}"


#: The fields of a row with their types, in the order of the exported columns; all but the required may be None.
FIELDS: dict[str, type] = {
    "schema": int,
    "key": str,
    "repetition": int,
    "environment": int,
    "source": str,
    "suite": str,
    "problem": str,
    "dataset": str,
    "problem_kind": str,
    "H": int,
    "m": int,
    "delta": float,
    "distance": str,
    "divergence": str,
    "order": float,
    "constant": str,
    "prior": str,
    "solver": str,
    "settings": str,
    "seed": int,
    "status": str,
    "message": str,
    "bound": float,
    "lower_bound": float,
    "reference_bound": float,
    "gap": float,
    "kkt_residual": float,
    "simplex_residual": float,
    "claims": bool,
    "success": bool,
    "correct": bool,
    "iterations": int,
    "gradient_evaluations": int,
    "merged_size": int,
    "setup_seconds": float,
    "seconds": float,
    "charged_seconds": float,
    "time_limit": float,
    **{reach_field(level): float for level in LEVELS},
    "traced": bool,
    "peak_memory_bytes": int,
    "memory_limit_bytes": int,
    "support_size": int,
    "empirical_risk": float,
    "divergence_value": float,
    "parallel": bool,
    "timestamp": str,
}

_REQUIRED = (
    "key",
    "problem",
    "solver",
    "settings",
    "status",
    "claims",
    "success",
    "correct",
    "charged_seconds",
    "time_limit",
)


class LogError(RuntimeError):
    """The log cannot be written; what it held before is safe."""


def conform(row: dict[str, Any]) -> dict[str, Any]:
    """A row's fields as plain values of their types; ValueError names one that is something else.

    Numbers that are none (infinite, NaN) become None. Nothing that a solver returns is trusted to be what it should.
    """
    return {name: _plain(name, row.get(name)) for name in FIELDS}


def _plain(name: str, value: Any) -> Any:
    wanted = FIELDS[name]
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if value is None:
        return None
    if wanted is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if math.isfinite(value) else None
    if wanted is int and isinstance(value, float) and value.is_integer():
        value = int(value)
    if (wanted is int and isinstance(value, bool)) or not isinstance(value, wanted):
        text = repr(value)
        raise ValueError(f"{name} is {text if len(text) <= 60 else text[:57] + '...'}; it must be {_NAMES[wanted]}")
    # A lone surrogate, as undecodable names of files have, is no Unicode text.
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


_NAMES = {str: "a text", int: "an integer", float: "a number", bool: "true or false"}


class ResultLog:
    """The log of one output directory, held by one process at a time.

    Use it as a context manager. A second process is refused with a sentence while the first is at it; a lock left by a
    killed process is no lock, since the system drops it with the process.
    """

    def __init__(self, directory: str | Path):
        self.directory = Path(directory)
        self._lock: IO[str]
        self._file: IO[bytes]
        #: What the file holds, to write it again when somebody deletes it under a run.
        self._lines: list[bytes] = []

    @property
    def path(self) -> Path:
        """The file of the rows."""
        return self.directory / LOG

    def __enter__(self) -> ResultLog:
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._lock = open(self.directory / ".lock", "w")
        except OSError as reason:
            raise InputError(f"cannot write to the directory {str(self.directory)!r}: {reason.strerror}.") from None
        try:
            import fcntl  # where there is one: a log is written on POSIX systems only

            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise InputError(
                f"another run is writing to {self.directory}; wait for it or choose another directory with --out."
            ) from None
        try:
            _drop_torn_line(self.path)
            self._lines = self.path.read_bytes().splitlines(keepends=True) if self.path.exists() else []
            self._file = open(self.path, "ab")
        except OSError as reason:
            self._lock.close()
            raise InputError(f"cannot write {str(self.path)!r}: {reason.strerror}.") from None
        return self

    def append(self, row: dict[str, Any]) -> None:
        """Write one row and make sure that it is on disk; a log that was deleted is written again."""
        line = json.dumps(conform({**row, "schema": SCHEMA}), allow_nan=False).encode() + b"\n"
        try:
            if os.fstat(self._file.fileno()).st_nlink == 0:
                self._reopen()
            self._write(line)
        except OSError as reason:
            raise LogError(f"cannot write {str(self.path)!r}: {reason.strerror}") from None
        self._lines.append(line)

    def _write(self, content: bytes) -> None:
        before = os.fstat(self._file.fileno()).st_size
        try:
            self._file.write(content)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError:
            # What did not fit on the disk is dropped, from the buffer too, and what fitted with it.
            self._file = open(os.dup(self._file.fileno()), "ab")
            os.ftruncate(self._file.fileno(), before)
            raise

    def _reopen(self) -> None:
        self._file.close()
        self.directory.mkdir(parents=True, exist_ok=True)
        self._file = open(self.path, "ab")
        self._write(b"".join(self._lines))

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


def read_rows(directory: str | Path) -> list[dict[str, Any]]:
    """The newest row of every measurement, in the order of first appearance; an unfinished last line is passed over."""
    path = Path(directory) / LOG
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{directory} holds no results ({LOG} is missing).") from None
    except OSError as reason:
        raise InputError(f"cannot read {str(path)!r}: {reason.strerror}.") from None
    newest: dict[tuple[Any, ...], dict[str, Any]] = {}
    for number, line in enumerate(content.split(b"\n")[:-1], 1):
        row = _parsed(line, path, number)
        newest[identity(row)] = row
    return list(newest.values())


def identity(row: dict[str, Any]) -> tuple[Any, ...]:
    """What makes two rows the same measurement: the cell, its repetition and, among merged results, their origin."""
    return row["key"], row["repetition"], row["source"]


def _parsed(line: bytes, path: Path, number: int) -> dict[str, Any]:
    """A line of the log as a row with every field."""
    try:
        found = json.loads(line.decode())
        if not isinstance(found, dict):
            raise ValueError("it is no JSON object")
        row = conform({"repetition": 0, **found})
        absent = [name for name in _REQUIRED if row[name] is None]
        if absent:
            raise ValueError(f"it has no {absent[0]!r}")
        if not isinstance(json.loads(row["settings"]), dict):
            raise ValueError("its settings are no JSON object")
    except (ValueError, RecursionError) as reason:
        detail = "it is not UTF-8" if isinstance(reason, UnicodeDecodeError) else str(reason)
        detail = "it is not JSON" if isinstance(reason, json.JSONDecodeError) else detail
        raise InputError(f"{path}, line {number} is not a result row: {detail}.") from None
    if (row["schema"] or 1) > SCHEMA:
        raise InputError(f"{path}, line {number} was written by a newer version of pacb (schema {row['schema']}).")
    return row


def load_results(directory: str | Path) -> pandas.DataFrame:
    """The rows as a data frame with the columns :data:`FIELDS`, and ``machine``.

    Rows have the same ``machine`` when processor, cores, memory and system of their environments are the same.
    """
    import pandas

    frame = pandas.DataFrame(read_rows(directory), columns=list(FIELDS))
    machines = Environments.read(directory).machines(frame["environment"].unique())
    return frame.assign(machine=frame["environment"].map(machines))


def export(directory: str | Path) -> None:
    """Write ``results.csv`` and ``results.parquet`` beside the log.

    The Parquet file carries the environments that its rows name, as the entry "pacb" of its metadata.
    """
    import pyarrow
    import pyarrow.parquet

    frame = load_results(directory)[list(FIELDS)]
    frame = frame.astype({name: _COLUMNS[kind] for name, kind in FIELDS.items()})
    texts = [name for name, kind in FIELDS.items() if kind is str]
    neutral = frame.assign(**{name: frame[name].map(neutralised, na_action="ignore") for name in texts})
    write_atomically(Path(directory) / "results.csv", neutral.to_csv(index=False))
    described = json.dumps(Environments.read(directory).as_dict())
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), b"pacb": described.encode()})
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(table, buffer)
    write_atomically(Path(directory) / "results.parquet", buffer.getvalue())


#: Types that know missing values, the same for an empty column as for a full one.
_COLUMNS = {str: "string", int: "Int64", float: "float64", bool: "boolean"}


def neutralised(text: str) -> str:
    """A text that no spreadsheet takes for a formula.

    >>> neutralised("=1+1"), neutralised("wdbc-H50")
    ("'=1+1", 'wdbc-H50')
    """
    return f"'{text}" if re.match(r"[\s]*[=+\-@]|[\t\r\n]", text) else text
