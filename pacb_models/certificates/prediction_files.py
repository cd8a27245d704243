"""Counting errors in CSV and Parquet files of predictions, batch by batch: memory stays flat, whatever their size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from .error_counts import ErrorCounts

_SUFFIXES = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}


def count_errors(paths: Sequence[str | Path], target: str, ignore: Iterable[str] = ()) -> ErrorCounts:
    """The errors of every column but ``target`` and the ignored ones, over all files and the files of folders."""
    files = [file for path in paths for file in _files(Path(path))]
    if not files:
        raise InputError(f"--predictions is {' '.join(map(str, paths))!r}, where there are no CSV or Parquet files.")
    _refuse_repeated(files)
    ignored, counts = set(ignore), None
    for file in files:
        names, errors, rows = _count_file(file, target, ignored)
        part = ErrorCounts(names, errors, rows)
        if counts is not None and counts.names != names:
            raise InputError(
                f"{file} has the classifiers {', '.join(names)}, but {files[0]} {', '.join(counts.names)}."
            )
        counts = part if counts is None else counts + part
    assert counts is not None
    return counts


def _refuse_repeated(files: Sequence[Path]) -> None:
    """Examples that are counted twice would make the certificate too small."""
    seen: dict[tuple[int, int], Path] = {}
    for file in files:
        found = file.stat()
        first = seen.setdefault((found.st_dev, found.st_ino), file)
        if first is not file:
            raise InputError(f"{file} is the file {first} again; every example must be counted once.")


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        # Names that begin with a dot or an underscore are other programs' copies and notes, as for Parquet's readers.
        return sorted(
            file
            for file in path.rglob("*")
            if file.suffix.lower() in _SUFFIXES
            and file.is_file()
            and not any(part.startswith((".", "_")) for part in file.relative_to(path).parts)
        )
    if not path.exists():
        raise InputError(f"cannot read {str(path)!r}: there is no such file.")
    if path.suffix.lower() not in _SUFFIXES:
        raise InputError(f"{str(path)!r} must end in .csv or .parquet.")
    return [path]


def _count_file(file: Path, target: str, ignored: set[str]) -> tuple[list[str], np.ndarray, int]:
    try:
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.csv
        import pyarrow.dataset as ds
    except ImportError:
        raise InputError("reading predictions needs pyarrow, which is not installed: pip install pyarrow.") from None
    try:
        kind: Any = _SUFFIXES[file.suffix.lower()]
        if kind == "csv":
            # An empty cell is missing among texts, too.
            kind = ds.CsvFileFormat(convert_options=pa.csv.ConvertOptions(strings_can_be_null=True))
        dataset = ds.dataset(file, format=kind)
        columns = dataset.schema.names
        repeated = next((name for name in columns if columns.count(name) > 1), None)
        if repeated is not None:
            raise InputError(f"{file} has more than one column {repeated!r}.")
        if target not in columns:
            raise InputError(f"{file} has no column {target!r}; it has {', '.join(columns)}.")
        absent = sorted(ignored - set(columns))
        if absent:
            raise InputError(f"{file} has no column {absent[0]!r} to ignore; it has {', '.join(columns)}.")
        names = [name for name in columns if name != target and name not in ignored]
        if not names:
            raise InputError(f"{file} has no column of predictions beside {target!r}.")
        for name in names:
            _check_type(file, name, dataset.schema.field(name).type, target, dataset.schema.field(target).type)
        with_nan = {field.name for field in dataset.schema if pa.types.is_floating(field.type)}
        errors, rows = np.zeros(len(names), dtype=np.int64), 0
        for batch in dataset.to_batches(columns=[*names, target], batch_size=1 << 17):
            if not batch.num_rows:
                continue  # its columns may have no type
            truth = batch.column(target)
            for position, name in enumerate([*names, target]):
                column = batch.column(name)
                # The number of nulls is known without a look at them.
                if column.null_count or name in with_nan:
                    missing = column.is_null(nan_is_null=True)
                    if missing.true_count:
                        row = rows + int(pc.index(missing, True).as_py()) + 1
                        raise InputError(f"{file}, row {row}: {name} is missing; every label must be known.")
                if position < len(names):
                    errors[position] += pc.not_equal(column, truth).true_count
            rows += batch.num_rows
        if not rows:
            raise InputError(f"{file} has a header but no rows below it.")
        return names, errors, rows
    except (pa.ArrowException, OSError) as reason:
        raise InputError(f"cannot read {file}: {str(reason).splitlines()[0]}.") from None


def _check_type(file: Path, name: str, kind: Any, target: str, truth: Any) -> None:
    if kind != truth:
        raise InputError(f"{file}: {name} is of type {kind}, but {target} of type {truth}; labels must be of one type.")
