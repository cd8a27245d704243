"""Benchmark problems: named, picklable recipes that a worker process builds where it needs them."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from pacb_models import BoundProblem, DirectProblem
from pacb_models.plugins import load_all
from pacb_models.risk_file import RiskFile

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
        """A digest of the name, the function and the arguments themselves: risks that changed are another problem."""
        parts = [self.name, _digest(self.make), self.arguments]
        return hashlib.sha256(json.dumps(parts, sort_keys=True, default=_digest).encode()).hexdigest()


def _digest(value: Any) -> str:
    """For what JSON cannot hold. Not its text, which leaves out most of a long array."""
    return hashlib.sha256(pickle.dumps(value, protocol=4)).hexdigest()


#: The classes of problems, by their kind.
KINDS: dict[str, type[Any]] = {"bound": BoundProblem, "direct": DirectProblem}


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


def from_content(content: RiskFile, m: int, **bound: Any) -> BoundProblem:
    """A user's risk file, by its content: a worker may be elsewhere, and the file may change."""
    return BoundProblem(content.risks, m=m, prior=content.prior, **bound)


def table_problem(dataset: str, count: int, distance: str, constant: str = "exact", delta: float = 0.01) -> Problem:
    """The χ² problem of an embedded table."""
    bound = {"distance": distance, "constant": constant, "delta": delta}
    name = f"{dataset}-H{count}-{distance}-{constant}"
    return Problem(name, dataset, from_table, {"dataset": dataset, "count": count, **bound})


def outside_problems() -> list[Problem]:
    """Problems that other packages register."""
    return [problem for problems in load_all(GROUP, lambda make: list(make())).values() for problem in problems]
