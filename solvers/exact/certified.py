r"""Several certified risks: the smallest bound subject to limits on other bounds of the same posterior.

.. math:: \min_q B_1(q) \quad\text{s.t.}\quad B_s(q) \le x_s, \qquad B_s(q) = F_s(L_s(q), T(q)).

An average on the sample says nothing of the true one; a *bound* on it does. All bounds share the prior and the
divergence, so that they depend on the posterior through their own empirical risk and one common size ``T``.

**Branching on one number.** Where :math:`T(q) = d`, the limits are the rows :math:`L_s(q) \le \lambda_s(d)`. The best
posterior of size at most ``d`` under these rows keeps all limits, and the lines that touch there bound all others
(:mod:`pacb_models.proofs.intervals`). The interval with the lowest vertex is halved: the gap falls with the square of
its width.
"""

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from pacb_models.constraints.posteriors import KEPT
from pacb_models.errors import InputError
from pacb_models.numerics.elementwise import Array
from pacb_models.problem import BoundProblem
from pacb_models.proofs.intervals import Intervals, Limited, check_intervals
from pacb_models.validation import check_positive

from .constrained import ConstrainedFrontier

#: Intervals that are halved, at most.
MOST_INTERVALS = 400
#: By how much less than a level and, relatively, than a size is asked of posteriors, so that they keep the limits.
LESS, SHORTER = 1e-11, 1e-9
#: Coordinates between which a size is looked for, in units of the spread of the risks, in which steps and how exactly.
WEAKEST, STRONGEST, STEP, EXACT = -12.0, 17.0, 2.0, 1e-7


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
        No posterior that keeps the limits has a smaller bound: what the proof proves.
    proof : Intervals
    """

    posterior: Array
    bound: float
    bounds: dict[str, float]
    lower_bound: float
    proof: Intervals = field(repr=False)


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
    search = _Search(problem, Limited(problem, limits), check_positive("tolerance", tolerance))
    proof = search.run()
    if search.posterior is None:
        said = ", ".join(f"{name} at most {most:g}" for name, _, most in search.limited.others)
        raise InputError(f"no posterior was found whose bounds keep the limits: {said}.")
    bounds = {name: other.bound(search.posterior) for name, other, _ in search.limited.others}
    return CertifiedMinimum(search.posterior, search.best, bounds, check_intervals(problem, limits, proof), proof)


class _Cut(NamedTuple):
    """A size, the lines that touch there, and multipliers that prove larger ones to be empty, if they do."""

    size: float
    rows: Array
    beyond: Array | None = None


class _Search:
    def __init__(self, problem: BoundProblem, limited: Limited, tolerance: float) -> None:
        self.problem, self.limited, self.tolerance = problem, limited, tolerance
        self.best = math.inf
        self.posterior: Array | None = None
        self.limits = np.array([row.limit for row in limited.posteriors.rows])
        #: Where the last size was found; the first one is looked for where γ times the spread of the risks is one.
        self.z = -math.log(float(np.ptp(problem.risks)) or 1.0)

    def run(self) -> Intervals:
        """Halve intervals until none can hold a smaller bound."""
        rows, none = np.zeros((0, 3 + self.limits.size)), np.zeros(self.limits.size)
        last = self.limited.largest + 1e-12 * (1.0 + self.limited.largest)
        intervals = [self._interval(_Cut(self.limited.first, rows), _Cut(last, rows, none))]
        for _ in range(MOST_INTERVALS):
            lower, _, a, b = intervals[0]
            middle = 0.5 * (a.size + b.size)
            if lower >= self.best * (1.0 - self.tolerance) or not a.size < middle < b.size:
                break
            cut = self._cut(middle)
            heapq.heapreplace(intervals, self._interval(a, cut))
            # What is beyond a size at which the limits contradict is empty.
            if cut.beyond is None:
                heapq.heappush(intervals, self._interval(cut, b))
        pairs = sorted(((a, b) for _, _, a, b in intervals), key=lambda pair: pair[0].size)
        lines = tuple(np.vstack((a.rows, b.rows)) for a, b in pairs)
        beyond = pairs[-1][1].beyond
        assert beyond is not None
        return Intervals(np.array([b.size for _, b in pairs]), lines, beyond, self.best)

    def _interval(self, a: _Cut, b: _Cut) -> tuple[float, float, _Cut, _Cut]:
        """Return the interval between two sizes behind its lower bound; sizes differ, so that cuts are never
        compared."""
        return self.limited.lowest(a.size, b.size, np.vstack((a.rows, b.rows)), self.best), a.size, a, b

    def _cut(self, size: float) -> _Cut:
        """Return the lines at a size; the best posterior there is tried."""
        limits, own = self.limits.copy(), self.limits.size - len(self.limited.others)
        limits[own:] = np.maximum(self.limited.level(size) - LESS, 0.0)
        posteriors = self.limited.posteriors.with_limits(limits)
        contradiction = posteriors.contradiction()
        beyond = np.zeros(limits.size) if contradiction is None else contradiction / posteriors.scales
        if self.limited.is_last(size, beyond):
            return _Cut(size, np.zeros((0, 3 + limits.size)), beyond)
        prior = None if self.problem.uniform_prior else self.problem.prior
        frontier = ConstrainedFrontier(self.problem.of_classifiers(self.problem.risks, prior, posteriors))
        with np.errstate(all="ignore"):
            self.z = _of_size(frontier, size * (1.0 - SHORTER), self.z)
            self._try(frontier.posterior(self.z))
        rows = frontier.rows(np.array(list(frontier.known)))
        rows = rows[np.isfinite(rows).all(axis=1)]
        # The same lines where the limits of the other risks are one.
        rows[:, 1] += rows[:, 3 + own :] @ (limits[own:] - 1.0)
        return _Cut(size, rows)

    def _try(self, q: Array) -> None:
        own = self.problem.posteriors
        if np.isnan(q).any() or (own is not None and own.violation(q) > KEPT):
            return
        bound = self.problem.bound(q)
        if bound < self.best and all(other.bound(q) <= most for _, other, most in self.limited.others):
            self.best, self.posterior = bound, q


def _of_size(frontier: ConstrainedFrontier, size: float, z: float) -> float:
    """Return the coordinate of the largest size up to a number, looked for from another one on, and not far beyond the
    one where empirical risk and size are exchanged at the bound's own rate; the first one where all sizes are
    larger."""
    problem, unit = frontier.problem, math.log(frontier.spread or 1.0)

    def excess(z: float) -> float:
        # A minimiser that was not found counts as too large.
        return float(np.nan_to_num(problem.divergence_size(frontier.posterior(z)) - size, nan=1e9))

    def pays(z: float) -> bool:
        q = frontier.posterior(z)
        rates = problem.outer_at(problem.empirical_risk(q), problem.divergence_size(q))
        return math.exp(-STEP) * frontier.minimiser(z).gamma * rates.T <= rates.L

    step = STEP if excess(z) < 0.0 else -STEP
    while WEAKEST < z + unit + step < STRONGEST and (step < 0.0 or pays(z)):
        z += step
        if (excess(z) < 0.0) == (step < 0.0):
            brentq(excess, z - step, z, xtol=EXACT)
            break
    return max((z for z in frontier.known if excess(z) <= 0.0), default=min(frontier.known))
