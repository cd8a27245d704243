"""What a search hands over: few lines that prove the same, and the minima."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pacb_models.proofs import Leaf, Proof
from pacb_models.solution import LocalMinimum, Outcome

from .search import Search


def outcome(search: Search, leaf: Leaf) -> Outcome:
    """The best minimum with its proof, and the other minima that were met."""
    best, *others = search.minima
    posterior, value = search.frontier.posterior, search.problem.divergence_function.value
    message = "the search met no other local minimum."
    if others:
        message = f"the search met {len(search.minima)} local minima; this is the best of them."
    minima = tuple(
        LocalMinimum(each.bound, each.L, value(each.size), int(np.count_nonzero(posterior(each.z)))) for each in others
    )
    proof = Proof(leaf, search.claim)
    return Outcome(posterior(best.z), "optimal", message, search.evaluations, proof=proof, local_minima=minima)


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
