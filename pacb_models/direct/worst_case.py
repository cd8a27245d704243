r"""The direct bound of a given posterior, and the true risks at which it is attained.

.. math:: B^\circ(q) = \max_l \Big\{\sum_i q_i l_i : \sum_i p_i G(\hat l_i, l_i) \le I/\delta\Big\}

by :mod:`pacb_models.numerics.support_function`. Each risk is described by a coordinate: the logarithm of its excess
over the empirical one, or its logit in the range that is left to it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..numerics.support_function import Look, support_function
from .common_risk import ALMOST_ONE, Sample, common_risk, rounding, total_penalty
from .penalties import Penalty

_EPSILON = 2.0**-52


class WorstCase(NamedTuple):
    """The largest average true risk of a posterior, rounded up, and the true risks that have it."""

    bound: float
    risks: np.ndarray


def worst_case(
    penalty: Penalty, risks: np.ndarray, prior: np.ndarray, log_radius: float, q: np.ndarray, start: float
) -> WorstCase:
    """The maximum over the confidence set at weights ``q`` on the simplex; ``start`` is about where worst risks are."""
    below_one = penalty.distance.below_one
    if below_one and start >= 1.0:
        # No posterior's bound is below the common risk: every bound rounds to one.
        return WorstCase(1.0, np.ones_like(risks))
    # The worst risk of a weight of zero is then minus infinity: as elsewhere, the smallest normal number stands for it.
    weights = np.maximum(q, np.finfo(float).tiny) if penalty.signed else q
    inside = weights > 0.0
    if below_one:
        inside &= risks < 1.0
    if log_radius <= penalty.at_rest or not inside.any():
        return WorstCase(_rounded_up(float((q * risks).sum())), risks.copy())
    terms = _Terms(penalty, Sample.of(risks[inside], prior[inside]), log_radius)
    spent = float(prior[~inside].sum()) * math.exp(penalty.at_rest - log_radius)
    bound, found = support_function(terms, weights[inside], spent, *terms.start(start))
    worst = risks.copy()
    worst[inside] = found
    if not inside.all():
        bound = _rounded_up(bound + float((q * risks).sum(where=~inside)))
    return WorstCase(min(bound, 1.0), np.minimum(worst, 1.0)) if below_one else WorstCase(bound, worst)


def _rounded_up(average: float) -> float:
    """Above what rounding takes from an average."""
    return average * (1.0 + 4.0 * _EPSILON)


class _Terms:
    """The penalties of the classifiers that a posterior gives weight, as shares of the radius."""

    def __init__(self, penalty: Penalty, sample: Sample, log_radius: float):
        self.penalty, self.sample, self.log_radius = penalty, sample, log_radius
        self.log_weights = np.log(sample.prior) - log_radius
        self.low, self.high = penalty.ends
        self.width = 1.0 - sample.risks if penalty.distance.below_one else np.inf
        self.rounding = rounding(penalty, sample, log_radius)

    def look(self, z: np.ndarray) -> Look:
        empirical, log_weights = self.sample.risks, self.log_weights
        place = self.penalty.place(empirical, z)
        at = self.penalty.logarithms(empirical, place.excess, place.remainder)
        risk = empirical + place.excess
        if not self.penalty.distance.below_one:
            risk = np.where(z < self.high, risk, np.inf)  # out of reach
        return Look(
            risk,
            place.growth,
            at.value + log_weights,
            at.slope + log_weights,
            at.growth * place.growth,
            self.rounding,
            self.rounding,
        )

    def start(self, risk: float) -> tuple[float, np.ndarray]:
        """Price and coordinates as if all worst risks were the same, which they are at the optimum."""
        penalty, sample = self.penalty, self.sample
        if risk <= sample.least:
            risk = common_risk(penalty, sample, self.log_radius).high
        if penalty.distance.below_one:
            risk = min(risk, ALMOST_ONE)
        excess = risk - sample.risks
        total = total_penalty(penalty, sample, self.log_radius, risk)
        # The smallest slopes underflow: a power of the risk has a slope of about this.
        price = total.value + (math.log(total.slope) if total.slope > 0.0 else -math.log(risk))
        if not penalty.signed:
            # A classifier above the common risk: its own worst risk is a little higher still.
            least = np.minimum(1e-2 * (risk - sample.least), 0.5 * self.width)
            excess = np.maximum(excess, least)
        return price, np.clip(penalty.coordinate(sample.risks, excess), self.low, self.high)
