"""Cleaning the weights that methods with a barrier return."""

from __future__ import annotations

from typing import Any

import numpy as np

from pacb_models.numerics.inner import dot
from pacb_models.problem import RiskAndSize
from pacb_models.solving.judging import onto_simplex


def without_negligible(problem: Any, weights: np.ndarray) -> np.ndarray:
    """The weights, with zeros for those that are positive only because a barrier method never touches a bound.

    A small weight is dropped exactly where the optimality conditions want it to be zero: where the slope of the
    bound at weight zero is not below the mean slope of the posterior. With the KL divergence, whose slope there is
    minus infinity, that leaves all but weights too small for a floating-point number. The others take over what was
    dropped: how far the weights are off the simplex is the solver's doing, and stays to be seen. Under constraints, and
    of bounds of another form, the weights stay as they are.
    """
    q, _ = onto_simplex(weights)
    # Under constraints the others could not take anything over without breaking rows or caps.
    if q is None or problem.posteriors is not None or not isinstance(problem, RiskAndSize):
        return weights
    size, slopes = problem.size_and_slopes(q)
    if not np.isfinite([slopes.L, slopes.T]).all():
        return weights
    divergence, by_risk = problem.divergence_function, slopes.L * problem.risk_gradient(q)
    mean = dot(q, by_risk + slopes.T * divergence.gradient(q, problem.prior, size))
    at_zero = by_risk + slopes.T * divergence.gradient(np.zeros_like(q), problem.prior, size)
    # Larger weights are left alone, whatever their slope: a point that has not converged stays as it is.
    dropped = (q > 0.0) & (q < 1e-3 * problem.prior) & (at_zero >= mean)
    if not dropped.any():
        return weights
    left = np.where(dropped, 0.0, weights)
    return left * (float(weights.sum()) / float(left.sum()))
