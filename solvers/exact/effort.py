"""How many lines a search may draw."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


def _growing(first: float, factor: float, count: int) -> NDArray[np.float64]:
    """Return zero, and distances to both sides that grow geometrically."""
    found = first * factor ** np.arange(count)
    return np.concatenate((-found, [0.0], found))


class Effort(NamedTuple):
    """Where a search draws lines, and when it stops."""

    #: First coordinates, relative to that of the prior's exchange rate. Of 1254 random problems 48 left fewest rounds.
    net: NDArray[np.float64] = np.linspace(-5.0, 6.75, 48)
    #: Distances of the lines around a minimum: tangents this close leave a gap of about the square of their distance.
    around: NDArray[np.float64] = _growing(1e-6, 4.0, 10)
    #: How far below the best bound, relative to it, a vertex may be.
    gap: float = 5e-13
    #: Rounds after which what is still open is a gap (all random problems needed at most 12), and cuts in one of them.
    rounds: int = 60
    cuts: int = 64
    #: Whether the net reaches the ends of the frontier.
    to_ends: bool = True
    #: Points after which no more are looked for: where minimisers are not found to the last digits, rounding shows
    #: minima without end.
    most: int = 100_000


THOROUGH = Effort()
#: Of many lines on few classifiers those are kept that are needed, with a margin for what differs between the two sets.
BINNED = Effort(around=_growing(1e-6, 1.5, 30), gap=1e-13)
#: Where they are known before, no others are drawn unless an interval is open.
KNOWN = Effort(around=np.zeros(1))
#: Under constraints each line is a minimisation of its own: fewer lines, and a wider gap.
CONSTRAINED = Effort(np.linspace(-3.0, 3.0, 5), _growing(3e-6, 6.0, 6), 2e-11, 24, 8, to_ends=False, most=400)
#: For votes each line is a convex problem of its own.
VOTES = Effort(np.linspace(-3.0, 3.0, 7), _growing(4e-6, 6.0, 6), 2e-11, 24, 8, to_ends=False, most=400)
#: Between two supports the bound may be below that of both, however many lines there are: few rounds are enough.
SUPPORTS = Effort(rounds=6, cuts=8, most=400)
