r"""Moments of a power: what the Rényi divergences (and chi-squared, of order 2) need.

.. math:: I(m) = \sup_l E[\phi(k/m, l)^p], \qquad k \sim \mathrm{Binomial}(m, l)

where p is the conjugate exponent alpha/(alpha-1) of the Rényi order alpha. Linear and squared distance are powers of
the deviation abs(k/m - l), the kl distance is the deviance D(k)/m. Everything is symmetric in l and 1-l.

**Where the supremum is** was found by scanning l for p from 1 to 300 and m from 1 to 10^6; the tests repeat such scans.

* Deviation: for p >= 2 there is one peak in 0 < l <= 1/2. It sits at 1/2 once m exceeds about p^2/9, and moves down to
  m/(m+p) as p outgrows m. When p is not an even number the curve also has ripples of period 1/m, the steps of k; they
  decide the place of the supremum within half a period of 1/2 for p < 2, and shift it a little for p up to 4.
* Deviance: the supremum is near the l for which D(0) = p, that is l = 1 - exp(-p/m), within a few sqrt(p) of it in D(0)
  (the Poisson regime: l is about p/m for large m), except for m of the order of p, where it can be at 1/2.

The grids below cover these places amply, and the best peaks on them are refined.
"""

import math
from collections.abc import Callable

import numpy as np

from .binomial_sums import deviance, lattice_rule, log_coefficient, log_sum
from .exponential_means import log_kl_constant
from .maximum import largest_rippled, largest_value


def log_power_mean(quantity: str, m: int, mean: float, power: float, side: str = "both") -> float:
    """Return ln E[f^power] for l = mean/m, 0 < mean < m, where f is the "deviation" abs(k/m - l) or the "deviance"
    D(k)/m.

    ``side``: count the k on "both" sides of the mean, or only those "below" or "above" it.
    """
    smooth_power = power / 2 if quantity == "deviation" else power
    rough = (0, m) if smooth_power.is_integer() else (0, m, mean)
    origin = round(mean)
    parts = []
    # The first and the last k on each side of the mean that counts.
    below, above = (math.floor(mean), 0), (math.floor(mean) + 1, m)
    for inner, outer in {"both": [below, above], "below": [below], "above": [above]}[side]:
        low, high = _lobe(quantity, m, mean, power, inner, outer)
        # So many on each side of the mean, so that a block of integers is one or two standard deviations long
        parts.append(lattice_rule(low, high, rough, (high - low) / 9, origin))
    points, weights = np.concatenate(parts, axis=1)
    k, difference = points + origin, points - (mean - origin)
    divergence = deviance(m, mean, k, difference)
    size = np.abs(difference) if quantity == "deviation" else divergence
    log_weights = log_coefficient(m, k) - divergence
    with np.errstate(divide="ignore"):
        largest = size[np.argmax(log_weights + power * np.log(size))]
        # relative to the largest term: its logarithm is small where it counts, also when the power is large
        log_terms = log_weights + power * np.log(size / largest)
    return log_sum(weights, log_terms) + power * math.log(largest / m)


def _lobe(quantity: str, m: int, mean: float, power: float, inner: int, outer: int) -> tuple[int, int]:
    """Return the integers between ``inner``, next to the mean, and ``outer`` at which f^power exp(-D) is not
    negligible.

    On either side of the mean it rises to one peak and falls.
    """

    def divergence(k: float) -> float:
        rest = m - k
        value = (k * math.log(k / mean) if k > 0 else 0.0) + (rest * math.log(rest / (m - mean)) if rest > 0 else 0.0)
        return max(value, 0.0)

    def rises(k: float) -> bool:
        if quantity == "deviance":
            return divergence(k) < power
        return 0 < k < m and (k - mean) * (math.log(k / mean) - math.log((m - k) / (m - mean))) < power

    def height(k: float) -> float:
        size = divergence(k) if quantity == "deviance" else abs(k - mean)
        return power * math.log(size) - divergence(k) if size > 0 else -math.inf

    peak = _last(inner, outer, rises)
    # Terms below exp(-45) of the largest are left out, which is 9.5 standard deviations of a Gaussian
    floor = height(peak) - 45.0
    ends = [_last(peak, end, lambda k: height(k) > floor) for end in (inner, outer)]
    # two more integers, in case the peak is narrow and lies between integers that are far below it
    return max(math.floor(min(ends)) - 2, min(inner, outer)), min(math.ceil(max(ends)) + 2, max(inner, outer))


