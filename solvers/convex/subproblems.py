r"""The convexified subproblems of the convex–concave procedure, in CVXPY: compiled once and solved many times.

With the divergence's size :math:`t = \lVert q/\sqrt p\rVert`, a norm, the bound is :math:`B(q) = F(L, t)`, and ``F``
is increasing and **concave** for every distance: a partial maximum over the convex set :math:`\phi(L, r) \le c\,t`.
``L`` is linear in ``q``, so ``B`` is a concave function of convex ones; every subproblem below replaces a concave part
by its tangent.
"""

import math
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from pacb_models.errors import InputError
from pacb_models.models.convex import constraints_on
from pacb_models.models.cvxpy_models import PaperForm
from pacb_models.problem import BoundProblem
from pacb_models.solver import lacking
from pacb_models.solving.judging import onto_simplex

from .conic import CLARABEL_TOLERANCES

#: Tolerances a hundred times below Clarabel's default cost two or three iterations more; one thread.
ACCURATE = {**{f"tol_{name}": 1e-10 for name in CLARABEL_TOLERANCES}, "max_threads": 1}
#: Clarabel's statuses for a problem it has solved, and those that come with a point at least.
SOLVED = ("Solved", "AlmostSolved")
USABLE = (*SOLVED, "InsufficientProgress", "MaxIterations")


class Solved(NamedTuple):
    """A subproblem's solution: weights on the simplex (None when there are none) and the conic solver's own status."""

    posterior: np.ndarray | None
    status: str
    #: The largest amount by which the point exceeds a constraint of its subproblem.
    violation: float = 0.0


def tangent_ratio(problem: BoundProblem, q: np.ndarray) -> float:
    r"""Return the ratio :math:`c' = F_t/F_L` of the slopes of the outer function at a posterior on the simplex. It is
    zero where the slope in ``L`` is infinite, as that of kl at :math:`L = 0`, where the paper has no linearisation, and
    in the limit :math:`L = 1` of kl."""
    distance, L = problem.distance_function, problem.empirical_risk(q)
    budget = problem.budget_at(problem.divergence_size(q))
    if math.isinf(distance.derivatives(L, budget.value).L) or (distance.below_one and L >= 1.0):
        return 0.0
    return budget.slope / distance.rate(L, budget.value)


class OneSidedSubproblem:
    r"""Minimise the tangent plane of the concave outer function: a linear-distance problem with the constant ``c'``.

    .. math:: \min_{q \ge 0,\ \sum q = 1}\; \sum_i q_i (l_i - l_{\min}) + c' \lVert q/\sqrt p \rVert

    over the posteriors that keep the problem's averages, caps and floors.

    For kl it is what is left of linearising :math:`c\,t \le kl(L, r)` at :math:`(q^0, r^0)` when ``r`` is eliminated:
    :math:`c' = c/d` with the difference ``d`` of the logits of :math:`r^0` and :math:`L^0`.

    The tangent plane lies above the bound and touches it at :math:`q^0`, so the bound falls at every step, and a point
    that solves its own subproblem is a KKT point of the bound. At :math:`c' = 0` the solution is the limit
    :math:`c' \to 0`: among the classifiers of least risk, the weights of least norm.

    The start enters through the one number ``c'``, a parameter, so that CVXPY compiles the problem once.
    """

    def __init__(self, problem: BoundProblem, least_risk: bool = False):
        import cvxpy as cp

        self.bound_problem, self.prior = problem, problem.prior
        #: Risks above the smallest: a constant in the objective would only cost digits.
        self.excess = problem.risks - problem.risks.min()
        self._free = problem.posteriors is None and not least_risk
        self.ratio = cp.Parameter(nonneg=True, name="ratio", value=1.0)
        self.posterior = q = cp.Variable(problem.size, name="q")
        norm = cp.norm(cp.multiply(1.0 / np.sqrt(self.prior), q), 2)
        constraints = [cp.sum(q) == 1.0, q >= 0.0, *constraints_on(problem, q)]
        if least_risk and self.excess.any():
            constraints.append(q[np.flatnonzero(self.excess)] == 0.0)
        #: The model, to print or to hand to another solver.
        self.problem = cp.Problem(cp.Minimize(self.excess @ q + self.ratio * norm), constraints)
        self.problem.get_problem_data("CLARABEL")

    @cached_property
    def _least_risk(self) -> Self:
        return type(self)(self.bound_problem, least_risk=True)

    def solve(self, q: np.ndarray, seconds: float = math.inf) -> Solved:
        """Linearise at a posterior and solve, in at most the given time. Any point will do that the conic solver has:
        how good it is, the procedure judges by the bound it gives."""
        ratio = tangent_ratio(self.bound_problem, q)
        if ratio == 0.0 and self._free:
            return Solved(onto_simplex(np.where(self.excess > 0.0, 0.0, self.prior))[0], SOLVED[0])
        return self._solved(ratio, seconds) if ratio else self._least_risk._solved(1.0, seconds)

    def _solved(self, ratio: float, seconds: float) -> Solved:
        r"""Return the posterior, read from the optimal value ``v``: :math:`q_i \propto p_i (v - l_i)_+` by
        stationarity. The conic solver's weights are accurate to about :math:`10^{-10}`, too little for the ratios
        :math:`q_i/p_i` of the gradient where the prior is small. Its value is as accurate, is a single number, and
        determines all weights: by strong duality it is the multiplier of :math:`\sum q = 1`. Should it drown in
        rounding, and under constraints, which have multipliers of their own, the solver's own weights remain."""
        self.ratio.value = ratio
        data, result = _clarabel(self.problem, seconds)
        status = str(result.status)
        if status not in USABLE:
            return Solved(None, status)
        weights = self.prior * np.maximum(result.obj_val_dual - self.excess, 0.0) if self._free else np.zeros(1)
        if not weights.sum() > 0.0:
            weights = _values(data, result, self.posterior)
        return Solved(onto_simplex(weights)[0], status)


