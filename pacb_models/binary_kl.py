"""The binary Kullback-Leibler divergence and its inverse in the second argument.

.. math:: kl(a, b) = a \\ln\\frac{a}{b} + (1-a) \\ln\\frac{1-a}{1-b}
"""

import math

import numpy as np

from pacb_models.errors import InputError

SIDES = ("upper", "lower")


def kl(a, b):
    """Binary divergence kl(a, b), elementwise; 0 ln 0 = 0 and kl(a, b) = inf where b excludes an outcome a allows."""
    a = _probabilities("a", a)
    b = _probabilities("b", b)
    a, b = np.broadcast_arrays(a, b)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        value = b * _poisson_divergence(a, b) + (1 - b) * _poisson_divergence(1 - a, 1 - b, b - a)
        value = np.where(((b == 0) & (a > 0)) | ((b == 1) & (a < 1)), np.inf, value)
        value = np.where(a == b, 0.0, value)
    return value.item() if value.ndim == 0 else value


def _poisson_divergence(a, b, difference=None):
    u = (a - b if difference is None else difference) / b
    v = u / (2 + u)
    w = np.minimum(v * v, 0.04)
    series = np.zeros_like(u)
    for j in range(14, -1, -1):
        series = series * w + 1 / (2 * j + 3)
    near = u * v + 2 * (1 + u) * v * v * v * series
    far = np.where(u <= -1, 1.0, (1 + u) * np.log1p(u) - u)
    return np.where(np.abs(v) <= 0.2, near, far)


def kl_inverse(q, budget, side="upper"):
    """Largest r >= q ("upper") or smallest r <= q ("lower") with kl(q, r) <= budget, rounded outward."""
    if side not in SIDES:
        raise InputError(f"side must be one of {', '.join(SIDES)}, got {side!r}")
    q = _probabilities("q", q)
    budget = np.asarray(budget, dtype=float)
    bad = ~(budget >= 0)
    if bad.any():
        raise InputError(f"budget must be at least 0, got {budget[bad].flat[0]}")
    q, budget = np.broadcast_arrays(q, budget)
    lower = side == "lower"
    p = q if lower else 1 - q
    rest = 1 - q if lower else q
    with np.errstate(all="ignore"):
        decay = _decay(p, rest, budget, np)
        moved = -p * np.expm1(-decay)
        if lower:
            root = q * np.exp(-decay) * (1 - 1e-15) - 1e-323
            root = np.where(budget == np.inf, 0.0, np.maximum(root, 0.0))
            root = np.where(q == 1, np.exp(-budget) * (1 - 1e-15), root)
        else:
            root = np.where(q == 0, -np.expm1(-budget), q + moved) * (1 + 1e-15) + 1e-323
            root = np.where(budget == np.inf, 1.0, np.minimum(root, 1.0))
    root = np.where((budget == 0) | (q == (0 if lower else 1)), q, root)
    return root.item() if root.ndim == 0 else root


def _decay(p, rest, budget, lib):
    scaled = lib.minimum(budget / p, 1e300)
    decay = lib.sqrt(2 * scaled * rest) + 0.8 * scaled
    for _ in range(5):
        moved = -p * lib.expm1(-decay)
        excess = p * decay - rest * lib.log1p(moved / rest) - budget
        slope = moved / (rest + moved)
        curvature = rest * (p - moved) / (rest + moved) ** 2
        decay = decay - 2 * excess * slope / (2 * slope * slope - excess * curvature)
    return decay


def _probabilities(name, value):
    value = np.asarray(value, dtype=float)
    bad = ~((value >= 0) & (value <= 1))
    if bad.any():
        index = np.argwhere(bad)[0]
        where = f"[{', '.join(map(str, index))}]" if value.ndim else ""
        raise InputError(f"{name}{where} must lie in [0, 1], got {value[bad].flat[0]}")
    return value
