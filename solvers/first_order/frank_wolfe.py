r"""Pairwise Frank–Wolfe: weight moves from the classifier with the largest slope to the one with the smallest.

Each iteration takes the pair :math:`s = \mathrm{argmin}_i g_i` and, among classifiers with weight,
:math:`a = \mathrm{argmax}_i g_i`, and moves weight along :math:`e_s - e_a` (Lacoste-Julien and Jaggi, NIPS 2015). The
length follows Pedregosa, Negiar, Askari and Jaggi (AISTATS 2020): the minimiser of a parabola whose bend ``M`` is kept
from step to step, doubled where the bound lies above the parabola. The bend is per unit of the prior's norm,
:math:`1/p_s + 1/p_a`, where for χ² it is nearly the same for all pairs.

There is no projection and an iterate is a sparse update of the one before; but a posterior that rests on a thousand
classifiers takes many thousands of pairs.
"""

from collections.abc import Iterator

import numpy as np

from ..oracle import Iterate, Oracle
from .descent import SHORTENINGS, FirstOrder


class FrankWolfe(FirstOrder):
    """Weight is moved between two classifiers at a time, for bounds whose slopes are finite at weight zero.

    No projection, sparse steps; thousands of iterations where the optimum rests on many classifiers.
    """

    name = "frank-wolfe"
    needs_finite_slopes = True

    def iterates(self, oracle: Oracle, point: Iterate) -> Iterator[Iterate]:
        prior, bend = oracle.problem.prior, 0.0
        while True:
            towards = int(point.slopes.argmin())
            away = int(np.where(point.q > 0.0, point.slopes, -np.inf).argmax())
            promised = float(point.slopes[away] - point.slopes[towards])
            if not promised > 0.0:
                return
            norm, longest = 1.0 / prior[towards] + 1.0 / prior[away], point.q[away]
            bend = bend or promised / (norm * longest)
            for _ in range(SHORTENINGS):
                length = min(promised / (bend * norm), longest)
                q = point.q.copy()
                q[towards] += length
                q[away] -= length
                bound = oracle.value(q)
                if bound <= oracle.ceiling - length * promised + 0.5 * length**2 * bend * norm:
                    break
                # It was too small.
                bend *= 2.0
            else:
                return
            # A step that ends at weight zero says nothing of a smaller bend; after others it is tried a little smaller.
            bend *= 0.9 if length < longest else 1.0
            point = Iterate(q, bound, oracle.slopes(q))
            yield point


SOLVER = FrankWolfe()
