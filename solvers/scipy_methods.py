"""SciPy's minimisers on the variables that stand for a posterior, until the KKT residual is small enough."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from pacb_models.numerics.inner import one_thread
from pacb_models.solution import Outcome

from .coordinates import Coordinates
from .options import Iterative
from .oracle import TimeUp


class _Stationary(Exception):
    """The point of an iteration is stationary to the tolerance."""


def by_scipy(
    coordinates: Coordinates,
    start: np.ndarray,
    options: Iterative,
    method: str,
    settings: dict[str, Any],
    again: bool = False,
    better: Callable[[np.ndarray], np.ndarray | None] | None = None,
    **conditions: Any,
) -> Outcome:
    """A method of ``scipy.optimize.minimize`` until the KKT residual is at most the tolerance, or it finds nothing
    better.

    Where its line search gives up, what it has learnt of the bend may be to blame: with ``again`` it begins anew from
    there, or from a ``better`` posterior, as long as that gains anything. ``conditions`` are SciPy's bounds and
    constraints.
    """
    from scipy.optimize import minimize

    oracle, iterations, most = coordinates.oracle, 0, options.max_iterations

    def stationary(x: np.ndarray) -> bool:
        return oracle.stationary(coordinates.posterior(x), options.tolerance)

    # Until SciPy 1.16 SLSQP hands its callback the bare point, and knows no StopIteration.
    def after_iteration(x: np.ndarray, *_: Any) -> None:
        nonlocal iterations
        iterations += 1
        oracle.trace.add(oracle.best)
        if stationary(x):
            raise _Stationary(x)

    # The matrices are small, where several BLAS threads cost much more than they gain.
    with warnings.catch_warnings(), one_thread():
        # trust-constr warns of a singular start, SLSQP of clipped values; neither changes the result.
        warnings.simplefilter("ignore")
        try:
            x = coordinates.point(start)
            bound, before = coordinates.value(x), np.inf
            oracle.trace.add(bound)
            while bound < before and iterations < most and not stationary(x):
                before = bound
                x = minimize(
                    coordinates.value,
                    x,
                    jac=coordinates.gradient,
                    method=method,
                    options={"maxiter": most - iterations, **settings},
                    callback=after_iteration,
                    **conditions,
                ).x
                if not again:
                    break
                moved = None if better is None or stationary(x) else better(coordinates.posterior(x))
                x = x if moved is None else coordinates.point(moved)
                bound = coordinates.value(x)
        except TimeUp:
            return oracle.reached_deadline(iterations)
        except _Stationary as found:
            (x,) = found.args
    if stationary(x):
        return oracle.met_tolerance(coordinates.posterior(x), iterations)
    if iterations >= most:
        return oracle.reached_iterations(iterations)
    return oracle.found_nothing_better(coordinates.posterior(x), iterations)
