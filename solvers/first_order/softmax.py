r"""Softmax weights :math:`q_i \propto p_i e^{x_i}` with free variables: what machine-learning people do.

The constraints disappear, and any unconstrained method will do; but a weight of zero lies at infinity, and optimal
posteriors of χ² bounds have many. Where a weight is next to nothing, so is the slope :math:`q_i\,\partial_i B` of its
variable: a method that has put a weight there by mistake stays. ``method="lbfgs"`` is SciPy's L-BFGS in the variables
:math:`\sqrt{p_i}\,x_i`, up to a factor, which is brought back from there by a step on the simplex;
``method="adam"`` is Kingma and Ba's (ICLR 2015) with the usual constants and a step that falls along a cosine.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from pacb_models.constants import DISTANCES
from pacb_models.problem import Problem
from pacb_models.solution import Outcome
from pacb_models.validation import check_choice, check_count, check_positive

from ..coordinates import Logits
from ..oracle import Oracle, TimeUp
from . import lbfgsb
from .descent import FirstOrder, prepare

#: Methods and their default numbers of iterations.
LIMITS = {"lbfgs": 100_000, "adam": 2000}


class Softmax(FirstOrder):
    """Unconstrained minimisation over the logits of the weights, for any bound with slopes.

    L-BFGS is accurate with the KL divergence; with χ² it comes slowly to weights that should be zero. Adam, as it is
    commonly run, ends short of the minimum. Both end in the minimum next to their start.
    """

    name = "softmax"
    handles = DISTANCES
    any_pair = True

    def run(
        self,
        problem: Problem,
        *,
        method: str = "lbfgs",
        start: object = None,
        tolerance: float = 1e-9,
        max_iterations: int | None = None,
        learning_rate: float = 0.05,
        time_limit: float | None = None,
        trace: bool = False,
    ) -> Outcome:
        """Minimise the bound over the logits of the weights.

        Parameters
        ----------
        problem : BoundProblem or DirectProblem
        method : {"lbfgs", "adam"}
        start : array of shape (H,), optional
            The posterior to start from; by default the best of the prior and a few Gibbs posteriors, as for Ipopt.
        tolerance : float
            Largest KKT residual, in units of the bound.
        max_iterations : int, optional
            By default 100 000 for L-BFGS and 2000 for Adam, whose step falls to zero over that many.
        learning_rate : float
            Adam's first step.
        time_limit : float, optional
            Seconds of wall-clock time, looked at whenever the bound is evaluated.
        trace : bool
            True puts the bound after each iteration, with the seconds, into ``details["trace"]``.

        Returns
        -------
        Outcome
            ``details`` has ``function_evaluations`` and ``gradient_evaluations``.
        """
        check_choice("method", method, list(LIMITS))
        check_positive("learning_rate", learning_rate)
        oracle, first = prepare(problem, start, tolerance, time_limit, trace)
        iterations = LIMITS[method] if max_iterations is None else check_count("max_iterations", max_iterations)
        if method == "adam":
            return _adam(oracle, first, tolerance, iterations, learning_rate)
        coordinates = Logits(oracle, np.sqrt(problem.prior * problem.size))
        return lbfgsb.minimise(coordinates, first, None, tolerance, iterations, partial(lbfgsb.brought_back, oracle))


def _adam(oracle: Oracle, start: np.ndarray, tolerance: float, steps: int, learning_rate: float) -> Outcome:
    """Adam with its published constants, the step falling along a cosine; the best point it passed is returned."""
    logits = Logits(oracle, 1.0)
    x = logits.point(start)
    mean, square = np.zeros_like(x), np.zeros_like(x)
    step = 0
    try:
        for step in range(steps):
            oracle.trace.add(logits.value(x))
            if oracle.stationary(logits.posterior(x), tolerance):
                return oracle.met_tolerance(logits.posterior(x), step)
            slopes = logits.gradient(x)
            mean = 0.9 * mean + 0.1 * slopes
            square = 0.999 * square + 0.001 * slopes**2
            rate = 0.5 * learning_rate * (1.0 + math.cos(math.pi * step / steps))
            scale = np.sqrt(square / (1.0 - 0.999 ** (step + 1))) + 1e-8
            x = x - rate * mean / (1.0 - 0.9 ** (step + 1)) / scale
        oracle.trace.add(logits.value(x))
    except TimeUp:
        return oracle.reached_deadline(step)
    message = f"Adam made its {steps} steps."
    return oracle.outcome(oracle.cleaned(oracle.best_posterior), "iteration_limit", message, steps)


SOLVER = Softmax()
