r"""Ipopt through cyipopt, with derivatives written by hand.

The lifted problem, in the variables :math:`(q_1, \dots, q_H, L, D)`:

.. math:: \min\ F(L, D) \quad\text{s.t.}\quad \sum_i q_i = 1, \quad \sum_i q_i l_i - L = 0, \quad
          \sum_i p_i f(q_i/p_i) - D \le 0, \quad \tilde A q \le 0, \quad lo \le q \le up,

where :math:`\tilde A` has the averages that the problem constrains, in their units, and ``F`` is the bound as a
function of the empirical risk and the statistic. ``F`` has two arguments and the sum is separable, so the Hessian of
the Lagrangian has :math:`H + 3` entries. Only values and derivatives of distance and divergence are used: any pair will
do, also a third party's.

At Rényi orders α the statistic spans α times as many orders of magnitude as the weights, and Ipopt loses its way.
There the last variable is the root :math:`t = D^{1/\alpha}`, with :math:`\sum_i p_i (q_i/(p_i t))^\alpha \le 1`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pacb_models.algebra import scaling
from pacb_models.models.lifted import box, limits
from pacb_models.numerics.inner import dot
from pacb_models.problem import BoundProblem, Outer

from ..options import FromStarts, Software
from .interior_point import SETTINGS, InteriorPoint, Prepared, Run, Watch


class LiftedProblem:
    """The functions of the lifted problem and their derivatives, under the names by which cyipopt asks for them. The
    rows are the sum of the weights, the empirical risk, the divergence and the averages. Second derivatives are those
    of weights, then F_LL, F_LT, F_TT, then of weights with the last variable, then of a quadratic risk."""

    #: Called by Ipopt after each iteration.
    intermediate: Callable[..., bool]

    def __init__(self, problem: BoundProblem):
        self.problem = problem
        H, weights = problem.size, np.arange(problem.size)
        self.limits = limits(problem)
        #: The averages that are constrained, in their units.
        self.averages = np.array([limit.values for limit in self.limits]).reshape(-1, H)
        #: Of an empirical risk that is quadratic, the places of its second derivatives.
        self.matrix, self.triangle = problem.risk_matrix, np.tril_indices(0 if problem.risk_matrix is None else H)
        more = len(self.limits)
        rows = np.concatenate((np.repeat([0, 1], H), [1], np.repeat(2, H + 1), np.repeat(np.arange(3, 3 + more), H)))
        columns = np.concatenate((weights, weights, [H], weights, [H + 1], np.tile(weights, more)))
        self._jacobian = rows, columns
        across = np.full(H if problem.divergence_function.homogeneous else 0, H + 1)
        rows = np.concatenate((weights, [H, H + 1, H + 1], across, self.triangle[0]))
        self._hessian = rows, np.concatenate((weights, [H, H, H + 1], weights[: across.size], self.triangle[1]))

    def point(self, posterior: np.ndarray) -> np.ndarray:
        """Return the variables at a posterior."""
        return np.append(posterior, (self.problem.empirical_risk(posterior), self.size(posterior)))

    def size(self, q: np.ndarray) -> float:
        """Return the size of the posterior itself."""
        return self.problem.divergence_function.size(q, self.problem.prior)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        floors, caps = box(self.problem)
        # By Jensen's inequality no posterior has a smaller size than the prior.
        lower = np.append(floors, (0.0, self.size(self.problem.prior)))
        return lower, np.append(caps, (float(self.problem.risks.max() > 0.0), math.inf))

    def constraint_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        tied = [self.matrix is None, False, *(limit.equality for limit in self.limits)]
        return np.append(1.0, np.where(tied, 0.0, -math.inf)), np.append(1.0, np.zeros(len(tied)))

    def objective(self, x: np.ndarray) -> float:
        return float(self.problem.bound_at(x[-2], self.problem.counted(x[-1])))

    def gradient(self, x: np.ndarray) -> np.ndarray:
        outer = self._outer(x)
        return np.append(np.zeros(x.size - 2), (outer.L, outer.T))

    def constraints(self, x: np.ndarray) -> np.ndarray:
        q = x[:-2]
        risk = dot(q, self.problem.risks) if self.matrix is None else dot(q, self.matrix @ q)
        return np.array([q.sum(), risk - x[-2], self.excess(q, x[-1]), *(self.averages @ q)])

    def jacobianstructure(self) -> tuple[np.ndarray, np.ndarray]:
        return self._jacobian

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        slopes, slope = self.excess_slopes(x[:-2], x[-1])
        risks = self.problem.risk_gradient(x[:-2])
        return np.concatenate((np.ones(slopes.size), risks, [-1.0], slopes, [slope], self.averages.ravel()))

    def hessianstructure(self) -> tuple[np.ndarray, np.ndarray]:
        return self._hessian

    def hessian(self, x: np.ndarray, multipliers: np.ndarray, objective_factor: float) -> np.ndarray:
        outer, (bends, corner, across) = self._outer(x), self.excess_bends(x[:-2], x[-1])
        tail = objective_factor * np.array([outer.LL, outer.LT, outer.TT])
        tail[2] += multipliers[2] * corner
        risk = [] if self.matrix is None else 2.0 * multipliers[1] * self.matrix[self.triangle]
        return np.concatenate((multipliers[2] * bends, tail, multipliers[2] * across, risk))

    def _outer(self, x: np.ndarray) -> Outer:
        outer = self.problem.derivatives_at(x[-2], x[-1])
        # L is fixed at zero, as every risk is zero; its derivatives, infinite for the kl distance, are not used.
        return outer if x[-2] > 0.0 else outer._replace(L=0.0, LL=0.0, LT=0.0)

    def excess(self, q: np.ndarray, T: float) -> float:
        """Return the left side of the divergence's constraint."""
        return self.size(q) - T

    def excess_slopes(self, q: np.ndarray, T: float) -> tuple[np.ndarray, float]:
        """Return the derivatives for the weights and for the last variable."""
        return self.problem.divergence_function.gradient(q, self.problem.prior, T), -1.0

    def excess_bends(self, q: np.ndarray, T: float) -> tuple[np.ndarray, float, np.ndarray]:
        """Return the second derivatives for the weights, for the last variable, and for both where they are not all
        zero."""
        return self.problem.divergence_function.curvature(q, self.problem.prior, T)[0], 0.0, np.zeros(0)


