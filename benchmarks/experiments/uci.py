"""The nine UCI data sets of the paper, prepared as in its experiments.

The data are those of Dua and Graff, UCI Machine Learning Repository; each raw file is checked when it is read. What is
particular to a data set stands in ``uci.toml``.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from pacb_models.errors import InputError
from pacb_models.estimators.tables import Dataset, Sizes

from .raw_files import Lines, RawFile, find_file

Prepared = tuple[np.ndarray, np.ndarray, tuple[str, ...]]  # X, y, feature names


@dataclass(frozen=True)
class UCIDataset:
    """One data set: its raw file, what comes out of it, and the column with the class, which is one of ``values``.

    Calling it loads it; that is the loader signature which registered data sets share.
    """

    name: str
    description: str
    file: RawFile
    features: int
    class_counts: tuple[int, ...]
    class_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    label: int = 0
    values: tuple[str, ...] = ()
    ignore: tuple[int, ...] = ()
    sizes: Sizes | None = None

    def __call__(self, data_dir: str | os.PathLike[str] | None = None) -> Dataset:
        directory = data_dir or os.environ.get("PACB_DATA")
        if directory is None and self.name in _OFFLINE:
            load, source = _OFFLINE[self.name]
            X, y, names = *load(), self.feature_names
        else:
            path = find_file(self.file, directory)
            source = str(path)
            try:
                text = path.read_text()
            except (OSError, UnicodeDecodeError) as reason:
                raise InputError(f"cannot read {source!r}: {reason}.") from None
            X, y, names = _PREPARATIONS.get(self.name, _plain)(self, self.file.parse(text, source))
        return Dataset(X, y, self.name, self.description, names, self.class_names, source, self.sizes)

    def classes(self, rows: Lines) -> np.ndarray:
        """Class numbers: the position of each class in ``values``."""
        return np.array([self.values.index(row[self.label]) for row in rows])


def _numbers(rows: Lines, columns: range | list[int]) -> np.ndarray:
    return np.array([[float(row[column]) for column in columns] for row in rows])


def _complete(rows: Lines) -> Lines:
    """The rows without missing values."""
    return [row for row in rows if "?" not in row]


def _plain(data: UCIDataset, rows: Lines) -> Prepared:
    """Numeric features around one class column; rows with missing values are left out."""
    rows = _complete(rows)
    columns = [column for column in range(data.file.columns) if column not in (data.label, *data.ignore)]
    return _numbers(rows, columns), data.classes(rows), data.feature_names


def _bupa(data: UCIDataset, rows: Lines) -> Prepared:
    """Column 7 divides the rows into two samples and is no class; the paper's class is made from column 6."""
    y = (_numbers(rows, [5])[:, 0] >= 3).astype(int)
    return _numbers(rows, range(data.features)), y, data.feature_names


def _mushroom(data: UCIDataset, rows: Lines) -> Prepared:
    """One column per category of each feature; the categories are those of all rows, also of the incomplete ones."""
    categories = [(column, value) for column in range(1, 23) for value in sorted({row[column] for row in rows} - {"?"})]
    rows = _complete(rows)
    X = np.array([[float(row[column] == value) for column, value in categories] for row in rows])
    return X, data.classes(rows), tuple(f"{data.feature_names[column - 1]}={value}" for column, value in categories)


def _waveform(data: UCIDataset, rows: Lines) -> Prepared:
    """Class 0 is left out."""
    return _plain(data, [row for row in rows if row[data.label] != "0"])


_PREPARATIONS: dict[str, Callable[[UCIDataset, Lines], Prepared]] = {
    "bupa": _bupa,
    "bupa-no-leak": _bupa,
    "mushroom": _mushroom,
    "waveform": _waveform,
}


def generate_waveform(counts: tuple[int, int] = (1653, 1655), seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    r"""Examples of classes 1 and 2 of the waveform problem (Breiman, Friedman, Olshen and Stone 1984).

    Each is a random mixture :math:`u\,h + (1-u)\,h'` of two triangular waves, u uniform on (0, 1), with unit normal
    noise on each of its 21 features, followed by 19 features of noise alone. Class 1 mixes the waves that peak at 7
    and 11, class 2 those that peak at 15 and 11. Values have two decimals, as in the UCI file.
    """
    random = np.random.RandomState(seed)
    at_7, at_11, at_15 = (np.maximum(6.0 - np.abs(np.arange(1, 22) - peak), 0.0) for peak in (7, 11, 15))
    y = random.permutation(np.repeat([0, 1], counts))
    u = random.uniform(size=(len(y), 1))
    signal = u * np.where(y[:, None] == 0, at_7, at_15) + (1.0 - u) * at_11
    X = random.standard_normal((len(y), 40))
    X[:, :21] += signal
    return X.round(2), y


def _wdbc_from_sklearn() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    return bunch.data, (bunch.target == 0).astype(int)


#: What needs no file, and where it comes from then.
_OFFLINE: dict[str, tuple[Callable[[], tuple[np.ndarray, np.ndarray]], str]] = {
    "wdbc": (_wdbc_from_sklearn, "scikit-learn"),
    "waveform": (generate_waveform, "generated (not the UCI file's examples, but drawn from the same distribution)"),
}


def _loader(name: str, facts: dict[str, Any]) -> UCIDataset:
    names = facts.pop("feature_names", [f"x{number}" for number in range(1, facts["features"] + 1)])
    given: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in facts.items()}
    given |= {"file": RawFile(**facts["file"]), "sizes": Sizes(*facts["sizes"]) if "sizes" in facts else None}
    return UCIDataset(name, feature_names=tuple(names), **given)


#: The loaders by name.
LOADERS = {
    name: _loader(name, facts)
    for name, facts in tomllib.loads((files(__package__) / "uci.toml").read_text(encoding="utf-8")).items()
}
