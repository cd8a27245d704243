"""The lifted model in CasADi's symbols, with constraints multiplied by their factors."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..algebra import Algebra, Expression
from ..errors import InputError
from ..problem import RiskAndSize
from ..validation import check_posterior
from .lifted import box, values_at, write


class CasadiAlgebra(Algebra):
    """CasADi's symbols, SX or MX as the ratios are, with what it calls the limits of variables and constraints."""

    def __init__(self, problem: RiskAndSize, ratios: Any) -> None:
        import casadi

        super().__init__(problem, problem.prior)
        self.casadi, self.log, self.sqrt, self.ratios = casadi, casadi.log, casadi.sqrt, ratios
        self.constraints: list[Any] = []
        self.limits: dict[str, list[float]] = {"lbx": [], "ubx": [], "lbg": [], "ubg": []}

    def mean(self, terms: Any) -> Expression:
        return self.casadi.dot(self.casadi.DM(self.prior), terms)

    def quadratic(self, matrix: np.ndarray) -> Expression:
        q = self.casadi.DM(self.prior) * self.ratios
        return self.casadi.bilin(self.casadi.DM(matrix), q, q)

    def variable(self, name: str, value: float, lower: float | None = None, upper: float | None = None) -> Expression:
        self.variables[name] = type(self.ratios).sym(name)
        self.limits["lbx"].append(-math.inf if lower is None else lower)
        self.limits["ubx"].append(math.inf if upper is None else upper)
        return self.variables[name]

    def constrain(self, name: str, left: Any, right: Any, equality: bool, scale: float) -> None:
        self.constraints.append(scale * (left - right))
        self.limits["lbg"].append(0.0)
        self.limits["ubg"].append(0.0 if equality else math.inf)


class CasadiBound(NamedTuple):
    """A bound in CasADi's symbols: an expression to minimise or to limit from above, with columns of symbols beside the
    weights' own, for ``x``, and of expressions, for ``g``."""

    problem: RiskAndSize
    expression: Any
    variables: Any
    constraints: Any
    #: ``lbx`` and ``ubx`` of the variables, ``lbg`` and ``ubg`` of the constraints.
    limits: dict[str, list[float]]

    def start(self, posterior: ArrayLike) -> NDArray[np.float64]:
        """Return the values of the variables at a posterior, for ``x0``."""
        return np.array([*values_at(self.problem, check_posterior(posterior, self.problem.size)).values()])


def casadi_bound(problem: RiskAndSize, q: Any, *, simplex: bool = True, exact: bool = False) -> CasadiBound:
    """Write the bound of weights that are CasADi's symbols or expressions.

    Parameters
    ----------
    problem : BoundProblem
    q : casadi.SX or casadi.MX
        A column of H weights.
    simplex, exact : bool
        As for :func:`~pacb_models.models.pyomo_blocks.pyomo_block`.

    Examples
    --------
    >>> import casadi, pacb_models as pm
    >>> problem = pm.BoundProblem([0.1, 0.3], m=100)
    >>> q = casadi.SX.sym("q", 2)
    >>> bound = problem.casadi_bound(q)
    >>> bound.expression, bound.variables
    (SX(r), SX([L, X, r]))
    """
    import casadi

    if not isinstance(q, (casadi.SX, casadi.MX)) or q.shape != (problem.size, 1):
        raise InputError("q", q, f"it must be a column of {problem.size} SX or MX, one for each classifier")
    algebra = CasadiAlgebra(problem, q / problem.prior)
    algebra.simplex, algebra.exact = simplex, exact
    expression = write(algebra)
    lower, upper = box(problem)
    held = np.flatnonzero((lower > 0.0) | (upper < 1.0) | simplex).tolist()
    algebra.limits["lbg"] += lower[held].tolist()
    algebra.limits["ubg"] += upper[held].tolist()
    variables, constraints = casadi.vertcat(*algebra.variables.values()), casadi.vertcat(*algebra.constraints, q[held])
    return CasadiBound(problem, expression, variables, constraints, algebra.limits)
