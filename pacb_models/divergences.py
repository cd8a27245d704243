r"""Divergences between posterior ``q`` and prior ``p``, and the budget they leave to the distance.

Every bound of the package depends on the posterior through its empirical risk :math:`L = \sum_i q_i l_i` and one
separable sum :math:`D = \sum_i p_i f(q_i/p_i)`, here called the *statistic*:

* order :math:`\alpha` (χ² is :math:`\alpha = 2`): :math:`D = \sum_i p_i (q_i/p_i)^\alpha`,
  budget :math:`b = D^{1/\alpha} (I/\delta)^{1 - 1/\alpha}`;
* Kullback–Leibler: :math:`D = \sum_i q_i \ln(q_i/p_i)`, budget :math:`b = (D + \ln(I/\delta))/n`, with ``n`` the
  distance's exponent (``m``, or ``2m - 1`` for φ_CH).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .immutable import Immutable


class Budget(NamedTuple):
    """The budget as a function of the statistic, with two derivatives."""

    value: float
    slope: float
    bend: float


class Divergence:
    """What every divergence offers."""

    #: Name used by :class:`~pacb_models.BoundProblem`.
    name: str
    #: Rényi order; 1 for Kullback–Leibler, its limit.
    order: float
    #: Which moment of the distance the bound needs: "chi2", "renyi" (of the order) or "kl".
    moments: str
    #: True when the gradient of the statistic is minus infinity at weight zero, so that optima have full support.
    steep: bool = False

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

    def coefficient(self, constant: float, log_constant: float, delta: float) -> float:
        """What the budget needs of the moment constant and the confidence, computed once per problem."""
        raise NotImplementedError

    def budget(self, statistic: float, coefficient: float, exponent: float) -> Budget:
        """The budget for the distance."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Renyi(Immutable, Divergence):
    r"""Rényi order :math:`\alpha > 1`: :math:`D = \sum_i p_i (q_i/p_i)^\alpha` (Bégin et al., 2016).

    Its ``value`` is :math:`D - 1`, which is χ² at order two and a monotone function of the Rényi divergence
    :math:`\ln(D)/(\alpha - 1)` at any order.
    """

    name = "renyi"
    moments = "renyi"

    def __init__(self, order: float):
        self._set(order=float(order))

    def statistic(self, q: np.ndarray, p: np.ndarray) -> float:
        if self.order == 2.0:
            return float(np.dot(q / p, q))
        with np.errstate(over="ignore"):
            return float(np.dot(p, (q / p) ** self.order))

    def gradient(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        if self.order < 2.0:
            # Near order one the optimum has weights far below the floating-point range whose power α - 1 is not small:
            # as with the KL divergence, a weight that underflowed stands at the smallest normal number.
            q = np.maximum(q, np.finfo(float).tiny)
        ratio = q / p
        if self.order == 2.0:
            return 2.0 * ratio
        with np.errstate(over="ignore"):
            return self.order * ratio ** (self.order - 1.0)

    def curvature(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        if self.order == 2.0:
            return 2.0 / p
        with np.errstate(divide="ignore"):
            return self.order * (self.order - 1.0) * (q / p) ** (self.order - 2.0) / p

    def value(self, statistic: float) -> float:
        return max(statistic - 1.0, 0.0)

    def coefficient(self, constant: float, log_constant: float, delta: float) -> float:
        if self.order == 2.0:
            return math.sqrt(constant / delta)
        return math.exp((log_constant - math.log(delta)) * (1.0 - 1.0 / self.order))

    def budget(self, statistic: float, coefficient: float, exponent: float) -> Budget:
        alpha = self.order
        value = coefficient * (math.sqrt(statistic) if alpha == 2.0 else statistic ** (1.0 / alpha))
        slope = value / (alpha * statistic)
        return Budget(value, slope, (1.0 / alpha - 1.0) * slope / statistic)

    def __repr__(self) -> str:
        return f"Renyi(order={self.order:g})"


class ChiSquared(Renyi):
    r"""χ²: :math:`D = \sum_i q_i^2/p_i = \chi^2 + 1`, the Rényi case of order two."""

    name = "chi2"
    moments = "chi2"

    def __init__(self) -> None:
        super().__init__(2.0)

    def __repr__(self) -> str:
        return "ChiSquared()"


class KullbackLeibler(Divergence):
    r"""Kullback–Leibler: :math:`D = \sum_i q_i \ln(q_i/p_i)`."""

    name = "kl"
    moments = "kl"
    order = 1.0
    steep = True

    def statistic(self, q: np.ndarray, p: np.ndarray) -> float:
        from scipy.special import rel_entr

        return float(rel_entr(q, p).sum())

    def gradient(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        # A weight that underflowed stands at the smallest normal number: its logarithm must stay finite, and any weight
        # that small is as good as optimal when the optimum is smaller still.
        return np.log(np.maximum(q, np.finfo(float).tiny) / p) + 1.0

    def curvature(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return 1.0 / q

    def value(self, statistic: float) -> float:
        return max(statistic, 0.0)

    def coefficient(self, constant: float, log_constant: float, delta: float) -> float:
        # A true constant is at least one; the companion's for φ_CH is not at m = 1, and a budget must not be negative.
        return max(log_constant - math.log(delta), 0.0)

    def budget(self, statistic: float, coefficient: float, exponent: float) -> Budget:
        return Budget((statistic + coefficient) / exponent, 1.0 / exponent, 0.0)


#: The divergences known by name.
NAMES = ("chi2", "renyi", "kl")


def by_name(name: str, order: float = 2.0) -> Divergence:
    """The divergence of that name; ``order`` is read for ``"renyi"`` only."""
    if name == "renyi":
        return Renyi(order)
    return {"chi2": ChiSquared, "kl": KullbackLeibler}[name]()
