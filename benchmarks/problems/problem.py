"""Benchmark problems: named, picklable recipes that a worker process builds where it needs them."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from pacb_models import BoundProblem, DirectProblem, problem_file
from pacb_models.errors import InputError
from pacb_models.plugins import load_all

from .risks import available, load_risk_table

#: Entry-point group for third parties: a function without arguments that returns a list of problems.
GROUP = "pacb_models.problems"

#: Bupa without the feature that determines its class, beside the paper's nine data sets, which are in its order.
LEAK_FREE = "bupa-no-leak"
PAPER_DATASETS = tuple(name for name in available() if name != LEAK_FREE)


@dataclass(frozen=True)
class Problem:
    """A recipe: ``make(**arguments)`` returns the :class:`~pacb_models.BoundProblem`.

    ``make`` must be a module-level function, so that the recipe can be sent to another process.
    """

    name: str
    dataset: str
    make: Callable[..., BoundProblem]
    arguments: dict[str, Any] = field(default_factory=dict)

    def build(self) -> BoundProblem:
        """The problem itself."""
        return self.make(**self.arguments)

    @cached_property
    def identity(self) -> str:
        """A digest of the names of problem and function and of the arguments themselves: risks that changed are another
        problem, and a function that moved to another module is the same one.
        """
        parts = [self.name, self.make, self.arguments]
        return _digest(json.dumps(parts, sort_keys=True, default=_content).encode())


def _content(value: Any) -> Any:
    """For what JSON cannot hold. Not its text, which leaves out most of a long array."""
    if isinstance(value, np.ndarray | np.generic):
        return [value.dtype.str, list(value.shape), _digest(value.tobytes())]
    if hasattr(value, "__qualname__"):
        return [value.__module__.partition(".")[0], value.__qualname__]
    if hasattr(value, "__dict__"):
        return [type(value), vars(value)]
    return [type(value), _digest(pickle.dumps(value, protocol=4))]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


#: The classes of problems, by their kind.
KINDS: dict[str, type[Any]] = {"bound": BoundProblem, "direct": DirectProblem}


def facts(problem: BoundProblem) -> dict[str, Any]:
    """What describes a problem, as columns of the results."""
    return {
        "problem_kind": problem.kind,
        "H": problem.size,
        "m": problem.m,
        "delta": problem.delta,
        "distance": problem.distance,
        "divergence": problem.divergence,
        "order": problem.order,
        "constant": problem.constant,
        "prior": "uniform" if problem.uniform_prior else "given",
        "constraints": None if problem.posteriors is None else problem.posteriors.describe(),
    }


@lru_cache(maxsize=32)
def _table(name: str) -> Any:
    return load_risk_table(name)


def from_table(dataset: str, count: int, kind: str = "bound", **bound: Any) -> Any:
    """The first ``count`` risks of an embedded table."""
    table = _table(dataset)
    return KINDS[kind](table.risks(count), m=table.m, **bound)


def synthetic(
    count: int, m: int = 1000, seed: int = 0, prior: str = "uniform", kind: str = "bound", **bound: Any
) -> Any:
    """Risks of ``count`` classifiers measured on ``m`` examples, with true risks spread over [0.05, 0.5].

    Counts of errors are binomial, as measured risks are, so that large sets have many ties.
    """
    random = np.random.default_rng([seed, count])
    true_risks = 0.05 + 0.45 * random.beta(2.0, 3.0, size=count)
    risks = random.binomial(m, true_risks) / m
    weights = None
    if prior == "random":
        weights = random.exponential(size=count) + 1e-3
        weights /= weights.sum()
    return KINDS[kind](risks, m=m, prior=weights, **bound)


def from_record(record: dict[str, Any]) -> BoundProblem:
    """The problem in a JSON that ``pacb export`` wrote, by its fields."""
    return problem_file.from_record(BoundProblem, record)


def from_file(path: str | Path) -> Problem:
    """The recipe of such a file; only what defines the problem is read."""
    try:
        text = Path(path).read_bytes()
    except OSError as reason:
        raise InputError(f"cannot read the problem {str(path)!r}: {reason.strerror}.") from None
    record = problem_file.read_record(text, str(path))
    name, dataset = (record.get(field, Path(path).stem) for field in ("name", "dataset"))
    problem = problem_file.from_record(BoundProblem, record, str(path))
    return Problem(str(name), str(dataset), from_record, {"record": problem_file.as_record(problem)})


def table_problem(dataset: str, count: int, distance: str, constant: str = "exact", delta: float = 0.01) -> Problem:
    """The χ² problem of an embedded table."""
    bound = {"distance": distance, "constant": constant, "delta": delta}
    name = f"{dataset}-H{count}-{distance}-{constant}"
    return Problem(name, dataset, from_table, {"dataset": dataset, "count": count, **bound})


def outside_problems() -> list[Problem]:
    """Problems that other packages register."""
    return [problem for problems in load_all(GROUP, lambda make: list(make())).values() for problem in problems]
