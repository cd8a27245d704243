r"""The smallest bound that a confidence set of risks gives any posterior.

Let the true risks l satisfy :math:`\sum_i G_i(l_i) \le 1` with convex, non-decreasing :math:`G_i`, and let t be the
risk with :math:`\sum_i G_i(t) = 1`. Then t is the smallest bound of a posterior, that of :math:`q_i = G_i'(t)/S`,
:math:`S = \sum_i G_i'(t)`. *Not below*: all risks may be t at once (those that cannot be so small are larger).
*Not above*: :math:`1 \ge \sum_i G_i(l_i) \ge \sum_i G_i(t) + S \sum_i q_i (l_i - t)`, whatever t is, so that

.. math:: \sum_i q_i l_i \le t + \frac{1 - \sum_i G_i(t)}S .

This right side is what is returned, with the rounding of the sum added to the numerator: it is a bound of the
posterior at t however far from the root t may be, and exceeds the root by the square of that distance.
"""

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

from .rounding import EPSILON


class Total(NamedTuple):
    """The logarithm of the sum at a common risk and its first two derivatives; ``error`` is what it may be off by,
    together with what the rounding of the slopes is worth."""

    value: float
    slope: float
    bend: float
    error: float


class Root(NamedTuple):
    """The common risk, enclosed: ``low`` is not above it, ``high`` not below it."""

    low: float
    high: float
    #: How many times the sum was evaluated.
    evaluations: int


def common_root(total_at: Callable[[float], Total], left: float, right: float, close: float) -> Root:
    """The root between ``left`` and ``right``, by Halley's method for the sum's logarithm from ``right``.

    Powers and exponentials, of which the sums consist, become nearly straight by it. It ends where the logarithm is
    below ``close``, or below its rounding; the last call of ``total_at`` is at the t that the bound belongs to.
    """
    t = right
    for count in itertools.count(1):
        at = total_at(t)
        left, right = (left, t) if at.value >= 0.0 else (t, right)
        noise = max(at.error, 4.0 * EPSILON * t * at.slope)
        if abs(at.value) <= max(close, noise) or right - left <= 4.0 * EPSILON * right or count == 200:
            break
        step = math.nan
        if at.slope > 0.0:
            newton = -at.value / at.slope
            step = newton / max(1.0 + 0.5 * newton * at.bend / at.slope, 0.5)
        # Rounding and curvature may lead astray.
        t = t + step if left < t + step < right else 0.5 * (left + right)
    if not at.slope > 0.0:
        return Root(left, math.inf, count)
    error = at.error + 4.0 * EPSILON  # with that of the logarithm and of its inverse
    high = t + (math.expm1(-at.value) + error) / at.slope
    # The slope grows with t: to the left a step of the same length removes a little less, so twice the length.
    low = t - 2.0 * (abs(at.value) + error) / at.slope
    return Root(low - 4.0 * EPSILON * t, high + 4.0 * EPSILON * t, count)
