r"""Several certified risks: the smallest bound subject to limits on other bounds of the same posterior.

.. math:: \min_q B_1(q) \quad\text{s.t.}\quad B_s(q) \le x_s, \qquad B_s(q) = F_s(L_s(q), T(q)).

An average on the sample says nothing of the true one; a *bound* on it does. All bounds share the prior and the
divergence, so that they depend on the posterior through their own empirical risk and one common size ``T``.

**Branching on one number.** Where :math:`T(q) = d`, the limit is the row :math:`L_s(q) \le \lambda_s(d)` with
:math:`\lambda_s(d) = \max\{L : F_s(L, d) \le x_s\}`, which decreases in ``d``. On an interval :math:`[a, b]` of sizes
every such posterior keeps the rows with :math:`\lambda_s(a)`, and the supporting lines of that set bound the risk
:math:`L_1` from below for sizes of at most ``b``. So :math:`F_1(\min L_1, a)` is a lower bound on the interval. The
interval with the lowest one is halved.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..problem import BoundProblem
from ..validation import check_positive
from .frontier import ConstrainedFrontier
from .kinds import average

#: Intervals that are looked at, at most.
MOST = 400
#: By how much less than a size, relatively, is looked for, so that rounding does not lead above it.
SHORT = 1e-9


@dataclass(frozen=True, eq=False)
class CertifiedMinimum:
    """The smallest bound under limits on other bounds.

    Attributes
    ----------
    posterior : array of shape (H,)
    bound : float
        The bound that was minimised. With the other bounds it holds with probability at least one minus the sum of all
        ``delta``.
    bounds : dict
        The other bounds by name, each at most its limit.
    lower_bound : float
        No posterior that keeps the limits has a smaller bound.
    """

    posterior: NDArray[np.float64]
    bound: float
    bounds: dict[str, float]
    lower_bound: float


def minimise_certified(
    problem: BoundProblem, limits: Mapping[str, tuple[BoundProblem, float]], tolerance: float = 1e-3
) -> CertifiedMinimum:
    """Minimise a bound subject to limits on other bounds of the same posterior.

    Parameters
    ----------
    problem : BoundProblem
        Whose bound is minimised; averages, caps and floors among its constraints are kept.
    limits : dict
        By name: another problem of the same classifiers, for instance their false negative rates on the positive
        examples, and the largest value that its bound may have. Prior and divergence are those of ``problem``.
    tolerance : float
        How far apart bound and lower bound may be at the end, relative to the bound.

    Examples
    --------
    >>> import pacb_models as pm
    >>> errors = pm.BoundProblem([0.10, 0.12, 0.20], m=1000, delta=0.025)
    >>> misses = pm.BoundProblem([0.20, 0.12, 0.05], m=400, delta=0.025)
    >>> free, kept = pm.solve(errors), pm.minimise_certified(errors, {"misses": (misses, 0.2)})
    >>> bool(misses.bound(free.posterior) > 0.2 >= kept.bounds["misses"])
    True
    """
    check_positive("tolerance", tolerance)
    return _Branches(problem, limits, tolerance).outcome()


class _Branches:
    def __init__(
        self, problem: BoundProblem, limits: Mapping[str, tuple[BoundProblem, float]], tolerance: float
    ) -> None:
        self.problem, self.tolerance = problem, tolerance
        self.names = list(limits)
        self.others, self.most = [other for other, _ in limits.values()], [most for _, most in limits.values()]
        if not limits:
            raise InputError("limits is empty; it must have a name and a pair of a problem and a number.")
        for name, other in zip(self.names, self.others, strict=True):
            same = isinstance(other, BoundProblem) and other.size == problem.size
            if not same or not np.array_equal(other.prior, problem.prior):
                raise InputError(f"limits[{name!r}] has other classifiers or another prior than the problem.")
            mine, theirs = problem.divergence_function, other.divergence_function
            if type(mine) is not type(theirs) or mine.order != theirs.order:
                raise InputError(f"limits[{name!r}] has another divergence than the problem; all must have the same.")
        if problem.posteriors is not None and problem.posteriors.support is not None:
            raise InputError("minimise_certified does not honour limits on the support.")
        self.best, self.posterior = math.inf, problem.prior

    def outcome(self) -> CertifiedMinimum:
        smallest, largest = self._sizes()
        order, branches = count(), list[tuple[float, int, float, float]]()
        self._push(branches, order, smallest, largest)
        looked_at, lower = 0, math.inf
        while branches:
            lower, _, a, b = heapq.heappop(branches)
            looked_at += 1
            if lower >= self.best * (1.0 - self.tolerance) or looked_at > MOST:
                break
            middle = 0.5 * (a + b)
            self._push(branches, order, a, middle)
            self._push(branches, order, middle, b)
            lower = math.inf
        if self.best == math.inf:
            said = ", ".join(f"{name} at most {x:g}" for name, x in zip(self.names, self.most, strict=True))
            raise InputError(f"no posterior was found whose bounds keep the limits: {said}.")
        bounds = {name: other.bound(self.posterior) for name, other in zip(self.names, self.others, strict=True)}
        # Branches that were left out could hold no more than the tolerance.
        return CertifiedMinimum(self.posterior, self.best, bounds, min(lower, self.best * (1.0 - self.tolerance)))

    def _sizes(self) -> tuple[float, float]:
        """The smallest size of all posteriors, and the largest: a convex function is largest at a corner."""
        prior = self.problem.prior
        corner = np.zeros(prior.size)
        corner[np.argmin(prior)] = 1.0
        return self.problem.divergence_size(prior), self.problem.divergence_size(corner)

    def _frontier(self, levels: Sequence[float]) -> ConstrainedFrontier | None:
        """The frontier of the posteriors whose other risks are at most some levels; None when there are none."""
        rows = [
            average(other.risks, at_most=level, name=f"certified {name}")
            for name, other, level in zip(self.names, self.others, levels, strict=True)
        ]
        try:
            problem = self.problem.replace(constraints=[*self.problem.constraints, *rows])
            return ConstrainedFrontier(problem, np.zeros(len(problem.posteriors.rows) if problem.posteriors else 0))
        except InputError:
            return None

    def _levels(self, size: float) -> list[float] | None:
        """The largest risks that other bounds allow at a size, rounded up; None where not even zero is allowed."""
        levels = []
        for other, most in zip(self.others, self.most, strict=True):
            low, high = 0.0, 1.0
            if float(other.bound_at(0.0, size)) > most:
                return None
            for _ in range(60):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if float(other.bound_at(middle, size)) <= most else (low, middle)
            levels.append(high)
        return levels

    def _push(self, branches: list[tuple[float, int, float, float]], order: count[int], a: float, b: float) -> None:
        levels = self._levels(a)
        frontier = None if levels is None else self._frontier(levels)
        if frontier is None or frontier.first().T > b:
            return
        z = _at_size(frontier, b)
        # Every line that was looked at bounds the risk at sizes of at most b.
        lines = [line for line in map(frontier.line, frontier.known) if line.slope > 0.0]
        x = max(max(((line.height - b) / line.slope for line in lines), default=0.0), 0.0)
        lower = float(self.problem.bound_at(min(max(frontier.least + x, 0.0), 1.0), a))
        self._try(frontier.posterior(z))
        tight = self._levels(b)
        inner = None if tight is None else self._frontier([max(level - 1e-12, 0.0) for level in tight])
        if inner is not None and inner.first().T <= b:
            self._try(inner.posterior(_at_size(inner, b)))
        if lower < self.best * (1.0 - self.tolerance):
            heapq.heappush(branches, (lower, next(order), a, b))

    def _try(self, q: NDArray[np.float64]) -> None:
        if all(other.bound(q) <= most for other, most in zip(self.others, self.most, strict=True)):
            posteriors = self.problem.posteriors
            if posteriors is None or posteriors.violation(q) <= 1e-12:
                bound = self.problem.bound(q)
                if bound < self.best:
                    self.best, self.posterior = bound, q


def _at_size(frontier: ConstrainedFrontier, size: float) -> float:
    """The coordinate at which the frontier's size is a number, or a little below; its end where that is larger."""
    from scipy.optimize import brentq

    def excess(z: float) -> float:
        return float(frontier.line(z).T) - size * (1.0 - SHORT)

    low, high = -12.0, frontier.last
    if excess(high) <= 0.0 or excess(low) >= 0.0:
        return high if excess(high) <= 0.0 else low
    return float(brentq(excess, low, high, xtol=0.1 * SHORT))
