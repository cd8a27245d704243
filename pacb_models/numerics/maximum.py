r"""The largest value of a function of one variable, and where the suprema of one-sided moments are.

**One-sided moments** are those of :math:`\phi_+`, the distance where the true risk is above the empirical one, else 0.

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

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

PHASES = 12  # points per period of the ripples


def largest_value(function: Callable[[float], float], grid: Sequence[float]) -> float:
    """Return the maximum over the range of an increasing ``grid`` that is fine enough for the highest peaks to show on
    it.

    Up to four peaks that come near the best one (the function is a logarithm: within 5 %) are refined, unless they
    stand out by no more than rounding error.
    """
    from scipy.optimize import minimize_scalar

    def depth(share: float, low: float, high: float) -> float:
        # In units of the bracket: SciPy's tolerance is relative to the place.
        return -function(low + share * (high - low))

    values = [function(x) for x in grid]
    best, peaks = max(values), []
    for i, value in enumerate(values):
        left, right = max(i - 1, 0), min(i + 1, len(grid) - 1)
        beside = values[left], values[right]
        if value >= max(*beside, best - 0.05) and value > min(beside) + 1e-14:
            peaks.append((value, grid[left], grid[right]))
    for _, *bracket in sorted(peaks)[-4:]:
        # A smooth peak is then right to rounding error.
        found = minimize_scalar(depth, args=tuple(bracket), bounds=(0, 1), method="bounded", options={"xatol": 1e-8})
        best = max(best, -float(found.fun))
    return best


def largest_rippled(function: Callable[[float], float], m: int, means: np.ndarray) -> float:
    """Return the maximum over 0 < mean < m of a function with one peak in the range of ``means``, apart from
    ripples."""
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
    """Return the whole number from ``low`` to ``high`` at which a function with one peak is largest, by golden
    sections."""
    at = cache(function)
    while high - low > 4:
        step = max(round(0.382 * (high - low)), 1)
        left, right = low + step, high - step
        low, high = (low, right) if at(left) >= at(right) else (left, high)
    return max(range(low, high + 1), key=at)
