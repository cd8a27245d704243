r"""SciPy's L-BFGS-B on normalised weights, for χ² and Rényi orders.

The variables are :math:`x_i = q_i/\sqrt{p_i}`, up to a factor, with :math:`x \ge 0`, and the weights are normalised
before the bound is evaluated: no constraint is left but the bounds. In these variables the Hessian of the χ² statistic
is a multiple of the unit matrix, with which a quasi-Newton method begins, and what is left of the bound's has rank
two. Worst risks, the slopes of direct bounds, bend with the weights as powers do, and so do the variables there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pacb_models.numerics.inner import one_thread
from pacb_models.solution import Outcome

from ..coordinates import Coordinates, Powers, Scaled, suitable_order
from ..options import Options
from ..oracle import Oracle, TimeUp
from .descent import ROUNDING, SHORTENINGS, FirstOrder

#: Pairs of steps and slopes that the inverse Hessian is made of.
MEMORY = 20


def minimise(
    coordinates: Coordinates,
    start: np.ndarray,
    bounds: Any,
    options: Options,
    better: Callable[[np.ndarray], np.ndarray | None] = lambda q: None,
) -> Outcome:
    """L-BFGS-B until the KKT residual is at most the tolerance, or until it finds nothing better.

    Its own tests look at its variables, and are switched off. Where its line search gives up, what it has learnt of the
    bend may be to blame: it begins anew from there, or from a ``better`` posterior, as long as that gains anything.
    """
    from scipy.optimize import minimize

    oracle, iterations = coordinates.oracle, 0

    def stationary(x: np.ndarray) -> bool:
        return oracle.stationary(coordinates.posterior(x), options.tolerance)

    def after_iteration(intermediate_result: Any) -> None:
        nonlocal iterations
        iterations += 1
        oracle.trace.add(intermediate_result.fun)
        if iterations >= most or stationary(intermediate_result.x):
            raise StopIteration

    most = options.max_iterations
    settings = {"maxiter": most, "maxfun": 100 * most, "ftol": 0.0, "gtol": 0.0, "maxcor": MEMORY}
    # Its matrices are small; several BLAS threads cost more than they gain.
    with one_thread():
        try:
            x = coordinates.point(start)
            bound, before = coordinates.value(x), np.inf
            oracle.trace.add(bound)
            while bound < before and iterations < most and not stationary(x):
                before = bound
                result = minimize(
                    coordinates.value,
                    x,
                    jac=coordinates.gradient,
                    method="L-BFGS-B",
                    bounds=bounds,
                    options=settings,
                    callback=after_iteration,
                )
                x, bound = result.x, result.fun
                if not stationary(x) and (moved := better(coordinates.posterior(x))) is not None:
                    x = coordinates.point(moved)
                    bound = coordinates.value(x)
        except TimeUp:
            return oracle.reached_deadline(iterations)
    q = coordinates.posterior(x)
    if oracle.stationary(q, options.tolerance):
        return oracle.met_tolerance(q, iterations)
    if iterations >= most:
        return oracle.reached_iterations(iterations)
    return oracle.found_nothing_better(q, iterations)


def brought_back(oracle: Oracle, q: np.ndarray) -> np.ndarray | None:
    """Some way from ``q`` to the classifiers whose slopes are negative, whatever their weights; None: no gain."""
    promising = oracle.problem.prior * np.maximum(-oracle.slopes(q), 0.0)
    if not promising.any():
        return None
    promising /= promising.sum()
    ceiling, share = oracle.value(q), 1.0
    for _ in range(SHORTENINGS):
        mixture = (1.0 - share) * q + share * promising
        if oracle.value(mixture) < ceiling - ROUNDING * ceiling:
            return mixture
        share *= 0.25
    return None


class NormalisedWeights(FirstOrder):
    """SciPy's L-BFGS-B on normalised non-negative weights, for bounds whose slopes are finite at weight zero.

    What one would take from SciPy, knowing the problem: a few dozen evaluations, whatever the number of classifiers. It
    ends in the minimum next to its start.
    """

    name = "lbfgsb"
    needs_finite_slopes = True

    def minimise(self, oracle: Oracle, start: np.ndarray, options: Options) -> Outcome:
        from scipy.optimize import Bounds

        prior = oracle.problem.prior
        bounds = Bounds(0.0, np.inf)
        power = 2.0 / suitable_order(oracle.problem)
        if oracle.problem.worst_case is not None and power > 1.0:
            powers = Powers(oracle, np.sqrt(prior * prior.size), power)
            return minimise(powers, start, bounds, options, partial(brought_back, oracle))
        return minimise(Scaled(oracle, np.sqrt(prior / prior.size)), start, bounds, options)


SOLVER = NormalisedWeights()
