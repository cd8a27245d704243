"""What the ensemble estimators share: members from a list or a grid, the split, training, checked predictions."""

import numbers
import reprlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import _safe_indexing, check_random_state, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_method_params,
    _num_samples,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    validate_data,
)

from ..certificates.labels import check_same_rows, is_missing
from ..certificates.votes import vote_shares
from ..errors import InputError
from ..validation import all_or_refuse, check_number, first_repeated, refuse_masked, vector
from .sharing import predict_members, train_members

#: Fit parameters, for each member.
Parameters = Sequence[dict[str, Any]]
#: What a certificate says of classifiers that were trained again, and of those that were trained with weights.
REFITTED = "It is about the classifiers before refit=True trained them again; it does not cover the refitted ones."
WEIGHTED = "Weights of examples were for training only: the examples that certify count alike."


def refuse_weights(fit_params: dict[str, Any]) -> None:
    """Refuse weights where nothing is trained: they would do nothing."""
    if fit_params.get("sample_weight") is not None:
        raise InputError("sample_weight is for training, but prefit is True: examples that certify count alike.")


def _weights_for(name: str, member: Any, weights: np.ndarray) -> dict[str, Any]:
    """Return weights as the fit parameter of a member; a pipeline passes them on to its last step."""
    if isinstance(member, Pipeline):
        last, classifier = member.steps[-1]
        return {f"{last}__{key}": value for key, value in _weights_for(name, classifier, weights).items()}
    if not has_fit_parameter(member, "sample_weight"):
        raise InputError(f"estimators: {name!r} takes no sample_weight; leave it out, or train without weights.")
    return {"sample_weight": weights}


