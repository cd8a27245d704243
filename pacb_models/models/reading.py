"""Models that came from a problem, were changed or solved by hand, and are read back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..solution import Outcome, Solution
from ..solving.judging import assess

if TYPE_CHECKING:
    from ..problem import BoundProblem


def read_back(problem: BoundProblem, model: Any) -> Solution:
    """The weights of a model as a solution of the problem, judged as a solver's are.

    Parameters
    ----------
    problem : BoundProblem
        Whose bound and constraints the weights are judged by; what was changed in the model alone is not known here.
    model : pyomo.environ.ConcreteModel or cvxpy.Problem
        Of :meth:`~pacb_models.BoundProblem.pyomo_model` or :meth:`~pacb_models.BoundProblem.cvxpy_problem`, solved by
        whoever: its variables ``q`` have values.

    Returns
    -------
    Solution
        By the solver "read back". It is "optimal" when the weights are stationary for the problem and keep its
        constraints, and "not_converged" otherwise: those of a model with a row more are not stationary without it. Give
        the problem that row, with :meth:`~pacb_models.BoundProblem.replace`, and they are.

    Examples
    --------
    >>> import pacb_models as pm
    >>> problem = pm.BoundProblem([0.1, 0.3], m=100, distance="linear")
    >>> model = problem.cvxpy_problem()
    >>> value = model.solve()
    >>> problem.read_back(model).status
    'optimal'
    """
    weights = _weights(model, problem.size)
    message = "the weights stand in a model that was solved elsewhere."
    return assess(problem, Outcome(weights, "optimal", message), "read back", 0.0)


def _weights(model: Any, size: int) -> NDArray[np.float64]:
    """The values of the variables ``q``."""
    if hasattr(model, "var_dict"):
        variable = model.var_dict.get("q")
        values = None if variable is None else np.ravel(variable.value) if variable.value is not None else [None]
    else:
        component = getattr(model, "component", lambda name: None)("q")
        values = None if component is None else [getattr(each, "value", None) for each in component.values()]
    if values is None:
        raise InputError(
            f"model is a {type(model).__name__} without variables q; it must come from problem.pyomo_model() or "
            "problem.cvxpy_problem()."
        )
    if any(value is None for value in values):
        raise InputError("model has variables q without values; solve it first.")
    if len(values) != size:
        raise InputError(f"model has {len(values)} variables q, but there are {size} classifiers; the two must match.")
    return np.array(values, dtype=np.float64)
