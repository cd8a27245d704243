"""A table to classify: any CSV or Parquet file with a target column, as it stands there or as a matrix."""

from __future__ import annotations

import os
import reprlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..files import reading
from ..validation import check_choice, check_columns

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".csv", ".parquet")
#: What to do with rows that lack a value; to put something in their place is for classifiers that learn what.
MISSING = ("refuse", "drop")
IMPUTE = "impute"
#: Squares of larger features, and so distances between rows, would leave the floating-point range.
LARGEST_FEATURE = 1e150
#: A target with more classes than this is taken for a measurement.
MOST_CLASSES = 100


@dataclass(frozen=True)
class Sizes:
    """How many examples each SVM is trained on, validated on and tested on."""

    training: int
    validation: int
    test: int

    def __post_init__(self) -> None:
        if min(self.training, self.validation, self.test) < 1:
            raise InputError(f"sizes is {self}; each part needs at least one example.")

    @property
    def total(self) -> int:
        return self.training + self.validation + self.test


@dataclass(frozen=True)
class Reading:
    """What became of a table on its way: rows in the file and rows dropped, missing values by column, columns that were
    ignored, and columns that look like identifiers.
    """

    rows: int
    dropped: int
    missing: dict[str, int]
    ignored: tuple[str, ...]
    identifiers: tuple[str, ...]

    @property
    def notes(self) -> list[str]:
        """Sentences about what was left out, dropped rows first, and about what perhaps should have been."""
        notes = []
        if self.dropped:
            columns = ", ".join(f"{name} {count}" for name, count in self.missing.items())
            notes.append(
                f"{self.dropped} of {self.rows} rows were dropped because a value is missing (by column: {columns}). "
                "The certificate is about examples without missing values only."
            )
        if self.ignored:
            notes.append(f"Columns that were ignored: {', '.join(self.ignored)}.")
        asked = "has another whole number in every row. Is it an identifier? Then leave it out (--ignore)."
        return [*notes, *(f"Column {name!r} {asked}" for name in self.identifiers)]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table to classify: features ``X`` (n × d), class numbers ``y`` (0, 1, …) and what they stand for.

    ``sizes`` overrides the usual 0.4 : 0.4 : 0.2 division; ``source`` says where this copy came from, ``reading`` what
    was left out.
    """

    X: np.ndarray
    y: np.ndarray
    name: str
    description: str = ""
    feature_names: tuple[str, ...] = ()
    class_names: tuple[str, ...] = ()
    source: str = ""
    sizes: Sizes | None = None
    reading: Reading | None = None

    def __post_init__(self) -> None:
        if self.X.ndim != 2 or self.y.shape != self.X.shape[:1]:
            wanted = "a data set is a table X and one class per row of it"
            raise InputError(f"X has shape {self.X.shape} and y {self.y.shape}; {wanted}.")

    @property
    def class_counts(self) -> tuple[int, ...]:
        """Examples per class."""
        return tuple(np.bincount(self.y, minlength=len(self.class_names)).tolist())


@dataclass(frozen=True, eq=False)
class Table:
    """A table as it stands in its file: its features by column, class numbers and what they stand for.

    ``text`` names the columns that are no numbers, ``reading`` tells what was left out.
    """

    features: pd.DataFrame
    text: tuple[str, ...]
    y: np.ndarray
    class_names: tuple[str, ...]
    name: str
    reading: Reading
    groups: np.ndarray | None = None


def load_table(
    path: str | os.PathLike[str], target: str, *, missing: str = "refuse", ignore: Sequence[str] = ()
) -> Dataset:
    """Read a table as a matrix; see :func:`read_table`.

    Numeric columns become features as they are, true/false columns 0 and 1, and any other column one feature per value
    it takes. What is learnt from the table later can only be judged on other tables, or by a protocol that allows that
    these values are known.
    """
    from .coding import TableCoding

    check_choice("missing", missing, MISSING)
    table = read_table(path, target, missing=missing, ignore=ignore)
    coding = TableCoding(table.text).fit(table.features)
    names, source = tuple(coding.get_feature_names_out()), f"{Path(path).name}, column {target!r}"
    X = coding.transform(table.features)
    return Dataset(X, table.y, table.name, source, names, table.class_names, str(path), reading=table.reading)


def read_table(
    path: str | os.PathLike[str],
    target: str,
    *,
    missing: str = "refuse",
    ignore: Sequence[str] = (),
    group: str | None = None,
) -> Table:
    """Read a table whose column ``target`` holds the classes.

    Parameters
    ----------
    path : path
        A CSV with a header line, or a Parquet file. In a CSV, empty cells, ``?`` and pandas' usual marks are missing.
    target : str
        The column with the classes.
    missing : "refuse", "drop" or "impute"
        What to do with rows that lack a value. With "impute" they stay as they are, for classifiers that know what to
        do; only rows without a class are dropped.
    ignore : sequence of str
        Columns to leave out, such as identifiers.
    group : str, optional
        The column with the groups of the examples, as text; it may be one that is left out.
    """
    check_choice("missing", missing, (*MISSING, IMPUTE))
    path = Path(path)
    whole = _read(path)
    asked = [("target", target), *(("ignore", column) for column in ignore), *([("group", group)] if group else [])]
    check_columns(path, whole.columns.tolist(), asked)
    ignored = tuple(dict.fromkeys(column for column in ignore if column != target))
    frame = whole.drop(columns=list(ignored))
    _refuse_lists(frame, path)
    counts = {str(name): int(count) for name, count in frame.isna().sum().items() if count}
    complete = frame.dropna(subset=[target] if missing == IMPUTE else None)
    dropped = len(frame) - len(complete)
    if counts and missing == "refuse":
        listed = ", ".join(f"{column} {count}" for column, count in counts.items())
        raise InputError(
            f"{path} has missing values in {dropped} of {len(frame)} rows (by column: {listed}); "
            "missing='drop' (--missing drop) leaves these rows out, --missing impute of pacb fit puts in medians."
        )
    if complete.empty:
        raise InputError(f"{path} has no row without {'a missing class' if missing == IMPUTE else 'missing values'}.")
    y, class_names = _classes(complete[target], path)
    features = complete.drop(columns=target)
    text = _text_columns(features, path)
    # A whole number of its own in every row; in few rows measurements may well be different whole numbers.
    identifiers = [str(k) for k, v in features.items() if len(v) >= 50 and v.dtype.kind in "iu" and v.is_unique]
    reading = Reading(len(frame), dropped, counts, ignored, tuple(identifiers))
    groups = None
    if group:
        column = whole.loc[complete.index, group]
        if column.hasnans:
            row = column.index[column.isna()][0] + 1
            raise InputError(f"column {group!r} of {path} has no group in row {row}; every example needs one.")
        groups = np.asarray(column.astype(str))
    return Table(features, text, y, class_names, path.stem, reading, groups)


def _read(path: Path) -> pd.DataFrame:
    try:
        import pandas as pd
    except ImportError:
        raise InputError("reading a table needs pandas; install pacb-models[bench].") from None

    check_choice("the suffix of the table", path.suffix, SUFFIXES)
    with reading(path, "the table "):
        if path.suffix == ".parquet":
            return pd.read_parquet(path).reset_index(drop=True)
        # pandas would rename the second column of a name, which may be the target again.
        header = pd.read_csv(path, header=None, nrows=1, skipinitialspace=True, dtype=str).iloc[0].dropna()
        check_columns(path, header.tolist())
        with warnings.catch_warnings():
            # Without index_col a row with a cell too many makes the first column one of row names, without a word.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            try:
                # "?" is how the UCI repository marks a missing value.
                return pd.read_csv(path, na_values=["?"], skipinitialspace=True, index_col=False)
            except pd.errors.ParserWarning:
                longer = f"rows with more cells than its header has names ({len(header)})"
                raise InputError(f"{path} has {longer}.") from None


def _refuse_lists(frame: pd.DataFrame, path: Path) -> None:
    for name, column in frame.items():
        for row, value in enumerate(column if column.dtype == object else ()):
            if isinstance(value, (list, tuple, set, dict, np.ndarray)):
                where = f"column {name!r} of {path} holds {reprlib.repr(value)} in row {row + 1}"
                advice = "a cell must hold one value, so leave the column out with ignore= (--ignore)"
                raise InputError(f"{where}; {advice}.")


def _classes(column: pd.Series, path: Path) -> tuple[np.ndarray, tuple[str, ...]]:
    # As text where it is no number: a column of a spreadsheet may hold both.
    labels = column.to_numpy() if column.dtype != object else column.astype(str).to_numpy(dtype=str)
    values, y = np.unique(labels, return_inverse=True)
    if len(values) < 2:
        raise InputError(f"target {column.name!r} of {path} has the one value {values[0]}; there must be two classes.")
    if len(values) > min(MOST_CLASSES, len(column) // 2):
        several = f"{len(values)} different values in {len(column)} rows"
        raise InputError(f"target {column.name!r} of {path} has {several}; it must hold classes, not measurements.")
    return y, tuple(map(str, values))


def _text_columns(frame: pd.DataFrame, path: Path) -> tuple[str, ...]:
    """Return the columns that are no numbers, after a look at all."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if frame.columns.empty:
        raise InputError(f"{path} has no column besides the target; there must be a feature.")
    text = []
    for name, column in frame.items():
        if is_bool_dtype(column) or is_numeric_dtype(column):
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
            bad = np.flatnonzero(np.abs(values) > LARGEST_FEATURE)
            if bad.size:
                where = f"column {name!r} of {path} holds {values[bad[0]]} in row {column.index[bad[0]] + 1}"
                expected = f"a feature must be a number from {-LARGEST_FEATURE:g} to {LARGEST_FEATURE:g}"
                raise InputError(f"{where}; {expected}.")
            continue
        text.append(str(name))
        if column.nunique() > max(MOST_CLASSES, len(column) // 2):
            several = f"{column.nunique()} different values in {len(column)} rows and is not numeric"
            advice = "it looks like an identifier or a date, so leave it out with ignore= (--ignore)"
            raise InputError(f"column {name!r} of {path} has {several}; {advice}.")
    return tuple(text)