@dataclass(eq=False, repr=False)
class EnsembleClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier made of members: ``estimators``, or ``estimator`` at every point of ``param_grid``."""

    estimators: Iterable[Any] | None = None
    _: KW_ONLY
    estimator: Any = None
    param_grid: Any = None
    delta: float = 0.05
    validation_size: float | int | None = 0.5
    refit: bool = False
    prefit: bool = False
    n_jobs: int | None = None
    random_state: Any = None

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how fit parameters reach the classifiers."""
        router = MetadataRouter(owner=self)
        mapping = MethodMapping().add(caller="fit", callee="fit")
        for name, estimator in zip(*named(self._given()), strict=True):
            router.add(**{name: estimator}, method_mapping=mapping)
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        members = [get_tags(estimator) for estimator in named(self._given())[1]]
        tags.input_tags.sparse = all(member.input_tags.sparse for member in members)
        tags.input_tags.allow_nan = all(member.input_tags.allow_nan for member in members)
        tags.classifier_tags.multi_class = all(getattr(each.classifier_tags, "multi_class", True) for each in members)
        return tags

    def _given(self) -> list[Any]:
        """Return the classifiers as the caller described them, unfitted unless ``prefit``."""
        if self.estimators is None:
            if self.prefit:
                raise InputError("prefit is True; it needs fitted classifiers in estimators.")
            if self.param_grid is None:
                trees = [(f"max_depth={depth}", DecisionTreeClassifier(max_depth=depth)) for depth in range(1, 9)]
                return trees if self.estimator is None else [self.estimator]
            if self.estimator is None:
                raise InputError("param_grid is given without estimator, the classifier whose parameters these are.")
            points = list(ParameterGrid(self.param_grid))
            names = [", ".join(f"{key}={value}" for key, value in point.items()) for point in points]
            return [(name, clone(self.estimator).set_params(**point)) for name, point in zip(names, points)]
        if self.estimator is not None or self.param_grid is not None:
            raise InputError("estimators and estimator (or param_grid) are both given; give one of the two.")
        # It is looked at more than once: an iterator would be used up.
        if not isinstance(self.estimators, list | tuple):
            raise InputError("estimators", self.estimators, "it must be a list of classifiers")
        if not self.estimators:
            raise InputError("estimators is empty; it must hold at least one classifier.")
        twice = first_repeated(named(self.estimators)[0])
        if twice is not None:
            raise InputError(f"estimators holds two classifiers with the name {twice!r}; each needs one of its own.")
        return list(self.estimators)

    def _candidates(self, X_training: Any, random: np.random.RandomState) -> tuple[list[str], list[Any]]:
        """Return unfitted classifiers with their own random states; a subclass may look at the training part to make
        them."""
        names, members = named(self._given())
        return names, [seeded(clone(member), random) for member in members]

    def _check_data(self, X: Any, y: Any, reset: bool, read_labels: bool = True) -> tuple[Any, np.ndarray]:
        """Return feature names and counts recorded, X passed on as it is: the classifiers check what is in it."""
        validate_data(self, X, reset=reset, skip_check_array=True)
        if y is None:
            raise InputError("y is None; this estimator requires y to be passed, but the target y is None.")
        refuse_masked("y", y)
        check_same_rows([("X", X), ("y", y)])
        X, y = indexable(X, y)
        y = column_or_1d(y, warn=True)
        # Text itself is not looked at, since it may be a held-out label.
        for row, label in enumerate(y if y.dtype.kind == "O" else ()):
            if not isinstance(label, str) and is_missing(label):
                raise InputError(f"y[{row}] is missing ({label!r}); every example needs one, so leave such rows out.")
        if read_labels:
            check_classification_targets(y)
        return X, y

    def _check_rows(self, X: Any) -> None:
        if hasattr(self, "n_features_in_") and getattr(X, "ndim", 2) == 1:
            raise InputError("X is one-dimensional; it must have a row per example. Reshape your data: reshape(1, -1).")
        validate_data(self, X, reset=False, skip_check_array=True)

    def _to_calibrate(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Return checked examples for members that are fitted: with ``prefit=True`` those that were given, else its
        own."""
        if not self.prefit:
            check_is_fitted(self, "estimators_")
            return self._check_data(X, y, reset=False)
        self.names_, self.estimators_ = named(self._given())
        for name, member in zip(self.names_, self.estimators_, strict=True):
            refuse_unfitted(f"estimators: {name!r} is not fitted, but prefit=True", member)
        return self._check_data(X, y, reset=True)

    def _known_classes(self, y: np.ndarray) -> np.ndarray:
        """Return the classes that the members know or ``y`` holds; all of one kind, for "1" is not 1."""
        known = [y]
        for name, member in zip(self.names_, self.estimators_, strict=True):
            if hasattr(member, "classes_"):
                known.append(np.asarray(member.classes_))
                check_same_kind(f"estimators: {name!r}", known[-1], y)
        return np.unique(np.concatenate(known))

    def _divided(
        self, X: Any, y: Any, fit_params: dict[str, Any], random: np.random.RandomState, read_labels: bool = True
    ) -> tuple[Any, np.ndarray, dict[str, Any], np.ndarray, np.ndarray]:
        """Return checked data and fit parameters, the rows to train on and the rows to certify on.

        Weights are for training. The errors on held-out examples are counted without them, since the certificate is
        about a new example from where these came from.
        """
        X, y = self._check_data(X, y, reset=True, read_labels=read_labels)
        weights = fit_params.pop("sample_weight", None)
        if weights is not None:
            check_same_rows([("X", X), ("sample_weight", weights)])
            fit_params["sample_weight"] = weights = vector("sample_weight", weights)
            if weights.size != len(y):
                raise InputError(f"sample_weight has {weights.size} entries, but X has {len(y)} rows.")
            good = (weights >= 0.0) & (weights < np.inf)
            all_or_refuse("sample_weight", weights, good, "a weight must be a finite number of at least 0")
        training, held_out = self._split(len(y), random)
        if weights is not None:
            # Weights of zero leave examples out.
            left = np.unique(y[training[weights[training] > 0.0]])
            if left.size < 2:
                raise InputError(f"sample_weight leaves the training part with {left.size} class; there must be two.")
        return X, y, fit_params, training, held_out

    def _split(self, examples: int, random: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows to train on and the rows to certify on; both parts have at least one."""
        given, whole = self.validation_size, isinstance(self.validation_size, numbers.Integral)
        expected = "it must be a share strictly between 0 and 1 or a whole number"
        size = check_number("validation_size", given, lambda x: x >= 1 if whole else 0.0 < x < 1.0, expected)
        count = round(size if whole else size * examples)
        if not 1 <= count < examples:
            part = f"validation_size is {given!r}, which is {count} of the examples, n_samples={examples}"
            raise InputError(f"{part}; there must be one to train on, and one to certify with.")
        order = random.permutation(examples)
        return np.sort(order[count:]), np.sort(order[:count])

    def _member_parameters(self, fit_params: dict[str, Any]) -> Parameters:
        """Return the fit parameters of each classifier: routed where routing is on, else the same for all."""
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **fit_params)
            return [routed[name].fit for name in self.names_]
        others = {name: value for name, value in fit_params.items() if name != "sample_weight"}
        if "sample_weight" not in fit_params:
            return [others for _ in self.names_]
        pairs = zip(*named(self._given()), strict=True)
        return [{**others, **_weights_for(*pair, fit_params["sample_weight"])} for pair in pairs]

    def _train_again(self, X: Any, y: np.ndarray, fit_params: dict[str, Any]) -> None:
        """Train the members on all rows; a certificate says that it is not about these."""
        members, parameters = [clone(member) for member in self.estimators_], self._member_parameters(fit_params)
        self.estimators_ = train(members, X, y, np.arange(len(y)), parameters, self.n_jobs)
        certificate = getattr(self, "certificate_", None)
        if certificate is not None:
            self.certificate_ = certificate.with_note(REFITTED)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the weight in the posterior of what votes for each class: votes, not calibrated probabilities."""
        weights, choices = self._drawn_from(X)
        return vote_shares(weights, choices, choices.shape[1], len(self.classes_))

    def predict_gibbs(self, X: Any, random_state: Any = None) -> NDArray[Any]:
        """Draw from ``certificate_.posterior`` for each row: ``certificate_.bound`` is about this."""
        weights, choices = self._drawn_from(X)
        rows = choices.shape[1]
        drawn = check_random_state(random_state).choice(len(weights), size=rows, p=weights)
        return self.classes_[choices[drawn, np.arange(rows)]]

    def _drawn_from(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return posterior weights, where there are any, and the class indices that what they stand for gives each
        row."""
        raise NotImplementedError

    def _opinions(self, X: Any, which: Iterable[int]) -> Iterator[np.ndarray]:
        """Return what each of these members says of each row, one member at a time."""
        names, members = zip(*((self.names_[index], self.estimators_[index]) for index in which), strict=True)
        soft = getattr(self, "voting_", "hard") == "soft"
        return opinions(names, members, X, self.classes_, soft, self.n_jobs)


