r"""Models that keep away from :math:`\ln 0`: tiny floors, for solvers that evaluate on the edge of the domain.

With :math:`q \ge \varepsilon p`, every posterior is a mixture :math:`\varepsilon p + (1 - \varepsilon) q'`. The minimum
over those lies between that over all posteriors and the bound of the mixture with the optimal :math:`q'`, which is
about ε above it: so the optimum of what is written is proven, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pacb_models import BoundProblem
from pacb_models.errors import UnsupportedProblemError

from .optimum import Optimum

if TYPE_CHECKING:
    import pyomo.environ as pyo

#: The floor of each weight, as a share of its prior.
FLOOR_SHARE = 1e-9
#: How far the bound of the kl distance, a variable, stays below one.
BELOW_ONE = 1e-12


def mixture(problem: BoundProblem, posterior: np.ndarray) -> np.ndarray:
    """A posterior of all, mixed with the prior until it keeps the floors."""
    return FLOOR_SHARE * problem.prior + (1.0 - FLOOR_SHARE) * posterior


def add_floors(model: pyo.ConcreteModel, problem: BoundProblem) -> dict[str, float]:
    """Raise the lower bounds of a model; what was changed, by the variables' names.

    The floors of the weights alone decide the minimum: they imply that of the risk, and the ceiling stays above the
    bound of the prior, which keeps them.
    """
    if problem.posteriors is not None:
        raise UnsupportedProblemError("floors are for problems without constraints, which the floors may break.")
    for variable, weight in zip(model.q.values(), problem.prior.tolist()):
        variable.setlb(FLOOR_SHARE * weight)
    changed = {"q/p": FLOOR_SHARE}
    if (L := model.component("L")) is not None:
        # Every weight is at least its floor, so the risk is at least the prior's, times the share; half for rounding.
        L.setlb(changed.setdefault("L", 0.5 * FLOOR_SHARE * problem.empirical_risk(problem.prior)))
    if (r := model.component("r")) is not None and problem.bound(problem.prior) < 1.0 - BELOW_ONE:
        r.setub(changed.setdefault("r", 1.0 - BELOW_ONE))
    return changed


def enclosure(problem: BoundProblem, known: Optimum) -> dict[str, float | None]:
    """Between which values the minimum of the model with floors lies, where that without is proven."""
    optimum = known.optimum
    if optimum is None:
        return {"optimum": None, "lower_bound": known.lower_bound, "above_optimum": None}
    attained = max(problem.bound(mixture(problem, np.array(known.posterior))), optimum)
    return {"optimum": attained, "lower_bound": optimum, "above_optimum": attained - optimum}
