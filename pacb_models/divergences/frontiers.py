r"""Frontiers between empirical risk and divergence: their points, and the lines that support them.

A frontier is followed by its *strength* ``s`` from zero, the prior, to infinity, all weight on the smallest risk; the
coordinate is :math:`z = \ln s`. Risks are measured from the smallest one, :math:`x = L - \min_i l_i`, so that none of
their digits are lost. Nothing here is trusted: a line counts when :mod:`pacb_models.proofs` has computed it again from
its row of numbers.
"""

import math
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..numerics.elementwise import Numbers, functions_of
from ..numerics.inner import PIECE, dot

#: Numbers formed at a time: they stay in the processor's cache, and their memory is not asked of the system each time.
BLOCK = 1 << 16
#: Risks this close to the smallest count as equal to it: no bound can tell, and products of gaps must not underflow.
EQUAL = 1e-100
#: The largest coordinate whose strength is formed; exp overflows soon after.
LARGEST = 690.0


class Lines(NamedTuple):
    r"""Points of a frontier and the lines that support it there: :math:`T + \gamma x \ge h` for every posterior.

    ``x`` is the empirical risk above the smallest risk, ``T`` the size; each an array, or a number.
    """

    x: Numbers
    T: Numbers
    slope: Numbers
    height: Numbers


class Frontier:
    """The frontier of a set of classifiers."""

    #: True when all weight is on the smallest risk from some strength on, and not in the limit only.
    finite = True
    #: The smallest risk of a posterior, above that of all classifiers.
    floor = 0.0

    def __init__(self, risks: np.ndarray, prior: np.ndarray) -> None:
        self.least = risks.item(risks.argmin())
        self.y, self.p = risks - self.least, prior
        self.y[self.y <= EQUAL] = 0.0
        self.spread = self.y.item(self.y.argmax())

    @cached_property
    def last(self) -> float:
        """A coordinate from which on all weight, but for rounding, is on the smallest risk."""
        return -math.log(np.minimum.reduce(self.y, where=self.y > 0.0, initial=math.inf))

    def spent(self, lines: int, most: int) -> bool:
        """Return True when no more than so many lines are to be drawn, whatever is open."""
        return lines > most

    @property
    def mass_at_least(self) -> float:
        """The prior weight of the smallest risk."""
        return float(np.add.reduce(self.p[self.y == 0.0]))

    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return both ends as :math:`(x, T)`: the prior, and all weight on the smallest risk."""
        raise NotImplementedError

    def risk(self, x: Numbers) -> Numbers:
        """Return the empirical risk that is so far above the smallest one."""
        lib = functions_of(x)
        return lib.minimum(lib.maximum(self.least + x, 0.0), 1.0)

    def lines(self, z: np.ndarray) -> Lines:
        """Return the lines at some coordinates."""
        raise NotImplementedError

    def around(self, z: float, distances: np.ndarray) -> np.ndarray:
        """Return coordinates around one whose line was drawn; theirs need not touch."""
        return z + distances

    def line(self, z: float) -> Lines:
        """Return the line at one coordinate, as numbers."""
        return Lines(*(float(values[0]) for values in self.lines(np.array([z]))))

    def rows(self, z: np.ndarray) -> np.ndarray:
        """Return the numbers by which a proof gives the lines at some coordinates."""
        rows = np.ones((z.size, 3))
        np.exp(np.minimum(z, LARGEST), out=rows[:, 0])
        return rows

    def at_slope(self, slope: float) -> float:
        r"""Return where the line has the slope γ, and :math:`T + \gamma x` is smallest."""
        return math.log(slope)

    def posterior(self, z: float) -> np.ndarray:
        """Return the posterior at a coordinate, in the order of the risks; infinity is the end."""
        if z == -math.inf:
            # The prior of a part of the classifiers does not sum to one.
            mass = float(np.add.reduce(self.p))
            return self.p.copy() if abs(mass - 1.0) < 1e-12 else self.p / mass
        density = 1.0 * (self.y == 0.0) if z == math.inf else self.density(math.exp(min(z, LARGEST)), self.y)
        # Divided first: products with the smallest prior weights must not lose digits below the normal range.
        density /= dot(density, self.p)
        density *= self.p
        return density

    def density(self, strength: Numbers, y: np.ndarray) -> np.ndarray:
        """Return posterior over prior, up to a factor, at a strength; for an array of them, a row each."""
        raise NotImplementedError

    def blocks(self, count: int) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        """Return risks and prior weights of classifiers, so few that their densities at so many strengths stay in the
        cache, and that products with them stay on one thread."""
        length = min(BLOCK // count or 1, PIECE)
        if self.y.size <= length:
            return ((self.y, self.p),)
        return ((self.y[i : i + length], self.p[i : i + length]) for i in range(0, self.y.size, length))
