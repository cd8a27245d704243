r"""The lower tail of a binomial distribution, to a few units in the last place.

A confidence limit is a root of :math:`P_l(B < k) + w P_l(B = k) = e`, :math:`B \sim` Binomial(m, l). Two numbers give
every tail that is needed:

* the mass :math:`f = P_l(B = k)`, in logarithms, as Loader (2000) computes it: Stirling's errors, and m times the
  binary divergence of k/m and l as a sum of two terms in which nothing cancels;
* the ratio :math:`Q = P_l(B < k) / P_l(B = k)`. With :math:`P_l(B \le j) = (m-j) \binom mj \int_0^{1-l} y^{m-j-1}
  (1-y)^j dy` and :math:`y = (1-l) e^{-v/(m-j)}`,

  .. math:: \frac{P_l(B \le j)}{P_l(B = j)} = \int_0^\infty \exp\Bigl(-v + j \ln\bigl(1 + \tfrac{1-l}l (1 -
            e^{-v/(m-j)})\bigr)\Bigr) dv,

  an analytic integrand with concave exponent that falls from one: Gauss-Legendre nodes up to where it is e^-38.

A risk is passed as the pair (l, 1 - l), so that the smaller of the two keeps its relative accuracy. The formulas are
shared by ``math`` (one risk) and ``numpy`` (arrays) through ``lib``.
"""

from typing import Any, NamedTuple

import numpy as np

from ..numerics.binary_kl import near_term, product_error
from ..numerics.binomial_sums import log_coefficient_inside
from ..numerics.elementwise import SCALAR, Numbers
from ..numerics.inner import PIECE
from ..numerics.rounding import EPSILON

_NEGLIGIBLE = 38.0  # exp(-38) is below half a unit in the last place of one
#: Gauss-Legendre nodes on (0, 1/2) with their weights; the other half mirrors them. (NumPy's ``leggauss`` has lost
#: three digits of the distance to the ends, where the integrand is largest.)
_HALF_OF_NODES = np.array(
    [
        (0.0008811451447203998, 0.0022606385492665955),
        (0.004636880650271497, 0.005249142265576406),
        (0.011370025008112869, 0.008210529190953945),
        (0.021041590393104173, 0.01112292459708348),
        (0.03359359586066173, 0.0139685034900117),
        (0.04895059651556285, 0.016730097641273922),
        (0.06702024839387025, 0.019391083987236008),
        (0.08769388458334416, 0.021935454092836634),
        (0.1108471742867403, 0.024347903817536116),
        (0.13634087240503645, 0.02661392349196841),
        (0.16402165769291022, 0.028719884549695776),
        (0.19372305516600988, 0.03065312124646447),
        (0.2252664374524359, 0.03240200672830052),
        (0.25846209915691065, 0.03395602290761695),
        (0.2931103978141975, 0.03530582369564339),
        (0.32900295458712076, 0.03644329119790203),
        (0.36592390749637316, 0.03736158452898413),
        (0.40365120964931445, 0.03805518095031312),
        (0.4419579646623724, 0.038519909082123986),
        (0.48061379124697456, 0.0387529739892124),
    ]
)
# Forty nodes leave an error below 1e-16 for every shape from exp(-v) to half a Gaussian.
_NODES = np.concatenate([_HALF_OF_NODES[:, 0], 1.0 - _HALF_OF_NODES[::-1, 0]])[:, None]
_WEIGHTS = np.concatenate([_HALF_OF_NODES[:, 1], _HALF_OF_NODES[::-1, 1]])
#: Limits that are computed together: their nodes stay in the processor's cache.
TAILS_AT_ONCE = 4 * PIECE // _NODES.size


class Tail(NamedTuple):
    """``log_mass`` is ln P(B = k), ``below`` P(B < k)/P(B = k), ``rounding`` a limit to the error of ln P(B <= k)."""

    log_mass: Numbers
    below: Numbers
    rounding: Numbers


def tail(k: Numbers, m: Numbers, l: Numbers, c: Numbers, lib: Any, log_prefactor: Numbers = None) -> Tail:
    """Return the tail of Binomial(m, l) at 0 < k < m where k - 1 < m l, so that it is a lower one; c is 1 - l.

    ``log_prefactor`` is ln P(B = k) at the risk k/m, for several tails of the same counts.
    """
    successes, failures = m * l, m * c
    # The difference m l - k is exact to rounding of the smaller of l and c.
    by_l = (successes - k) + product_error(m, l, successes)
    by_c = ((m - k) - failures) - product_error(m, c, failures)
    excess = lib.where(l <= c, by_l, by_c)
    exponent = _term(k, successes, -excess, lib) + _term(m - k, failures, excess, lib)  # m kl(k/m, l)
    # Measured against sixty digits: 2 (1 + exponent) units for the mass, 2 + 0.1 sd for the ratio.
    rounding = EPSILON * (8.0 + 3.0 * exponent + 0.3 * lib.sqrt(m * l * c))
    if log_prefactor is None:
        log_prefactor = log_coefficient_inside(m, k)
    return Tail(log_prefactor - exponent, _odds_below(k, m, l, c, lib), rounding)


def _term(a: Numbers, b: Numbers, difference: Numbers, lib: Any) -> Numbers:
    """Return a ln(a/b) - a + b for positive a and b; ``difference`` is a - b."""
    v = difference / (a + b)
    near = near_term(a, difference, v, lib)
    return lib.where(3.0 * abs(v) <= 1.0, near, a * lib.log(a / b) - difference)


def _odds_below(k: Numbers, m: Numbers, l: Numbers, c: Numbers, lib: Any) -> Numbers:
    """Return P(B < k)/P(B = k) for k of at least one, from the integral at j = k - 1."""
    j, rest, odds = k - 1.0, m - k + 1.0, c / l
    slope = 1.0 - j * odds / rest
    bend = j * odds * (1.0 + odds) / (rest * rest)
    end = 2.0 * _NEGLIGIBLE / (slope + lib.sqrt(slope * slope + 2.0 * _NEGLIGIBLE * bend))
    # The quadratic falls faster than the exponent, which is concave: Newton's steps end beyond the root.
    for _ in range(3):
        left = lib.exp(-end / rest)
        growth = 1.0 + odds * (1.0 - left)
        excess = end - j * lib.log(growth) - _NEGLIGIBLE
        end = end - excess / (1.0 - j * odds * left / (rest * growth))
    v = end * _NODES
    integral = _WEIGHTS @ np.exp(j * np.log1p(-odds * np.expm1(v / -rest)) - v)
    return k * c / (rest * l) * (end * (integral if lib is np else integral.item()))


def tails_at(k: Numbers, m: float, l: Numbers) -> Tail:
    """Return the tails of an array of counts, at one risk or one each; k - 1 < m l for each, k = 0 is allowed, k = m
    not."""
    without = k == 0.0
    risk = np.where(without, 0.5, l)
    if k.size <= 11:  # so few are computed faster one by one
        pairs = zip(np.maximum(k, 1.0).tolist(), np.where(without, 3.0, m).tolist(), risk.tolist())
        at = Tail(*np.array([tail(n, size, p, 1.0 - p, SCALAR) for n, size, p in pairs]).reshape(-1, 3).T)
    else:
        at = tail(np.maximum(k, 1.0), np.where(without, 3.0, m), risk, 1.0 - risk, np)
    if not without.any():
        return at
    log_mass = m * np.log1p(-np.asarray(l, dtype=np.float64))
    found = np.broadcast_arrays(log_mass, 0.0, EPSILON * (2.0 - 2.0 * log_mass))
    return Tail(*(np.where(without, none, some) for none, some in zip(found, at)))
