r"""The paper's fixed-point scheme, on the frontier between empirical risk and divergence.

At a minimum of :math:`B(q) = F(L, T)`, ``T`` the divergence's size, the posterior minimises :math:`T + \gamma L` with
:math:`\gamma = F_L/F_T`: it is the point of the frontier whose supporting line has that slope. Reading the slope off
the current posterior, and putting the point that belongs to it in its place, is the iteration

.. math:: q^+ = \mathrm{argmin}_q\; T(q) + \gamma L(q), \qquad \gamma = F_L(L, T)/F_T(L, T).

**It descends.** ``F`` is concave and increases in both arguments, so that

.. math:: B(q') = F(L', T') \le F(L, T) + F_L\,(L' - L) + F_T\,(T' - T)

for every posterior ``q'``, with equality at ``q``. The next posterior minimises the right side, which is therefore at
most :math:`B(q)` there, and so is the bound: majorise, then minimise. Where the right side cannot be lowered, ``q`` is
stationary. One map does for every distance, and for every divergence whose frontier has lines.

**The paper's equations** read other numbers off the posterior, and have the same fixed points. ``variant="paper"``
iterates them for χ², with :math:`X = T^2`:

* linear and squared distance: :math:`q_i = p_i\,[1/P + t(\bar l - l_i)]` with the slope :math:`t = F_L/(2F_X)`, that is
  :math:`\sqrt{X}/c` and :math:`2X^{3/4}/c^{1/2}`, :math:`c = \sqrt{I/\delta}`; ``P`` and :math:`\bar l` are prior mass
  and mean risk of the support. That is majorise–minimise with ``X`` in place of ``T``: it descends in shorter steps;
* kl distance: :math:`q_i = \frac1Z\, p_i X \{1 - d\,(l_i - L)/(c\sqrt X)\}` with ``d`` the logit gap between bound and
  ``L``; in other words :math:`q_i \propto p_i(\mu - l_i)_+` with the level :math:`\mu = L + T/\gamma`. That is one step
  of Newton's method towards the minimum of the right side above; it may overshoot. Rényi orders have no equation in
  the paper; theirs is the same with the power :math:`1/(\alpha-1)` of :math:`\mu - l_i`;
* KL divergence (companion paper, normalised): :math:`q_i \propto p_i e^{-\gamma l_i}`, which is the map above.

The paper states its equations on the support of the ``H'`` smallest risks where they give positive weights, and
searches for ``H'``. Here positivity is part of the map: a weight that would be negative is zero, and there is exactly
one support on which slope and positivity agree. On it every iterate satisfies the paper's equation literally.

**Constraints.** The map is carried to every convex set of posteriors, :math:`q^+ = \mathrm{argmin}_{q \in Q}\; T(q) +
\gamma L(q)`, and it descends there by the same proof. Where it stays, :math:`\langle \nabla B(q), q' - q\rangle
\ge 0` for all ``q'`` of ``Q``. The minimisers at all γ are a
:class:`~pacb_models.solvers.exact.constrained.ConstrainedFrontier`.

The iteration contracts slowly near a flat minimum. When steps do not shrink by a tenth, or leave an interval known to
hold a minimum, a secant step takes their place, if it does not raise the bound.
"""

import itertools
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from pacb_models.divergences.frontiers import Frontier, Lines
from pacb_models.errors import InputError
from pacb_models.problem import BoundProblem
from pacb_models.solution import Outcome, Trace
from pacb_models.solver import lacking
from pacb_models.tandem import TandemProblem

from ..exact.constrained import ConstrainedFrontier
from ..exact.convex import proof_of_convex
from ..exact.tandem import TandemFrontier
from ..options import DeclaredSolver, Iterative, from_all_starts


class _Point(NamedTuple):
    """A point of the frontier: its coordinate, its line, and what the bound says there."""

    z: float
    line: Lines
    bound: float
    #: The slope γ that the next point's line has.
    wanted: float
    #: The KKT residual, from above; where the bound is flat, the relative difference of the two slopes.
    residual: float


