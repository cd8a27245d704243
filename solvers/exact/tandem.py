r"""The global minimum of a bound for votes: the same search, on the frontier of :math:`(s, V)`.

A point of the frontier minimises :math:`V(q) + \beta s(q)`, :math:`s = q^T A q`, over the simplex. This is a convex
problem, whose minimum is the fixed point of :math:`q \mapsto \mathrm{argmin}_{q'} V(q') + \beta\,l \cdot q'`,
:math:`l = 2Aq`. The map is the frontier of the divergence at the risks ``l``; Newton's method in ``l`` finds its fixed
point. With its own posterior as the place of the tangents, each point has a line of
:class:`pacb_models.proofs.tangents.Tangents`, which is loose by the square of what Newton's method leaves.

Under constraints, and at large orders, where weights near zero move like a high root of their risks, an interior-point
method (:mod:`.interior`) finds the points.
"""

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from pacb_models.divergences.frontiers import Frontier, Lines
from pacb_models.numerics.elementwise import Array
from pacb_models.numerics.inner import dot
from pacb_models.proofs import Leaf
from pacb_models.proofs.tangents import Tangents
from pacb_models.solution import Outcome
from pacb_models.tandem import TandemProblem

from .effort import VOTES
from .interior import Interior
from .results import needed, outcome
from .search import Search

#: The largest order at which the tilted risks are Newton's variables: of 100 trees at order 5 a third of the points is
#: not found so, and at order 3 all are, in a fifth of the time that an interior-point method takes for 1000 trees.
LARGEST_ORDER = 3.0
#: Strengths relative to the largest risk where the frontier is taken to have ended.
ENDED = 1e13
#: How far the tilted risks, times β, may be from those of their own posterior: lines are loose by its square.
SELF_TANGENT = 1e-6
#: Steps of Newton's method, and halvings of one.
MOST_STEPS, HALVINGS = 40, 15
#: Steps of the secant method for a coordinate.
SECANTS = 60
#: An old factorisation is used again while it shrinks what is left to this.
SHRUNK = 0.1


class TangentPoint(NamedTuple):
    """A posterior that minimises :math:`V + \\beta\\,l \\cdot q`, and the risks of its own tangent."""

    tilted: Array
    posterior: Array
    risks: Array
    s: float
    size: float
    V: float
    row: Array

    def left(self, beta: float) -> float:
        """Return how far the risks are from being those of the posterior."""
        return beta * float(np.ptp(self.risks - self.tilted))

    def value(self, beta: float) -> float:
        """Return what is minimised."""
        return self.V + beta * self.s


