r"""SciPy's L-BFGS-B on normalised weights, for χ² and Rényi orders.

The variables are :math:`x_i = q_i/\sqrt{p_i}`, up to a factor, with :math:`x \ge 0`, and the weights are normalised
before the bound is evaluated: no constraint is left but the bounds. In these variables the Hessian of the χ² statistic
is a multiple of the unit matrix, with which a quasi-Newton method begins, and what is left of the bound's has rank
two. Worst risks, the slopes of direct bounds, bend with the weights as powers do, and so do the variables there.
"""

from functools import partial
from typing import Any

import numpy as np

from pacb_models.direct import DirectProblem
from pacb_models.solution import Outcome

from ..coordinates import Powers, by_scipy, suitable_order
from ..oracle import Oracle
from .descent import LAST_DIGITS, SHORTENINGS, FirstOrder

#: SciPy's own tests look at its variables, and are switched off. ``maxcor`` is the number of pairs of steps and slopes
#: that the inverse Hessian is made of.
SETTINGS: dict[str, Any] = {"maxfun": 2**31 - 1, "ftol": 0.0, "gtol": 0.0, "maxcor": 20}


def brought_back(oracle: Oracle, q: np.ndarray) -> np.ndarray | None:
    """Return some way from ``q`` to the classifiers whose slopes are negative, whatever their weights; None: no
    gain."""
    promising = oracle.problem.prior * np.maximum(-oracle.slopes(q), 0.0)
    if not promising.any():
        return None
    promising /= promising.sum()
    ceiling, share = oracle.value(q), 1.0
    for _ in range(SHORTENINGS):
        mixture = (1.0 - share) * q + share * promising
        if oracle.value(mixture) < ceiling - LAST_DIGITS * ceiling:
            return mixture
        share *= 0.25
    return None


class NormalisedWeights(FirstOrder):
    """SciPy's L-BFGS-B on normalised non-negative weights, for bounds whose slopes are finite at weight zero.

    What one would take from SciPy, knowing the problem: a few dozen evaluations, whatever the number of classifiers.
    """

    name = "lbfgsb"
    needs_finite_slopes = True

    def minimise(self, oracle: Oracle, start: np.ndarray, options: Any) -> Outcome:
        from scipy.optimize import Bounds

        problem, bounds = oracle.problem, Bounds(0.0, np.inf)
        power = max(2.0 / suitable_order(problem), 1.0) if isinstance(problem, DirectProblem) else 1.0
        better = partial(brought_back, oracle) if power > 1.0 else None
        variables = Powers(oracle, np.sqrt(problem.prior * problem.size), power)
        return by_scipy(variables, start, options, "L-BFGS-B", SETTINGS, again=True, better=better, bounds=bounds)


SOLVER = NormalisedWeights()
