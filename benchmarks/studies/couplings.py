"""The exact worst case of a statement about counts, over every dependence between the classifiers.

The counts of H classifiers have binomial margins; how they hang together is unknown. The largest probability of an
event over all joint distributions with these margins is a linear program with (m + 1)^H variables, for small m and H.
"""

import itertools
from collections.abc import Callable

import numpy as np


def worst_case(m: int, risks: np.ndarray, violated: Callable[[tuple[int, ...]], bool]) -> float:
    """Return the largest probability of ``violated(counts)`` over all couplings of Binomial(m, risk) counts."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array
    from scipy.stats import binom

    outcomes = np.array(list(itertools.product(range(m + 1), repeat=len(risks))))
    gains = np.array([float(violated(tuple(counts))) for counts in outcomes.tolist()])
    rows = (outcomes + (m + 1) * np.arange(len(risks))).ravel()
    columns = np.repeat(np.arange(len(outcomes)), len(risks))
    margins = coo_array((np.ones(rows.size), (rows, columns)), shape=((m + 1) * len(risks), len(outcomes)))
    masses = np.concatenate([binom.pmf(np.arange(m + 1), m, risk) for risk in risks])
    found = linprog(-gains, A_eq=margins.tocsr(), b_eq=masses, bounds=(0, None), method="highs")
    if found.status != 0:
        raise RuntimeError(f"HiGHS did not solve the linear program: {found.message}")
    return float(-found.fun)
