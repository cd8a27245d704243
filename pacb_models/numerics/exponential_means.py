r"""Exponential moments: what the Kullback-Leibler divergence needs.

.. math:: I(m) = \sup_l E[e^{n \phi(k/m, l)}], \qquad k \sim \mathrm{Binomial}(m, l)

with n = m, and n = 2m - 1 for the distance ch. Write x = k/m - l and D(k) = m kl(k/m, l).

* linear, phi = -x: the expectation is (e^l (1 - l + l/e))^m, largest at l = 1/(e-1).
* kl: the expectation is xi(m) = sum of C(k), whatever l is.
* squared, phi = x^2, and Pinsker, phi = 2x^2: the supremum is at l = 1/2. Proof: for phi = c x^2 with c <= 2 the
  derivative in l is m (1/(l(1-l)) - 2c) E[x exp(cmx^2)], and its first factor is not negative. Writing exp(cmx^2) as a
  Gaussian mean of exp(gx sqrt(2cm)), the second has the sign of the mean of g (M(t)^m - M(-t)^m) over g > 0, where
  t = g sqrt(2c/m) and M is the moment generating function of a centred Bernoulli variable; and
  M(t) - M(-t) = 2 (l sinh(t(1-l)) - (1-l) sinh(tl)) >= 0 for l <= 1/2, because sinh(ty)/y increases in y.
* ch, phi = x^2 + 2x^4/9 + 16x^6/135: for m >= 2 the supremum is *not* at 1/2 but at 1/2 - e m^(-1/4) (and mirrored),
  with e growing from 0.08 to about 0.6. What remains of D - n phi is 8m x^2 (x/3 - (1/2 - l))^2 in leading order: it
  vanishes at two values of x, and the best l balances how far apart and how wide the two peaks are.
"""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from .binomial_sums import deviance, lattice_rule, log_coefficient, log_sum
from .maximum import largest_rippled, largest_value

#: 1/(e-1) + ln(1 - 1/e), rounded up in the 40th decimal.
LINEAR_RATE = Fraction("0.1233015614822445333633583600416818566699")
_NEGLIGIBLE = 60.0  # terms below exp(-60) of the largest are left out
_SERIES = [1 / (2 * j * (2 * j - 1)) for j in range(27, 1, -1)]
_SLOPE_SERIES = [2 / (2 * j + 1) for j in range(27, 0, -1)]


def log_kl_constant(m: int) -> float:
    """Return ln xi(m), xi(m) the sum of the binomial coefficients C(k)."""
    k, weights = lattice_rule(0, m, (0, m), m)
    return log_sum(weights, log_coefficient(m, k))


def log_kl_mean_below(m: int, mean: float) -> float:
    """Return ln E[exp(D)] when D counts as zero for k >= mean: 1 + the sum of C(k) - P(k) over k < mean."""
    points, weights = lattice_rule(0, math.ceil(mean) - 1, (0, m, mean), m)
    coefficients = log_coefficient(m, points)
    probabilities = np.exp(coefficients - deviance(m, mean, points, points - mean))
    return math.log1p(float(np.sum(weights * (np.exp(coefficients) - probabilities))))


class Polynomial(NamedTuple):
    """A distance phi = a_1 x^2 + a_2 x^4 + ... in the deviation x of ``m`` examples, and its factor n."""

    m: int
    n: int
    coefficients: tuple[float, ...]

    @property
    def deficit(self) -> float:
        """How far n phi stays below the quadratic part 2m x^2 of D: the coefficient of x^2."""
        return 2.0 * self.m - self.n * self.coefficients[0]


def log_exponential_mean(phi: Polynomial, offset: float) -> float:
    """Return ln E[exp(n phi)] at l = 1/2 + offset, 0 < l < 1."""
    weights, log_terms, _ = _terms(phi, offset, 0)
    return log_sum(weights, log_terms)


def log_exponential_mean_above(phi: Polynomial, mean: float) -> float:
    """Return ln E[exp(n phi)] at l = mean/m, 0 < mean <= m, when phi counts as zero for k <= mean: 1 + E[exp(n phi) -
    1]."""
    first = math.floor(mean) + 1
    if first > phi.m:
        return 0.0
    weights, log_terms, log_probabilities = _terms(phi, mean / phi.m - 0.5, first)
    return math.log1p(float(np.sum(weights * (np.exp(log_terms) - np.exp(log_probabilities)))))


