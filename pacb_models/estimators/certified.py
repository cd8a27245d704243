"""A scikit-learn classifier that is certified as it is deployed: one deterministic predictor, and no factor two."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_method_params, _num_samples, check_is_fitted

from ..certificates import RiskMonitor, certify
from ..certificates.choice import divided
from ..certificates.labels import check_same_rows, label_array
from ..certificates.page import Facts
from ..certificates.predictions import check_seed, check_share
from ..certificates.votes import vote_shares
from ..errors import InputError
from ..files import write_atomically
from ..validation import check_choice, check_delta, check_prior
from .candidates import RATES, Candidate, Poll, all_candidates, cross_validation_errors, default_prior, poll
from .cross_fitting import Progress, Training, cross_fit, make_folds
from .guarantee import Evidence, Guarantee, Requests, check_events, check_positive_class, check_thresholds
from .members import EnsembleClassifier, check_same_kind, refuse_weights

#: What a certificate brings with it, and takes with it.
_OF_THE_CERTIFICATE = "certificate_ guarantee_ bound_ deployed_ errors_ confusion_ n_validation_ thresholds_".split()


@dataclass(eq=False, repr=False)
class CertifiedClassifier(EnsembleClassifier):
    r"""Deploy the vote or the classifier that has the smallest certificate, with that certificate.

    ``fit`` divides the data at random. On the *training part* it fits the classifiers, cross-validates them, and forms
    the candidates: five votes with weights :math:`\propto \exp(-\lambda \cdot \text{cross-validation errors})`,
    :math:`\lambda = 0, 0.1, 0.3, 1, 3`, and every classifier alone; and a prior over them. Only then are the labels of
    the *held-out part* read: the errors of each candidate are counted, and with probability at least
    :math:`1 - \delta` every candidate errs on new examples with probability at most the Clopper-Pearson limit of its
    count at confidence :math:`\delta` times its prior. The candidate with the smallest limit is deployed. It is a
    deterministic predictor like any other: no factor two as for the vote of :class:`StochasticClassifier`, the paper's
    object.

    Parameters
    ----------
    estimators : list of estimators or of (name, estimator) pairs, optional
        The classifiers. Give these, or ``estimator`` with ``param_grid``.
    estimator, param_grid : estimator and dict or list of dict, optional
        Trained once for each point of the grid, which is as for :class:`sklearn.model_selection.GridSearchCV`; decision
        trees of depth 1 to 8 when nothing is given.
    votes : "cv", "uniform" or None
        Candidates besides the single classifiers: the five votes; only the one with equal weights, which needs no
        cross-validation; none.
    voting : "hard" or "soft"
        What a classifier contributes to a vote: its label, or its ``predict_proba``. With "soft" a single classifier
        is the class of its largest probability.
    delta : float
        All statements hold together with probability at least ``1 - delta``.
    validation_size : float, int or None
        Share (or number) of examples held out to certify. The split is random and not stratified, so that these
        examples stay i.i.d. With None everything is for training, and :meth:`calibrate` certifies on fresh examples.
    cv : int, splitter or iterable
        Folds of the training part.
    prior : "default", array or function
        Over the candidates, votes first. A function gets the candidates' cross-validation errors (an array of counts
        on the training part). "default": 0.8 on the votes, most of it on the one nearest to equal weights that is
        within a standard error of the fewest cross-validation errors, and 0.2 on the single classifiers, falling with
        their errors; without cross-validation half and half. An array must be fixed beforehand.
    deploy : "deterministic" or "stochastic"
        "stochastic" draws a candidate from the posterior of ``certificate_`` for every prediction; its bound is never
        larger.
    per_class, per_prediction : bool
        State the error among the examples of each class too (one minus its recall), or among those that are given it
        (one minus its precision).
    positive : label, optional
        Which of two classes is the positive one. Only with it are rates called false positive or false negative.
    risk : function or dict of functions by name, optional
        State the probability of other events too: ``risk(y, prediction)`` gets two arrays and returns 0 or 1 for each
        example.
    abstain : numbers in (0, 1], optional
        Thresholds of the vote share. For each the error among the examples whose winning class has at least this share
        of the votes is stated, and how many these are; :meth:`accepts` tells which.
    refit : bool
        Train the classifiers again on all data for prediction. The certificate does not cover the refitted ones.
    prefit : bool
        The ``estimators`` are fitted already: ``fit`` is then :meth:`calibrate`, and the only vote is the one with
        equal weights, which has half of the prior. Data that any of them was trained on cannot certify: the bound would
        be a false guarantee, and nothing here can notice. :func:`certify_models` needs no estimator around them.
    choose : float, optional
        With ``prefit=True``: this share of the examples, drawn with the seed ``random_state`` (0 when it is None),
        chooses one candidate, and the others certify this one alone, as for :func:`certify_predictions`.
    n_jobs : int, optional
        Processes, through joblib: ``joblib.parallel_config("dask")`` moves the work to a cluster.
    memory : str or joblib.Memory, optional
        A folder that keeps every finished fold of the cross-validation, and the classifiers: a ``fit`` that was stopped
        goes on there when it is called again with the same data, classifiers and ``random_state``. It holds pickles,
        which run code when they are loaded: use a folder of your own.
    verbose : bool or function
        Tell of progress: lines on standard error, or calls ``verbose(done, total)``.
    random_state : int, RandomState or None
        Makes the split, the folds and the training reproducible.

    Attributes
    ----------
    guarantee_ : Guarantee
        What is guaranteed about the deployed predictor; prints itself. ``bound_`` is its bound.
    certificate_ : Certificate
        Of :func:`pacb_models.certify`, over the candidates: ``single_bound`` is the deployed one's, ``single_bounds``
        are all of them.
    candidates_, prior_ : list of Candidate, array
        Their names and weights over ``estimators_``, votes first, and their prior.
    deployed_ : Candidate or None
        None with ``deploy="stochastic"``.
    errors_, cv_errors_ : array of int; array of int or None
        Errors of each candidate on the held-out examples, and in cross-validation on the training part.
    confusion_ : array of int or None
        Held-out examples by class (row) and what the deployed predictor calls them (column); None when it is random.
    estimators_, names_, classes_, n_validation_
        The fitted classifiers, their names, the labels, and how many examples were held out.

    Notes
    -----
    Whatever looks at all examples before ``fit`` divides them spoils the certificate: scaling or selection of features
    in a pipeline *around* this estimator (put them into the classifiers), and a grid search around it (its winner needs
    :meth:`calibrate` with fresh examples).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from pacb_models import CertifiedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CertifiedClassifier(random_state=0).fit(X, y)
    >>> model.bound_ == model.certificate_.single_bound < 0.15
    True
    """

    _: KW_ONLY
    votes: str | None = "cv"
    voting: str = "hard"
    cv: Any = 5
    prior: Any = "default"
    deploy: str = "deterministic"
    per_class: bool = False
    per_prediction: bool = False
    positive: Any = None
    risk: Any = None
    abstain: Any = None
    choose: float | None = None
    memory: Any = None
    verbose: bool | Progress = False

    def fit(self, X: Any, y: Any, *, groups: Any = None, **fit_params: Any) -> CertifiedClassifier:
        """Train and form the candidates on one part of the data, certify on the other.

        ``groups``, one per example, asks for a statement about each group. ``fit_params`` go to the classifiers'
        ``fit`` (arrays with one entry per example are split along), or are routed when scikit-learn's metadata routing
        is on. ``sample_weight`` is for training: cross-validation and held-out errors are counted without it.
        """
        self._check_parameters()
        if self.prefit:
            refuse_weights(fit_params)
            return self.calibrate(X, y, groups=groups)
        groups = _checked_groups(groups, X)
        random = check_random_state(self.random_state)
        X, y, fit_params, rows, held_out = self._divided(X, y, fit_params, random, read_labels=False)
        self._forget_certificate()
        # From here to _certify nothing but the training part is looked at.
        X_training, y_training = _safe_indexing(X, rows), y[rows]
        check_classification_targets(y_training)
        self.names_, members = self._candidates(X_training, random)
        parameters = [_check_method_params(X, own, indices=rows) for own in self._member_parameters(fit_params)]
        self.classes_, self.n_training_, self.voting_ = np.unique(y_training), len(rows), self.voting
        check_positive_class(self.positive, self.classes_)
        data = X_training, y_training, self.classes_
        training = Training(self.names_, members, parameters, *data, self.voting == "soft")
        folds = make_folds(self.cv, y_training, random) if self.votes == "cv" or callable(self.prior) else []
        progress = self.verbose if callable(self.verbose) else _print_progress if self.verbose else None
        self.estimators_, opinions = cross_fit(training, folds, self.n_jobs, progress, self.memory)
        self._form_candidates(opinions, np.searchsorted(self.classes_, y_training), [tested for _, tested in folds])
        if held_out.size:
            self._certify(_safe_indexing(X, held_out), y[held_out], None if groups is None else groups[held_out])
            weighted = "sample_weight" in fit_params
            self.guarantee_: Guarantee = replace(self.guarantee_, weighted=weighted, refitted=self.refit)
        if self.refit:
            self._train_again(X, y, fit_params)
        return self

    def calibrate(self, X: Any, y: Any, *, groups: Any = None) -> CertifiedClassifier:
        """Certify on examples that none of the classifiers has seen.

        With ``prefit=True`` these are ``estimators``; on a fitted object the candidates and their prior stay as they
        are, and the new examples replace the held-out part of ``fit``. If any classifier was trained on these examples,
        or the parameters were chosen after a look at them, the certificate is worthless.
        """
        self._check_parameters()
        if self.prefit:
            # Other classifiers may be given now.
            self._forget_certificate()
        X, y = self._to_calibrate(X, y)
        if self.prefit:
            self.voting_ = self.voting
            self._form_candidates()
            self.classes_ = self._known_classes(y)
        groups = _checked_groups(groups, X)
        if self.choose is None:
            self._certify(X, y, groups)
            return self
        number = len(self.candidates_)
        choosing, rows = divided(len(y), self.choose, check_seed(self.random_state, self.choose))
        check_same_kind("y", y, self.classes_)
        wrong = self.classes_[self._poll(_safe_indexing(X, choosing), self.candidates_).choices] != y[choosing]
        # The fewest errors, the vote before single ones.
        self.candidates_: list[Candidate] = [self.candidates_[int(np.count_nonzero(wrong, axis=1).argmin())]]
        self.prior_ = np.ones(1)
        self._certify(_safe_indexing(X, rows), y[rows], None if groups is None else groups[rows])
        self.guarantee_ = replace(self.guarantee_, candidates=number, choosing=len(choosing))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return what the deployed predictor says: this is what ``guarantee_`` is about."""
        if self._is_random():
            return self.predict_gibbs(X)
        return self.classes_[self._shares(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the share of the votes for each class (or the mean probability, with soft voting): not calibrated.

        With ``deploy="stochastic"`` the probability that :meth:`predict` says this class.
        """
        return super().predict_proba(X) if self._is_random() else self._shares(X)

    def monitor(self, X: Any, y: Any, monitor: RiskMonitor | None = None, *, delta: float = 0.05) -> RiskMonitor:
        """Test whether the risk after deployment is above ``bound_``, from new labelled examples in their order.

        Pass what an earlier call returned, or :meth:`RiskMonitor.load` read, to go on with it. If the risk is at most
        ``bound_``, the probability that there ever is an alarm is at most ``delta``, however often it is asked. Of
        classifiers that ``refit=True`` trained again nothing is guaranteed, and the monitor says so.
        """
        predicted = self.predict(X)
        X, y = self._check_data(X, y, reset=False)
        check_same_kind("y", y, self.classes_)
        if monitor is None:
            if self.bound_ >= 1.0:
                raise InputError("bound_ is 1; there is nothing to monitor.")
            monitor = RiskMonitor(self.bound_, delta)
        elif not isinstance(monitor, RiskMonitor):
            raise InputError("monitor", monitor, "it must be a RiskMonitor, such as an earlier call returned")
        elif monitor.bound != self.bound_:
            raise InputError(f"monitor is for the bound {monitor.bound!r}, but that of this model is {self.bound_!r}.")
        monitor.guaranteed &= not self.guarantee_.refitted
        return monitor.update(predicted != y)

    def save_page(self, path: str | os.PathLike[str], title: str = "Certificate", facts: Facts = ()) -> None:
        """Write a page about the certificate, to show to a colleague or an auditor.

        ``facts`` are lines for its last table, such as where the examples came from; versions are added.
        """
        from .certificate_page import certificate_page

        self._is_random()
        write_atomically(path, certificate_page(self, title, facts))

    def accepts(self, X: Any, threshold: float) -> NDArray[np.bool_]:
        """Return which rows have a winning vote share of at least ``threshold``, one of ``abstain``: a mask."""
        shares = self._shares(X)
        if threshold not in self.thresholds_:
            expected = f"it must be one that abstain fixed beforehand: {self.thresholds_!r}"
            raise InputError("threshold", threshold, expected)
        return shares.max(axis=1) >= threshold

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how fit parameters reach the classifiers; ``groups`` stays here."""
        return super().get_metadata_routing().add_self_request(self)

    def _check_parameters(self) -> None:
        """Check what can be told before anything is trained."""
        check_delta(self.delta)
        if self.votes is not None:
            check_choice("votes", self.votes, ("cv", "uniform"))
        check_choice("voting", self.voting, ("hard", "soft"))
        check_choice("deploy", self.deploy, ("deterministic", "stochastic"))
        check_events(self.risk)
        if (check_thresholds(self.abstain) or self.per_prediction) and self.deploy == "stochastic":
            given = f"{'per_prediction' if self.per_prediction else 'abstain'} is given with deploy='stochastic'"
            raise InputError(f"{given}; it needs one predictor, deploy='deterministic'.")
        if isinstance(self.prior, str):
            check_choice("prior", self.prior, ("default",))
        if self.choose is not None:
            check_share(self.choose)
            if not self.prefit:
                raise InputError("choose is given without prefit=True; without it the training part chooses.")
            if not isinstance(self.prior, str):
                raise InputError("prior and choose are both given; one candidate needs no prior.")
        if callable(self.prior) and self.prefit:
            raise InputError("prior is a function, but with prefit=True there are no cross-validation errors for it.")

    def _split(self, examples: int, random: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        if self.validation_size is None:
            return np.arange(examples), np.arange(0)
        return super()._split(examples, random)

    def _form_candidates(
        self, opinions: Sequence[np.ndarray] = (), y: np.ndarray | None = None, folds: Sequence[np.ndarray] = ()
    ) -> None:
        """Form candidates and prior, from the members' opinions out of fold where there are any."""
        members = len(self.names_)
        rates = () if self.votes is None or members == 1 else RATES if opinions and self.votes == "cv" else RATES[:1]
        errors = None
        if opinions and y is not None:
            errors = cross_validation_errors(opinions, y, folds, len(self.classes_), rates)
        single_errors = np.zeros(members) if errors is None else errors[len(rates) :]
        self.candidates_, self.cv_errors_ = all_candidates(self.names_, single_errors, rates), errors
        if callable(self.prior) and errors is None:
            raise InputError("prior is a function, but there are too few training examples to cross-validate for it.")
        if isinstance(self.prior, str):
            self.prior_ = default_prior(len(rates), members, errors)
        else:
            given = self.prior(errors) if callable(self.prior) else self.prior
            self.prior_ = check_prior(given, len(self.candidates_))

    def _certify(self, X: Any, y: np.ndarray, groups: np.ndarray | None) -> None:
        """Count the candidates' errors and record what follows. Here, and nowhere before, held-out labels are read."""
        # Whatever fails from here on, an earlier certificate must not stay beside what is new.
        self._forget_certificate()
        check_classification_targets(y)
        check_same_kind("y", y, self.classes_)
        # A class that only these examples have is one that new examples may have.
        self.classes_ = np.union1d(self.classes_, y)
        answers = self._poll(X, self.candidates_)
        self.thresholds_ = check_thresholds(self.abstain)
        positive, risks = check_positive_class(self.positive, self.classes_), check_events(self.risk)
        requests = Requests(self.per_class, self.per_prediction, positive, groups, risks, self.thresholds_)
        delta, of_kind = requests.shares(self.delta)
        self.n_validation_ = len(y)
        said = self.classes_[answers.choices]
        self.errors_ = np.count_nonzero(said != y, axis=1)
        names = [candidate.name for candidate in self.candidates_]
        self.certificate_ = certify(self.errors_, len(y), delta=delta, prior=self.prior_, names=names)
        single = self.certificate_.single
        bound, posterior, self.confusion_ = self.certificate_.bound, self.certificate_.posterior, None
        self.deployed_ = None if self.deploy == "stochastic" else self.candidates_[single]
        if self.deployed_ is not None:
            bound, posterior = self.certificate_.single_bound, np.eye(len(names))[single]
            self.confusion_ = confusion_matrix(y, said[single], labels=self.classes_)
        evidence = Evidence(y, self.classes_, said, answers.shares, self.prior_, posterior)
        statements = requests.statements(evidence, of_kind)
        self.guarantee_ = Guarantee(
            self._predictor(), bound, float(posterior @ self.errors_), len(y), self.delta, delta, len(names), statements
        )
        self.bound_ = bound

    def _predictor(self) -> str:
        """Return the deployed predictor in words."""
        support = np.flatnonzero(self.certificate_.posterior)
        if self.deployed_ is None and support.size > 1:
            return f"a candidate drawn at random for each prediction, from the {support.size} that have weight"
        candidate = self.deployed_ or self.candidates_[support[0]]
        if not candidate.is_vote:
            return f"the classifier {candidate.name!r}"
        return f"the {candidate.name}{', by mean probabilities' if self.voting_ == 'soft' else ''}"

    def _forget_certificate(self) -> None:
        """Forget the certificate of an earlier fit, which is not about what was trained since."""
        for name in _OF_THE_CERTIFICATE:
            self.__dict__.pop(name, None)

    def _is_random(self) -> bool:
        """Return whether a random predictor is deployed; refused before there is a certificate."""
        missing = "This %(name)s has no certificate yet: call fit, and calibrate when validation_size is None."
        check_is_fitted(self, "certificate_", msg=missing)
        return self.deployed_ is None

    def _shares(self, X: Any) -> np.ndarray:
        """Vote shares of the deployed candidate."""
        if self._is_random() or self.deployed_ is None:
            raise InputError("deploy is 'stochastic'; vote shares are those of one predictor, deploy='deterministic'.")
        self._check_rows(X)
        voters = self.deployed_.voters
        weights, opinions = self.deployed_.weights[voters], self._opinions(X, voters)
        return vote_shares(weights, opinions, _num_samples(X), len(self.classes_))

    def _drawn_from(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        self._is_random()
        self._check_rows(X)
        support = np.flatnonzero(self.certificate_.posterior)
        weights, candidates = self.certificate_.posterior[support], [self.candidates_[index] for index in support]
        return weights / weights.sum(), self._poll(X, candidates).choices

    def _poll(self, X: Any, candidates: Sequence[Candidate]) -> Poll:
        """Return what these candidates say of the rows; members without a say in any of them are not asked."""
        asked = np.flatnonzero(np.sum([candidate.weights for candidate in candidates], axis=0))
        among = [replace(candidate, weights=candidate.weights[asked]) for candidate in candidates]
        return poll(among, self._opinions(X, asked), _num_samples(X), len(self.classes_))


def _print_progress(done: int, total: int) -> None:
    print(f"CertifiedClassifier: {done} of {total} fits", file=sys.stderr, flush=True)


def _checked_groups(groups: Any, X: Any) -> np.ndarray | None:
    """Return one group for each example, all of one type."""
    if groups is None:
        return None
    check_same_rows([("X", X), ("groups", groups)])
    array, examples = label_array("groups", groups), _num_samples(X)
    if array.shape != (examples,):
        raise InputError(f"groups has shape {array.shape}; it must hold one group for each of the {examples} examples.")
    if len({isinstance(group, str) for group in array.tolist()}) > 1:
        raise InputError("groups holds text and other values; they must be of one type.")
    return array
