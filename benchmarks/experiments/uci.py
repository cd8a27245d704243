"""The nine UCI data sets of the paper, prepared as in its experiments.

The data are those of Dua and Graff, UCI Machine Learning Repository; each raw file is checked when it is read.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pacb_models.errors import InputError
from pacb_models.estimators.dataset import Dataset, Sizes

from .raw_files import RawFile, Rows, find_file, read_text

Prepared = tuple[np.ndarray, np.ndarray, tuple[str, ...], tuple[str, ...]]  # X, y, feature names, class names


@dataclass(frozen=True)
class UCIDataset:
    """One data set: its raw file, how to turn that into features and classes, and what must come out.

    Calling it loads it; that is the loader signature which registered data sets share.
    """

    name: str
    file: RawFile
    prepare: Callable[[Rows], Prepared]
    description: str
    features: int
    class_counts: tuple[int, ...]
    sizes: Sizes | None = None
    offline: Callable[[], Prepared] | None = None
    offline_source: str = ""

    def __call__(self, data_dir: str | os.PathLike[str] | None = None) -> Dataset:
        directory = data_dir or os.environ.get("PACB_DATA")
        if directory is None and self.offline is not None:
            return self._dataset(self.offline(), self.offline_source)
        path = find_file(self.file, directory)
        text = read_text(path)
        rows = self.file.parse(text, str(path))
        dataset = self._dataset(self._prepare(rows, path), str(path))
        self._check_counts(dataset)
        self.file.check_text(text, str(path))
        return dataset

    def _prepare(self, rows: Rows, path: Path) -> Prepared:
        try:
            return self.prepare(rows)
        except ValueError as reason:
            raise InputError(f"{path} is not the {self.file.name} of the UCI repository: {reason}.") from None

    def _dataset(self, prepared: Prepared, source: str) -> Dataset:
        X, y, feature_names, class_names = prepared
        return Dataset(X, y, self.name, self.description, feature_names, class_names, source, self.sizes)

    def _check_counts(self, dataset: Dataset) -> None:
        if dataset.X.shape[1] != self.features:
            raise InputError(f"{dataset.source} gives {dataset.X.shape[1]} features; {self.name} has {self.features}.")
        if dataset.class_counts != self.class_counts:
            found, expected = (
                ", ".join(f"{count} {name}" for name, count in zip(dataset.class_names, counts))
                for counts in (dataset.class_counts, self.class_counts)
            )
            raise InputError(f"{dataset.source} has the classes {found}; {self.name} has {expected}.")


def _numbers(rows: Rows, columns: range | list[int]) -> np.ndarray:
    return np.array([[float(row[column]) for column in columns] for row in rows])


def _classes(rows: Rows, column: int, values: tuple[str, ...]) -> np.ndarray:
    """Class numbers: the position of each cell in ``values``."""
    numbers = {value: number for number, value in enumerate(values)}
    try:
        return np.array([numbers[row[column]] for row in rows])
    except KeyError as cell:
        raise ValueError(f"column {column + 1} holds {cell}, expected one of {', '.join(values)}") from None


def _complete(rows: Rows) -> Rows:
    """The rows without missing values."""
    return [row for row in rows if "?" not in row]


def _plain(
    features: tuple[str, ...], label: int, values: tuple[str, ...], names: tuple[str, ...], rows: Rows
) -> Prepared:
    """Numeric features around one class column; rows with missing values are left out."""
    rows = _complete(rows)
    columns = [column for column in range(len(features) + 1) if column != label]
    return _numbers(rows, columns), _classes(rows, label, values), features, names


def _bupa(rows: Rows, leak: bool) -> Prepared:
    """Column 7 divides the rows into two samples and is no class; the paper's class is made from column 6."""
    features = ("mcv", "alkphos", "sgpt", "sgot", "gammagt") + (("drinks",) if leak else ())
    y = (_numbers(rows, [5])[:, 0] >= 3).astype(int)
    return _numbers(rows, range(len(features))), y, features, ("drinks < 3", "drinks >= 3")


def _wdbc(rows: Rows) -> Prepared:
    """Column 1 is an identifier."""
    return _numbers(rows, range(2, 32)), _classes(rows, 1, ("B", "M")), _WDBC_FEATURES, ("benign", "malignant")


def _wdbc_from_sklearn() -> Prepared:
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    return bunch.data, (bunch.target == 0).astype(int), _WDBC_FEATURES, ("benign", "malignant")


def _mushroom(rows: Rows) -> Prepared:
    """One column per category of each feature; the categories are those of all rows, also of the incomplete ones."""
    categories = [(column, value) for column in range(1, 23) for value in sorted({row[column] for row in rows} - {"?"})]
    rows = _complete(rows)
    X = np.array([[float(row[column] == value) for column, value in categories] for row in rows])
    names = tuple(f"{_MUSHROOM_FEATURES[column - 1]}={value}" for column, value in categories)
    return X, _classes(rows, 0, ("e", "p")), names, ("edible", "poisonous")


def _waveform(rows: Rows) -> Prepared:
    """Class 0 is left out."""
    rows = [row for row in rows if row[40] != "0"]
    return _numbers(rows, range(40)), _classes(rows, 40, ("1", "2")), _WAVEFORM_FEATURES, ("1", "2")


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


def _generated_waveform() -> Prepared:
    return *generate_waveform(), _WAVEFORM_FEATURES, ("1", "2")


_WAVEFORM_FEATURES = tuple(f"x{number}" for number in range(1, 41))

_WDBC_FEATURES = tuple(
    f"{kind} {measure}"
    for kind in ("mean", "error of", "worst")
    for measure in (
        "radius",
        "texture",
        "perimeter",
        "area",
        "smoothness",
        "compactness",
        "concavity",
        "concave points",
        "symmetry",
        "fractal dimension",
    )
)

