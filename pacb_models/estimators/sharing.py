"""Training and predicting with many classifiers without doing the same work twice.

Two kinds of work are shared where scikit-learn lets us know that it is the same: a preprocessing that several pipelines
begin with (the same steps with the same settings, on the same rows) is fitted and applied once, and SVMs that differ in
C alone share one kernel (:mod:`~pacb_models.estimators.kernel_family`). Every other classifier is trained and asked by
itself. What comes out is what the plain loop gives.
"""

import math
import os
import warnings
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples

from ..errors import InputError
from .kernel_family import FamilySVC, family_key, fit_family

#: How many GiB kernel matrices may take.
LIMIT_VARIABLE = "PACB_KERNEL_GIB"


def train_members(members: Sequence[Any], X: Any, y: np.ndarray, n_jobs: int | None) -> list[Any]:
    """Return fitted classifiers, in order; those of one preprocessing or one kernel are trained together."""
    alone: dict[int, tuple[Any, Any]] = {}
    trained: dict[int, Any] = {}
    prefixes: dict[int, Pipeline] = {}
    for key, group in _groups(dict(enumerate(members)), _prefix_key):
        own, table = group, X
        if key is not None and len(group) > 1:
            prefix = clone(next(iter(group.values()))[:-1])
            prefixes |= dict.fromkeys(group, prefix)
            own, table = _last_steps(group), prefix.fit_transform(X, y)
        trained |= _train_families(own, table, y, n_jobs)
        alone |= {index: (member, table) for index, member in own.items() if index not in trained}
    # All in one go, so that no process waits for the members of one preprocessing before it begins with the next.
    fitted = Parallel(n_jobs=n_jobs)(delayed(member.fit)(table, y) for member, table in alone.values())
    trained |= zip(alone, fitted, strict=True)
    for index, prefix in prefixes.items():
        steps = [*prefix.steps, (members[index].steps[-1][0], trained[index])]
        trained[index] = Pipeline(steps, verbose=members[index].verbose)
    return [trained[index] for index in range(len(members))]


def predict_members(members: Sequence[Any], X: Any, n_jobs: int | None) -> list[np.ndarray]:
    """Return what each fitted classifier predicts, in order; transformations and kernels that are shared are applied
    once."""
    alone: dict[int, tuple[Any, Any]] = {}
    found: dict[int, np.ndarray] = {}
    for key, group in _groups(dict(enumerate(members)), _fitted_prefix):
        own, table = group, X
        if key is not None and len(group) > 1:
            own, table = _last_steps(group), next(iter(group.values()))[:-1].transform(X)
        for family, machines in _groups(own, _family_of):
            if family is None:
                alone |= {index: (member, table) for index, member in machines.items()}
            else:
                shared, places = next(iter(machines.values())).family_, [each.index_ for each in machines.values()]
                found |= zip(machines, shared.predict(table, places), strict=True)
    predicted = Parallel(n_jobs=n_jobs)(delayed(member.predict)(table) for member, table in alone.values())
    # Not plain arrays yet: a mask must be seen.
    found |= zip(alone, map(np.asanyarray, predicted), strict=True)
    return [found[index] for index in range(len(members))]


def _train_families(members: dict[int, Any], X: Any, y: np.ndarray, n_jobs: int | None) -> dict[int, Any]:
    """Return those of the members that are of one kernel with others, trained on its matrix."""
    families = [group for key, group in _groups(members, family_key) if key is not None and len(group) > 1]
    trained: dict[int, Any] = {}
    # Of sparse tables libsvm computes the kernel in another order: its SVMs would not be the same.
    if families and not hasattr(X, "toarray") and len(np.unique(y)) > 1 and _fits_in_memory(_num_samples(X)):
        for group in families:
            trained |= zip(group, fit_family(list(group.values()), X, y, n_jobs), strict=True)
    return trained


def _groups(members: dict[int, Any], key: Callable[[Any], Hashable]) -> list[tuple[Hashable, dict[int, Any]]]:
    """Return the members by key, in the order of first appearance."""
    found: dict[Hashable, dict[int, Any]] = {}
    for index, member in members.items():
        found.setdefault(key(member), {})[index] = member
    return list(found.items())


def _last_steps(pipelines: dict[int, Any]) -> dict[int, Any]:
    return {index: pipeline.steps[-1][1] for index, pipeline in pipelines.items()}


def _prefix_key(member: Any) -> Hashable:
    """Return what pipelines with the same preprocessing have in common; None for anything else.

    Steps must be of known randomness: one without a seed would come out differently for each member.
    """
    if type(member) is not Pipeline or len(member.steps) < 2:
        return None
    others = member.get_params(deep=False).items()
    if any(value is not None for name, value in others if name not in ("steps", "verbose")):
        return None
    # A step that passes its input through is a word.
    kinds: list[tuple[Any, ...]] = [
        (name, type(step), getattr(step, "get_params", dict)()) for name, step in member.steps[:-1]
    ]
    unseeded = (key.endswith("random_state") and value is None for *_, given in kinds for key, value in given.items())
    return None if any(unseeded) else joblib.hash(kinds)


def _fitted_prefix(member: Any) -> Hashable:
    """Return the identity of the fitted steps that a pipeline begins with."""
    if type(member) is not Pipeline or len(member.steps) < 2:
        return None
    return tuple(id(step) for _, step in member.steps[:-1])


def _family_of(member: Any) -> Hashable:
    return id(member.family_) if hasattr(member, "family_") and isinstance(member, FamilySVC) else None


def _fits_in_memory(rows: int) -> bool:
    """Return whether the kernel matrix of so many rows takes an eighth of the memory at most, or what the environment
    allows.

    A warning when not.
    """
    given, limit = os.environ.get(LIMIT_VARIABLE), math.nan
    with suppress(ValueError):
        limit = _memory() / 8.0 if given is None else float(given) * 2**30
    if not 0.0 <= limit < math.inf:
        raise InputError(LIMIT_VARIABLE, given, "it must be a number of GiB")
    size = 8 * rows * rows
    if size > limit:
        warnings.warn(
            f"the kernel matrix of {rows} training rows would take {size / 2**30:.1f} GiB, more than the limit "
            f"of {limit / 2**30:.1f} GiB: the SVMs are trained one by one, which takes longer. With at most "
            f"{int((limit / 8) ** 0.5)} training rows they would share it; the limit is an eighth of the machine's "
            f"memory, or the GiB that the environment variable {LIMIT_VARIABLE} allows.",
            stacklevel=2,
        )
    return size <= limit


def _memory() -> int:
    """Return the memory in bytes, the machine's or what its control group allows; eight GiB where it cannot be told."""
    memory = 8 * 2**30
    with suppress(AttributeError, ValueError, OSError):
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(ValueError, OSError):
        memory = min(memory, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return memory
