r"""The frontier between empirical risk and divergence of the posteriors that keep averages, caps and floors.

**A line at any point.** The size ``T`` of a divergence is convex, so that it is not below its tangent plane at any
posterior :math:`\hat q`. With :math:`\gamma \ge 0` and multipliers :math:`\nu \ge 0` of the rows

.. math:: T(q) + \gamma L(q) \;\ge\; T(\hat q) - \nabla T \cdot \hat q
          + \min_{lo \le q' \le up,\, \sum q' = 1} (\nabla T + \gamma l + \nu \tilde A) \cdot q'

for every posterior of the set. The right side is one pass over the classifiers. It is equal to the left side at the
minimiser of :math:`D + \beta L`, when γ and ν are those of :class:`~.tilting.Tilting` in terms of ``T``. So a
certificate is a list of :math:`(\beta, \theta, \nu)`, whoever made it, and :func:`proven` checks it.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..divergences.frontiers import LARGEST, CostlyFrontier, Lines
from ..numerics.inner import combination, dot
from ..optimality import size_rate
from .posteriors import ROUNDING, cheapest
from .tilting import Tilt, Tilting

if TYPE_CHECKING:
    from ..problem import BoundProblem, Slopes

#: A risk this close to the smallest, relative to the range of the risks, is taken for it.
AT_LEAST = 1e-14
#: A weight this close to its cap or floor, relatively, is at it.
AT_BOUND = 1e-12
#: A smallest risk below this is zero, but for rounding.
NO_RISK = 1e-14
#: Steps in which the end of the frontier is looked for; the coordinate from which on a linear program is asked for the
#: smallest risk, and the one where the end is given up.
STRIDE, ASKED, FURTHEST = 2.0, 25.0, 60.0
#: Passes over the classifiers that the way to the end is worth, when nothing but larger minima can be there.
PASSES = 150


class ConstrainedFrontier(CostlyFrontier):
    """The frontier of a constrained set; the coordinate is :math:`\\ln\\beta`. Lines that were asked for are kept."""

    def __init__(
        self,
        problem: BoundProblem,
        multipliers: NDArray[np.float64] | None = None,
        hints: NDArray[np.float64] | None = None,
    ) -> None:
        """``multipliers`` of the rows prove the smallest risk. Without them they are looked for, and the frontier ends
        where no smaller bound can follow. ``hints``, a certificate of a similar problem, say where minimisers are
        looked for.
        """
        assert problem.posteriors is not None
        super().__init__(problem.risks, problem.prior)
        self.problem, self.divergence, self.posteriors = problem, problem.divergence_function, problem.posteriors
        self.finite, self.smallest = not self.divergence.steep, self.least
        #: That of the prior, below which no posterior's is.
        self.smallest_size = self.divergence.size(self.p, self.p)
        self.tilting = Tilting(self.divergence, self.y, self.p, self.posteriors)
        #: Minimisers by coordinate, with their lines, whose risks are above the smallest of all classifiers.
        self.known: dict[float, tuple[Lines, Tilt]] = {}
        self.hints: dict[float, Tilt] = {}
        if hints is not None and hints.shape[1] == 2 + len(self.posteriors.rows):
            tilts = map(self._read, hints[:-1])
            self.hints = {math.log(tilt.beta): tilt for tilt in tilts if tilt.beta > 0.0}
        if multipliers is None:
            self.last, self.bottom_multipliers = self.walk(whole=False)
        else:
            self.bottom_multipliers = multipliers
        #: The smallest risk above that of all classifiers, as the multipliers prove it.
        self.bottom = max(self.posteriors.lowest(self.y, self.bottom_multipliers), -self.least)
        if self.least + self.bottom <= NO_RISK:
            self.bottom = -self.least
        self.least += self.bottom
        #: A risk above the smallest that rounding may be the reason of.
        self.nothing = self._rounding(self.bottom_multipliers)

    # -- Where it ends -----------------------------------------------------------------------------------------------

    @cached_property
    def last(self) -> float:
        """A coordinate from which on the risk is the smallest, but for rounding; or from which on no bound is."""
        return self.walk()[0]

    def walk(self, whole: bool = True) -> tuple[float, NDArray[np.float64]]:
        """Go along the frontier to its end; or, when that takes long, to where no smaller bound can follow: that of the
        smallest risk, at the size reached, is no smaller than one that was met. Returns the coordinate and the
        multipliers that prove the smallest risk."""
        rates = self._rates(self._at(-math.inf)[0])
        slope = rates.L / rates.T if rates.T > 0.0 else 0.0
        z = math.log(min(max(slope, 1e-3 / self.spread), 1e9 / self.spread)) if self.spread > 0.0 else FURTHEST
        proof = np.zeros(len(self.posteriors.rows))
        bottom, best, asked = self.posteriors.lowest(self.y, proof), rates.value, not self.posteriors.rows
        while z < FURTHEST:
            line, tilt = self._at(z)
            tried = [self.posteriors.multipliers(self.y, tilt.posterior)]
            if z > ASKED and not asked:
                tried.append(self.posteriors.minimise(self.y)[1])
                asked = True
            for multipliers in tried:
                lowest = self.posteriors.lowest(self.y, multipliers)
                if lowest > bottom:
                    bottom, proof = lowest, multipliers
            if line.x - bottom <= self._rounding(proof):
                break
            rates = self._rates(line)
            best = min(best, rates.value)
            costly = not whole and self.tilting.passes > PASSES
            if costly and rates.T * line.slope >= rates.L and self._rates(line._replace(x=bottom)).value >= best:
                break
            z += STRIDE
        return min(z, FURTHEST), proof

    def _rounding(self, multipliers: NDArray[np.float64]) -> float:
        return AT_LEAST * self.spread + 2.0 * ROUNDING * (self.spread + float(multipliers.sum()))

    def _rates(self, line: Lines) -> Slopes:
        # A lowered line may pass below every posterior's size.
        return self.problem.slopes_at(min(max(self.smallest + line.x, 0.0), 1.0), max(line.T, self.smallest_size))

    # -- Lines -------------------------------------------------------------------------------------------------------

    def _at(self, z: float) -> tuple[Lines, Tilt]:
        z = min(z, FURTHEST)
        if z not in self.known:
            starts = self.hints | {place: tilt for place, (_, tilt) in self.known.items()}
            near = [starts[place] for place in sorted(starts, key=lambda other: abs(other - z))]
            tilt = self.tilting.at(math.exp(min(z, LARGEST)), near)
            self.known[z] = tangent(self, tilt), tilt
        return self.known[z]

    def above(self, line: Lines) -> Lines:
        """A line with the risk above the smallest."""
        x, height = line.x - self.bottom, line.height - line.slope * self.bottom
        x = 0.0 if x <= self.nothing else x
        return Lines(x, height - line.slope * x, line.slope, height)

    def line(self, z: float) -> Lines:
        return self.above(self._at(z)[0])

    def first(self) -> Lines:
        return self.line(-math.inf)

    def towards(self, slope: float, line: Lines) -> float:
        r"""The coordinate of :math:`\beta = F_L/F_D`, from :math:`\gamma = F_L/F_T`."""
        return math.log(slope / size_rate(self.problem, self.p, float(line.T)))

    def at_slope(self, slope: float, line: Lines) -> float:
        from scipy.optimize import brentq

        low, high = -40.0, self.last
        if self.line(high).slope <= slope:
            return high
        return float(brentq(lambda z: math.log(self.line(z).slope / slope), low, high, xtol=1e-14))

    def posterior(self, z: float) -> np.ndarray:
        q = self._at(self.last if z == math.inf else z)[1].posterior
        return q / float(np.add.reduce(q))

    def certificate(self) -> NDArray[np.float64]:
        r"""The lines that were looked at, a row each: β, θ, and the rows' multipliers; the last row has β infinite, and
        the multipliers that prove the smallest risk."""
        limits, units = [row.limit for row in self.posteriors.rows], self.posteriors.scales
        rows = []
        for _, tilt in self.known.values():
            nu = tilt.multipliers / units
            rows.append([tilt.beta, tilt.theta + tilt.beta * self.smallest + float(nu @ limits), *nu])
        return np.array([*sorted(rows), [math.inf, 0.0, *self.bottom_multipliers / units]])

    def _read(self, row: NDArray[np.float64]) -> Tilt:
        """A row of a certificate, without its weights."""
        beta, nu = max(float(row[0]), 0.0), np.maximum(row[2:], 0.0)
        theta = float(row[1] - nu @ [each.limit for each in self.posteriors.rows]) - beta * self.smallest
        return Tilt(beta, theta, nu * self.posteriors.scales, self.p, math.inf)


def tangent(frontier: ConstrainedFrontier, tilt: Tilt) -> Lines:
    """The line of a minimiser: where it touches, its slope, and its height."""
    divergence, p, y = frontier.divergence, frontier.p, frontier.y
    lower, upper = frontier.posteriors.lower, frontier.posteriors.upper
    q = tilt.posterior / float(np.add.reduce(tilt.posterior))
    size = divergence.size(q, p)
    slopes = divergence.size_gradient(q, p, size)
    change = size_rate(frontier.problem, q, size)
    slope = change * tilt.beta
    prices = slopes + slope * y + combination(change * tilt.multipliers, frontier.posteriors.matrix)
    if not frontier.posteriors.boxed:
        cheapest_ = float(prices.min())
    else:
        # Rounding may move a weight from its cap.
        inside = prices[(q > lower * (1.0 + AT_BOUND)) & (q < upper * (1.0 - AT_BOUND))]
        # Weights between their bounds have one price, but for rounding, which a sum over all of them must not add up.
        level = float(inside.min()) if inside.size else 0.0
        filled = np.where(prices < level, upper, lower) if inside.size else cheapest(prices, lower, upper)
        cheapest_ = level + dot(prices - level, filled)
    height = size - dot(slopes, q) + cheapest_
    # A line that rounding has lifted would prove too much; steep ones are lifted most.
    height -= ROUNDING * (size + dot(np.abs(slopes), q) + slope * frontier.spread + change * tilt.multipliers.sum())
    x = dot(q, y)
    return Lines(x, height - slope * x, slope, height)


def proven(problem: BoundProblem, certificate: NDArray[np.float64]) -> float:
    r"""The number that no posterior's bound is below, as a certificate proves: one pass over the classifiers a line.

    Nothing of it is trusted. Every row :math:`(\beta, \theta, \nu)` gives a valid line whatever its numbers; wrong ones
    prove less. They do not depend on limits of averages: those of a certificate for other limits prove something, too.
    The last row, with β infinite, has the multipliers for the smallest risk. The bound is concave in risk and size, so
    its minimum over the lines is at a vertex.
    """
    assert problem.posteriors is not None
    table = np.asarray(certificate, dtype=np.float64)
    frontier = ConstrainedFrontier(problem, np.maximum(table[-1, 2:], 0.0) * problem.posteriors.scales)
    lines = []
    for tilt in map(frontier._read, table[:-1]):
        tilts = tilt.beta * frontier.y + combination(tilt.multipliers, problem.posteriors.matrix)
        weights = frontier.tilting.weights(tilts, tilt.theta)
        if float(np.add.reduce(weights)) > 0.0:
            lines.append(frontier.above(tangent(frontier, tilt._replace(posterior=weights))))
    x, size = vertices(lines, frontier.spread - frontier.bottom)
    values = problem.bound_at(np.clip(frontier.least + x, 0.0, 1.0), size)
    return float(np.min(values))


def vertices(lines: list[Lines], widest: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The vertices of the region above all lines, with ``x`` from zero to the widest: its corners and both ends."""
    kept: list[Lines] = []
    meets = [widest]
    for line in sorted(lines, key=lambda line: (line.slope, line.height)):
        if kept and line.height <= kept[-1].height:
            # Steeper and not higher at zero: it is the highest nowhere.
            continue
        while kept:
            rise = line.slope - kept[-1].slope
            x = (line.height - kept[-1].height) / rise if rise > 0.0 else math.inf
            # The last line is nowhere the highest when the new one is above it before it begins to be.
            if x < meets[-1]:
                break
            kept.pop()
            meets.pop()
        meets.append(x if kept else widest)
        kept.append(line)
    x = np.clip(np.array([*meets[1:], 0.0]), 0.0, widest)
    above = [kept[0], *kept]
    return x, np.array([line.height - line.slope * each for line, each in zip(above, x.tolist())])
