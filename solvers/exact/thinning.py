"""Few lines of a search that prove the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .search import Search


def needed(search: Search) -> NDArray[np.float64]:
    """The coordinates of few lines that show as much: every second one goes where no vertex opens, until none can."""
    lines, first, idle = search.points[[0, 3, 4]][:, search.polygon()[2]], 0, 0
    with np.errstate(all="ignore"):
        # Those at odd places and those at even ones in turn.
        while idle < 2:
            (_, s, h), (_, steeper, higher) = lines[:, first:-2:2], lines[:, first + 2 :: 2]
            x = np.maximum((higher - h) / (steeper - s), search.frontier.floor)
            used = np.ones(lines.shape[1], dtype=bool)
            used[first + 1 : -1 : 2] = ~search.reaches(x, h - s * x, search.claim)
            idle = idle + 1 if used.all() else 0
            lines, first = lines[:, used], 1 - first
    return lines[0]
