"""Votes of classifiers, equal ones and weighted ones."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def majority(columns: NDArray[Any], size: int) -> NDArray[np.intp]:
    """Return what most columns of codes (see :func:`coded`) say of each example, the first label of several."""
    result = np.empty(len(columns), dtype=np.intp)
    step = max(1, (1 << 22) // max(size, columns.shape[1]))
    for start in range(0, len(columns), step):
        part = columns[start : start + step]
        if size <= 8:  # so many labels are counted faster one by one
            votes = np.stack([np.count_nonzero(part == code, axis=1) for code in range(size)], axis=1)
        else:
            places = part.astype(np.intp) + size * np.arange(len(part))[:, None]
            votes = np.bincount(places.ravel(), minlength=size * len(part)).reshape(-1, size)
        result[start : start + step] = votes.argmax(axis=1)
    return result


def vote_weights(errors: np.ndarray, rate: float) -> np.ndarray:
    r"""Return weights :math:`\propto \exp(-\text{rate} \cdot \text{errors})`."""
    weights = np.exp(-rate * (errors - errors.min()))
    return weights / weights.sum()


class Tally:
    """The shares of one weighted vote, collected member by member.

    An opinion is a vector of class indices, or a matrix with a row of class probabilities per example. Additions are
    made one by one in the order of the members, whatever the number of rows, so that an example gets the same vote
    alone and among others; where all agree the share is exactly one.
    """

    def __init__(self, rows: int, classes: int) -> None:
        self._sums = np.zeros((rows, classes))
        self._total = 0.0

    def add(self, weight: float, opinion: np.ndarray) -> None:
        """Count a member's opinion."""
        if opinion.ndim == 1:
            self._sums[np.arange(len(opinion)), opinion] += weight
        else:
            self._sums += weight * opinion
        self._total += weight

    @property
    def shares(self) -> np.ndarray:
        """The share of each class in the votes on each row."""
        return self._sums / self._total


def vote_shares(weights: np.ndarray, opinions: Iterable[np.ndarray], rows: int, classes: int) -> np.ndarray:
    """Return the share of each class in one weighted vote on each row."""
    tally = Tally(rows, classes)
    for weight, opinion in zip(weights, opinions, strict=True):
        tally.add(weight, opinion)
    return tally.shares
