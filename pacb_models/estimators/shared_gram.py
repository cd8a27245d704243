"""Many SVMs on parts of one table: the kernel is evaluated once, and shared.

The obvious loop computes the kernel of its training part anew for every SVM, and again for every prediction. Here

* one Gram matrix serves all of them. Its entries are computed by the very operations libsvm uses, so an SVM trained on
  it is the SVM ``SVC(kernel="rbf")`` would have trained, digit for digit;
* an SVM is trained on a part of the rows by giving the others weight zero, so no part of the matrix is copied;
* the decisions of a batch of SVMs are one matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from ..errors import InputError

#: libsvm's iterations before an SVM is used as it is. The paper's grid never gets here; for λ near 1e-10 libsvm, whose
#: kernel cache is in single precision, would not reach its tolerance on data that are not separable.
MAX_ITERATIONS = 100_000

#: Rows of which libsvm keeps a copy of its own. Those in use are enough, and stay near the processor; with all of them
#: (its default of 200 MB) it waits for memory, and rearranges them whenever it sets examples aside.
_CACHED_ROWS = 1000

#: The largest Gram matrix that is made without asking, in bytes.
MEMORY_LIMIT = 8 * 2**30


@dataclass(frozen=True, eq=False)
class Task:
    """One SVM: its regularisation, the rows it learns from (a mask over the pool), and rows to count its errors on."""

    regularisation: float
    training: np.ndarray
    evaluations: tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Errors:
    """Error counts of one SVM, one per evaluation part, and whether libsvm reached its tolerance."""

    counts: tuple[int, ...]
    converged: bool


class SharedGram:
    r"""The kernel :math:`\exp(-\gamma\lVert x_i - x_j\rVert^2)` between all rows i and the first ``pool`` rows j.

    Parameters
    ----------
    X : array of shape (n, d)
        Features; the rows that may be learnt from come first.
    y : array of shape (n,)
        Class labels.
    gamma : float
    pool : int
        How many of the rows may be learnt from.
    """

    def __init__(self, X: np.ndarray, y: np.ndarray, gamma: float, pool: int, memory_limit: int = MEMORY_LIMIT):
        if (size := 8 * len(X) * pool) > memory_limit:
            raise InputError(
                f"X has {len(X)} rows; their kernel matrix would take {size / 2**30:.1f} GiB, more than the limit of "
                f"{memory_limit / 2**30:.1f} GiB, so pass a sample of the rows or a larger memory limit."
            )
        self.classes, self.labels = np.unique(y, return_inverse=True)
        self.pool = pool
        self.matrix = gaussian_gram(X, pool, gamma)

    def errors(self, tasks: list[Task], max_iterations: int = MAX_ITERATIONS) -> list[Errors]:
        """Train the SVMs of a batch and count their errors."""
        trained = [self._train(task, max_iterations) for task in tasks]
        coefficients = np.concatenate([model.coefficients for model in trained])
        intercepts = np.concatenate([model.intercepts for model in trained])
        decisions = coefficients @ self.matrix.T + intercepts[:, None]
        decisions = decisions.reshape(len(tasks), -1, len(self.labels))
        results = []
        for task, model, decision in zip(tasks, trained, decisions):
            wrong = vote(decision, len(self.classes)) != self.labels
            results.append(Errors(tuple(int(wrong[rows].sum()) for rows in task.evaluations), model.converged))
        return results

    def _train(self, task: Task, max_iterations: int) -> _Trained:
        from sklearn import config_context
        from sklearn.svm import SVC

        labels = self.labels[: self.pool]
        missing = np.flatnonzero(np.bincount(labels[task.training], minlength=len(self.classes)) == 0)
        if missing.size:
            raise InputError(
                f"y has too few examples of the class {str(self.classes[missing[0]])!r}: none of them is among the "
                f"{int(task.training.sum())} examples that an SVM is trained on."
            )
        own = {"max_iter": max_iterations, "cache_size": cache_size(self.pool)}
        machine = SVC(C=1.0 / task.regularisation, kernel="precomputed", **own)
        # Matrix and parameters are checked once, not once per SVM.
        with config_context(assume_finite=True, skip_parameter_validation=True):
            machine.fit(self.matrix[: self.pool], labels, sample_weight=task.training.astype(np.float64))
        support = machine.support_
        if support_counts_weighted_rows_only():
            support = np.flatnonzero(task.training)[support]
        return _Trained(*pairwise(machine, support, self.pool), converged=machine.fit_status_ == 0)


def cache_size(rows: int) -> float:
    """The ``cache_size`` of an ``SVC`` whose kernel matrix is given: it changes the time, and nothing else."""
    return 4.0 * _CACHED_ROWS * rows / 2**20


def vote(decisions: np.ndarray, classes: int) -> np.ndarray:
    """The class with most wins over the others, one against one; among equals the first, as in libsvm."""
    votes = np.zeros((classes, decisions.shape[1]), dtype=np.int64)
    for (first, second), decision in zip(combinations(range(classes), 2), decisions):
        votes[first] += decision > 0
        votes[second] += decision <= 0
    return votes.argmax(axis=0)


@dataclass(frozen=True, eq=False)
class _Trained:
    """Decision functions of one SVM, one row per pair of classes; positive means the first class of the pair."""

    coefficients: np.ndarray
    intercepts: np.ndarray
    converged: bool


def gaussian_gram(X: np.ndarray, pool: int, gamma: float) -> np.ndarray:
    """The kernel between all rows and the first ``pool``, by libsvm's operations in libsvm's order."""
    return gaussian_kernel(X, X[:pool], gamma)


def gaussian_kernel(X: Any, Z: Any, gamma: float) -> np.ndarray:
    """The kernel between the rows of two tables; of dense ones by libsvm's operations in libsvm's order."""
    return kernel_of(squared_distances(X, Z), gamma)


def kernel_of(distances: np.ndarray, gamma: float) -> np.ndarray:
    """The kernel at these squared distances, in their place."""
    distances *= -gamma
    np.exp(distances, out=distances)
    if not np.isfinite(distances).all():
        raise InputError("X holds values that are not finite or too large: their kernel is not a number.")
    return distances


def squared_distances(X: Any, Z: Any) -> np.ndarray:
    """Squared distances between the rows of two tables, as libsvm computes them for the kernel.

    Of sparse ones (CSR) by a sparse product, which adds up in another order: the last digits may differ from libsvm's.
    """
    sparse, one_table = hasattr(X, "toarray"), X is Z
    if not sparse:
        X, Z = np.ascontiguousarray(X, dtype=np.float64), np.ascontiguousarray(Z, dtype=np.float64)
    squares, other_squares = _squares(X), _squares(Z)
    distances = np.empty((X.shape[0], Z.shape[0]))
    for start in range(0, X.shape[0], 256):
        rows = slice(start, start + 256)
        # Among the rows of one table the blocks below the diagonal are those above it.
        columns = slice(start if one_table else 0, None)
        block = distances[rows, columns]
        if sparse:
            block[...] = (X[rows] @ Z[columns].T).toarray()
        else:
            # One BLAS dot product per pair: a matrix product would round differently.
            np.vecdot(X[rows, None], Z[None, columns], out=block)
        block *= -2.0
        block += squares[rows, None] + other_squares[columns]
        if one_table:
            distances[columns, rows] = block.T
    return distances


def _squares(X: Any) -> np.ndarray:
    if hasattr(X, "toarray"):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.vecdot(X, X)


def pairwise(machine: Any, support: np.ndarray, pool: int) -> tuple[np.ndarray, np.ndarray]:
    """The one-against-one decision functions over the pool's rows."""
    classes = len(machine.classes_)
    if classes == 2:
        # scikit-learn turns the sign for two classes; turn it back to libsvm's.
        coefficients = np.zeros((1, pool))
        coefficients[0, support] = -machine.dual_coef_[0]
        return coefficients, -machine.intercept_
    ends = np.cumsum(machine.n_support_)
    members = [slice(end - count, end) for end, count in zip(ends, machine.n_support_)]
    pairs = list(combinations(range(classes), 2))
    coefficients = np.zeros((len(pairs), pool))
    for row, (first, second) in zip(coefficients, pairs):
        row[support[members[first]]] = machine.dual_coef_[second - 1, members[first]]
        row[support[members[second]]] = machine.dual_coef_[first, members[second]]
    return coefficients, machine.intercept_


@lru_cache(maxsize=1)
def support_counts_weighted_rows_only() -> bool:
    """Whether ``SVC.support_`` numbers the rows of positive weight (scikit-learn up to 1.9 at least) or all rows.

    scikit-learn's documentation promises the latter (its issue 25380), so this may change; a three-row SVM tells.
    """
    from sklearn.svm import SVC

    machine = SVC(kernel="precomputed").fit(np.eye(3), [0, 0, 1], sample_weight=[0.0, 1.0, 1.0])
    return sorted(machine.support_) == [0, 1]
