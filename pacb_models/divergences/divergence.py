r"""What every divergence offers.

Every bound of the package depends on the posterior through its empirical risk :math:`L = \sum_i q_i l_i` and one
separable sum :math:`D = \sum_i p_i f(q_i/p_i)`, ``f`` convex, here called the *statistic*. The divergence turns it into
the budget of the distance.

**The frontier.** Posteriors that minimise ``D`` for their own ``L`` form a path with one parameter, from the prior to
all weight on the smallest risk. At each of its points the frontier of all :math:`(L, D)` has a supporting line
:math:`D + \beta L \ge d`, and the path's point is where it touches: the minimiser of :math:`D + \beta L` has
:math:`f'(q_i/p_i) = \theta - \beta l_i`. A divergence with the method ``slope_inverse``, the inverse of ``f'``, has
supporting lines (:class:`.frontiers.Frontier`), and with them the certified global solver; ours have closed forms.

**Size.** Lines are drawn in coordinates in which the budget is concave and numbers stay in range: ``size``, which is
the statistic unless a divergence says otherwise (Rényi orders: its root).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..numerics.elementwise import Numbers

if TYPE_CHECKING:
    from ..models.algebra import Algebra
    from ..models.convex import Cone
    from .frontiers import Frontier
    from .ordered_supports import OrderedSupports


class Budget(NamedTuple):
    """The budget as a function of the statistic, with two derivatives; numbers or arrays."""

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
    #: True when the gradient of the statistic is minus infinity at weight zero, so that optima have full support.
    steep: bool = False

    # -- The statistic -----------------------------------------------------------------------------------------------

    def statistic(self, q: np.ndarray, p: np.ndarray) -> float:
        """The separable sum ``D``."""
        raise NotImplementedError

    def gradient(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Derivatives of ``D`` with respect to the weights."""
        raise NotImplementedError

    def curvature(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The diagonal of the Hessian of ``D`` (its other entries are zero)."""
        raise NotImplementedError

    def value(self, statistic: float) -> float:
        """The divergence itself: zero when posterior and prior agree."""
        raise NotImplementedError

    # -- The budget --------------------------------------------------------------------------------------------------

    def coefficient(self, constant: float, log_constant: float, delta: float) -> float:
        """What the budget needs of the moment constant and the confidence, computed once per problem."""
        raise NotImplementedError

    def budget(self, statistic: Numbers, coefficient: Numbers, exponent: Numbers) -> Budget:
        """The budget for the distance."""
        raise NotImplementedError

    # -- The same in terms of the size -------------------------------------------------------------------------------

    def size(self, q: np.ndarray, p: np.ndarray) -> float:
        """The statistic, or a function of it that stays in the range of floating point."""
        return self.statistic(q, p)

    def sizes(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The sizes of many posteriors, one in each row."""
        return np.array([self.size(*pair) for pair in zip(q, np.broadcast_to(p, q.shape), strict=True)])

    def size_gradient(self, q: np.ndarray, p: np.ndarray, size: float) -> np.ndarray:
        """Derivatives of the size with respect to the weights."""
        return self.gradient(q, p)

    def size_curvature(self, q: np.ndarray, p: np.ndarray, size: float) -> tuple[np.ndarray, float]:
        """The Hessian of the size: its diagonal, and the multiple of the gradient's square that is added to it."""
        return self.curvature(q, p), 0.0

    def size_budget(self, size: Numbers, coefficient: Numbers, exponent: Numbers) -> Budget:
        """The budget as a function of the size; it must be concave."""
        return self.budget(size, coefficient, exponent)

    def value_of_size(self, size: float) -> float:
        """The divergence itself."""
        return self.value(size)

    def values(self, sizes: np.ndarray) -> np.ndarray:
        """The divergences of many sizes."""
        return np.array([self.value_of_size(size) for size in sizes.tolist()])

    # -- Optional ----------------------------------------------------------------------------------------------------

    def slope_inverse(self, slope: np.ndarray) -> np.ndarray:
        """The ratio :math:`q/p \\ge 0` at which :math:`f'` has a slope; zero where no ratio has so small a one."""
        raise NotImplementedError

    def frontier(self, risks: np.ndarray, prior: np.ndarray, uniform: bool) -> Frontier:
        """The frontier between empirical risk and size of a set of classifiers.

        This one needs ``slope_inverse``, and no more.
        """
        from .frontiers import SeparableFrontier

        return SeparableFrontier(self, risks, prior)

    def summed_frontier(self, risks: np.ndarray, prior: np.ndarray) -> Frontier:
        """The frontier whose lines are sums over the classifiers, with ``potential``: for limits on the support."""
        return self.frontier(risks, prior, False)

    def row_frontiers(self, risks: np.ndarray, prior: np.ndarray, uniform: bool) -> Any:
        """The frontiers of many sets of classifiers, a row each, whose lines are found together."""
        raise NotImplementedError

    def sorted_frontier(self, risks: np.ndarray, prior: np.ndarray, uniform: bool) -> Frontier:
        """The same for many lines one after the other: the risks are sorted where that makes every line cheap."""
        return self.frontier(risks, prior, uniform)

    def supports(self, risks: np.ndarray, prior: np.ndarray) -> OrderedSupports:
        """Sums over the sets of the smallest risks, for a divergence whose optimal posteriors have closed forms on
        them."""
        raise NotImplementedError

    def cone(self) -> Cone:
        """The cone that the budget is, for affine distances; see :mod:`pacb_models.models.convex`."""
        raise NotImplementedError

    def express(self, algebra: Algebra, ratios: Any) -> Any:
        """The budget as an expression of an algebraic model; see :class:`~pacb_models.models.algebra.Algebra`.

        ``ratios`` are the vector ``q/p``. The variable and the constraint that tie the size to it are added to the
        model through ``algebra``, which has coefficient, exponent and the size's value at the start.
        """
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