def train(
    members: Sequence[Any], X: Any, y: np.ndarray, rows: np.ndarray, parameters: Parameters, n_jobs: int | None = None
) -> list[Any]:
    """Return the members fitted on these rows, with the fit parameters of each; those that share work do it once."""
    X_rows, y_rows = _safe_indexing(X, rows), y[rows]
    if not any(parameters):
        return train_members(members, X_rows, y_rows, n_jobs)
    own = [_check_method_params(X, given, indices=rows) for given in parameters]
    fits = (delayed(member.fit)(X_rows, y_rows, **each) for member, each in zip(members, own, strict=True))
    return list(Parallel(n_jobs=n_jobs)(fits))


def opinions(
    names: Sequence[str], members: Sequence[Any], X: Any, classes: np.ndarray, soft: bool, n_jobs: int | None = None
) -> Iterator[np.ndarray]:
    """Yield what each fitted member says of each row: indices into ``classes``, or probabilities, a column for each
    class."""
    if soft:
        pairs = zip(names, members, strict=True)
        asked = (delayed(_class_probabilities)(name, member, X, classes) for name, member in pairs)
        yield from Parallel(n_jobs=n_jobs, return_as="generator")(asked)
    else:
        for name, prediction in zip(names, predict_members(members, X, n_jobs), strict=True):
            yield _class_indices(name, prediction, classes, _num_samples(X))


