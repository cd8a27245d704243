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
prior, and so does the restriction to ordered supports; that among all supports *of one size* the ordered one is
best holds for the uniform prior only.

The early break is not safe for squared and kl: supports that fail may lie between two that do not.
``early_break=False`` visits all.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from pacb_models.distances.checks import elementwise
from pacb_models.divergences.ordered_supports import OrderedSupports
from pacb_models.errors import InputError
from pacb_models.merging import Merged
from pacb_models.numerics.elementwise import Numbers
from pacb_models.numerics.rounding import EPSILON
from pacb_models.problem import BoundProblem, Problem
from pacb_models.solution import Outcome
from pacb_models.validation import check_count, check_positive

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

    Sizes are numbers of classifiers, and every ``H'`` is visited, as in the paper, also those whose support parts
    classifiers of equal risk. No minimum has such a support, but the early break may happen there. With ``merge=True``
    these are left out, and ``sizes`` lists the others.
    """

    name = "subset-search"
    needs = ("problem.classify", "divergence.supports")

    def merges(self, problem: Problem, options: dict[str, Any]) -> bool:
        return False

    def expand_details(self, details: dict[str, Any], merged: Merged[Any]) -> dict[str, Any]:
        sizes = merged.support_sizes
        named = {name: details[name] for name in ("best_size", "broke_at", "warm_start_size")}
        named = {name: None if size is None else int(sizes[size - 1]) for name, size in named.items()}
        return {**details, **named, "sizes": sizes}

    @dataclass(kw_only=True)
    class Options(CommonOptions):
        early_break: bool = True
        warm_start: bool = False
        tolerance: float = 1e-12
        max_iterations: int = 1000

        def checked(self, problem: Problem) -> Self:
            check_positive("tolerance", self.tolerance)
            check_count("max_iterations", self.max_iterations)
            return super().checked(problem)

    def run_with(self, problem: BoundProblem, options: Options) -> Outcome:
        supports = problem.divergence_function.supports(problem.risks, problem.prior)
        if is_linear(problem):
            search = (
                _warm_walk(problem, supports)
                if options.warm_start
                else _full_walk(problem, supports, options.early_break)
            )
        elif options.warm_start:
            raise InputError("warm_start", options.warm_start, "it exists for the linear distance only")
        else:
            search = _sweep(problem, supports, options.early_break, options)
        outcome = _outcome(problem, supports, search)
        if time.monotonic() >= options.deadline:
            outcome.status, outcome.message = "time_limit", "the time limit was reached."
        return outcome


class _Search(NamedTuple):
    """What is known of the supports after a search."""

    #: Slope of the stationary posterior on each support; meaningless where infeasible.
    slopes: np.ndarray
    feasible: np.ndarray
    visited: np.ndarray
    #: Number of supports whose fixed point was neither reached nor ruled out.
    unsettled: int
    broke_at: int | None
    iterations: int
    warm_start_size: int | None = None


def _coefficient(problem: BoundProblem) -> float:
    r"""The number ``c`` of a bound that is a multiple of :math:`L + c\sqrt X`, but for a constant."""
    return problem.coefficient / problem.distance_function.rate(0.5, 1.0)


def stationary_slope(problem: BoundProblem, L: Numbers, X: Numbers) -> Numbers:
    r"""The slope :math:`t = F_L/(2F_X)` that the paper's equations read off the current posterior; vectorised.

    * linear: :math:`\sqrt{X}/c`, :math:`c = \sqrt{I/\delta}`;
    * squared: :math:`2 X^{3/4}/\sqrt{c}`;
    * kl: :math:`d\sqrt{X}/c` with ``d`` the logit gap between the bound and ``L``.
    """
    size = X**0.5
    budget = problem.budget_at(size)
    return elementwise(problem.distance_function).rate(L, budget.value) * size / budget.slope


def bounds_at(problem: BoundProblem, L: np.ndarray, X: np.ndarray) -> np.ndarray:
    """The bound for arrays of empirical risks and statistics."""
    budget = problem.budget_at(np.sqrt(X))
    return np.asarray(elementwise(problem.distance_function).invert(np.minimum(L, 1.0), budget.value))


def _closed_form(problem: BoundProblem, supports: OrderedSupports) -> tuple[np.ndarray, np.ndarray]:
    """Slopes of the linear distance on all supports, and where the weights exist and are not negative."""
    radicand = _coefficient(problem) ** 2 - supports.V
    defined = radicand > 0.0
    slopes = 1.0 / np.sqrt(supports.P * np.where(defined, radicand, 1.0))
    return slopes, defined & (slopes * supports.G <= 1.0)


def _full_walk(problem: BoundProblem, supports: OrderedSupports, early_break: bool) -> _Search:
    slopes, feasible = _closed_form(problem, supports)
    visited, broke_at = _until_failure(~feasible, early_break)
    return _Search(slopes, feasible & visited, visited, 0, broke_at, int(visited.sum()))


def _warm_walk(problem: BoundProblem, supports: OrderedSupports) -> _Search:
    """From the crossing of the components: down while infeasible, then up while the next support is feasible and
    better.
    """
    slopes, feasible = _closed_form(problem, supports)
    bounds = bounds_at(problem, *supports.point(np.arange(1, supports.size + 1), slopes))
    risks = supports.least + supports.excess
    crossing = np.searchsorted(np.cumsum(supports.prior * risks**2), _coefficient(problem) ** 2, side="right")
    begin = k = max(int(crossing), 1)
    visited = np.zeros(supports.size, dtype=bool)
    visited[k - 1] = True
    while not feasible[k - 1]:
        k -= 1
        visited[k - 1] = True
    broke_at = None
    while k < supports.size:
        visited[k] = True
        if not feasible[k]:
            broke_at = k + 1
            break
        if bounds[k] > bounds[k - 1]:
            break
        k += 1
    return _Search(slopes, feasible & visited, visited, 0, broke_at, int(visited.sum()), begin)


def _until_failure(failed: np.ndarray, early_break: bool) -> tuple[np.ndarray, int | None]:
    """The supports up to the first that failed, and its size; all of them without an early break."""
    broke_at = int(np.argmax(failed)) + 1 if early_break and failed.any() else None
    return np.arange(failed.size) < (broke_at or failed.size), broke_at


def _sweep(
    problem: BoundProblem, supports: OrderedSupports, early_break: bool, options: SubsetSearchSolver.Options
) -> _Search:
    """Iterate the fixed-point equation on all supports at once, each from the prior restricted to it.

    The slope rises from zero towards the smallest fixed point, which is the support's only minimum. A support is
    infeasible when the slope passes the break point 1/G, where a weight turns negative, and the map does not fall
    below its argument before.
    """
    size = supports.size
    # Where the last weight of each support vanishes; risks within 1e-150 of each other count as equal.
    limits = 1.0 / np.maximum(supports.G, 1e-150)
    # An interval that holds a fixed point: the map is above its argument at ``low`` and below it at ``high``.
    low, high = np.zeros(size), np.where(_crosses_before(problem, supports, limits), limits, np.inf)
    slopes, last_slopes, last_steps = np.zeros(size), np.zeros(size), np.full(size, np.inf)
    settled, failed = np.arange(size) < supports.ties, np.zeros(size, dtype=bool)
    active = np.flatnonzero(~settled)
    sweeps = 0
    while active.size and sweeps < options.max_iterations and time.monotonic() < options.deadline:
        sweeps += 1
        t = slopes[active]
        step = _paper_step(problem, supports, active + 1, t, limits[active])
        low[active] = np.where(step > 0.0, t, low[active])
        high[active] = np.where(step < 0.0, t, high[active])
        done = (np.abs(step) <= options.tolerance * t) | (high[active] <= (1.0 + 4.0 * EPSILON) * low[active])
        lost = ~done & (t + step > limits[active]) & np.isinf(high[active])
        ahead = _extrapolate(t, step, last_slopes[active], last_steps[active])
        last_slopes[active], last_steps[active] = t, step
        slopes[active] = np.where(done, t, _within(t + step, ahead, low[active], np.minimum(high, limits)[active]))
        settled[active[done]], failed[active[lost]] = True, True
        active = active[~(done | lost)]
        if early_break and failed.any():
            active = active[active < np.argmax(failed)]
    visited, broke_at = _until_failure(failed, early_break)
    return _Search(slopes, settled & visited, visited, active.size, broke_at, sweeps)


def _crosses_before(problem: BoundProblem, supports: OrderedSupports, limits: np.ndarray) -> np.ndarray:
    """Where the map is below its argument at the break point, so that there is a fixed point before."""
    crosses = np.zeros(supports.size, dtype=bool)
    later = np.arange(supports.ties, supports.size)
    crosses[later] = stationary_slope(problem, *supports.point(later + 1, limits[later])) <= limits[later]
    return crosses


def _paper_step(
    problem: BoundProblem, supports: OrderedSupports, sizes: np.ndarray, t: np.ndarray, limits: np.ndarray
) -> np.ndarray:
    r"""How far the paper's equation moves the slope on each support.

    The squared equation puts :math:`t = F_L/(2F_X)`; the kl equation normalises by ``Z``, which puts
    :math:`\kappa/(P(1 - \kappa t V))` with :math:`\kappa = F_L/(2F_X X)`, a longer step to the same fixed point.
    Where that leaves the support or ``Z`` is not positive, the shorter step takes its place.
    """
    L, X = supports.point(sizes, t)
    slope = stationary_slope(problem, L, X)
    if not problem.distance_function.additive:
        kappa = slope / X
        Z = supports.P[sizes - 1] * (1.0 - kappa * t * supports.V[sizes - 1])
        normalised = np.divide(kappa, Z, out=np.full_like(kappa, np.inf), where=Z > 0.0)
        slope = np.where(normalised <= limits, normalised, slope)
    return slope - t


def _extrapolate(t: np.ndarray, step: np.ndarray, last_t: np.ndarray, last_step: np.ndarray) -> np.ndarray:
    """Where the line through the last two steps vanishes, for supports whose steps shrink slowly; NaN for the
    others.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        bend = (last_step - step) / (t - last_t)
        reach = np.minimum(np.abs(step / bend), 100.0 * np.abs(step))
    slow = (np.abs(step) > 0.9 * np.abs(last_step)) & (bend > 0.0)
    return np.where(slow, t + np.copysign(reach, step), np.nan)


