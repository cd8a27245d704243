r"""The paper's Algorithm 1: the best posterior on each ordered support, and the best of those supports.

For ``H' = 1, 2, …`` the paper takes the ``H'`` smallest risks, finds the stationary posterior on them *without*
asking for positive weights, stops at the first ``H'`` where a weight is negative (or the posterior does not exist),
and returns the best of the posteriors before. With the linear distance the posterior has a closed form,

.. math:: q_i = p_i\,\Big[\frac1P + \frac{\bar l - l_i}{\sqrt{P(c^2 - V)}}\Big], \qquad
          B^*(H') = \bar l + \sqrt{\frac{c^2 - V}{P}}, \qquad c^2 = I/\delta,

for squared and kl it is the limit of the fixed-point equations. They depend on the posterior only through its
slope, so all supports are iterated at once on prefix sums, a few array operations per sweep.

Mended: the closed form has the factor 1/H' (the paper prints 1/H, with which the weights do not sum to one); after
a break the weights are computed anew for ``H' - 1`` (the paper's Algorithm 2 keeps mean and root of the support
that failed); "DeltaBnd < 0" is asked of the radicand, since a root is never negative. The formulas hold for any
prior; that among all supports *of one size* the ordered one is best holds for the uniform prior only. The early break
is not safe for squared and kl: supports that fail may lie between two that do not.
"""

import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pacb_models.distances.checks import elementwise
from pacb_models.divergences.ordered_supports import OrderedSupports
from pacb_models.errors import InputError
from pacb_models.merging import Merged
from pacb_models.numerics.elementwise import Numbers
from pacb_models.numerics.rounding import EPSILON
from pacb_models.problem import BoundProblem, Problem
from pacb_models.solution import Outcome

from ..exact.convex import is_linear, proof_of_convex
from ..options import DeclaredSolver
from ..options import Options as CommonOptions


class SubsetSearchSolver(DeclaredSolver):
    r"""Search the ordered supports for the best stationary posterior, as the paper's Algorithm 1 does.

    To reproduce the paper, and for its figure of :math:`B^*(H')`. With the linear distance, which makes the bound
    convex, the result is the global minimum; for squared and kl it depends on the early break (``frontier`` is
    always right, and faster).

    Options
    -------
    early_break : bool
        Stop at the first infeasible support, as the paper does (default); False visits all supports.
    warm_start : bool
        Linear distance only: begin near the support where the two components of :math:`B^*(H')` cross,
        :math:`\sum_{i \le H'} p_i l_i^2 = c^2`, and walk from there, instead of beginning at ``H' = 1``.
    tolerance : float
        Largest relative change of the slope in a sweep for a support to count as settled.
    max_iterations : int
        Limit on the sweeps over all supports (squared and kl).
    time_limit : float, optional
        Seconds of wall-clock time.

    ``details`` holds arrays over the supports, whose sizes ``H' = 1, …, H`` are in ``sizes``: ``bounds`` with
    :math:`B^*(H')`, ``components`` with its two terms (mean risk and root for the linear distance, as in the paper's
    figure; empirical risk and remainder for the others), NaN where a support is infeasible or was not visited;
    ``feasible``, ``visited``; and the sizes ``best_size``, ``broke_at`` (None without a break) and ``warm_start_size``.

    Every ``H'`` is visited, as in the paper, also those whose support parts classifiers of equal risk. No minimum has
    such a support, but the early break may happen there. With ``merge=True`` these are left out of ``sizes``.
    """

    name = "subset-search"
    needs = ("problem.classify", "divergence.supports")

    @dataclass(kw_only=True)
    class Options(CommonOptions):
        early_break: bool = True
        warm_start: bool = False
        tolerance: float = 1e-12
        max_iterations: int = 1000

    def merges(self, problem: Problem, options: dict[str, Any]) -> bool:
        return False

    def expand_details(self, details: dict[str, Any], merged: Merged[Any]) -> dict[str, Any]:
        sizes = merged.support_sizes
        named = {name: details[name] for name in ("best_size", "broke_at", "warm_start_size")}
        named = {name: None if size is None else int(sizes[size - 1]) for name, size in named.items()}
        return {**details, **named, "sizes": sizes}

    def run_with(self, problem: BoundProblem, options: Options) -> Outcome:
        linear, supports = is_linear(problem), problem.divergence_function.supports(problem.risks, problem.prior)
        if options.warm_start and not linear:
            raise InputError("warm_start", options.warm_start, "it exists for the linear distance only")
        search = (_closed_form if linear else _sweep)(problem, supports, options)
        sizes = np.flatnonzero(search.feasible) + 1
        bounds, first, second = np.full((3, supports.size), np.nan)
        L, X = supports.point(sizes, search.slopes[sizes - 1])
        bounds[sizes - 1] = bounds_at(problem, L, X)
        # The paper's figure splits the linear bound into mean risk and root; the others have no such closed form.
        first[sizes - 1] = supports.least + supports.mean[sizes - 1] if linear else L
        second[sizes - 1] = bounds[sizes - 1] - first[sizes - 1]
        best = int(np.nanargmin(bounds)) + 1
        status = "optimal"
        message = f"{search.unsettled} supports did not settle; raise max_iterations." if search.unsettled else ""
        if time.monotonic() >= options.deadline:
            status, message = "time_limit", "the time limit was reached."
        weights = supports.weights(best, search.slopes[best - 1])
        found = {"sizes": np.arange(1, supports.size + 1), "bounds": bounds, "components": (first, second)}
        details = found | {"best_size": best} | {name: getattr(search, name) for name in TOLD}
        proof = proof_of_convex(problem, weights)
        return Outcome(weights, status, message, search.iterations, proof=proof, details=details)


