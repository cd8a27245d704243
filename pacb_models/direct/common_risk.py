r"""The one number behind a direct bound: the true risk ``t`` at which all classifiers together exhaust the budget,

.. math:: \sum_i p_i G(\hat l_i, t) = I/\delta.

It is the minimum of the direct bound over all posteriors. *Not above*: with :math:`s_i = G'(\hat l_i, t)` and
:math:`q_i = p_i s_i/S`, :math:`S = \sum_i p_i s_i`, convexity gives on the confidence set
:math:`\sum_i p_i s_i (l_i - t) \le \sum_i p_i G(\hat l_i, l_i) - \sum_i p_i G(\hat l_i, t) \le 0`, that is
:math:`q \cdot l \le t`. *Not below*: :math:`l_i = \max(t, \hat l_i)` is in the set, and its average is at least ``t``
whatever the posterior.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..numerics.inner import dot
from .penalties import BLOCK, Penalty

#: From this many classifiers on, a histogram of their risks finds the root's neighbourhood.
_MANY = 100_000
_BINS = 20_000
#: The largest risk below one.
ALMOST_ONE = 1.0 - 2.0**-53
_EPSILON = 2.0**-52


class Total(NamedTuple):
    """The logarithm of the weighted sum of penalties and its derivative, at one true risk."""

    value: float
    slope: float


class Root(NamedTuple):
    """The common risk, enclosed: ``low`` is not above it, ``high`` not below it."""

    low: float
    high: float
    #: How many times the sum was evaluated.
    evaluations: int


class Sample(NamedTuple):
    """Empirical risks with their prior weights, and the least of the risks."""

    risks: np.ndarray
    prior: np.ndarray
    least: float

    @classmethod
    def of(cls, risks: np.ndarray, prior: np.ndarray) -> Sample:
        return cls(risks, prior, float(risks.min()))

    def below(self, risk: float) -> Sample:
        """The classifiers whose empirical risk is below a number."""
        kept = self.risks < risk
        return self if kept.all() else Sample(self.risks[kept], self.prior[kept], self.least)


def total_penalty(penalty: Penalty, sample: Sample, true_risk: float) -> Total:
    r""":math:`\ln\sum_i p_i G(\hat l_i, t)` and its derivative in ``t``; no penalty is larger than that of the least
    risk."""
    remainder = np.array(1.0 - true_risk)
    best = penalty.logarithms(np.array([sample.least]), np.array([true_risk - sample.least]), remainder)
    shift = float(best.value[0])
    # Sums of NumPy's are pairwise, those of BLAS products are not: their error would show in the last digits.
    penalties, slopes = [], []
    for start in range(0, sample.risks.size, BLOCK):
        block = slice(start, start + BLOCK)
        empirical, prior = sample.risks[block], sample.prior[block]
        excess = true_risk - empirical
        if not penalty.signed:
            above = excess > 0.0
            if not above.all():
                penalties.append(float(prior[~above].sum()) * math.exp(penalty.at_rest - shift))
                empirical, prior, excess = empirical[above], prior[above], excess[above]
        log_value, log_slope, _ = penalty.logarithms(empirical, excess, remainder)
        penalties.append(float((prior * np.exp(log_value - shift)).sum()))
        slopes.append(float((prior * np.exp(log_slope - shift)).sum()))
    penalty_sum = math.fsum(penalties)
    return Total(shift + math.log(penalty_sum), math.fsum(slopes) / penalty_sum)


def common_risk(penalty: Penalty, sample: Sample, log_radius: float) -> Root:
    r"""The root, between two numbers a few units in the last place apart."""
    if sample.risks.size > _MANY:
        coarse = common_risk(penalty, _histogram(sample), log_radius)
        start = min(coarse.high, ALMOST_ONE) if penalty.distance.below_one else coarse.high
        if penalty.at_rest == -math.inf and not penalty.signed:
            # Every risk in the histogram is off by less than the width of a bin, and so is the root.
            sample = sample.below(start + 2.0 / _BINS)
    else:
        start = upper_end(penalty, sample, log_radius)
    return _newton(penalty, sample, log_radius, start)


def _newton(penalty: Penalty, sample: Sample, log_radius: float, start: float) -> Root:
    """Newton's method on a convex function of ``t``: from the right of the root it falls to it monotonically.

    The function is the norm :math:`(\\sum_i p_i\\phi_+^p)^{1/p}`, or the logarithm of the sum of exponentials.
    """
    if start <= sample.least:
        return Root(sample.least, sample.least, 0)
    t, highest, count = start, math.inf, 0
    while count < 200:
        total = total_penalty(penalty, sample, t)
        count += 1
        excess = total.value - log_radius
        if total.slope <= 0.0:
            break
        if t >= ALMOST_ONE and penalty.distance.below_one and excess < 0.0:
            return Root(ALMOST_ONE, 1.0, count)
        step = penalty.newton_step(excess, total.slope)
        new = max(t - step, sample.least + 0.5 * (t - sample.least)) if step > 0.0 else t - step
        # Rounding may lead to and fro around the root.
        if abs(step) <= 2.0 * _EPSILON * abs(t) or (step > 0.0 and t >= highest):
            break
        if step > 0.0:
            highest = t
        t = min(new, ALMOST_ONE) if penalty.distance.below_one else new
    return _enclose(penalty, sample, log_radius, t, total, count)


def _enclose(penalty: Penalty, sample: Sample, log_radius: float, t: float, total: Total, count: int) -> Root:
    """Two numbers beside ``t`` at which the sum is above and below the radius by more than its rounding error."""
    error = _EPSILON * (8.0 + 8.0 * penalty.degree + 2.0 * abs(log_radius) + math.log2(1 + sample.risks.size))
    distance = (abs(total.value - log_radius) + error) / total.slope if total.slope > 0.0 else 0.0
    distance += 2.0 * math.ulp(t)
    high = t + distance
    if penalty.distance.below_one:
        high = min(high, 1.0)
    # The slope grows with t: to the left a step of the same length removes a little less, so twice the length.
    return Root(max(t - 2.0 * distance, sample.least), high, count)


def upper_end(penalty: Penalty, sample: Sample, log_radius: float) -> float:
    """A number not below the root: the bounds at the prior and at the least risk alone, by change of measure."""
    distance = penalty.distance
    weight = float(sample.prior[sample.risks.argmin()])

    def inverse(empirical: float, radius: float) -> float:
        return distance.invert(empirical, penalty.budget(radius))

    mean = min(dot(sample.prior, sample.risks) / float(sample.prior.sum()), 1.0)
    end = min(inverse(mean, log_radius), inverse(sample.least, log_radius - math.log(weight)))
    return min(end, ALMOST_ONE) if distance.below_one else end


def _histogram(sample: Sample) -> Sample:
    """The mean risk and the prior weight of each bin."""
    index = np.minimum((sample.risks * _BINS).astype(np.int32), _BINS - 1)
    weights = np.bincount(index, sample.prior, minlength=_BINS)
    sums = np.bincount(index, sample.prior * sample.risks, minlength=_BINS)
    filled = weights > 0.0
    return Sample.of(np.clip(sums[filled] / weights[filled], 0.0, 1.0), weights[filled])
