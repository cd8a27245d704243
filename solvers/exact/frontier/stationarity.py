r"""Where a bound stops falling along a path of posteriors, for each distance.

Along a path that minimises the divergence for every value of the empirical risk ``L``, ``L`` falls, the budget ``b``
rises, and the *exchange rate* :math:`d = -\mathrm db/\mathrm dL` rises (the least divergence is a convex function of
``L``). The bound :math:`B = r(L, b)` has

.. math:: \mathrm dB = (r_L - d\, r_b)\,\mathrm dL,

so that it falls while :math:`d < r_L/r_b` and rises while :math:`d > r_L/r_b`. With :math:`\Phi(L, d)` the budget at
which :math:`r_L/r_b` equals ``d`` this is the sign of the *excess*

.. math:: h = \Phi(L, d) - b .

======== =========================================== =========================================
distance :math:`\Phi(L, d)`                          threshold :math:`T`
======== =========================================== =========================================
squared  :math:`d^2/4`                               1/2
Pinsker  :math:`d^2/8`                               1/4
kl       :math:`\ln(1 - L + L e^d) - L d`            :math:`L(1-L)`
φ_CH     :math:`R(y)`, :math:`2\sqrt y\,R'(y) = d`   :math:`1/(2R'(y) + 4yR''(y))`
======== =========================================== =========================================

For kl, :math:`\Phi = kl(L, r)` at the ``r`` whose logit exceeds that of ``L`` by ``d``; for φ_CH,
:math:`R(y) = y + \tfrac29 y^2 + \tfrac{16}{135} y^3`. The linear distance has the constant ratio one, and
:math:`h = d - 1`.

*Monotonicity.* With the *elasticity* :math:`e = -\mathrm dL/\mathrm dd` of the path,
:math:`\mathrm dh/\mathrm dd = \Phi_d - (\Phi_L + d)\,e`, and :math:`(\Phi_L + d)/\Phi_d = 1/T` with the threshold of
the table: ``h`` rises where :math:`e < T` and falls where :math:`e > T`.

*Ranges.* :math:`\Phi` rises with ``d`` and is concave in ``L``, so that on a piece of the path between two of its
points it lies between the smaller of its values at the two empirical risks and the smaller rate, and its largest
value in ``L`` at the larger rate. Such enclosures need nothing but the two end points, whatever happens between them.
Everywhere :math:`\Phi \le d^2/4`.

The methods take numbers or arrays.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

#: A float or an array of them; every formula here holds elementwise.
Numbers = Any
#: exp overflows beyond.
_LARGEST_RATE = 700.0


class Point(NamedTuple):
    """A point of a path, or arrays of them."""

    #: The path's own coordinate, which increases along it.
    z: Numbers
    #: Empirical risk, budget, exchange rate and elasticity.
    L: Numbers
    b: Numbers
    d: Numbers
    e: Numbers
    #: Derivative of the rate in the coordinate.
    speed: Numbers
    #: What else the path wants to remember: None, or one row per point.
    memory: np.ndarray | None = None

    def take(self, which: np.ndarray | slice) -> Point:
        """Some of the points."""
        return Point(*(None if values is None else values[which] for values in self))

    def extended(self, more: Point) -> Point:
        """These points and more."""
        pairs = zip(self, more, strict=True)
        return Point(*(None if ours is None else np.concatenate((ours, theirs)) for ours, theirs in pairs))


class Ends(NamedTuple):
    """One end of some intervals of a path: where it is, the excess and the threshold there."""

    L: np.ndarray
    b: np.ndarray
    d: np.ndarray
    excess: np.ndarray
    threshold: np.ndarray

    def take(self, which: np.ndarray | slice) -> Ends:
        """Some of the ends."""
        return Ends(*(values[which] for values in self))

    def extended(self, more: Ends) -> Ends:
        """These ends and more."""
        return Ends(*(np.concatenate(pair) for pair in zip(self, more, strict=True)))


class Stationarity:
    """The excess of one distance: its value, its derivative, and enclosures between two points of a path."""

    def excess(self, L: Numbers, b: Numbers, d: Numbers) -> Numbers:
        """``h``, which has the sign of the derivative of the bound along the path."""
        return self.target(L, d) - b

    def excess_slope(self, L: Numbers, d: Numbers, e: Numbers) -> Numbers:
        r"""The derivative of ``h`` with respect to ``d`` along the path, :math:`\Phi_d (1 - e/T)`.

        Here for a :math:`\Phi` that is free of ``L``: then :math:`\Phi_d = d\,T`.
        """
        return d * (self.threshold(L, d) - e)

    def target(self, L: Numbers, d: Numbers) -> Numbers:
        r""":math:`\Phi(L, d)`."""
        raise NotImplementedError

    def threshold(self, L: Numbers, d: Numbers) -> Numbers:
        """The elasticity ``T`` below which ``h`` rises."""
        raise NotImplementedError

    def threshold_slope(self, L: Numbers) -> Numbers:
        """The derivative of ``T`` with respect to ``L``, for the distances whose ``T`` depends on ``L`` alone."""
        return 0.0

    def ends(self, L: np.ndarray, b: np.ndarray, d: np.ndarray) -> Ends:
        """Points of a path as ends of intervals."""
        threshold = self.threshold(L, d)
        if isinstance(threshold, float):
            threshold = np.full(L.size, threshold)
        return Ends(L, b, d, self.excess(L, b, d), threshold)

    def excess_range(self, start: Ends, end: Ends) -> tuple[np.ndarray, np.ndarray]:
        r"""Numbers between which ``h`` stays from start to end; here for a :math:`\Phi` that is free of ``L``."""
        return start.excess + (start.b - end.b), end.excess + (end.b - start.b)

    def threshold_range(self, start: Ends, end: Ends) -> tuple[np.ndarray, np.ndarray]:
        """Numbers between which ``T`` stays; here for a ``T`` that does not rise with ``d``."""
        return end.threshold, start.threshold

    def size(self, b: Numbers) -> Numbers:
        """The size of the two numbers whose difference is ``h``, where it is zero."""
        return b


class Linear(Stationarity):
    r""":math:`r = L + b`: the rate alone decides, and it never falls."""

    def excess(self, L: Numbers, b: Numbers, d: Numbers) -> Numbers:
        return d - 1.0

    def excess_slope(self, L: Numbers, d: Numbers, e: Numbers) -> Numbers:
        return 1.0

    def threshold(self, L: Numbers, d: Numbers) -> Numbers:
        return math.inf

    def excess_range(self, start: Ends, end: Ends) -> tuple[np.ndarray, np.ndarray]:
        return start.excess, end.excess

    def size(self, b: Numbers) -> Numbers:
        return 1.0


class Squared(Stationarity):
    r""":math:`r = L + \sqrt{b/s}`: scale ``s`` one for the squared distance, two for Pinsker's."""

    def __init__(self, scale: float):
        self.scale = scale

    def target(self, L: Numbers, d: Numbers) -> Numbers:
        return d * d / (4.0 * self.scale)

    def threshold(self, L: Numbers, d: Numbers) -> Numbers:
        return 0.5 / self.scale


