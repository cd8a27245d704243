r"""The one number behind a direct bound: the true risk ``t`` at which all classifiers together exhaust the budget,

.. math:: \sum_i p_i G(\hat l_i, t) = I/\delta.

It is the minimum of the direct bound over all posteriors; :mod:`pacb_models.numerics.common_risk` has the proof.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..numerics.common_risk import Root, Total
from ..numerics.common_risk import common_risk as root
from ..numerics.inner import dot
from .penalties import BLOCK, Penalty

#: From this many classifiers on, a histogram of their risks finds the root's neighbourhood.
_MANY = 100_000
_BINS = 20_000
#: The largest risk below one.
ALMOST_ONE = 1.0 - 2.0**-53
_EPSILON = 2.0**-52


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


def total_penalty(penalty: Penalty, sample: Sample, log_radius: float, true_risk: float) -> Total:
    r""":math:`\ln\sum_i p_i G(\hat l_i, t)` less that of the radius, with its derivatives in ``t``.

    No penalty is larger than that of the least risk.
    """
    remainder = np.array(1.0 - true_risk)
    best = penalty.logarithms(np.array([sample.least]), np.array([true_risk - sample.least]), remainder)
    shift = float(best.value[0])
    # Sums of NumPy's are pairwise, those of BLAS products are not: their error would show in the last digits.
    parts = []
    for start in range(0, sample.risks.size, BLOCK):
        block = slice(start, start + BLOCK)
        empirical, prior = sample.risks[block], sample.prior[block]
        excess = true_risk - empirical
        if not penalty.signed:
            above = excess > 0.0
            if not above.all():
                parts.append((float(prior[~above].sum()) * math.exp(penalty.at_rest - shift), 0.0, 0.0))
                empirical, prior, excess = empirical[above], prior[above], excess[above]
        log_value, log_slope, growth = penalty.logarithms(empirical, excess, remainder)
        slopes = prior * np.exp(log_slope - shift)
        bends = np.multiply(slopes, growth, where=slopes > 0.0, out=np.zeros_like(slopes))
        parts.append((float((prior * np.exp(log_value - shift)).sum()), float(slopes.sum()), float(bends.sum())))
    value, slope, bend = (math.fsum(part) for part in zip(*parts, strict=True))
    relative, error = slope / value, rounding(penalty, sample, log_radius)
    return Total(shift + math.log(value) - log_radius, relative, bend / value - relative * relative, error)


def rounding(penalty: Penalty, sample: Sample, log_radius: float) -> float:
    """A limit to the relative error of penalties as shares of the radius, where they are of order one, and of sums."""
    return _EPSILON * (8.0 + 8.0 * penalty.degree + 2.0 * abs(log_radius) + math.log2(1 + sample.risks.size))


def common_risk(penalty: Penalty, sample: Sample, log_radius: float) -> Root:
    r"""The root, between two numbers a few units in the last place apart."""
    if sample.risks.size > _MANY:
        # A penalty is jointly convex: where classifiers are averaged, penalties are smaller and the root is larger.
        end = common_risk(penalty, _histogram(sample), log_radius).high
        if penalty.at_rest == -math.inf and not penalty.signed:
            sample = sample.below(end)
    else:
        end = upper_end(penalty, sample, log_radius)
    below_one = penalty.distance.below_one
    end = min(end, ALMOST_ONE) if below_one else end
    if end <= sample.least:
        return Root(sample.least, sample.least, 0)
    if end == ALMOST_ONE and below_one and total_penalty(penalty, sample, log_radius, end).value < 0.0:
        return Root(ALMOST_ONE, 1.0, 1)
    found = root(lambda t: total_penalty(penalty, sample, log_radius, t), sample.least, end, 0.0)
    high = min(found.high, 1.0) if below_one else found.high
    return Root(max(found.low, sample.least), high, found.evaluations)


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
