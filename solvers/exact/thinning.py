"""Few lines of a search that prove the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .search import Search


def needed(search: Search) -> NDArray[np.float64]:
    """The coordinates of few lines that show the same: from each one the furthest that leaves no vertex open."""
    lines, floor, chosen = search.polygon()[2], search.frontier.floor, list[float]()
    z, slope, height = search.points[[0, 3, 4]][:, lines]
    s, h, i = 0.0, search.start[1], -1
    with np.errstate(all="ignore"):
        while i + 1 < z.size:
            if chosen and search.reaches(np.array([floor]), np.array([h - s * floor]), search.claim):
                break
            x = np.clip((height[i + 1 :] - h) / (slope[i + 1 :] - s), floor, None)
            good = np.flatnonzero(search.reaches(x, h - s * x, search.claim))
            i += int(good[-1]) + 1 if good.size else 1
            s, h = slope[i].item(), height[i].item()
            chosen.append(z[i])
    return np.array(chosen)
