"""Counting errors in CSV and Parquet files of predictions, batch by batch: memory stays flat, whatever their size."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..validation import first_repeated
from .choice import ChosenCertificate, divided
from .counts import ErrorCounts
from .labels import LARGEST_EXACT

_SUFFIXES = {".csv": "csv", ".csv.gz": "csv", ".parquet": "parquet", ".pq": "parquet"}
#: Cells of one batch, so that a batch of numbers takes 64 MB at most, however many columns there are.
_CELLS = 1 << 23
_MOST_ROWS = 1 << 17
_BUFFERS = 1 << 25  # bytes, of all columns


def count_errors(paths: Sequence[str | Path], target: str, ignore: Iterable[str] = ()) -> ErrorCounts:
    """The errors of every column but ``target`` and the ignored ones, over all files and the files of folders."""
    names, errors, rows = _count(_all_files(paths), target, set(ignore))
    return ErrorCounts(names, errors[0], rows)


def certify_files(
    paths: Sequence[str | Path], target: str, ignore: Iterable[str], delta: float, share: float, seed: int
) -> ChosenCertificate:
    """One classifier, chosen on a part of the rows of all files and certified on the others."""
    files = _all_files(paths)
    total = sum(_rows(file) for file in files)
    if not total:
        raise InputError(f"{files[0]} has a header but no rows below it.")
    mask = np.zeros(total, dtype=bool)
    mask[divided(total, share, seed)[0]] = True
    names, errors, _ = _count(files, target, set(ignore), mask)
    chosen = errors[1].argmin()
    return ChosenCertificate(errors[1], int(errors[0, chosen] - errors[1, chosen]), total, delta, names, share, seed)


def _count(
    files: Sequence[Path], target: str, ignored: set[str], mask: NDArray[np.bool_] | None = None
) -> tuple[list[str], NDArray[np.int64], int]:
    """Names, errors on all rows and on those of the mask (2 × H), and the number of rows."""
    known: list[str] = []
    errors, rows = np.zeros((2, 0), dtype=np.int64), 0
    for file in files:
        dataset = _opened(file)
        names = _classifiers(file, dataset.schema, target, ignored)
        if known and known != names:
            raise InputError(f"{file} has the classifiers {', '.join(names)}, but {files[0]} {', '.join(known)}.")
        with _reading(file):
            found, size = _errors(file, dataset, names, target, None if mask is None else mask[rows:])
        if not size:
            raise InputError(f"{file} has a header but no rows below it.")
        errors = errors + found if known else found
        known, rows = names, rows + size
    return known, errors, rows


def _all_files(paths: Sequence[str | Path]) -> list[Path]:
    files = [file for path in paths for file in _files(Path(path))]
    if not files:
        raise InputError(f"--predictions is {' '.join(map(str, paths))!r}, where there are no CSV or Parquet files.")
    _refuse_repeated(files)
    return files


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
        return sorted(_of_folder(path))
    if not path.exists():
        raise InputError(f"cannot read {str(path)!r}: there is no such file.")
    if _ending(path) is None:
        raise InputError(f"{str(path)!r} must end in .csv, .csv.gz or .parquet.")
    return [path]


def _ending(path: Path) -> str | None:
    return next((ending for ending in _SUFFIXES if path.name.lower().endswith(ending)), None)


def _of_folder(folder: Path) -> Iterator[Path]:
    """The files of a folder and those below it; what cannot be read is refused, since a part is not the whole.

    Names that begin with a dot or an underscore are other programs' copies and notes, as for Parquet's readers.
    """

    def refuse(reason: OSError) -> None:
        raise InputError(f"cannot read the folder {str(reason.filename)!r}: {reason.strerror}.")

    for place, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        for name in folders:
            if (Path(place) / name).is_symlink():
                raise InputError(f"{str(Path(place) / name)!r} is a link to a folder; name that folder itself.")
        for name in names:
            file = Path(place) / name
            if name.startswith((".", "_")) or file.suffix == ".md":
                continue
            if _ending(file) is None:
                raise InputError(
                    f"{str(file)!r} does not end in .csv, .csv.gz or .parquet; a folder is counted as a whole."
                )
            if not file.is_file():
                raise InputError(f"{str(file)!r} is not a file that can be read; a folder is counted as a whole.")
            yield file


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """What goes wrong meanwhile is said in one sentence."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as reason:
        raise InputError(f"cannot read {path}: {str(reason).splitlines()[0]}.") from None