class _Scheme:
    """The map from one point of the frontier to the next."""

    def __init__(self, problem: BoundProblem | TandemProblem, paper: bool) -> None:
        self.problem, divergence = problem, problem.divergence_function
        self.frontier: Frontier
        if isinstance(problem, TandemProblem):
            self.frontier = TandemFrontier(problem)
        elif problem.posteriors is None:
            self.frontier = divergence.frontier(problem.risks, problem.prior, problem.uniform_prior)
        else:
            self.frontier = ConstrainedFrontier(problem, keep=False)
        (x, T), (end, size) = self.frontier.ends()
        self.first, self.last = Lines(x, T, 0.0, T), Lines(end, size, math.inf, size)
        self.follow: Callable[[float, Lines], float] = lambda slope, line: self.frontier.at_slope(slope)
        if paper and divergence.homogeneous:
            # The level μ = x + T/γ.
            self.follow = lambda slope, line: -math.log(line.x + line.T / slope)
        if paper and problem.distance_function.additive and lacking(problem, "divergence.supports") is None:
            # The slope t of the paper's additive distances is γ T.
            supports = divergence.supports(problem.risks, problem.prior)
            self.follow = lambda slope, line: -math.log(supports.level_at_slope(slope * line.T))

    def exchange_rate(self, L: float, T: float) -> float:
        """Return how much of the size one unit of empirical risk is worth: γ."""
        budget = self.problem.budget_at(T)
        return float(self.problem.distance_function.rate(L, budget.value)) / budget.slope

    def after(self, wanted: float, line: Lines) -> float:
        """Return the coordinate of the next point."""
        if not 0.0 < wanted < math.inf:
            return math.inf if wanted > 0.0 else -math.inf
        return self.follow(wanted, line)

    def at(self, z: float) -> _Point:
        """Return what is known at a coordinate."""
        line = self.frontier.line(z) if math.isfinite(z) else self.last if z > 0.0 else self.first
        L = min(self.frontier.least + line.x, 1.0)
        slopes, wanted = self.problem.outer_at(L, line.T), self.exchange_rate(L, line.T)
        difference = abs(wanted - line.slope) if wanted != line.slope else 0.0
        scale = slopes.T * self.frontier.spread / max(slopes.value, 1.0) if slopes.T > 0.0 else 1.0 / wanted
        return _Point(z, line, slopes.value, wanted, difference * scale)


class _Safeguard:
    """Chooses the next coordinate: the plain one unless steps shrink too slowly or leave the interval that holds a
    minimum."""

    #: Steps that do not shrink to this fraction count as slow ...
    SLOW = 0.9
    #: ... and are replaced by a secant step of at most this many times their length.
    REACH = 100.0

    def __init__(self, active: bool) -> None:
        self.active, self.interventions = active, 0
        #: A point where the map moves up, below one where it moves down: a minimum lies between.
        self.low, self.high = -math.inf, math.inf
        self.last = math.nan, 0.0

    def exhausted(self) -> bool:
        """Return True when the interval has shrunk to rounding level."""
        rounding = 4.0 * sys.float_info.epsilon * max(abs(self.high), 1.0)
        return math.isfinite(self.high) and self.high - self.low <= rounding

    def next(self, z: float, plain: float) -> float:
        """Return the coordinate after ``z``, where the map says ``plain``."""
        step = plain - z
        if not self.active or not math.isfinite(step):
            return plain
        self.low, self.high = (z, self.high) if step > 0.0 else (self.low, z)
        (last_z, last_step), self.last = self.last, (z, step)
        slow = math.isfinite(last_z) and abs(step) > self.SLOW * abs(last_step)
        if not slow and self.low < plain < self.high:
            return plain
        self.interventions += 1
        # Where the straight line through the last two steps vanishes, if that lies ahead.
        bend = (last_step - step) / (z - last_z) if z != last_z else 0.0
        ahead = z + math.copysign(min(abs(step / bend), self.REACH * abs(step)), step) if bend > 0.0 else plain
        if self.low < ahead < self.high:
            return ahead
        return 0.5 * (self.low + self.high) if math.isfinite(self.low + self.high) else plain


