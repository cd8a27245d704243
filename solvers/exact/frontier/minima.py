"""From the local minima along a path to a solver's outcome."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from pacb_models.problem import BoundProblem
from pacb_models.solution import LocalMinimum, Outcome

from .sweep import Interval

#: Risks this close to the smallest count as equal to it: no bound can tell, and products of gaps must not underflow.
NEGLIGIBLE = 1e-100
#: A piece of path that could not be settled does no harm when nothing in it is better than the best by more than this.
_CERTIFIED_GAP = 1e-12
#: Minima whose empirical risks differ by less than this part of the range of the risks are one minimum, seen twice.
_SAME_RISK = 1e-12


class Candidate(NamedTuple):
    """A local minimum along a path."""

    #: Empirical risk, budget, and the statistic of the divergence.
    L: float
    b: float
    D: float
    #: Where it is, in the path's own terms.
    place: Any


class Posteriors(Protocol):
    """What turns a place on a path into a posterior."""

    #: Largest minus smallest risk.
    spread: float

    def posterior(self, place: Any) -> np.ndarray:
        """The weights, in the order of the problem's risks."""

    def support_size(self, place: Any) -> int:
        """How many of them are positive."""


def prior_is_optimal(problem: BoundProblem) -> Outcome:
    """The outcome when all risks are equal: only the divergence counts, and the prior has none."""
    return Outcome(problem.prior.copy(), "optimal", "all risks are equal: the prior is optimal", 0, is_global=True)


def outcome(
    problem: BoundProblem,
    path: Posteriors,
    candidates: list[Candidate],
    undecided: list[Interval],
    evaluations: int,
) -> Outcome:
    """The best candidate as posterior, the others as local minima, and whether the best is certified to be global."""
    if len(candidates) == 1 and not undecided:
        posterior = path.posterior(candidates[0].place)
        return Outcome(posterior, "optimal", "the only local minimum along the path", evaluations, is_global=True)
    invert = problem.distance_function.invert
    ranked = _distinct(sorted((invert(c.L, c.b), i) for i, c in enumerate(candidates)), candidates, path.spread)
    smallest = ranked[0][0] - _CERTIFIED_GAP
    certified = all(invert(piece.least_risk, piece.least_budget) >= smallest for piece in undecided)
    value = problem.divergence_function.value
    others = tuple(LocalMinimum(bound, c.L, value(c.D), path.support_size(c.place)) for bound, c in ranked[1:])
    message = (
        f"the best of {len(ranked)} local minima along the path" if others else "the only local minimum along the path"
    )
    if not certified:
        message += f"; {len(undecided)} short pieces of it could hold a smaller bound"
    return Outcome(
        posterior=path.posterior(ranked[0][1].place),
        status="optimal",
        message=message,
        iterations=evaluations,
        is_global=certified,
        local_minima=others,
    )


def _distinct(
    ranking: list[tuple[float, int]], candidates: list[Candidate], spread: float
) -> list[tuple[float, Candidate]]:
    """The candidates with their bounds, best first, without repetitions."""
    kept: list[tuple[float, Candidate]] = []
    for bound, i in ranking:
        if all(abs(candidates[i].L - other.L) > _SAME_RISK * spread for _, other in kept):
            kept.append((bound, candidates[i]))
    return kept
