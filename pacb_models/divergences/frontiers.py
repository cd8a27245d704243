r"""Frontiers between empirical risk and divergence: their points, and the lines that support them.

A frontier is followed by its *strength* ``s`` from zero, the prior, to infinity, all weight on the smallest risk; the
coordinate is :math:`z = \ln s`. Risks are measured from the smallest one, :math:`x = L - \min_i l_i`, so that none of
their digits are lost.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from copy import copy
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..numerics.elementwise import Numbers
from ..numerics.inner import PIECE, dot

if TYPE_CHECKING:
    from .divergence import Divergence

#: Numbers formed at a time: they stay in the processor's cache, and their memory is not asked of the system each time.
BLOCK = 1 << 14
#: Risks this close to the smallest count as equal to it.
NEGLIGIBLE = 1e-100
#: Sets above the first size are thinned to so many bins.
MANY, BINS = 1 << 15, 1 << 14
#: The largest coordinate whose strength is formed; exp overflows soon after.
LARGEST = 690.0
NO_CORNERS = np.zeros(0)


class Lines(NamedTuple):
    r"""Points of a frontier and the lines that support it there: :math:`T + \gamma x \ge h` for every posterior.

    ``x`` is the empirical risk above the smallest risk, ``T`` the size; each an array, or a number.
    """

    x: Numbers
    T: Numbers
    slope: Numbers
    height: Numbers


class Frontier:
    """The frontier of a set of classifiers, with lines at any coordinate."""

    #: True when all weight is on the smallest risk from some strength on, and not in the limit only.
    finite = True
    #: How far below the smallest bound, relative to it, the proven lower bound is.
    gap = 1e-12
    #: About how far in the coordinate a bound's turn is for each unit of its balance; measured.
    pace = 1.0
    #: True when its points need not be connected.
    jumps = False
    #: True when a line costs so much that fewer of them are looked at.
    costly = False

    def __init__(self, risks: np.ndarray, prior: np.ndarray) -> None:
        self.least = risks.item(risks.argmin())
        self.y, self.p = risks - self.least, prior
        above = self.y > NEGLIGIBLE
        #: How many risks are above the smallest one.
        self.higher = np.count_nonzero(above)
        if self.higher < np.count_nonzero(self.y):
            # No bound can tell, and products of gaps must not underflow.
            self.y *= above
        self.spread = self.y.item(self.y.argmax())

    @property
    def last(self) -> float:
        """A coordinate from which on all weight, but for rounding, is on the smallest risk."""
        above = self.y[self.y > 0.0]
        return -math.log(above[above.argmin()])

    def corners(self) -> np.ndarray:
        """Coordinates at and between which the frontier bends sharply, so that a bound may turn there."""
        return NO_CORNERS

    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Its two ends as :math:`(x, T)`: the prior, and all weight on the smallest risk."""
        raise NotImplementedError

    def first(self) -> Lines:
        """The level line through its beginning."""
        (x, T), _ = self.ends()
        return Lines(x, T, 0.0, T)

    def lines(self, z: np.ndarray) -> Lines:
        """The lines at some coordinates."""
        raise NotImplementedError

    def line(self, z: float) -> Lines:
        """The line at one coordinate, as numbers."""
        return Lines(*(float(values[0]) for values in self.lines(np.array([z]))))

    def towards(self, slope: float, line: Lines) -> float:
        """A coordinate nearer to where the line has a slope, from the line anywhere; there at once if the strength is
        the slope."""
        return math.log(slope)

    def at_slope(self, slope: float, line: Lines) -> float:
        r"""Where the line has the slope γ, and :math:`T + \gamma x` is smallest; found from a line close by."""
        return self.towards(slope, line)

    def posterior(self, z: float) -> np.ndarray:
        """The posterior at a coordinate, in the order of the risks; infinity is the end."""
        density = self.at_least() if z == math.inf else self.density(math.exp(min(z, LARGEST)), self.y)
        # Divided first: products with the smallest prior weights must not lose digits below the normal range.
        return density / dot(density, self.p) * self.p

    def density(self, strength: Numbers, y: np.ndarray) -> np.ndarray:
        """Posterior over prior, up to a factor, at a strength; for an array of them, a row each."""
        raise NotImplementedError

    def at_least(self) -> np.ndarray:
        """The density in the end: one for the smallest risk, and zero."""
        return (self.y == 0.0).astype(float)

    def potential(self, strength: float, y: np.ndarray) -> np.ndarray:
        """What each classifier, over its prior, adds to the sum that the line's height is a decreasing function of."""
        raise NotImplementedError

    def lowered(self, line: Lines, factor: float) -> Lines:
        """A line that holds when the sum of potentials is larger by a factor."""
        raise NotImplementedError

    def sides(self, z: float) -> tuple[float, ...]:
        """Coordinates to look at for a turn: itself, or both sides of where a frontier jumps."""
        return (z,)

    def thinned(self) -> Frontier | None:
        """A frontier of few classifiers whose lines hold for this one; None when this one is small."""
        if self.y.size <= MANY:
            return None
        thin = copy(self)
        thin.y, thin.p = spread_out(self.y, self.p, BINS)
        return thin

    def blocks(self, count: int) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        """Risks and prior weights of classifiers, so few that their densities at so many strengths stay in the cache,
        and that products with them stay on one thread."""
        length = min(BLOCK // count or 1, PIECE)
        if self.y.size <= length:
            return ((self.y, self.p),)
        return ((self.y[i : i + length], self.p[i : i + length]) for i in range(0, self.y.size, length))


class CostlyFrontier(Frontier):
    """A frontier whose lines are found one by one, so that fewer of them are looked at."""

    gap = 1e-10
    costly = True

    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        first, last = self.line(-math.inf), self.line(self.last)
        return (float(first.x), float(first.T)), (float(last.x), float(last.T))

    def lines(self, z: np.ndarray) -> Lines:
        # In order, as each may begin where the last ended.
        order = np.argsort(z, kind="stable")
        points = np.empty((4, z.size))
        for place, each in zip(order.tolist(), z[order].tolist()):
            points[:, place] = self.line(each)
        return Lines(*points)

    def line(self, z: float) -> Lines:
        raise NotImplementedError

    def thinned(self) -> None:
        return None


def spread_out(y: np.ndarray, p: np.ndarray, bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Few risks with prior weights, whose mean of a convex function of the risk is never smaller.

    The classifiers of a bin become two at its edges with the same mass and the same mean.
    """
    width = float(y.max()) / bins
    place = y / width
    index = np.minimum(place.astype(np.intp), bins - 1)
    share = place - index
    upper = np.bincount(index, share * p, minlength=bins)
    mass = np.bincount(index, p if p.ndim else np.broadcast_to(p, y.shape), minlength=bins)
    weights = np.zeros(bins + 1)
    weights[:-1] = mass - upper
    weights[1:] += upper
    kept = weights > 0.0
    return np.flatnonzero(kept) * width, weights[kept]


class SeparableFrontier(Frontier):
    r"""The frontier of any divergence with ``slope_inverse``: the strength is β, and θ normalises the posterior."""

    def __init__(self, divergence: Divergence, risks: np.ndarray, prior: np.ndarray) -> None:
        super().__init__(risks, prior)
        self.divergence = divergence
        self.finite = not divergence.steep

    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        size = self.divergence.size
        last = self.at_least() * self.p
        start, end = size(self.p, self.p), size(last / last.sum(), self.p)
        return (dot(self.p, self.y), start), (0.0, end)

    def lines(self, z: np.ndarray) -> Lines:
        points = []
        for each in z.tolist():
            q = self.posterior(each)
            x, size = dot(q, self.y), self.divergence.size(q, self.p)
            points.append((x, size, math.exp(each), size + math.exp(each) * x))
        return Lines(*np.array(points).T)

    def density(self, strength: Numbers, y: np.ndarray) -> np.ndarray:
        from scipy.optimize import brentq

        ratios = self.divergence.slope_inverse

        def excess(theta: float) -> float:
            return dot(self.p, ratios(theta - strength * y)) - 1.0

        # At θ = f'(1) no ratio is above one; at θ = f'(1) + β·spread none is below.
        middle = float(self.divergence.gradient(np.ones(1), np.ones(1))[0])
        theta = brentq(excess, middle - 1e-9, middle + strength * self.spread + 1e-9, xtol=1e-300, rtol=1e-15)
        return ratios(theta - strength * y)
