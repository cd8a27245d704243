"""The moment constants I(m) of the bounds."""

import math
from functools import lru_cache

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from pacb_models.binary_kl import kl
from pacb_models.errors import InputError

DISTANCES = {
    "chi2": ("linear", "squared", "kl"),
    "renyi": ("linear", "squared", "kl"),
    "kl": ("linear", "squared", "kl", "pinsker", "ch"),
}
CONSTANTS = ("exact", "paper")
LARGEST_SAMPLE_SIZE = 10**9


def check_names(distance, divergence, constant):
    """Raise InputError unless the three names exist and go together."""
    every = tuple(dict.fromkeys(name for names in DISTANCES.values() for name in names))
    if divergence not in DISTANCES:
        raise InputError(f"divergence must be one of {', '.join(DISTANCES)}, got {divergence!r}")
    if distance not in every:
        raise InputError(f"distance must be one of {', '.join(every)}, got {distance!r}")
    if distance not in DISTANCES[divergence]:
        raise InputError(f"distance {distance!r} does not exist for divergence {divergence!r}, "
                         f"which has {', '.join(DISTANCES[divergence])}")
    if constant not in CONSTANTS:
        raise InputError(f"constant must be one of {', '.join(CONSTANTS)}, got {constant!r}")
    if divergence == "renyi" and constant == "paper":
        raise InputError("constant 'paper' exists only for the divergences chi2 and kl, got divergence 'renyi'")


def check_sample_size(m):
    """Return m as int, or raise InputError."""
    if isinstance(m, (bool, np.bool_)) or not isinstance(m, (int, np.integer)):
        raise InputError(f"m must be an integer, got {m!r}")
    if not 1 <= m <= LARGEST_SAMPLE_SIZE:
        raise InputError(f"m must lie between 1 and 1e9, got {m}")
    return int(m)


def log_moment_constant(distance, m, constant="exact", divergence="chi2", order=2.0):
    """ln I(m)."""
    check_names(distance, divergence, constant)
    if np.ndim(m) == 0:
        return _log_constant(distance, check_sample_size(m), constant, divergence, float(order))
    return np.array([_log_constant(distance, check_sample_size(n), constant, divergence, float(order)) for n in m])


def moment_constant(distance, m, constant="exact", divergence="chi2", order=2.0):
    """I(m)."""
    value = np.exp(log_moment_constant(distance, m, constant, divergence, order))
    return float(value) if np.ndim(value) == 0 else value


def moment_curve(distance, m, l, constant="exact", divergence="chi2", order=2.0):
    """I(m, l)."""
    check_names(distance, divergence, constant)
    l = np.asarray(l, dtype=float)
    return np.array([math.exp(_log_moment(distance, m, x, constant, divergence, order)) for x in l.ravel()]).reshape(l.shape)


def _log_moment(distance, m, l, constant, divergence, order):
    width = 12 * math.sqrt(m * l * (1 - l)) + 60
    k = np.arange(max(0, int(m * l - width)), min(m, int(m * l + width)) + 1)
    if divergence == "kl" and distance != "linear":
        k = np.arange(m + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        pmf = gammaln(m + 1) - gammaln(k + 1) - gammaln(m - k + 1) + np.where(k > 0, k * np.log(l), 0)
        pmf = pmf + np.where(k < m, (m - k) * np.log1p(-l), 0)
        x = k / m - l
        phi = {"linear": np.abs(x), "squared": x * x, "pinsker": 2 * x * x, "kl": kl(k / m, l),
               "ch": x**2 + 2 / 9 * x**4 + 16 / 135 * x**6}[distance]
        if divergence == "kl":
            if distance == "linear":
                phi = -x
            if distance == "squared" and constant == "paper":
                phi = 2 * phi
            log_terms = pmf + (2 * m - 1 if distance == "ch" else m) * phi
        else:
            power = order / (order - 1) if divergence == "renyi" else 2.0
            exponent = np.full(k.shape, power)
            if distance == "kl" and constant == "paper":
                exponent[(k == 0) | (k == m)] = 1.0
            log_terms = pmf + exponent * np.log(phi)
    return float(np.logaddexp.reduce(log_terms))


@lru_cache(maxsize=4096)
def _log_constant(distance, m, constant, divergence, order):
    if divergence == "renyi" and order == 2:
        divergence = "chi2"
    if divergence == "chi2":
        if distance == "linear":
            return -math.log(4 * m)
        if distance == "squared":
            if constant == "paper":
                return math.log((12 * m - 11) / (16 * m**3))
            return math.log((3 * m - 2) / (16 * m**3) if m > 1 else 1 / 12)
        if constant == "paper":
            if m > 1028:
                return math.log(0.00037)
            return max(_log_moment("kl", m, x, "paper", "chi2", 2.0) for x in np.arange(1, 1000) / 1000)
    if divergence == "kl":
        if distance == "linear":
            return m * (1 / math.expm1(1) + math.log1p(-math.exp(-1)))
        if constant == "paper" and distance in ("pinsker", "kl"):
            return math.log(2) + 0.5 * math.log(m)
        if constant == "paper" and distance == "ch":
            return math.log(0.9334 * m)
        if distance in ("kl", "squared", "pinsker"):
            return _log_moment(distance, m, 0.5, constant, "kl", 2.0)
    grid = np.unique(np.concatenate([np.linspace(0.001, 0.5, 60), np.linspace(0.1, 12, 60) / m]))
    grid = grid[grid <= 0.5]
    values = [_log_moment(distance, m, x, constant, divergence, order) for x in grid]
    best = int(np.argmax(values))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(lambda x: -_log_moment(distance, m, x, constant, divergence, order),
                            bounds=(low, high), method="bounded", options={"xatol": 1e-9 * high})
    return max(-found.fun, values[best])
