r"""Losses between 0 and 1 that are no errors: limits for their means from the sums, and from the losses one by one.

**Sums: a p-value.** A sum S of m independent losses in [0, 1] with mean l is below B ~ Binomial(m, l) in the convex
order (Hoeffding 1963): :math:`E f(S) \le E f(B)` for convex f. With :math:`f(x) = (c - x)_+` and Markov's inequality,
for every c > s,

.. math:: P(S \le s) \le \frac{E(c - S)_+}{c - s} \le \frac{E_l(c - B)_+}{c - s} =: p_c(s, l).

The smallest over c is non-decreasing in s and non-increasing in l, hence a p-value, and the risk at which it falls to a
level e is an upper confidence limit at that level (Bentkus 2004). Between integers :math:`p_c` is monotone in c, so
integers do. With f = P(B = c - 1) and R = P(B < c)/f, de Moivre's identity gives
:math:`E(c - B)_+ = f [(m - c + 1) l - (m l - c) R]`.

**One by one: a bet that the mean is smaller than it is said to be.** The claim: the mean of losses
:math:`x_t \in [0, 1]` is at least u. Start with wealth one and bet the part :math:`\lambda_t` of it on every next loss
being below u: after T examples the wealth is

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

from functools import cached_property

import numpy as np

from ..immutable import read_only
from ..numerics.binary_kl import kl_inverse
from ..numerics.elementwise import Array
from ..numerics.inner import pieces
from ..numerics.rounding import EPSILON
from .binomial import TAILS_AT_ONCE, Tail, tails_at
from .certificate import Certificate
from .support_function import mean_of_box, normed


class LossCertificate(Certificate):
    """A limit for each mean loss at the level delta p_i. Ties have nothing to share here.

    ``losses`` has a row per example; it is None where only the sums are known.
    """

    losses: Array | None

    claim = "has an expected loss of"
    shown = (("sum of losses", "errors", "{:.9g}".format), *Certificate.shown[1:])

    @property
    def method(self) -> str:
        return "losses in [0, 1]" + ("" if self.losses is None else ", one by one")

    @cached_property
    def single_bounds(self) -> Array:
        if self.losses is None:
            return read_only(loss_limits(self.errors, self.m, self.levels))
        return read_only(betting_limits(self.losses, self.levels))

    @property
    def _ordered(self) -> bool:
        """Whether the smallest sum has the smallest limit, so that it can be found without the others."""
        return self._prior is None and self.losses is None

    @cached_property
    def single(self) -> int:
        return int(np.argmin(self.errors if self._ordered else self.single_bounds))

    @cached_property
    def single_bound(self) -> float:
        best = [self.single]
        limits = (
            loss_limits(self.errors[best], self.m, self.levels[best]) if self._ordered else self.single_bounds[best]
        )
        return float(limits[0])

    def _bound_of(self, posterior: Array) -> float:
        """Return the mean of the limits."""
        return mean_of_box(normed(posterior), self.single_bounds)


def loss_limits(sums: Array, m: int, levels: Array) -> Array:
    """Return upper confidence limits for the mean losses behind sums of m losses, rounded up."""
    result, size = np.empty(sums.size), float(m)
    for block in pieces(sums.size, TAILS_AT_ONCE):
        s, e = sums[block] * (1.0 + 4.0 * EPSILON), levels[block]
        # Chernoff's limit holds for such sums too: where to start, and what is left where no better c exists.
        with np.errstate(divide="ignore"):
            budget = -np.log(e) / size * (1.0 + 2.0 * EPSILON)
        limits = np.asarray(kl_inverse(np.minimum(s / size * (1.0 + EPSILON), 1.0), budget))
        active = np.flatnonzero((limits < 1.0) & (np.floor(s) <= size * limits))
        knots = np.zeros(s.size)
        while active.size:
            c = _best_knot(s[active], size, limits[active])
            limits[active] = _limit(s[active], size, e[active], c, limits[active])
            moved = c != knots[active]
            knots[active] = c
            active = active[moved]
        result[block] = np.minimum(limits * (1.0 + 4.0 * EPSILON), 1.0)
    return result


def _shortfall(at: Tail, c: Array, m: float, l: Array) -> Array:
    """Return E(c - B)_+ / P(B = c - 1)."""
    return (m - c + 1.0) * l - (m * l - c) * (1.0 + at.below)


def _best_knot(s: Array, m: float, l: Array) -> Array:
    """Return the integer c in (s, m l + 1] with the smallest p_c, quasi-convex in c: the first where one more is no
    help."""
    low, high = np.floor(s) + 1.0, np.maximum(np.minimum(np.floor(m * l) + 1.0, m), np.floor(s) + 1.0)
    while np.any(low < high):
        c = np.floor(0.5 * (low + high))
        at = tails_at(c - 1.0, m, l)
        next_tail = 1.0 + at.below + (m - c + 1.0) * l / (c * (1.0 - l))
        enough = next_tail * (c - s) >= _shortfall(at, c, m, l)
        low, high = np.where(enough, low, c + 1.0), np.where(enough, c, high)
    return low


def _limit(s: Array, m: float, e: Array, c: Array, high: Array) -> Array:
    """Return the root of p_c(s, l) = e by bisection below ``high``; its upper end, where p_c is at most e beyond
    rounding."""
    target = np.log(e) + np.log(c - s)
    low = np.minimum(np.maximum(s, c - 1.0) / m, high)
    for _ in range(100):
        l = 0.5 * (low + high)
        at = tails_at(c - 1.0, m, l)
        shortfall = _shortfall(at, c, m, l)
        lost = 4.0 * (at.rounding + 4.0 * EPSILON) * (1.0 + (m - c + 1.0) * l / shortfall)
        enough = at.log_mass + np.log(shortfall) + lost <= target
        low, high = np.where(enough, low, l), np.where(enough, l, high)
        if np.all(high - low <= 4.0 * EPSILON * high):
            break
    return high


def betting_limits(losses: Array, levels: Array) -> Array:
    """Return upper confidence limits for the means of the columns, rounded up."""
    rows, size = losses.shape
    # In this order a sorted table is a sample again.
    order = np.random.default_rng(0).permutation(rows)
    parts = pieces(size, max(1, (1 << 20) // rows))
    return np.concatenate([_betting_limits(losses[order, part], levels[part]) for part in parts])


def _betting_limits(x: Array, levels: Array) -> Array:
    """Find the limits by bisection between the observed mean and one; a level of zero has the limit one."""
    rows = len(x)
    with np.errstate(divide="ignore"):
        target = -np.log(levels)
    counts = np.arange(2.0, rows + 2.0)[:, None]
    squares = ((x - (0.5 + x.cumsum(axis=0)) / counts) ** 2).cumsum(axis=0)
    # The variance of the examples before each, beginning with 1/4, which counts as one example.
    variances = np.concatenate([np.full((1, x.shape[1]), 0.25), ((0.25 + squares) / counts)[:-1]])
    bets = np.sqrt(2.0 * target / (rows * variances))
    guess = _means_before(x) + np.sqrt(2.0 * target * variances / rows) + target / rows
    # Chosen, as what counts as seen before the first example, on the losses that docs/certificates.md names.
    caps = np.clip(1.0 - _means_before(x**4) / guess, 0.5, 0.99)
    # What rounding may have added to a logarithm of the wealth.
    target = target * (1.0 + 4.0 * EPSILON) + 4.0 * EPSILON * rows
    low, high = x.mean(axis=0), np.ones(x.shape[1])
    for _ in range(48):
        u = 0.5 * (low + high)
        with np.errstate(divide="ignore"):
            parts = np.minimum(bets, caps / (1.0 - u))
        # The logarithm of the largest wealth on the way.
        rejected = np.log1p(parts * (u - x)).cumsum(axis=0).max(axis=0) >= target
        low, high = np.where(rejected, low, u), np.where(rejected, u, high)
    return np.minimum(high * (1.0 + 4.0 * EPSILON), 1.0)


def _means_before(x: Array) -> Array:
    """Return the mean of the examples before each, and what counts as seen."""
    return (0.25 + x.cumsum(axis=0) - x) / np.arange(1.0, len(x) + 1.0)[:, None]
