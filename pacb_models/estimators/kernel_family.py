r"""SVMs that differ in C alone: one kernel matrix to train them all, one kernel product to predict with them all.

A set of SVMs with the same kernel on the same rows evaluates it again for every member when each is an
:class:`sklearn.svm.SVC` of its own. Here the members are trained on one Gram matrix (see
:mod:`~pacb_models.estimators.kernels` for why they are the same SVMs), and a :class:`KernelFamily` predicts with
any number of them by the kernel between the new rows and the union of their support vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn import config_context
from sklearn.svm import SVC
from sklearn.utils.validation import _num_samples, check_array

from ..errors import InputError
from .kernels import cache_size, gaussian_kernel, kernel_of, pairwise, squared_distances, vote

#: Rows for which the kernel is held at a time while predicting.
BLOCK = 2048
#: Numbers in the coefficients of a batch of members while predicting, half a GiB.
_LARGEST_PRODUCT = 2**26
#: Parameters of SVC in which members may differ; without probabilities the seed does nothing.
_OWN = ("C", "random_state")
#: Parameters that may have any value, as long as the members agree on them.
_COMMON = ("gamma", "tol", "shrinking", "cache_size", "max_iter", "decision_function_shape")


def family_key(machine: Any) -> tuple[Any, ...] | None:
    """What members of one family have in common; None for a classifier that shares no kernel with others.

    A Gaussian-kernel ``SVC`` without class weights or probabilities, itself and no subclass of others.
    """
    if type(machine) not in (SVC, FamilySVC):
        return None
    if any(getattr(machine, name) != value for name, value in _fixed().items()):
        return None
    return tuple(getattr(machine, name) for name in _COMMON)


@lru_cache(maxsize=1)
def _fixed() -> dict[str, Any]:
    """The parameters that must have their default value."""
    defaults = SVC().get_params(deep=False)
    return {name: value for name, value in defaults.items() if name not in _OWN + _COMMON}


@dataclass(frozen=True, eq=False)
class KernelFamily:
    """Fitted SVMs of one kernel: the union of their support vectors, and their coefficients on it.

    Attributes
    ----------
    vectors : array or sparse matrix of shape (s, d)
        Rows of the training data that are a support vector of some member.
    coefficients : list of sparse matrices of shape (pairs, s)
        One for each member; a row for each pair of classes, positive decisions being for the first.
    intercepts : array of shape (members, pairs)
    classes : array
    gamma : float
    """

    vectors: Any
    coefficients: list[Any]
    intercepts: np.ndarray
    classes: np.ndarray
    gamma: float

    def predict(self, X: Any, members: Sequence[int]) -> np.ndarray:
        """The labels that these members give the rows, of shape (members, rows).

        The kernel is held for :data:`BLOCK` rows at a time, and decisions for a few members: memory is one label per
        member and row, whatever their number.
        """
        batches = self._batches(members)
        found = np.empty((len(members), _num_samples(X)), dtype=np.int32)
        for rows, kernel in self._kernels(X):
            for places, coefficients, intercepts in batches:
                decisions = coefficients @ kernel.T + intercepts
                for place, decision in zip(places, decisions.reshape(len(places), -1, len(kernel)), strict=True):
                    found[place, rows] = vote(decision, len(self.classes))
        return self.classes[found]

    def decisions(self, X: Any, index: int) -> np.ndarray:
        """The decisions of one member, a row for each pair of classes, positive for the first."""
        parts = [self.coefficients[index] @ kernel.T for _, kernel in self._kernels(X)]
        return np.concatenate(parts, axis=1) + self.intercepts[index][:, None]

    def _kernels(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """The kernel between the rows, some at a time, and the support vectors."""
        X, vectors = _numbers(X), self.vectors
        if X.shape[1] != vectors.shape[1]:
            raise InputError(f"X has {X.shape[1]} features; the SVMs were trained on {vectors.shape[1]}.")
        if hasattr(X, "toarray") != hasattr(vectors, "toarray"):
            X, vectors = _dense(X), _dense(vectors)
        for start in range(0, X.shape[0], BLOCK):
            rows = slice(start, start + BLOCK)
            yield rows, gaussian_kernel(X[rows], vectors, self.gamma)

    def _batches(self, members: Sequence[int]) -> list[tuple[range, Any, np.ndarray]]:
        """The coefficients of a few members at a time, dense where that is not too large for one product."""
        from scipy.sparse import vstack

        pairs, vectors = self.coefficients[0].shape
        size = max(1, _LARGEST_PRODUCT // (pairs * vectors))
        batches = []
        for start in range(0, len(members), size):
            chosen = list(members[start : start + size])
            coefficients = vstack([self.coefficients[index] for index in chosen], format="csr")
            dense = len(members) <= size and pairs * vectors * len(chosen) <= _LARGEST_PRODUCT
            intercepts = self.intercepts[chosen].reshape(-1, 1)
            matrix = coefficients.toarray() if dense else coefficients
            batches.append((range(start, start + len(chosen)), matrix, intercepts))
        return batches


class FamilySVC(SVC):
    """One SVM of a :class:`KernelFamily`: the ``SVC`` with its parameters, which predicts through the family.

    It has what ``SVC`` tells of itself, but for ``support_vectors_``: those are ``family_.vectors``, for all members.
    Fitted again it is an ``SVC`` of its own.

    Attributes
    ----------
    family_ : KernelFamily
    index_ : int
        Its place in the family.
    """

    @classmethod
    def of(cls, asked: SVC, machine: SVC, family: KernelFamily, index: int) -> FamilySVC:
        """The member ``asked`` for, from the one that was trained on the kernel matrix."""
        parameters = asked.get_params(deep=False)
        member = cls(**parameters)
        learnt = {name: value for name, value in vars(machine).items() if name not in (*parameters, "support_vectors_")}
        member.__dict__.update(learnt, classes_=family.classes, n_features_in_=family.vectors.shape[1])
        member.family_, member.index_ = family, index
        return member

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FamilySVC:
        """Train without a family."""
        self.__dict__.pop("family_", None)
        return super().fit(X, y, sample_weight)

    def predict(self, X: Any) -> np.ndarray:
        """The labels."""
        return self.family_.predict(X, [self.index_])[0] if hasattr(self, "family_") else super().predict(X)

    def _decision_function(self, X: Any) -> np.ndarray:
        """What ``decision_function`` makes its scores from."""
        if not hasattr(self, "family_"):
            return super()._decision_function(X)
        decisions = self.family_.decisions(X, self.index_)
        return -decisions[0] if len(self.classes_) == 2 else decisions.T


def gram_bytes(rows: int) -> int:
    """The size of the kernel matrix of so many rows."""
    return 8 * rows * rows


class Distances:
    """Squared distances between the rows of a table: what the kernels of all widths on all of its folds have in common.

    They are computed when they are first needed, and kept when they and a kernel matrix take at most ``memory`` bytes.
    """

    def __init__(self, X: Any, memory: int) -> None:
        self._X, self._memory = X, memory
        self._kept: np.ndarray | None = None

    def gram(self, rows: np.ndarray, gamma: float) -> np.ndarray:
        """The kernel matrix of these rows."""
        if self._kept is None:
            X = _numbers(self._X)
            if 2 * gram_bytes(X.shape[0]) > self._memory:
                return gaussian_kernel(X[rows], X[rows], gamma)
            self._kept = squared_distances(X, X)
        return kernel_of(self._kept[np.ix_(rows, rows)], gamma)


def fit_family(
    machines: Sequence[SVC], X: Any, y: np.ndarray, n_jobs: int | None, gram_of: Callable[[float], np.ndarray]
) -> list[FamilySVC]:
    """Train SVMs of one :func:`family_key` on one Gram matrix, that of ``X`` for a kernel width."""
    from scipy.sparse import csr_matrix

    X = _numbers(X)
    classes, labels = np.unique(y, return_inverse=True)
    gamma = kernel_width(machines[0].gamma, X)
    gram = gram_of(gamma)
    # Threads: libsvm does not hold Python's lock, and the matrix is not copied.
    trained = Parallel(n_jobs=n_jobs, require="sharedmem")(
        delayed(_fit_on_gram)(machine, gram, labels) for machine in machines
    )
    support = np.unique(np.concatenate([machine.support_ for machine in trained]))
    coefficients, intercepts = [], []
    for machine in trained:
        rows, shifts = pairwise(machine, machine.support_, len(labels))
        coefficients.append(csr_matrix(rows[:, support]))
        intercepts.append(shifts)
    family = KernelFamily(X[support], coefficients, np.array(intercepts), classes, gamma)
    return [
        FamilySVC.of(asked, machine, family, index)
        for index, (machine, asked) in enumerate(zip(trained, machines, strict=True))
    ]


def _fit_on_gram(machine: SVC, gram: np.ndarray, labels: np.ndarray) -> SVC:
    parameters = {name: getattr(machine, name) for name in ("C", "tol", "shrinking", "max_iter")}
    parameters["cache_size"] = min(machine.cache_size, cache_size(len(labels)))
    # The matrix has just been found finite.
    with config_context(assume_finite=True):
        return SVC(kernel="precomputed", **parameters).fit(gram, labels)


def kernel_width(gamma: Any, X: Any) -> float:
    """``gamma`` as a number: "scale" is one over features times variance, "auto" one over features, as in ``SVC``."""
    if gamma == "scale":
        variance = X.multiply(X).mean() - X.mean() ** 2 if hasattr(X, "toarray") else X.var()
        return 1.0 / (X.shape[1] * variance) if variance != 0.0 else 1.0
    return 1.0 / X.shape[1] if gamma == "auto" else float(gamma)


def _numbers(X: Any) -> Any:
    return check_array(X, accept_sparse="csr", dtype=np.float64, order="C")


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if hasattr(X, "toarray") else X
