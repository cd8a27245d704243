r"""SVMs that differ in C alone: one kernel matrix to train them all, one kernel product to predict with them all.

A set of :class:`sklearn.svm.SVC` with the same kernel on the same rows evaluates it again for every member. Here the
entries are computed once, by the very operations that libsvm uses, so that an SVM trained on the matrix is the one that
``SVC(kernel="rbf")`` would have trained, digit for digit; and a :class:`KernelFamily` predicts with any number of them
by the kernel between the new rows and the union of their support vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csr_matrix, vstack
from sklearn import config_context
from sklearn.svm import SVC
from sklearn.utils.validation import check_array

from ..errors import InputError
from ..numerics.inner import pieces

#: Rows of which libsvm keeps a copy of its own. Those in use are enough, and stay near the processor; with all of them
#: (its default of 200 MB) it waits for memory, and rearranges them whenever it sets examples aside.
_CACHED_ROWS = 1000
#: Rows for which the kernel is held at a time while predicting.
_BLOCK = 2048
#: Parameters of SVC in which members may differ; without probabilities the seed does nothing.
_OWN = {"C", "random_state"}
#: Parameters that may have any value, as long as the members agree on them.
_COMMON = ("gamma", "tol", "shrinking", "cache_size", "max_iter", "decision_function_shape")


def cache_size(rows: int) -> float:
    """Return the ``cache_size`` of an ``SVC`` whose kernel matrix is given: it changes the time, and nothing else."""
    return 4.0 * _CACHED_ROWS * rows / 2**20


def vote(decisions: np.ndarray, classes: int) -> np.ndarray:
    """Return the class with most wins over the others, one against one; among equals the first, as in libsvm."""
    votes = np.zeros((classes, decisions.shape[1]), dtype=np.int64)
    for (first, second), decision in zip(combinations(range(classes), 2), decisions):
        votes[first] += decision > 0
        votes[second] += decision <= 0
    return votes.argmax(axis=0)


def gaussian_kernel(X: np.ndarray, Z: np.ndarray, gamma: float) -> np.ndarray:
    """Return the kernel between the rows of two tables, by libsvm's operations in libsvm's order."""
    one_table = X is Z
    X, Z = (np.ascontiguousarray(table, dtype=np.float64) for table in (X, Z))
    squares, other_squares = np.vecdot(X, X), np.vecdot(Z, Z)
    kernel = np.empty((len(X), len(Z)))
    for rows in pieces(len(X), 256):
        # Among the rows of one table the blocks below the diagonal are those above it.
        columns = slice(rows.start if one_table else 0, None)
        block = kernel[rows, columns]
        # One BLAS dot product per pair: a matrix product would round differently.
        np.vecdot(X[rows, None], Z[None, columns], out=block)
        block *= -2.0
        block += squares[rows, None] + other_squares[columns]
        if one_table:
            kernel[columns, rows] = block.T
    kernel *= -gamma
    np.exp(kernel, out=kernel)
    if not np.isfinite(kernel).all():
        raise InputError("X holds values that are not finite or too large: their kernel is not a number.")
    return kernel


def pairwise(machine: Any, support: np.ndarray, pool: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the one-against-one decision functions over the pool's rows."""
    members = [slice(end - count, end) for end, count in zip(np.cumsum(machine.n_support_), machine.n_support_)]
    pairs = list(combinations(range(len(members)), 2))
    coefficients = np.zeros((len(pairs), pool))
    for row, (first, second) in zip(coefficients, pairs):
        row[support[members[first]]] = machine.dual_coef_[second - 1, members[first]]
        row[support[members[second]]] = machine.dual_coef_[first, members[second]]
    # scikit-learn turns the sign for two classes; turn it back to libsvm's.
    sign = -1.0 if len(pairs) == 1 else 1.0
    return sign * coefficients, sign * machine.intercept_


def family_key(machine: Any) -> tuple[Any, ...] | None:
    """Return what members of one family have in common; None for a classifier that shares no kernel with others.

    A Gaussian-kernel ``SVC`` without class weights or probabilities, itself and no subclass of others.
    """
    if type(machine) not in (SVC, FamilySVC):
        return None
    given, usual = machine.get_params(), SVC().get_params()
    differs = any(given[name] != usual[name] for name in usual.keys() - _OWN.union(_COMMON))
    return None if differs else tuple(given[name] for name in _COMMON)


