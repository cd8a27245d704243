"""The width of the Gaussian kernel, estimated as kernlab's ``sigest`` does."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist

from ..errors import InputError


def sigest(X: np.ndarray, *, quantiles: tuple[float, float] = (0.1, 0.9)) -> float:
    r"""The γ of :math:`\exp(-\gamma\lVert x - x'\rVert^2)` from the spread of the data.

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
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or len(X) < 2:
        raise InputError(f"X has shape {X.shape}; sigest needs a table with at least two rows.")
    distances = pdist(X, "sqeuclidean")
    distances = distances[distances > 0]
    if distances.size == 0:
        raise InputError("X has no two rows that differ; the kernel's width cannot be estimated.")
    return float(np.mean(1.0 / np.quantile(distances, quantiles)))
