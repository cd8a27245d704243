r"""The paper's fixed-point scheme.

At a minimum of :math:`B(q) = F(L, D)` the weights are a function of the two numbers ``L`` and ``D`` of the same
weights. Reading the numbers off the current posterior and putting the weights that belong to them in its place is
the paper's iteration:

* **linear, squared with χ²**: :math:`q_i = p_i\,[1/P + t(\bar l - l_i)]` with the slope :math:`t = F_L/(2F_X)`,
  that is :math:`\sqrt{X}/c` and :math:`2X^{3/4}/c^{1/2}`, :math:`c = \sqrt{I/\delta}`; ``P`` and :math:`\bar l` are
  prior mass and mean risk of the support;
* **kl with χ²**: :math:`q_i = \frac1Z\, p_i X \{1 - d\,(l_i - L)/(c\sqrt X)\}` with ``d`` the logit gap between
  bound and ``L``; in other words :math:`q_i \propto p_i(\mu - l_i)` with the level :math:`\mu = L + c\sqrt X/d`.
  **Rényi** orders have no equation in the paper; theirs is the same with the power :math:`1/(\alpha-1)` of
  :math:`\mu - l_i`, :math:`\mu = L + \alpha D F_D/F_L`;
* **KL divergence** (companion paper, normalised): :math:`q_i \propto p_i e^{-b\,l_i}` with :math:`b = F_L/F_{KL}`.

The paper states its equations on the support of the ``H'`` smallest risks where they give positive weights, and
searches for ``H'``. Here positivity is part of the map, as complementary slackness asks: a weight that would be
negative is zero, and the support is the one on which slope (or level) and positivity agree. For a given slope or
level there is exactly one, so that the whole posterior is a function of one number ``x``, and the iteration a
recursion :math:`x \mapsto G(x)` on prefix sums. On its own support every iterate satisfies the paper's equation
literally.

The step :math:`G(x) - x` has the sign of :math:`-dB/dx` along the path. With the squared distance and the slope the
map increases, so that plain iteration descends to the next local minimum; but it contracts slowly near a flat one,
and other maps may overshoot. When steps do not shrink by a tenth, or leave an interval known to hold a minimum, a
secant step takes their place.
"""

from __future__ import annotations

import math
import sys
from typing import Any, NamedTuple

import numpy as np

from pacb_models.merging import Merged
from pacb_models.problem import BoundProblem
from pacb_models.solution import LocalMinimum, Outcome, Trace
from pacb_models.solver import Solver
from pacb_models.validation import check_count, check_positive, check_posterior

from .logit_gap import logit_gap
from .ordered_supports import OrderedSupports, stationary_slope


class FixedPoint(NamedTuple):
    """A point that some of the starts of a multi-start ended in."""

    bound: float
    empirical_risk: float
    divergence: float
    support_size: int
    #: What the bordered Hessian says of it.
    kind: str
    #: How many starts led there.
    starts: int


class _SlopeMap:
    """χ², linear and squared distance: ``x`` is the slope ``t``."""

    def __init__(self, problem: BoundProblem) -> None:
        self.problem, self.supports = problem, OrderedSupports(problem)

    def update(self, L: float, X: float) -> float:
        return float(stationary_slope(self.problem, L, X))

    def point(self, t: float) -> tuple[float, float]:
        L, X = self.supports.point(self.supports.support_at_slope(t), t)
        return float(L), float(X)

    def weights(self, t: float) -> np.ndarray:
        return self.supports.weights(self.supports.support_at_slope(t), t)


class _LevelMap:
    """χ², kl distance: ``x`` is the level μ, counted from the smallest risk."""

    def __init__(self, problem: BoundProblem) -> None:
        self.problem, self.supports = problem, OrderedSupports(problem)

    def update(self, L: float, X: float) -> float:
        return max(L - self.supports.least, 0.0) + X / float(stationary_slope(self.problem, L, X))

    def _path(self, level: float) -> tuple[int, float]:
        k = self.supports.support_at_level(level)
        return k, self.supports.slope_at_level(k, level)

    def point(self, level: float) -> tuple[float, float]:
        L, X = self.supports.point(*self._path(level))
        return float(L), float(X)

    def weights(self, level: float) -> np.ndarray:
        return self.supports.weights(*self._path(level))


class _WeightsMap:
    """Divergences without prefix sums: the weights themselves are formed at each step, in the caller's order."""

    def __init__(self, problem: BoundProblem) -> None:
        self.problem = problem
        self.least = float(problem.risks.min())
        self.excess = problem.risks - self.least

    def update(self, L: float, D: float) -> float:
        """The next coordinate from a point; a subclass knows it."""
        raise NotImplementedError

    def point(self, x: float) -> tuple[float, float]:
        q = self.weights(x)
        return self.least + float(np.dot(q, self.excess)), self.problem.statistic(q)

    def weights(self, x: float) -> np.ndarray:
        relative = self.problem.prior * self._density(x)
        return relative / relative.sum()

    def _density(self, x: float) -> np.ndarray:
        """Posterior over prior, up to a factor; one at the smallest risk."""
        raise NotImplementedError


