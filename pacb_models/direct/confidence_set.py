r"""The confidence set of a direct bound, :math:`\{l : \sum_i p_i G(\hat l_i, l_i) \le I/\delta\}`.

The bound of a posterior is its support function, the smallest of all is the common risk;
:mod:`pacb_models.numerics.confidence_sets` has the proofs. For the first each risk is described by a coordinate: the
logarithm of its excess over the empirical one, or its logit in the range that is left to it.
"""

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..numerics.confidence_sets import Evaluated, Root, Total, common_root, largest_average
from ..numerics.inner import dot
from ..numerics.rounding import EPSILON
from .penalties import Penalty

#: The largest risk below one.
ALMOST_ONE = 1.0 - 2.0**-53


class WorstCase(NamedTuple):
    """The largest average true risk of a posterior, rounded up, and the true risks that have it."""

    bound: float
    risks: np.ndarray


class ConfidenceSet:
    """Empirical risks with prior weights, the penalty of true risks, and ln(I/δ), what the penalties may add up to."""

    def __init__(self, penalty: Penalty, risks: np.ndarray, prior: np.ndarray, log_radius: float):
        self.penalty, self.risks, self.prior, self.log_radius = penalty, risks, prior, log_radius
        self.least = float(risks.min())
        self.highest = ALMOST_ONE if penalty.distance.below_one else math.inf
        self.low, self.high = penalty.ends
        self._log_weights = np.log(prior) - log_radius
        self.width = 1.0 - risks if penalty.distance.below_one else np.inf
        #: A limit to the relative error of penalties as shares of the radius, where they are of order one, and of sums.
        size = math.log2(1 + risks.size)
        self.rounding = EPSILON * (8.0 + 8.0 * penalty.degree + 2.0 * abs(log_radius) + size)

    def total(self, true_risk: float) -> Total:
        r""":math:`\ln\sum_i p_i G(\hat l_i, t)` less that of the radius, with its derivatives in ``t``.

        No penalty is larger than that of the least risk.
        """
        penalty, remainder, excess, resting = self.penalty, np.array(1.0 - true_risk), true_risk - self.risks, 0.0
        best = penalty.logarithms(np.array([self.least]), np.array([true_risk - self.least]), remainder)
        shift, risks, prior = float(best.value[0]), self.risks, self.prior
        above = excess > 0.0
        if not (penalty.signed or above.all()):
            resting = float(prior[~above].sum()) * math.exp(penalty.at_rest - shift)
            risks, prior, excess = risks[above], prior[above], excess[above]
        log_value, log_slope, growth = penalty.logarithms(risks, excess, remainder)
        slopes = prior * np.exp(log_slope - shift)
        bends = np.multiply(slopes, growth, where=slopes > 0.0, out=np.zeros_like(slopes))
        # Sums of NumPy's are pairwise, those of BLAS products are not: their error would show in the last digits.
        value = resting + float((prior * np.exp(log_value - shift)).sum())
        slope, bend = float(slopes.sum()) / value, float(bends.sum()) / value
        return Total(shift + math.log(value) - self.log_radius, slope, bend - slope * slope, self.rounding)

    @cached_property
    def common_risk(self) -> Root:
        """The true risk at which all classifiers together exhaust the radius, to a few units in the last place."""
        end = self.upper_end
        if end <= self.least:
            return Root(self.least, self.least, 0)
        if end == ALMOST_ONE == self.highest and self.total(end).value < 0.0:
            return Root(ALMOST_ONE, 1.0, 1)
        found = common_root(self.total, self.least, end, 0.0)
        high = min(found.high, 1.0) if self.penalty.distance.below_one else found.high
        low = found.low
        # Next to one the sum bends so much that a step of the root's method is too short.
        while low > self.least and (there := self.total(low)).value + there.error >= 0.0:
            low = high - 4.0 * (high - low)
        return Root(max(low, self.least), high, found.evaluations)

    @cached_property
    def upper_end(self) -> float:
        """A number not below the common risk: the bounds at the prior and at the least risk, by change of measure."""

        # The prior of a part of the classifiers does not add up to one.
        weight = float(self.prior.sum())
        together = min(dot(self.prior, self.risks) / weight, 1.0), min(math.log(weight), 0.0)
        ends = [self.highest]
        for empirical, log_weight in (together, (self.least, math.log(self.prior[self.risks.argmin()]))):
            budget = self.penalty.budget(self.log_radius - log_weight)
            ends.append(self.penalty.distance.invert(empirical, budget))
        return min(ends)

    def worst_case(self, q: np.ndarray) -> WorstCase:
        """Return the maximum over the set at weights ``q`` on the simplex."""
        below_one, start, risks = self.penalty.distance.below_one, self.common_risk.high, self.risks
        if below_one and start >= 1.0:
            # No posterior's bound is below the common risk: every bound rounds to one.
            return WorstCase(1.0, np.ones_like(risks))
        # Without weight the worst risk is then minus infinity: as elsewhere, the smallest normal number stands for it.
        weights = np.maximum(q, np.finfo(float).tiny) if self.penalty.signed else q
        inside = weights > 0.0
        if below_one:
            inside &= risks < 1.0
        if self.log_radius <= self.penalty.at_rest or not inside.any():
            return WorstCase(float((q * risks).sum()) * (1.0 + 4.0 * EPSILON), risks.copy())
        some = self
        if not inside.all():
            some = ConfidenceSet(self.penalty, risks[inside], self.prior[inside], self.log_radius)
        spent = float(self.prior[~inside].sum()) * math.exp(self.penalty.at_rest - self.log_radius)
        bound, found = largest_average(some, weights[inside], spent, *some._start(start))
        worst = risks.copy()
        worst[inside] = found
        if some is not self:
            bound = (bound + float((q * risks).sum(where=~inside))) * (1.0 + 4.0 * EPSILON)
        return WorstCase(min(bound, 1.0), np.minimum(worst, 1.0)) if below_one else WorstCase(bound, worst)

    def evaluate(self, z: np.ndarray) -> Evaluated:
        """Return the penalties at coordinates, as shares of the radius."""
        excess, remainder, growth = self.penalty.place(self.risks, z)
        at, weights = self.penalty.logarithms(self.risks, excess, remainder), self._log_weights
        risk = self.risks + excess
        if not self.penalty.distance.below_one:
            risk = np.where(z < self.high, risk, np.inf)  # out of reach
        logarithms = at.value + weights, at.slope + weights
        return Evaluated(risk, growth, *logarithms, at.growth * growth, self.rounding, self.rounding)

    def _start(self, risk: float) -> tuple[float, np.ndarray]:
        """Return price and coordinates as if all worst risks were the same, which they are at the optimum."""
        risk = min(risk if risk > self.least else self.common_risk.high, self.highest)
        total, excess = self.total(risk), risk - self.risks
        # The smallest slopes underflow: a power of the risk has a slope of about this.
        price = total.value + (math.log(total.slope) if total.slope > 0.0 else -math.log(risk))
        if not self.penalty.signed:
            # A classifier above the common risk: its own worst risk is a little higher still.
            excess = np.maximum(excess, np.minimum(1e-2 * (risk - self.least), 0.5 * self.width))
        return price, np.clip(self.penalty.coordinate(self.risks, excess), self.low, self.high)