def _within(plain: np.ndarray, ahead: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The extrapolated slope if it lies between ``low`` and ``high``, else the plain one if that does, else the
    middle.
    """
    inside = (low < plain) & (plain < high)
    chosen = np.where(inside, plain, 0.5 * (low + high))
    return np.where((low < ahead) & (ahead < high), ahead, chosen)


def _outcome(problem: BoundProblem, supports: OrderedSupports, search: _Search) -> Outcome:
    sizes = np.flatnonzero(search.feasible) + 1
    bounds, first, second = (np.full(supports.size, np.nan) for _ in range(3))
    L, X = supports.point(sizes, search.slopes[sizes - 1])
    bounds[sizes - 1] = bounds_at(problem, L, X)
    # The paper's figure splits the linear bound into mean risk and root; the others have no such closed form.
    first[sizes - 1] = supports.least + supports.mean[sizes - 1] if is_linear(problem) else L
    second[sizes - 1] = bounds[sizes - 1] - first[sizes - 1]
    best = int(np.nanargmin(bounds)) + 1
    message = f"{search.unsettled} supports did not settle; raise max_iterations." if search.unsettled else ""
    weights = supports.weights(best, search.slopes[best - 1])
    return Outcome(
        posterior=weights,
        status="optimal",
        message=message,
        iterations=search.iterations,
        proof=proof_of_convex(problem, weights),
        details={
            "sizes": np.arange(1, supports.size + 1),
            "bounds": bounds,
            "components": (first, second),
            "feasible": search.feasible,
            "visited": search.visited,
            "best_size": best,
            "broke_at": search.broke_at,
            "warm_start_size": search.warm_start_size,
        },
    )


SOLVER = SubsetSearchSolver()
