r"""Bound minimisations as Pyomo models, to be printed, read, and handed to any solver Pyomo knows.

Every model has the posterior weights ``q``, a constraint ``normalised`` and one objective ``bound``. The two
formulations are the same problem written twice:

``direct``
    as the paper writes it: empirical risk and divergence are expressions in ``q``. The second derivatives of a
    function of two sums couple every weight with every other, so the Hessian has :math:`H^2` entries.
``lifted``
    the empirical risk ``L`` and the statistic ``X`` (or ``KL``) are variables with constraints of their own,

    .. math:: L = \sum_i q_i l_i, \qquad X \ge \sum_i q_i^2 / p_i, \qquad KL \ge \sum_i q_i \ln(q_i/p_i),

    and the Hessian is a diagonal plus a few entries. Of a Rényi order α, whose statistic spans too many orders of
    magnitude, the root is the variable, ``t`` with :math:`\sum_i p_i (q_i/(p_i t))^\alpha \le 1`. The inequalities
    hold with equality at a minimum, as every bound increases with the divergence; stated as inequalities they describe
    a convex set.

The kl distance adds the variable ``r``, the bound itself, with :math:`kl(L, r) \ge b`, :math:`r \ge L` (an equality
in the direct formulation, as in the paper); the distance φ_CH adds ``y``, the square of :math:`r - L`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..distances import Squared
from ..errors import UnsupportedProblemError
from ..validation import check_choice
from .scaling import scaling

if TYPE_CHECKING:
    import pyomo.environ as pyo

    from ..problem import BoundProblem

FORMULATIONS = ("lifted", "direct")

#: Names that have a model.
DISTANCES = ("linear", "squared", "kl", "pinsker", "ch")
DIVERGENCES = ("chi2", "renyi", "kl")


def pyomo_model(problem: BoundProblem, formulation: str = "lifted") -> pyo.ConcreteModel:
    """The bound minimisation as a Pyomo model that starts at the prior.

    Parameters
    ----------
    problem : BoundProblem
    formulation : {"lifted", "direct"}

    Returns
    -------
    pyomo.environ.ConcreteModel
        With variables ``q[0] … q[H-1]`` in the order of ``problem.risks``. The suffix ``scaling_factor`` makes all
        quantities of order one whatever H (see :mod:`~pacb_models.algebraic.scaling`); solvers that do not know it
        ignore it.

    Examples
    --------
    >>> import pacb_models as pm
    >>> problem = pm.BoundProblem([0.1, 0.3], m=100, distance="squared")
    >>> problem.pyomo_model().bound.expr.to_string()  # doctest: +ELLIPSIS
    'L + (0.0193002590656...*X**0.5)**0.5'
    """
    import pyomo.environ as pyo

    check_choice("formulation", formulation, FORMULATIONS)
    _check_modelled(problem)
    model = pyo.ConcreteModel(name=f"{problem.distance}-{problem.divergence}, {formulation}")
    model.q = pyo.Var(range(problem.size), domain=pyo.NonNegativeReals)
    weights = list(model.q.values())
    model.normalised = pyo.Constraint(expr=pyo.quicksum(weights) == 1.0)
    risk = _risk(problem, weights)
    if formulation == "lifted":
        risk, budget = _lift(model, problem, risk, weights)
    else:
        budget = _budget(problem, _statistic(problem, weights))
    _add_bound(model, problem, risk, budget, formulation)
    _add_scaling(model, problem)
    set_start(model, problem, problem.prior)
    return model


def _check_modelled(problem: BoundProblem) -> None:
    for kind, name, modelled in (
        ("distance", problem.distance, DISTANCES),
        ("divergence", problem.divergence, DIVERGENCES),
    ):
        if name not in modelled:
            raise UnsupportedProblemError(f"the {name} {kind} has no Pyomo model; {', '.join(modelled)} have one.")


def _risk(problem: BoundProblem, weights: list[Any]) -> Any:
    """The empirical risk as an expression in the weights; a number where no classifier makes an error."""
    import pyomo.environ as pyo

    if problem.risks.max() == 0.0:
        return 0.0
    return pyo.quicksum(l * q for l, q in zip(problem.risks.tolist(), weights) if l > 0.0)


def _statistic(problem: BoundProblem, weights: list[Any]) -> Any:
    """The separable sum of the divergence as an expression in the weights."""
    import pyomo.environ as pyo

    prior = problem.prior.tolist()
    if problem.divergence == "kl":
        return pyo.quicksum(q * pyo.log(q / p) for q, p in zip(weights, prior))
    with np.errstate(over="ignore"):
        factors = problem.prior ** (1.0 - problem.order)
    if not np.isfinite(factors).all():
        # At large orders the factors exceed the floating-point range, though the terms do not.
        return pyo.quicksum(p * (q / p) ** problem.order for q, p in zip(weights, prior))
    return pyo.quicksum(factor * q**problem.order for factor, q in zip(factors.tolist(), weights))


def _lift(model: pyo.ConcreteModel, problem: BoundProblem, risk: Any, weights: list[Any]) -> tuple[Any, Any]:
    """The empirical risk and the budget in variables that are tied to the weights by constraints."""
    import pyomo.environ as pyo

    # A variable that can only be zero would leave an interior-point method no interior.
    if not isinstance(risk, float):
        model.L = pyo.Var(bounds=(0.0, 1.0))
        model.empirical_risk = pyo.Constraint(expr=model.L == risk)
        risk = model.L
    if problem.divergence == "renyi":
        model.t = pyo.Var(bounds=(1.0, None))
        terms = (p * (q / (p * model.t)) ** problem.order for q, p in zip(weights, problem.prior.tolist()))
        model.divergence = pyo.Constraint(expr=pyo.quicksum(terms) <= 1.0)
        return risk, problem.coefficient * model.t
    if problem.divergence == "kl":
        model.KL = statistic = pyo.Var(bounds=(0.0, None))
    else:
        model.X = statistic = pyo.Var(bounds=(1.0, None))
    model.divergence = pyo.Constraint(expr=statistic >= _statistic(problem, weights))
    return risk, _budget(problem, statistic)


def _budget(problem: BoundProblem, statistic: Any) -> Any:
    r"""The budget of the distance: :math:`c\,X^{1/\alpha}`, or :math:`(KL + c)/n`."""
    if problem.divergence == "kl":
        return (statistic + problem.coefficient) / problem.exponent
    return problem.coefficient * statistic ** (1.0 / problem.order)


def _add_bound(model: pyo.ConcreteModel, problem: BoundProblem, risk: Any, budget: Any, formulation: str) -> None:
    """The objective, and what the distance needs to be inverted."""
    import pyomo.environ as pyo

    if problem.distance == "kl":
        model.r = pyo.Var(bounds=(0.0, 1.0))
        gap = _binary_kl(risk, model.r)
        model.kl = pyo.Constraint(expr=gap >= budget if formulation == "lifted" else gap == budget)
        model.upper_root = pyo.Constraint(expr=model.r >= risk)
        objective = model.r
    elif problem.distance == "ch":
        model.y = pyo.Var(bounds=(0.0, None))
        y = model.y
        model.ch = pyo.Constraint(expr=y + 2.0 / 9.0 * y**2 + 16.0 / 135.0 * y**3 >= budget)
        objective = risk + y**0.5
    elif problem.distance == "linear":
        objective = risk + budget
    else:
        assert isinstance(problem.distance_function, Squared)
        objective = risk + (budget / problem.distance_function.scale) ** 0.5
    model.bound = pyo.Objective(expr=objective)


def _binary_kl(a: Any, b: Any) -> Any:
    """kl(a, b) as an expression; where ``a`` is a number it is zero, and its term takes its limit."""
    import pyomo.environ as pyo

    if isinstance(a, float):
        return -pyo.log(1.0 - b)
    return a * pyo.log(a / b) + (1.0 - a) * pyo.log((1.0 - a) / (1.0 - b))


def set_start(model: pyo.ConcreteModel, problem: BoundProblem, posterior: np.ndarray) -> None:
    """Give every variable its value at a posterior, so that a solver starts from a feasible point."""
    for variable, weight in zip(model.q.values(), posterior.tolist()):
        variable.set_value(weight, skip_validation=True)
    risk, statistic = problem.empirical_risk(posterior), problem.statistic(posterior)
    bound = problem.outer(risk, statistic)
    values = {"L": risk, "X": max(statistic, 1.0), "KL": max(statistic, 0.0), "r": bound, "y": (bound - risk) ** 2}
    values["t"] = values["X"] ** (1.0 / problem.order)
    for name, value in values.items():
        variable = model.component(name)
        if variable is not None:
            variable.set_value(value)


def _add_scaling(model: pyo.ConcreteModel, problem: BoundProblem) -> None:
    import pyomo.environ as pyo

    factors = scaling(problem)
    model.scaling_factor = pyo.Suffix(direction=pyo.Suffix.EXPORT)
    model.scaling_factor.update(zip(model.q.values(), factors.weights.tolist()))
    constraints = {
        "bound": factors.objective,
        "normalised": factors.normalised,
        "empirical_risk": factors.empirical_risk,
        "upper_root": factors.empirical_risk,
        "divergence": factors.divergence,
        "kl": factors.budget,
        "ch": factors.budget,
    }
    for name, factor in constraints.items():
        component = model.component(name)
        if component is not None:
            model.scaling_factor[component] = factor
