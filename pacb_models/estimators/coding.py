"""A table with numbers and text as a matrix, by what its training rows hold, and classifiers that begin with that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from ..errors import InputError
from ..validation import check_choice

if TYPE_CHECKING:
    import pandas as pd


#: Sets of classifiers to certify a table with, in the order of "all".
SETS = ("linear", "svm", "trees", "forest", "boosting")
_MISSING = "is missing"


class TableCoding(TransformerMixin, BaseEstimator):
    """Code numbers as they are, and text as one feature per value that the training rows have.

    It is the first step of a classifier's pipeline, so that it is learnt from the training part, and a saved classifier
    takes the table as it stands in its file.

    Parameters
    ----------
    text : sequence of str
        The columns that are no numbers.
    impute : bool
        Put the median of the training rows where a number is missing, with one more feature that says so if training
        rows lack it, too; a missing text is a value of its own. Without it a missing value is refused.
    """

    def __init__(self, text: Sequence[str] = (), impute: bool = False) -> None:
        self.text = text
        self.impute = impute

    def fit(self, X: pd.DataFrame, y: Any = None) -> TableCoding:
        """Learn medians, and which features there are; ``X`` is a DataFrame."""
        if not hasattr(X, "columns"):
            raise InputError(f"X is of type {type(X).__name__}; it must be a table with the names of its columns.")
        self.feature_names_in_, self.n_features_in_ = np.asarray(X.columns, dtype=object), X.shape[1]
        #: The name of each feature, its column, and the value that it is one for; empty where it is the number itself.
        self.features_: list[tuple[str, str, str]] = []
        self.medians_: dict[str, float] = {}
        for name in self.feature_names_in_:
            values, missing = self._column(X, name)
            if name in self.text:
                self.features_ += [(f"{name}={value}", name, value) for value in sorted(set(values))]
                continue
            self.medians_[name] = 0.0 if missing.all() else float(np.median(values[~missing]))
            self.features_.append((str(name), name, ""))
            if missing.any():
                self.features_.append((f"{name} {_MISSING}", name, _MISSING))
        return self

    def transform(self, X: pd.DataFrame) -> NDArray[np.float64]:
        """Return the matrix; a text that no training row has is none of the known values."""
        check_is_fitted(self, "features_")
        lost = [name for name in self.feature_names_in_ if name not in getattr(X, "columns", ())]
        if lost:
            raise InputError(f"X has no column {lost[0]!r}; the columns of the training table are needed.")
        read = {name: self._column(X, name) for name in self.feature_names_in_}
        result = np.empty((len(X), len(self.features_)))
        for place, (_, name, value) in enumerate(self.features_):
            values, missing = read[name]
            if name in self.medians_:
                result[:, place] = missing if value else np.where(missing, self.medians_[name], values)
            else:
                result[:, place] = values == value
        return result

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return a name for each column of the matrix."""
        check_is_fitted(self, "features_")
        return np.array([name for name, *_ in self.features_], dtype=object)

    def _column(self, X: pd.DataFrame, name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return its numbers or texts, and where one is missing.

        Texts are as ``read_table`` reads them, whoever did: a mark of what is missing, no space in front.
        """
        import pandas as pd

        column = X[name]
        if name in self.text:
            texts = ["?" if no else str(value).lstrip() for no, value in zip(column.isna(), column, strict=True)]
            values, kind = np.array(texts, dtype=object), "value"
            missing = values == "?"
            values[missing] = _MISSING
        else:
            values, kind = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan), "number"
            missing = np.isnan(values)
        if missing.any() and not self.impute:
            row = int(np.argmax(missing))
            where = f"column {name!r} has no {kind} in row {row + 1} ({column.tolist()[row]!r})"
            raise InputError(f"{where}; the classifiers were trained on examples without missing values.")
        return values, missing


def classifier_set(name: str, coding: Any) -> list[tuple[str, Any]]:
    """Return the classifiers of one set, or of "all", each behind a ``coding`` of its own."""
    check_choice("classifiers", name, (*SETS, "all"))
    logistic = {f"logistic C={C:g}": LogisticRegression(C=C, max_iter=2000) for C in (0.01, 0.1, 1.0, 10.0)}
    machines = {f"SVM C={C:g}": SVC(C=C) for C in (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)}
    members: dict[str, dict[str, tuple[Any, ...]]] = {
        "linear": {key: (StandardScaler(), member) for key, member in logistic.items()},
        "svm": {key: (StandardScaler(), member) for key, member in machines.items()},
        "trees": {f"tree of depth {depth}": (DecisionTreeClassifier(max_depth=depth),) for depth in (2, 4, 8)},
        "forest": {"random forest": (RandomForestClassifier(100),), "extra trees": (ExtraTreesClassifier(100),)},
        "boosting": {
            f"boosting, {rounds} rounds": (HistGradientBoostingClassifier(max_iter=rounds, max_leaf_nodes=8),)
            for rounds in (30, 100)
        },
    }
    parts = SETS if name == "all" else (name,)
    return [(key, make_pipeline(clone(coding), *steps)) for part in parts for key, steps in members[part].items()]
