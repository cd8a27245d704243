"""The budgets of divergences as cones, which conic solvers minimise and whose multipliers tell the posterior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import cvxpy as cp

    from ..problem import BoundProblem


@dataclass(frozen=True)
class NormCone:
    r"""A budget that is :math:`c\,(\sum_i p_i (q_i/p_i)^\alpha)^{1/\alpha}`."""

    order: float

    def data(self, problem: BoundProblem) -> dict[str, Any]:
        """Return the numbers that a problem of a given size depends on."""
        slopes = problem.distance_function.derivatives(0.5, 0.5)
        penalty = slopes.b * problem.coefficient * problem.prior ** (1.0 / self.order - 1.0)
        return {"risks": slopes.L * problem.risks, "penalty": penalty}

    def write(self, q: cp.Expression, data: dict[str, Any]) -> tuple[cp.Expression, list[Any]]:
        r"""Return the objective and its constraints, first the cone whose multiplier tells the posterior. For orders
        other than two: :math:`|u_i| \le s_i^{1/\alpha} t^{1-1/\alpha}`, :math:`\sum_i s_i = t`."""
        import cvxpy as cp

        t, u = cp.Variable(name="t"), cp.multiply(data["penalty"], q)
        objective = data["risks"] @ q + t
        if self.order == 2.0:
            return objective, [cp.SOC(t, u)]
        s = cp.Variable(u.size, name="s")
        return objective, [cp.PowCone3D(s, t * np.ones(u.size), u, 1.0 / self.order), cp.sum(s) == t]

    def express(self, q: cp.Expression, data: dict[str, Any]) -> cp.Expression:
        """Return the objective as a convex function, which CVXPY refuses to maximise or to limit from below."""
        import cvxpy as cp

        # The approximation by a fraction is exact for order two, a second-order cone.
        norm = cp.pnorm(cp.multiply(data["penalty"], q), self.order, approx=self.order == 2.0)
        return data["risks"] @ q + norm

    def weights(self, multipliers: list[np.ndarray], data: dict[str, Any]) -> np.ndarray:
        r"""Return the posterior, up to a factor, from the multipliers :math:`v_i = (u_i/t)^{\alpha-1}` of the cone."""
        multiplier = -np.ravel(multipliers[-1])
        # Below this share a multiplier is noise around zero, which a large order would raise to a small power.
        multiplier = np.where(multiplier > 1e-7 * multiplier.max(), multiplier, 0.0)
        return multiplier ** (1.0 / (self.order - 1.0)) / data["penalty"]


@dataclass(frozen=True)
class EntropyCone:
    r"""A budget that is :math:`(\sum_i q_i \ln(q_i/p_i) + c)/n`; its multipliers are :math:`v_i = \ln q_i + 1`."""

    def data(self, problem: BoundProblem) -> dict[str, Any]:
        slopes = problem.distance_function.derivatives(0.5, 0.5)
        rate = slopes.b / problem.exponent
        cost = slopes.L * problem.risks - rate * np.log(problem.prior)
        return {"risks": cost, "rate": rate, "offset": rate * problem.coefficient}

    def write(self, q: cp.Expression, data: dict[str, Any]) -> tuple[cp.Expression, list[Any]]:
        import cvxpy as cp

        t = cp.Variable(q.size, name="t")
        return data["risks"] @ q + data["rate"] * cp.sum(t) + data["offset"], [cp.ExpCone(-t, q, np.ones(q.size))]

    def express(self, q: cp.Expression, data: dict[str, Any]) -> cp.Expression:
        import cvxpy as cp

        return data["risks"] @ q - data["rate"] * cp.sum(cp.entr(q)) + data["offset"]

    def weights(self, multipliers: list[np.ndarray], data: dict[str, Any]) -> np.ndarray:
        logarithms = -np.ravel(multipliers[1])
        return np.exp(logarithms - logarithms.max())


#: The budget of a divergence as a cone.
Cone: TypeAlias = NormCone | EntropyCone
