r"""Several certified risks: the smallest bound subject to limits on other bounds of the same posterior.

.. math:: \min_q B_1(q) \quad\text{s.t.}\quad B_s(q) \le x_s, \qquad B_s(q) = F_s(L_s(q), T(q)).

An average on the sample says nothing of the true one; a *bound* on it does. All bounds share the prior and the
divergence, so that they depend on the posterior through their own empirical risk and one common size ``T``.

**Branching on one number.** Where :math:`T(q) = d`, the limit is the row :math:`L_s(q) \le \lambda_s(d)` with
:math:`\lambda_s(d) = \max\{L : F_s(L, d) \le x_s\}`. The best posterior of size at most ``d`` under these rows keeps
all limits. The lines of the set with these rows have multipliers ν of them: for every posterior,

.. math:: T + \gamma L_1 + \textstyle\sum_s \nu_s L_s \ge h + \sum_s \nu_s \lambda_s(d).

``F_s`` is concave, so that :math:`\lambda_s` is convex, and below its chord on an interval :math:`[a, b]` of sizes.
With the chord in place of :math:`L_s` each line bounds :math:`L_1` from below by a linear function of ``T``, and the
concave ``F_1`` is smallest at a vertex. The interval with the lowest one is halved: the gap falls with the square of
its width.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..divergences.frontiers import Lines
from ..errors import InputError
from ..problem import BoundProblem
from ..validation import check_positive
from .frontier import ConstrainedFrontier, vertices
from .kinds import average

#: Intervals that are looked at, at most.
MOST = 400
#: What rounding may do to a level, and by how much less than a level and a size is asked of posteriors.
ROUNDED, SHORT = 1e-11, 1e-9


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
    problem: BoundProblem, limits: Mapping[str, tuple[BoundProblem, float]], tolerance: float = 1e-6
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
        self.limits = [(name, other, most) for name, (other, most) in limits.items()]
        if not limits:
            raise InputError("limits is empty; it must have a name and a pair of a problem and a number.")
        for name, other, _ in self.limits:
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
        # From the smallest size of all posteriors to the largest: a convex function is largest at a corner.
        corner = np.zeros(self.problem.size)
        corner[np.argmin(self.problem.prior)] = 1.0
        ends = [self._look(self.problem.divergence_size(q)) for q in (self.problem.prior, corner)]
        order, branches = count(), list[tuple[float, int, _Lines, _Lines]]()
        self._push(branches, order, *ends)
        looked_at, lower = 0, math.inf
        while branches:
            lower, _, a, b = heapq.heappop(branches)
            looked_at += 1
            if lower >= self.best * (1.0 - self.tolerance) or looked_at > MOST:
                break
            middle = self._look(0.5 * (a.size + b.size))
            self._push(branches, order, a, middle)
            self._push(branches, order, middle, b)
            lower = math.inf
        if self.best == math.inf:
            said = ", ".join(f"{name} at most {most:g}" for name, _, most in self.limits)
            raise InputError(f"no posterior was found whose bounds keep the limits: {said}.")
        bounds = {name: other.bound(self.posterior) for name, other, _ in self.limits}
        # Branches that were left out could hold no more than the tolerance.
        return CertifiedMinimum(self.posterior, self.best, bounds, min(lower, self.best * (1.0 - self.tolerance)))

    def _look(self, size: float) -> _Lines:
        """The lines at a size; its best posterior is tried."""
        levels = np.array([_level(other, most, size) for _, other, most in self.limits])
        rows = [
            average(other.risks, at_most=max(level - ROUNDED, 0.0), name=f"certified {name}")
            for (name, other, _), level in zip(self.limits, levels.tolist(), strict=True)
        ]
        try:
            if levels.min() < 0.0:
                raise InputError("not even risk zero is allowed")
            problem = self.problem.replace(constraints=[*self.problem.constraints, *rows])
        except InputError:
            return _Lines(size, np.maximum(levels, 0.0), None)
        assert problem.posteriors is not None
        frontier = ConstrainedFrontier(problem, np.zeros(len(problem.posteriors.rows)))
        last, proof = frontier.walk()
        self._try(frontier.posterior(_at_size(frontier, size, last)))
        limits, units = [row.limit for row in problem.posteriors.rows[-len(rows) :]], problem.posteriors.scales
        nu = (proof / units)[-len(rows) :]
        table = [[0.0, frontier.smallest + problem.posteriors.lowest(frontier.y, proof) + float(nu @ limits), *nu]]
        for z, (_, tilt) in frontier.known.items():
            line = frontier.line(z)
            if line.slope > 0.0:
                nu = (tilt.multipliers / units)[-len(rows) :] / tilt.beta
                table.append([1.0 / line.slope, line.height / line.slope + frontier.least + float(nu @ limits), *nu])
        return _Lines(size, levels, np.array(table))

    def _push(self, branches: list[tuple[float, int, _Lines, _Lines]], order: count[int], a: _Lines, b: _Lines) -> None:
        """Bound an interval of sizes from below, and keep it if it may hold a smaller bound."""
        if a.table is None:
            # Nor do larger sizes leave anything.
            return
        table = a.table if b.table is None else np.vstack((a.table, b.table))
        width = max(b.size - a.size, np.finfo(float).tiny)
        slope, height, nu = table[:, 0], table[:, 1], table[:, 2:]
        heights, slopes = height - nu @ a.levels - slope * a.size, slope - nu @ ((a.levels - b.levels) / width)
        lines = [Lines(0.0, 0.0, *each) for each in zip(slopes.tolist(), heights.tolist(), strict=True)]
        wider, risks = vertices([Lines(0.0, 0.0, 0.0, 0.0), *lines], width)
        lower = float(np.min(self.problem.bound_at(np.clip(risks, 0.0, 1.0), a.size + wider)))
        if lower < self.best * (1.0 - self.tolerance):
            heapq.heappush(branches, (lower, next(order), a, b))

    def _try(self, q: NDArray[np.float64]) -> None:
        posteriors, bound = self.problem.posteriors, self.problem.bound(q)
        kept = posteriors is None or posteriors.violation(q) <= 1e-12
        if kept and bound < self.best and all(other.bound(q) <= most for _, other, most in self.limits):
            self.best, self.posterior = bound, q


class _Lines(NamedTuple):
    """What is known of posteriors at a size, with the levels of their other risks there."""

    size: float
    levels: NDArray[np.float64]
    #: A row for each line: 1/γ, height over γ with the levels, and ν/γ; None where no posterior keeps the levels.
    table: NDArray[np.float64] | None


def _at_size(frontier: ConstrainedFrontier, size: float, high: float) -> float:
    """The coordinate at which the frontier's size is a number, or a little below; its end where that is larger."""
    from scipy.optimize import brentq

    def excess(z: float) -> float:
        return float(frontier.line(z).T) - size * (1.0 - SHORT)

    low = -12.0
    if excess(low) >= 0.0 or excess(high) <= 0.0:
        return low if excess(low) >= 0.0 else high
    return float(brentq(excess, low, high, xtol=0.1 * SHORT))


def _level(other: BoundProblem, most: float, size: float) -> float:
    """The largest risk that another bound allows at a size, rounded up; negative where not even zero is allowed."""
    from scipy.optimize import brentq

    def excess(risk: float) -> float:
        return float(other.bound_at(risk, size)) - most

    if excess(0.0) > 0.0 or excess(1.0) <= 0.0:
        return -1.0 if excess(0.0) > 0.0 else 1.0
    return min(float(brentq(excess, 0.0, 1.0, xtol=0.1 * ROUNDED)) + 0.2 * ROUNDED, 1.0)
