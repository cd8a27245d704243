r"""How often a local method finds the minimum, as a probability over its starts.

A method that goes down from a posterior ends in a minimum that depends on the posterior. Every such method (every
solver with an option ``start``) is started from the prior and from random posteriors, and each end is set against the
local minima that the exact solver lists. Random posteriors are Dirichlet with all parameters equal to a
*concentration*: at 1 they are uniform on the simplex, far below 1 most weight is on a few classifiers, far above all
weights are about equal.

Every start has a part :math:`10^{-9}` of the prior, so that no weight is zero: methods that multiply weights would
never leave it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from pacb_models import BoundProblem, solve
from pacb_models.registry import available_solvers, get_solver

from .families import Instance, instances
from .problems import PAPER_DATASETS, Problem, table_problem
from .runner import CORRECT_GAP

#: From a few classifiers to all of them.
CONCENTRATIONS = (0.01, 0.1, 1.0, 10.0)

#: Seconds that a method has from each start.
TIME_LIMIT = 2.0

#: What the family of the paper's own problems is called, before their distance.
PAPER = "the paper's,"

#: The part of the prior in every start.
PRIOR_SHARE = 1e-9


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
    return [each.name for each in able if each.local and "start" in inspect.signature(each.run).parameters]


def random_starts(
    problem: BoundProblem, concentration: float, count: int, seed: int = 0
) -> Iterator[npt.NDArray[np.float64]]:
    """Random posteriors with positive weights."""
    random = np.random.default_rng([seed, problem.size])
    for _ in range(count):
        drawn = random.dirichlet(np.full(problem.size, concentration))
        mixed = (1.0 - PRIOR_SHARE) * drawn + PRIOR_SHARE * problem.prior
        yield mixed / mixed.sum()


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


def tasks(chosen: Iterable[Problem], solvers: Iterable[str] | None = None) -> list[tuple[Problem, str]]:
    """Every problem with every local method, or with those of them that are named."""
    wanted = None if solvers is None else set(solvers)
    return [
        (recipe, solver)
        for recipe in chosen
        for solver in local_methods(recipe.build())
        if wanted is None or solver in wanted
    ]


def measure(todo: Iterable[tuple[Problem, str]], count: int, jobs: int = 1) -> Iterator[list[Ends]]:
    """The ends of each task, in order, as they become known."""
    from joblib import Parallel, delayed

    pool = Parallel(n_jobs=jobs, return_as="generator")
    yield from pool(delayed(ends)(recipe, solver, count) for recipe, solver in todo)
