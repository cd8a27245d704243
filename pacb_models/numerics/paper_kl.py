"""The constants as the paper (chi-squared) and its companion (Kullback-Leibler) print them, to reproduce their figures.

They are not all right: of chi-squared, squared is about 4 times too large (a square is lost in its derivation) and kl
about 0.4 m times (its two boundary terms are not squared); the companion's ch constant 0.9334 m is below
the supremum 1.3044 at m = 1, and an upper bound from m = 2 on.
"""

import numpy as np

from ..numerics.binomial_sums import deviance, log_coefficient

LARGEST_COMPUTED = 1028
BEYOND = 0.00037  # what the paper uses for every larger m


def kl_mean(m: int, risks: np.ndarray) -> np.ndarray:
    """Return the paper's sum for E[kl(k/m, l)^2] at risks 0 < l < 1: the terms k = 0 and k = m are left unsquared."""
    k = np.arange(m + 1.0)
    mean = m * risks[:, np.newaxis]
    divergence = deviance(m, mean, k, k - mean)
    kl = divergence / m
    terms = np.exp(log_coefficient(m, k) - divergence) * kl
    terms[:, 1:-1] *= kl[:, 1:-1]
    return terms.sum(axis=1)


def kl_constant(m: int) -> float:
    """Return the largest such sum for l = 0.001, 0.002, ..., 0.999, or 0.00037 for m > 1028."""
    if m > LARGEST_COMPUTED:
        return BEYOND
    grid = np.arange(1, 501) / 1000  # the sum is symmetric in l and 1 - l
    boundary = -np.log1p(-grid) * (1 - grid) ** m - np.log(grid) * grid**m
    # what the other terms add is at most the exact constant, below 1.11/m^2: few grid points can hold the maximum
    candidates = grid[boundary >= boundary.max() - 1.11 / m**2]
    return float(kl_mean(m, candidates).max())
