r"""The global minimum of a bound, certified: a search along the frontier between empirical risk and divergence.

Every bound is :math:`B(q) = F(L(q), T(q))`, ``L`` the empirical risk and ``T`` the size of the divergence. **F is
jointly concave and increasing**: φ is jointly convex, as the PAC-Bayes theorem asks, so that :math:`\{(L, b, r) :
\phi(L, r) \le b\}` is convex and :math:`r(L, b)`, the upper end of its sections, concave; budgets are concave and
increasing. The set of all :math:`(L, T)` is bounded below by its *frontier*, which has supporting lines :math:`T +
\gamma L \ge h`. Some of them bound a convex polygon that contains the set, and **the minimum of a concave function over
a polygon is at a vertex**. So

.. math:: \min_{\text{vertices}} F \;\le\; \min_q B(q) \;\le\; \min_{\text{points of the frontier}} F ,

whatever the distance, the divergence and the prior. The gap between two tangents is of second order in their distance:
a few lines around the best point close it to :math:`10^{-12}`. Where a vertex is still below, its interval is cut.

The divergence brings the lines and the posteriors (:mod:`pacb_models.divergences`), the distance the inverse
(:mod:`pacb_models.distances`); the search (:mod:`.search`) knows neither by name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacb_models.problem import BoundProblem, Problem
from pacb_models.solution import Outcome, Solution
from pacb_models.solver import Solver
from pacb_models.solving.many import BatchOutcome, ProblemBatch

from . import batches, constrained
from .search import Search

#: Where merging equal risks begins to save time. Measured, H = 50 to 5000 with m = 300: the two ways are equal between
#: 500 and 2000, depending on the bound.
MERGED_FROM, FEW = 1000, 0.25


class Frontier(Solver):
    """The global minimum with a proof, without an external optimiser.

    Choose it whenever it applies: it is exact, needs no starting point and no tolerance, and any prior will do. Other
    local minima that it meets are in ``solution.local_minima``. ``iterations`` counts the points of the frontier that
    were looked at.

    Examples
    --------
    One good classifier among many poor ones, few examples: the squared bound has two minima.

    >>> import pacb_models as pm
    >>> problem = pm.BoundProblem([0.0] + [0.5] * 60, m=30, delta=0.05, distance="squared")
    >>> solution = pm.solve(problem, solver="frontier")
    >>> solution.is_global, len(solution.local_minima)
    (True, 1)
    """

    name = "frontier"
    needs = ("path",)
    exact = True
    local = False
    honours = ("average", "weights", "support")

    def merges(self, problem: Problem, options: dict[str, Any]) -> bool:
        """Not in small sets, unless few of their risks differ and a line costs a pass over them."""
        risks, few = problem.risks, FEW * problem.size
        if risks.size >= MERGED_FROM:
            return True
        # The first ones tell it where all differ.
        return len(set(risks[: int(few) + 1].tolist())) <= few and len(set(risks.tolist())) <= few

    def run_batch(self, batch: ProblemBatch) -> BatchOutcome | None:
        """Minimise bounds together, where the divergence has the lines of many sets at once (see :mod:`.batches`)."""
        return batches.minimise(batch)

    def continued(self, last: Solution) -> dict[str, Any]:
        certificate = last.details.get("certificate")
        return {} if certificate is None else {"certificate": certificate}

    def run(self, problem: BoundProblem, *, certificate: NDArray[np.float64] | None = None) -> Outcome:
        """Minimise the bound.

        ``certificate`` is that of a similar problem's solution, with as many rows of constraints: its lines are where
        those of this problem are looked for.
        """
        if problem.posteriors is not None:
            return constrained.minimise(problem, certificate)
        frontier = problem.divergence_function.frontier(problem.risks, problem.prior, problem.uniform_prior)
        return Search(problem, frontier).outcome()


SOLVER = Frontier()
