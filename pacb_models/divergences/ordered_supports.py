r"""The supports that can carry an optimal χ² posterior: the ``k`` smallest risks, ``k = 1, …, H``, on prefix sums.

Every optimum has weights :math:`q_i \propto p_i (\mu - l_i)_+`, so its support is a prefix of the risks in
ascending order, for any prior. On the first ``k`` risks, with :math:`P = \sum p`, mean :math:`\bar l = \sum p l /
P` and spread :math:`V = \sum p (l - \bar l)^2`,

.. math:: q_i = p_i\,[1/P + t(\bar l - l_i)], \qquad L = \bar l - tV, \qquad X = 1/P + t^2 V,

where the *slope* ``t`` is what an equation of the paper determines: :math:`t = F_L/(2F_X)` at a stationary point.
The weights are non-negative while :math:`t\,G \le 1`, :math:`G = \sum p\,(l_k - l_i)`; the *level* :math:`\mu =
\bar l + 1/(tP)` says the same in risks.
"""

import numpy as np


class OrderedSupports:
    """Prefix sums over the risks in ascending order; entry ``k - 1`` of each array belongs to the ``k`` smallest.

    Risks are counted from the smallest one, and ``G`` and ``V`` are sums of non-negative terms, so that nothing
    cancels when risks differ in their last digits only.
    """

    def __init__(self, risks: np.ndarray, prior: np.ndarray) -> None:
        self.order = np.argsort(risks, kind="stable")
        self.prior = prior[self.order]
        #: The smallest risk, and the others' excess over it.
        self.least = float(risks[self.order[0]])
        self.excess = risks[self.order] - self.least
        self.P = np.cumsum(self.prior)
        self.mean = np.cumsum(self.prior * self.excess) / self.P
        self.G = np.zeros_like(self.P)
        np.cumsum(self.P[:-1] * np.diff(self.excess), out=self.G[1:])
        growth = np.zeros_like(self.P)
        # Adding risk k to those before it (Welford's update), with l_k - mean_{k-1} = G_k / P_{k-1}.
        np.divide(self.prior[1:] * self.G[1:] ** 2, self.P[:-1] * self.P[1:], out=growth[1:])
        self.V = np.cumsum(growth)
        #: How many classifiers share the smallest risk.
        self.ties = int(np.searchsorted(self.excess, 0.0, side="right"))

    @property
    def size(self) -> int:
        return self.P.size

    def level_at_slope(self, t: float) -> float:
        """Return the level that belongs to a slope on the path of optimal posteriors, counted from the smallest
        risk."""
        # How many weights are positive there.
        k = max(int(np.searchsorted(self.G, 1.0 / t if t > 0.0 else np.inf, side="left")), self.ties)
        return float(self.mean[k - 1] + 1.0 / (t * self.P[k - 1]))

    def point(self, k: int | np.ndarray, t: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(L, X) on support ``k`` at slope ``t``; vectorised over both."""
        excess = np.maximum(self.mean[k - 1] - _product(t, self.V[k - 1]), 0.0)
        return self.least + excess, 1.0 / self.P[k - 1] + _product(t * t, self.V[k - 1])

    def weights(self, k: int, t: float) -> np.ndarray:
        """Return the posterior on support ``k`` at slope ``t``, in the caller's order."""
        posterior = np.zeros(self.size)
        slopes = _product(t, self.mean[k - 1] - self.excess[:k])
        posterior[self.order[:k]] = self.prior[:k] * np.maximum(1.0 / self.P[k - 1] + slopes, 0.0)
        return posterior / posterior.sum()


def _product(t: float | np.ndarray, factor: np.ndarray) -> np.ndarray:
    """``t * factor`` where an infinite slope times a factor of zero, on a support of equal risks, is zero."""
    with np.errstate(invalid="ignore"):
        return np.where(factor == 0.0, 0.0, t * factor)
