"""What a search hands over: few lines that prove the same, and the minima."""

import numpy as np
from numpy.typing import NDArray

from pacb_models.proofs import Leaf, Proof
from pacb_models.solution import LocalMinimum, Outcome

from .search import Search


def outcome(search: Search, leaf: Leaf) -> Outcome:
    """Return the best minimum with its proof, and the other minima that were met."""
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
    """Return the coordinates of few lines that show as much: every eighth one, and those between where a vertex is
    open."""
    z, s, h = search.points[[0, 3, 4]][:, search.visible]
    used = np.arange(z.size) % 8 == 0
    used[-1:] = True
    with np.errstate(all="ignore"):
        while True:
            at = np.flatnonzero(used)
            low, high = at[:-1], at[1:]
            x = np.maximum((h[high] - h[low]) / (s[high] - s[low]), search.frontier.floor)
            open_ = (high - low > 1) & ~search.reaches(x, h[low] - s[low] * x, search.claim)
            if not open_.any():
                return z[used]
            used[(low + high)[open_] // 2] = True
