r"""What every divergence offers.

Every bound of the package depends on the posterior through its empirical risk :math:`L = \sum_i q_i l_i` and the *size*
``T`` of its divergence from the prior, a convex function of the posterior. The divergence turns the size into the
budget of the distance, a concave increasing function. For χ² and Rényi orders the size is a norm of the ratios
:math:`q_i/p_i`, for others a sum :math:`\sum_i p_i f(q_i/p_i)`, ``f`` convex.

**The frontier.** Posteriors that minimise ``T`` for their own ``L`` form a path with one parameter, from the prior to
all weight on the smallest risk. At each of its points the frontier of all :math:`(L, T)` has a supporting line
:math:`T + \gamma L \ge h`, and the path's point is where it touches. A divergence with the method ``slope_inverse``,
the inverse of ``f'``, has supporting lines (:class:`.frontiers.Frontier`), and with them the certified global solver;
ours have closed forms.

**Duality.** Proofs (:mod:`pacb_models.proofs`) rest on one inequality, :math:`T(q) \ge g \cdot q` less the conjugate of
``T`` at any prices ``g``: ``conjugate`` and ``supporting`` are that inequality.
"""

import math
from typing import NamedTuple

import numpy as np

from ..algebra import Algebra, Expression
from ..numerics.elementwise import Numbers
from ..numerics.inner import dot
from .cones import Cone
from .frontiers import LARGEST, Frontier, Lines
from .ordered_supports import OrderedSupports


class Budget(NamedTuple):
    """The budget as a function of the size, with two derivatives; numbers or arrays."""

    value: Numbers
    slope: Numbers
    bend: Numbers


