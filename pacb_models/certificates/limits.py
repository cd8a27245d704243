r"""Upper confidence limits for one risk, from its number of errors, and how many examples a limit needs.

.. math:: CP(k; e) = \max\{l : P_l(B \le k) \ge e\}, \qquad B \sim \text{Binomial}(m, l),

is the limit of Clopper and Pearson (1934): with probability at least 1 - e the risk is at most CP(k; e). The same root
with only a part w of the mass at k, :math:`P_l(B < k) + w P_l(B = k) = e`, is the limit that tied classifiers
share. Every limit is rounded up: it is never below the true one.
"""

from bisect import bisect_left
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..constants import LARGEST_SAMPLE_SIZE
from ..errors import InputError
from ..numerics.binary_kl import kl_inverse
from ..numerics.binomial_sums import log_coefficient_inside
from ..numerics.elementwise import SCALAR, Numbers, everywhere
from ..numerics.inner import pieces
from ..numerics.rounding import EPSILON
from ..validation import all_or_refuse, broadcast, check_count, check_delta, check_fraction, check_number, real_numbers
from .binomial import TAILS_AT_ONCE, tail
from .counts import check_counts

#: Levels delta * p_i are rounded down by more than the product's rounding.
_BELOW_ONE = 1.0 - 4.0 * EPSILON


def clopper_pearson(errors: ArrayLike, m: ArrayLike, delta: ArrayLike) -> float | NDArray[np.float64]:
    r"""Return the upper confidence limit of Clopper and Pearson for the risk of a classifier with ``errors`` errors.

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
    k, n, e = broadcast(errors=counts.astype(np.float64), m=sizes.astype(np.float64), delta=levels)
    return limit(float(k), float(n), float(e)) if k.ndim == 0 else upper_limits(k, n, e)


def levels_of(delta: float, prior: NDArray[np.float64] | None, size: int) -> NDArray[np.float64]:
    """Return delta p_i, rounded down; the weights may sum to a little more than one, the levels to no more than
    delta."""
    if prior is None:
        return np.full(size, uniform_level(delta, size))
    levels = prior * (delta * _BELOW_ONE / max(1.0, float(prior.sum())))
    # Products of smaller ones lose digits: a level of zero, at which nothing is known, stands for them.
    levels[levels < np.finfo(np.float64).tiny] = 0.0
    return levels


def uniform_level(delta: float, size: int) -> float:
    """Return delta/H, rounded down."""
    return delta / size * (1.0 if size == 1 else _BELOW_ONE)


def upper_limits(k: NDArray[np.float64], m: NDArray[np.float64], e: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the limits of arrays of one shape; arguments unchecked. A level of zero has the limit one."""
    if k.size <= 16:  # so few are computed faster one by one
        each = [limit(*entry) for entry in zip(k.ravel().tolist(), m.ravel().tolist(), e.ravel().tolist())]
        return np.array(each).reshape(k.shape)
    shape, k, m, e = k.shape, k.ravel(), m.ravel(), e.ravel()
    mirrored = (e > 0.5) & (k > 0.0)
    k, e = np.where(mirrored, m - k - 1.0, k), np.where(mirrored, 1.0 - e, e)
    result = np.ones(k.size)
    for without, formula in ((True, _without_errors), (False, _root)):
        chosen = np.flatnonzero((k >= 0.0) & (k < m) & (e > 0.0) & ((k == 0.0) == without))
        for piece in pieces(chosen.size, TAILS_AT_ONCE):
            block = chosen[piece]
            l, c = formula(k[block], m[block], e[block], 1.0, np)
            result[block] = np.where(mirrored[block], c, l)
    return result.reshape(shape)


def limit(k: float, m: float, e: float, share: float = 1.0) -> float:
    """Return the root l of P(B < k) + share P(B = k) = e, rounded up; arguments unchecked, and e < 1/2 unless share is
    1."""
    if k == m or e == 0.0:
        return 1.0
    # Near one the level says little; its complement is exact, and so is the upper tail P(B > k) as a lower one.
    mirrored = e > 0.5 and k > 0.0
    if mirrored:
        k, e = m - k - 1.0, 1.0 - e
    l, c = (_root if k > 0.0 else _without_errors)(k, m, e, share, SCALAR)
    return float(c if mirrored else l)


def _without_errors(k: Numbers, m: Numbers, e: Numbers, share: float, lib: Any) -> tuple[Numbers, Numbers]:
    """(1 - l)^m = e/share and its complement; a unit of the exponent's rounding is worth as many of the power's as the
    exponent is large."""
    exponent = lib.log(e / share) / m
    return _raised(-lib.expm1(exponent), 4, lib), _raised(lib.exp(exponent), 4.0 - 3.0 * exponent, lib)


def _raised(value: Numbers, units: Numbers, lib: Any) -> Numbers:
    return lib.minimum(value + units * lib.spacing(value), 1.0)


