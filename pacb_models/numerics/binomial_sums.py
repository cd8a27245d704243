r"""Sums over a binomial distribution, for any sample size, without summing term by term.

**Weights.** With D(k) = m kl(k/m, l) the binomial probability of k is C(k) exp(-D(k)), where

.. math:: C(k) = \binom mk \Big(\frac km\Big)^k \Big(1-\frac km\Big)^{m-k}

does not depend on l and D is a sum of two terms that are never negative. Both keep full relative accuracy for m up
to 10^9, where logarithms of factorials (about 10^10) would lose ten digits.

**Sums.** A block of N consecutive integers on which the summand is smooth is replaced by 16 points and weights: the
Gauss rule of the counting measure on the block, exact for polynomials of degree 31. A block is at most as long as its
distance to the points where the summand is not smooth, which makes the error of the rule about 10^-24 of the block;
a range of 10^9 takes about a thousand points.
"""

import math
from functools import cache
from typing import Any

import numpy as np

from .binary_kl import divergence_term
from .elementwise import Numbers, functions_of

POINTS = 16


@cache
def _gauss_rule(length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points and weights for the sum over 0, ..., length - 1, from the discrete Chebyshev polynomials'
    recurrence."""
    if length <= POINTS:
        return np.arange(length, dtype=float), np.ones(length)
    n = np.arange(1.0, POINTS)
    off_diagonal = np.sqrt(n * n * (float(length) ** 2 - n * n) / (4 * (4 * n * n - 1)))
    jacobi = np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1)
    points, vectors = np.linalg.eigh(jacobi)
    return (length - 1) / 2 + points, length * vectors[0] ** 2


def lattice_rule(
    low: int, high: int, rough: tuple[float, ...], longest: float, origin: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return points and weights for the sum over the integers from ``low`` to ``high``.

    ``rough``: where the summand is not smooth. ``longest``: over how many integers it may be taken as smooth elsewhere,
    about the width of its narrowest peak. Points are measured from ``origin``: between integers near 10^9 a float
    is exact to 1e-7 only, too coarse where the summand depends on a small difference.
    """
    points, weights = [], []
    start = low
    while start <= high:
        room = min(longest, high - start + 1)
        for place in rough:
            room = min(room, start - place if place <= start else (place - start + 1) / 2)
        length = POINTS
        while 2 * length <= room:
            length *= 2
        length = min(length, high - start + 1)
        block_points, block_weights = _gauss_rule(length)
        points.append((start - origin) + block_points)
        weights.append(block_weights)
        start += length
    return np.concatenate(points), np.concatenate(weights)


def deviance(m: int, mean: Any, k: np.ndarray, difference: np.ndarray) -> np.ndarray:
    """Return D(k) = m kl(k/m, l) for l = mean/m with 0 < mean < m; ``difference`` is k - mean, to full accuracy."""
    return divergence_term(k, mean, difference) + divergence_term(m - k, m - mean, -difference)


def log_coefficient(m: int, k: np.ndarray) -> np.ndarray:
    """Return ln C(k), by Stirling's formula with its error; C(0) = C(m) = 1."""
    inside = (k > 0) & (k < m)
    return np.where(inside, log_coefficient_inside(float(m), np.where(inside, k, 0.5 * m)), 0.0)


def log_coefficient_inside(m: Numbers, k: Numbers) -> Numbers:
    """Return the same for 0 < k < m, numbers or arrays."""
    errors = stirling_error(m) - (stirling_error(k) + stirling_error(m - k))
    return errors - 0.5 * functions_of(k).log(2 * math.pi * k * ((m - k) / m))


def _stirling_series(n: Any) -> Any:
    square = 1 / (n * n)
    tail = 1 / 1680 - square * (1 / 1188 - square * (691 / 360360 - square / 156))
    return (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * tail))) / n


def _small_stirling_errors() -> np.ndarray:
    """Return ln n! - ln(sqrt(2 pi n) (n/e)^n) for n < 16, downwards from the series at 16 (entry 0 is not used).

    Consecutive errors differ by (n + 1/2) ln(1 + 1/n) - 1 = v^2/3 + v^4/5 + ... with v = 1/(2n + 1).
    """
    errors = [_stirling_series(float(POINTS))]
    for n in range(POINTS - 1, 0, -1):
        square = 1 / (2 * n + 1) ** 2
        errors.append(errors[-1] + math.fsum(square**j / (2 * j + 1) for j in range(1, 20)))
    return np.array([0.0, *reversed(errors[1:])])


_SMALL = _small_stirling_errors()


def stirling_error(n: Numbers) -> Numbers:
    """Return ln n! - ln(sqrt(2 pi n) (n/e)^n) for whole n, and for any real n >= 16."""
    if not isinstance(n, np.ndarray):
        return _SMALL.item(int(n)) if n < POINTS else _stirling_series(n)
    small = n < POINTS
    return np.where(small, _SMALL[np.where(small, n, 0).astype(int)], _stirling_series(np.where(small, POINTS, n)))


def log_sum(weights: np.ndarray, log_terms: np.ndarray) -> float:
    """Return ln of the weighted sum of exp(log_terms)."""
    largest = float(log_terms.max())
    return largest + math.log(float(np.sum(weights * np.exp(log_terms - largest))))
