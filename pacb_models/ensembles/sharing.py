"""Training and predicting with many classifiers without doing the same work twice.

Two kinds of work are shared where scikit-learn lets us know that it is the same: a preprocessing that several pipelines
begin with (the same steps with the same settings, on the same rows) is fitted and applied once, and SVMs that differ in
C alone share one kernel (:mod:`~pacb_models.ensembles.kernel_family`). Every other classifier is trained and asked by
itself. What comes out is what the plain loop gives.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import joblib
import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples

from .kernel_family import FamilySVC, family_key, fit_family, gram_bytes


def train_members(members: Sequence[Any], X: Any, y: np.ndarray, n_jobs: int | None) -> list[Any]:
    """Fitted classifiers, in order; those of one preprocessing or one kernel are trained together."""
    trained: dict[int, Any] = {}
    for key, indices in _groups(members, _prefix_key):
        if key is None or len(indices) == 1:
            trained.update(_train_on(members, indices, X, y, n_jobs))
            continue
        prefix = clone(members[indices[0]][:-1])
        Z = prefix.fit_transform(X, y)
        finals = {index: members[index].steps[-1] for index in indices}
        fitted = _train_on({index: final for index, (_, final) in finals.items()}, indices, Z, y, n_jobs)
        for index in indices:
            steps = [*prefix.steps, (finals[index][0], fitted[index])]
            trained[index] = Pipeline(steps, verbose=members[index].verbose)
    return [trained[index] for index in range(len(members))]


def predict_members(members: Sequence[Any], X: Any, n_jobs: int | None) -> list[np.ndarray]:
    """What each fitted classifier predicts, in order; transformations and kernels that are shared are applied once."""
    found: dict[int, np.ndarray] = {}
    for key, indices in _groups(members, _fitted_prefix):
        if key is None:
            found.update(_predict_on(members, indices, X, n_jobs))
            continue
        Z = members[indices[0]][:-1].transform(X)
        found |= _predict_on({index: members[index].steps[-1][1] for index in indices}, indices, Z, n_jobs)
    return [found[index] for index in range(len(members))]


def _train_on(members: Any, indices: Iterable[int], X: Any, y: np.ndarray, n_jobs: int | None) -> dict[int, Any]:
    """Train members on a table: families on their kernel matrix, the others one by one."""
    alone: list[int] = []
    trained: dict[int, Any] = {}
    for key, group in _groups({index: members[index] for index in indices}, family_key):
        if key is None or len(group) == 1 or len(np.unique(y)) < 2 or not _fits_in_memory(_num_samples(X)):
            alone += group
        else:
            trained.update(zip(group, fit_family([members[index] for index in group], X, y, n_jobs), strict=True))
    fitted = Parallel(n_jobs=n_jobs)(delayed(_fitted)(members[index], X, y) for index in alone)
    return trained | dict(zip(alone, fitted, strict=True))


def _predict_on(members: Any, indices: Iterable[int], X: Any, n_jobs: int | None) -> dict[int, np.ndarray]:
    found: dict[int, np.ndarray] = {}
    alone: list[int] = []
    for key, group in _groups({index: members[index] for index in indices}, _family_of):
        if key is None:
            alone += group
        else:
            family = members[group[0]].family_
            found.update(zip(group, family.predict(X, [members[index].index_ for index in group]), strict=True))
    predicted = Parallel(n_jobs=n_jobs)(delayed(_predicted)(members[index], X) for index in alone)
    return found | dict(zip(alone, predicted, strict=True))


def _groups(members: Any, key: Callable[[Any], Hashable]) -> list[tuple[Hashable, list[int]]]:
    """Indices of the members by key, in the order of first appearance."""
    found: dict[Hashable, list[int]] = {}
    for index, member in members.items() if isinstance(members, dict) else enumerate(members):
        found.setdefault(key(member), []).append(index)
    return list(found.items())


def _prefix_key(member: Any) -> Hashable:
    """What pipelines with the same preprocessing have in common; None for anything else.

    Steps must be of known randomness: one without a seed would come out differently for each member.
    """
    if type(member) is not Pipeline or len(member.steps) < 2:
        return None
    others = {name: value for name, value in member.get_params(deep=False).items() if name not in ("steps", "verbose")}
    if any(value is not None for value in others.values()):
        return None
    steps = [(name, step if isinstance(step, str) else (type(step), step.get_params())) for name, step in member.steps]
    for _, step in steps[:-1]:
        if isinstance(step, tuple) and any(k.endswith("random_state") and v is None for k, v in step[1].items()):
            return None
    return joblib.hash(steps[:-1])


def _fitted_prefix(member: Any) -> Hashable:
    """The identity of the fitted steps that a pipeline begins with."""
    if type(member) is not Pipeline or len(member.steps) < 2:
        return None
    return tuple(id(step) for _, step in member.steps[:-1])


def _family_of(member: Any) -> Hashable:
    return id(member.family_) if isinstance(member, FamilySVC) else None


def _fits_in_memory(rows: int) -> bool:
    """Whether the kernel matrix of so many rows is within an eighth of the machine's memory; a warning when not."""
    limit = _memory() // 8
    if gram_bytes(rows) <= limit:
        return True
    warnings.warn(
        f"the kernel matrix of {rows} training rows would take {gram_bytes(rows) / 2**30:.1f} GiB, more than an eighth "
        f"of this machine's memory ({limit / 2**30:.1f} GiB): the SVMs are trained one by one, which takes longer. "
        f"With at most {int((limit / 8) ** 0.5)} training rows they would share it.",
        stacklevel=2,
    )
    return False


def _memory() -> int:
    """The machine's memory in bytes; eight GiB where it cannot be told."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8 * 2**30


def _fitted(estimator: Any, X: Any, y: np.ndarray) -> Any:
    return estimator.fit(X, y)


def _predicted(estimator: Any, X: Any) -> np.ndarray:
    return np.asarray(estimator.predict(X))
