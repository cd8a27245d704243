r"""How far, on the logistic scale, a kl bound lies above the empirical risk.

At the upper root ``r`` of :math:`kl(L, r) = b` the slopes of the bound stand in the ratio :math:`\partial
r/\partial L : \partial r/\partial b = d`, :math:`d = \mathrm{logit}\,r - \mathrm{logit}\,L`. It is the logarithm in
the paper's fixed-point equation for the kl distance, and it stays finite where ``r`` rounds to one.
"""

from __future__ import annotations

import numpy as np

from .binary_kl import divergence_term, kl_inverse


def logit_gap(L: np.ndarray | float, budget: np.ndarray | float) -> np.ndarray:
    r"""``d`` for empirical risks in [0, 1] and positive budgets, elementwise, to a few units in the last place.

    Eliminating :math:`1 - r` from :math:`kl(L, r) = b` gives :math:`d = (b + \ln(r/L))/(1 - L)`; where ``d`` is small,
    so that the rounding of ``r`` shows, one Newton step on :math:`kl(L, r(d)) = b` follows, with :math:`r - L` computed
    from ``d`` itself. The gap grows like :math:`-\ln L` towards ``L = 0`` and is infinite at ``L = 1``.

    >>> from pacb_models.numerics.binary_kl import kl
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