class _RenyiMap(_WeightsMap):
    """Rényi order α: ``x`` is the level μ, counted from the smallest risk."""

    def update(self, L: float, D: float) -> float:
        return max(L - self.least, 0.0) + self.problem.order * D / exchange_rate(self.problem, L, D)

    def _density(self, level: float) -> np.ndarray:
        if level <= 0.0:
            return (self.excess == 0.0).astype(float)
        return np.maximum(1.0 - self.excess / level, 0.0) ** (1.0 / (self.problem.order - 1.0))


class _GibbsMap(_WeightsMap):
    """KL divergence: ``x`` is the inverse temperature ``b``."""

    def update(self, L: float, D: float) -> float:
        return exchange_rate(self.problem, L, D)

    def _density(self, b: float) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return np.where(self.excess == 0.0, 1.0, np.exp(-b * self.excess))


def exchange_rate(problem: BoundProblem, L: float, D: float) -> float:
    r"""How much divergence one unit of empirical risk is worth: :math:`F_L/F_D`."""
    if problem.distance == "kl":
        budget = problem.divergence_function.budget(D, problem.coefficient, problem.exponent)
        return float(logit_gap(L, budget.value)) / budget.slope
    outer = problem.outer_derivatives(L, D)
    return outer.L / outer.D


def _map_of(problem: BoundProblem) -> _SlopeMap | _LevelMap | _RenyiMap | _GibbsMap:
    if problem.divergence == "kl":
        return _GibbsMap(problem)
    if problem.divergence == "renyi":
        return _RenyiMap(problem)
    return _LevelMap(problem) if problem.distance == "kl" else _SlopeMap(problem)


class _Safeguard:
    """Chooses the next ``x``: the plain one unless steps shrink too slowly or leave the interval that holds a
    minimum.
    """

    #: Steps that do not shrink to this fraction count as slow ...
    SLOW = 0.9
    #: ... and are replaced by a secant step of at most this many times their length.
    REACH = 100.0

    def __init__(self, active: bool) -> None:
        self.active = active
        #: A point where the map moves up, below one where it moves down: a minimum lies between.
        self.low, self.high = -math.inf, math.inf
        self.last: tuple[float, float] | None = None
        self.interventions = 0

    def exhausted(self) -> bool:
        """True when the interval has shrunk to rounding level."""
        return math.isfinite(self.high) and self.high - self.low <= 4.0 * sys.float_info.epsilon * abs(self.high)

    def next(self, x: float, step: float) -> float:
        plain = x + step
        if not self.active or not math.isfinite(plain):
            return plain
        if step > 0.0:
            self.low = x
        else:
            self.high = x
        last, self.last = self.last, (x, step)
        slow = last is not None and abs(step) > self.SLOW * abs(last[1])
        if not slow and self.low < plain < self.high:
            return plain
        self.interventions += 1
        candidate = plain if last is None else self._secant(x, step, *last)
        if self.low < candidate < self.high:
            return candidate
        return 0.5 * (self.low + self.high) if math.isfinite(self.low + self.high) else plain

    def _secant(self, x: float, step: float, last_x: float, last_step: float) -> float:
        """Where the straight line through the last two steps vanishes, if that lies ahead; else the plain point."""
        bend = (last_step - step) / (x - last_x) if x != last_x else 0.0
        if bend <= 0.0:
            return x + step
        return x + math.copysign(min(abs(step / bend), self.REACH * abs(step)), step)


class _Run(NamedTuple):
    """Where the iteration from one start ended."""

    x: float
    bound: float
    converged: bool
    iterations: int
    interventions: int
    trace: Trace


class FixedPointSolver(Solver):
    r"""Iterate the paper's fixed-point equations (see the module's text for the equations).

    Cheap and usually quick: a sort and a few dozen scalar steps for χ², a few dozen passes otherwise. It finds *a*
    stationary point; squared and kl bounds can have several, and which one is found depends on the start. Use
    ``frontier`` for the global minimum, this one to study the scheme.

    Options
    -------
    start : array of shape (H,), optional
        Posterior to start from; the prior by default.
    starts : int
        Number of starts. Beyond the first they are random: Dirichlet posteriors with concentrations from 10⁻³ to
        10, so that nearly degenerate ones are among them. ``details["distinct_points"]`` lists the points found,
        best first, with the number of starts that led there; the best one is returned.
    seed : int
        Seed of the random starts.
    safeguard : bool
        False iterates the plain map whatever happens.
    max_iterations : int
        Limit per start.
    tolerance : float
        Largest relative change of slope, level or inverse temperature at convergence.
    trace : bool
        True puts the bound at the start and after each step, with the seconds, into ``details["trace"]``.
    """

    name = "fixed-point"
    needs = ("path",)
    handles = {
        "chi2": ("linear", "squared", "kl"),
        "renyi": ("linear", "squared", "kl"),
        "kl": ("linear", "squared", "kl", "pinsker", "ch"),
    }

    def expand_details(self, details: dict[str, Any], merged: Merged[Any]) -> dict[str, Any]:
        if "distinct_points" not in details:
            return details
        return {**details, "distinct_points": merged.expand_points(details["distinct_points"])}

    def run(
        self,
        problem: BoundProblem,
        start: object = None,
        starts: int = 1,
        seed: int = 0,
        safeguard: bool = True,
        max_iterations: int = 1000,
        tolerance: float = 1e-12,
        trace: bool = False,
    ) -> Outcome:
        first = problem.prior if start is None else check_posterior(start, problem.size, "start")
        starts, max_iterations = check_count("starts", starts), check_count("max_iterations", max_iterations)
        tolerance = check_positive("tolerance", tolerance)
        fixed_point_map = _map_of(problem)
        random = np.random.default_rng(check_count("seed", seed, least=0))
        runs = []
        for number in range(starts):
            q = first if number == 0 else _random_posterior(problem, random, number / starts)
            runs.append(_iterate(problem, fixed_point_map, q, safeguard, max_iterations, tolerance, trace))
        return _outcome(problem, fixed_point_map, runs)