class Divergence:
    """A divergence between posterior ``q`` and prior ``p``."""

    #: Name used by :class:`~pacb_models.BoundProblem`.
    name: str
    #: Rényi order; 1 for Kullback–Leibler, its limit.
    order: float
    #: Which moment of the distance the bound needs: "chi2", "renyi" (of the order) or "kl".
    moments: str
    #: True when the gradient of the size is minus infinity at weight zero, so that optima have full support.
    steep: bool = False
    #: True when the size is homogeneous, a norm of the ratios: its gradient then depends on the size.
    homogeneous: bool = False

    # -- The size ----------------------------------------------------------------------------------------------------

    def size(self, q: np.ndarray, p: np.ndarray) -> float:
        """Return the size ``T``, convex in the weights."""
        raise NotImplementedError

    def gradient(self, q: np.ndarray, p: np.ndarray, size: float) -> np.ndarray:
        """Return derivatives of the size with respect to the weights; ``size`` is the size of ``q``."""
        raise NotImplementedError

    def curvature(self, q: np.ndarray, p: np.ndarray, size: float) -> tuple[np.ndarray, float]:
        """Return the Hessian of the size: its diagonal, and the multiple of the gradient's square that is added to
        it."""
        raise NotImplementedError

    def value(self, size: float) -> float:
        """Return the divergence itself, for display: zero when posterior and prior agree."""
        raise NotImplementedError

    def statistic(self, q: np.ndarray, p: np.ndarray) -> float:
        """Return what the paper's equations are written in: the sum :math:`\\sum_i p_i f(q_i/p_i)`."""
        return self.size(q, p)

    # -- The budget --------------------------------------------------------------------------------------------------

    def coefficient(self, constant: float, log_constant: float, delta: float) -> float:
        """Return what the budget needs of the moment constant and the confidence, computed once per problem."""
        raise NotImplementedError

    def budget(self, size: Numbers, coefficient: Numbers, exponent: Numbers) -> Budget:
        """Return the budget for the distance: concave and increasing in the size."""
        raise NotImplementedError

    def pairs(self, size: Numbers) -> Budget:
        """Return the size of the pairs of classifiers, of the posterior q⊗q from the prior p⊗p, as a function of the
        size of q from p, with two derivatives: increasing and convex."""
        raise NotImplementedError

    # -- Duality -----------------------------------------------------------------------------------------------------

    def slope_inverse(self, slope: np.ndarray) -> np.ndarray:
        """Return the ratio :math:`q/p \\ge 0` at which :math:`f'` has a slope; zero where no ratio has so small a
        one."""
        raise NotImplementedError

    def ratios(self, prices: np.ndarray, size: Numbers, entropy: float = 0.0) -> np.ndarray:
        """Return the ratios :math:`q/p` at which the gradient of the size has given values, where the size is ``size``;
        ``entropy`` times :math:`\\ln(q/p)` is added to the gradient."""
        if entropy == 0.0:
            return self.slope_inverse(prices)
        low, high = np.full(prices.shape, -745.0), np.full(prices.shape, 709.0)
        for _ in range(60):
            middle = 0.5 * (low + high)
            with np.errstate(over="ignore"):
                above = self.prices(np.exp(middle), size) + entropy * middle > prices
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return np.exp(low)

    def prices(self, ratios: np.ndarray, size: Numbers) -> np.ndarray:
        """Return the gradient of the size at given ratios :math:`q/p`, where the size is ``size``."""
        flat = np.ravel(ratios)
        return self.gradient(flat, np.ones(flat.size), 1.0).reshape(np.shape(ratios))

    def speeds(self, q: np.ndarray, p: np.ndarray, prices: np.ndarray, entropy: float = 0.0) -> np.ndarray:
        """Return how fast the weights of :meth:`ratios` move with their prices, at positive weights."""
        return 1.0 / (self.curvature(q, p, 1.0)[0] + entropy / q)

    def conjugate(self, prices: np.ndarray, p: np.ndarray) -> np.ndarray:
        r"""Return what :meth:`supporting` needs of the conjugate, a sum over classifiers, for each row of prices.

        Here :math:`\sum_i p_i f^*(g_i)` with :math:`f^*(g) = g x - f(x)` at :math:`f'(x) = g`, rounded up.
        """
        totals = []
        for g in prices:
            ratios = self.slope_inverse(g)
            used = ratios > 0.0
            gain, size = dot((p * ratios)[used], g[used]), self.size(p * ratios, p)
            totals.append(gain - size + 1e-13 * (abs(gain) + abs(size)))
        return np.array(totals)

    def supporting(self, total: Numbers, gamma: Numbers, level: Numbers) -> tuple[Numbers, Numbers]:
        r"""Return slope and height of the line :math:`T + \gamma' x \ge h`, when :math:`g \cdot q + \gamma x` is at
        least a level for all posteriors and ``total`` is the conjugate of ``g``."""
        return gamma, level - total

    # -- Optional ----------------------------------------------------------------------------------------------------

    def potentials(self, prices: np.ndarray) -> np.ndarray:
        """Return the terms, over their prior weights, that the conjugate is the sum of; none is negative. Limits on the
        support need them one by one. The prices may be overwritten, here and in :meth:`conjugate`."""
        raise NotImplementedError

    def frontier(self, risks: np.ndarray, prior: np.ndarray, uniform: bool) -> Frontier:
        """Return the frontier between empirical risk and size of a set of classifiers.

        This one needs ``slope_inverse``, and no more.
        """
        return SeparableFrontier(self, risks, prior)

    def supports(self, risks: np.ndarray, prior: np.ndarray) -> OrderedSupports:
        """Return sums over the sets of the smallest risks, for a divergence whose optimal posteriors have closed forms
        on them."""
        raise NotImplementedError

    def cone(self) -> Cone:
        """Return the cone that the budget is, for affine distances; see :mod:`pacb_models.divergences.cones`."""
        raise NotImplementedError

    def express(self, algebra: Algebra, ratios: Expression) -> Expression:
        """Return the budget as an expression of an algebraic model; see :class:`~pacb_models.algebra.Algebra`.

        ``ratios`` are the vector ``q/p``. The variable and the constraint that tie the size to it are added to the
        model through ``algebra``, which has coefficient, exponent and the size's value at the start.
        """
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class SeparableFrontier(Frontier):
    r"""The frontier of any divergence with ``slope_inverse``: the strength is γ, and θ normalises the posterior."""

    def __init__(self, divergence: Divergence, risks: np.ndarray, prior: np.ndarray) -> None:
        super().__init__(risks, prior)
        self.divergence = divergence
        self.finite = not divergence.steep

    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        size = self.divergence.size
        first, last = self.posterior(-math.inf), self.posterior(math.inf)
        return (dot(first, self.y), size(first, self.p)), (0.0, size(last, self.p))

    def lines(self, z: np.ndarray) -> Lines:
        points = []
        for each in z.tolist():
            q, gamma = self.posterior(each), math.exp(min(each, LARGEST))
            x, size = dot(q, self.y), self.divergence.size(q, self.p)
            points.append((x, size, gamma, size + gamma * x))
        return Lines(*np.array(points).T)

    def rows(self, z: np.ndarray) -> np.ndarray:
        gammas = np.exp(np.minimum(z, LARGEST)).tolist()
        return np.array([[gamma, self._theta(gamma, self.y), 1.0] for gamma in gammas])

    def _theta(self, gamma: float, y: np.ndarray) -> float:
        from scipy.optimize import brentq

        ratios = self.divergence.slope_inverse

        def excess(theta: float) -> float:
            return dot(self.p, ratios(theta - gamma * y)) - 1.0

        # At θ = f'(1) no ratio is above one; at θ = f'(1) + γ·spread none is below.
        middle = float(self.divergence.prices(np.ones(1), 1.0)[0])
        return float(brentq(excess, middle - 1e-9, middle + gamma * self.spread + 1e-9, xtol=1e-300, rtol=1e-15))

    def density(self, strength: Numbers, y: np.ndarray) -> np.ndarray:
        return self.divergence.slope_inverse(self._theta(strength, y) - strength * y)
