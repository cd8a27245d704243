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

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pacb_models.models.limits import box, limits
from pacb_models.models.scaling import scaling
from pacb_models.numerics.inner import dot
from pacb_models.problem import BoundProblem, Outer
from pacb_models.solution import Outcome, Trace
from pacb_models.solver import Solver

from ..options import deadline_after
from ..starts import bound_of
from .interior_point import (
    Run,
    Search,
    SolveFrom,
    Start,
    check_settings,
    first_start,
    options_for,
    set_options,
)


class LiftedProblem:
    """The functions of the lifted problem and their derivatives, as cyipopt wants them."""

    def __init__(self, problem: BoundProblem):
        self.problem = problem
        self.iterations = 0
        #: Called with every iterate that Ipopt accepts; set while it runs.
        self.record: Callable[[], None] = lambda: None
        H = problem.size
        ones, weights = np.ones(H, dtype=int), np.arange(H)
        self.limits = limits(problem)
        #: The averages that are constrained, in their units.
        self.averages = np.array([limit.values for limit in self.limits]).reshape(-1, H)
        more = len(self.limits)
        self._jacobian_rows = np.concatenate((0 * ones, ones, [1], 2 * ones, [2], np.repeat(np.arange(3, 3 + more), H)))
        self._jacobian_columns = np.concatenate((weights, weights, [H], weights, [H + 1], np.tile(weights, more)))
        self._hessian_rows = np.concatenate((weights, [H, H + 1, H + 1]))
        self._hessian_columns = np.concatenate((weights, [H, H, H + 1]))

    def point(self, posterior: np.ndarray) -> np.ndarray:
        """The variables at a posterior."""
        return np.append(posterior, (self.problem.empirical_risk(posterior), self.problem.statistic(posterior)))

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds of the variables."""
        # By Jensen's inequality no posterior has a smaller statistic than the prior.
        floors, caps = box(self.problem)
        lower = np.append(floors, (0.0, self.problem.statistic(self.problem.prior)))
        upper = np.append(caps, (float(self.problem.risks.max() > 0.0), math.inf))
        return lower, upper

    def constraint_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds of the constraints."""
        lower = [0.0 if limit.equality else -math.inf for limit in self.limits]
        return np.array([1.0, 0.0, -math.inf, *lower]), np.array([1.0, 0.0, 0.0, *(0.0 for _ in lower)])

    def objective(self, x: np.ndarray) -> float:
        """F(L, D)."""
        return self.problem.outer(x[-2], x[-1])

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Derivatives of the objective: zero for the weights, then F_L and F_D."""
        outer = self._outer(x)
        slopes = np.zeros_like(x)
        slopes[-2:] = outer.L, outer.D
        return slopes

    def constraints(self, x: np.ndarray) -> np.ndarray:
        """The left sides of the constraints (the first is the sum of the weights)."""
        q = x[:-2]
        return np.array([q.sum(), dot(q, self.problem.risks) - x[-2], self.excess(q, x[-1]), *(self.averages @ q)])

    def excess(self, q: np.ndarray, D: float) -> float:
        """The left side of the divergence's constraint."""
        return self.problem.statistic(q) - D

    def jacobianstructure(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries of :meth:`jacobian`."""
        return self._jacobian_rows, self._jacobian_columns

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """Derivatives of the constraints."""
        slopes, slope = self.excess_slopes(x[:-2], x[-1])
        return np.concatenate(
            (np.ones(self.problem.size), self.problem.risks, [-1.0], slopes, [slope], self.averages.ravel())
        )

    def excess_slopes(self, q: np.ndarray, D: float) -> tuple[np.ndarray, float]:
        """The derivatives of :meth:`excess`, for the weights and for the statistic."""
        return self.problem.divergence_function.gradient(q, self.problem.prior), -1.0

    def hessianstructure(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries of :meth:`hessian`, in the lower triangle."""
        return self._hessian_rows, self._hessian_columns

    def hessian(self, x: np.ndarray, multipliers: np.ndarray, objective_factor: float) -> np.ndarray:
        """Second derivatives of the Lagrangian: the curvature of D for the weights, then F_LL, F_LD, F_DD."""
        outer = self._outer(x)
        curvature = self.problem.divergence_function.curvature(x[:-2], self.problem.prior)
        return np.append(multipliers[2] * curvature, objective_factor * np.array([outer.LL, outer.LD, outer.DD]))

    def intermediate(self, algorithm_mode: int, iteration: int, *progress: float) -> bool:
        """Called by Ipopt once per iteration; True means go on."""
        self.iterations = iteration
        self.record()
        return True

    def _outer(self, x: np.ndarray) -> Outer:
        outer = self._derivatives(x)
        if x[-2] > 0.0:
            return outer
        # L is fixed at zero, as every risk is zero; its derivatives, infinite for the kl distance, are not used.
        return outer._replace(L=0.0, LL=0.0, LD=0.0)

    def _derivatives(self, x: np.ndarray) -> Outer:
        return self.problem.outer_derivatives(x[-2], x[-1])


class RootProblem(LiftedProblem):
    r"""The same with :math:`t = D^{1/\alpha}` in place of ``D``, for Rényi orders."""

    def __init__(self, problem: BoundProblem):
        super().__init__(problem)
        H = problem.size
        self._hessian_rows = np.concatenate((self._hessian_rows, np.full(H, H + 1)))
        self._hessian_columns = np.concatenate((self._hessian_columns, np.arange(H)))

    def point(self, posterior: np.ndarray) -> np.ndarray:
        return np.append(posterior, (self.problem.empirical_risk(posterior), self.problem.divergence_size(posterior)))

    def objective(self, x: np.ndarray) -> float:
        return self.problem.bound_at(x[-2], x[-1])

    def excess(self, q: np.ndarray, D: float) -> float:
        # The statistic is homogeneous: that of q/t is the ratio of both sides, and neither overflows.
        return self.problem.statistic(q / D) - 1.0

    def excess_slopes(self, q: np.ndarray, D: float) -> tuple[np.ndarray, float]:
        problem, ratio = self.problem, q / D
        slopes = problem.divergence_function.gradient(ratio, problem.prior) / D
        return slopes, -problem.order * problem.statistic(ratio) / D

    def hessian(self, x: np.ndarray, multipliers: np.ndarray, objective_factor: float) -> np.ndarray:
        problem, t, order = self.problem, x[-1], self.problem.order
        outer = self._outer(x)
        ratio = x[:-2] / t
        curvature = problem.divergence_function.curvature(ratio, problem.prior) / t**2
        across = -order * problem.divergence_function.gradient(ratio, problem.prior) / t**2
        corner = order * (order + 1.0) * problem.statistic(ratio) / t**2
        tail = objective_factor * np.array([outer.LL, outer.LD, outer.DD])
        tail[2] += multipliers[2] * corner
        return np.concatenate((multipliers[2] * curvature, tail, multipliers[2] * across))

    def _derivatives(self, x: np.ndarray) -> Outer:
        return self.problem.derivatives_at(x[-2], x[-1])


def lifted(problem: BoundProblem) -> LiftedProblem:
    """The form of the problem that Ipopt copes with best; at order two the statistic itself is tame."""
    divergence = problem.divergence_function
    rooted = getattr(divergence, "rooted", False) and divergence.order != 2.0
    return RootProblem(problem) if rooted else LiftedProblem(problem)


class CyIpopt(Solver):
    """Ipopt with hand-written sparse derivatives, for any distance and divergence."""

    name = "cyipopt"
    needs = ("gradient", "hessian")
    honours = ("average", "weights")
    requires = ("cyipopt",)
    install = "`make setup` builds it on the Ipopt inside casadi's wheel, or `conda install -c conda-forge cyipopt`"
    keeps_time_limit = True

    def run(
        self,
        problem: BoundProblem,
        *,
        start: object = None,
        starts: int = 1,
        seed: int = 0,
        time_limit: float | None = None,
        max_iterations: int = 3000,
        options: dict[str, Any] | None = None,
        trace: bool = False,
    ) -> Outcome:
        """Minimise the bound with Ipopt.

        Parameters
        ----------
        problem : BoundProblem
        start, starts, seed, time_limit, max_iterations, trace
            As for every solver; see :mod:`pacb_models.solvers.options`.
        options : dict, optional
            Ipopt's own options, for instance ``{"tol": 1e-10, "print_level": 5}``; they override ours.

        Returns
        -------
        Outcome
            ``details`` lists, per start, Ipopt's return code, status, bound, iterations and seconds.
        """
        search = Search(starts, seed, deadline_after(time_limit))
        settings = check_settings(options, max_iterations)

        def prepare() -> SolveFrom:
            nlp = lifted(problem)
            return lambda start, seconds: _solve(nlp, start, options_for(start, seconds, settings), trace)

        return search.run(problem, first_start(problem, start), prepare)


def _solve(nlp: LiftedProblem, start: Start, options: dict[str, Any], trace: bool = False) -> Run:
    import cyipopt

    started = time.perf_counter()
    lower, upper = nlp.bounds()
    least, most = nlp.constraint_bounds()
    ipopt = cyipopt.Problem(
        n=lower.size,
        m=least.size,
        problem_obj=nlp,
        lb=lower,
        ub=upper,
        cl=least,
        cu=most,
    )
    factors = scaling(nlp.problem)
    ipopt.set_problem_scaling(
        factors.objective,
        np.append(factors.weights, (1.0, 1.0)),
        np.array(
            [factors.normalised, factors.empirical_risk, factors.divergence] + [factors.normalised] * len(nlp.limits)
        ),
    )
    set_options(ipopt, options)
    way = Trace(trace)
    nlp.iterations = 0
    if trace:
        nlp.record = lambda: way.add(bound_of(nlp.problem, ipopt.get_current_iterate()["x"][:-2]))
    try:
        x, info = ipopt.solve(nlp.point(start.posterior))
    finally:
        ipopt.close()
    return Run(x[:-2], info["status"], nlp.iterations, time.perf_counter() - started, way)


SOLVER = CyIpopt()
