r"""One-sided moments: of :math:`\phi_+`, the distance where the true risk is above the empirical one, else zero.

.. math:: I_+(m) = \sup_l E[\phi_+(k/m, l)^p] \quad\text{or}\quad \sup_l E[e^{n\phi_+(k/m, l)}]

A bound needs nothing else of its distance than that it is convex and does not fall in the true risk, and
:math:`\phi_+` is both. About half of the sum is left. It is not symmetric in l and 1-l any more, and the supremum is
not at 1/2: lower tails are heavier for l > 1/2.

* Linear with the KL divergence is not cut: :math:`e^{n(l - k/m)}` is less than one below zero, and cutting it there
  would raise the constant.
* kl with the KL divergence: for k < ml the terms P(k) exp(D(k)) = C(k) do not depend on l, the others are at most as
  large; as l tends to 1 all are counted, and the last is :math:`l^m`, which tends to C(m) = 1. The supremum is
  xi(m), the two-sided constant.

**Where the supremum is.** With k' = m - k and l' = 1 - l the moments are those of the deviations above the mean m l' of
another binomial variable. In the mean they are smooth up to ripples of period one, the steps of k', which are the same
in every period: on the means j + 1/2 with whole j there are none. So the top is first found on these, where there is
one peak, and then the best phase near it. For the deviance the supremum is near D(0) = p, as on two sides: the term
k = 0 is on the side that counts. The tests repeat scans of all l.
"""

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from .exponential_means import Polynomial, log_exponential_mean_above
from .maximum import largest_value
from .power_means import log_power_mean

PHASES = 12  # points per period of the ripples


def log_largest_deviation_above(m: int, power: float) -> float:
    """ln sup_l E (l - k/m)_+^power."""
    if power > 600 * m:
        # as on two sides, where all terms but one are negligible
        return -m * math.log1p(power / m) - power * math.log1p(m / power)
    ratio = power / m
    logits = np.linspace(-math.log1p(2 * (math.sqrt(ratio) + ratio)) - 1.0, 0.5, 33)
    return _largest(lambda mean: log_power_mean("deviation", m, mean, power, "above"), m, m / (1 + np.exp(-logits)))


def log_largest_exponential_above(phi: Polynomial) -> float:
    """ln sup_l E[exp(n phi_+)]."""
    m = phi.m
    offsets = np.concatenate([np.linspace(-0.2, 2.0, 23) * m**-0.5, np.linspace(-0.1, 1.2, 27) * m**-0.25])
    means = m * (0.5 - offsets[np.abs(offsets) < 0.5])
    return _largest(lambda mean: log_exponential_mean_above(phi, mean), m, np.sort(means))


def _largest(function: Callable[[float], float], m: int, means: np.ndarray) -> float:
    """The maximum over 0 < mean < m of a function with one peak in the range of ``means``, apart from ripples."""
    # Up to this many examples every mean is looked at
    if m <= 24:
        grid = np.concatenate([np.geomspace(1e-4, 0.05, 20), np.linspace(0.05, m, PHASES * m + 1)[1:-1]])
        return largest_value(function, grid[grid < m].tolist())
    places = np.unique(np.clip(np.round(means), 0, m - 1).astype(int)).tolist()
    values = [function(j + 0.5) for j in places]
    best = int(np.argmax(values))
    top = _top(lambda j: function(j + 0.5), places[max(best - 1, 0)], places[min(best + 1, len(places) - 1)])
    low, high = max(top - 1.5, 1e-3), min(top + 2.5, m - 1e-3)
    return largest_value(function, np.linspace(low, high, 4 * PHASES + 1).tolist())


def _top(function: Callable[[int], float], low: int, high: int) -> int:
    """The whole number from ``low`` to ``high`` at which a function with one peak is largest, by golden sections."""
    at = cache(function)
    while high - low > 4:
        step = max(round(0.382 * (high - low)), 1)
        left, right = low + step, high - step
        low, high = (low, right) if at(left) >= at(right) else (left, high)
    return max(range(low, high + 1), key=at)
