"""What a posterior makes of its constraints, for reading."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from .posteriors import Posteriors

#: Stands wherever constraints are printed.
ABOUT = "The constraint is about averages on the sample; the bound is about true risk."
#: A constraint that is this close to its limit, in its unit, holds with equality.
TIGHT = 1e-7


def findings(posteriors: Posteriors, q: NDArray[np.float64], multipliers: Mapping[str, float]) -> list[str]:
    """Return one sentence for each constraint: whether it holds with equality, and what more room would be worth.

    >>> from pacb_models import average
    >>> findings(Posteriors(2, [average([10, 40], at_most=25, name="ms")]), np.array([0.5, 0.5]), {"ms": 0.002})
    ['ms at most 25: holds with equality; a little more room lowers the bound by 0.002 per unit']
    """
    sentences = []
    for row, product in zip(posteriors.rows, posteriors.matrix @ q, strict=True):
        if product < -TIGHT:
            mean = float(row.values @ q)
            sentences.append(f"{row}: has room, the average is {-mean if row.turned else mean:.6g}")
            continue
        rate = multipliers.get(row.name, 0.0)
        worth = f"; a little more room lowers the bound by {rate:.3g} per unit" if rate > 0.0 else ""
        broken = "holds with equality" if product <= TIGHT else "is broken"
        sentences.append(f"{row}: {broken}{worth}")
    full = (posteriors.upper < 1.0) & (q >= posteriors.upper - TIGHT)
    least = (posteriors.lower > 0.0) & (q <= posteriors.lower + TIGHT)
    for name, words in posteriors.words().items():
        if posteriors.support is not None and name == "support":
            costs, total = posteriors.support.costs(posteriors.size)
            sentences.append(f"{words}: {float(costs[q > 0.0].sum()):g} of {total:g} used")
        else:
            count = int(np.count_nonzero(full if name == "caps" else least))
            sentences.append(f"{words}: {count} classifier{' is' if count == 1 else 's are'} at the {name[:-1]}")
    return sentences
