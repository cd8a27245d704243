"""The posterior that keeps constraints and is nearest to another one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .posteriors import FEASIBLE, KEPT, Posteriors
from .tilting import Tilting


def nearest(posteriors: Posteriors, q: NDArray[np.float64]) -> NDArray[np.float64]:
    """The posterior that keeps averages, caps and floors and is nearest to one with full support; that one itself if it
    keeps them.

    Nearest in the Kullback–Leibler divergence, whose minimiser has weight wherever it may: interior-point methods begin
    inside.
    """
    from ..divergences.kullback_leibler import KullbackLeibler

    if posteriors.violation(q) <= KEPT:
        return q
    found = Tilting(KullbackLeibler(), np.zeros(q.size), q, posteriors).at(0.0).posterior
    if posteriors.violation(found) <= FEASIBLE:
        return found
    # The set has no inside, and multipliers grow without end.
    return posteriors.minimise(-q)[0]
