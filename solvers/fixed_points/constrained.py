r"""The fixed-point scheme under constraints: the map, carried to every convex set of posteriors.

With averages, caps and floors the posteriors that keep them form a convex set ``Q``, and the iteration is

.. math:: q^+ = \mathrm{argmin}_{q \in Q}\; D(q) + \beta L(q), \qquad \beta = F_L(L, D)/F_D(L, D).

**It descends**, for every distance, divergence and prior, and for every convex ``Q``. ``F`` is concave and increases in
both arguments, so that for every ``q'``

.. math:: B(q') = F(L', D') \le F(L, D) + F_L\,(L' - L) + F_D\,(D' - D) = B(q) + F_D\,[D' + \beta L' - D - \beta L],

with equality at ``q``. The next posterior minimises the bracket over ``Q``. As ``q`` itself is in ``Q``, the bracket is
at most zero there, and the bound is at most :math:`B(q)`: majorise, then minimise. Where the bracket cannot be lowered,
:math:`\langle \nabla B(q), q' - q\rangle \ge 0` for all ``q'`` of ``Q``: the posterior is stationary.

The minimisers at all β are the frontier between risk and divergence of ``Q``, here with :math:`z = \ln\beta` as its
coordinate; :class:`~pacb_models.constraints.tilting.Tilting` computes them with their multipliers.
"""

from __future__ import annotations

import math

import numpy as np

from pacb_models.constraints import Posteriors
from pacb_models.constraints.tilting import Tilt, Tilting
from pacb_models.divergences.frontiers import Frontier, Lines
from pacb_models.problem import BoundProblem

#: The largest β: rounding hides what a larger one changes.
STRONGEST = 1e12
#: A smallest risk below this is zero, but for rounding.
NO_RISK = 1e-14


class TiltedFrontier(Frontier):
    """The frontier of the posteriors that keep constraints; the strength is β."""

    def __init__(self, problem: BoundProblem, posteriors: Posteriors) -> None:
        super().__init__(problem.risks, problem.prior)
        self.problem = problem
        self.posteriors = posteriors
        self.end, multipliers = posteriors.minimise(problem.risks)
        least = posteriors.lowest(problem.risks, multipliers)
        self.least = least if least > NO_RISK else 0.0
        self.y = problem.risks - self.least
        self.tilting = self._tilting(posteriors)
        #: The last minimiser, where the next begins.
        self.near: Tilt | None = None

    def _tilting(self, posteriors: Posteriors) -> Tilting:
        return Tilting(self.problem.divergence_function, self.y, self.problem.prior, posteriors)

    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        first, last = (self._place(self.posterior(z)) for z in (-math.inf, math.inf))
        return first, last

    def line(self, z: float) -> Lines:
        x, T = self._place(self.posterior(z))
        slope = self._strength(z) / self._growth(T)
        return Lines(x, T, slope, T + slope * x)

    def posterior(self, z: float) -> np.ndarray:
        if z < math.inf:
            self.near = self.tilting.at(self._strength(z), self.near)
            return self.near.posterior
        if self.least > 0.0:
            return self.end
        # Without risk: classifiers that make errors have no weight.
        return self._tilting(self.posteriors.within(self.y <= 0.0)).at(0.0).posterior

    def _place(self, q: np.ndarray) -> tuple[float, float]:
        """Risk above the smallest, and size."""
        return max(float(np.dot(q, self.y)), 0.0), self.problem.divergence_size(q)

    def towards(self, slope: float, line: Lines) -> float:
        r"""The coordinate of :math:`\beta = F_L/F_D`, from :math:`\gamma = F_L/F_T`."""
        return math.log(slope) + math.log(self._growth(float(line.T)))

    def _strength(self, z: float) -> float:
        return math.exp(min(z, math.log(STRONGEST)))

    def _growth(self, T: float) -> float:
        """How fast the statistic grows with the size: they are the same, but for a size that is a root."""
        divergence = self.problem.divergence_function
        return divergence.order * T ** (divergence.order - 1.0) if getattr(divergence, "rooted", False) else 1.0