class TwoSidedSubproblem:
    r"""The paper's subproblem: the equality :math:`\phi(L, r) = C(q)` as two inequalities, both linearised.

    .. math::

        \min r \quad\text{subject to}\quad \phi(L, r) \le \hat C(q), \qquad C(q) \le \hat\phi(L, r), \qquad L \le r,

    on the simplex, where :math:`\phi = kl`, :math:`C(q) = c\,\lVert q/\sqrt p\rVert` and hats are tangents at
    :math:`(q^0, r^0)`:

    .. math::

        \hat C(q) = \frac{c}{t^0} \sum_i \frac{q^0_i q_i}{p_i}, \qquad
        \hat\phi(L, r) = \phi^0 - \frac{r_L}{r_b} (L - L^0) + \frac1{r_b} (r - r^0).

    Tangents of convex functions lie below them, so :math:`\phi \le \hat C \le C \le \hat\phi \le \phi` at every
    feasible point, and all are equal. The norm is strictly convex on the simplex, so :math:`\hat C = C` only at
    :math:`q = q^0`: the subproblem has one feasible point, its start. An interior-point method has no interior to work
    in; what it returns differs from the start by its own inaccuracy, and :attr:`Solved.violation` tells by how much
    that point breaks the constraints.
    """

    def __init__(self, problem: BoundProblem):
        import cvxpy as cp

        self.bound_problem = problem
        self.posterior = q = cp.Variable(problem.size, name="q")
        self.norm_slopes = cp.Parameter(problem.size, nonneg=True, name="norm_slopes")
        self.offset = cp.Parameter(name="offset")
        self.risk_slope = cp.Parameter(nonneg=True, name="risk_slope")
        self.bound_slope = cp.Parameter(nonneg=True, name="bound_slope")
        risk = problem.risks @ q
        form = None if lacking(problem, "distance.express") else PaperForm(problem, risk)
        if form is None or not form.exists:
            raise InputError(
                "variant is 'paper'; it needs a distance whose bound is a variable of its model, as that of kl, but "
                f"distance is {problem.distance!r}."
            )
        self.bound = form.r
        norm = cp.norm(cp.multiply(1.0 / np.sqrt(problem.prior), q), 2)
        tangent = self.offset - self.risk_slope * risk + self.bound_slope * self.bound
        budget = [form.distance <= self.norm_slopes @ q, problem.coefficient * norm <= tangent]
        #: The model, to print or to hand to another solver.
        self.problem = cp.Problem(cp.Minimize(self.bound), [*budget, *form.constraints, cp.sum(q) == 1.0, q >= 0.0])
        # Any values compile it; every solve sets its own.
        for parameter in self.problem.parameters():
            parameter.value = np.ones(parameter.shape)
        self.problem.get_problem_data("CLARABEL")

    def solve(self, q: np.ndarray, seconds: float = math.inf) -> Solved:
        """Linearise at a posterior and solve, in at most the given time."""
        problem, distance = self.bound_problem, self.bound_problem.distance_function
        L, t = problem.empirical_risk(q), problem.divergence_size(q)
        budget = problem.budget_at(t).value
        r = distance.derivatives(L, budget)
        if not (math.isfinite(r.L) and 0.0 < r.b < math.inf):
            return Solved(None, "the distance has no tangent there, as kl where L = 0 or r = 1")
        self.norm_slopes.value = problem.coefficient / t * (q / problem.prior)
        self.risk_slope.value, self.bound_slope.value = r.L / r.b, 1.0 / r.b
        self.offset.value = budget + (r.L * L - distance.invert(L, budget)) / r.b
        data, result = _clarabel(self.problem, seconds)
        status = str(result.status)
        weights = onto_simplex(_values(data, result, self.posterior))[0] if status in SOLVED else None
        if weights is None:
            return Solved(None, status)
        self.posterior.value, self.bound.value = weights, np.clip(_values(data, result, self.bound)[0], 0.0, 1.0)
        # The last two say that the weights are on the simplex.
        violation = max(float(np.max(constraint.violation())) for constraint in self.problem.constraints[:-2])
        return Solved(weights, status, violation)


def _clarabel(problem: Any, seconds: float) -> tuple[Any, Any]:
    """Return the canonical form of a CVXPY problem with the values that its parameters have, and Clarabel's solution of
    it."""
    data, chain, _ = problem.get_problem_data("CLARABEL")
    return data, chain.solve_via_data(problem, data, False, False, ACCURATE | {"time_limit": seconds})


def _values(data: Any, result: Any, variable: Any) -> np.ndarray:
    """Return the entries of the canonical form's solution that belong to a variable."""
    first = data["param_prob"].var_id_to_col[variable.id]
    return np.array(result.x[first : first + variable.size])
