r"""The binary Kullback-Leibler divergence and its inverse.

.. math:: kl(a, b) = a \ln\frac{a}{b} + (1-a) \ln\frac{1-a}{1-b}

is the distance of the kl bounds; those bounds are the roots r of :math:`kl(q, r) = c`. An upper root that is too
small would be an invalid certificate, so every root here is rounded away from q.
"""

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..validation import all_or_refuse, broadcast, check_choice, real_numbers
from .elementwise import SCALAR, Numbers
from .inner import pieces

SIDES = ("upper", "lower")

_SMALLEST_MASS = 1e-300  # stands for probability 0: too small to move a root, large enough to divide by
_TINY, _SCALE = 1e-150, 2.0**400
_ODD_RECIPROCALS = [1.0 / odd for odd in range(39, 1, -2)]


def divergence_term(a: np.ndarray, b: np.ndarray, difference: np.ndarray) -> np.ndarray:
    r"""Return a ln(a/b) - a + b for non-negative a and b, elementwise; it is never negative and zero only at a = b.

    ``difference`` is a - b, which the caller often knows more exactly. With :math:`v = (a-b)/(a+b)`,
    :math:`\ln(a/b) = 2\,\mathrm{artanh}\,v` gives :math:`(a-b)v + 2av^3(\tfrac13 + \tfrac{v^2}5 + \dots)`, which keeps
    relative accuracy at the double zero; it is used for :math:`|v| \le 1/3`.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        v = difference / (a + b)
        ratio = a / b
        log_ratio = np.where((ratio > 0) & (ratio < np.inf), np.log(ratio), np.log(a) - np.log(b))
        far = np.where(a > 0, a * log_ratio, 0.0) - difference
    return np.where(difference == 0, 0.0, np.where(np.abs(v) <= 1 / 3, near_term(a, difference, v, np), far))


def near_term(a: Numbers, difference: Numbers, v: Numbers, lib: Any) -> Numbers:
    square = lib.minimum(v * v, 1 / 9)
    # Of a small number the first terms are enough, which pays for single numbers.
    few = isinstance(square, float) and square < 0.05
    reciprocals = _ODD_RECIPROCALS[-13 if square > 0.01 else -9 :] if few else _ODD_RECIPROCALS
    series: Numbers = 0.0
    for reciprocal in reciprocals:
        series *= square
        series += reciprocal
    return difference * v + 2.0 * a * (v * v * v) * series


def kl(a: ArrayLike, b: ArrayLike) -> Numbers:
    """Return kl(a, b) elementwise, to a few units in the last place also when a and b nearly agree.

    0 ln 0 = 0; the value is inf where b rules out an outcome that a allows. Scalars give a float.
    """
    a, b = broadcast(a=check_probabilities("a", a), b=check_probabilities("b", b))
    # The two terms add up to kl, and neither is negative: nothing cancels.
    value = divergence_term(a, b, a - b) + divergence_term(1 - a, 1 - b, b - a)
    return float(value) if value.ndim == 0 else value


@overload
def kl_inverse(q: float, budget: float, side: str = ...) -> float: ...
@overload
def kl_inverse(q: Sequence[float] | NDArray[Any], budget: ArrayLike, side: str = ...) -> NDArray[np.float64]: ...
@overload
def kl_inverse(q: ArrayLike, budget: ArrayLike, side: str = ...) -> float | NDArray[np.float64]: ...
def kl_inverse(q: ArrayLike, budget: ArrayLike, side: str = "upper") -> float | NDArray[np.float64]:
    """Return the end of the set of all r with kl(q, r) <= budget: its largest ("upper") or smallest ("lower") element.

    Elementwise with broadcasting; scalars give a float. ``budget`` runs from 0 (the root is q itself) to inf.
    Roots are accurate to a few units in the last place, also where they are as small as 1e-300, and rounded
    outward: the upper root is never below the true one, the lower never above it.

    >>> bool(kl_inverse(0.0, 0.5) >= 1 - np.exp(-0.5))  # the root of -ln(1 - r) = 0.5
    True
    >>> kl_inverse([0.1, 0.2], 0.0).tolist()
    [0.1, 0.2]
    """
    lower = check_choice("side", side, SIDES) == "lower"
    if isinstance(q, float) and isinstance(budget, float) and 0.0 <= q <= 1.0 and budget >= 0.0:
        return float(_outward(float(q), float(budget), lower, SCALAR))
    q, budget = check_probabilities("q", q), real_numbers("budget", budget)
    all_or_refuse("budget", budget, budget >= 0, "it must be at least 0")
    if q.ndim == budget.ndim == 0:
        return float(_outward(float(q), float(budget), lower, SCALAR))
    q, budget = broadcast(q=q, budget=budget)
    shape, q, budget = q.shape, q.ravel(), budget.ravel()
    root = np.empty(q.size)
    with np.errstate(all="ignore"):  # budget 0 and the far tails pass through 0/0 and underflow
        for block in pieces(q.size):
            root[block] = _outward(q[block], budget[block], lower, np)
    return root.reshape(shape)


def _outward(q: Numbers, budget: Numbers, lower: bool, lib: Any) -> Numbers:
    """Return the root moved away from q by more than the rounding error of _root can be, within [0, 1].

    The largest errors in 1e7 roots were 3.6 units in the last place of lower ones and 2.9 of upper ones.
    """
    there = (budget == 0.0) | (q == (0.0 if lower else 1.0))
    if there is True:
        return q
    scale = lib.where((q < _TINY) & (budget < _TINY), _SCALE, 1.0)
    root = _root(q * scale, budget * scale, lower, lib) / scale
    if lower:
        unit = lib.spacing(root * (1.0 - 2.0**-53))  # below a power of two it is half of what it is above
        root = lib.maximum(root - 5 * unit, 0.0)
    else:
        root = lib.minimum(root + 4 * lib.spacing(root), 1.0)
    return lib.where(there, q, root)


def _root(q: Numbers, budget: Numbers, lower: bool, lib: Any) -> Numbers:
    """Return the root to three or four units in the last place, by formulas that ``math`` and ``numpy`` share through
    ``lib``.

    Moving r away from q takes the probability p of one outcome down to p exp(-d); d solves

        p d - rest ln(1 + moved/rest) = budget,   moved = p (1 - exp(-d)),   rest = 1 - p.

    In d the left side goes from parabola to straight line, and one hyperbola that has its first two Taylor coefficients
    at 0 and its slope at infinity is within 5 % of the solution everywhere; two Halley steps (each about cubes the
    error) reach rounding level. The last step reads the equation as d = (budget + rest ln(1 + moved/rest))/p, which
    contracts by exp(-d) or better: it removes what a large d costs in digits.
    """
    p = lib.maximum(q if lower else 1.0 - q, _SMALLEST_MASS)
    rest = lib.maximum(1.0 - q if lower else q, _SMALLEST_MASS)
    budget = lib.minimum(budget, 800.0 * p)  # exp(-800) is 0 in double precision
    scaled = budget / p
    decay = scaled * (1.0 + p) / 3.0 + lib.sqrt(scaled) * lib.sqrt(2.0 * rest + scaled * (2.0 - p) ** 2 / 9.0)
    moved = -p * lib.expm1(-decay)
    excess = p * decay - rest * lib.log1p(moved / rest) - budget
    decay = _halley(excess, decay, p, rest, moved, lib)
    moved = -p * lib.expm1(-decay)
    excess = _spent_budget(decay, p, rest, moved, lib) - budget
    decay = _halley(excess, decay, p, rest, moved, lib)
    fraction = -lib.expm1(-decay)
    growth = p * fraction / rest
    recoil = fraction * (lib.log1p(growth) / growth)
    decay = scaled + recoil
    # d may be in the hundreds, where one rounding error of d is hundreds of the root's: carry what is lost
    product = scaled * p
    lost = ((budget - product) - product_error(scaled, p, product)) / p
    lost = lost + ((lib.maximum(scaled, recoil) - decay) + lib.minimum(scaled, recoil))
    if lower:
        survival = lib.exp(-decay)
        root = q * survival
        return root + (product_error(q, survival, root) - root * lost)
    moved = -p * lib.expm1(-decay)
    return q + (moved + (p - moved) * lost)


def _halley(excess: Numbers, decay: Numbers, p: Numbers, rest: Numbers, moved: Numbers, lib: Any) -> Numbers:
    newton = excess * ((rest + moved) / moved)
    # where rounding noise asks for more than this, decay is too small to be seen in the root
    newton = lib.minimum(lib.maximum(newton, -0.25 * decay), 0.25 * decay)
    return decay - newton / (1.0 - 0.5 * (newton / moved) * (rest / (rest + moved)) * (p - moved))


def _spent_budget(decay: Numbers, p: Numbers, rest: Numbers, moved: Numbers, lib: Any) -> Numbers:
    """Return p decay - rest ln(1 + moved/rest) as a sum of two divergence terms, in which nothing cancels."""
    v, w = moved / (2.0 * p - moved), moved / (2.0 * rest + moved)
    loss = lib.where(3.0 * v <= 1.0, near_term(p, moved, v, lib), p * decay - moved)
    gain = lib.where(3.0 * w <= 1.0, near_term(rest, -moved, -w, lib), moved - rest * lib.log1p(moved / rest))
    return loss + gain


def logit_gap(L: Numbers, budget: Numbers) -> np.ndarray:
    r"""Return how far the upper root ``r`` lies above ``L`` on the logistic scale, to a few units in the last place.

    At the root the slopes of the bound stand in the ratio :math:`\partial r/\partial L : \partial r/\partial b = d`,
    :math:`d = \mathrm{logit}\,r - \mathrm{logit}\,L`. It is the logarithm in the paper's fixed-point equation for the
    kl distance, and it stays finite where ``r`` rounds to one.

    Eliminating :math:`1 - r` from :math:`kl(L, r) = b` gives :math:`d = (b + \ln(r/L))/(1 - L)`; where ``d`` is small,
    so that the rounding of ``r`` shows, one Newton step on :math:`kl(L, r(d)) = b` follows, with :math:`r - L` computed
    from ``d`` itself. The gap grows like :math:`-\ln L` towards ``L = 0`` and is infinite at ``L = 1``.

    >>> float(logit_gap(0.25, kl(0.25, 0.5)) - np.log(3.0)) < 1e-15
    True
    """
    # At an empirical risk of zero the gap is infinite. With 1e-300 in its place a posterior on classifiers without
    # errors is left if, and only if, weights that doubles can hold do better.
    L, budget = np.broadcast_arrays(np.maximum(L, 1e-300), np.asarray(budget, dtype=np.float64))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        rest = 1.0 - L
        d = (budget + np.log1p((kl_inverse(L, budget) - L) / L)) / rest
        odds = L * np.expm1(d)
        r, left = (L + odds) / (1.0 + odds), rest / (1.0 + odds)
        excess = left * odds
        spent = divergence_term(L, r, -excess) + divergence_term(rest, left, excess)
        polished = d - (spent - budget) / excess
        # Beyond this gap 1 - r is below 1e-13 (1 - L), and the closed expression of ``d`` has nothing to lose.
        d = np.where(d < 30.0, polished, d)
    return np.where(L >= 1.0, np.inf, d)


def product_error(x: Numbers, y: Numbers, product: Numbers) -> Numbers:
    """Return x y - product exactly (Dekker)."""
    x_high, y_high = _leading_half(x), _leading_half(y)
    x_low, y_low = x - x_high, y - y_high
    return ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low


def _leading_half(x: Numbers) -> Numbers:
    shifted = (2.0**27 + 1.0) * x
    return shifted - (shifted - x)


def check_probabilities(name: str, value: ArrayLike) -> np.ndarray:
    """Return numbers in [0, 1], of any shape."""
    array = real_numbers(name, value)
    return all_or_refuse(name, array, (array >= 0) & (array <= 1), "a probability must lie in [0, 1]")
