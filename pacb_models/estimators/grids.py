"""What the paper's SVMs differ in, the sets Λ of regularisation parameters, and the width of the kernel they share."""

from collections.abc import Sequence

import numpy as np

from ..errors import InputError
from ..validation import all_or_refuse, check_count, vector


def paper_grid(count: int = 1990) -> np.ndarray:
    r"""Return the grid of the paper's tables, :math:`\lambda_i = 0.10 + 0.01\,i` for i = 0, …, count − 1.

    >>> paper_grid(3)
    array([0.1 , 0.11, 0.12])
    >>> float(paper_grid()[-1])
    19.99
    """
    count = check_count("count", count)
    # Division rounds each λ to the double nearest the decimal, which adding up 0.01 would not.
    return np.arange(10, 10 + count) / 100


def arithmetic_geometric_grid() -> np.ndarray:
    r"""Return the grid of the paper's text: logarithmic below 0.1, linear from 0.1 to 5.

    The union of the powers :math:`r^k` of the ratios r = 1/2, 1/3, 1/5 that lie in [1e-10, 0.1], and of
    0.1, 0.15, 0.2, …, 5: 61 + 99 = 160 values in increasing order. (The paper does not say where its geometric series
    start; they are taken to start at 1.)
    """
    powers = [float(base) ** -k for base in (2, 3, 5) for k in range(1, 40)]
    geometric = {power for power in powers if 1e-10 <= power <= 0.1}
    return np.array(sorted(geometric) + [k / 20 for k in range(2, 101)])


GRIDS = {"paper": paper_grid, "arithmetic-geometric": arithmetic_geometric_grid}


def lambda_grid(grid: str | Sequence[float] | np.ndarray = "paper", count: int | None = None) -> np.ndarray:
    """Return a named grid, or the caller's own positive values, checked; ``count`` is for the paper's grid only."""
    if isinstance(grid, str) and grid == "paper":
        return paper_grid() if count is None else paper_grid(count)
    if count is not None:
        raise InputError("count", count, "only the grid 'paper' has a number of values to choose")
    if not isinstance(grid, str):
        lambdas = vector("grid", grid)
        good = np.isfinite(lambdas) & (lambdas > 0)
        return all_or_refuse("grid", lambdas, good, "every λ must be a positive finite number")
    if grid not in GRIDS:
        known = ", ".join(map(repr, GRIDS))
        raise InputError("grid", grid, f"it must be one of {known} or a sequence of positive numbers")
    return GRIDS[grid]()


def sigest(X: np.ndarray, *, quantiles: tuple[float, float] = (0.1, 0.9)) -> float:
    r"""Return the γ of :math:`\exp(-\gamma\lVert x - x'\rVert^2)` from the spread of the data.

    .. math:: \gamma = \tfrac12\bigl(1/d_{0.1} + 1/d_{0.9}\bigr)

    where :math:`d_a` is the a-quantile of the squared distances between two examples. As in kernlab (Karatzoglou,
    Smola, Hornik and Zeileis 2004) pairs at distance zero do not count, and γ is the mean of the two ends of the range
    that ``sigest`` returns. kernlab looks at n/2 pairs drawn at random; this looks at all n(n − 1)/2, which is what the
    random pairs estimate.

    Parameters
    ----------
    X : array of shape (n, d)
        The features; they are not scaled.
    quantiles : two numbers in (0, 1)

    >>> sigest([[0.0], [1.0], [3.0]], quantiles=(0.5, 0.5))
    0.25
    """
    from scipy.spatial.distance import pdist

    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or len(X) < 2:
        raise InputError(f"X has shape {X.shape}; sigest needs a table with at least two rows.")
    distances = pdist(X, "sqeuclidean")
    distances = distances[distances > 0]
    if distances.size == 0:
        raise InputError("X has no two rows that differ; the kernel's width cannot be estimated.")
    return float(np.mean(1.0 / np.quantile(distances, quantiles)))