class TandemFrontier(Frontier):
    """The frontier of votes; the coordinate is :math:`\\ln\\beta`, and risks are measured from zero.

    Minus infinity is the smallest size, the prior where it keeps the constraints.
    """

    finite = False

    def __init__(self, problem: TandemProblem) -> None:
        self.problem, self.divergence, self.p = problem, problem.divergence_function, problem.prior
        self.matrix, self.least, self.floor = problem.tandem_risks, 0.0, 0.0
        self.spread = max(float(problem.risks.max()), 1e-300)
        self.checker = Tangents(problem)
        self.constrained = problem.posteriors is not None
        self.known: dict[float, TangentPoint] = {}
        #: The coordinate of the line that proves the floor.
        self.deepest: float | None = None
        #: A factorisation, with the classifiers that it is for, their scale, and the direction off the simplex.
        self.factor: tuple[NDArray[np.intp], Array, Array, Any] | None = None

    @cached_property
    def interior(self) -> Interior:
        return Interior(self.problem)

    @property
    def last(self) -> float:
        return math.log(ENDED / self.spread)

    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        first = self.posterior(-math.inf)
        start = self.problem.empirical_risk(first), self.problem.divergence_size(first)
        return start, start

    def at_slope(self, slope: float) -> float:
        return min(math.log(slope), self.last)

    def posterior(self, z: float) -> Array:
        q = self.p if z == -math.inf and not self.constrained else self.point(z).posterior
        return q / float(np.add.reduce(q))

    def lines(self, z: Array) -> Lines:
        found = {}
        for each in np.sort(z).tolist():
            point, self.checker.floor = self.point(each), 0.0
            (slope,), (height,) = self.checker.supporting(self.rows(np.array([each])))
            found[each] = point.s, point.V, slope, height
            if self.checker.floor > self.floor:
                self.floor, self.deepest = self.checker.floor, each
        return Lines(*np.array([found[each] for each in z.tolist()]).T)

    def rows(self, z: Array) -> Array:
        points = [self.point(each) for each in z.tolist()]
        width = 3 + len(self.checker.matrix) + self.p.size
        return np.array([[*each.row, *each.posterior] for each in points]).reshape(z.size, width)

    # -- The minimiser at one slope ----------------------------------------------------------------------------------

    def point(self, z: float) -> TangentPoint:
        """Return the minimiser at a coordinate, found from the nearest one that is known."""
        z = min(z, self.last)
        if z not in self.known and (self.constrained or self.problem.order > LARGEST_ORDER):
            self.known[z] = self._inside(math.exp(z))
        elif z not in self.known:
            near = min(self.known, key=lambda other: abs(other - z)) if self.known else None
            tilted = 2.0 * (self.matrix @ self.p) if near is None else self.known[near].risks
            self.known[z] = self._minimise(math.exp(z), tilted)
        return self.known[z]

    def _inside(self, beta: float) -> TangentPoint:
        """Return the minimiser at β as the interior-point method finds it, with the line of its own multipliers."""
        q, theta, nu = self.interior.at(beta)
        half, size = self.matrix @ q, max(self.divergence.size(q, self.p), 0.0)
        pairs, risks = self.divergence.pairs(size), 2.0 * half
        gamma = beta / pairs.slope
        units = np.ones(0) if self.problem.posteriors is None else self.problem.posteriors.scales
        row = np.array([gamma, theta / pairs.slope - gamma * float(risks.min()), size, *(nu / pairs.slope / units)])
        return TangentPoint(risks, q, risks, dot(q, half), size, float(pairs.value), row)

    def _minimise(self, beta: float, tilted: Array) -> TangentPoint:
        here, fresh = self._at(tilted, beta), False
        for _ in range(MOST_STEPS):
            left = here.left(beta)
            if left <= SELF_TANGENT:
                break
            direction = here.risks + self._response(here, beta, fresh) - here.tilted
            value, share = here.value(beta), 1.0
            ahead = self._at(here.tilted + direction, beta)
            if not fresh and not (ahead.value(beta) <= value and ahead.left(beta) <= SHRUNK * left):
                fresh = True
                continue
            for _ in range(HALVINGS):
                if ahead.value(beta) <= value + 1e-14 * abs(value):
                    break
                share *= 0.5
                ahead = self._at(here.tilted + share * direction, beta)
            else:
                break
            here, fresh = ahead, ahead.left(beta) > SHRUNK * left
        if here.left(beta) > SELF_TANGENT:
            return self._inside(beta)
        # The posterior of its own tangent has the line.
        return self._at(here.risks, beta)._replace(posterior=here.posterior, s=here.s, size=here.size, V=here.V)

    def _at(self, tilted: Array, beta: float) -> TangentPoint:
        """Return the posterior at some tilted risks: the point of their frontier whose line has the slope β for the
        pairs."""
        frontier = self.divergence.frontier(tilted, self.p, False)
        z, (q, size) = self._coordinate(frontier, beta)
        pairs = self.divergence.pairs(size)
        row = frontier.rows(np.array([z]))[0]
        row[2] = size
        half = self.matrix @ q
        return TangentPoint(tilted, q, 2.0 * half, dot(q, half), size, float(pairs.value), row)

    def _coordinate(self, frontier: Frontier, beta: float) -> tuple[float, tuple[Array, float]]:
        """Return where :math:`\\ln(g'(T)\\,\\gamma) = \\ln\\beta`: the left side increases, and is often nearly
        straight."""

        def excess(z: float) -> float:
            line = frontier.line(z)
            return math.log(max(line.slope * self.divergence.pairs(line.T).slope, 1e-300) / beta)

        z, low, high = math.log(beta), -math.inf, math.inf
        last, before = z, 0.0
        for _ in range(SECANTS):
            at = excess(z)
            if abs(at) <= 1e-12:
                break
            low, high = (z, high) if at < 0.0 else (low, z)
            share = (z - last) / (at - before) if at != before and z != last else 1.0
            last, before, z = z, at, z - share * at
            if not low < z < high:
                # Bends are where classifiers join the support; a prior of 1e-9 makes them sharp.
                z = 0.5 * (low + high) if low > -math.inf and high < math.inf else last - at
            if z in (low, high):
                break
        q = frontier.posterior(z)
        return z, (q, max(self.divergence.size(q, self.p), 0.0))

    def _response(self, here: TangentPoint, beta: float, fresh: bool) -> Array:
        """Return how the risks of the tangent answer to a step of Newton's method for :math:`V + \\beta s` on the
        simplex."""
        if fresh or self.factor is None:
            on = np.flatnonzero(here.posterior > 0.0)
            q, p = here.posterior[on], self.p[on]
            diagonal, multiple = self.divergence.curvature(q, p, here.size)
            pairs, slopes = self.divergence.pairs(here.size), self.divergence.gradient(q, p, here.size)
            with np.errstate(over="ignore", divide="ignore"):
                scale = 1.0 / np.sqrt(pairs.slope * diagonal)
            hessian = self.matrix[np.ix_(on, on)] * (2.0 * beta * np.multiply.outer(scale, scale))
            tilt = scale * np.where(scale > 0.0, slopes, 0.0)
            hessian += (pairs.bend + pairs.slope * multiple) * np.multiply.outer(tilt, tilt)
            hessian[np.diag_indices_from(hessian)] += 1.0
            factor = cho_factor(hessian, overwrite_a=True, check_finite=False)
            along = np.asarray(cho_solve(factor, scale, check_finite=False))
            self.factor = on, scale, along, factor
        on, scale, along, factor = self.factor
        step = cho_solve(factor, -beta * scale * (here.risks - here.tilted)[on], check_finite=False)
        step -= along * (dot(scale, step) / dot(scale, along))
        return np.asarray(2.0 * (self.matrix[:, on] @ (scale * step)))


def minimise_votes(problem: TandemProblem) -> Outcome:
    """Return the minimum of a bound for votes with its proof."""
    frontier = TandemFrontier(problem)
    search = Search(problem, frontier, VOTES)
    search.run()
    # Without constraints nothing is smaller than the size of the prior.
    ends = [] if frontier.deepest is None else [frontier.deepest]
    ends += [-math.inf] * frontier.constrained
    return outcome(search, Leaf(frontier.rows(np.unique(np.append(needed(search), ends)))))
