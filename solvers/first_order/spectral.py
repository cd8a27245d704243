r"""Spectral projected gradient in the metric of the prior, for χ² and Rényi orders.

Birgin, Martínez and Raydan's method (SIAM J. Optim. 10, 2000) with the norm :math:`\sum_i d_i^2/p_i`, in which the
Hessian of the χ² statistic is twice the identity: what is left of the bound's is a matrix of rank two. The projected
step of length ``s`` from ``q`` is

.. math:: q^+_i = p_i\,(q_i/p_i - s\,g_i - \theta)_+, \qquad \textstyle\sum_i q^+_i = 1,

and with :math:`s = 1/(2 F_D)` it is one step of the paper's fixed-point map; the Barzilai–Borwein step finds that
length, and better ones, from the slopes alone.
"""

from __future__ import annotations

import numpy as np

from pacb_models.numerics.inner import dot
from pacb_models.solution import Outcome

from ..options import Iterative
from ..oracle import Oracle
from .descent import SHORTENINGS, SUFFICIENT, FirstOrder, Iterate, barzilai_borwein, descend, first_step
from .mirror import PowerMap


class _Spectral:
    def __init__(self, prior: np.ndarray):
        self.prior, self.mirror = prior, PowerMap(prior, 2.0)
        self.length: float | None = None

    def step(self, oracle: Oracle, point: Iterate, ceiling: float) -> Iterate | None:
        if self.length is None:
            self.length = first_step(point.slopes)
        target, _ = self.mirror.posterior(self.mirror.coordinates(point.q) - self.length * point.slopes)
        direction = target - point.q
        promised = dot(point.slopes, direction)
        if not promised < 0.0:
            return None
        share = 1.0
        for _ in range(SHORTENINGS):
            # The target itself, not q plus the direction: its zeros are zeros.
            q = target if share == 1.0 else point.q + share * direction
            bound = oracle.value(q)
            if bound <= ceiling + SUFFICIENT * share * promised:
                break
            # The minimiser of the parabola through both values and the slope, within safe limits.
            parabola = -0.5 * share * promised / (bound - point.bound - share * promised)
            share *= min(max(parabola, 0.1), 0.5)
        else:
            return None
        slopes = oracle.slopes(q)
        moved = q - point.q
        self.length = barzilai_borwein(self.length, dot(moved / self.prior, moved), dot(moved, slopes - point.slopes))
        return Iterate(q, bound, slopes)


class SpectralProjectedGradient(FirstOrder):
    """Projected gradients with Barzilai–Borwein steps, for bounds whose slopes are finite at weight zero.

    A handful of iterations on most χ² problems, whatever the number of classifiers; many at Rényi orders near one,
    whose curvature is that of the KL divergence and not of the prior's metric (``mirror`` adapts to them). It ends in
    the minimum next to its start.
    """

    name = "spg"
    needs_finite_slopes = True

    def minimise(self, oracle: Oracle, start: np.ndarray, options: Iterative) -> Outcome:
        return descend(oracle, _Spectral(oracle.problem.prior).step, start, options)


SOLVER = SpectralProjectedGradient()
