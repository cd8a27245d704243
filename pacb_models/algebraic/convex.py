r"""The convex bound minimisations, those of the linear distance, as CVXPY problems.

χ² (a second-order cone program) and Rényi order α (a power cone program):

.. math:: \min_{q, t}\ \sum_i q_i l_i + t \quad\text{s.t.}\quad
          \lVert u \rVert_\alpha \le t, \quad u_i = c\,p_i^{1/\alpha - 1} q_i, \quad \sum_i q_i = 1,\ q \ge 0.

KL (an exponential cone program), with ``n`` times the bound as objective, which keeps the cone's part of order one:

.. math:: \min_{q, t}\ \sum_i \big(q_i (n l_i - \ln p_i) + t_i\big) + \ln(I/\delta) \quad\text{s.t.}\quad
          q_i \ln q_i \le t_i, \quad \sum_i q_i = 1.

Risks, prior and constant enter through Parameters (the problems obey CVXPY's rules for disciplined parametrised
programming), so that problems of the same size and kind are compiled once. CVXPY stores how every coefficient depends
on every parameter, which takes memory and time proportional to :math:`H^2`: 10 s at H = 10 000, too much memory at
H = 100 000. Above :data:`LARGEST_PARAMETRISED` the data are written into the problem instead, which compiles in a
fraction of a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import UnsupportedProblemError

if TYPE_CHECKING:
    import cvxpy as cp

    from ..problem import BoundProblem

#: The largest number of classifiers for which parameters pay: compiling takes half a second, ten times what it takes
#: without.
LARGEST_PARAMETRISED = 2000

#: Multipliers below this share of the largest are a solver's noise around zero. Slopes are off by no more than that
#: without them; weights are, when the order is large and the noise is raised to a small power.
MULTIPLIER_NOISE = 1e-7


@dataclass
class ConvexModel:
    """A CVXPY problem together with its parts."""

    problem: cp.Problem
    posterior: cp.Variable
    #: By the names of :func:`conic_data`; empty when the data are written into the problem.
    parameters: dict[str, cp.Parameter]
    #: The cone of the norm or the entropy.
    cone: Any

    def set_data(self, problem: BoundProblem) -> None:
        """Give the parameters the values of a problem of the same kind and size."""
        data = conic_data(problem)
        for name, parameter in self.parameters.items():
            parameter.value = data[name]

    def multiplier_weights(self, problem: BoundProblem) -> np.ndarray:
        r"""The posterior that was found, read from the cone's multiplier ``v``.

        The multiplier is the gradient of the convex function that the cone describes:
        :math:`v_i = (u_i/t)^{\alpha-1}` with :math:`u_i = c\,p_i^{1/\alpha-1} q_i` for a norm,
        :math:`v_i = \ln q_i + 1` for the entropy. A conic solver knows multipliers to its tolerance ε, but the
        variable ``q`` itself only to :math:`\sqrt\varepsilon`, as the objective is flat around its minimum: with
        ``q`` Clarabel's optimality conditions would hold to 1e-5, with the multiplier they hold to 1e-9.
        """
        if problem.divergence == "kl":
            logarithms = -np.ravel(self.cone.dual_value[1])
            weights = np.exp(logarithms - logarithms.max())
        else:
            multiplier = -np.ravel(self.cone.dual_value[-1])
            multiplier = np.where(multiplier > MULTIPLIER_NOISE * multiplier.max(), multiplier, 0.0)
            weights = multiplier ** (1.0 / (problem.order - 1.0)) / conic_data(problem)["penalty"]
        return weights / weights.sum()


def cvxpy_problem(problem: BoundProblem) -> cp.Problem:
    """The bound minimisation as a CVXPY problem of its own, with the values of its parameters set.

    Its variable ``q`` is the posterior in the order of ``problem.risks``.

    Examples
    --------
    >>> import pacb_models as pm
    >>> problem = pm.BoundProblem([0.1, 0.3], m=100, distance="linear")
    >>> value = problem.cvxpy_problem().solve()
    >>> bool(abs(value - pm.solve(problem).bound) < 1e-7)
    True
    """
    check_convex(problem)
    model = build(problem, parametrised=problem.size <= LARGEST_PARAMETRISED)
    model.set_data(problem)
    return model.problem


def check_convex(problem: BoundProblem) -> None:
    """Refuse problems that have no CVXPY form."""
    if problem.distance != "linear" or problem.divergence not in ("chi2", "renyi", "kl"):
        raise UnsupportedProblemError(
            f"the {problem.distance} distance with the {problem.divergence} divergence has no CVXPY form; "
            "the linear distance has, as its bound is convex."
        )


def conic_data(problem: BoundProblem) -> dict[str, Any]:
    """The numbers that a problem of a given kind and size depends on."""
    if problem.divergence == "kl":
        return {"cost": problem.exponent * problem.risks - np.log(problem.prior), "offset": problem.coefficient}
    penalty = problem.coefficient * problem.prior ** (1.0 / problem.order - 1.0)
    return {"risks": problem.risks, "penalty": penalty}


def build(problem: BoundProblem, parametrised: bool) -> ConvexModel:
    """The model for problems of this one's kind and size; without parameters, for this one only."""
    import cvxpy as cp

    data: dict[str, Any] = conic_data(problem)
    parameters = {}
    if parametrised:
        parameters = {name: cp.Parameter(np.shape(value), name=name) for name, value in data.items()}
        data = parameters
    q = cp.Variable(problem.size, name="q", nonneg=True)
    normalised = cp.sum(q) == 1.0
    if problem.divergence == "kl":
        t = cp.Variable(problem.size, name="t")
        cone = cp.ExpCone(-t, q, np.ones(problem.size))
        objective, constraints = data["cost"] @ q + cp.sum(t) + data["offset"], [cone]
    else:
        t = cp.Variable(name="t")
        cone, constraints = _norm_at_most(t, cp.multiply(data["penalty"], q), problem.order)
        objective = data["risks"] @ q + t
    program = cp.Problem(cp.Minimize(objective), [normalised, *constraints])
    return ConvexModel(program, q, parameters, cone)


def _norm_at_most(t: cp.Variable, u: cp.Expression, order: float) -> tuple[Any, list[Any]]:
    r"""The cone, and all constraints, of :math:`\lVert u\rVert_\alpha \le t`.

    For orders other than two: :math:`|u_i| \le s_i^{1/\alpha} t^{1-1/\alpha}`, :math:`\sum_i s_i = t`.
    """
    import cvxpy as cp

    if order == 2.0:
        cone = cp.SOC(t, u)
        return cone, [cone]
    s = cp.Variable(u.size, name="s")
    cone = cp.PowCone3D(s, t * np.ones(u.size), u, 1.0 / order)
    return cone, [cone, cp.sum(s) == t]
