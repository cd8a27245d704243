"""``certify``: from error counts, or sums of losses, to a certificate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..constants import check_sample_size
from ..errors import InputError
from ..validation import check_delta, check_number, check_prior
from .betting import BettingCertificate
from .certificate import Certificate
from .count_certificate import CountCertificate
from .counts import check_counts, check_losses, check_names, check_sums
from .losses import LossSumCertificate
from .scores import Spread, TieSplit


def certify(
    errors: ArrayLike | None = None,
    m: int | None = None,
    delta: float = 0.05,
    prior: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    spread: float = 0.0,
    *,
    losses: ArrayLike | None = None,
) -> Certificate:
    r"""A certificate for a finite set of classifiers, from their error counts or losses.

    With probability at least ``1 - delta`` over ``m`` i.i.d. examples that were used neither to train nor to choose the
    classifiers, and however their errors depend on each other, all of this holds at once:

    * a classifier drawn from ``certificate.posterior`` errs with probability at most ``certificate.bound``;
    * each classifier i alone errs with probability at most ``certificate.single_bounds[i]``, Clopper and Pearson's
      limit at the level :math:`\delta p_i`; the smallest of these is ``single_bound``, and never below ``bound``;
    * any other posterior q errs with probability at most ``certificate.bound_of(q)``.

    Parameters
    ----------
    errors : array of int, shape (H,)
        Numbers of errors on the examples, the same examples or not.
    m : int
        Number of examples, 1 to 10⁹.
    delta : float
    prior : array of shape (H,), optional
        Positive weights that sum to one and were fixed before seeing the examples; uniform by default.
    names : sequence of str, optional
    spread : float
        0 is the tie split, which shares the bound among the classifiers with the fewest errors. A positive number,
        fixed before seeing the examples, also counts on classifiers that are nearly as good: 3 suits dense grids.
    losses : array of shape (m, H) or (H,), optional
        Instead of ``errors``: losses between 0 and 1, a row per example and a column per classifier (then ``m`` need
        not be given), or only their sums over the examples. Their certificate is a limit for each classifier. One by
        one they give a smaller limit than their sums; a loss that is 0 or 1 has a smaller one as an error.

    Examples
    --------
    >>> import pacb_models as pm
    >>> certificate = pm.certify([25, 23, 21, 35, 50], m=549)
    >>> certificate.single, round(certificate.single_bound, 4)
    (2, 0.0618)
    >>> pm.certify([4, 4, 9], m=549).posterior.tolist()
    [0.5, 0.5, 0.0]
    """
    level = check_delta(delta)
    if losses is not None:
        if errors is not None or spread != 0.0:
            raise InputError("losses is given together with errors or spread; those two are for error counts.")
        return _from_losses(losses, m, level, prior, names)
    size = check_sample_size(m)
    if errors is None:
        raise InputError("neither errors nor losses is given; certify needs one of the two.")
    counts = np.array(check_counts(errors, size)[0])
    if counts.ndim != 1 or counts.size == 0:
        raise InputError(f"errors must be one-dimensional and not empty, but its shape is {counts.shape}.")
    weights = None if prior is None else check_prior(prior, counts.size)
    scoring = _scoring(spread, level * (1.0 / counts.size if weights is None else float(weights.max())))
    check_names(names, counts.size)
    return CountCertificate(counts, size, level, weights, names, scoring=scoring)


def _from_losses(
    losses: Any, m: int | None, delta: float, prior: ArrayLike | None, names: Sequence[str] | None
) -> Certificate:
    """From sums of losses, or a table with an example in each row."""
    if np.ndim(losses) != 2:
        size = check_sample_size(m)
        sums = check_sums(losses, size)
        weights = None if prior is None else check_prior(prior, sums.size)
        check_names(names, sums.size)
        return LossSumCertificate(sums, size, delta, weights, names)
    matrix = check_losses(losses)
    if m is not None and m != len(matrix):
        raise InputError(f"m is {m!r}, but losses has {len(matrix)} rows, one for each example.")
    if names is None and hasattr(losses, "columns"):
        names = [str(name) for name in losses.columns]
    check_names(names, matrix.shape[1])
    weights = None if prior is None else check_prior(prior, matrix.shape[1])
    return BettingCertificate(matrix.sum(axis=0), len(matrix), delta, weights, names, losses=matrix)


def _scoring(spread: object, largest_level: float) -> TieSplit | Spread:
    value = check_number("spread", spread, lambda d: 0.0 <= d < math.inf, "it must be a number of at least 0")
    if value == 0.0:
        return TieSplit()
    if largest_level * math.exp(min(value, 700.0)) > 0.5:
        most = math.log(0.5 / largest_level)
        raise InputError(
            "spread",
            spread,
            f"with this delta and prior it can be at most {most:.3g} (delta times the largest prior weight times "
            "exp(spread) must not exceed 1/2)",
        )
    return Spread(value)
