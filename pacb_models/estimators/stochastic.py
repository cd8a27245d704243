"""Classifiers of the paper for scikit-learn: any set of classifiers, or SVMs over a grid, weighed and certified."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import check_array, check_is_fitted

from ..certificates.pac_bayes import PacBayesCertificate
from ..errors import InputError
from ..problem import BoundProblem
from ..solving.running import solve
from .grids import lambda_grid, sigest
from .members import WEIGHTED, EnsembleClassifier, named, refuse_weights, train


@dataclass(eq=False, repr=False)
class StochasticClassifier(EnsembleClassifier):
    """Weigh a finite set of classifiers by the posterior that minimises a PAC-Bayesian bound.

    ``fit`` trains the classifiers on one part of the data, measures their errors on the rest, and minimises the bound
    over the posteriors. The examples that train a classifier never certify it. This is the paper's object; who wants a
    guarantee for what is deployed, with no factor two for the vote, should use :class:`CertifiedClassifier`.

    Parameters
    ----------
    estimators, estimator, param_grid, validation_size, refit, prefit, n_jobs, random_state
        As for :class:`CertifiedClassifier`; ``validation_size`` cannot be None here.
    distance, divergence, order, delta, constant : str or float
        Which bound; see :class:`pacb_models.BoundProblem`.
    prior : array of shape (H,), optional
        Must be fixed before seeing the data.
    solver : str
        See :func:`pacb_models.solve`.

    Attributes
    ----------
    posterior_, support_ : array of shape (H,), array of int
        The weights of the classifiers, and the indices of those that have any.
    bound_, empirical_risk_, divergence_ : float
    certificate_ : Certificate
        Prints what is guaranteed.
    problem_, solution_ : BoundProblem, Solution
    estimators_, names_, classes_ : list, list, array
        The fitted classifiers, their names, and the labels.
    risks_ : array of shape (H,)
        Error rates on the validation examples.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from pacb_models import StochasticClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = StochasticClassifier(random_state=0).fit(X, y)
    >>> model.bound_ < 0.25
    True
    """

    _: KW_ONLY
    distance: str = "kl"
    divergence: str = "chi2"
    order: float = 2.0
    prior: Any = None
    constant: str = "exact"
    solver: str = "auto"

    def fit(self, X: Any, y: Any, **fit_params: Any) -> StochasticClassifier:
        """Train on one part of the data and certify on the other.

        ``fit_params`` are those of :meth:`CertifiedClassifier.fit`.
        """
        if self.prefit:
            refuse_weights(fit_params)
            return self.calibrate(X, y)
        random = check_random_state(self.random_state)
        X, y, fit_params, training, validation = self._divided(X, y, fit_params, random)
        self.names_, candidates = self._candidates(_safe_indexing(X, training), random)
        self.estimators_ = train(candidates, X, y, training, self._member_parameters(fit_params), self.n_jobs)
        self.classes_ = np.unique(y)
        self._certify(_safe_indexing(X, validation), y[validation])
        if "sample_weight" in fit_params:
            self.certificate_ = self.certificate_.with_note(WEIGHTED)
        if self.refit:
            self._train_again(X, y, fit_params)
        return self

    def calibrate(self, X: Any, y: Any) -> StochasticClassifier:
        """Certify classifiers that are already trained, on examples that none of them has seen.

        With ``prefit=True`` these are ``estimators``; on a fitted object they are its own, and the new examples replace
        the validation part of ``fit``. If any classifier was trained on these examples the certificate is worthless.
        """
        X, y = self._to_calibrate(X, y)
        self.classes_ = self._known_classes(y)
        self._certify(X, y)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the posterior-weighted majority vote: deterministic, covered by ``certificate_.vote_bound``."""
        winners = self.predict_proba(X).argmax(axis=1)
        return self.classes_[winners]

    def _certify(self, X: Any, y: np.ndarray) -> None:
        """Measure the risks, minimise the bound, and record what it guarantees."""
        ballots = self._ballots(X, range(len(self.estimators_)))
        errors = np.count_nonzero(ballots != np.searchsorted(self.classes_, y), axis=1)
        self.n_validation_ = len(y)
        self.risks_ = errors / len(y)
        same = ("delta", "distance", "divergence", "prior", "constant", "order")
        self.problem_ = BoundProblem(self.risks_, m=len(y), **{name: getattr(self, name) for name in same})
        self.solution_ = solution = solve(self.problem_, self.solver)
        if solution.posterior is None:
            raise RuntimeError(f"solver {solution.solver!r} found no posterior ({solution.status}): {solution.message}")
        self.posterior_, self.support_ = solution.posterior, np.flatnonzero(solution.posterior)
        self.bound_, self.empirical_risk_ = solution.bound, solution.empirical_risk
        self.divergence_ = solution.divergence
        self.certificate_ = PacBayesCertificate(self.problem_, solution, errors, self.names_)

    def _drawn_from(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        check_is_fitted(self)
        return self.posterior_[self.support_], self._ballots(X, self.support_)

    def _ballots(self, X: Any, which: Iterable[int]) -> np.ndarray:
        """Return the class index that each of these members gives each row."""
        self._check_rows(X)
        return np.array(list(self._opinions(X, which)))


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
