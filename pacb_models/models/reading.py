"""Models that came from a problem, were changed or solved by hand, and are read back."""

from typing import Any

import numpy as np

from ..constraints import Average, Constraint, Weights
from ..errors import InputError
from ..problem import RiskAndSize
from ..solution import Outcome, Solution
from ..solving.judging import assess
from .lifted import box


def read_back(problem: RiskAndSize, model: Any, *, prove: bool = False) -> Solution:
    """Judge the weights of a model as a solution of the problem.

    Parameters
    ----------
    problem : BoundProblem
        Whose bound and constraints the weights are judged by.
    model : pyomo.environ.ConcreteModel, a block, or cvxpy.Problem
        Of :meth:`~pacb_models.BoundProblem.pyomo_model`, :meth:`~pacb_models.BoundProblem.pyomo_block` or
        :meth:`~pacb_models.BoundProblem.cvxpy_problem`, solved by any solver: its variables ``q`` have values.
    prove : bool
        Ask ``frontier`` for a proven ``lower_bound``: below it is the bound of no posterior that keeps the constraints.

    Returns
    -------
    Solution
        By the solver "read back", with the model's own value of the bound as ``details["claimed"]``. When a Pyomo model
        is the problem with further rows that are linear in the weights, the rows are :func:`~pacb_models.average`
        constraints of ``solution.problem``: the status is "optimal" when the weights are stationary for it. The weights
        of any other model are judged by their bound alone, and the message says why.

    Examples
    --------
    >>> import pacb_models as pm
    >>> problem = pm.BoundProblem([0.1, 0.3], m=100, distance="linear")
    >>> model = problem.cvxpy_problem()
    >>> value = model.solve()
    >>> problem.read_back(model).status
    'optimal'
    """
    weights, details = _weights(model, problem.size), {}
    rows: list[Constraint] = []
    reason = None
    if hasattr(model, "_written"):
        from pyomo.environ import value

        details["claimed"] = value(model.bound)
        rows, reason = _further(problem, model)
    if reason is not None:
        message = f"the weights are judged by their bound alone, as {reason}."
        return assess(problem, Outcome(weights, "not_converged", message, details=details), "read back", 0.0)
    judged = problem.replace(constraints=[*problem.constraints, *rows]) if rows else problem
    message = "the weights stand in a model that was solved elsewhere"
    if rows:
        named = [getattr(each, "name", None) or each.kind for each in rows]
        message += f", judged with its rows as constraints: {', '.join(named[:5])}{', …' if named[5:] else ''}"
    outcome = Outcome(weights, "optimal", f"{message}.", details=details)
    if prove:
        from ..solving.running import solve

        outcome.proof = solve(judged, "frontier").proof
    return assess(judged, outcome, "read back", 0.0)


def _further(problem: RiskAndSize, model: Any) -> tuple[list[Constraint], str | None]:
    """Return what a Pyomo model asks of the weights beyond the problem; a clause where it asks for something else."""
    import pyomo.environ as pyo
    from pyomo.common.collections import ComponentMap
    from pyomo.gdp import Disjunction
    from pyomo.repn import generate_standard_repn

    from .pyomo_blocks import foreign_parts

    weights = list(model.q.values())
    place = ComponentMap((variable, i) for i, variable in enumerate(weights))
    if model.component("given") is not None:
        return [], "they are expressions of other variables"
    if not all(variable.is_continuous() for variable in weights):
        return [], "some of them are integers"
    known = [each.values for each in problem.constraints if isinstance(each, Average)]
    others = (Disjunction, pyo.SOSConstraint, pyo.LogicalConstraint)
    found: list[Constraint] = []
    strange = list(model.model().component_data_objects(others, active=True))
    minimised = model.component("bound").ctype is pyo.Objective and model.bound.active
    for part in strange or foreign_parts(model):
        if part.ctype is pyo.Objective:
            if part.expr is not model.bound or part.sense != pyo.minimize:
                return [], f"the objective {part.name} is not the bound"
            minimised = True
            continue
        row = None if strange else generate_standard_repn(part.body)
        if row is None or not row.is_linear() or any(variable not in place for variable in row.linear_vars):
            return [], f"{part.name} is not a linear row of the weights"
        values = np.full(problem.size, float(row.constant))
        for variable, factor in zip(row.linear_vars, row.linear_coefs):
            values[place[variable]] += factor
        if not any(np.array_equal(values, other) for other in known):
            found.append(Average(values, part.ub, part.lb, part.name))
    if not minimised:
        return [], "the model does not minimise the bound"
    floors, caps = box(problem)
    bounds = [(variable.value, variable.value) if variable.fixed else variable.bounds for variable in weights]
    low = np.array([max(lower or 0.0, 0.0) for lower, _ in bounds])
    high = np.array([1.0 if upper is None else min(upper, 1.0) for _, upper in bounds])
    if (low > floors).any() or (high < np.minimum(caps, 1.0)).any():
        return [*found, Weights(high, low)], None
    return found, None


def _weights(model: Any, size: int) -> np.ndarray:
    """Return the values of the variables ``q``."""
    if hasattr(model, "var_dict"):
        variable = model.var_dict.get("q")
        values = None if variable is None else [*np.ravel(variable.value)]
    else:
        component = getattr(model, "component", lambda name: None)("q")
        values = None if component is None else [getattr(each, "value", None) for each in component.values()]
    if values is None:
        origin = "problem.pyomo_model() or problem.cvxpy_problem()"
        raise InputError(f"model is a {type(model).__name__} without variables q; it must come from {origin}.")
    if any(value is None for value in values):
        raise InputError("model has variables q without values; solve it first.")
    if len(values) != size:
        raise InputError(f"model has {len(values)} variables q, but there are {size} classifiers; the two must match.")
    return np.array(values, dtype=np.float64)
