"""A table to classify, and how it is to be divided."""

from __future__ import annotations

from dataclasses import dataclass, field

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
    dropped: int = 0
    missing: dict[str, int] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()


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
