"""``certify_models``: from fitted classifiers and held-out examples to a certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _num_samples

from ..certificates import Certificate, certify_predictions
from ..certificates.counts import check_names
from ..errors import InputError
from .members import check_one_label_each, named, refuse_unfitted
from .sharing import predict_members


def certify_models(
    models: Sequence[Any] | Mapping[str, Any],
    X: Any,
    y: ArrayLike,
    delta: float = 0.05,
    names: Sequence[str] | None = None,
    choose: float | None = None,
    random_state: int | None = None,
    *,
    vote: bool = True,
    n_jobs: int | None = None,
) -> Certificate | Any:
    """Certify classifiers that are fitted already, on examples that none of them has seen.

    Parameters
    ----------
    models : list of classifiers or of (name, classifier) pairs, or dict
        Anything with ``predict``, fitted. If one of them was trained, tuned or chosen with ``X``, the certificate is
        worthless, and nothing here can notice.
    X : table with a row per example
    y : array of labels
    delta, names, choose, random_state, vote
        As for :func:`pacb_models.certify_predictions`, which explains when to choose.
    n_jobs : int, optional
        Processes for predicting, through joblib.

    Returns
    -------
    Certificate or ChosenCertificate

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
    columns = dict(zip(found, predict_members(members, X, n_jobs), strict=True))
    for name, labels in columns.items():
        check_one_label_each(f"models: {name!r}", labels, _num_samples(X))
    return certify_predictions(y, columns, delta, names, choose, random_state, vote=vote)
