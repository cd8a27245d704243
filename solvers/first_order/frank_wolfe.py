r"""Pairwise Frank–Wolfe: weight moves from the classifier with the largest slope to the one with the smallest.

Each iteration takes the pair :math:`s = \mathrm{argmin}_i g_i` and, among classifiers with weight,
:math:`a = \mathrm{argmax}_i g_i`, and moves weight along :math:`e_s - e_a` (Lacoste-Julien and Jaggi, NIPS 2015). The
length follows Pedregosa, Negiar, Askari and Jaggi (AISTATS 2020): the minimiser of a parabola whose bend ``M`` is kept
from step to step, doubled where the bound lies above the parabola. The bend is per unit of the prior's norm,
:math:`1/p_s + 1/p_a`, where for χ² it is nearly the same for all pairs.

There is no projection and an iterate is a sparse update of the one before; but a posterior that rests on a thousand
classifiers takes many thousands of pairs.
"""

from __future__ import annotations

import numpy as np

from pacb_models.solution import Outcome

from ..options import Iterative
from ..oracle import Oracle
from .descent import SHORTENINGS, FirstOrder, Iterate, descend


class _Pairwise:
    def __init__(self, prior: np.ndarray):
        self.prior = prior
        self.bend: float | None = None

    def step(self, oracle: Oracle, point: Iterate, ceiling: float) -> Iterate | None:
        q, slopes = point.q, point.slopes
        towards = int(slopes.argmin())
        away = int(np.where(q > 0.0, slopes, -np.inf).argmax())
        promised = float(slopes[away] - slopes[towards])
        if not promised > 0.0:
            return None
        norm = 1.0 / self.prior[towards] + 1.0 / self.prior[away]
        longest = q[away]
        bend = promised / (norm * longest) if self.bend is None else self.bend
        for _ in range(SHORTENINGS):
            length = min(promised / (bend * norm), longest)
            moved = q.copy()
            moved[towards] += length
            moved[away] -= length
            bound = oracle.value(moved)
            if bound <= ceiling - length * promised + 0.5 * length**2 * bend * norm:
                # A step that ends at weight zero says nothing of a smaller bend.
                # After each step the bend is tried a little smaller.
                self.bend = 0.9 * bend if length < longest else bend
                return Iterate(moved, bound, oracle.slopes(moved))
            # It was too small.
            bend *= 2.0
        return None


class FrankWolfe(FirstOrder):
    """Weight is moved between two classifiers at a time, for bounds whose slopes are finite at weight zero.

    No projection, sparse steps; thousands of iterations where the optimum rests on many classifiers. It ends in the
    minimum next to its start.
    """

    name = "frank-wolfe"
    needs_finite_slopes = True

    def minimise(self, oracle: Oracle, start: np.ndarray, options: Iterative) -> Outcome:
        return descend(oracle, _Pairwise(oracle.problem.prior).step, start, options)


SOLVER = FrankWolfe()