def _random_posterior(problem: BoundProblem, random: np.random.Generator, fraction: float) -> np.ndarray:
    """A Dirichlet posterior around the prior whose concentration depends on ``fraction`` in (0, 1)."""
    concentration = 10.0 ** (4.0 * fraction - 3.0)
    return random.dirichlet(np.maximum(problem.prior * problem.size * concentration, 1e-6))


def _iterate(
    problem: BoundProblem,
    fixed_point_map: _SlopeMap | _LevelMap | _WeightsMap,
    start: np.ndarray,
    safeguard: bool,
    max_iterations: int,
    tolerance: float,
    trace: bool,
) -> _Run:
    """Iterate from one start until the map moves its own result no more."""
    L, D = problem.empirical_risk(start), problem.statistic(start)
    way = Trace(trace)
    way.add(problem.outer(L, D))
    guard = _Safeguard(safeguard)
    x = fixed_point_map.update(L, D)
    converged, iterations = False, 0
    while iterations < max_iterations:
        iterations += 1
        L, D = fixed_point_map.point(x)
        if trace:
            way.add(problem.outer(L, D))
        new = fixed_point_map.update(L, D)
        # The first comparison is for infinite x: all weight on the smallest risk.
        if new == x or abs(new - x) <= tolerance * abs(x):
            converged = True
            break
        following = guard.next(x, new - x)
        if guard.exhausted():
            converged = True
            break
        x = following
    return _Run(x, problem.outer(L, D), converged, iterations, guard.interventions, way)


def _outcome(problem: BoundProblem, fixed_point_map: _SlopeMap | _LevelMap | _WeightsMap, runs: list[_Run]) -> Outcome:
    converged = [run for run in runs if run.converged]
    best = min(converged or runs, key=lambda run: run.bound)
    details: dict[str, Any] = {"safeguarded_steps": best.interventions}
    details.update(best.trace.details())
    local_minima: tuple[LocalMinimum, ...] = ()
    if len(runs) > 1:
        points = _distinct(problem, fixed_point_map, converged)
        details["distinct_points"] = points
        details["unconverged_starts"] = len(runs) - len(converged)
        local_minima = tuple(LocalMinimum(*point[:4]) for point in points[1:] if point.kind == "local minimum")
    message = ""
    if not converged:
        message = f"the iteration did not settle within max_iterations={best.iterations} steps; raise max_iterations."
    return Outcome(
        posterior=fixed_point_map.weights(best.x),
        status="optimal" if converged else "not_converged",
        message=message,
        iterations=best.iterations,
        # With the linear distance the bound is convex, and a stationary point is the global minimum.
        is_global=bool(converged) and problem.distance == "linear",
        local_minima=local_minima,
        details=details,
    )


def _distinct(
    problem: BoundProblem, fixed_point_map: _SlopeMap | _LevelMap | _WeightsMap, runs: list[_Run]
) -> tuple[FixedPoint, ...]:
    """The points that runs ended in, those with the same (L, D) counted together, best first."""
    groups: list[tuple[float, float, float, list[_Run]]] = []
    for run in sorted(runs, key=lambda run: run.bound):
        L, D = fixed_point_map.point(run.x)
        for other_L, other_D, bound, members in groups:
            if abs(run.bound - bound) <= 1e-9 and abs(L - other_L) <= 1e-6 and abs(D - other_D) <= 1e-6 * (1.0 + D):
                members.append(run)
                break
        else:
            groups.append((L, D, run.bound, [run]))
    points = []
    for L, D, bound, members in groups:
        q = fixed_point_map.weights(members[0].x)
        divergence = problem.divergence_function.value(D)
        points.append(FixedPoint(bound, L, divergence, int(np.count_nonzero(q)), problem.classify(q), len(members)))
    return tuple(points)


SOLVER = FixedPointSolver()
