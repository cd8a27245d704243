"""The stochastic SVM: Gaussian-kernel SVMs over a grid of regularisation parameters, with a certificate."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.validation import check_array

from ..errors import InputError
from .grids import lambda_grid, sigest
from .members import named
from .stochastic import StochasticClassifier


@dataclass(eq=False, repr=False)
class StochasticSVC(StochasticClassifier):
    r"""A posterior over SVMs with :math:`C = 1/\lambda`, :math:`\lambda` in a grid, and a bound on its risk.

    Parameters that are not listed are those of :class:`StochasticClassifier`.

    Parameters
    ----------
    lambdas : {"paper", "arithmetic-geometric"} or array of positive numbers
        The grid of regularisation parameters.
    n_lambdas : int, optional
        Number of values of the grid "paper" (0.10, 0.11, ...); 50 by default, the paper goes up to 1990.
    gamma : {"sigest", "scale", "auto"} or float
        Kernel width; "sigest" estimates it from the training part as the paper does.
    scale : bool
        Scale the features to variance one on the training part (their means do not matter to the kernel); the paper
        does not scale.
    coding : transformer, optional
        What every SVM begins with, learnt on the training part, such as a coding of text as numbers.
    max_examples_for_gamma : int
        ``sigest`` looks at all pairs of at most this many training examples.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pacb_models import StochasticSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StochasticSVC(random_state=0).fit(X, y)
    >>> len(model.posterior_), model.score(X, y) > 0.9
    (50, True)
    """

    lambdas: Any = "paper"
    _: KW_ONLY
    n_lambdas: int | None = None
    gamma: str | float = "sigest"
    scale: bool = False
    coding: Any = None
    max_examples_for_gamma: int = 1000
    # The classifiers are those of the grid.
    estimators: None = field(default=None, init=False)
    estimator: None = field(default=None, init=False)
    param_grid: None = field(default=None, init=False)
    prefit: bool = field(default=False, init=False)

    def _given(self) -> list[Any]:
        return self._machines(self._grid(), "scale")

    def _grid(self) -> np.ndarray:
        usual = 50 if isinstance(self.lambdas, str) and self.lambdas == "paper" else None
        return lambda_grid(self.lambdas, usual if self.n_lambdas is None else self.n_lambdas)

    def _candidates(self, X_training: Any, random: np.random.RandomState) -> tuple[list[str], list[Any]]:
        self.lambdas_ = self._grid()
        self.gamma_ = self._kernel_width(X_training, random)
        return named(self._machines(self.lambdas_, self.gamma_))

    def _kernel_width(self, X: Any, random: np.random.RandomState) -> str | float:
        if not isinstance(self.gamma, str) or self.gamma in ("scale", "auto"):
            return self.gamma
        if self.gamma != "sigest":
            raise InputError("gamma", self.gamma, "it must be 'sigest', 'scale', 'auto' or a positive number")
        X = check_array(X if self.coding is None else clone(self.coding).fit_transform(X), accept_sparse="csr")
        X = X[np.sort(random.permutation(X.shape[0])[: self.max_examples_for_gamma])]
        X = X.toarray() if hasattr(X, "toarray") else X
        return sigest(StandardScaler(with_mean=False).fit_transform(X) if self.scale else X)

    def _machines(self, lambdas: np.ndarray, gamma: str | float) -> list[tuple[str, Any]]:
        before = [] if self.coding is None else [self.coding]
        before += [StandardScaler(with_mean=False)] if self.scale else []
        machines = [SVC(C=1.0 / value, kernel="rbf", gamma=gamma) for value in lambdas]
        if before:
            machines = [make_pipeline(*map(clone, before), machine) for machine in machines]
        return [(f"lambda={value:g}", machine) for value, machine in zip(lambdas, machines, strict=True)]
