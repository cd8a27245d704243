"""Counting errors in CSV and Parquet files of predictions, batch by batch: memory stays flat, whatever their size."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..files import reading
from ..validation import check_columns
from .choice import ChosenCertificate, divided
from .counts import ErrorCounts
from .labels import largest_exact

Paths = Sequence[str | Path]
_PARQUET = (".parquet", ".pq")
_ENDINGS = (".csv", ".csv.gz", *_PARQUET)


def count_errors(paths: Paths, target: str, ignore: Iterable[str] = (), identifier: str | None = None) -> ErrorCounts:
    """Return the errors of every column but ``target`` and the ignored ones, over all files and the files of folders.

    ``identifier`` is a column with a value of its own in every row of all files.
    """
    files = _opened(paths, target, ignore, identifier)
    errors, rows = _count(files)
    return ErrorCounts(files[0].names, errors[0], rows)


def certify_files(
    paths: Paths,
    target: str,
    ignore: Iterable[str],
    delta: float,
    share: float,
    seed: int,
    identifier: str | None = None,
) -> ChosenCertificate:
    """Return one classifier, chosen on a part of the rows of all files and certified on the others."""
    files = _opened(paths, target, ignore, identifier)
    total = sum(file.rows for file in files)
    mask = np.zeros(total, dtype=bool)
    mask[divided(total, share, seed)[0] if total else []] = True
    errors, _ = _count(files, mask)
    single = errors[1].argmin()
    left = int(errors[0, single] - errors[1, single])
    return ChosenCertificate(errors[1], left, total, delta, files[0].names, share, seed)


def _opened(paths: Paths, target: str, ignore: Iterable[str], identifier: str | None = None) -> list[_PredictionFile]:
    """Return all files, those of folders included; examples that are counted twice would make the certificate too
    small."""
    seen: dict[tuple[int, int], _PredictionFile] = {}
    for file in (file for path in paths for file in _files(Path(path))):
        status = file.stat()
        other = seen.get((status.st_dev, status.st_ino))
        if other is not None:
            raise InputError(f"{file} is the file {other.path} again; every example must be counted once.")
        seen[status.st_dev, status.st_ino] = _PredictionFile(file, target, set(ignore), identifier)
    if not seen:
        raise InputError(f"predictions is {' '.join(map(str, paths))!r}, where there are no CSV or Parquet files.")
    first, *others = opened = list(seen.values())
    for each in others:
        if each.names != first.names:
            pairs = zip_longest(each.names, first.names, fillvalue="none more")
            own, its = next(pair for pair in pairs if pair[0] != pair[1])
            raise InputError(f"{each.path} has the classifier {own}, but {first.path} has {its} in its place.")
    if identifier is not None:
        _check_identifiers(opened, identifier)
    return opened


def _check_identifiers(files: Sequence[_PredictionFile], column: str) -> None:
    """Refuse an example that stands in the files twice, under its identifier."""
    import pyarrow as pa
    import pyarrow.compute as pc

    chunks = []
    for file in files:
        with reading(file.path):
            chunks += file.dataset.to_table(columns=[column]).column(column).cast(pa.string()).chunks
    counts = pa.chunked_array(chunks, type=pa.string()).value_counts()
    for twice in counts.filter(pc.greater(counts.field("counts"), 1))[:1]:
        value = twice["values"].as_py()
        raise InputError(f"{column} is {value!r} in {twice['counts']} rows; every example must be counted once.")


def _count(files: Sequence[_PredictionFile], mask: NDArray[np.bool_] | None = None) -> tuple[NDArray[np.int64], int]:
    """Return errors on all rows and on those of the mask (2 × H), and the number of rows."""
    import pyarrow.compute as pc

    errors, rows = np.zeros((2, len(files[0].names)), dtype=np.int64), 0
    for file in files:
        before = rows
        with reading(file.path):
            for batch in file.batches():
                truth, part = batch.column(file.target), slice(rows, rows + batch.num_rows)
                for position, name in enumerate(file.names):
                    differ = pc.not_equal(batch.column(name), truth)
                    errors[0, position] += differ.true_count
                    if mask is not None:
                        errors[1, position] += np.count_nonzero(differ.to_numpy(zero_copy_only=False) & mask[part])
                rows += batch.num_rows
        if rows == before:
            raise InputError(f"{file.path} has a header but no rows below it.")
    return errors, rows


def _files(path: Path) -> list[Path]:
    """Return the file, or those of a folder and below it; what cannot be read is refused, since a part is not the
    whole.

    Names that begin with a dot or an underscore are other programs' copies and notes, as for Parquet's readers.
    """

    def refuse(reason: OSError) -> None:
        raise InputError(f"cannot read the folder {str(reason.filename)!r}: {reason.strerror}.")

    if not path.exists():
        raise InputError(f"cannot read {str(path)!r}: there is no such file.")
    if not path.is_dir() and not path.name.lower().endswith(_ENDINGS):
        raise InputError(f"{str(path)!r} must end in .csv, .csv.gz or .parquet.")
    found = [] if path.is_dir() else [path]
    for place, folders, names in os.walk(path, onerror=refuse) if path.is_dir() else ():
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        for link in (Path(place, name) for name in folders):
            if link.is_symlink():
                raise InputError(f"{str(link)!r} is a link to a folder; name that folder itself.")
        for file in (Path(place, name) for name in names if not name.startswith((".", "_"))):
            whole = "a folder is counted as a whole"
            if file.suffix == ".md":
                continue
            if not file.name.lower().endswith(_ENDINGS):
                raise InputError(f"{str(file)!r} does not end in .csv, .csv.gz or .parquet; {whole}.")
            if not file.is_file():
                raise InputError(f"{str(file)!r} is not a file that can be read; {whole}.")
            found.append(file)
    return sorted(found)


class _PredictionFile:
    """One file: the names of its classifiers, its rows, and the errors in them."""

    def __init__(self, path: Path, target: str, ignored: set[str], identifier: str | None) -> None:
        try:
            import pyarrow.csv as csv
            import pyarrow.dataset as ds
        except ImportError:
            said = "reading predictions needs pyarrow, which is not installed: pip install pyarrow."
            raise InputError(said) from None
        self.path, self.target, self.is_parquet = path, target, path.name.lower().endswith(_PARQUET)
        # An empty cell is missing among texts, too.
        texts = ds.CsvFileFormat(convert_options=csv.ConvertOptions(strings_can_be_null=True))
        with reading(path):
            self.dataset: Any = ds.dataset(path, format="parquet" if self.is_parquet else texts)
            self.names = self._classifiers(ignored, identifier)

    @property
    def rows(self) -> int:
        with reading(self.path):
            return int(self.dataset.count_rows())

    def _classifiers(self, ignored: set[str], identifier: str | None) -> list[str]:
        """Return the columns of predictions, all of the type of the target."""
        schema, target = self.dataset.schema, self.target
        others = [("id", identifier)] * (identifier is not None) + [("ignore", name) for name in sorted(ignored)]
        check_columns(self.path, schema.names, [("target", target), *others])
        names = [name for name in schema.names if name not in {target, identifier, *ignored}]
        if not names:
            raise InputError(f"{self.path} has no column of predictions beside {target!r}.")
        truth = schema.field(target).type
        for name in names:
            kind = schema.field(name).type
            if kind != truth:
                kinds = f"{name} is of type {kind}, but {target} of type {truth}"
                raise InputError(f"{self.path}: {kinds}; labels must be of one type.")
        return names

    def batches(self) -> Iterator[Any]:
        """Yield its rows in parts that are small and not empty, with labels that are known."""
        rows, columns = 0, [*self.names, self.target]
        for batch in self._parts(columns):
            if batch.num_rows:  # else its columns may have no type
                for name in columns:
                    self._check(batch.column(name), name, rows)
                rows += batch.num_rows
                yield batch

    def _parts(self, columns: list[str]) -> Iterator[Any]:
        # A batch of numbers takes 64 MB at most, however many columns there are.
        rows = max(1, min(1 << 17, (1 << 23) // len(columns)))
        if not self.is_parquet:
            return iter(self.dataset.to_batches(columns=columns, batch_size=rows, batch_readahead=1))
        import pyarrow.parquet as pq

        # Without reading ahead, and pages instead of whole columns: row groups may be as large as the file.
        buffer = max(1 << 14, min(1 << 20, (1 << 25) // len(columns)))
        file = pq.ParquetFile(self.path, pre_buffer=False, buffer_size=buffer)
        return iter(file.iter_batches(batch_size=rows, columns=columns, use_threads=False))

    def _check(self, column: Any, name: str, rows: int) -> None:
        """Check that every label is known and stands for itself; ``rows`` are those before the column's."""
        import pyarrow as pa
        import pyarrow.compute as pc

        faults = {}
        floating = pa.types.is_floating(column.type)
        # The number of nulls is known without a look at them.
        if column.null_count or floating:
            faults["is missing; every label must be known"] = column.is_null(nan_is_null=True)
        if floating:
            faults[
                "is a floating-point number that stands for several whole numbers; write such labels as text, with a "
                "letter (in Parquet, or as integers)"
            ] = pc.greater_equal(pc.abs(column), pa.scalar(largest_exact(column.type.to_pandas_dtype()), column.type))
        for said, bad in faults.items():
            if bad.true_count:
                raise InputError(f"{self.path}, row {rows + int(pc.index(bad, True).as_py()) + 1}: {name} {said}.")
