"""``certify``: from error counts, or sums of losses, to a certificate."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..constants import check_sample_size
from ..errors import InputError
from ..numerics.elementwise import Array
from ..validation import all_or_refuse, check_delta, check_number, check_prior, real_numbers, vector
from .certificate import Certificate
from .count_certificate import CountCertificate
from .counts import check_counts, check_names
from .losses import LossCertificate
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
    r"""Return a certificate for a finite set of classifiers, from their error counts or losses.

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
    level, table = check_delta(delta), None
    if losses is not None:
        if errors is not None or spread != 0.0:
            raise InputError("losses is given together with errors or spread; those two are for error counts.")
        counted, table, size = _checked_losses(losses, m)
        names = [str(name) for name in losses.columns] if names is None and hasattr(losses, "columns") else names
    else:
        size = check_sample_size(m)
        if errors is None:
            raise InputError("neither errors nor losses is given; certify needs one of the two.")
        counted = np.array(check_counts(errors, size)[0])
        if counted.ndim != 1 or counted.size == 0:
            raise InputError(f"errors must be one-dimensional and not empty, but its shape is {counted.shape}.")
    weights = None if prior is None else check_prior(prior, counted.size)
    names = check_names(names, counted.size)
    if losses is not None:
        return LossCertificate(counted, size, level, weights, names, losses=table)
    d = check_number("spread", spread, lambda d: 0.0 <= d < math.inf, "it must be a number of at least 0")
    most = max(0.0, -math.log(2.0 * level * (1.0 / counted.size if weights is None else float(weights.max()))))
    if d > most:
        expected = (
            f"with this delta and prior it can be at most {most:.3g} (delta times the largest prior weight times "
            "exp(spread) must not exceed 1/2)"
        )
        raise InputError("spread", spread, expected)
    return CountCertificate(counted, size, level, weights, names, scoring=Spread(d) if d > 0.0 else TieSplit())


def _checked_losses(losses: Any, m: int | None) -> tuple[Array, Array | None, int]:
    """Return sums of losses between 0 and 1, the table where they came with an example in each row, and how many
    examples."""
    if real_numbers("losses", losses, "a sequence of numbers").ndim != 2:
        size, sums = check_sample_size(m), vector("losses", losses)
        good = (sums >= 0.0) & (sums <= size)
        return all_or_refuse("losses", sums, good, "a sum of losses in [0, 1] lies between 0 and m"), None, size
    table = np.array(real_numbers("losses", losses, "a table of numbers"))
    if not table.size:
        wanted = "it must have a row per example, a column per classifier"
        raise InputError(f"losses has the shape {table.shape}; {wanted}.")
    all_or_refuse("losses", table, (table >= 0.0) & (table <= 1.0), "every loss must lie between 0 and 1")
    if m is not None and check_sample_size(m) != len(table):
        raise InputError(f"m is {m!r}, but losses has {len(table)} rows, one for each example.")
    return table.sum(axis=0), table, len(table)
