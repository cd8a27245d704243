"""The lifted model in CVXPY's expressions: for its nonlinear form, and for distances that are convex in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..algebra import Algebra, Expression
from ..errors import InputError
from ..problem import Problem, RiskAndSize
from .lifted import box, values_at, write

if TYPE_CHECKING:
    import cvxpy as cp


class CvxpyAlgebra(Algebra):
    """CVXPY's expressions."""

    def __init__(self, problem: RiskAndSize, ratios: Any = None) -> None:
        import cvxpy as cp

        super().__init__(problem, problem.prior)
        self.cp, self.log, self.sqrt, self.ratios = cp, cp.log, cp.sqrt, ratios
        self.constraints: list[Any] = []

    def times(self, x: Any, y: Any) -> Expression:
        return self.cp.multiply(x, y)

    def relative_entropy(self, x: Any, y: Any) -> Expression:
        return super().relative_entropy(x, y) if isinstance(x, float) else self.cp.rel_entr(x, y)

    def mean(self, terms: Any) -> Expression:
        return self.prior @ terms

    def mean_entropy(self, ratios: Any) -> Expression:
        return self.prior @ -self.cp.entr(ratios)

    def average(self, values: np.ndarray) -> Expression:
        return (self.prior * values) @ self.ratios

    def quadratic(self, matrix: np.ndarray) -> Expression:
        scaled = matrix * np.multiply.outer(self.prior, self.prior)
        return self.cp.quad_form(self.ratios, self.cp.psd_wrap(scaled))

    def variable(self, name: str, value: float, lower: float | None = None, upper: float | None = None) -> Expression:
        bounds = None if lower is None and upper is None else [lower, upper]
        self.variables[name] = self.cp.Variable(name=name, bounds=bounds)
        return self.variables[name]

    def constrain(self, name: str, left: Any, right: Any, equality: bool, scale: float) -> None:
        difference = scale * (left - right)
        self.constraints.append(difference == 0 if equality else difference >= 0)

    def set_start(self, posterior: np.ndarray) -> None:
        """Give the variables beside the weights their values at a posterior."""
        for name, value in values_at(self.problem, posterior).items():
            self.variables[name].value = value


class PaperForm(CvxpyAlgebra):
    r"""The distance as a convex expression of risk and bound; see :meth:`Algebra.reach`."""

    def __init__(self, problem: RiskAndSize, risk: Any) -> None:
        super().__init__(problem)
        self.distance: Any = None
        self.r = problem.distance_function.express(self, risk, 1.0)

    @property
    def exists(self) -> bool:
        """Whether the bound is a variable, and the distance a convex expression."""
        return [id(each) for each in self.variables.values()] == [id(self.r)] and self.distance.is_convex()

    def variable(self, name: str, value: float, lower: float | None = None, upper: float | None = None) -> Expression:
        # With bounds it would be another one in the canonical form.
        return super().variable(name, value)

    def reach(self, name: str, left: Any, right: Any) -> None:
        self.distance = left


def cvxpy_nonlinear(
    problem: RiskAndSize, q: cp.Expression, *, simplex: bool = True, exact: bool = False
) -> tuple[cp.Expression, list[cp.Constraint]]:
    """Write the bound of weights that are CVXPY's variables or affine expressions, for ``solve(nlp=True)``.

    Parameters
    ----------
    problem : BoundProblem
    q : cvxpy.Expression
        A vector of H weights. The model starts at its value; a variable that has none starts at the prior.
    simplex, exact : bool
        As for :func:`~pacb_models.models.pyomo_blocks.pyomo_block`.

    Returns
    -------
    expression, constraints
        To be minimised, or to be limited from above.
    """
    import cvxpy as cp

    check_weights(problem, q)
    algebra = CvxpyAlgebra(problem, cp.multiply(1.0 / problem.prior, q))
    algebra.simplex, algebra.exact = simplex, exact
    expression = write(algebra)
    if q.value is None and isinstance(q, cp.Variable):
        q.value = problem.prior
    algebra.set_start(problem.prior if q.value is None else np.asarray(q.value))
    return expression, algebra.constraints + box_rows(problem, q, simplex)


def box_rows(problem: Problem, q: cp.Expression, signs: bool = False) -> list[Any]:
    """Return floors and caps of the weights as labelled constraints; floors of zero where ``signs`` asks for them."""
    lower, upper = box(problem)
    held, capped = np.flatnonzero((lower > 0.0) | signs), np.flatnonzero(upper < 1.0)
    rows = [(q[held] >= lower[held]).set_label("weights at least")] if held.size else []
    return rows + ([(q[capped] <= upper[capped]).set_label("weights at most")] if capped.size else [])


def check_weights(problem: RiskAndSize, q: Any) -> None:
    """Refuse what is no vector of weights in CVXPY."""
    import cvxpy as cp

    if not isinstance(q, cp.Expression) or q.shape != (problem.size,) or not q.is_affine():
        expected = f"it must be a vector of {problem.size} variables, or an affine expression of that shape"
        raise InputError("q", q, expected)
