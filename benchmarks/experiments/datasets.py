"""Data sets by name: the nine of the paper, prepared as in its experiments, and any that a third party registers.

The nine are those of Dua and Graff, UCI Machine Learning Repository. Each raw file is found in a directory or
downloaded once, and checked before anything is learnt from it; what is particular to a data set stands in ``uci.toml``.
"""

import hashlib
import os
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from pacb_models.errors import InputError
from pacb_models.estimators.tables import Dataset, Sizes
from pacb_models.files import write_atomically
from pacb_models.plugins import load, registered

#: Entry-point group: name -> a function ``loader(data_dir=None)`` that returns a :class:`Dataset`.
DATASETS_GROUP = "pacb_models.datasets"


def load_dataset(name: str, data_dir: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a data set by name, one of :func:`available_datasets`.

    ``data_dir`` is the directory that holds the raw files; by default the environment variable ``PACB_DATA``. Without
    either, Wdbc comes from scikit-learn, Waveform from its generator, and the others from a cache that is filled from
    the UCI repository.
    """
    if name in LOADERS:
        return LOADERS[name](data_dir)
    for entry in registered(DATASETS_GROUP):
        if entry.name == name:
            return load(entry, lambda loader: loader(data_dir))
    raise InputError("dataset", name, f"it must be one of {', '.join(available_datasets())}")


def available_datasets() -> list[str]:
    """Return names that :func:`load_dataset` knows: the built-in ones first. Nothing of other packages is imported for
    it."""
    return list(dict.fromkeys([*LOADERS, *(entry.name for entry in registered(DATASETS_GROUP))]))


# --- Raw files --------------------------------------------------------------------------------------------------------

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"

Lines = list[list[str]]


@dataclass(frozen=True)
class RawFile:
    """The size and the digest of a raw file, and where the UCI repository keeps it (None: not as a plain text)."""

    name: str
    rows: int
    columns: int
    sha256: str
    uci: str | None = None

    def parse(self, text: str, source: str) -> Lines:
        """Return the cells of the published text, whatever its line ends; InputError says what is different in another
        one."""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        digest = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
        rows = [line.split(",") for line in lines]
        if digest == self.sha256:
            return rows
        found = f"its SHA-256 is {digest}, expected {self.sha256}"
        if len(rows) != self.rows:
            found = f"it has {len(rows)} rows, expected {self.rows}"
        elif wrong := [number for number, row in enumerate(rows, 1) if len(row) != self.columns]:
            found = f"row {wrong[0]} has {len(rows[wrong[0] - 1])} columns, expected {self.columns}"
        raise InputError(f"{source} is not the {self.name} of the UCI repository: {found}.")


def find_file(file: RawFile, directory: str | os.PathLike[str] | None, base_url: str = UCI) -> Path:
    """Return the raw file in ``directory``; without one, in the cache, which is filled from ``base_url``."""
    path = Path(directory or cache_directory()) / file.name
    if not path.is_file():
        if directory is not None:
            raise InputError(f"there is no {file.name} in the data directory {str(directory)!r}.")
        _download(file, path, base_url)
    return path


def cache_directory() -> Path:
    """Return where downloaded files are kept: ``$XDG_CACHE_HOME/pacb-models``, by default under ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pacb-models"


def _download(file: RawFile, path: Path, base_url: str) -> None:
    """Fetch a file into the cache; one that is not the published text is not kept."""
    import urllib.request

    advice = f"put {file.name} into a directory and name that, also as PACB_DATA"
    if file.uci is None:
        raise InputError(f"{file.name} cannot be downloaded as text; {advice}.")
    url = f"{base_url}/{file.uci}"
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            content = answer.read()
        text = content.decode()
    except (OSError, UnicodeDecodeError) as reason:
        raise InputError(f"cannot download {url} ({getattr(reason, 'reason', reason)}); {advice}.") from None
    file.parse(text, url)
    write_atomically(path, content)


# --- The nine data sets of the paper ----------------------------------------------------------------------------------

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
        """Return class numbers: the position of each class in ``values``."""
        return np.array([self.values.index(row[self.label]) for row in rows])


def _numbers(rows: Lines, columns: range | list[int]) -> np.ndarray:
    return np.array([[float(row[column]) for column in columns] for row in rows])


def _complete(rows: Lines) -> Lines:
    """Return the rows without missing values."""
    return [row for row in rows if "?" not in row]


def _plain(data: UCIDataset, rows: Lines) -> Prepared:
    """Return numeric features around one class column; rows with missing values are left out."""
    rows = _complete(rows)
    columns = [column for column in range(data.file.columns) if column not in (data.label, *data.ignore)]
    return _numbers(rows, columns), data.classes(rows), data.feature_names


def _bupa(data: UCIDataset, rows: Lines) -> Prepared:
    """Make the paper's class from column 6: column 7 divides the rows into two samples and is no class."""
    y = (_numbers(rows, [5])[:, 0] >= 3).astype(int)
    return _numbers(rows, range(data.features)), y, data.feature_names


def _mushroom(data: UCIDataset, rows: Lines) -> Prepared:
    """Return one column per category of each feature; the categories are those of all rows, also of the incomplete
    ones."""
    categories = [(column, value) for column in range(1, 23) for value in sorted({row[column] for row in rows} - {"?"})]
    rows = _complete(rows)
    X = np.array([[float(row[column] == value) for column, value in categories] for row in rows])
    return X, data.classes(rows), tuple(f"{data.feature_names[column - 1]}={value}" for column, value in categories)


def _waveform(data: UCIDataset, rows: Lines) -> Prepared:
    """Leave out class 0."""
    return _plain(data, [row for row in rows if row[data.label] != "0"])


_PREPARATIONS: dict[str, Callable[[UCIDataset, Lines], Prepared]] = {
    "bupa": _bupa,
    "bupa-no-leak": _bupa,
    "mushroom": _mushroom,
    "waveform": _waveform,
}


def generate_waveform(counts: tuple[int, int] = (1653, 1655), seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    r"""Return examples of classes 1 and 2 of the waveform problem (Breiman, Friedman, Olshen and Stone 1984).

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
