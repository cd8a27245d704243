r"""The polygon above supporting lines, :math:`T \ge h_j - \gamma_j x` and :math:`x \ge x_{min}`.

**The minimum of a concave function over it is at a vertex**, if the function increases in both arguments. What is
computed here needs no exact vertices: for *any* places :math:`x_1 \ge \dots \ge x_n`, the polygon lies above the path
that follows line ``j`` from :math:`x_{j-1}` to :math:`x_j`. A concave function is smallest at the ends of each of its
pieces, so that the lower one of both lines at each place is enough. Places are where neighbouring lines meet; rounding
moves them, and costs nothing.
"""

import numpy as np
from numpy.typing import NDArray


def vertices(
    slope: NDArray[np.float64], height: NDArray[np.float64], base: float, floor: float, widest: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]:
    """Return places from the widest to the floor with the height of the polygon there, and the lines that were used, by
    increasing slope; the first place is where the level line at ``base`` ends."""
    order = np.lexsort((height, slope))
    level = int(slope[order].searchsorted(0.0, side="right"))
    if level:
        base, order = max(base, float(height[order[:level]].max())), order[level:]
    s, h = np.zeros(order.size + 1), np.full(order.size + 1, base)
    s[1:], h[1:] = slope[order], height[order]
    # Steeper lines than the one that is highest at the floor are below it everywhere.
    last = int((h - s * floor).argmax()) + 1
    order, s, h = order[: last - 1], s[:last], h[:last]
    while True:
        # Where each line meets the next one. Of two with the same slope the second one is the higher everywhere.
        with np.errstate(over="ignore"):
            meets = (h[1:] - h[:-1]) / np.maximum(s[1:] - s[:-1], 1e-200)
        # A line that is nowhere the highest meets the next one before it meets the last.
        hidden = meets[1:] >= meets[:-1]
        if not hidden.any():
            break
        used = np.ones(s.size, dtype=bool)
        used[1:-1] = ~hidden
        order, s, h = order[used[1:]], s[used], h[used]
    # A little before they meet, where the steeper line is the higher one whatever rounding does to it.
    x = np.full(s.size, floor)
    np.minimum(np.maximum(meets * (1.0 - 2.0**-50), floor), widest, out=x[:-1])
    np.minimum.accumulate(x, out=x)
    here = h - s * x
    np.minimum(here[:-1], h[1:] - s[1:] * x[:-1], out=here[:-1])
    return x, here, order