def _class_indices(name: str, prediction: np.ndarray, classes: np.ndarray, rows: int) -> np.ndarray:
    """Return a classifier's labels as indices into ``classes``; labels that are not among these are refused."""
    refuse_masked(f"estimators: what {name!r} predicts", prediction)
    prediction = np.asarray(prediction)
    check_one_label_each(f"estimators: {name!r}", prediction, rows)
    check_same_kind(f"estimators: {name!r}", prediction, classes)
    indices = np.minimum(np.searchsorted(classes, prediction), len(classes) - 1)
    strange = np.flatnonzero(classes[indices] != prediction)
    if strange.size:
        label = f"the label {prediction[strange[0]]!r}, which is not one of the classes"
        raise InputError(f"estimators: {name!r} predicts {label} {reprlib.repr(classes.tolist())}.")
    return indices


def refuse_unfitted(complaint: str, member: Any) -> None:
    """Refuse a classifier that is not fitted, whatever its own way to say so."""
    try:
        check_is_fitted(member)
    except Exception as reason:
        raise InputError(f"{complaint}; {reason}") from None


def check_one_label_each(whose: str, labels: np.ndarray, rows: int) -> None:
    """Refuse predictions that are no vector with one label for each example."""
    if labels.shape != (rows,):
        wanted = "it must predict one label for each"
        raise InputError(f"{whose} predicts an array of shape {labels.shape} for {rows} examples; {wanted}.")


def check_same_kind(whose: str, labels: np.ndarray, others: np.ndarray) -> None:
    """Refuse to mix numbers and text; compared with the other kind they would all differ, or be converted."""
    texts = [
        each.dtype.kind in "US" or (each.dtype.kind == "O" and any(isinstance(label, str) for label in each))
        for each in (labels, others)
    ]
    if texts[0] != texts[1]:
        kinds = f"labels like {labels.flat[0]!r}, but the classes are like {others.flat[0]!r}"
        raise InputError(f"{whose} has {kinds}; they must be of one type.")


def _class_probabilities(name: str, estimator: Any, X: Any, classes: np.ndarray) -> np.ndarray:
    if not hasattr(estimator, "predict_proba"):
        raise InputError(f"voting is 'soft', but {name!r} has no predict_proba; take voting='hard' or leave it out.")
    given, own = np.asarray(estimator.predict_proba(X), dtype=np.float64), np.asarray(estimator.classes_)
    if given.shape != (_num_samples(X), len(own)) or not np.isfinite(given).all():
        of = f"probabilities of shape {given.shape} for {_num_samples(X)} examples and {len(own)} classes"
        raise InputError(f"estimators: {name!r} gives {of}; it must give a finite one for each.")
    probabilities = np.zeros((len(given), len(classes)))
    probabilities[:, _class_indices(name, own, classes, len(own))] = given
    return probabilities


def named(members: Sequence[Any]) -> tuple[list[str], list[Any]]:
    """Return names and estimators of a list with or without names."""
    plain = [f"{type(member).__name__.lower()}-{position}" for position, member in enumerate(members)]
    pairs = [each if isinstance(each, tuple) else (name, each) for name, each in zip(plain, members, strict=True)]
    return [name for name, _ in pairs], [estimator for _, estimator in pairs]


def seeded(estimator: BaseEstimator, random: np.random.RandomState) -> BaseEstimator:
    """Give every ``random_state`` that was left open a number of its own, so that a seed fixes the whole ensemble.

    A frozen classifier is fitted already and stays as it is.
    """
    if isinstance(estimator, FrozenEstimator):
        return estimator
    unset = (key for key, value in sorted(estimator.get_params().items()) if value is None)
    states = [key for key in unset if key == "random_state" or key.endswith("__random_state")]
    return estimator.set_params(**{key: random.randint(np.iinfo(np.int32).max) for key in states})