def _last(start: float, end: float, holds: Callable[[float], bool]) -> float:
    """Return where, within 1/2, a condition that holds at first ceases to hold on the way from start to end (else the
    end)."""
    if holds(end):
        return end
    while abs(end - start) > 0.5:
        middle = (start + end) / 2
        start, end = (middle, end) if holds(middle) else (start, middle)
    return end


def log_largest_deviation(m: int, power: float, one_sided: bool = False) -> float:
    """Return ln sup_l E abs(k/m - l)^power; when ``one_sided``, of the terms with k < ml.

    For power > 600 m all terms but the last are below exp(-500) of it, and the supremum is that of l^m (1-l)^power.
    """
    if power > 600 * m:
        return -m * math.log1p(power / m) - power * math.log1p(m / power)

    def at_mean(mean: float) -> float:
        # One-sided at 1 - l.
        return log_power_mean("deviation", m, mean, power, "above" if one_sided else "both")

    ratio = power / m
    lowest = -math.log1p(2 * (math.sqrt(ratio) + ratio))
    if one_sided:
        return largest_rippled(at_mean, m, m / (1 + np.exp(-np.linspace(lowest - 1.0, 0.5, 33))))
    best = at_mean(m / 2)
    if power < 4 and not (power / 2).is_integer():
        ripples = np.linspace(0.0, min(1.0, 0.4 * m), 9).tolist()
        best = max(best, largest_value(lambda offset: at_mean(m / 2 - offset), ripples))
    if power > 2 and m <= power * power + 16:
        logits = np.linspace(lowest, 0.0, 33).tolist()
        best = max(best, largest_value(lambda logit: at_mean(m / (1 + math.exp(-logit))), logits))
    return best


def log_largest_deviance(m: int, power: float, one_sided: bool = False) -> float:
    """Return ln sup_l E kl(k/m, l)^power; when ``one_sided``, of the terms with k < ml.

    For power > 600 m, where the best l is below 1e-260, the bound xi(m) (p/e)^p / m^p, which holds for every l because
    x^p exp(-x) <= (p/e)^p. It is too large by at most the factor xi(m), about 1.25 sqrt(m) — of which the bounds take
    the p-th root.
    """
    if power > 600 * m:
        return log_kl_constant(m) + power * (math.log(power / m) - 1)
    if power == 2 and m >= 6 and not one_sided:
        # the chi-squared constant: one peak, at 2.29 <= mean <= 2.65
        return largest_value(lambda mean: log_power_mean("deviance", m, mean, power), [2.2, 2.5, 2.8])
    unit, half = math.sqrt(power), m * math.log(2)

    def at(zero_deviance: float) -> float:
        """Evaluate at the l with D(0) = zero_deviance, or for l > 1/2 its mirror image."""
        mirrored = zero_deviance >= half
        smaller = math.exp(-zero_deviance / m) if mirrored else -math.expm1(-zero_deviance / m)
        side = "both" if not one_sided else "above" if mirrored else "below"
        return log_power_mean("deviance", m, m * smaller, power, side)

    # in units of sqrt(p) from p; of both sides, on that side of l = 1/2 on which p lies
    low, high, middle = max(-3.0, -0.95 * unit), 5.0, (half - power) / unit
    if one_sided:
        return largest_value(at, (power + np.linspace(low, high, 41) * unit).tolist())
    low, high = (low, min(high, middle)) if middle > 0 else (max(low, middle), high)
    best = largest_value(lambda position: at(power + position * unit), np.linspace(low, high, 33).tolist())
    return max(best, log_power_mean("deviance", m, m / 2, power))
