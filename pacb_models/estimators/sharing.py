"""Training and predicting with many classifiers without doing the same work twice.

Two kinds of work are shared where scikit-learn lets us know that it is the same: a preprocessing that several pipelines
begin with (the same steps with the same settings, on the same rows) is fitted and applied once, and SVMs that differ in
C alone share one kernel (:mod:`~pacb_models.estimators.kernel_family`). Every other classifier is trained and asked by
itself. What comes out is what the plain loop gives.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples

from ..errors import InputError
from .kernel_family import Distances, FamilySVC, family_key, fit_family, gram_bytes

#: How many GiB kernel matrices may take.
LIMIT_VARIABLE = "PACB_KERNEL_GIB"

GramOf = Callable[[float], np.ndarray]

#: A fitted classifier's place among the members, itself, and the table it is to learn from or to judge.
Job = tuple[int, Any, Any]


def train_members(
    members: Sequence[Any], X: Any, y: np.ndarray, n_jobs: int | None, gram_of: GramOf | None = None
) -> list[Any]:
    """Fitted classifiers, in order; those of one preprocessing or one kernel are trained together.

    ``gram_of`` gives the kernel matrix of ``X`` for a kernel width, where the caller has distances already.
    """
    alone: list[Job] = []
    trained: dict[int, Any] = {}
    prefixes: dict[int, Pipeline] = {}
    for key, indices in _groups(members, _prefix_key):
        if key is None or len(indices) == 1:
            trained |= _train_families([(index, members[index], X) for index in indices], y, n_jobs, alone, gram_of)
            continue
        prefix = clone(members[indices[0]][:-1])
        Z = prefix.fit_transform(X, y)
        prefixes |= dict.fromkeys(indices, prefix)
        trained |= _train_families([(index, members[index].steps[-1][1], Z) for index in indices], y, n_jobs, alone)
    # All in one go, so that no process waits for the members of one preprocessing before it begins with the next.
    fitted = Parallel(n_jobs=n_jobs)(delayed(_fitted)(member, table, y) for _, member, table in alone)
    trained |= {index: member for (index, _, _), member in zip(alone, fitted, strict=True)}
    for index, prefix in prefixes.items():
        steps = [*prefix.steps, (members[index].steps[-1][0], trained[index])]
        trained[index] = Pipeline(steps, verbose=members[index].verbose)
    return [trained[index] for index in range(len(members))]


def predict_members(members: Sequence[Any], X: Any, n_jobs: int | None) -> list[np.ndarray]:
    """What each fitted classifier predicts, in order; transformations and kernels that are shared are applied once."""
    alone: list[Job] = []
    found: dict[int, np.ndarray] = {}
    for key, indices in _groups(members, _fitted_prefix):
        if key is None or len(indices) == 1:
            found |= _predict_families([(index, members[index], X) for index in indices], alone)
        else:
            Z = members[indices[0]][:-1].transform(X)
            found |= _predict_families([(index, members[index].steps[-1][1], Z) for index in indices], alone)
    predicted = Parallel(n_jobs=n_jobs)(delayed(_predicted)(member, table) for _, member, table in alone)
    found |= {index: labels for (index, _, _), labels in zip(alone, predicted, strict=True)}
    return [found[index] for index in range(len(members))]


def _train_families(
    jobs: list[Job], y: np.ndarray, n_jobs: int | None, alone: list[Job], gram_of: GramOf | None = None
) -> dict[int, Any]:
    """Train the families among these, which are for one table, on their kernel matrices; the others join ``alone``."""
    X = jobs[0][2]
    groups = _groups({index: member for index, member, _ in jobs}, family_key)
    families = [group for key, group in groups if key is not None and len(group) > 1]
    if families and (len(np.unique(y)) < 2 or not _fits_in_memory(_num_samples(X))):
        families = []
    if gram_of is None:
        rows = np.arange(_num_samples(X))
        # Distances need not be kept for one kernel width.
        gram_of = partial(Distances(X, _memory_limit() if len(families) > 1 else 0).gram, rows)
    own = {index: member for index, member, _ in jobs}
    trained: dict[int, Any] = {}
    for group in families:
        trained |= zip(group, fit_family([own[index] for index in group], X, y, n_jobs, gram_of), strict=True)
    alone += [job for job in jobs if job[0] not in trained]
    return trained


def _predict_families(jobs: list[Job], alone: list[Job]) -> dict[int, np.ndarray]:
    """What the families among these say of the one table; the others join ``alone``."""
    own, X = {index: member for index, member, _ in jobs}, jobs[0][2]
    found: dict[int, np.ndarray] = {}
    for key, group in _groups(own, _family_of):
        if key is not None:
            family = own[group[0]].family_
            found |= zip(group, family.predict(X, [own[index].index_ for index in group]), strict=True)
    alone += [job for job in jobs if job[0] not in found]
    return found


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
    return id(member.family_) if hasattr(member, "family_") and isinstance(member, FamilySVC) else None


def folds_of(X: Any) -> Distances:
    """For training on parts of one table: the distances between its rows are computed once."""
    return Distances(X, _memory_limit())


def _fits_in_memory(rows: int) -> bool:
    """Whether the kernel matrix of so many rows is within the limit; a warning when not."""
    limit = _memory_limit()
    if gram_bytes(rows) <= limit:
        return True
    warnings.warn(
        f"the kernel matrix of {rows} training rows would take {gram_bytes(rows) / 2**30:.1f} GiB, more than the limit "
        f"of {limit / 2**30:.1f} GiB: the SVMs are trained one by one, which takes longer. With at most "
        f"{int((limit / 8) ** 0.5)} training rows they would share it; the limit is an eighth of the machine's memory, "
        f"or the GiB that the environment variable {LIMIT_VARIABLE} allows.",
        stacklevel=2,
    )
    return False


def _memory_limit() -> int:
    """The bytes that kernel matrices may take: an eighth of the memory, unless the environment says otherwise."""
    given = os.environ.get(LIMIT_VARIABLE)
    if given is None:
        return _memory() // 8
    try:
        limit = float(given)
    except ValueError:
        limit = math.nan
    if not 0.0 <= limit < math.inf:
        raise InputError(f"{LIMIT_VARIABLE} is {given!r}; it must be a number of GiB.")
    return int(limit * 2**30)


def _memory() -> int:
    """The memory in bytes, the machine's or what its control group allows; eight GiB where it cannot be told."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        memory = 8 * 2**30
    try:
        return min(memory, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (ValueError, OSError):
        return memory


def _fitted(estimator: Any, X: Any, y: np.ndarray) -> Any:
    return estimator.fit(X, y)


def _predicted(estimator: Any, X: Any) -> np.ndarray:
    # Not a plain array yet: a mask must be seen.
    return np.asanyarray(estimator.predict(X))
