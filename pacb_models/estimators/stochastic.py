"""A scikit-learn classifier that weighs any set of classifiers and certifies the result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import check_is_fitted

from ..certificates.pac_bayes import PacBayesCertificate
from ..certificates.votes import vote_shares
from ..problem import BoundProblem
from ..solving.running import solve
from .members import WEIGHTED, EnsembleClassifier, refuse_weights, train


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
        """The posterior-weighted majority vote: deterministic, covered by ``certificate_.vote_bound``."""
        winners = self.predict_proba(X).argmax(axis=1)
        return self.classes_[winners]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Posterior weight of the classifiers that vote for each class: votes, not calibrated probabilities."""
        ballots = self._ballots(X)
        return vote_shares(self.posterior_[self.support_], ballots, ballots.shape[1], len(self.classes_))

    def predict_gibbs(self, X: Any, random_state: Any = None) -> NDArray[Any]:
        """Draw a classifier from the posterior for each row: the stochastic classifier that ``bound_`` is about."""
        ballots = self._ballots(X)
        return self._drawn(self.posterior_[self.support_], ballots, random_state)

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

    def _ballots(self, X: Any, which: Iterable[int] | None = None) -> np.ndarray:
        """The class index that each of these members gives each row; without a word those that have weight."""
        check_is_fitted(self)
        self._check_rows(X)
        return np.array(list(self._opinions(X, self.support_ if which is None else which)))
