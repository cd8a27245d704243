r"""Softmax weights :math:`q_i \propto p_i e^{x_i}` with free variables: what machine-learning people do.

The constraints disappear, and any unconstrained method will do; but a weight of zero lies at infinity, and optimal
posteriors of χ² bounds have many. Where a weight is next to nothing, so is the slope :math:`q_i\,\partial_i B` of its
variable: a method that has put a weight there by mistake stays. ``method="lbfgs"`` is SciPy's L-BFGS in the variables
:math:`\sqrt{p_i}\,x_i`, up to a factor, which is brought back from there by a step on the simplex;
``method="adam"`` is Kingma and Ba's (ICLR 2015) with the usual constants and a step that falls along a cosine.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Self

import numpy as np

from pacb_models.problem import Problem
from pacb_models.solution import Outcome

from ..coordinates import Logits, by_scipy
from ..options import Iterative, with_all
from ..oracle import Iterate, Oracle
from .descent import FirstOrder, descend
from .lbfgsb import SETTINGS, brought_back


class Softmax(FirstOrder):
    """Unconstrained minimisation over the logits of the weights, for any bound with slopes.

    L-BFGS is accurate with the KL divergence; with χ² it comes slowly to weights that should be zero. Adam, as it is
    commonly run, ends short of the minimum.

    Options
    -------
    method : {"lbfgs", "adam"}
    learning_rate : float
        Adam's first step.
    max_iterations : int, optional
        By default 100 000 for L-BFGS and 2000 for Adam, whose step falls to zero over that many.
    start, starts, seed, tolerance, time_limit, trace : see :mod:`pacb_models.solvers.options`
    """

    name = "softmax"

    @dataclass(kw_only=True)
    class Options(Iterative):
        method: Literal["lbfgs", "adam"] = "lbfgs"
        learning_rate: float = 0.05
        max_iterations: Any = None

        def checked(self, problem: Problem) -> Self:
            if self.max_iterations is None:
                self.max_iterations = 2000 if self.method == "adam" else 100_000
            return super().checked(problem)

    def minimise(self, oracle: Oracle, start: np.ndarray, options: Any) -> Outcome:
        # The logit of a weight of zero has no slope that would bring it back.
        q, problem = with_all(oracle.problem, start), oracle.problem
        if options.method == "adam":
            return descend(oracle, partial(adam, rate=options.learning_rate, most=options.max_iterations), q, options)
        logits, better = Logits(oracle, np.sqrt(problem.prior * problem.size)), partial(brought_back, oracle)
        return by_scipy(logits, q, options, "L-BFGS-B", SETTINGS, again=True, better=better)


def adam(oracle: Oracle, point: Iterate, rate: float, most: int) -> Iterator[Iterate]:
    """Take Kingma and Ba's steps with their published constants, of a length that falls along a cosine."""
    logits = Logits(oracle, 1.0)
    x, mean, square = logits.point(point.q), 0.0, 0.0
    for made in range(most):
        slopes = point.q * point.slopes
        mean, square = 0.9 * mean + 0.1 * slopes, 0.999 * square + 0.001 * slopes**2
        length = 0.5 * rate * (1.0 + math.cos(math.pi * made / most))
        scale = np.sqrt(square / (1.0 - 0.999 ** (made + 1))) + 1e-8
        x = x - length * mean / (1.0 - 0.9 ** (made + 1)) / scale
        point = oracle.iterate(logits.posterior(x))
        yield point


SOLVER = Softmax()
