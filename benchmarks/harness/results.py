"""The result log: one JSON object per measurement, appended and flushed, so that a killed run loses nothing."""

from __future__ import annotations

import io
import json
import math
import re
import reprlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacb_models.errors import InputError
from pacb_models.files import write_atomically
from pacb_models.wording import shown

from .environment import Environments
from .journal import Journal, entries

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
    "constraints": str,
    "minima": int,
    "solver": str,
    "settings": str,
    "software": str,
    "seed": int,
    "start": int,
    "status": str,
    "message": str,
    "bound": float,
    "lower_bound": float,
    "reference_bound": float,
    "gap": float,
    "kkt_residual": float,
    "simplex_residual": float,
    "constraint_residual": float,
    "claims": bool,
    "success": bool,
    "correct": bool,
    "iterations": int,
    "gradient_evaluations": int,
    "merged_size": int,
    "setup_seconds": float,
    "seconds": float,
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

_REQUIRED = ("key", "problem", "solver", "settings", "status", "claims", "success", "correct", "time_limit")


def conform(row: dict[str, Any]) -> dict[str, Any]:
    """A row's fields as plain values of their types; ValueError names one that is something else.

    Numbers that are none (infinite, NaN) become None. Nothing that a solver returns is trusted to be what it should.
    """
    return {name: _plain(name, row.get(name)) for name in FIELDS}


def _plain(name: str, value: Any) -> Any:
    wanted = FIELDS[name]
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if wanted is float and isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST:
        value = float(value)
    if wanted is int and isinstance(value, float) and value.is_integer():
        value = int(value)
    good = isinstance(value, wanted)
    if wanted is int and isinstance(value, int):
        good = not isinstance(value, bool) and abs(value) <= _LARGEST
    if not good:
        raise ValueError(f"{name} is {reprlib.repr(value)}; it must be {_NAMES[wanted]}")
    # Settings are JSON, which has no control characters, and of which nothing can be cut off.
    return shown(value) if isinstance(value, str) and name != "settings" else value


#: Integers are stored in 64 bits.
_LARGEST = 2**63 - 1

_NAMES = {str: "a text", int: "an integer of at most 64 bits", float: "a number", bool: "true or false"}


class ResultLog(Journal):
    """The log of one output directory."""

    def __init__(self, directory: str | Path) -> None:
        super().__init__(Path(directory) / LOG)

    def append(self, row: dict[str, Any]) -> None:
        """Write one row and make sure that it is on disk."""
        super().append(conform({**row, "schema": SCHEMA}))


def read_rows(directory: str | Path) -> list[dict[str, Any]]:
    """The newest row of every measurement, in the order of first appearance; an unfinished last line is passed over."""
    path = Path(directory) / LOG
    found = entries(path)
    if not found and not path.exists():
        raise InputError(f"{directory} holds no results ({LOG} is missing).")
    newest: dict[tuple[Any, ...], dict[str, Any]] = {}
    for number, entry in enumerate(found, 1):
        row = _row(entry, path, number)
        newest[identity(row)] = row
    return list(newest.values())


def identity(row: dict[str, Any]) -> tuple[Any, ...]:
    """What makes two rows the same measurement: the cell, its repetition and, among merged results, their origin."""
    return row["key"], row["repetition"], row["source"]


def _row(entry: dict[str, Any], path: Path, number: int) -> dict[str, Any]:
    """An entry of the log as a row with every field."""
    try:
        row = conform({"repetition": 0, **entry})
        absent = [name for name in _REQUIRED if row[name] is None]
        if absent:
            raise ValueError(f"it has no {absent[0]!r}")
        if not isinstance(json.loads(row["settings"]), dict):
            raise ValueError("its settings are no JSON object")
    except (ValueError, RecursionError) as reason:
        detail = "its settings are not JSON" if isinstance(reason, json.JSONDecodeError) else str(reason)
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
