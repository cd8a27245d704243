r"""SVMs that differ in C alone: one kernel matrix to train them all, one kernel product to predict with them all.

A set of SVMs with the same kernel on the same rows evaluates it again for every member when each is an
:class:`sklearn.svm.SVC` of its own. Here the members are trained on one Gram matrix (see
:mod:`~pacb_models.estimators.kernels` for why they are the same SVMs), and a :class:`KernelFamily` predicts with
any number of them by the kernel between the new rows and the union of their support vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csr_matrix, vstack
from sklearn import config_context
from sklearn.svm import SVC
from sklearn.utils.validation import _num_samples, check_array

from ..errors import InputError
from ..numerics.inner import pieces
from .kernels import cache_size, gaussian_kernel, pairwise, vote

#: Rows for which the kernel is held at a time while predicting.
_BLOCK = 2048
#: Parameters of SVC in which members may differ; without probabilities the seed does nothing.
_OWN = {"C", "random_state"}
#: Parameters that may have any value, as long as the members agree on them.
_COMMON = ("gamma", "tol", "shrinking", "cache_size", "max_iter", "decision_function_shape")


def family_key(machine: Any) -> tuple[Any, ...] | None:
    """What members of one family have in common; None for a classifier that shares no kernel with others.

    A Gaussian-kernel ``SVC`` without class weights or probabilities, itself and no subclass of others.
    """
    if type(machine) not in (SVC, FamilySVC):
        return None
    given, usual = machine.get_params(deep=False), SVC().get_params(deep=False)
    if any(given[name] != usual[name] for name in usual.keys() - _OWN.union(_COMMON)):
        return None
    return tuple(given[name] for name in _COMMON)


@dataclass(frozen=True, eq=False)
class KernelFamily:
    """Fitted SVMs of one kernel: the union of their support vectors, and their coefficients on it.

    Attributes
    ----------
    vectors : array of shape (s, d)
        Rows of the training data that are a support vector of some member.
    coefficients : list of sparse matrices of shape (pairs, s)
        One for each member; a row for each pair of classes, positive decisions being for the first.
    intercepts : array of shape (members, pairs)
    classes : array
    gamma : float
    """

    vectors: np.ndarray
    coefficients: list[Any]
    intercepts: np.ndarray
    classes: np.ndarray
    gamma: float

    def predict(self, X: Any, members: Sequence[int]) -> np.ndarray:
        """The labels that these members give the rows, of shape (members, rows).

        The kernel is held for 2048 rows at a time, and coefficients for a batch of members: memory is one
        label per member and row, whatever their number.
        """
        found = np.empty((len(members), _num_samples(X)), dtype=np.int32)
        # Their coefficients take half a GiB at the most.
        batch = max(1, 2**26 // np.prod(self.coefficients[0].shape))
        for start in range(0, len(members), batch):
            chosen = list(members[start : start + batch])
            coefficients = vstack([self.coefficients[index] for index in chosen]).toarray()
            for rows, kernel in self._kernels(X):
                decisions = coefficients @ kernel.T + self.intercepts[chosen].reshape(-1, 1)
                for place, decision in enumerate(decisions.reshape(len(chosen), -1, len(kernel))):
                    found[start + place, rows] = vote(decision, len(self.classes))
        return self.classes[found]

    def decisions(self, X: Any, index: int) -> np.ndarray:
        """The decisions of one member, a row for each pair of classes, positive for the first."""
        parts = [self.coefficients[index] @ kernel.T for _, kernel in self._kernels(X)]
        return np.concatenate(parts, axis=1) + self.intercepts[index][:, None]

    def _kernels(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """The kernel between the rows, some at a time, and the support vectors."""
        X = check_array(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64, order="C")
        if X.shape[1] != self.vectors.shape[1]:
            raise InputError(f"X has {X.shape[1]} features; the SVMs were trained on {self.vectors.shape[1]}.")
        for rows in pieces(X.shape[0], _BLOCK):
            yield rows, gaussian_kernel(X[rows], self.vectors, self.gamma)


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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FamilySVC:
        """Train without a family."""
        self.__dict__.pop("family_", None)
        return super().fit(X, y, sample_weight)

    def predict(self, X: Any) -> np.ndarray:
        return self.family_.predict(X, [self.index_])[0] if hasattr(self, "family_") else super().predict(X)

    def _decision_function(self, X: Any) -> np.ndarray:
        """What ``decision_function`` makes its scores from."""
        if not hasattr(self, "family_"):
            return super()._decision_function(X)
        decisions = self.family_.decisions(X, self.index_)
        return -decisions[0] if len(self.classes_) == 2 else decisions.T


def fit_family(machines: Sequence[SVC], X: Any, y: np.ndarray, n_jobs: int | None) -> list[FamilySVC]:
    """Train SVMs of one :func:`family_key` on one Gram matrix."""
    X = check_array(X, dtype=np.float64, order="C")
    classes, labels = np.unique(y, return_inverse=True)
    gamma = _kernel_width(machines[0].gamma, X)
    gram = gaussian_kernel(X, X, gamma)
    # Threads: libsvm does not hold Python's lock, and the matrix is not copied.
    trained = Parallel(n_jobs=n_jobs, require="sharedmem")(
        delayed(_fit_on_gram)(machine, gram, labels) for machine in machines
    )
    support = np.unique(np.concatenate([machine.support_ for machine in trained]))
    rows, intercepts = zip(*(pairwise(each, each.support_, len(labels)) for each in trained), strict=True)
    coefficients = [csr_matrix(each[:, support]) for each in rows]
    family = KernelFamily(X[support], coefficients, np.array(intercepts), classes, gamma)
    members = []
    for index, (asked, machine) in enumerate(zip(machines, trained, strict=True)):
        parameters = asked.get_params(deep=False)
        member = FamilySVC(**parameters)
        learnt = {name: value for name, value in vars(machine).items() if name not in (*parameters, "support_vectors_")}
        member.__dict__.update(learnt, classes_=classes, n_features_in_=X.shape[1], family_=family, index_=index)
        members.append(member)
    return members


def _fit_on_gram(machine: SVC, gram: np.ndarray, labels: np.ndarray) -> SVC:
    parameters = {name: getattr(machine, name) for name in ("C", "tol", "shrinking", "max_iter")}
    parameters["cache_size"] = min(machine.cache_size, cache_size(len(labels)))
    # The matrix has just been found finite.
    with config_context(assume_finite=True):
        return SVC(kernel="precomputed", **parameters).fit(gram, labels)


def _kernel_width(gamma: Any, X: np.ndarray) -> float:
    """``gamma`` as a number: "scale" is one over features times variance, "auto" one over features, as in ``SVC``."""
    if gamma == "scale":
        return 1.0 / (X.shape[1] * X.var()) if X.var() != 0.0 else 1.0
    return 1.0 / X.shape[1] if gamma == "auto" else float(gamma)