def _terms(phi: Polynomial, offset: float, first: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return weights of a lattice rule for k from ``first`` on, the logarithms of P(k) exp(n phi), and those of
    P(k)."""
    m = phi.m
    reach = _reach(phi, abs(offset))
    low = max(first, math.floor(m * (0.5 + offset - reach)))
    high = max(min(m, math.ceil(m * (0.5 + offset + reach))), low)
    # 1/width^2 of the narrowest peak: the second derivative of the exponent where it is largest
    edge = min(abs(offset) + reach, 0.45)
    curvature = (1 / (0.25 - edge * edge) - 4 + 2 * phi.deficit / m) / m
    origin = m // 2
    points, weights = lattice_rule(low, high, (0, m), 2 / math.sqrt(curvature), origin)
    k, place = points + origin, (points - 0.5 * (m % 2)) / m
    x = place - offset
    square = x * x
    excess = _excess_deviance(m, offset, k, place)
    higher = square * np.polyval([*phi.coefficients[:0:-1], 0.0], square)
    gain = -excess - phi.deficit * square + phi.n * higher
    coefficients = log_coefficient(m, k)
    return weights, coefficients + gain, coefficients - excess - 2 * m * square


def _reach(phi: Polynomial, offset: float) -> float:
    """Return how far x can be from 0 before D - n phi exceeds _NEGLIGIBLE.

    From kl >= 2x^2 + 4x^4/9 + 32x^6/135 + 7072x^8/42525 (Toussaint): the deficit of a quadratic distance, or the fourth
    power. With ch's higher powers, the eighth, and D - n phi >= 8m x^2 (x/3 - offset)^2, up to higher powers.
    """
    m = phi.m
    if len(phi.coefficients) > 1:
        near = 1.5 * (offset + math.sqrt(offset * offset + 4 / 3 * math.sqrt(_NEGLIGIBLE / 8 / m)))
        return min(near, (42525 / 7072 * _NEGLIGIBLE / m) ** 0.125)
    fourth = (9 / 4 * _NEGLIGIBLE / m) ** 0.25
    return min(math.sqrt(_NEGLIGIBLE / phi.deficit), fourth) if phi.deficit > 0.0 else fourth


def _excess_deviance(m: int, offset: float, k: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Return D(k) - 2m x^2 at place = k/m - 1/2, without the cancellation of numbers of order sqrt(m) when l is near
    1/2.

    D/m is the Bregman divergence of the negative entropy; its quadratic part at 1/2 is 2x^2, so the rest is that of R.
    """
    if abs(offset) > 0.25:
        mean = m * (0.5 + offset)
        return deviance(m, mean, k, k - mean) - 2 * m * (place - offset) ** 2
    here = 2 * offset
    slope = np.polyval(_SLOPE_SERIES, here * here) * here * here * here  # 2 (artanh 2t - 2t) at t = offset
    return m * (_remainder(place) - _remainder(np.array(offset)) - slope * (place - offset))


def _remainder(t: np.ndarray) -> np.ndarray:
    """Return R(t): the negative entropy at 1/2 + t minus its Taylor polynomial of degree 3 at 1/2."""
    z = 2 * t
    with np.errstate(divide="ignore", invalid="ignore"):
        upper = np.where(z > -1, (1 + z) * np.log1p(z), 0.0)
        lower = np.where(z < 1, (1 - z) * np.log1p(-z), 0.0)
    square = z * z
    series = np.polyval(_SERIES, np.minimum(square, 0.25)) * square * square
    return np.where(square <= 0.25, series, 0.5 * (upper + lower) - 0.5 * square)


def log_largest_exponential(phi: Polynomial, one_sided: bool = False) -> float:
    """Return ln sup_l E[exp(n phi)] of a distance whose supremum is not at 1/2, as ch's, or ln sup_l E[exp(n
    phi_+)]."""
    m = phi.m
    if not one_sided:
        unit = min(0.3, m**-0.25)
        return largest_value(lambda e: log_exponential_mean(phi, -e * unit), np.linspace(0.0, 1.0, 11).tolist())
    offsets = np.concatenate([np.linspace(-0.2, 2.0, 23) * m**-0.5, np.linspace(-0.1, 1.2, 27) * m**-0.25])
    means = m * (0.5 - offsets[np.abs(offsets) < 0.5])
    return largest_rippled(lambda mean: log_exponential_mean_above(phi, mean), m, np.sort(means))
