"""Benchmark problems: named, picklable recipes that a worker process builds where it needs them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from pacb_models import BoundProblem, DirectProblem, problem_file
from pacb_models import problem as minimisation
from pacb_models.constraints import Constraint
from pacb_models.plugins import load_all
from pacb_models.risk_file import RiskFile

from ..store import digest
from .risks import available, load_risk_table

#: Entry-point group for third parties: a function without arguments that returns a list of problems.
PROBLEMS_GROUP = "pacb_models.problems"

#: The family of the embedded tables.
UCI_FAMILY = "UCI data sets"

#: Bupa without the feature that determines its class, beside the paper's nine data sets, which are in its order.
LEAK_FREE = "bupa-no-leak"
PAPER_DATASETS = tuple(name for name in available() if name != LEAK_FREE)

#: The numbers of classifiers and the distances of its tables.
PAPER_SIZES = (50, 200, 500, 1000, 1990)
TABLE_DISTANCES = ("linear", "squared", "kl")


@dataclass(frozen=True)
class Problem:
    """A recipe: ``make(**arguments)`` returns the :class:`~pacb_models.BoundProblem`.

    ``make`` must be a module-level function, so that the recipe can be sent to another process.
    """

    name: str
    #: The group that it is shown in; a solver that ran out of time may be spared larger problems of it.
    family: str
    make: Callable[..., Any]
    arguments: dict[str, Any] = field(default_factory=dict)
    #: The number of classifiers, where it is known before the problem is built.
    size: int | None = None
    #: The data set behind the risks.
    dataset: str | None = None

    def build(self) -> BoundProblem:
        """Return the problem itself."""
        return self.make(**self.arguments)

    @cached_property
    def identity(self) -> str:
        """A digest of the names of problem and function and of the arguments themselves: risks that changed are another
        problem, and a function that moved to another module is the same one.
        """
        return digest(self.name, self.make, self.arguments)


#: The classes of problems, by their kind.
KINDS: dict[str, type[Any]] = {"bound": BoundProblem, "direct": DirectProblem}


#: What describes a problem, by fields of a measurement.
FACTS = tuple("problem_kind size m delta distance divergence order constant prior constraints".split())


def facts(problem: BoundProblem) -> dict[str, object]:
    """Return those fields of a problem."""
    prior = "uniform" if problem.uniform_prior else "given"
    constraints = None if problem.posteriors is None else problem.posteriors.describe()
    same = {name: getattr(problem, name) for name in FACTS[1:-2]}
    return {"problem_kind": problem.kind, **same, "prior": prior, "constraints": constraints}


_table = lru_cache(maxsize=32)(load_risk_table)


def from_table(dataset: str, count: int, kind: str = "bound", **bound: Any) -> BoundProblem | DirectProblem:
    """Return the first ``count`` risks of an embedded table."""
    table = _table(dataset)
    return KINDS[kind](table.risks(count), m=table.m, **bound)


def synthetic(
    count: int, m: int = 1000, seed: int = 0, prior: str = "uniform", kind: str = "bound", **bound: Any
) -> BoundProblem | DirectProblem:
    """Return risks of ``count`` classifiers measured on ``m`` examples, with true risks spread over [0.05, 0.5].

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


def from_record(record: dict[str, Any]) -> minimisation.Problem:
    """Return the problem in a JSON that ``pacb export`` wrote, by its fields."""
    return problem_file.problem_of_record(problem_file.class_of(record), record)


def from_file(path: str | Path) -> Problem:
    """Return the recipe of such a file; only what defines the problem is read."""
    record, problem = problem_file.read_problem(path)
    name, family = (str(record.get(field, Path(path).stem)) for field in ("name", "dataset"))
    return Problem(name, family, from_record, {"record": problem_file.as_record(problem)}, problem.size)


def of_risk_file(name: str, path: str, content: RiskFile, constraints: Sequence[Constraint], **bound: Any) -> Problem:
    """Return the recipe of a risk file; with constraints it is their record."""
    arguments, size = {"risks": content.values, "prior": content.prior, **bound}, len(content.values)
    if not constraints:
        return Problem(name, path, BoundProblem, arguments, size)
    record = problem_file.as_record(BoundProblem(**arguments, constraints=constraints))
    return Problem(name, path, from_record, {"record": record}, size)


def table_problem(dataset: str, count: int, distance: str, constant: str = "exact", delta: float = 0.01) -> Problem:
    """Return the χ² problem of an embedded table."""
    bound = {"distance": distance, "constant": constant, "delta": delta}
    name = f"{dataset}-H{count}-{distance}-{constant}"
    return Problem(name, UCI_FAMILY, from_table, {"dataset": dataset, "count": count, **bound}, count, dataset)


def outside_problems() -> list[Problem]:
    """Return problems that other packages register."""
    return [
        problem for problems in load_all(PROBLEMS_GROUP, lambda make: list(make())).values() for problem in problems
    ]