_MUSHROOM_FEATURES = (
    "cap-shape",
    "cap-surface",
    "cap-color",
    "bruises",
    "odor",
    "gill-attachment",
    "gill-spacing",
    "gill-size",
    "gill-color",
    "stalk-shape",
    "stalk-root",
    "stalk-surface-above-ring",
    "stalk-surface-below-ring",
    "stalk-color-above-ring",
    "stalk-color-below-ring",
    "veil-type",
    "veil-color",
    "ring-number",
    "ring-type",
    "spore-print-color",
    "population",
    "habitat",
)

_SPAMBASE_FEATURES = tuple(
    [f"word {number}" for number in range(1, 49)]
    + [f"character {character}" for character in ";([!$#"]
    + ["capital run average", "capital run longest", "capital run total"]
)

_BUPA = RawFile(
    "bupa.csv",
    345,
    7,
    "a166a3e7a6f4dc41aaaedc59a107e57d8adcaeb8821f0873d756982f1ea74c92",
    "liver-disorders/bupa.data",
)

_DATASETS = (
    UCIDataset(
        "spambase",
        RawFile(
            "spambase.csv",
            4601,
            58,
            "ebec58cfca94ea61c77df632314acae15bad410f4769d38b1a66cb41050e3431",
            "spambase/spambase.data",
        ),
        functools.partial(_plain, _SPAMBASE_FEATURES, 57, ("0", "1"), ("mail", "spam")),
        "E-mails by word frequencies: spam or not.",
        57,
        (2788, 1813),
    ),
    UCIDataset(
        "bupa",
        _BUPA,
        functools.partial(_bupa, leak=True),
        "Blood tests and drinks per day: three drinks or more? As in the paper, the answer is among the features.",
        6,
        (169, 176),
    ),
    UCIDataset(
        "bupa-no-leak",
        _BUPA,
        functools.partial(_bupa, leak=False),
        "Blood tests: three drinks per day or more? Without the number of drinks, which the paper keeps as a feature.",
        5,
        (169, 176),
    ),
    UCIDataset(
        "mammographic",
        RawFile(
            "mammographic.csv",
            961,
            6,
            "2ed8bb60a517f631256d218a4885c56ef196d41023c63307ab40d69985be3b4a",
            "mammographic-masses/mammographic_masses.data",
        ),
        functools.partial(
            _plain, ("BI-RADS", "age", "shape", "margin", "density"), 5, ("0", "1"), ("benign", "malignant")
        ),
        "Mammographic masses: benign or malignant; the 830 complete rows.",
        5,
        (427, 403),
    ),
    UCIDataset(
        "wdbc",
        RawFile(
            "wdbc.csv",
            569,
            32,
            "d606af411f3e5be8a317a5a8b652b425aaf0ff38ca683d5327ffff94c3695f4a",
            "breast-cancer-wisconsin/wdbc.data",
        ),
        _wdbc,
        "Breast cancer cell nuclei: benign or malignant.",
        30,
        (357, 212),
        offline=_wdbc_from_sklearn,
        offline_source="scikit-learn",
    ),
    UCIDataset(
        "banknote",
        RawFile(
            "banknote.csv",
            1372,
            5,
            "50573e4d341c0c211668136a8b83b592b8dda436520785c3cc3d536fe407a157",
            "00267/data_banknote_authentication.txt",
        ),
        functools.partial(
            _plain, ("variance", "skewness", "kurtosis", "entropy"), 4, ("0", "1"), ("genuine", "forged")
        ),
        "Wavelet features of banknote images: genuine or forged.",
        4,
        (762, 610),
        # The paper's table; every other data set there has as many validation as training examples.
        sizes=Sizes(548, 549, 275),
    ),
    UCIDataset(
        "mushroom",
        RawFile(
            "mushroom.csv",
            8124,
            23,
            "e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e",
            "mushroom/agaricus-lepiota.data",
        ),
        _mushroom,
        "Mushrooms by 22 categories: edible or poisonous; the 5644 complete rows, one column per category.",
        116,
        (3488, 2156),
    ),
    UCIDataset(
        "ionosphere",
        RawFile(
            "ionosphere.csv",
            351,
            35,
            "46d52186b84e20be52918adb93e8fb9926b34795ff7504c24350ae0616a04bbd",
            "ionosphere/ionosphere.data",
        ),
        functools.partial(_plain, tuple(f"x{number}" for number in range(1, 35)), 34, ("b", "g"), ("bad", "good")),
        "Radar returns from the ionosphere: with structure or without.",
        34,
        (126, 225),
    ),
    UCIDataset(
        "waveform",
        RawFile("waveform.csv", 5000, 41, "b95842ef008156c06fbdebd9b6b1c45b058dfd6592d41f21c73b8c164b9579c6"),
        _waveform,
        "Noisy mixtures of triangular waves, with 19 features of noise; classes 1 and 2 of the three.",
        40,
        (1653, 1655),
        offline=_generated_waveform,
        offline_source="generated (not the examples of the UCI file, but drawn from the same distribution)",
    ),
    UCIDataset(
        "haberman",
        RawFile(
            "haberman.csv",
            306,
            4,
            "b4b7a32586a5668f9f4d6dc8be9d1bc8cd4822523affb1f6b5bfc350681ef3e2",
            "haberman/haberman.data",
        ),
        functools.partial(_plain, ("age", "year", "nodes"), 3, ("1", "2"), ("survived", "died")),
        "Breast cancer patients: survived five years or not.",
        3,
        (225, 81),
    ),
)

#: The loaders by name.
LOADERS: dict[str, UCIDataset] = {dataset.name: dataset for dataset in _DATASETS}
