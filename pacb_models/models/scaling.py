r"""Factors that make a nonlinear solver's tolerances mean the same for every problem.

A bound over ``H`` classifiers has weights of order :math:`1/H` and derivatives that differ between them by as
little: a solver that stops when each is right to :math:`10^{-8}` has a bound that is wrong by up to ``H`` times
that, and posteriors that are not stationary. In the weights :math:`w_i = q_i/p_i`, with the objective multiplied by
:math:`H`, weights, derivatives and multipliers are of order one whatever ``H``, and a tolerance of :math:`10^{-8}`
is one on the bound.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ..problem import RiskAndSize

#: Slopes are not taken to be smaller than this: a kl bound close to one is flat, and the rounding errors of a function
#: that is magnified too much exceed a solver's tolerance.
SMALLEST_SLOPE = 1e-3


class Scaling(NamedTuple):
    """What to multiply the weights, the objective and each constraint by."""

    weights: np.ndarray
    objective: float
    #: Of the constraint that the weights sum to one.
    normalised: float
    #: Of the constraint that ties the empirical risk to the weights.
    empirical_risk: float
    #: Of the constraint that ties the statistic to the weights.
    divergence: float
    #: Of the constraint that the distance does not exceed the budget.
    budget: float


def scaling(problem: RiskAndSize) -> Scaling:
    """The factors for a problem, from the slopes of the bound at the prior.

    The objective is multiplied by ``H`` and divided by its own slope, which is small where the sample is large or a kl
    bound nearly vacuous; each constraint is multiplied by what the objective changes with it, so that its multiplier is
    of order one too.
    """
    size = problem.divergence_function.size(problem.prior, problem.prior)
    outer = problem.derivatives_at(problem.empirical_risk(problem.prior), size)
    budget = problem.budget_at(problem.counted(size))
    # With respect to the statistic, whose root of the order the size is; both are one at the prior.
    F_D = outer.T / problem.order
    F_L = outer.L if math.isfinite(outer.L) else 1.0
    slope = max(F_L * float(np.ptp(problem.risks)) + F_D, SMALLEST_SLOPE)
    objective = problem.size / min(slope, 1.0)
    return Scaling(
        # Nothing depends on smaller weights, and factors of 1e15 would keep a solver from meeting its tolerances.
        weights=1.0 / np.maximum(problem.prior, 1e-8 / problem.size),
        objective=objective,
        normalised=float(problem.size),
        empirical_risk=objective * max(F_L, SMALLEST_SLOPE),
        divergence=objective * max(F_D, SMALLEST_SLOPE),
        budget=objective * max(outer.T / budget.slope, SMALLEST_SLOPE),
    )
