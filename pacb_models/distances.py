r"""Distances :math:`\phi(\hat l, l)` between an empirical and a true risk.

A PAC-Bayesian bound says :math:`\phi(L, r) \le b`: the empirical risk ``L`` of the posterior and its true risk ``r``
differ, measured by :math:`\phi`, by no more than a *budget* ``b``. Turning that into an upper bound on the risk is
the inversion

.. math:: r(L, b) = \sup\{r \ge L : \phi(L, r) \le b\}.

A :class:`Distance` knows that inverse and its derivatives, and nothing else; how the budget depends on the posterior
is the divergence's business. A new distance is one subclass with ``derivatives`` and ``log_constant``; with
``forward``, the distance itself, it has direct bounds (:class:`~pacb_models.DirectProblem`) too.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from . import constants
from .binary_kl import divergence_term, kl_inverse
from .constants.rounding import ceil_exp


class Inverse(NamedTuple):
    """The inverse :math:`r(L, b)` with its first and second partial derivatives."""

    value: float
    L: float
    b: float
    LL: float
    Lb: float
    bb: float


class Forward(NamedTuple):
    """The distance itself with its first and second derivative in the true risk, elementwise."""

    value: np.ndarray
    slope: np.ndarray
    bend: np.ndarray


class Distance:
    """What every distance offers."""

    #: Name used by :class:`~pacb_models.BoundProblem`.
    name: str
    #: True when ``r(L, b) = L + g(b)``.
    additive: bool = True
    #: True when the distance is finite for true risks below one only, as that of the binary kl.
    below_one: bool = False

    def forward(self, empirical: np.ndarray, excess: np.ndarray, remainder: np.ndarray) -> Forward:
        r"""The distance :math:`\phi(\hat l, l)` of true risks ``l`` above the empirical ones.

        Given are :math:`\hat l`, the excess :math:`x = l - \hat l > 0` and the remainder :math:`1 - l`, each to full
        relative accuracy.
        """
        raise NotImplementedError

    def invert(self, L: float, budget: float) -> float:
        """The largest true risk compatible with empirical risk ``L`` and the budget."""
        return self.derivatives(L, budget).value

    def derivatives(self, L: float, budget: float) -> Inverse:
        """The inverse and its derivatives up to second order."""
        raise NotImplementedError

    def log_constant(self, m: int, divergence: str, order: float, constant: str) -> float:
        r"""The logarithm of the moment constant :math:`I_\phi(m)`."""
        return constants.log_moment_constant(self.name, m, constant, divergence, order)

    def constant(self, m: int, divergence: str, order: float, constant: str) -> float:
        r"""The moment constant :math:`I_\phi(m)` (infinite where it exceeds the floating-point range)."""
        if type(self).log_constant is Distance.log_constant:
            return constants.moment_constant(self.name, m, constant, divergence, order)
        return ceil_exp(self.log_constant(m, divergence, order, constant))

    def exponent(self, m: int) -> int:
        r"""The factor of :math:`\phi` in the exponential moment of a KL-divergence bound."""
        return m

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Linear(Distance):
    r""":math:`\phi = l - \hat l`, hence :math:`r = L + b`."""

    name = "linear"

    def derivatives(self, L: float, budget: float) -> Inverse:
        return Inverse(L + budget, 1.0, 1.0, 0.0, 0.0, 0.0)

    def forward(self, empirical: np.ndarray, excess: np.ndarray, remainder: np.ndarray) -> Forward:
        return Forward(excess, np.ones_like(excess), np.zeros_like(excess))


class Squared(Distance):
    r""":math:`\phi = s\,(l - \hat l)^2` with :math:`s = 1`, hence :math:`r = L + \sqrt{b/s}`."""

    name = "squared"
    scale = 1.0

    def derivatives(self, L: float, budget: float) -> Inverse:
        root = math.sqrt(budget / self.scale)
        slope = 0.5 * root / budget if budget > 0.0 else math.inf
        return Inverse(L + root, 1.0, slope, 0.0, 0.0, -0.5 * slope / budget if budget > 0.0 else -math.inf)

    def forward(self, empirical: np.ndarray, excess: np.ndarray, remainder: np.ndarray) -> Forward:
        slope = (2.0 * self.scale) * excess
        return Forward(0.5 * slope * excess, slope, np.full_like(excess, 2.0 * self.scale))


class Pinsker(Squared):
    r""":math:`\phi = 2 (l - \hat l)^2`, the quadratic minorant of the binary kl; :math:`r = L + \sqrt{b/2}`."""

    name = "pinsker"
    scale = 2.0


class BinaryKL(Distance):
    r""":math:`\phi = kl(\hat l, l)`; ``r`` is the upper root of :math:`kl(L, r) = b`.

    With :math:`d = \mathrm{logit}\, r - \mathrm{logit}\, L` the implicit function theorem gives
    :math:`\partial r/\partial b = r(1-r)/(r-L)` and :math:`\partial r/\partial L = d\, \partial r/\partial b`.
    """

    name = "kl"
    additive = False
    below_one = True

    def forward(self, empirical: np.ndarray, excess: np.ndarray, remainder: np.ndarray) -> Forward:
        r"""With :math:`l = \hat l + x`: :math:`\phi' = x/(l(1-l))`, :math:`\phi'' = (x^2 + \hat l(1-\hat
        l))/(l(1-l))^2`."""
        rest, true = 1.0 - empirical, empirical + excess
        variance = true * remainder
        return Forward(
            divergence_term(empirical, true, -excess) + divergence_term(rest, remainder, excess),
            excess / variance,
            (excess * excess + empirical * rest) / (variance * variance),
        )

    def invert(self, L: float, budget: float) -> float:
        return kl_inverse(L, budget)

    def derivatives(self, L: float, budget: float) -> Inverse:
        r = kl_inverse(L, budget)
        if r >= 1.0:
            # The bound is vacuous and, in floating point, flat.
            return Inverse(1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        variance = r * (1.0 - r)
        excess = r - L
        if excess <= 0.0:
            return Inverse(r, 1.0, math.inf, 0.0, 0.0, -math.inf)
        slope_b = variance / excess
        if L <= 0.0:
            return Inverse(r, math.inf, slope_b, -math.inf, math.inf, -slope_b)
        # r/L overflows for the smallest L; elsewhere the quotient keeps more digits than the difference of logarithms.
        d = math.log(r / L) if L > 1e-300 else math.log(r) - math.log(L)
        d += math.log((1.0 - L) / (1.0 - r))
        slope_L = d * slope_b
        kl_rr = (variance - excess * (1.0 - 2.0 * r)) / (variance * variance)
        LL = -slope_b * (1.0 / (L * (1.0 - L)) - 2.0 * slope_L / variance + kl_rr * slope_L * slope_L)
        Lb = -slope_b * slope_b * (-1.0 / variance + kl_rr * slope_L)
        return Inverse(r, slope_L, slope_b, LL, Lb, -kl_rr * slope_b * slope_b * slope_b)


class SixthDegree(Distance):
    r""":math:`\phi_{CH}(x) = x^2 + \tfrac29 x^4 + \tfrac{16}{135} x^6`, :math:`x = l - \hat l`; :math:`r = L + \sqrt
    y`.

    ``y`` is the only real root of :math:`y + \tfrac29 y^2 + \tfrac{16}{135} y^3 = b`. The distance and its factor
    :math:`2m - 1` are the companion paper's (Sahu and Hemachandra, ACML 2019): a sixth-degree minorant of the binary
    kl.
    """

    name = "ch"

    def exponent(self, m: int) -> int:
        return 2 * m - 1

    def derivatives(self, L: float, budget: float) -> Inverse:
        y = _ch_root(budget)
        root = math.sqrt(y)
        first = 1.0 + y * (4.0 / 9.0 + y * (16.0 / 45.0))
        second = 4.0 / 9.0 + y * (32.0 / 45.0)
        if y <= 0.0:
            return Inverse(L, 1.0, math.inf, 0.0, 0.0, -math.inf)
        slope = 0.5 / (root * first)
        # d²√y/db² with y' = 1/first and y'' = -second/first³.
        bend = -0.25 / (root * y * first**2) - 0.5 * second / (root * first**3)
        return Inverse(L + root, 1.0, slope, 0.0, 0.0, bend)

    def forward(self, empirical: np.ndarray, excess: np.ndarray, remainder: np.ndarray) -> Forward:
        y = excess * excess
        return Forward(
            y * (1.0 + y * (2.0 / 9.0 + y * (16.0 / 135.0))),
            excess * (2.0 + y * (8.0 / 9.0 + y * (32.0 / 45.0))),
            2.0 + y * (8.0 / 3.0 + y * (32.0 / 9.0)),
        )


def _ch_root(budget: float) -> float:
    """The real root of y + (2/9) y² + (16/135) y³ = budget, by Newton's method from above.

    The left side is increasing and convex for y >= 0 and exceeds ``y``, so Newton's iterates from ``y = budget``
    fall monotonically to the root.
    """
    y = budget
    for _ in range(100):
        value = y * (1.0 + y * (2.0 / 9.0 + y * (16.0 / 135.0)))
        step = (value - budget) / (1.0 + y * (4.0 / 9.0 + y * (16.0 / 45.0)))
        if step <= 2.0**-53 * y:
            break
        y -= step
    return y


#: The distances known by name.
BY_NAME: dict[str, Distance] = {d.name: d for d in (Linear(), Squared(), BinaryKL(), Pinsker(), SixthDegree())}