@dataclass(frozen=True, eq=False)
class KernelFamily:
    """Fitted SVMs of one kernel: the s rows that are a support vector of some member, and their coefficients on these.

    Of each member there is a sparse matrix of shape (pairs, s): a row for each pair of classes, positive decisions
    being for the first.
    """

    vectors: np.ndarray
    coefficients: list[Any]
    intercepts: np.ndarray
    classes: np.ndarray
    gamma: float

    def predict(self, X: Any, members: Sequence[int]) -> np.ndarray:
        """Return the labels that these members give the rows, of shape (members, rows).

        The kernel is held for some rows at a time, and coefficients for a batch of members, half a GiB at the most.
        """
        X = check_array(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64, order="C")
        if X.shape[1] != self.vectors.shape[1]:
            raise InputError(f"X has {X.shape[1]} features; the SVMs were trained on {self.vectors.shape[1]}.")
        found = np.empty((len(members), len(X)), dtype=np.int32)
        for batch in pieces(len(members), max(1, 2**26 // int(np.prod(self.coefficients[0].shape)))):
            chosen = list(members[batch])
            coefficients = vstack([self.coefficients[index] for index in chosen]).toarray()
            for rows in pieces(len(X), _BLOCK):
                kernel = gaussian_kernel(X[rows], self.vectors, self.gamma)
                decisions = coefficients @ kernel.T + self.intercepts[chosen].reshape(-1, 1)
                of_each = decisions.reshape(len(chosen), -1, len(kernel))
                found[batch, rows] = [vote(decision, len(self.classes)) for decision in of_each]
        return self.classes[found]


class FamilySVC(SVC):
    """One SVM of a :class:`KernelFamily`: ``index_`` is its place there, ``places_`` are those of its support vectors.

    Fitted again it is an ``SVC`` of its own.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FamilySVC:
        """Train without a family."""
        self.__dict__.pop("family_", None)
        return super().fit(X, y, sample_weight)

    def predict(self, X: Any) -> np.ndarray:
        return self.family_.predict(X, [self.index_])[0] if "family_" in self.__dict__ else super().predict(X)

    def __getattr__(self, name: str) -> Any:
        """Return the support vectors, which the family keeps for all its members."""
        if name == "support_vectors_" and "family_" in self.__dict__:
            return self.family_.vectors[self.places_]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def fit_family(machines: Sequence[SVC], X: Any, y: np.ndarray, n_jobs: int | None) -> list[FamilySVC]:
    """Train SVMs of one :func:`family_key` on one Gram matrix."""
    X = check_array(X, dtype=np.float64, order="C")
    classes, labels = np.unique(y, return_inverse=True)
    # As SVC has it: one over features times variance, or over features.
    usual = {"scale": 1.0 / (X.shape[1] * X.var()) if X.var() else 1.0, "auto": 1.0 / X.shape[1]}
    gamma = float(usual.get(machines[0].gamma, machines[0].gamma))
    gram = gaussian_kernel(X, X, gamma)
    # Threads: libsvm does not hold Python's lock, and the matrix is not copied.
    fits = (delayed(_fit_on_gram)(machine, gram, labels) for machine in machines)
    trained = Parallel(n_jobs=n_jobs, require="sharedmem")(fits)
    support = np.unique(np.concatenate([machine.support_ for machine in trained]))
    rows, intercepts = zip(*(pairwise(each, each.support_, len(labels)) for each in trained), strict=True)
    coefficients = [csr_matrix(each[:, support]) for each in rows]
    family = KernelFamily(X[support], coefficients, np.array(intercepts), classes, gamma)
    members = [FamilySVC(**machine.get_params(deep=False)) for machine in machines]
    for index, (member, machine) in enumerate(zip(members, trained, strict=True)):
        learnt = {name: value for name, value in vars(machine).items() if name not in vars(member)}
        del learnt["support_vectors_"]
        places = np.searchsorted(support, machine.support_)
        own = {"family_": family, "index_": index, "places_": places, "classes_": classes, "_gamma": gamma}
        member.__dict__.update(learnt, **own, shape_fit_=X.shape, n_features_in_=X.shape[1])
    return members


def _fit_on_gram(machine: SVC, gram: np.ndarray, labels: np.ndarray) -> SVC:
    same = {name: getattr(machine, name) for name in ("C", "tol", "shrinking", "max_iter")}
    cached = min(machine.cache_size, cache_size(len(labels)))
    # The matrix has just been found finite.
    with config_context(assume_finite=True):
        return SVC(kernel="precomputed", cache_size=cached, **same).fit(gram, labels)
