"""A table to classify, and how it is to be divided."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import InputError


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
            raise InputError(
                f"X has shape {self.X.shape} and y {self.y.shape}; a data set is a table X and one class per row of it."
            )

    @property
    def class_counts(self) -> tuple[int, ...]:
        """Examples per class."""
        return tuple(np.bincount(self.y, minlength=len(self.class_names)).tolist())