class FixedPointSolver(DeclaredSolver):
    r"""Iterate the paper's fixed-point scheme (see the module's text for the equations and the proof of descent).

    Cheap and usually quick: a sort and a few dozen scalar steps for χ², a few dozen passes otherwise. It finds *a*
    stationary point; squared and kl bounds can have several, and which one is found depends on the start. Use
    ``frontier`` for the global minimum, this one to study the scheme.

    Options
    -------
    variant : {"descent", "paper"}
        The map that never raises the bound, or the paper's equations as they are printed, which know no constraints.
    safeguard : bool
        False iterates the plain map whatever happens.
    start, starts, seed, tolerance, max_iterations, time_limit, trace : see :mod:`pacb_models.solvers.options`
        With several starts ``details["distinct_points"]`` lists the points found, best first, with the number of starts
        that led there.
    """

    name = "fixed-point"
    needs = ("problem.bound_at", "divergence.frontier or slope_inverse")
    honours = ("average", "weights")

    @dataclass(kw_only=True)
    class Options(Iterative):
        variant: Literal["descent", "paper"] = "descent"
        safeguard: bool = True
        tolerance: float = 1e-12

    def run_with(self, problem: BoundProblem | TandemProblem, options: Options) -> Outcome:
        paper = options.variant == "paper"
        if paper and (problem.posteriors is not None or isinstance(problem, TandemProblem)):
            raise InputError("variant is 'paper', whose equations have no constraints and no votes; use 'descent'.")
        scheme = _Scheme(problem, paper)
        return from_all_starts(problem, options, lambda q: _iterate(scheme, q, options))


def _iterate(scheme: _Scheme, start: np.ndarray, options: FixedPointSolver.Options) -> Outcome:
    """Iterate from one start until the map moves its own result no more."""
    problem, frontier = scheme.problem, scheme.frontier
    L, T = problem.empirical_risk(start), problem.divergence_size(start)
    trace, guard = Trace(options.trace), _Safeguard(options.safeguard)
    trace.add(problem.bound_at(L, T))
    if frontier.spread == 0.0:
        nearest = problem.prior if problem.posteriors is None else frontier.posterior(-math.inf)
        proof = proof_of_convex(problem, nearest)
        return Outcome(nearest, "optimal", "all risks are equal.", 0, proof=proof, details=trace.details())
    here = scheme.first._replace(x=max(L - frontier.least, 0.0), T=T)
    point = scheme.at(scheme.after(scheme.exchange_rate(L, T), here))
    status, message = "optimal", ""
    for iterations in itertools.count(1):
        trace.add(point.bound)
        plain = scheme.after(point.wanted, point.line)
        if time.monotonic() >= options.deadline:
            status, message = "time_limit", "the time limit was reached."
            break
        if plain == point.z or point.residual <= options.tolerance:
            break
        if iterations == options.max_iterations:
            status, message = "iteration_limit", f"max_iterations={iterations} steps were not enough; raise it."
            break
        chosen = guard.next(point.z, plain)
        if guard.exhausted():
            break
        ahead = scheme.at(chosen)
        point = scheme.at(plain) if chosen != plain and ahead.bound > point.bound else ahead
    details = {"safeguarded_steps": guard.interventions, **trace.details()}
    posterior = frontier.posterior(point.z)
    proof = proof_of_convex(problem, posterior) if status == "optimal" else None
    return Outcome(posterior, status, message, iterations, proof=proof, details=details)


SOLVER = FixedPointSolver()
