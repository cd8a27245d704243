r"""The global minimum of a bound, with a proof: a search along the frontier between empirical risk and divergence.

Every bound is :math:`B(q) = F(L(q), T(q))`, ``L`` the empirical risk and ``T`` the size of the divergence. **F is
jointly concave and increasing**: φ is jointly convex, as the PAC-Bayes theorem asks, so that :math:`\{(L, b, r) :
\phi(L, r) \le b\}` is convex and :math:`r(L, b)`, the upper end of its sections, concave; budgets are concave and
increasing. The set of all :math:`(L, T)` is bounded below by its *frontier*, which has supporting lines :math:`T +
\gamma L \ge h`. Some of them bound a convex polygon that contains the set, and **the minimum of a concave function over
a polygon is at a vertex**. So

.. math:: \min_{\text{vertices}} F \;\le\; \min_q B(q) \;\le\; \min_{\text{points of the frontier}} F ,

whatever the distance, the divergence and the prior.

The divergence brings the lines and the posteriors (:mod:`pacb_models.divergences`), the distance the inverse
(:mod:`pacb_models.distances`); the search (:mod:`.search`) knows neither by name. The lines are handed over as a proof,
which :mod:`pacb_models.proofs` checks.
"""

from typing import Any

import numpy as np

from pacb_models.divergences.frontiers import Frontier
from pacb_models.problem import BoundProblem, Problem
from pacb_models.proofs import Leaf, Proof
from pacb_models.solution import Outcome, Solution
from pacb_models.solver import Solver
from pacb_models.tandem import TandemProblem

from . import constrained, tandem
from .effort import BINNED, KNOWN, THOROUGH
from .results import needed, outcome
from .search import Search

#: Where merging equal risks begins to save time. Measured, H = 50 to 5000 with m = 300: the two ways are equal between
#: 500 and 2000, depending on the bound.
MERGED_FROM, FEW = 1000, 0.25
#: Larger sets are searched in bins first, so many of them; minima are this close to those of the bins, or looked for.
LARGE, BINS, NEAR = 1 << 15, 1 << 14, 1e-3
#: More numbers than this, lines times classifiers, and a proof is thinned to the lines that it needs.
LONG = 1 << 16


class FrontierSearch(Solver):
    """The global minimum with a proof, without an external optimiser.

    Choose it whenever it applies: it is exact, needs no starting point and no tolerance, and any prior will do. Other
    local minima that it meets are in ``solution.local_minima``. ``iterations`` counts the points of the frontier that
    were evaluated.

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
    needs = ("problem.bound_at", "divergence.frontier or slope_inverse")
    exact = True
    local = False
    honours = ("average", "weights", "support")

    def merges(self, problem: Problem, options: dict[str, Any]) -> bool:
        """Merge large sets, and small ones where few of their risks differ and a line costs a pass over them."""
        risks, few = problem.risks, FEW * problem.size
        if risks.size >= MERGED_FROM:
            return True
        # The first ones tell it where all differ.
        return len(set(risks[: int(few) + 1].tolist())) <= few and len(set(risks.tolist())) <= few

    def unsupported(self, problem: Problem) -> str | None:
        if isinstance(problem, TandemProblem) and problem.posteriors is not None and problem.posteriors.support:
            return "for votes it does not honour limits on the support"
        return super().unsupported(problem)

    def continued(self, last: Solution) -> dict[str, Any]:
        return {} if last.proof is None else {"proof": last.proof}

    def run(self, problem: BoundProblem | TandemProblem, *, proof: Proof | None = None) -> Outcome:
        """Minimise the bound.

        ``proof`` is that of a similar problem's solution, with as many rows of constraints: its lines are where those
        of this problem are looked for.
        """
        if isinstance(problem, TandemProblem):
            return tandem.minimise_votes(problem)
        if problem.posteriors is not None:
            return constrained.minimise_constrained(problem, proof)
        frontier = problem.divergence_function.frontier(problem.risks, problem.prior, problem.uniform_prior)
        large = problem.size > LARGE
        search = Search(problem, frontier, KNOWN if large else THOROUGH)
        search.run(lambda: _from_bins(problem, frontier) if large else None)
        z = search.points[0]
        if z.size * problem.size > LONG:
            z = needed(search)
        return outcome(search, Leaf(frontier.rows(z) if z.size else np.zeros((0, 3))))


def _from_bins(problem: BoundProblem, frontier: Frontier) -> np.ndarray | None:
    """Return the coordinates that a search on few classifiers needs, each standing for those of nearly equal risk."""
    place = np.empty(problem.size, dtype=np.intp)
    np.multiply(frontier.y, (BINS - 0.5) / frontier.spread, out=place, casting="unsafe")
    mass = np.bincount(place, frontier.p, BINS)
    used = mass > 0.0
    risks, prior = np.bincount(place, frontier.p * frontier.y, BINS)[used] / mass[used], mass[used]
    # The smallest risk is where the frontier ends.
    risks[0] = 0.0
    small = problem.of_classifiers(risks + frontier.least, prior / prior.sum())
    search = Search(small, small.divergence_function.frontier(small.risks, small.prior, False), BINNED)
    search.run()
    minima, found = [each.z for each in search.minima if np.isfinite(each.z)], needed(search)
    # A minimum is between two of them.
    sides = [(z, step) for z in minima for step in (-NEAR, NEAR) if not np.any(np.abs((found - z) / step - 0.5) < 0.5)]
    return np.append(found, [z + step for z, step in sides]) if minima else None


SOLVER = FrontierSearch()
