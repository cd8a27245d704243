"""Members fitted on a training part, and what each says of an example when trained without its fold."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_memory

from ..errors import InputError
from ..validation import check_count
from .members import Parameters, opinions, train

Progress = Callable[[int, int], None]
Fold = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Training:
    """Members, each with a name and its fit parameters, and the examples to learn from, none of them held out."""

    names: list[str]
    members: list[Any]
    parameters: Parameters
    X: Any
    y: np.ndarray
    classes: np.ndarray
    soft: bool


def make_folds(cv: Any, y: np.ndarray, random: np.random.RandomState) -> list[Fold]:
    """Return folds of the training part: stratified and shuffled for a number, or a splitter's that divide it.

    With fewer examples of every class than folds there are fewer folds, and none when no class has two examples.
    """
    if isinstance(cv, (int, np.integer)):
        largest = int(np.unique(y, return_counts=True)[1].max())
        count = min(check_count("cv", cv, least=2), largest)
        if count < 2:
            return []
        splitter = StratifiedKFold(count, shuffle=True, random_state=random.randint(np.iinfo(np.int32).max))
    else:
        splitter = check_cv(cv, y, classifier=True)
    with warnings.catch_warnings():
        # Classes with fewer examples than folds are no fault here: their examples are in some fold.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        folds = list(splitter.split(np.zeros(len(y)), y))
    tested = np.concatenate([test for _, test in folds])
    if not np.array_equal(np.sort(tested), np.arange(len(y))):
        raise InputError("cv", cv, "its folds must divide the training examples: each in exactly one test fold")
    return folds


def cross_fit(
    training: Training, folds: Sequence[Fold], n_jobs: int | None, progress: Progress | None, memory: Any
) -> tuple[list[Any], list[np.ndarray]]:
    """Fit every member on the training part, and on it without each fold.

    Returns the fitted members, and for each its opinions of the training examples, each by the one fitted without that
    example (an empty list without folds). ``memory``, a folder or a :class:`joblib.Memory`, keeps what is done: a run
    that was stopped and is begun again goes on after its last fold.
    """
    without_fold, fit = (check_memory(memory).cache(step, ignore=["n_jobs"]) for step in (_without_fold, train))
    report, members = progress or (lambda done, total: None), training.members
    total, parts = len(members) * (len(folds) + 1), []
    for fold in folds:
        parts.append(without_fold(training, fold, n_jobs))
        report(len(members) * len(parts), total)
    fitted = fit(members, training.X, training.y, np.arange(len(training.y)), training.parameters, n_jobs)
    report(total, total)
    order = np.argsort(np.concatenate([tested for _, tested in folds])) if folds else ()
    return fitted, [np.concatenate(own)[order] for own in zip(*parts, strict=True)]


def _without_fold(training: Training, fold: Fold, n_jobs: int | None) -> list[np.ndarray]:
    """Return the members' opinions of the fold's examples, fitted on the others."""
    (rows, tested), classes, soft = fold, training.classes, training.soft
    members, y = [clone(member) for member in training.members], training.y[rows]
    if (y == y[0]).all():
        # Many classifiers refuse to learn from one class; what can be learnt from it is to predict it.
        index = np.full(len(tested), np.searchsorted(classes, y[0]))
        return [np.eye(len(classes))[index] if soft else index for _ in members]
    fitted = train(members, training.X, training.y, rows, training.parameters, n_jobs)
    return list(opinions(training.names, fitted, _safe_indexing(training.X, tested), classes, soft, n_jobs))