class _Search(NamedTuple):
    """What is known of the supports after a search."""

    #: Slope of the stationary posterior on each support; meaningless where infeasible.
    slopes: np.ndarray
    feasible: np.ndarray
    visited: np.ndarray
    broke_at: int | None
    iterations: int
    #: Number of supports whose fixed point was neither reached nor ruled out.
    unsettled: int = 0
    warm_start_size: int | None = None


#: What ``details`` has of a search.
TOLD = ("feasible", "visited", "broke_at", "warm_start_size")


def stationary_slope(problem: BoundProblem, L: Numbers, X: Numbers) -> Numbers:
    r"""Return the slope :math:`t = F_L/(2F_X)` that the paper's equations read off the current posterior; vectorised.

    * linear: :math:`\sqrt{X}/c`, :math:`c = \sqrt{I/\delta}`;
    * squared: :math:`2 X^{3/4}/\sqrt{c}`;
    * kl: :math:`d\sqrt{X}/c` with ``d`` the logit gap between the bound and ``L``.
    """
    size = X**0.5
    budget = problem.budget_at(size)
    return elementwise(problem.distance_function).rate(L, budget.value) * size / budget.slope


def bounds_at(problem: BoundProblem, L: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return the bound for arrays of empirical risks and statistics."""
    budget = problem.budget_at(np.sqrt(X))
    return np.asarray(elementwise(problem.distance_function).invert(np.minimum(L, 1.0), budget.value))


def _until_failure(failed: np.ndarray, early_break: bool) -> tuple[np.ndarray, int | None]:
    """Return the supports up to the first that failed, and its size; all of them without an early break."""
    broke_at = int(np.argmax(failed)) + 1 if early_break and failed.any() else None
    return np.arange(failed.size) < (broke_at or failed.size), broke_at


def _closed_form(problem: BoundProblem, supports: OrderedSupports, options: SubsetSearchSolver.Options) -> _Search:
    """Find the weights for the linear distance: those of a support exist where the radicand is positive."""
    # The square of the number ``c`` of a bound that is a multiple of L + c √X, but for a constant.
    square = (problem.coefficient / problem.distance_function.rate(0.5, 1.0)) ** 2
    defined = square > supports.V
    slopes = 1.0 / np.sqrt(supports.P * np.where(defined, square - supports.V, 1.0))
    feasible = defined & (slopes * supports.G <= 1.0)
    if not options.warm_start:
        visited, broke_at = _until_failure(~feasible, options.early_break)
        return _Search(slopes, feasible & visited, visited, broke_at, int(visited.sum()))
    # From the crossing of the components: down while infeasible, then up while the next is feasible and better.
    sizes = np.arange(1, supports.size + 1)
    bounds = bounds_at(problem, *supports.point(sizes, slopes))
    squares = np.cumsum(supports.prior * (supports.least + supports.excess) ** 2)
    begin = max(int(np.searchsorted(squares, square, side="right")), 1)
    low = begin - int(np.argmax(feasible[begin - 1 :: -1]))
    ends = ~feasible[low:] | (bounds[low:] > bounds[low - 1 : -1])
    high = low + 1 + int(np.argmax(ends)) if ends.any() else supports.size
    visited = (low <= sizes) & (sizes <= max(high, begin))
    broke_at = None if feasible[high - 1] else high
    return _Search(slopes, feasible & visited, visited, broke_at, int(visited.sum()), warm_start_size=begin)


def _sweep(problem: BoundProblem, supports: OrderedSupports, options: SubsetSearchSolver.Options) -> _Search:
    """Iterate the fixed-point equation on all supports at once, each from the prior restricted to it. The slope rises
    from zero towards the smallest fixed point, which is the support's only minimum. A support is infeasible when the
    slope passes the break point 1/G, where a weight turns negative, and the map does not fall below its argument
    before."""

    def mapped(places: np.ndarray, t: np.ndarray) -> np.ndarray:
        L, X = supports.point(places + 1, t)
        slope = np.asarray(stationary_slope(problem, L, X))
        if problem.distance_function.additive:
            return slope
        # The kl equation normalises by Z, a longer step to the same fixed point; where that leaves the support or Z is
        # not positive, the shorter one takes its place.
        Z = supports.P[places] * (1.0 - slope / X * t * supports.V[places])
        normalised = np.divide(slope / X, Z, out=np.full_like(slope, np.inf), where=Z > 0.0)
        return np.where(normalised <= limits[places], normalised, slope)

    size, later = supports.size, np.arange(supports.ties, supports.size)
    # Where the last weight of each support vanishes; risks within 1e-150 of each other count as equal.
    limits = 1.0 / np.maximum(supports.G, 1e-150)
    # An interval that holds a fixed point: the map is above its argument at ``low`` and below it at ``high``.
    low, high = np.zeros(size), np.full(size, np.inf)
    high[later] = np.where(mapped(later, limits[later]) <= limits[later], limits[later], np.inf)
    slopes, last_slopes, last_steps = np.zeros(size), np.zeros(size), np.full(size, np.inf)
    settled, failed = np.arange(size) < supports.ties, np.zeros(size, dtype=bool)
    active, sweeps = later, 0
    while active.size and sweeps < options.max_iterations and time.monotonic() < options.deadline:
        sweeps += 1
        t = slopes[active]
        step = mapped(active, t) - t
        low[active] = np.where(step > 0.0, t, low[active])
        high[active] = np.where(step < 0.0, t, high[active])
        done = (np.abs(step) <= options.tolerance * t) | (high[active] <= (1.0 + 4.0 * EPSILON) * low[active])
        lost = ~done & (t + step > limits[active]) & np.isinf(high[active])
        ahead = _extrapolate(t, step, last_slopes[active], last_steps[active])
        last_slopes[active], last_steps[active] = t, step
        ends, plain = (low[active], np.minimum(high, limits)[active]), t + step
        # The extrapolated slope where that lies between the ends, or the plain one, else the middle.
        chosen = np.where((ends[0] < plain) & (plain < ends[1]), plain, 0.5 * (ends[0] + ends[1]))
        chosen = np.where((ends[0] < ahead) & (ahead < ends[1]), ahead, chosen)
        slopes[active] = np.where(done, t, chosen)
        settled[active[done]], failed[active[lost]] = True, True
        active = active[~(done | lost)]
        if options.early_break and failed.any():
            active = active[active < np.argmax(failed)]
    visited, broke_at = _until_failure(failed, options.early_break)
    return _Search(slopes, settled & visited, visited, broke_at, sweeps, active.size)


def _extrapolate(t: np.ndarray, step: np.ndarray, last_t: np.ndarray, last_step: np.ndarray) -> np.ndarray:
    """Return where the line through the last two steps vanishes, for supports whose steps shrink slowly, else NaN."""
    with np.errstate(divide="ignore", invalid="ignore"):
        bend = (last_step - step) / (t - last_t)
        reach = np.minimum(np.abs(step / bend), 100.0 * np.abs(step))
    slow = (np.abs(step) > 0.9 * np.abs(last_step)) & (bend > 0.0)
    return np.where(slow, t + np.copysign(reach, step), np.nan)


SOLVER = SubsetSearchSolver()
