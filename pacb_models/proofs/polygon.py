r"""The polygon above supporting lines, :math:`T \ge h_j - \gamma_j x` and :math:`x \ge x_{min}`.

**The minimum of a concave function over it is at a vertex**, if the function increases in both arguments. What is
computed here needs no exact vertices: for *any* places :math:`x_1 \ge \dots \ge x_n`, the polygon lies above the path
that follows line ``j`` from :math:`x_{j-1}` to :math:`x_j`. A concave function is smallest at the ends of each of its
pieces, so that the lower one of both lines at each place is enough. Places are where neighbouring lines meet; rounding
moves them, and costs nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def vertices(
    slope: NDArray[np.float64], height: NDArray[np.float64], base: float, floor: float, widest: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]:
    """Places from the widest to the floor with the height of the polygon there, and the lines that were used, by
    increasing slope; the first place is where the level line at ``base`` ends."""
    level = slope <= 0.0
    if level.any():
        base = max(base, float(height[level].max()))
    order = np.flatnonzero(~level)
    order = order[np.lexsort((height[order], slope[order]))]
    s, h = np.append(0.0, slope[order]), np.append(base, height[order])
    # Steeper lines than the one that is highest at the floor are below it everywhere.
    last = int(np.argmax(h - s * floor)) + 1
    order, s, h = order[: last - 1], s[:last], h[:last]
    meets = _meets(s, h)
    # A line that is nowhere the highest meets the next one before it meets the last.
    while (hidden := meets[1:] >= meets[:-1]).any():
        kept = np.concatenate(([True], ~hidden, [True]))
        order, s, h = order[kept[1:]], s[kept], h[kept]
        meets = _meets(s, h)
    # A little before they meet, where the steeper line is the higher one whatever rounding does to it.
    x = np.minimum.accumulate(np.append(np.clip(meets * (1.0 - 2.0**-50), floor, widest), floor))
    here = h - s * x
    here[:-1] = np.minimum(here[:-1], h[1:] - s[1:] * x[:-1])
    return x, here, order


def _meets(s: NDArray[np.float64], h: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where each line meets the next one; of two with the same slope the second one is the higher everywhere."""
    steeper = s[1:] - s[:-1]
    return np.divide(h[1:] - h[:-1], steeper, out=np.full(steeper.size, np.inf), where=steeper > 0.0)
