"""The global minimum over posteriors that keep constraints: the same search, on the frontier of the constrained set.

Averages, caps and floors: :mod:`pacb_models.constraints.frontier`. A limit on the support alone:
:mod:`pacb_models.constraints.supports`. Both together: :mod:`.branching`.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pacb_models.constraints.frontier import ConstrainedFrontier, proven
from pacb_models.constraints.supports import SupportFrontier
from pacb_models.problem import BoundProblem
from pacb_models.solution import Outcome

from .branching import CLOSED, Branching
from .search import GAP, Search

#: What rounding may add to a bound that is computed from a certificate.
ROUNDING = 1e-13


def minimise(problem: BoundProblem, hints: NDArray[np.float64] | None = None) -> Outcome:
    """The certified minimum of a constrained problem; hints are the certificate of a similar one."""
    posteriors = problem.posteriors
    assert posteriors is not None
    if posteriors.support is None:
        frontier = ConstrainedFrontier(problem, hints=hints)
        search = Search(problem, frontier)
        outcome = search.outcome()
        certificate = outcome.details["certificate"] = frontier.certificate()
        if search.may_claim():
            # What anybody can check, no more and no less.
            outcome.lower_bound, outcome.is_global = proven(problem, certificate) * (1.0 - ROUNDING), True
        return _checked(problem, outcome)
    if posteriors.rows or posteriors.boxed:
        return Branching(problem).outcome()
    everyone = np.ones(problem.size, dtype=bool)
    return _checked(problem, Search(problem, SupportFrontier(problem, problem.risks, everyone)).outcome())


def _checked(problem: BoundProblem, outcome: Outcome) -> Outcome:
    """The claim of a global minimum stands when the posterior's own bound is next to what is proven."""
    lower, posterior = outcome.lower_bound, outcome.posterior
    if lower is None or posterior is None or not math.isfinite(lower):
        return replace(outcome, is_global=False, lower_bound=None)
    closed = lower >= problem.bound(posterior) * (1.0 - CLOSED)
    message = outcome.message.partition(GAP)[0] + ("" if closed else f"{GAP}{lower:.12g}.")
    return replace(outcome, is_global=closed, message=message)