def _opened(path: Path) -> Any:
    """The file as a data set of pyarrow."""
    try:
        import pyarrow.csv as csv
        import pyarrow.dataset as ds
    except ImportError:
        raise InputError("reading predictions needs pyarrow, which is not installed: pip install pyarrow.") from None
    # An empty cell is missing among texts, too.
    texts = ds.CsvFileFormat(convert_options=csv.ConvertOptions(strings_can_be_null=True))
    with _reading(path):
        return ds.dataset(path, format="parquet" if _is_parquet(path) else texts)


def _is_parquet(path: Path) -> bool:
    return _SUFFIXES[str(_ending(path))] == "parquet"


def _rows(path: Path) -> int:
    dataset = _opened(path)
    with _reading(path):
        return int(dataset.count_rows())


def _classifiers(path: Path, schema: Any, target: str, ignored: set[str]) -> list[str]:
    """The columns of predictions, all of the type of the target."""
    columns = schema.names
    repeated = first_repeated(columns)
    if repeated is not None:
        raise InputError(f"{path} has more than one column {repeated!r}.")
    if target not in columns:
        raise InputError(f"{path} has no column {target!r}; it has {', '.join(columns)}.")
    absent = sorted(ignored - set(columns))
    if absent:
        raise InputError(f"{path} has no column {absent[0]!r} to ignore; it has {', '.join(columns)}.")
    names = [name for name in columns if name != target and name not in ignored]
    if not names:
        raise InputError(f"{path} has no column of predictions beside {target!r}.")
    truth = schema.field(target).type
    for name in names:
        kind = schema.field(name).type
        if kind != truth:
            raise InputError(
                f"{path}: {name} is of type {kind}, but {target} of type {truth}; labels must be of one type."
            )
    return names


def _errors(
    path: Path, dataset: Any, names: Sequence[str], target: str, mask: NDArray[np.bool_] | None
) -> tuple[NDArray[np.int64], int]:
    """Errors on all rows and on those of the mask (2 × H), and the number of rows."""
    import pyarrow.compute as pc

    errors, rows = np.zeros((2, len(names)), dtype=np.int64), 0
    for batch in _batches(path, dataset, [*names, target]):
        if not batch.num_rows:
            continue  # its columns may have no type
        truth = batch.column(target)
        for name in [*names, target]:
            _check(path, batch.column(name), name, rows)
        for position, name in enumerate(names):
            differ = pc.not_equal(batch.column(name), truth)
            errors[0, position] += differ.true_count
            if mask is not None:
                part = mask[rows : rows + batch.num_rows]
                errors[1, position] += np.count_nonzero(differ.to_numpy(zero_copy_only=False) & part)
        rows += batch.num_rows
    return errors, rows


def _batches(path: Path, dataset: Any, columns: list[str]) -> Iterator[Any]:
    rows = max(1, min(_MOST_ROWS, _CELLS // len(columns)))
    if not _is_parquet(path):
        return iter(dataset.to_batches(columns=columns, batch_size=rows, batch_readahead=1))
    import pyarrow.parquet as pq

    # Without reading ahead, and pages instead of whole columns: row groups may be as large as the file.
    buffer = max(1 << 14, min(1 << 20, _BUFFERS // len(columns)))
    file = pq.ParquetFile(path, pre_buffer=False, buffer_size=buffer)
    return iter(file.iter_batches(batch_size=rows, columns=columns, use_threads=False))


def _check(path: Path, column: Any, name: str, rows: int) -> None:
    """Every label is known and stands for itself; ``rows`` are those before the column's."""
    import pyarrow as pa
    import pyarrow.compute as pc

    faults = []
    floating = pa.types.is_floating(column.type)
    # The number of nulls is known without a look at them.
    if column.null_count or floating:
        faults.append((column.is_null(nan_is_null=True), "is missing; every label must be known"))
    if floating:
        large = pc.greater_equal(pc.abs(column), pa.scalar(LARGEST_EXACT, column.type))
        said = (
            "is a floating-point number that stands for several whole numbers; write such labels as text, with a "
            "letter (in Parquet, or as integers)"
        )
        faults.append((large, said))
    for bad, said in faults:
        if bad.true_count:
            raise InputError(f"{path}, row {rows + int(pc.index(bad, True).as_py()) + 1}: {name} {said}.")
