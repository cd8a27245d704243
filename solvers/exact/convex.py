r"""The proof of a convex minimum: one line, at its own exchange rate.

Where the bound is linear in risk and size, :math:`F = a + F_L (L + T/\gamma)` with the same :math:`\gamma = F_L/F_T`
everywhere, the supporting line of slope γ alone shows the minimum: F is the same along it. Where all risks are equal,
the smallest size has the smallest bound. A direct bound is at least any risk that all classifiers can have at once.
"""

import math

import numpy as np

from pacb_models.direct import DirectProblem
from pacb_models.problem import BoundProblem, Problem
from pacb_models.proofs import CommonRisk, Leaf, Proof

from .constrained import ConstrainedFrontier

#: What a solver's own tolerance may leave of a bound, relative to it.
LEFT_OPEN = 5e-10


def is_linear(problem: BoundProblem) -> bool:
    """Return True when the bound is a linear function of empirical risk and size."""
    return problem.distance_function.affine and problem.budget_at(problem.divergence_size(problem.prior)).bend == 0.0


def proof_of_convex(problem: Problem, posterior: np.ndarray | None) -> Proof | CommonRisk | None:
    """Return what proves that a posterior is the minimum of a convex bound, if it is; None for other bounds."""
    if posterior is None:
        return None
    if isinstance(problem, DirectProblem):
        return CommonRisk(problem.bound(posterior) * (1.0 - LEFT_OPEN))
    if not isinstance(problem, BoundProblem) or not (is_linear(problem) or np.ptp(problem.risks) == 0.0):
        return None
    claim = problem.bound(posterior) * (1.0 - 1e-12)
    slopes = problem.outer_at(problem.empirical_risk(posterior), problem.divergence_size(posterior))
    if not (math.isfinite(slopes.L) and slopes.L > 0.0 and slopes.T > 0.0):
        return Proof(Leaf(np.zeros((0, 3))), claim) if problem.posteriors is None else None
    gamma = slopes.L / slopes.T
    if problem.posteriors is None:
        frontier = problem.divergence_function.frontier(problem.risks, problem.prior, problem.uniform_prior)
        if frontier.spread == 0.0:
            return Proof(Leaf(np.zeros((0, 3))), claim)
        return Proof(Leaf(frontier.rows(np.array([frontier.at_slope(gamma)]))), claim)
    if problem.posteriors.support is not None:
        return None
    constrained = ConstrainedFrontier(problem)
    return Proof(constrained.leaf(np.array([constrained.at_slope(gamma)])), claim)
