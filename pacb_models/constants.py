r"""The moment constants I(m) of the bounds, by the names of distance, divergence and kind of constant.

The formulas stand with the distances (:meth:`pacb_models.distances.Distance.moment`).
"""

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import distances  # its names are looked up later: a distance may import this module
from .divergences import by_name
from .errors import InputError
from .names import CONSTANTS, DISTANCES
from .numerics.binary_kl import check_probabilities
from .validation import check_choice, check_order, check_whole

__all__ = ["check_pair", "check_sample_size", "log_moment_constant", "moment_constant", "moment_curve"]

LARGEST_SAMPLE_SIZE = 10**9


@overload
def moment_constant(distance: str, m: int, constant: str = ..., divergence: str = ..., order: float = ...) -> float: ...
@overload
def moment_constant(
    distance: str, m: Sequence[int] | NDArray[Any], constant: str = ..., divergence: str = ..., order: float = ...
) -> NDArray[np.float64]: ...
def moment_constant(
    distance: str, m: ArrayLike, constant: str = "exact", divergence: str = "chi2", order: float = 2.0
) -> float | NDArray[np.float64]:
    r"""Return the moment constant I(m) of a bound; the exact one is never below the supremum.

    .. math:: I(m) = \sup_l E[\phi(k/m, l)^{\alpha'}] \quad\text{or, for the KL divergence,}\quad
              I(m) = \sup_l E[e^{n\phi(k/m, l)}], \qquad k \sim \mathrm{Binomial}(m, l)

    where alpha' = alpha/(alpha-1) for the Rényi order alpha, chi-squared being order 2, and n = m (2m - 1 for "ch").

    Parameters
    ----------
    distance : {"linear", "squared", "kl", "pinsker", "ch", "relative"}
        The last three exist for the KL divergence only.
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
    return _for_each_sample_size("constant", distance, m, constant, divergence, order)


def log_moment_constant(
    distance: str, m: ArrayLike, constant: str = "exact", divergence: str = "chi2", order: float = 2.0
) -> float | NDArray[np.float64]:
    """Return ln I(m), rounded up, also where I(m) itself overflows or underflows; arguments as ``moment_constant``."""
    return _for_each_sample_size("log_constant", distance, m, constant, divergence, order)


def moment_curve(
    distance: str, m: int, l: ArrayLike, constant: str = "exact", divergence: str = "chi2", order: float = 2.0
) -> float | NDArray[np.float64]:
    """Return the moment at each true risk l, whose supremum over l is I(m); right to rounding error, for plots.

    ``constant="paper"`` differs only for chi-squared's kl distance: the paper's sum, with its boundary terms unsquared.
    """
    order = check_pair(distance, divergence, constant, order)
    m = check_sample_size(m)
    power = distances.conjugate(by_name(divergence, order).moments, order)
    risks = check_probabilities("l", l)
    certain = 0.0 if power else 1.0  # at l = 0 and 1, where k/m = l
    at = distances.BY_NAME[distance].moment_at
    values = [certain if risk in (0.0, 1.0) else at(m, risk, power, constant) for risk in risks.ravel().tolist()]
    return values[0] if risks.ndim == 0 else np.array(values).reshape(risks.shape)


def _for_each_sample_size(
    which: str, distance: str, m: ArrayLike, constant: str, divergence: str, order: float
) -> float | NDArray[np.float64]:
    order = check_pair(distance, divergence, constant, order)
    value, moments = getattr(distances.BY_NAME[distance], which), by_name(divergence, order).moments
    sizes = np.asarray(m, dtype=object)
    if sizes.ndim == 0:
        return value(check_sample_size(m), moments, order, constant)
    values = np.empty(sizes.shape)
    for index, size in np.ndenumerate(sizes):
        checked = check_sample_size(size, f"m[{', '.join(map(str, index))}]")
        values[index] = value(checked, moments, order, constant)
    return values


def check_pair(distance: str, divergence: str, constant: str, order: float = 2.0) -> float:
    """Refuse names that do not exist or do not go together; the order, which counts for "renyi" only."""
    check_choice("divergence", divergence, tuple(DISTANCES))
    check_choice("distance", distance, DISTANCES["kl"])  # the divergence that has them all
    check_choice("constant", constant, CONSTANTS)
    if distance not in DISTANCES[divergence]:
        combinations = "; ".join(f"{name}: {', '.join(distances)}" for name, distances in DISTANCES.items())
        absent = f"distance is {distance!r}, which divergence {divergence!r} does not have"
        raise InputError(f"{absent}; the combinations are {combinations}.")
    if divergence != "renyi":
        return 2.0
    if constant == "paper":
        raise InputError("constant is 'paper', which exists only for the divergences 'chi2' and 'kl', not for 'renyi'.")
    return check_order(order)


def check_sample_size(m: object, name: str = "m") -> int:
    """Return a sample size: a whole number from 1 to 10^9."""
    expected = f"a sample size must be a whole number from 1 to {LARGEST_SAMPLE_SIZE}"
    return check_whole(name, m, lambda size: 1 <= size <= LARGEST_SAMPLE_SIZE, expected)