def _root(k: Numbers, m: Numbers, e: Numbers, share: float, lib: Any) -> tuple[Numbers, Numbers]:
    """Return the root and its complement, both rounded up."""
    # Chernoff's limit and its complement are beyond the root, since P(B <= k) <= exp(-m kl(k/m, l)).
    budget = -lib.log(e) / m
    l = kl_inverse(k / m, budget)
    c = lib.maximum(1.0 - l, 1e-307)
    if not everywhere(l <= 0.5):
        c = lib.where(l <= 0.5, c, lib.maximum(kl_inverse((m - k) / m, budget, "lower"), 1e-307))
        l = lib.where(l <= 0.5, l, 1.0 - c)
    constants = lib.log(e), log_coefficient_inside(m, k)
    for _ in range(60):
        step, excess, error = _halley(k, m, l, c, *constants, share, lib)
        # The smaller of l and c keeps its relative accuracy. From 1e-307 on m (1 - l) is a normal number.
        l, c = l - c * lib.expm1(step), lib.maximum(c * lib.exp(step), 1e-307)
        l, c = lib.where(l <= 0.5, l, 1.0 - c), lib.where(l <= 0.5, 1.0 - l, c)
        # A Halley step cubes the error: after a step from here nothing is left but rounding.
        if everywhere(abs(excess) < 3e-6):
            break
    # Raised by the rounding of the equation, ``error`` in ln c, and of the last step.
    return _raised(l + error * c, 2, lib), _raised(c + error * c, 2, lib)


def _halley(
    k: Numbers, m: Numbers, l: Numbers, c: Numbers, log_level: Numbers, prefactor: Numbers, share: Numbers, lib: Any
) -> tuple[Numbers, Numbers, Numbers]:
    """Return one step in u = ln(1 - l) for G(u) = ln(P(B < k) + share P(B = k)) - ln e, with G and what its rounding is
    worth.

    With f = P(B = k), d P(B < k)/du = f k c/l and df/du = f (m - k - k c/l), which gives G' and G'' in closed form.
    """
    at = tail(k, m, l, c, lib, prefactor)
    odds, rest, mass = c / l, m - k, at.below + share
    excess = at.log_mass + lib.log(mass) - log_level
    slope = (share * rest + (1.0 - share) * k * odds) / mass
    bend = (1.0 - share) * k * odds / l / mass - slope * (slope - (rest - k * odds))
    newton = -excess / slope
    step = newton / lib.maximum(1.0 + 0.5 * newton * bend / slope, 0.5)
    return step, excess, at.rounding / slope


def sample_size(
    target: float, expected_risk: float, candidates: int = 1, delta: float = 0.05, *, chance: float = 0.5
) -> int:
    r"""Return the number of held-out examples with which a classifier is guaranteed to err at most ``target`` of the
    time.

    Parameters
    ----------
    target : float
        The bound that is wanted.
    expected_risk : float
        The probability of an error that the best classifier probably has; below ``target``.
    candidates : int
        How many classifiers are certified at once (:func:`certify`); 1 for one that is fixed or chosen beforehand.
    delta : float
    chance : float
        The bound is at most ``target`` with this probability, if the risk is the expected one. 0.5 is about what the
        expected number of errors gives; take 0.8 or 0.9 to be safer.

    Examples
    --------
    >>> import pacb_models as pm
    >>> pm.sample_size(0.05, expected_risk=0.03, candidates=20)
    818
    >>> pm.sample_size(0.01, expected_risk=0.0)  # no errors: -ln(0.05)/0.01, about 300
    299
    """
    from scipy.special import bdtr

    goal, risk, wanted = (
        check_fraction(name, value)
        for name, value in (("target", target), ("expected_risk", expected_risk), ("chance", chance))
    )
    for name, value in (("target", goal), ("chance", wanted)):
        check_number(name, value, lambda x: 0.0 < x < 1.0, "it must lie strictly between 0 and 1")
    if risk >= goal:
        given = f"expected_risk is {expected_risk!r}, but target is {target!r}"
        raise InputError(f"{given}; no number of examples shows that.")
    level = uniform_level(check_delta(delta), check_count("candidates", candidates, most=10**18))

    def examples(errors: int) -> int:
        """Return the smallest number of examples among which so many errors have a limit of at most the target."""
        sizes = range(LARGEST_SAMPLE_SIZE + 1)
        return bisect_left(sizes, True, lo=errors + 1, key=lambda m: limit(float(errors), float(m), level) <= goal)

    def likely(errors: int) -> bool:
        """Return whether so few errors are likely enough among the examples that they need, or these are too many."""
        size = examples(errors)
        return size > LARGEST_SAMPLE_SIZE or bool(bdtr(errors, size, risk) >= wanted)

    # With k errors the target is reached from m(k) examples on, and m(k) is also where so few errors are likeliest.
    size = examples(bisect_left(range(LARGEST_SAMPLE_SIZE), True, key=likely))
    if size > LARGEST_SAMPLE_SIZE:
        raise InputError("target", target, f"it would take more than {LARGEST_SAMPLE_SIZE} examples")
    return size
