r"""Spectral projected gradient in the metric of the prior, for χ² and Rényi orders.

Birgin, Martínez and Raydan's method (SIAM J. Optim. 10, 2000) with the norm :math:`\sum_i d_i^2/p_i`, in which the
Hessian of the χ² statistic is twice the identity: what is left of the bound's is a matrix of rank two. The projected
step of length ``s`` from ``q`` is

.. math:: q^+_i = p_i\,(q_i/p_i - s\,g_i - \theta)_+, \qquad \textstyle\sum_i q^+_i = 1,

and with :math:`s = 1/(2 F_D)` it is one step of the paper's fixed-point map; the Barzilai–Borwein step finds that
length, and better ones, from the slopes alone.
"""

from collections.abc import Iterator

from pacb_models.numerics.inner import dot

from ..oracle import Iterate, Oracle
from .descent import SHORTENINGS, SUFFICIENT, FirstOrder, barzilai_borwein, first_step
from .mirror import PowerMap


class SpectralProjectedGradient(FirstOrder):
    """Projected gradients with Barzilai–Borwein steps, for bounds whose slopes are finite at weight zero.

    A handful of iterations on most χ² problems, whatever the number of classifiers; many at Rényi orders near one,
    whose curvature is that of the KL divergence and not of the prior's metric (``mirror`` adapts to them).
    """

    name = "spg"
    needs_finite_slopes = True

    def iterates(self, oracle: Oracle, point: Iterate) -> Iterator[Iterate]:
        prior, length = oracle.problem.prior, first_step(point.slopes)
        mirror = PowerMap(prior, 2.0)
        while True:
            target, _ = mirror.posterior(mirror.coordinates(point.q) - length * point.slopes)
            direction = target - point.q
            promised, share = dot(point.slopes, direction), 1.0
            if not promised < 0.0:
                return
            for _ in range(SHORTENINGS):
                # The target itself, not q plus the direction: its zeros are zeros.
                q = target if share == 1.0 else point.q + share * direction
                bound = oracle.value(q)
                if bound <= oracle.ceiling + SUFFICIENT * share * promised:
                    break
                # The minimiser of the parabola through both values and the slope, within safe limits.
                parabola = -0.5 * share * promised / (bound - point.bound - share * promised)
                share *= min(max(parabola, 0.1), 0.5)
            else:
                return
            slopes, moved = oracle.slopes(q), q - point.q
            length = barzilai_borwein(length, dot(moved / prior, moved), dot(moved, slopes - point.slopes))
            point = Iterate(q, bound, slopes)
            yield point


SOLVER = SpectralProjectedGradient()
