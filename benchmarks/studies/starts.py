r"""How often a local method finds the minimum, as a probability over its starts.

A method that goes down from a posterior ends in a minimum that depends on the posterior. Every such method (every
solver with an option ``start``) is started from the prior and from random posteriors, and each end is set against the
local minima that the exact solver lists. :mod:`..problems.starts` draws the posteriors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pacb_models import BoundProblem, solve
from pacb_models.errors import InputError
from pacb_models.processes import ended_with_us
from pacb_models.solving.registry import available_solvers, get_solver

from ..harness.journal import kept
from ..harness.suites import Cell
from ..problems.families import Instance, instances
from ..problems.problem import PAPER_DATASETS, Problem, table_problem
from ..problems.starts import CONCENTRATIONS, random_starts, takes_start
from ..verdict import CORRECT_GAP

#: Seconds that a method has from each start.
TIME_LIMIT = 2.0

#: What the family of the paper's own problems is called, before their distance.
PAPER = "the paper's,"


@dataclass(frozen=True)
class Ends:
    """Where one method ended on one problem from starts of one kind."""

    problem: str
    family: str
    solver: str
    #: "prior", or the concentration of the Dirichlet distribution.
    start: str
    starts: int
    #: How many ended in the best minimum, …
    best: int
    #: … in another local minimum, …
    other: int
    #: … and in none.
    nowhere: int
    #: Local minima of the bound.
    minima: int


def local_methods(problem: BoundProblem) -> list[str]:
    """Solvers that go down from a given start, and can run here on this problem."""
    able = [get_solver(name) for name, reason in available_solvers(problem).items() if reason.available]
    return [each.name for each in able if takes_start(each)]


def ends(recipe: Problem, solver: str, count: int, seed: int = 0) -> list[Ends]:
    """Start a method from the prior and, per concentration, from ``count`` random posteriors."""
    problem = recipe.build()
    exact = solve(problem, "frontier", merge=False)
    minima = [exact.bound, *(minimum.bound for minimum in exact.local_minima)]
    kinds: list[tuple[str, Iterable[npt.NDArray[np.float64]]]] = [("prior", [problem.prior])]
    kinds += [(f"{value:g}", random_starts(problem, value, count, seed)) for value in CONCENTRATIONS]
    found = []
    for kind, starts in kinds:
        ranks = [_rank(_end(problem, solver, start), minima) for start in starts]
        found.append(
            Ends(
                problem=recipe.name,
                family=recipe.dataset,
                solver=solver,
                start=kind,
                starts=len(ranks),
                best=ranks.count(0),
                other=sum(rank is not None and rank > 0 for rank in ranks),
                nowhere=ranks.count(None),
                minima=len(minima),
            )
        )
    return found


def _end(problem: BoundProblem, solver: str, start: npt.NDArray[np.float64]) -> float:
    """The bound where a method ended; infinite where it broke down."""
    limits = {"time_limit": TIME_LIMIT} if get_solver(solver).keeps_time_limit else {}
    try:
        return solve(problem, solver, start=start, merge=False, **limits).bound
    except Exception:  # a plug-in may raise anything
        return float("inf")


def _rank(bound: float, minima: list[float]) -> int | None:
    """Which minimum a bound belongs to, 0 for the best; None when it is none of them."""
    nearest = min(range(len(minima)), key=lambda rank: abs(bound - minima[rank]))
    return nearest if abs(bound - minima[nearest]) <= CORRECT_GAP else None


def telling_instances(each: int, largest: int) -> list[Instance]:
    """Of every family a few instances with several minima, one with a single minimum where there are none.

    They have up to ``largest`` classifiers; where only larger ones have several minima, the smallest of those count.
    """
    chosen: list[Instance] = []
    for family in dict.fromkeys(frozen.family for frozen in instances()):
        members = [frozen for frozen in instances() if frozen.family == family]
        limit = max(largest, min((frozen.size for frozen in members if frozen.minima > 1), default=0))
        small = [frozen for frozen in members if frozen.size <= limit]
        several = [frozen for frozen in small if frozen.minima > 1]
        # Not neighbours, which are alike: spread over the list.
        chosen += several[:: max(1, len(several) // each)][:each] or small[:1]
    return chosen


def paper_problems() -> list[Problem]:
    """The paper's own problems of which it says that methods find one stationary point, whatever the start."""
    return [
        replace(table_problem(dataset, 50, distance, "paper"), dataset=f"{PAPER} {distance}")
        for distance in ("squared", "kl")
        for dataset in PAPER_DATASETS
    ]


def tasks(chosen: Iterable[Problem], solvers: Sequence[str] | None = None) -> dict[str, tuple[Problem, str]]:
    """Every problem with every local method, or with those of them that are named, by a key of its own."""
    for name in solvers or ():
        if not takes_start(get_solver(name)):
            raise InputError(f"--solvers names {name!r}, which is no local method: it takes no start.")
    found = [
        (recipe, solver)
        for recipe in chosen
        for solver in local_methods(recipe.build())
        if solvers is None or solver in solvers
    ]
    return {Cell(recipe, solver).key: (recipe, solver) for recipe, solver in found}


def measure(
    todo: dict[str, tuple[Problem, str]], count: int, directory: str | Path, jobs: int = 1, resume: bool = False
) -> Iterator[tuple[str, list[Ends]]]:
    """The ends of each task with its key, as they become known; each is in the directory before it is handed over.

    With ``resume`` those that the directory holds come first, and are not measured again.
    """
    from joblib import Parallel, delayed

    def compute(keys: Sequence[str]) -> Iterator[tuple[str, Any]]:
        pool = Parallel(n_jobs=jobs, return_as="generator_unordered")
        with ended_with_us():
            yield from pool(delayed(_keyed)(key, *todo[key], count) for key in keys)

    # Another number of starts is another measurement.
    path = Path(directory) / f"starts-{count}.jsonl"
    for key, found in kept(path, list(todo), compute, resume):
        yield key, [Ends(**each) for each in found]


def _keyed(key: str, recipe: Problem, solver: str, count: int) -> tuple[str, list[dict[str, Any]]]:
    return key, [asdict(found) for found in ends(recipe, solver, count)]
