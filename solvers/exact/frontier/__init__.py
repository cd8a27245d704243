r"""The global minimum of a bound, certified: a search along the frontier between empirical risk and divergence.

Every bound is :math:`B(q) = F(L(q), D(q))` with ``F`` increasing in the empirical risk ``L`` and in the divergence's
statistic ``D``. A posterior that minimises ``B`` minimises ``D`` among all posteriors of its own ``L``, and these
form a path with one parameter:

* χ²: :math:`q_i \propto p_i (\mu - l_i)_+` (:mod:`.chi_squared`),
* Rényi order α: :math:`q_i \propto p_i (\mu - l_i)_+^{1/(\alpha-1)}` (:mod:`.renyi`),
* Kullback–Leibler: :math:`q_i \propto p_i e^{-\beta l_i}` (:mod:`.gibbs`).

The path leads from the prior, where ``B`` falls, to all mass on the smallest risk. The local minima of ``B`` on the
simplex are the places where ``B`` turns from falling to rising along the path, and its end if ``B`` still falls
there. (A local minimum on the simplex lies on the path and is one along it. Conversely, ``B`` at any posterior is at
least ``B`` at the path's point of the same ``L``, and ``L`` is continuous. Beyond the prior both ``L`` and ``D``
increase.)

**The certificate.** ``is_global`` is True when every turn was found. This is not a matter of a fine grid:

1. the sign of :math:`\mathrm dB` is that of an explicit function ``h`` of the path's point (:mod:`.stationarity`);
2. between two points of the path ``h`` stays within bounds that follow from the two points alone, since risk, budget
   and exchange rate are monotone: where they exclude zero there is no turn;
3. where they do not, ``h`` is monotone as long as the path's elasticity stays on one side of a threshold, and the
   elasticity has rigorous bounds between two points of each path; what is neither is cut again (:mod:`.sweep`). On a
   χ² segment (fixed support) nothing needs cutting: by convexity ``h`` rises on one interval at most, whose ends
   Newton's method finds; there linear and squared have their closed form, and kl is one scalar equation;
4. pieces that shrink to rounding without being settled are kept, and the posterior is called global only if the
   smallest bound that such a piece could hold, :math:`F(\min L, \min D)`, is not below the minimum by
   :math:`10^{-12}`.

All of this is up to rounding: a dip of the bound by less than about :math:`10^{-14}` can go unseen, and cannot matter.

With the kl distance and classifiers without errors, the slope of ``B`` in ``L`` is infinite at ``L = 0``, and the end
of the path is a local minimum, possibly a very narrow one (with the KL divergence, whose slope is infinite too, if
every other risk is at least :math:`1/m`).
"""

from __future__ import annotations

from typing import Any

from pacb_models.many import BatchOutcome, ProblemBatch
from pacb_models.problem import BoundProblem, Problem
from pacb_models.solution import Outcome
from pacb_models.solver import Solver

from . import chi_squared, gibbs, many, minima, renyi

#: Where merging equal risks begins to save time. Measured, H = 50 to 5000 with m = 300: the two ways are equal between
#: 500 and 2000, depending on the bound; with 8 of 50 risks different (KL divergence, kl) merging saves 15 to 87 %.
MERGED_FROM, FEW = 1000, 0.25


class Frontier(Solver):
    """Every local minimum of the bound and the best of them, without an external optimiser.

    Choose it whenever it applies: it is exact, needs no starting point and no tolerance, takes less time than sorting
    the risks (χ²; a few dozen passes over them for the other divergences), and any prior will do. Other local minima
    are in ``solution.local_minima``. ``iterations`` counts the points of the path that were looked at.

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
    handles = {
        "chi2": ("linear", "squared", "kl"),
        "renyi": ("linear", "squared", "kl"),
        "kl": ("linear", "squared", "kl", "pinsker", "ch"),
    }
    exact = True

    def merges(self, problem: Problem, options: dict[str, Any]) -> bool:
        """Not in small sets, unless few of their risks differ and it takes more than sums along the sorted risks."""
        if problem.size >= MERGED_FROM:
            return True
        return problem.divergence != "chi2" and len(set(problem.risks.tolist())) <= FEW * problem.size

    def run_batch(self, batch: ProblemBatch) -> BatchOutcome | None:
        """Minimise χ² bounds together (see :mod:`.many`)."""
        return many.minimise(batch) if many.can_minimise(batch) else None

    def run(self, problem: BoundProblem) -> Outcome:
        """Minimise the bound; there are no options."""
        if minima.is_vacuous(problem):
            return minima.prior_is_optimal(problem, "the bound rounds to one at every posterior")
        if problem.divergence == "kl":
            return gibbs.minimise(problem)
        if problem.order == 2.0:
            return chi_squared.minimise(problem)
        return renyi.minimise(problem)


SOLVER = Frontier()
