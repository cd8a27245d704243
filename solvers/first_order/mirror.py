r"""Mirror descent with Barzilai–Borwein steps; the mirror map is the divergence's own statistic.

With :math:`\psi(q) = \sum_i p_i f(q_i/p_i)` as mirror map (Nemirovski and Yudin; Beck and Teboulle, Oper. Res. Lett.
31, 2003), the step of length ``s`` moves the mirror coordinates :math:`u_i = f'(q_i/p_i)`, but for a constant factor,
by :math:`-s\,g_i`, and goes back to the simplex:

* KL divergence, :math:`u_i = \ln q_i`: :math:`q^+_i \propto q_i e^{-s g_i}`, so that weights stay positive;
* Rényi order α, :math:`u_i = (q_i/p_i)^{\alpha-1}`: :math:`q^+_i = p_i (u_i - s g_i - \theta)_+^{1/(\alpha-1)}` with
  the level θ for which the weights sum to one. For χ² that is the projected gradient step of :mod:`.spectral`. From
  order 12 on the coordinates are those of order 12: any of them go with any bound, and larger powers lose the digits
  of the small ones.

In these coordinates the divergence's part of the bound is as simple as can be: with :math:`s = 1/F_D` (up to the
factor) the step is the paper's fixed-point map. The length :math:`\langle\Delta u, \Delta q\rangle / \langle\Delta g,
\Delta q\rangle` is found from the slopes alone.

Direct bounds have coordinates of another order, :func:`~pacb_models.solvers.coordinates.suitable_order`.
"""

from collections.abc import Iterator

import numpy as np
from scipy.optimize import brentq

from pacb_models.numerics.inner import dot

from ..coordinates import suitable_order
from ..oracle import Iterate, Oracle
from .descent import SHORTENINGS, SUFFICIENT, FirstOrder, barzilai_borwein, first_step


class Entropy:
    """Coordinates ln q. They are kept beside the weights, so that a weight that underflows may come back."""

    def coordinates(self, q: np.ndarray) -> np.ndarray:
        """Return the mirror coordinates of a posterior."""
        return np.log(np.maximum(q, np.finfo(float).tiny))

    def posterior(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the posterior whose coordinates are ``u`` but for a constant, and those coordinates."""
        u = u - u.max()
        weights = np.exp(u)
        return weights / weights.sum(), u


class PowerMap:
    r"""Coordinates :math:`(q_i/p_i)^{\alpha-1}`. At order two it is the projection in the metric of the prior."""

    def __init__(self, prior: np.ndarray, order: float):
        self.prior, self.exponent = prior, 1.0 / (order - 1.0)

    def coordinates(self, q: np.ndarray) -> np.ndarray:
        ratios: np.ndarray = q / self.prior
        return ratios if self.exponent == 1.0 else ratios ** (1.0 / self.exponent)

    def posterior(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        theta = michelot(u, self.prior) if self.exponent == 1.0 else level(u, self.prior, self.exponent)
        u = np.maximum(u - theta, 0.0)
        # Scaled, lest a high power overflow; the sum is one but for rounding anyway.
        weights = self.prior * (u if self.exponent == 1.0 else (u / u.max()) ** self.exponent)
        return weights / weights.sum(), u


def michelot(ratios: np.ndarray, prior: np.ndarray) -> float:
    r"""Return the level θ with :math:`\sum_i p_i (u_i - \theta)_+ = 1`. Michelot's iteration: solve for the level as if
    every weight were positive, drop those that are not, repeat. The level rises to its value in a few passes over ever
    fewer weights. Where ratios are so large that one is less than their rounding, the largest of them has all the
    weight."""
    while True:
        level = (dot(prior, ratios) - 1.0) / float(prior.sum())
        above = ratios > level
        count = np.count_nonzero(above)
        if count == above.size:
            return level
        if count == 0:
            return float(np.nextafter(ratios.max(), -np.inf))
        ratios, prior = ratios[above], prior[above]


def level(u: np.ndarray, prior: np.ndarray, exponent: float) -> float:
    r"""Return the θ with :math:`\sum_i p_i (u_i - \theta)_+^k = 1`, ``k`` the exponent. A root of the ``k``-norm
    :math:`(\sum_i p_i (u_i - \theta)_+^k)^{1/k} - 1`, which falls nearly along a straight line."""
    highest, lowest = float(u.max()), float(u.min())

    def excess(theta: float) -> float:
        scale, above = highest - theta, u > theta
        return scale * dot(prior[above], ((u[above] - theta) / scale) ** exponent) ** (1.0 / exponent) - 1.0

    # The largest coordinate alone makes the sum one at the left end; at the right end no power exceeds one. At large
    # orders coordinates are so large that one is less than their rounding: the largest must stay above the right end.
    # One below the least of them the weights alone make it one, which is nearer where the largest has a small weight.
    high = min(highest - 1.0, np.nextafter(highest, -np.inf))
    alone = highest - prior[u.argmax()] ** (-1.0 / exponent)
    low = min(max(alone, min(lowest - 1.0 - 1e-6, np.nextafter(lowest, -np.inf))), high)
    if not (excess(low) > 0.0 > excess(high)):
        return float(low if excess(low) <= 0.0 else high)
    return float(brentq(excess, low, high, xtol=2.0**-1000, maxiter=1000))


class MirrorDescent(FirstOrder):
    """Steps of Barzilai–Borwein length in the coordinates that suit the divergence, for any bound with slopes.

    A handful of iterations on most problems, whatever the number of classifiers.
    """

    name = "mirror"

    def iterates(self, oracle: Oracle, point: Iterate) -> Iterator[Iterate]:
        order = suitable_order(oracle.problem)
        # Powers of a hundred are more than floating-point numbers bear.
        mirror = PowerMap(oracle.problem.prior, min(order, 12.0)) if order > 1.0 else Entropy()
        u, length = mirror.coordinates(point.q), first_step(point.slopes)
        while True:
            for _ in range(SHORTENINGS):
                q, coordinates = mirror.posterior(u - length * point.slopes)
                moved, bound = q - point.q, oracle.value(q)
                if bound <= oracle.ceiling + SUFFICIENT * dot(point.slopes, moved):
                    break
                length *= 0.25
            else:
                return
            slopes = oracle.slopes(q)
            length = barzilai_borwein(length, dot(coordinates - u, moved), dot(slopes - point.slopes, moved))
            u, point = coordinates, Iterate(q, bound, slopes)
            yield point


SOLVER = MirrorDescent()
