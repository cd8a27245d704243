r"""Limits for mean losses from the losses themselves, one by one: a bet that the mean is smaller than it is said to be.

The claim: the mean of losses :math:`x_t \in [0, 1]` is at least u. Start with wealth one and bet the part
:math:`\lambda_t` of it on every next loss being below u: after T examples the wealth is

.. math:: W_T(u) = \prod_{t \le T} \bigl(1 + \lambda_t(u) (u - x_t)\bigr), \qquad
          0 \le \lambda_t(u) \le \frac{c_t}{1 - u}, \quad c_t < 1.

If :math:`\lambda_t` and :math:`c_t` depend on earlier examples only and the claim is true, this is a non-negative
supermartingale, and by Ville's inequality it ever reaches 1/e with probability at most e. So all u at which it does are
rejected. With :math:`\lambda_t(u) = \min(\lambda_t, c_t/(1-u))` every factor grows with u, hence they are all u from
the limit on.

The bet of Waudby-Smith and Ramdas (2024) is :math:`\lambda_t = \sqrt{2 \ln(1/e) / (m \hat\sigma_{t-1}^2)}`, with the
variance of the examples before. The most that is bet is :math:`c_t = 1 - q/\hat u`: the best part against losses that
are 0 or 1 is :math:`1 - p/u`, and q, the mean of the fourth powers of the losses before, is p for such losses and
nearly nothing for small ones.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..immutable import read_only
from ..numerics.elementwise import Array
from ..numerics.rounding import EPSILON
from .losses import LossCertificate


def betting_limits(losses: Array, levels: Array) -> Array:
    """Upper confidence limits for the means of the columns, rounded up."""
    rows, size = losses.shape
    # In this order a sorted table is a sample again.
    order = np.random.default_rng(0).permutation(rows)
    step = max(1, (1 << 20) // rows)
    parts = [
        _limits(losses[order, start : start + step], levels[start : start + step]) for start in range(0, size, step)
    ]
    return np.concatenate(parts)


def _limits(x: Array, levels: Array) -> Array:
    """By bisection between the observed mean and one; a level of zero has the limit one."""
    rows = len(x)
    with np.errstate(divide="ignore"):
        target = -np.log(levels)
    variances = _variances_before(x)
    bets = np.sqrt(2.0 * target / (rows * variances))
    guess = _means_before(x) + np.sqrt(2.0 * target * variances / rows) + target / rows
    # Chosen, as what counts as seen before the first example, on the losses that docs/certificates.md names.
    caps = np.clip(1.0 - _means_before(x**4) / guess, 0.5, 0.99)
    # What rounding may have added to a logarithm of the wealth.
    target = target * (1.0 + 4.0 * EPSILON) + 4.0 * EPSILON * rows
    low, high = x.mean(axis=0), np.ones(x.shape[1])
    for _ in range(48):
        u = 0.5 * (low + high)
        rejected = _largest_wealth(x, u, bets, caps) >= target
        low, high = np.where(rejected, low, u), np.where(rejected, u, high)
    return np.minimum(high * (1.0 + 4.0 * EPSILON), 1.0)


def _largest_wealth(x: Array, u: Array, bets: Array, caps: Array) -> Array:
    """The logarithm of the largest wealth on the way."""
    with np.errstate(divide="ignore"):
        parts = np.minimum(bets, caps / (1.0 - u))
    return np.log1p(parts * (u - x)).cumsum(axis=0).max(axis=0)


def _means_before(x: Array) -> Array:
    """The mean of the examples before each, and what counts as seen."""
    return (0.25 + x.cumsum(axis=0) - x) / np.arange(1.0, len(x) + 1.0)[:, None]


def _variances_before(x: Array) -> Array:
    """The variance of the examples before each, beginning with 1/4, which counts as one example."""
    counts = np.arange(2.0, len(x) + 2.0)[:, None]
    means = (0.5 + x.cumsum(axis=0)) / counts
    variances = (0.25 + ((x - means) ** 2).cumsum(axis=0)) / counts
    return np.concatenate([np.full((1, x.shape[1]), 0.25), variances[:-1]])


class BettingCertificate(LossCertificate):
    """From losses one by one, a row per example."""

    losses: Array

    method = "losses in [0, 1], one by one"

    @cached_property
    def single_bounds(self) -> Array:
        return read_only(betting_limits(self.losses, self.levels))
