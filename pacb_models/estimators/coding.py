"""A table with numbers and text as a matrix, by what its training rows hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..errors import InputError

if TYPE_CHECKING:
    import pandas as pd


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
        """Learn medians and values; ``X`` is a DataFrame."""
        if not hasattr(X, "columns"):
            raise InputError(f"X is of type {type(X).__name__}; it must be a table with the names of its columns.")
        self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        self.n_features_in_ = X.shape[1]
        self.values_: dict[str, list[str]] = {}
        self.medians_: dict[str, float] = {}
        self.lacking_: set[str] = set()
        for name in self.feature_names_in_:
            if name in self.text:
                self.values_[name] = sorted(set(self._texts(X, name)))
                continue
            numbers = self._numbers(X, name)
            known = numbers[~np.isnan(numbers)]
            self.medians_[name] = float(np.median(known)) if known.size else 0.0
            if known.size < numbers.size:
                self.lacking_.add(name)
        return self

    def transform(self, X: pd.DataFrame) -> NDArray[np.float64]:
        """The matrix; a text that no training row has is none of the known values."""
        check_is_fitted(self, "values_")
        lost = [name for name in self.feature_names_in_ if name not in getattr(X, "columns", ())]
        if lost:
            raise InputError(f"X has no column {lost[0]!r}; the columns of the training table are needed.")
        parts: list[NDArray[Any]] = []
        for name in self.feature_names_in_:
            if name in self.values_:
                texts = self._texts(X, name)
                parts += [texts == value for value in self.values_[name]]
                continue
            numbers = self._numbers(X, name)
            missing = np.isnan(numbers)
            parts.append(np.where(missing, self.medians_[name], numbers))
            if name in self.lacking_:
                parts.append(missing)
        return np.column_stack(parts).astype(np.float64)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """A name for each column of the matrix."""
        check_is_fitted(self, "values_")
        names: list[str] = []
        for name in self.feature_names_in_:
            of_text = [f"{name}={value}" for value in self.values_.get(name, ())]
            names += of_text or [str(name), *([f"{name} is missing"] if name in self.lacking_ else [])]
        return np.array(names, dtype=object)

    def _numbers(self, X: pd.DataFrame, name: str) -> NDArray[np.float64]:
        import pandas as pd

        numbers = pd.to_numeric(X[name], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        self._refuse_missing(np.isnan(numbers), X, name, "number")
        return numbers

    def _texts(self, X: pd.DataFrame, name: str) -> NDArray[Any]:
        """As ``read_table`` reads them, whoever has read the table: a mark of what is missing, no space in front."""
        lost = X[name].isna()
        texts = np.array(["?" if no else str(value).lstrip() for no, value in zip(lost, X[name])], dtype=object)
        missing = texts == "?"
        self._refuse_missing(missing, X, name, "value")
        return np.where(missing, "is missing", texts)

    def _refuse_missing(self, missing: NDArray[np.bool_], X: pd.DataFrame, name: str, kind: str) -> None:
        if missing.any() and not self.impute:
            row = int(np.argmax(missing))
            raise InputError(
                f"column {name!r} has no {kind} in row {row + 1} ({X[name].tolist()[row]!r}); the classifiers were "
                "trained on examples without missing values."
            )
