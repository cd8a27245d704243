r"""What a true risk ``l`` above an empirical one costs: the summand of the confidence set of a direct bound.

With the distance :math:`\phi_+` (φ above the empirical risk, zero below) the set is
:math:`\sum_i p_i G(\hat l_i, l_i) \le I/\delta` with

* order α: :math:`G = \phi_+^{\alpha'}`, :math:`\alpha' = \alpha/(\alpha-1)`;
* Kullback–Leibler: :math:`G = e^{n\phi_+}`. The linear distance is not cut there: :math:`G = e^{n(l - \hat l)}` is
  increasing and convex for all ``l``, and its constant is the smaller one.

``G`` is convex and non-decreasing in ``l``. It overflows where the bounds do not, so everything is in logarithms, as a
function of the excess :math:`x = l - \hat l`.
"""

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..distances import Distance, Forward, Linear
from ..errors import UnsupportedProblemError
from ..numerics.inner import pieces
from ..numerics.rounding import ceil_exp
from ..problem import Problem

#: A coordinate this low stands for no excess at all: squares of excesses do not underflow above it.
LEAST = -340.0


class LogPenalty(NamedTuple):
    """ln G, ln G' and the derivative of ln G' with respect to the excess, elementwise."""

    value: np.ndarray
    slope: np.ndarray
    growth: np.ndarray


class Penalty(ABC):
    """A penalty as a function of empirical risk and excess; see the module."""

    #: ln G of a classifier whose true risk is not above its empirical one.
    at_rest: float
    #: True when true risks below the empirical ones have a penalty of their own.
    signed: bool = False
    #: How many times the relative error of the distance is that of the penalty, at most, where both are of order one.
    degree: float = 1.0
    #: The logarithm of the largest distance that is computed with.
    reach: float = 700.0

    def __init__(self, distance: Distance):
        self.distance = distance

    def logarithms(self, empirical: np.ndarray, excess: np.ndarray, remainder: np.ndarray) -> LogPenalty:
        """Return the penalty of true risks above the empirical ones; arguments as :meth:`Distance.forward`."""
        remainder = np.broadcast_to(remainder, empirical.shape)
        result = LogPenalty(*np.empty((3, empirical.size)))
        with np.errstate(all="ignore"):
            for part in pieces(empirical.size):
                found = self._of(self.distance.forward(empirical[part], excess[part], remainder[part]))
                for whole, block in zip(result, found):
                    whole[part] = block
        return result

    @abstractmethod
    def _of(self, phi: Forward) -> LogPenalty:
        """Return the penalty of distances."""

    @abstractmethod
    def budget(self, log_penalty: float) -> float:
        """Return the distance that has a penalty."""

    # Newton's method finds the excess of a given ln G' in a coordinate in which ln G' is nearly straight.

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Where coordinates end: no excess at all, and a risk as good as one, or a distance that would overflow.

        A distance that grows as the k-th power of the excess is in reach up to e^(reach/k).
        """
        if self.distance.below_one:
            return LEAST, -LEAST
        with np.errstate(over="ignore", invalid="ignore"):
            for most in (self.reach / k for k in range(1, 14)):
                excess = np.exp([most])
                if np.log(self.distance.forward(np.zeros(1), excess, 1.0 - excess).value) <= self.reach + 1.0:
                    return LEAST, most
        return LEAST, self.reach / 14

    def coordinate(self, empirical: np.ndarray, excess: np.ndarray) -> np.ndarray:
        """Return ln x, or the logit of x in the range that is left to it below one."""
        with np.errstate(divide="ignore"):
            logarithm = np.log(excess)
            if self.distance.below_one:
                logarithm = logarithm - np.log((1.0 - empirical) - excess)
        return logarithm

    def place(self, empirical: np.ndarray, coordinate: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the true risk at a coordinate: its excess over the empirical one, what remains to one, and the
        derivative of both (but for its sign) in the coordinate."""
        if not self.distance.below_one:
            x = np.exp(coordinate)
            return x, (1.0 - empirical) - x, x
        # The logistic function and its complement, each to full relative accuracy.
        small = np.exp(-np.abs(coordinate))
        larger, smaller = 1.0 / (1.0 + small), small / (1.0 + small)
        up, rest = coordinate > 0.0, 1.0 - empirical
        share, complement = np.where(up, larger, smaller), np.where(up, smaller, larger)
        x = rest * share
        return x, rest * complement, x * complement


class Power(Penalty):
    r""":math:`G = \phi_+^p`."""

    at_rest = -math.inf

    def __init__(self, distance: Distance, power: float):
        super().__init__(distance)
        self.power = self.degree = power

    def budget(self, log_penalty: float) -> float:
        return ceil_exp(log_penalty / self.power)

    def _of(self, phi: Forward) -> LogPenalty:
        log_phi = np.log(phi.value)
        log_slope = (self.power - 1.0) * log_phi + np.log(self.power * phi.slope)
        growth = (self.power - 1.0) * phi.slope / phi.value + phi.bend / phi.slope
        return LogPenalty(self.power * log_phi, log_slope, growth)


class Exponential(Penalty):
    r""":math:`G = e^{n\phi_+}`."""

    at_rest = 0.0
    reach = 300.0

    def __init__(self, distance: Distance, factor: float):
        super().__init__(distance)
        self.factor = factor

    def budget(self, log_penalty: float) -> float:
        return max(log_penalty, 0.0) / self.factor

    def _of(self, phi: Forward) -> LogPenalty:
        value, slope = self.factor * phi.value, self.factor * phi.slope
        return LogPenalty(value, value + np.log(slope), slope + phi.bend / phi.slope)


class SignedExponential(Exponential):
    r""":math:`G = e^{n x}` for excesses of either sign: the linear distance with the KL divergence."""

    at_rest = -math.inf
    signed = True
    ends = -1e300, 1e300

    def coordinate(self, empirical: np.ndarray, excess: np.ndarray) -> np.ndarray:
        return self.factor * excess

    def place(self, empirical: np.ndarray, coordinate: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x = coordinate / self.factor
        return x, (1.0 - empirical) - x, np.full_like(x, 1.0 / self.factor)


def penalty_of(problem: Problem) -> Penalty:
    """Return the penalty of a problem's distance and divergence."""
    distance, moments = problem.distance_function, problem.divergence_function.moments
    if type(distance).forward is Distance.forward:
        raise UnsupportedProblemError(
            f"the {distance.name} distance has no direct bound: its class {type(distance).__name__} lacks `forward`."
        )
    if moments == "kl":
        signed = isinstance(distance, Linear)
        return (SignedExponential if signed else Exponential)(distance, float(problem.exponent))
    return Power(distance, problem.order / (problem.order - 1.0))
