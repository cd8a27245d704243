"""From the local minima along a path to a solver's outcome."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from pacb_models.binary_kl import kl_inverse
from pacb_models.problem import BoundProblem
from pacb_models.solution import LocalMinimum, Outcome

from .stationarity import Numbers
from .sweep import Interval

#: Risks this close to the smallest count as equal to it: no bound can tell, and products of gaps must not underflow.
NEGLIGIBLE = 1e-100
#: A piece of path that could not be settled does no harm when nothing in it is better than the best by more than this.
_CERTIFIED_GAP = 1e-12
#: The relative error of a computed minimum: sums are accurate to 1e-13 and a bound is no more sensitive to them than
#: they are themselves, as L r_L <= r and b r_b <= r; the place of a minimum is of second order.
_ROUNDING = 1e-12
#: Minima whose empirical risks differ by less than this part of the range of the risks are one minimum, seen twice.
SAME_RISK = 1e-12


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


def is_vacuous(problem: BoundProblem) -> bool:
    """Whether a kl bound rounds to one everywhere: at the smallest risk, with the prior's divergence, it does."""
    least = float(problem.risks.min())
    budget = problem.coefficient / (problem.exponent if problem.divergence == "kl" else 1.0)
    # 1 - r is about exp(-budget/(1 - L)); most problems are far from it, and need no root.
    return problem.distance == "kl" and budget > 30.0 * (1.0 - least) and kl_inverse(least, budget) >= 1.0


def prior_is_optimal(problem: BoundProblem, reason: str = "all risks are equal") -> Outcome:
    """The outcome when only the divergence counts, as all risks are equal: the prior has none."""
    smallest = problem.outer(problem.empirical_risk(problem.prior), problem.statistic(problem.prior))
    message = f"{reason}: the prior is optimal"
    return Outcome(problem.prior.copy(), "optimal", message, 0, is_global=True, lower_bound=below(smallest))


def outcome(
    problem: BoundProblem,
    path: Posteriors,
    candidates: list[Candidate],
    undecided: list[Interval],
    evaluations: int,
) -> Outcome:
    """The best candidate as posterior, the others as local minima, and whether the best is certified to be global.

    The lower bound is the smaller of the best and of what undecided pieces of the path could hold, less what rounding
    may have done to it.
    """
    invert = problem.distance_function.invert
    if not candidates:
        # Numbers left the range of floating point all along the path; nothing is claimed.
        message = "no local minimum was found along the path: its numbers are out of range"
        return Outcome(problem.prior.copy(), "acceptable", message, evaluations)
    if len(candidates) == 1 and not undecided:
        only = candidates[0]
        return Outcome(
            posterior=path.posterior(only.place),
            status="optimal",
            message="the only local minimum along the path",
            iterations=evaluations,
            is_global=True,
            lower_bound=below(invert(only.L, only.b)),
        )
    ranked = _distinct(sorted((invert(c.L, c.b), i) for i, c in enumerate(candidates)), candidates, path.spread)
    smallest = min((invert(piece.least_risk, piece.least_budget) for piece in undecided), default=math.inf)
    certified = smallest >= ranked[0][0] - _CERTIFIED_GAP
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
        lower_bound=below(min(smallest, ranked[0][0])),
        local_minima=others,
    )


def below(bound: Numbers) -> Numbers:
    """A bound less what rounding can have added to it."""
    return bound * (1.0 - _ROUNDING)


def _distinct(
    ranking: list[tuple[float, int]], candidates: list[Candidate], spread: float
) -> list[tuple[float, Candidate]]:
    """The candidates with their bounds, best first, without repetitions."""
    kept: list[tuple[float, Candidate]] = []
    for bound, i in ranking:
        if all(abs(candidates[i].L - other.L) > SAME_RISK * spread for _, other in kept):
            kept.append((bound, candidates[i]))
    return kept
