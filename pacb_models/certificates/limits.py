r"""Upper confidence limits for one risk, from its number of errors.

.. math:: CP(k; e) = \max\{l : P_l(B \le k) \ge e\}, \qquad B \sim \text{Binomial}(m, l),

is the limit of Clopper and Pearson (1934): with probability at least 1 - e the risk is at most CP(k; e). Every limit is
rounded up: it is never below the true one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics.binary_kl import kl_inverse
from ..numerics.binomial_sums import log_coefficient_inside
from ..numerics.elementwise import Array, Numbers
from ..numerics.inner import pieces
from ..numerics.rounding import EPSILON
from ..validation import all_or_refuse, real_numbers
from .binomial import TAILS_AT_ONCE, tail
from .counts import check_counts

#: Levels delta * p_i are rounded down by more than the product's rounding.
_BELOW_ONE = 1.0 - 4.0 * EPSILON


def clopper_pearson(errors: ArrayLike, m: ArrayLike, delta: ArrayLike) -> float | NDArray[np.float64]:
    r"""The upper confidence limit of Clopper and Pearson for the risk of a classifier with ``errors`` errors.

    With probability at least ``1 - delta`` over ``m`` independent examples the risk is at most this: the root l of
    :math:`P_l(B \le k) = \delta`, B binomial, or 1 when every example is an error.

    Elementwise with broadcasting; scalars give a float. Limits are accurate to a few units in the last place and
    rounded up, for m from 1 to 10⁹ and every delta between 0 and 1, down to 1e-300.

    >>> clopper_pearson(0, 100, 0.05) >= 1 - 0.05 ** 0.01
    True
    >>> clopper_pearson([21, 23, 549], 549, 0.05).round(4).tolist()
    [0.0546, 0.0588, 1.0]
    """
    counts, sizes = check_counts(errors, m)
    levels = real_numbers("delta", delta)
    all_or_refuse("delta", levels, (levels > 0.0) & (levels < 1.0), "it must lie strictly between 0 and 1")
    k, n, e = np.broadcast_arrays(counts.astype(np.float64), sizes.astype(np.float64), levels)
    limits = upper_limits(k, n, e)
    return limits if limits.ndim else float(limits)


def levels_of(delta: float, prior: NDArray[np.float64] | None, size: int) -> NDArray[np.float64]:
    """delta p_i, rounded down; the weights may sum to a little more than one, the levels to no more than delta."""
    if prior is None:
        return np.full(size, uniform_level(delta, size))
    levels = prior * (delta * _BELOW_ONE / max(1.0, float(prior.sum())))
    # Products of smaller ones lose digits: a level of zero, at which nothing is known, stands for them.
    levels[levels < np.finfo(np.float64).tiny] = 0.0
    return levels


def uniform_level(delta: float, size: int) -> float:
    """delta/H, rounded down."""
    return delta / size * (1.0 if size == 1 else _BELOW_ONE)


def upper_limits(k: Array, m: Array, e: Array) -> Array:
    """The limits of arrays of one shape; arguments unchecked. A level of zero has the limit one."""
    shape, k, m, e = k.shape, k.ravel(), m.ravel(), e.ravel()
    result = np.empty(k.size)
    for block in pieces(k.size, TAILS_AT_ONCE):
        result[block] = _block(k[block], m[block], e[block])
    return result.reshape(shape)


def _block(k: Array, m: Array, e: Array) -> Array:
    result = np.ones(k.size)
    rest = (k < m) & (e > 0.0)
    some, low = rest & (k > 0.0), e <= 0.5
    for chosen, formula in (
        (rest & (k == 0.0), lambda k, m, e: _without_errors(m, e)),
        (some & low, lambda k, m, e: _root(k, m, e)[0]),
        # Near one the level says little; its complement is exact, and so is the upper tail P(B > k) as a lower one.
        (some & ~low & (k == m - 1.0), lambda k, m, e: _all_but_one(m, e)),
        (some & ~low & (k < m - 1.0), lambda k, m, e: _root(m - k - 1.0, m, 1.0 - e)[1]),
    ):
        if chosen.any():
            result[chosen] = formula(k[chosen], m[chosen], e[chosen])
    return result


def _without_errors(m: Array, e: Array) -> Array:
    """(1 - l)^m = e; the formula loses less than three units in the last place."""
    return _raised(-np.expm1(np.log(e) / m), 4)


def _all_but_one(m: Array, e: Array) -> Array:
    """1 - l^m = e; a unit of the exponent's rounding is worth as many of the power's as the exponent is large."""
    exponent = np.log1p(-e) / m
    return _raised(np.exp(exponent), 4.0 - 3.0 * exponent)


def _raised(value: Array, units: Numbers) -> Array:
    return np.minimum(value + units * np.spacing(value), 1.0)


def _start(k: Array, m: Array, e: Array) -> tuple[Array, Array]:
    """Chernoff's limit and its complement: beyond the root, since P(B <= k) <= exp(-m kl(k/m, l))."""
    budget = -np.log(e) / m
    l = kl_inverse(k / m, budget)
    c = kl_inverse((m - k) / m, budget, "lower")
    return np.where(l <= 0.5, l, 1.0 - c), np.where(l <= 0.5, 1.0 - l, np.maximum(c, 1e-307))


def _root(k: Array, m: Array, e: Array) -> tuple[Array, Array]:
    """The root and its complement, both rounded up."""
    l, c = _start(k, m, e)
    constants = np.log(e), log_coefficient_inside(m, k)
    for _ in range(60):
        step, excess, error = _halley(k, m, l, c, *constants)
        l, c = _moved(l, c, step)
        # A Halley step cubes the error: after a step from here nothing is left but rounding.
        if np.abs(excess).max() < 3e-6:
            break
    # Raised by the rounding of the equation, ``error`` in ln c, and of the last step.
    return _raised(l + error * c, 2), _raised(c + error * c, 2)


def _halley(k: Array, m: Array, l: Array, c: Array, log_level: Array, prefactor: Array) -> tuple[Array, Array, Array]:
    """One step in u = ln(1 - l) for G(u) = ln P(B <= k) - ln e, with G and what its rounding is worth.

    With f = P(B = k), d P(B <= k)/du = f (m - k) and df/du = f (m - k - k c/l), which gives G' and G'' in closed form.
    """
    at = tail(k, m, l, c, prefactor)
    mass = at.below + 1.0
    excess = at.log_mass + np.log(mass) - log_level
    slope = (m - k) / mass
    bend = -slope * (slope - (m - k - k * c / l))
    newton = -excess / slope
    step = newton / np.maximum(1.0 + 0.5 * newton * bend / slope, 0.5)
    return step, excess, at.rounding / slope


def _moved(l: Array, c: Array, step: Array) -> tuple[Array, Array]:
    """The risk after u = ln(1 - l) has moved by ``step``; the smaller of l and c keeps its relative accuracy.

    From 1e-307 on m (1 - l) is a normal number.
    """
    new_l, new_c = l - c * np.expm1(step), np.maximum(c * np.exp(step), 1e-307)
    return np.where(new_l <= 0.5, new_l, 1.0 - new_c), np.where(new_l <= 0.5, 1.0 - new_l, new_c)
