r"""Softmax weights :math:`q_i \propto p_i e^{x_i}` with free variables: what machine-learning people do.

The constraints disappear, and any unconstrained method will do; but a weight of zero lies at infinity, and optimal
posteriors of χ² bounds have many. Where a weight is next to nothing, so is the slope :math:`q_i\,\partial_i B` of its
variable: a method that has put a weight there by mistake stays. ``method="lbfgs"`` is SciPy's L-BFGS in the variables
:math:`\sqrt{p_i}\,x_i`, up to a factor, which is brought back from there by a step on the simplex;
``method="adam"`` is Kingma and Ba's (ICLR 2015) with the usual constants and a step that falls along a cosine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Self

import numpy as np

from pacb_models.problem import Problem
from pacb_models.solution import Outcome
from pacb_models.validation import check_positive

from ..coordinates import Logits
from ..options import Iterative
from ..oracle import Oracle
from ..scipy_methods import by_scipy
from ..starts import from_all_starts, with_all
from . import lbfgsb
from .descent import FirstOrder, Iterate, descend


class Softmax(FirstOrder):
    """Unconstrained minimisation over the logits of the weights, for any bound with slopes.

    L-BFGS is accurate with the KL divergence; with χ² it comes slowly to weights that should be zero. Adam, as it is
    commonly run, ends short of the minimum. Both end in the minimum next to their start.

    Options
    -------
    method : {"lbfgs", "adam"}
    learning_rate : float
        Adam's first step.
    max_iterations : int, optional
        By default 100 000 for L-BFGS and 2000 for Adam, whose step falls to zero over that many.
    start, starts, seed, tolerance, time_limit, trace : the common options
        As for every solver; see :mod:`pacb_models.solvers.options`.
    """

    name = "softmax"

    @dataclass(kw_only=True)
    class Options(Iterative):
        method: Literal["lbfgs", "adam"] = "lbfgs"
        learning_rate: float = 0.05
        max_iterations: Any = None

        def checked(self, problem: Problem) -> Self:
            check_positive("learning_rate", self.learning_rate)
            if self.max_iterations is None:
                self.max_iterations = 2000 if self.method == "adam" else 100_000
            return super().checked(problem)

    def run_with(self, problem: Problem, options: Any) -> Outcome:
        def minimise_from(q: np.ndarray) -> Outcome:
            # The logit of a weight of zero has no slope that would bring it back.
            q = with_all(problem, q)
            oracle = Oracle(problem, options)
            if options.method == "adam":
                return descend(oracle, _Adam(oracle, q, options.learning_rate, options.max_iterations).step, q, options)
            logits = Logits(oracle, np.sqrt(problem.prior * problem.size))
            better = partial(lbfgsb.brought_back, oracle)
            return by_scipy(logits, q, options, "L-BFGS-B", lbfgsb.SETTINGS, again=True, better=better)

        return from_all_starts(problem, options, minimise_from)


class _Adam:
    """Kingma and Ba's steps with their published constants, of a length that falls along a cosine."""

    def __init__(self, oracle: Oracle, start: np.ndarray, rate: float, steps: int) -> None:
        self.logits = Logits(oracle, 1.0)
        self.x, self.rate, self.steps, self.made = self.logits.point(start), rate, steps, 0
        self.mean = self.square = np.zeros_like(start)

    def step(self, oracle: Oracle, point: Iterate, ceiling: float) -> Iterate:
        slopes = point.q * point.slopes
        rate = 0.5 * self.rate * (1.0 + math.cos(math.pi * self.made / self.steps))
        self.made += 1
        self.mean = 0.9 * self.mean + 0.1 * slopes
        self.square = 0.999 * self.square + 0.001 * slopes**2
        scale = np.sqrt(self.square / (1.0 - 0.999**self.made)) + 1e-8
        self.x = self.x - rate * self.mean / (1.0 - 0.9**self.made) / scale
        q = self.logits.posterior(self.x)
        return Iterate(q, oracle.value(q), oracle.slopes(q))


SOLVER = Softmax()
