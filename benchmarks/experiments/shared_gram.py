"""Many SVMs on parts of one table: the kernel is evaluated once, and shared.

The obvious loop computes the kernel of its training part anew for every SVM, and again for every prediction. Here

* one Gram matrix serves all of them (:mod:`pacb_models.estimators.kernel_family` says why they are the same SVMs);
* an SVM is trained on a part of the rows by giving the others weight zero, so no part of the matrix is copied;
* the decisions of a batch of SVMs are one matrix product.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from sklearn import config_context
from sklearn.svm import SVC

from pacb_models.errors import InputError
from pacb_models.estimators.kernel_family import cache_size, gaussian_kernel, pairwise, vote

#: libsvm's iterations before an SVM is used as it is. The paper's grid never gets here; for λ near 1e-10 libsvm, whose
#: kernel cache is in single precision, would not reach its tolerance on data that are not separable.
MAX_ITERATIONS = 100_000

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
    r"""The kernel :math:`\exp(-\gamma\lVert x_i - x_j\rVert^2)` between all rows i of ``X`` and the first ``pool``,
    which may be learnt from; ``y`` are class labels.
    """

    def __init__(self, X: np.ndarray, y: np.ndarray, gamma: float, pool: int, memory_limit: int = MEMORY_LIMIT):
        if (size := 8 * len(X) * pool) > memory_limit:
            raise InputError(
                f"X has {len(X)} rows; their kernel matrix would take {size / 2**30:.1f} GiB, more than the limit of "
                f"{memory_limit / 2**30:.1f} GiB, so pass a sample of the rows or a larger memory limit."
            )
        self.classes, self.labels = np.unique(y, return_inverse=True)
        self.pool = pool
        self.matrix = gaussian_kernel(X, X[:pool], gamma)

    def errors(self, tasks: list[Task], max_iterations: int = MAX_ITERATIONS) -> list[Errors]:
        """Train the SVMs of a batch and count their errors."""
        coefficients, intercepts, converged = zip(*(self._train(task, max_iterations) for task in tasks), strict=True)
        decisions = np.concatenate(coefficients) @ self.matrix.T + np.concatenate(intercepts)[:, None]
        results = []
        for task, done, decision in zip(tasks, converged, decisions.reshape(len(tasks), -1, len(self.labels))):
            wrong = vote(decision, len(self.classes)) != self.labels
            results.append(Errors(tuple(int(wrong[rows].sum()) for rows in task.evaluations), done))
        return results

    def _train(self, task: Task, max_iterations: int) -> tuple[np.ndarray, np.ndarray, bool]:
        """Return the decision functions over the pool's rows, as :func:`pairwise` gives them, and whether libsvm
        converged."""
        labels = self.labels[: self.pool]
        missing = np.flatnonzero(np.bincount(labels[task.training], minlength=len(self.classes)) == 0)
        if missing.size:
            raise InputError(
                f"y has too few examples of the class {str(self.classes[missing[0]])!r}: none of them is among the "
                f"{int(task.training.sum())} examples that an SVM is trained on."
            )
        C = 1.0 / task.regularisation
        machine = SVC(C=C, kernel="precomputed", max_iter=max_iterations, cache_size=cache_size(self.pool))
        # Matrix and parameters are checked once, not once per SVM.
        with config_context(assume_finite=True, skip_parameter_validation=True):
            machine.fit(self.matrix[: self.pool], labels, sample_weight=task.training.astype(np.float64))
        support = machine.support_
        if support_counts_weighted_rows_only():
            support = np.flatnonzero(task.training)[support]
        return *pairwise(machine, support, self.pool), machine.fit_status_ == 0


@lru_cache(maxsize=1)
def support_counts_weighted_rows_only() -> bool:
    """Return whether ``SVC.support_`` numbers the rows of positive weight (scikit-learn up to 1.9 at least) or all
    rows.

    scikit-learn's documentation promises the latter (its issue 25380), so this may change; a three-row SVM tells.
    """
    machine = SVC(kernel="precomputed").fit(np.eye(3), [0, 0, 1], sample_weight=[0.0, 1.0, 1.0])
    return sorted(machine.support_) == [0, 1]
