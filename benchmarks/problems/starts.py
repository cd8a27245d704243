"""Where local methods are started: random posteriors, the same for every method.

They are Dirichlet with all parameters equal to a *concentration*: at 1 they are uniform on the simplex, far below 1
most weight is on a few classifiers, far above all weights are about equal. Every start has a part :math:`10^{-9}` of
the prior, so that no weight is zero: methods that multiply weights would never leave it.
"""

import numpy as np
import numpy.typing as npt

from pacb_models import BoundProblem
from pacb_models.solver import Solver

#: From a few classifiers to all of them.
CONCENTRATIONS = (0.01, 0.1, 1.0, 10.0)

#: The part of the prior in every start.
PRIOR_SHARE = 1e-9


def takes_start(solver: Solver) -> bool:
    """Return whether a method goes down from a posterior that it is given."""
    return solver.local and "start" in (solver.option_names() or ())


def numbered_start(problem: BoundProblem, seed: int, number: int) -> npt.NDArray[np.float64]:
    """Return one of a list of starts, whose concentrations take turns; the same whoever asks, and for however many."""
    random = np.random.default_rng([seed, problem.size, number])
    drawn = random.dirichlet(np.full(problem.size, CONCENTRATIONS[number % len(CONCENTRATIONS)]))
    mixed = (1.0 - PRIOR_SHARE) * drawn + PRIOR_SHARE * problem.prior
    return mixed / mixed.sum()
