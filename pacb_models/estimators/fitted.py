"""``certify_models``: from fitted classifiers and held-out examples to a certificate."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _num_samples

from ..certificates import Certificate, ChosenCertificate, LevelCertificate, certify_predictions
from ..certificates.counts import check_names
from ..certificates.labels import check_same_rows
from ..certificates.predictions import Details
from ..certificates.votes import majority
from ..errors import InputError
from ..validation import check_kind
from .members import check_one_label_each, named, refuse_unfitted
from .sharing import predict_members


@dataclass(repr=False, eq=False)
class MajorityVote:
    """The label that most classifiers say, the first in the order of the labels of several."""

    members: list[Any]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return a label for each row."""
        said = np.column_stack(predict_members(self.members, X, None))
        labels, codes = np.unique(said, return_inverse=True)
        return labels[majority(codes.reshape(said.shape), labels.size)]

    def __repr__(self) -> str:
        return f"MajorityVote(of {len(self.members)} classifiers)"


Models = Sequence[Any] | Mapping[str, Any]


class ModelDetails(Details, total=False):
    """What else a certificate of models is asked, by name."""

    n_jobs: int | None


@overload
def certify_models(
    models: Models, X: Any, y: ArrayLike, delta: float = ..., *, choose: float, **others: Unpack[ModelDetails]
) -> ChosenCertificate: ...
@overload
def certify_models(
    models: Models, X: Any, y: ArrayLike, delta: float = ..., *, level: float, **others: Unpack[ModelDetails]
) -> LevelCertificate: ...
@overload
def certify_models(
    models: Models, X: Any, y: ArrayLike, delta: float = ..., *, level: None = ..., **others: Unpack[ModelDetails]
) -> Certificate: ...
@overload
def certify_models(
    models: Models,
    X: Any,
    y: ArrayLike,
    delta: float = ...,
    names: Sequence[str] | None = ...,
    choose: float | None = ...,
    random_state: int | None = ...,
    *,
    vote: bool = ...,
    level: float | None = ...,
    order: Iterable[str] | None = ...,
    n_jobs: int | None = ...,
) -> Certificate | ChosenCertificate | LevelCertificate: ...
def certify_models(
    models: Models,
    X: Any,
    y: ArrayLike,
    delta: float = 0.05,
    names: Sequence[str] | None = None,
    choose: float | None = None,
    random_state: int | None = None,
    *,
    vote: bool = True,
    level: float | None = None,
    order: Iterable[str] | None = None,
    n_jobs: int | None = None,
) -> Certificate | ChosenCertificate | LevelCertificate:
    """Certify classifiers that are fitted already, on examples that none of them has seen.

    Parameters
    ----------
    models : list of classifiers or of (name, classifier) pairs, or dict
        Anything with ``predict``, fitted. If one of them was trained, tuned or chosen with ``X``, the certificate is
        worthless, and nothing here can notice.
    X : table with a row per example
    y : array of labels
    delta, names, choose, random_state, vote, level, order
        As for :func:`pacb_models.certify_predictions`, which explains when to choose.
    n_jobs : int, optional
        Processes for predicting, through joblib.

    Returns
    -------
    Certificate, ChosenCertificate or LevelCertificate
        Its ``classifier_`` is what it is about: one of the models, or their vote, with ``predict``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import pacb_models as pm
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> trees = [DecisionTreeClassifier(max_depth=d, random_state=0).fit(X[::2], y[::2]) for d in (1, 2, 4)]
    >>> certificate = pm.certify_models(trees, X[1::2], y[1::2])
    >>> certificate.m, certificate.names[0]
    (284, 'majority vote of 3')
    """
    found, members, columns = predictions_of(models, X, y, n_jobs)
    asked: dict[str, Any] = {"vote": vote, "level": level, "order": order}
    certificate = certify_predictions(y, columns, delta, names, choose, random_state, **asked)
    if certificate.name is None:
        return certificate
    # A name that no classifier has is that of their vote.
    own = dict(zip(found if names is None else map(str, names), members, strict=True))
    return certificate.with_classifier(own.get(certificate.name, MajorityVote(members)))


def predictions_of(
    models: Models, X: Any, y: ArrayLike, n_jobs: int | None = None
) -> tuple[list[str], list[Any], dict[str, Any]]:
    """Return names and models as they are given, and what each predicts, by name."""
    check_kind("models", models, Iterable, "a list or a dict of fitted classifiers")
    given = list(models.items()) if isinstance(models, Mapping) else list(models)
    if not given:
        raise InputError("models is empty; it must hold at least one fitted classifier.")
    found, members = named(given)
    check_names(found, len(members))
    for name, model in zip(found, members, strict=True):
        if not callable(getattr(model, "predict", None)):
            raise InputError(f"models: {name!r} is {model!r}, which has no predict; it must be a fitted classifier.")
        if isinstance(model, BaseEstimator):
            refuse_unfitted(f"models: {name!r} is not fitted", model)
    check_same_rows([("X", X), ("y", y)])
    columns = dict(zip(found, predict_members(members, X, n_jobs), strict=True))
    for name, labels in columns.items():
        check_one_label_each(f"models: {name!r}", labels, _num_samples(X))
    return found, members, columns
