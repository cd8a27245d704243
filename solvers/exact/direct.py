r"""The minimum of a direct bound: one scalar root, with a proof on either side.

The convex problem :math:`\min_q B^\circ(q)` over all posteriors has the value ``t`` at which

.. math:: \sum_i p_i G(\hat l_i, t) = I/\delta,

and the optimal posterior is :math:`q_i \propto p_i\, \partial G(\hat l_i, t)/\partial t`, on the classifiers whose
empirical risk is below the bound (:mod:`pacb_models.numerics.confidence_sets` has the proof).
The proof is the root rounded down, below which no posterior's bound can be, since all risks may be that large
at once; the bound of the posterior itself is not above the root rounded up, by a supporting line of each penalty.
"""

from pacb_models.direct import DirectProblem
from pacb_models.proofs import CommonRisk
from pacb_models.solution import Outcome
from pacb_models.solver import Solver


class DirectSolver(Solver):
    """The exact minimum of a direct bound, for any prior, distance, divergence and order.

    A dozen passes over the classifiers whose risk is below the bound; no sorting. ``iterations`` counts them,
    ``details`` has the root rounded up.

    Examples
    --------
    >>> import pacb_models as pm
    >>> problem = pm.DirectProblem([0.1, 0.2, 0.4], m=500, distance="kl")
    >>> solution = pm.solve(problem)
    >>> solution.solver, solution.is_global, bool(solution.bound - solution.lower_bound < 1e-14)
    ('direct', True, True)
    """

    name = "direct"
    needs = ("problem.worst_case",)
    exact = True

    def run(self, problem: DirectProblem) -> Outcome:
        """Find the root and the posterior that belongs to it; there are no options."""
        root = problem.common_risk
        return Outcome(
            problem.weights_at(root.high),
            "optimal",
            iterations=root.evaluations,
            proof=CommonRisk(root.low * (1.0 - 1e-15)),
            details={"root": root.high},
        )


SOLVER = DirectSolver()