class BinaryKL(Stationarity):
    r""":math:`kl(L, r) = b`."""

    def target(self, L: Numbers, d: Numbers) -> Numbers:
        if isinstance(d, float) and d <= _LARGEST_RATE:
            return math.log1p(L * math.expm1(d)) - L * d
        value = np.log1p(L * np.expm1(np.minimum(d, _LARGEST_RATE)))
        value -= L * d
        beyond = d > _LARGEST_RATE
        if np.any(beyond):
            # Where e^d overflows: ln(1 - L + L e^d) = u + ln(1 + (1 - L) e^-u), u = ln L + d.
            u = np.log(L) + d
            large = (1.0 - L) * d + np.log(L) + np.log1p((1.0 - L) * np.exp(-np.maximum(u, 0.0)))
            value = np.where(beyond, np.where(u > 0.0, large, np.log1p(np.exp(np.minimum(u, 0.0))) - L * d), value)
        return value

    def threshold(self, L: Numbers, d: Numbers) -> Numbers:
        return L * (1.0 - L)

    def threshold_slope(self, L: Numbers) -> Numbers:
        return 1.0 - 2.0 * L

    def excess_slope(self, L: Numbers, d: Numbers, e: Numbers) -> Numbers:
        # Φ_d = T (e^d - 1)/(1 - L + L e^d), so that T, which may be zero, cancels.
        shift = math.expm1(min(d, _LARGEST_RATE)) if isinstance(d, float) else np.expm1(np.minimum(d, _LARGEST_RATE))
        return (L * (1.0 - L) - e) * shift / (1.0 + L * shift)

    def excess_range(self, start: Ends, end: Ends) -> tuple[np.ndarray, np.ndarray]:
        low = np.minimum(start.excess + start.b, self.target(end.L, start.d))
        # Φ is largest at L = 1/d - 1/(e^d - 1).
        peak = 1.0 / end.d - 1.0 / np.expm1(np.minimum(end.d, _LARGEST_RATE))
        return low - end.b, self.target(np.clip(peak, end.L, start.L), end.d) - start.b

    def threshold_range(self, start: Ends, end: Ends) -> tuple[np.ndarray, np.ndarray]:
        most = np.maximum(start.threshold, end.threshold)
        most[(start.L > 0.5) & (end.L < 0.5)] = 0.25
        return np.minimum(start.threshold, end.threshold), most


