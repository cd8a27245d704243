"""What the first-order methods share: their options, the loop over iterations, and which steps are accepted."""

import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from pacb_models.problem import Problem
from pacb_models.solution import Outcome

from ..options import DeclaredSolver, Iterative, from_all_starts
from ..oracle import Iterate, Oracle, TimeUp, is_steep

#: A step has to gain this share of what the slopes promise (Armijo) ...
SUFFICIENT = 1e-4
#: ... but for rounding: close to a minimum the gain is smaller than the bound's last digit.
LAST_DIGITS = 4.0 * sys.float_info.epsilon
#: A step that has been shortened so often leads nowhere.
SHORTENINGS = 60
#: A Barzilai–Borwein step is at most so many times the one before; where the bound bends down it would be infinite.
GROWTH = 1e3


class FirstOrder(DeclaredSolver):
    """A method that knows of a bound its value and its slopes: :meth:`iterates` is the method, the rest is shared.

    It goes down from a start, to the minimum next to it, until the KKT residual is at most the tolerance. All options
    are those of every solver; see :mod:`pacb_models.solvers.options`. ``details`` has ``function_evaluations`` and
    ``gradient_evaluations``.
    """

    needs = ("problem.gradient",)
    #: True for a method that moves along the bounds of the simplex.
    needs_finite_slopes = False

    @dataclass(kw_only=True)
    class Options(Iterative):
        max_iterations: int = 100_000

    def unsupported(self, problem: Problem) -> str | None:
        lacking = super().unsupported(problem)
        if lacking is None and self.needs_finite_slopes and is_steep(problem):
            return "it needs slopes that are finite at weight zero, where those of the KL divergence are not"
        return lacking

    def run_with(self, problem: Problem, options: Any) -> Outcome:
        return from_all_starts(problem, options, lambda q: self.minimise(Oracle(problem, options), q, options))

    def minimise(self, oracle: Oracle, start: np.ndarray, options: Any) -> Outcome:
        """Go down from one start."""
        return descend(oracle, self.iterates, start, options)

    def iterates(self, oracle: Oracle, point: Iterate) -> Iterator[Iterate]:
        """Return the points that follow one, each with a bound that is sufficiently below ``oracle.ceiling``."""
        raise NotImplementedError


def descend(
    oracle: Oracle, iterates: Callable[[Oracle, Iterate], Iterator[Iterate]], start: np.ndarray, options: Iterative
) -> Outcome:
    """Iterate until the point is stationary, there is no further one, or a limit is reached."""
    iterations = 0
    # A bound has to be below the largest of so many last ones (Grippo, Lampariello and Lucidi, 1986).
    recent: deque[float] = deque(maxlen=10)
    try:
        first = oracle.iterate(start)
        for iterations, point in enumerate(chain([first], iterates(oracle, first))):
            oracle.trace.add(point.bound)
            if oracle.stationary(point.q, options.tolerance):
                return oracle.outcome("optimal", iterations, point.q)
            if iterations == options.max_iterations:
                return oracle.outcome("iteration_limit", iterations)
            recent.append(point.bound)
            oracle.ceiling = max(recent) + LAST_DIGITS * max(recent)
        return oracle.found_nothing_better(oracle.best_posterior, iterations)
    except TimeUp:
        return oracle.outcome("time_limit", iterations)


def first_step(slopes: np.ndarray) -> float:
    """Return the length that changes the ratio of posterior and prior, or the logarithm of a weight, by at most one."""
    return 1.0 / (float(np.abs(slopes).max()) or 1.0)


def barzilai_borwein(length: float, moved: float, bend: float) -> float:
    r"""Return the next step :math:`\langle\Delta x, \Delta x\rangle / \langle\Delta x, \Delta g\rangle` (Barzilai and
    Borwein, 1988), from the one before (``length``), its squared norm (``moved``) and the inner product (``bend``)."""
    return moved / bend if bend * GROWTH * length > moved else GROWTH * length
