r"""First- and second-order optimality of a posterior on the simplex.

With :math:`B(q) = F(L(q), T(q))`, the gradient is :math:`F_L l + F_T \nabla T` and the Hessian is a
diagonal plus a matrix of rank two, so both tests cost a few passes over the weights, whatever their number. The Hessian
of the size ``T`` may add another multiple of its gradient's square.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .constants import LARGEST_SAMPLE_SIZE
from .numerics.inner import dot

if TYPE_CHECKING:
    from .constraints import Posteriors
    from .constraints.tilting import Minimiser
    from .problem import BoundProblem, Outer, RiskAndSize

#: Risks up to this count as zero where the empirical risk is zero: their products with weights may underflow.
NO_RISK = 1e-300


def gradient(problem: RiskAndSize, q: np.ndarray, known: tuple[float, Outer] | None = None) -> np.ndarray:
    r"""Return the gradient :math:`\nabla B = F_L\, l + F_T\, \nabla T` at weights ``q`` on the simplex, ``T`` the size
    of the divergence and ``l`` the derivatives of the empirical risk; size and slopes may be known."""
    size, slopes = known or problem.size_and_slopes(q)
    F_L, F_T, risks = slopes.L, slopes.T, problem.risk_gradient(q)
    # With the kl distance F_L is infinite at L = 0; a classifier without errors does not feel it.
    found = F_L * risks if math.isfinite(F_L) else np.where(risks > NO_RISK, F_L, 0.0)
    slopes_of_size = problem.divergence_function.gradient(q, problem.prior, size)
    found += np.multiply(slopes_of_size, F_T, out=slopes_of_size)
    return found


def residual_at(problem: RiskAndSize, q: np.ndarray, size: float, slopes: Outer) -> float:
    r"""Return distance from stationarity, in units of the bound; zero exactly at a KKT point of the simplex.

    For χ² and Rényi orders it is the Frank–Wolfe gap :math:`\langle \nabla B, q\rangle - \min_i \partial_i B`, the
    first-order decrease that is left; where ``B`` is convex it bounds :math:`B(q) - \min B`. For the KL divergence,
    whose gradient is minus infinity at weight zero, it is :math:`\sum_i \max(q_i, \hat q_i)\,|\partial_i B -
    \langle\nabla B, q\rangle|` with the Gibbs weights :math:`\hat q_i \propto p_i e^{-b l_i}`, :math:`b = F_L/F_D`,
    that the stationarity condition asks for: a weight that should be :math:`10^{-30}` may be zero, one that should be
    a tenth may not. Under constraints the decrease is that over the posteriors that keep them, or for the KL divergence
    :math:`F_T \sum_i \max(q_i, \hat q_i)\,|\ln q_i/\hat q_i|` with the minimiser :math:`\hat q` of :math:`T + \gamma
    L`, :math:`\gamma = F_L/F_T`, over them.
    """
    gradients = gradient(problem, q, (size, slopes))
    if problem.posteriors is not None:
        left = max(decrease(gradients, q, problem.posteriors), 0.0)
        found = _tilted(problem, q, slopes) if left > 1e-9 else None
        if found is None:
            return left
        wanted, tiny = found.posterior / np.add.reduce(found.posterior), np.finfo(float).tiny
        logarithms = np.log(np.maximum(q, tiny) / np.maximum(wanted, tiny))
        return min(left, slopes.T * float(np.dot(np.maximum(q, wanted), np.abs(logarithms))))
    finite = math.isfinite(slopes.L)
    # Zero times an infinite slope is no number; looking for zeros is worth its time only then.
    mean = dot(q, gradients) if finite else dot(q[q > 0.0], gradients[q > 0.0])
    if not problem.divergence_function.steep:
        return max(mean - gradients.item(gradients.argmin()), 0.0)
    off_support, risks, prior = 0.0, problem.risk_gradient(q), problem.prior
    if finite:
        beta = slopes.L / slopes.T if slopes.T > 0.0 else 0.0
        wanted = risks.item(risks.argmin()) - risks
        wanted *= beta
        np.exp(wanted, out=wanted)
    else:
        wanted = np.where(risks > NO_RISK, 0.0, 1.0)
        gradients = np.where(np.isinf(gradients), mean, gradients)
        off_support = _decrease_from_zero_risk(problem, slopes.value)
    wanted /= dot(wanted, prior)
    wanted *= prior
    gradients -= mean
    return off_support + dot(np.maximum(q, wanted, out=wanted), np.abs(gradients, out=gradients))


def _tilted(problem: RiskAndSize, q: np.ndarray, slopes: Outer) -> Minimiser | None:
    r"""Return the minimiser of :math:`T + \gamma L` among the posteriors around one; None where the divergence is not
    steep, or a slope says nothing."""
    if not (problem.divergence_function.steep and math.isfinite(slopes.L) and slopes.T > 0.0):
        return None
    from .constraints.tilting import Tilting

    assert problem.posteriors is not None
    risks = problem.risk_gradient(q)
    risks = risks - risks.min()
    tilting = Tilting(problem.divergence_function, risks, problem.prior, problem.posteriors.around(q))
    return tilting.at(slopes.L / slopes.T)


def multipliers(problem: BoundProblem, q: np.ndarray) -> np.ndarray:
    """Return how much the bound falls for each unit that a row of the constraints is relaxed, at a stationary
    posterior."""
    posteriors = problem.posteriors
    if posteriors is None or not posteriors.rows:
        return np.zeros(0)
    size = problem.divergence_size(q)
    slopes = problem.outer_at(problem.empirical_risk(q), size)
    tilted = _tilted(problem, q, slopes)
    if tilted is not None:
        return slopes.T * tilted.multipliers / posteriors.scales
    found = posteriors.around(q).left(cut_off(gradient(problem, q, (size, slopes))), q)[1]
    return np.asarray(found / posteriors.scales)


def sensitivities(problem: BoundProblem, q: np.ndarray) -> dict[str, Any]:
    """Return how the bound of a posterior changes with δ, with one example more, and with each risk.

    At a minimum the posterior's own change does not count (the envelope theorem), so these are the minimum's, too.
    """
    L, size = problem.empirical_risk(q), problem.divergence_size(q)
    slopes = problem.outer_at(L, size)
    step = 1e-4 * problem.delta
    at = [float(problem.replace(delta=problem.delta + d).bound_at(L, size)) for d in (-step, step)]
    # There is no larger sample than the largest that is allowed.
    other = problem.m + 1 if problem.m < LARGEST_SAMPLE_SIZE else problem.m - 1
    more = (float(problem.replace(m=other).bound_at(L, size)) - slopes.value) / (other - problem.m)
    return {"delta": (at[1] - at[0]) / (2.0 * step), "m": more, "risks": np.where(q > 0.0, slopes.L, 0.0) * q}


def cut_off(slopes: np.ndarray) -> np.ndarray:
    """Return slopes as numbers: with the kl distance they are infinite where the empirical risk is zero."""
    return np.clip(slopes, -1e6, 1e6)


def decrease(slopes: np.ndarray, q: np.ndarray, posteriors: Posteriors | None) -> float:
    r"""Return the first-order decrease that is left, :math:`\langle g, q\rangle - \min_{q'} \langle g, q'\rangle`, over
    the posteriors that keep the constraints; over the simplex where there are none."""
    if posteriors is None:
        return dot(q, slopes) - float(slopes.min())
    return posteriors.around(q).left(cut_off(slopes), q)[0]


def _decrease_from_zero_risk(problem: RiskAndSize, bound: float) -> float:
    r"""Return how much a posterior without empirical risk can gain by giving weight to classifiers with errors.

    With the kl distance and the KL divergence both slopes are infinite there, and their sum along classifier ``i``
    has the sign of :math:`l_i - 1/n`, ``n`` the exponent: above, no small weight pays; below, the best weight may
    be a tenth or :math:`10^{-50}`. So the gain itself is measured, at Gibbs posteriors from mild to extreme.
    """
    positive = problem.risks[problem.risks > NO_RISK]
    if positive.size == 0 or positive.min() * problem.exponent >= 1.0:
        return 0.0
    best = bound
    with np.errstate(over="ignore"):
        multiples = problem.risks / positive.min()
    for strength in np.geomspace(0.01, 500.0, 30):
        weights = problem.prior * np.exp(-strength * multiples)
        weights /= weights.sum()
        best = min(best, problem.bound_at(problem.empirical_risk(weights), problem.divergence_size(weights)))
    return bound - best


def classify(problem: BoundProblem, q: np.ndarray, tol: float = 1e-8) -> str:
    r"""Classify a posterior by the second-order condition on its support.

    On the support :math:`S` the Hessian is :math:`\Delta + U C U^T` with :math:`\Delta = F_T\,\mathrm{diag}(T'')`,
    :math:`U = [l, \nabla T]` and ``C`` the second derivatives of ``F``. The bordered Hessian (with the border
    :math:`\sum_{i \in S} v_i = 0`) has the signs of a minimum exactly when the Hessian is positive definite on the
    tangent space. Scaled by :math:`\Delta^{-1/2}` it is the identity plus :math:`W C W^T`, ``W`` the scaled ``U``
    made orthogonal to the scaled border, whose eigenvalues other than one are those of the two-by-two matrix :math:`I
    + C\,W^T W`.

    Returns ``"not stationary"`` when the KKT residual exceeds ``tol``, ``"saddle"`` when some direction has curvature
    that is not positive, else ``"local minimum"``.
    """
    if problem.judge(q).kkt_residual > tol:
        return "not stationary"
    return "local minimum" if tangent_curvature(problem, q) > 0.0 else "saddle"


def tangent_curvature(problem: BoundProblem, q: np.ndarray) -> float:
    """Return the smallest eigenvalue of the scaled Hessian on the tangent space of the support (see :func:`classify`).

    It is capped at one: with four or more weights some direction has exactly that. Zero or less means a direction of
    descent.
    """
    support = q > 0.0
    weights, prior, risks = q[support], problem.prior[support], problem.risks[support]
    if weights.size == 1:
        return 1.0
    size = problem.divergence_size(q)
    outer = problem.derivatives_at(problem.empirical_risk(q), size)
    if outer.T <= 0.0:
        # A kl bound that rounds to one is flat.
        return 0.0
    if not np.isfinite([outer.L, outer.LL, outer.LT]).all():
        # L = 0 with the kl distance: every risk on the support is zero and only the divergence bends.
        outer = outer._replace(L=0.0, LL=0.0, LT=0.0)
    divergence = problem.divergence_function
    diagonal, square = divergence.curvature(weights, prior, size)
    scale = 1.0 / np.sqrt(outer.T * diagonal)
    border = scale / np.linalg.norm(scale)
    directions = np.column_stack((risks, divergence.gradient(weights, prior, size)))
    # Constants along the border drop out on the tangent space; removing the mean first keeps digits.
    directions = (directions - directions.mean(axis=0)) * scale[:, None]
    directions -= np.outer(border, border @ directions)
    coupling = np.array([[outer.LL, outer.LT], [outer.LT, outer.TT + outer.T * square]])
    eigenvalues = np.linalg.eigvals(np.eye(2) + coupling @ (directions.T @ directions)).real
    return min(1.0, float(eigenvalues.min()))