class HomogeneousProblem(LiftedProblem):
    r"""The same for sizes that are norms: :math:`\sum_i p_i (q_i/(p_i T))^\alpha \le 1`, whose Hessian is sparse, and
    in which nothing overflows."""

    def excess(self, q: np.ndarray, T: float) -> float:
        return self.problem.statistic(q / T) - 1.0

    def excess_slopes(self, q: np.ndarray, T: float) -> tuple[np.ndarray, float]:
        problem, ratio, order = self.problem, q / T, self.problem.order
        slopes = order * problem.divergence_function.gradient(ratio, problem.prior, 1.0) / T
        return slopes, -order * problem.statistic(ratio) / T

    def excess_bends(self, q: np.ndarray, T: float) -> tuple[np.ndarray, float, np.ndarray]:
        problem, ratio, order = self.problem, q / T, self.problem.order
        bends = order * problem.divergence_function.curvature(ratio, problem.prior, 1.0)[0] / T**2
        across = -(order**2) * problem.divergence_function.gradient(ratio, problem.prior, 1.0) / T**2
        return bends, order * (order + 1.0) * problem.statistic(ratio) / T**2, across


def lifted(problem: BoundProblem) -> LiftedProblem:
    """Return the form of the problem that Ipopt copes with best."""
    return HomogeneousProblem(problem) if problem.divergence_function.homogeneous else LiftedProblem(problem)


class CyIpopt(InteriorPoint):
    """Ipopt with hand-written sparse derivatives, for any distance and divergence.

    Options
    -------
    start, starts, seed, max_iterations, time_limit, trace : see :mod:`pacb_models.solvers.options`
    options : dict, optional
        Ipopt's own options, for instance ``{"tol": 1e-10, "print_level": 5}``; they override ours.

    ``details`` lists Ipopt's return codes, one per start.
    """

    name = "cyipopt"
    needs = ("problem.gradient", "problem.derivatives_at", "divergence.curvature")
    requires = ("cyipopt",)
    install = "`make setup` builds it on the Ipopt inside casadi's wheel, or `conda install -c conda-forge cyipopt`"

    @dataclass(kw_only=True)
    class Options(FromStarts, Software):
        trace: bool = False

    def prepare(self, problem: BoundProblem, options: Options) -> Prepared:
        import cyipopt

        nlp, watch = lifted(problem), Watch(problem, slice(problem.size), options.trace)
        nlp.intermediate = partial(watch.after_iteration, nlp)
        (lower, upper), (least, most), factors = nlp.bounds(), nlp.constraint_bounds(), scaling(problem)
        of_rows = [factors.normalised, factors.empirical_risk, factors.divergence]
        of_rows += [factors.normalised] * len(nlp.limits)
        settings = SETTINGS | {"max_iter": options.max_iterations} | options.own

        def solve_from(q: np.ndarray, suited: dict[str, Any]) -> Run:
            ipopt = cyipopt.Problem(lower.size, least.size, nlp, lower, upper, least, most)
            ipopt.set_problem_scaling(factors.objective, np.append(factors.weights, (1.0, 1.0)), np.array(of_rows))
            return watch.run(ipopt, nlp.point(q), suited | settings)

        return Prepared(solve_from, {})


SOLVER = CyIpopt()
