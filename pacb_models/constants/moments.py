r"""The moment constants I(m): one front for every divergence and distance."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from ..binary_kl import check_probabilities
from ..validation import check_order
from . import paper
from .exponential_means import (
    LINEAR_RATE,
    log_exponential_mean,
    log_exponential_mean_above,
    log_kl_constant,
    log_kl_mean_below,
    log_largest_exponential,
    log_linear_mean,
)
from .names import check_names, check_sample_size
from .one_sided import log_largest_deviance_below, log_largest_deviation_above, log_largest_exponential_above
from .power_means import log_largest_deviance, log_largest_deviation, log_power_mean
from .rounding import ceil_exp, ceil_log, ceil_sqrt, ceil_to_float

# Relative. Sums and maxima are right to about 3e-15, and to 2e-16 times the power where that is larger.
MARGIN = 5e-14
MARGIN_PER_POWER = 1e-15


@overload
def moment_constant(distance: str, m: int, constant: str = ..., divergence: str = ..., order: float = ...) -> float: ...
@overload
def moment_constant(
    distance: str, m: ArrayLike, constant: str = ..., divergence: str = ..., order: float = ...
) -> Any: ...
def moment_constant(
    distance: str, m: ArrayLike, constant: str = "exact", divergence: str = "chi2", order: float = 2.0
) -> Any:
    r"""The moment constant I(m) of a bound; the exact one is never below the supremum.

    .. math:: I(m) = \sup_l E[\phi(k/m, l)^{\alpha'}] \quad\text{or, for the KL divergence,}\quad
              I(m) = \sup_l E[e^{n\phi(k/m, l)}], \qquad k \sim \mathrm{Binomial}(m, l)

    where alpha' = alpha/(alpha-1) for the Rényi order alpha, chi-squared being order 2, and n = m (2m - 1 for "ch").

    Parameters
    ----------
    distance : {"linear", "squared", "kl", "pinsker", "ch"}
        The last two exist for the KL divergence only.
    m : int or array of int
        Sample sizes from 1 to 10^9.
    constant : {"exact", "one-sided", "paper"}
        The supremum, rounded up by less than 1e-12 of itself; that of the one-sided distance, which is zero where the
        true risk is not above the empirical one: smaller, as valid, and rounded up like the other; or the figure that
        the paper (or its KL companion) prints. Rényi constants have no "paper" form.
    divergence : {"chi2", "renyi", "kl"}
    order : float
        The Rényi order, above 1; used by "renyi" only. Order 2 gives the very numbers of "chi2". Other orders have
        no closed form: the supremum is searched for numerically where ``power_means`` says it is, and padded by a
        relative 5e-14 + 1e-15 alpha' (twice that alpha' for "squared") and two roundings of ln I, about ten times the
        error of the computation. That is below 1e-12 unless alpha' is in the hundreds (orders below 1.01).

    Returns
    -------
    float or array
        In m's shape. For linear with the KL divergence it is inf from m = 5757 on, where ``log_moment_constant`` is
        still finite.

    Examples
    --------
    >>> moment_constant("linear", 1000)
    0.00025
    >>> print(f"{moment_constant('kl', 1000):.5g} {moment_constant('kl', 1000, 'paper'):.4g}")
    9.0492e-07 0.0003682
    """
    return _for_each_sample_size(0, distance, m, constant, divergence, order)


@overload
def log_moment_constant(
    distance: str, m: int, constant: str = ..., divergence: str = ..., order: float = ...
) -> float: ...
@overload
def log_moment_constant(
    distance: str, m: ArrayLike, constant: str = ..., divergence: str = ..., order: float = ...
) -> Any: ...
def log_moment_constant(
    distance: str, m: ArrayLike, constant: str = "exact", divergence: str = "chi2", order: float = 2.0
) -> Any:
    """ln I(m), rounded up, also where I(m) itself overflows or underflows; arguments as ``moment_constant``."""
    return _for_each_sample_size(1, distance, m, constant, divergence, order)


def moment_curve(
    distance: str, m: int, l: ArrayLike, constant: str = "exact", divergence: str = "chi2", order: float = 2.0
) -> Any:
    """The moment at each true risk l, whose supremum over l is I(m); right to rounding error, for plots.

    ``constant="paper"`` differs only for chi-squared's kl distance: the paper's sum, with its boundary terms unsquared.
    """
    check_names(distance, divergence, constant)
    m = check_sample_size(m)
    power = _conjugate(divergence, order)
    risks = check_probabilities("l", l)
    values = np.array([_moment(distance, m, risk, constant, divergence, power) for risk in risks.ravel().tolist()])
    return float(values[0]) if risks.ndim == 0 else values.reshape(risks.shape)


def _for_each_sample_size(part: int, distance: str, m: ArrayLike, constant: str, divergence: str, order: float) -> Any:
    check_names(distance, divergence, constant)
    power = _conjugate(divergence, order)
    if np.ndim(m) == 0:
        return _constant(distance, check_sample_size(m), constant, divergence, power)[part]
    sizes = np.asarray(m, dtype=object)
    values = np.empty(sizes.shape)
    for index, size in np.ndenumerate(sizes):
        name = f"m[{', '.join(map(str, index))}]"
        values[index] = _constant(distance, check_sample_size(size, name), constant, divergence, power)[part]
    return values


def _conjugate(divergence: str, order: float) -> float:
    """alpha' = alpha/(alpha-1)."""
    if divergence != "renyi":
        return 2.0
    order = check_order(order)
    return order / (order - 1)


@lru_cache(maxsize=2**16)
def _constant(distance: str, m: int, constant: str, divergence: str, power: float) -> tuple[float, float]:
    """I(m) and ln I(m)."""
    if divergence == "kl":
        chosen = {"exact": _exact_kl_constant, "one-sided": _one_sided_kl_constant, "paper": _paper_kl_constant}
        return chosen[constant](distance, m)
    if constant == "paper":
        return _paper_chi2_constant(distance, m)
    if constant == "one-sided":
        return _one_sided_constant(distance, m, power)
    if power == 2 and distance == "linear":
        return _from_fraction(Fraction(1, 4 * m))
    if power == 2 and distance == "squared":
        # the fourth central moment is x (1 + 3(m-2) x)/m^3 with x = l(1-l): largest at x = 1/4, for m = 1 at 1/6
        return _from_fraction(Fraction(3 * m - 2, 16 * m**3) if m > 1 else Fraction(1, 12))
    if distance == "kl":
        return _from_logarithm(log_largest_deviance(m, power), power)
    exponent = power if distance == "linear" else 2 * power
    return _from_logarithm(log_largest_deviation(m, exponent), exponent)


def _exact_kl_constant(distance: str, m: int) -> tuple[float, float]:
    if distance == "linear":
        log_value = ceil_to_float(m * LINEAR_RATE)
        return ceil_exp(log_value), log_value
    if distance == "kl":
        return _from_logarithm(log_kl_constant(m))
    return _from_logarithm(log_largest_exponential(distance, m))


def _one_sided_kl_constant(distance: str, m: int) -> tuple[float, float]:
    if distance in ("linear", "kl"):
        return _exact_kl_constant(distance, m)  # no smaller one exists; see one_sided
    return _from_logarithm(log_largest_exponential_above(distance, m))


def _one_sided_constant(distance: str, m: int, power: float) -> tuple[float, float]:
    if distance == "kl":
        return _from_logarithm(log_largest_deviance_below(m, power), power)
    exponent = power if distance == "linear" else 2 * power
    return _from_logarithm(log_largest_deviation_above(m, exponent), exponent)


def _paper_kl_constant(distance: str, m: int) -> tuple[float, float]:
    if distance == "linear":
        return _exact_kl_constant("linear", m)
    if distance == "squared":
        return _exact_kl_constant("pinsker", m)  # the companion's Lemma 2 has Pinsker's exponent
    if distance == "ch":
        return _from_fraction(Fraction(9334 * m, 10000))
    value = ceil_sqrt(4 * m)
    return value, ceil_log(value)


def _paper_chi2_constant(distance: str, m: int) -> tuple[float, float]:
    if distance == "linear":
        return _from_fraction(Fraction(1, 4 * m))
    if distance == "squared":
        return _from_fraction(Fraction(12 * m - 11, 16 * m**3))
    value = paper.kl_constant(m)
    return value, ceil_log(value)


def _from_fraction(exact: Fraction) -> tuple[float, float]:
    value = ceil_to_float(exact)
    return value, ceil_log(value)


def _from_logarithm(log_value: float, power: float = 1.0) -> tuple[float, float]:
    """A computed logarithm, padded by more than its error."""
    log_value += MARGIN + MARGIN_PER_POWER * power + 2 * math.ulp(log_value)
    return ceil_exp(log_value), log_value


def _moment(distance: str, m: int, l: float, constant: str, divergence: str, power: float) -> float:
    if l in (0.0, 1.0):
        return 1.0 if divergence == "kl" else 0.0  # k/m = l for certain
    if divergence == "kl":
        return _exponential_moment(distance, m, l, constant == "one-sided")
    if distance == "kl" and constant == "paper":
        return float(paper.kl_mean(m, np.array([l]))[0])
    side = "below" if constant == "one-sided" else "both"
    if distance == "kl":
        return ceil_exp(log_power_mean("deviance", m, m * l, power, side))
    return ceil_exp(log_power_mean("deviation", m, m * l, power if distance == "linear" else 2 * power, side))


def _exponential_moment(distance: str, m: int, l: float, one_sided: bool) -> float:
    if distance == "linear":
        log_value = log_linear_mean(m, l)  # the same on one side
    elif distance == "kl":
        log_value = log_kl_mean_below(m, m * l) if one_sided else log_kl_constant(m)
    elif one_sided:
        log_value = log_exponential_mean_above(distance, m, m * (1 - l))
    else:
        log_value = log_exponential_mean(distance, m, l - 0.5)
    return ceil_exp(log_value)