class SixthDegree(Stationarity):
    r""":math:`r = L + \sqrt y`, :math:`R(y) = y + \tfrac29 y^2 + \tfrac{16}{135} y^3 = b`."""

    def target(self, L: Numbers, d: Numbers) -> Numbers:
        return self._target(self._root(d) ** 2)

    def threshold(self, L: Numbers, d: Numbers) -> Numbers:
        return self._threshold(self._root(d) ** 2)

    def ends(self, L: np.ndarray, b: np.ndarray, d: np.ndarray) -> Ends:
        # The same as for every distance, with one root for both numbers.
        y = self._root(d) ** 2
        return Ends(L, b, d, self._target(y) - b, self._threshold(y))

    @staticmethod
    def _target(y: Numbers) -> Numbers:
        return y * (1.0 + y * (2.0 / 9.0 + y * (16.0 / 135.0)))

    @staticmethod
    def _threshold(y: Numbers) -> Numbers:
        return 0.5 / (1.0 + y * (4.0 / 3.0 + y * (16.0 / 9.0)))

    @staticmethod
    def _root(d: Numbers) -> Numbers:
        r"""The square root of the ``y`` with :math:`2\sqrt y\,R'(y) = d`.

        Newton's method from above, where the convex left side makes it monotone: from the smaller of two starts, for
        small and for large ``d``, six steps come to rounding.
        """
        root = min(0.5 * d, (1.41 * d) ** 0.2) if isinstance(d, float) else np.minimum(0.5 * d, (1.41 * d) ** 0.2)
        for _ in range(6):
            y = root * root
            value = root * (1.0 + y * (4.0 / 9.0 + y * (16.0 / 45.0))) - 0.5 * d
            root = root - value / (1.0 + y * (4.0 / 3.0 + y * (16.0 / 9.0)))
        return root


#: By the distance's name.
STATIONARITY: dict[str, Stationarity] = {
    "linear": Linear(),
    "squared": Squared(1.0),
    "pinsker": Squared(2.0),
    "kl": BinaryKL(),
    "ch": SixthDegree(),
}
