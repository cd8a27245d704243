"""The results of a directory: the log that a run writes, read as measurements or as a data frame, merged, exported."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacb_models.errors import InputError
from pacb_models.files import reading, write_atomically

from .. import verdict
from ..store import Store, rows_of
from .environment import Environments
from .measurement import TYPES, Measurement

if TYPE_CHECKING:
    import pandas

LOG, TABLE = "results.jsonl", "results.parquet"


class ResultLog(Store):
    """The log of one output directory."""

    def __init__(self, directory: str | Path, resume: bool = False) -> None:
        super().__init__(Path(directory) / LOG, resume)

    def append(self, row: Measurement) -> None:
        """Write one row; among merged results the origin, too, tells two measurements apart."""
        self.add(f"{row.key}-{row.repetition}" + ("" if row.source is None else f" {row.source}"), vars(row))

    def measurements(self) -> list[Measurement]:
        """Return the newest row of every measurement."""
        return _measurements(self.rows.values(), self.path)


def read_rows(directory: str | Path) -> list[Measurement]:
    """Return the newest row of every measurement, in the order of first appearance; of the exported table without a
    log."""
    log, table = (Path(directory) / name for name in (LOG, TABLE))
    if log.exists():
        return _measurements(rows_of(log).values(), log)
    if not table.exists():
        raise InputError(f"{directory} holds no results ({LOG} is missing).")
    import pandas

    with reading(table):
        frame = pandas.read_parquet(table).reindex(columns=list(TYPES)).astype(object)
        found = frame.where(frame.notna(), None).to_dict("records")
        for row in found:
            row["settings"] = json.loads(row["settings"])
    return _measurements(found, table)


def _measurements(rows: Iterable[Any], path: Path) -> list[Measurement]:
    found = []
    for number, row in enumerate(rows, 1):
        try:
            found.append(Measurement.from_row(row))
        except (ValueError, TypeError, AttributeError) as reason:
            raise InputError(f"{path}, row {number} is no result: {reason}.") from None
    return found


#: Types of columns that know missing values, the same for an empty column as for a full one.
_COLUMNS = {str: "string", int: "Int64", float: "float64", bool: "boolean", dict: "object"}
#: The judgement of a run, beside what was measured.
_JUDGED = {"gap": float, "success": bool, "correct": bool}


def as_frame(rows: Iterable[Measurement]) -> pandas.DataFrame:
    """Return the measurements as a data frame, with what is a judgement: ``gap``, ``success`` and ``correct``."""
    import pandas

    records = [(*vars(row).values(), row.gap, verdict.success(row), verdict.correct(row)) for row in rows]
    return pandas.DataFrame(records, columns=[*TYPES, *_JUDGED])


def load_results(directory: str | Path) -> pandas.DataFrame:
    """Return the results of a directory as a data frame, with ``machine`` besides.

    Rows have the same ``machine`` when processor, cores, memory and system of their environments are the same.
    """
    frame = as_frame(read_rows(directory))
    machines = frame["environment"].map(Environments.read(directory).machine)
    return frame.assign(machine=machines.factorize()[0] + 1)


def judged_results(directory: str | Path) -> verdict.Judged:
    """Return the results of a directory, judged."""
    results = load_results(directory)
    if results.empty:
        raise InputError(f"{directory} holds no finished run yet.")
    return verdict.Judged(results)


def write_exports(directory: str | Path, rows: Iterable[Measurement]) -> None:
    """Write the rows as ``results.csv`` and ``results.parquet``, settings as JSON.

    The Parquet file carries the environments that its rows name, as the entry "pacb" of its metadata.
    """
    import pyarrow
    import pyarrow.parquet

    frame = as_frame(rows)
    frame = frame.astype({name: _COLUMNS[kind] for name, kind in (TYPES | _JUDGED).items()})
    frame["settings"] = frame["settings"].map(lambda given: json.dumps(given, sort_keys=True)).astype("string")
    texts = [name for name, kind in TYPES.items() if kind in (str, dict)]
    neutral = frame.assign(**{name: frame[name].map(neutralised, na_action="ignore") for name in texts})
    write_atomically(Path(directory) / "results.csv", neutral.to_csv(index=False))
    described = json.dumps(asdict(Environments.read(directory)))
    table, buffer = pyarrow.Table.from_pandas(frame, preserve_index=False), io.BytesIO()
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), b"pacb": described.encode()})
    pyarrow.parquet.write_table(table, buffer)
    write_atomically(Path(directory) / TABLE, buffer.getvalue())


def neutralised(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula.

    >>> neutralised("=1+1"), neutralised("wdbc-H50")
    ("'=1+1", 'wdbc-H50')
    """
    return f"'{text}" if re.match(r"[\s]*[=+\-@]|[\t\r\n]", text) else text


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
