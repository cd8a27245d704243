"""A scikit-learn classifier that weighs any set of classifiers and certifies the result."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import _safe_indexing, check_random_state, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_method_params,
    _num_samples,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from ..errors import InputError
from ..problem import BoundProblem
from ..registry import solve
from .certificate import Certificate

_WEIGHTS_REFUSED = (
    "sample_weight is not supported: the certificate is for validation examples that are i.i.d. and count alike, "
    "and weights would break that."
)


class StochasticClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Weigh a finite set of classifiers by the posterior that minimises a PAC-Bayesian bound.

    ``fit`` trains the classifiers on one part of the data, measures their errors on the rest, and minimises the bound
    over the posteriors. The examples that train a classifier never certify it.

    Parameters
    ----------
    estimators : list of estimators or of (name, estimator) pairs, optional
        The classifiers. Give these, or ``estimator`` with ``param_grid``.
    estimator : estimator, optional
        Trained once for each point of ``param_grid``; decision trees of depth 1 to 8 when nothing is given.
    param_grid : dict or list of dict, optional
        As for :class:`sklearn.model_selection.GridSearchCV`.
    distance : str
        This and the next five say which bound; see :class:`pacb_models.BoundProblem`.
    divergence : str
    order : float
    delta : float
    prior : array of shape (H,), optional
        Must be fixed before seeing the data.
    constant : str
    validation_size : float or int
        Share (or number) of examples kept back to certify. The split is random and not stratified, so that the
        validation examples stay i.i.d.
    solver : str
        See :func:`pacb_models.solve`.
    refit : bool
        Train the classifiers again on all data for prediction. The certificate does not cover the refitted ones.
    prefit : bool
        The ``estimators`` are fitted already: ``fit`` is then :meth:`calibrate`. Data that any of them was trained on
        cannot certify: the bound would be a false guarantee, and nothing here can notice.
    n_jobs : int, optional
        Processes for training and predicting.
    random_state : int, RandomState or None
        Makes the split and the training reproducible.

    Attributes
    ----------
    posterior_ : array of shape (H,)
    support_ : array of int
        Indices of the classifiers with positive weight.
    bound_, empirical_risk_, divergence_ : float
    certificate_ : Certificate
        Prints what is guaranteed.
    solution_ : Solution
    problem_ : BoundProblem
    estimators_ : list
        The fitted classifiers.
    names_ : list of str
    risks_ : array of shape (H,)
        Their error rates on the validation examples.
    classes_ : array

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from pacb_models import StochasticClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = StochasticClassifier(random_state=0).fit(X, y)
    >>> model.bound_ < 0.25
    True
    """

    def __init__(
        self,
        estimators: Iterable[Any] | None = None,
        *,
        estimator: Any = None,
        param_grid: Any = None,
        distance: str = "kl",
        divergence: str = "chi2",
        order: float = 2.0,
        delta: float = 0.05,
        prior: Any = None,
        constant: str = "exact",
        validation_size: float | int = 0.5,
        solver: str = "auto",
        refit: bool = False,
        prefit: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.estimator = estimator
        self.param_grid = param_grid
        self.distance = distance
        self.divergence = divergence
        self.order = order
        self.delta = delta
        self.prior = prior
        self.constant = constant
        self.validation_size = validation_size
        self.solver = solver
        self.refit = refit
        self.prefit = prefit
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, **fit_params: Any) -> StochasticClassifier:
        """Train on one part of the data and certify on the other.

        ``fit_params`` go to the classifiers' ``fit`` (arrays with one entry per example are split along), or are
        routed when scikit-learn's metadata routing is on. ``sample_weight`` is refused.
        """
        if fit_params.get("sample_weight") is not None:
            raise InputError(_WEIGHTS_REFUSED)
        if self.prefit:
            return self.calibrate(X, y)
        X, y = self._check_data(X, y, reset=True)
        random = check_random_state(self.random_state)
        training, validation = self._split(_num_samples(X), random)
        names, candidates = self._candidates(_safe_indexing(X, training), random)
        self.names_ = names
        parameters = self._member_parameters(fit_params)
        self.estimators_ = self._train(candidates, X, y, training, parameters)
        self.classes_ = np.unique(y)
        self._certify(_safe_indexing(X, validation), y[validation])
        if self.refit:
            everything = np.arange(_num_samples(X))
            self.estimators_ = self._train([clone(e) for e in candidates], X, y, everything, parameters)
            self.certificate_ = Certificate.of(self.problem_, self.solution_, refitted=True)
        return self

    def calibrate(self, X: Any, y: Any) -> StochasticClassifier:
        """Certify classifiers that are already trained, on examples that none of them has seen.

        With ``prefit=True`` these are ``estimators``; on a fitted object they are its own, and the new examples replace
        the validation part of ``fit``. If any classifier was trained on these examples the certificate is worthless.
        """
        if self.prefit:
            self.names_, self.estimators_ = _named(self._given())
            for name, estimator in zip(self.names_, self.estimators_, strict=True):
                try:
                    check_is_fitted(estimator)
                except Exception as reason:
                    raise InputError(f"estimators: {name!r} is not fitted, but prefit=True; {reason}") from None
        else:
            check_is_fitted(self, "estimators_")
        X, y = self._check_data(X, y, reset=self.prefit)
        known = [np.asarray(estimator.classes_) for estimator in self.estimators_ if hasattr(estimator, "classes_")]
        self.classes_ = np.unique(np.concatenate([*known, y])) if known else np.unique(y)
        self._certify(X, y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The posterior-weighted majority vote: deterministic, covered by ``certificate_.vote_bound``."""
        votes = self._votes(X)
        return self.classes_[votes.argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Posterior weight of the classifiers that vote for each class: votes, not calibrated probabilities."""
        return self._votes(X)

    def predict_gibbs(self, X: Any, random_state: Any = None) -> np.ndarray:
        """Draw a classifier from the posterior for each row: the stochastic classifier that ``bound_`` is about."""
        ballots = self._ballots(X)
        random = check_random_state(random_state)
        drawn = random.choice(len(self.support_), size=ballots.shape[1], p=self.posterior_[self.support_])
        return self.classes_[ballots[drawn, np.arange(ballots.shape[1])]]

    def get_metadata_routing(self) -> MetadataRouter:
        """How fit parameters reach the classifiers."""
        router = MetadataRouter(owner=self)
        mapping = MethodMapping().add(caller="fit", callee="fit")
        for name, estimator in zip(*_named(self._given()), strict=True):
            router.add(**{name: estimator}, method_mapping=mapping)
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        members = [get_tags(estimator) for estimator in _named(self._given())[1]]
        tags.input_tags.sparse = all(member.input_tags.sparse for member in members)
        tags.input_tags.allow_nan = all(member.input_tags.allow_nan for member in members)
        tags.classifier_tags.multi_class = all(
            member.classifier_tags is None or member.classifier_tags.multi_class for member in members
        )
        return tags

    def _given(self) -> list[Any]:
        """The classifiers as the caller described them, unfitted unless ``prefit``."""
        if self.estimators is not None:
            if self.estimator is not None or self.param_grid is not None:
                raise InputError("estimators and estimator (or param_grid) are both given; give one of the two.")
            members = list(self.estimators)
            if not members:
                raise InputError("estimators is empty; it must hold at least one classifier.")
            return members
        return self._expanded_grid()

    def _expanded_grid(self) -> list[Any]:
        from sklearn.tree import DecisionTreeClassifier

        if self.prefit:
            raise InputError("prefit is True; it needs fitted classifiers in estimators.")
        if self.estimator is None:
            return [(f"max_depth={depth}", DecisionTreeClassifier(max_depth=depth)) for depth in range(1, 9)]
        if self.param_grid is None:
            return [self.estimator]
        points = list(ParameterGrid(self.param_grid))
        return [
            (", ".join(f"{key}={value}" for key, value in point.items()), clone(self.estimator).set_params(**point))
            for point in points
        ]

    def _candidates(self, X_training: Any, random: np.random.RandomState) -> tuple[list[str], list[Any]]:
        """Unfitted classifiers with their own random states; a subclass may look at the training part to make them."""
        names, members = _named(self._given())
        return names, [_seeded(clone(member), random) for member in members]

    def _check_data(self, X: Any, y: Any, reset: bool) -> tuple[Any, np.ndarray]:
        """Feature names and counts recorded, X passed on as it is: the classifiers check what is in it."""
        validate_data(self, X, reset=reset, skip_check_array=True)
        if y is None:
            raise InputError("y is None; this estimator requires y to be passed, but the target y is None.")
        X, y = indexable(X, y)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        return X, y

    def _split(self, examples: int, random: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        kept = _validation_count(self.validation_size, examples)
        order = random.permutation(examples)
        return np.sort(order[kept:]), np.sort(order[:kept])

    def _member_parameters(self, fit_params: dict[str, Any]) -> list[dict[str, Any]]:
        """The fit parameters of each classifier: routed where routing is on, else the same for all."""
        if not fit_params:
            return [{} for _ in self.names_]
        if not get_config()["enable_metadata_routing"]:
            return [fit_params for _ in self.names_]
        routed = process_routing(self, "fit", **fit_params)
        return [routed[name].fit for name in self.names_]

    def _train(
        self, candidates: list[Any], X: Any, y: np.ndarray, rows: np.ndarray, parameters: list[dict[str, Any]]
    ) -> list[Any]:
        X_rows, y_rows = _safe_indexing(X, rows), y[rows]
        return list(
            Parallel(n_jobs=self.n_jobs)(
                delayed(_fitted)(candidate, X_rows, y_rows, _check_method_params(X, own, indices=rows))
                for candidate, own in zip(candidates, parameters, strict=True)
            )
        )

    def _certify(self, X: Any, y: np.ndarray) -> None:
        """Measure the risks, minimise the bound, and record what it guarantees."""
        predictions = Parallel(n_jobs=self.n_jobs)(delayed(_predicted)(member, X) for member in self.estimators_)
        errors = np.array([np.count_nonzero(prediction != y) for prediction in predictions])
        self.n_validation_ = len(y)
        self.risks_ = errors / len(y)
        self.problem_ = BoundProblem(
            self.risks_,
            m=len(y),
            delta=self.delta,
            distance=self.distance,
            divergence=self.divergence,
            prior=self.prior,
            constant=self.constant,
            order=self.order,
        )
        solution = solve(self.problem_, self.solver)
        if solution.posterior is None:
            raise RuntimeError(f"solver {solution.solver!r} found no posterior ({solution.status}): {solution.message}")
        self.solution_ = solution
        self.posterior_ = solution.posterior
        self.support_ = np.flatnonzero(solution.posterior)
        self.bound_ = solution.bound
        self.empirical_risk_ = solution.empirical_risk
        self.divergence_ = solution.divergence
        self.certificate_ = Certificate.of(self.problem_, solution)

    def _ballots(self, X: Any) -> np.ndarray:
        """The class index that each classifier of the support gives each row."""
        check_is_fitted(self)
        if hasattr(self, "n_features_in_") and getattr(X, "ndim", 2) == 1:
            raise InputError("X is one-dimensional; it must have a row per example. Reshape your data: reshape(1, -1).")
        validate_data(self, X, reset=False, skip_check_array=True)
        voters = [self.estimators_[index] for index in self.support_]
        predictions = Parallel(n_jobs=self.n_jobs)(delayed(_predicted)(voter, X) for voter in voters)
        return np.searchsorted(self.classes_, np.asarray(predictions))

    def _votes(self, X: Any) -> np.ndarray:
        ballots = self._ballots(X)
        votes = np.zeros((ballots.shape[1], len(self.classes_)))
        rows = np.arange(ballots.shape[1])
        for weight, ballot in zip(self.posterior_[self.support_], ballots, strict=True):
            votes[rows, ballot] += weight
        return votes / votes.sum(axis=1, keepdims=True)


def _fitted(estimator: Any, X: Any, y: np.ndarray, params: dict[str, Any]) -> Any:
    return estimator.fit(X, y, **params)


def _predicted(estimator: Any, X: Any) -> np.ndarray:
    return np.asarray(estimator.predict(X))


def _named(members: list[Any]) -> tuple[list[str], list[Any]]:
    """Names and estimators of a list with or without names."""
    pairs = [
        member if isinstance(member, tuple) else (f"{type(member).__name__.lower()}-{position}", member)
        for position, member in enumerate(members)
    ]
    return [name for name, _ in pairs], [estimator for _, estimator in pairs]


def _seeded(estimator: Any, random: np.random.RandomState) -> Any:
    """Give every ``random_state`` that was left open a number of its own, so that a seed fixes the whole ensemble."""
    parameters = estimator.get_params(deep=True)
    open_states = {
        key: random.randint(np.iinfo(np.int32).max)
        for key in sorted(parameters)
        if (key == "random_state" or key.endswith("__random_state")) and parameters[key] is None
    }
    return estimator.set_params(**open_states)


def _validation_count(size: Any, examples: int) -> int:
    """Number of validation examples; both parts must keep at least one."""
    if isinstance(size, numbers.Integral) and not isinstance(size, bool) and size >= 1:
        count = int(size)
    elif isinstance(size, numbers.Real) and not isinstance(size, bool) and 0.0 < size < 1.0:
        count = round(size * examples)
    else:
        raise InputError(f"validation_size is {size!r}; it must be a share strictly between 0 and 1 or a whole number.")
    if examples < 2:
        raise InputError(
            f"n_samples={examples}; at least two examples are needed, one to train on and one to certify with."
        )
    if not 1 <= count < examples:
        raise InputError(
            f"validation_size is {size!r}, which is {count} of {examples} examples; both parts need at least one."
        )
    return count
