r"""Bound minimisations as Pyomo models, to be printed, read, and handed to any solver Pyomo knows.

Every model has the posterior weights ``q``, a constraint ``normalised`` and one objective ``bound``. Averages that the
problem constrains are ``rows[name]``, as the user wrote them; caps and floors are bounds of ``q``; a limit on the
support has binary variables ``on``, for solvers that know them. The formulations are the same problem written thrice:

``lifted``
    the empirical risk ``L`` and the statistic are variables with constraints of their own (see
    :mod:`~pacb_models.models.lifted`): ``X`` of χ², ``KL``, and of a Rényi order its root ``t``. The Hessian is a
    diagonal plus a few entries.
``substituted``
    as the paper writes it: empirical risk and divergence are expressions in ``q``. The second derivatives of a
    function of two sums couple every weight with every other, so the Hessian has :math:`H^2` entries.
``squares``
    as the first, with square roots as variables (see :class:`~pacb_models.algebra.Squares`): with χ², the linear
    and the squared distance have a linear objective and quadratic constraints, which ``.lp`` and ``.mps`` files hold.

The kl distance adds the variable ``r``, the bound itself, with :math:`kl(L, r) \ge b`, :math:`r \ge L` (an equality
in the substituted formulation, as in the paper); the distance φ_CH adds ``y``, the square of :math:`r - L`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..algebra import Algebra, Expression, SquaredValues, Squares, object_array, over_vectors
from ..environment import use_environment_folders
from ..errors import InputError
from ..problem import RiskAndSize
from ..validation import check_choice
from .lifted import Limit, box, limits, values_at, write

if TYPE_CHECKING:
    import pyomo.environ as pyo

FORMULATIONS = ("lifted", "substituted", "squares")


def pyomo_model(problem: RiskAndSize, formulation: str = "lifted") -> pyo.ConcreteModel:
    """Return the bound minimisation as a Pyomo model that starts at the prior, or at what is nearest under its
    constraints.

    Parameters
    ----------
    problem : BoundProblem
        Whose distance and divergence have a method ``express``.
    formulation : {"lifted", "substituted", "squares"}

    Returns
    -------
    pyomo.environ.ConcreteModel
        With variables ``q[0] … q[H-1]`` in the order of ``problem.risks``. The suffix ``scaling_factor`` makes all
        quantities of order one whatever H (see :func:`~pacb_models.algebra.scaling`); solvers that do not know
        it ignore it.

    Examples
    --------
    >>> import pacb_models as pm
    >>> problem = pm.BoundProblem([0.1, 0.3], m=100, distance="squared")
    >>> problem.pyomo_model().bound.expr.to_string()  # doctest: +ELLIPSIS
    'L + (0.0193002590656...*X**0.5)**0.5'
    """
    import pyomo.environ as pyo

    model = pyo.ConcreteModel(name=f"{problem.distance}-{problem.divergence}, {formulation}")
    algebra = writer_of(formulation)(problem, model)
    algebra.add("bound", pyo.Objective(expr=write(algebra)), algebra.factors.objective)
    set_start(model, problem, central(problem))
    model._written = frozenset(model.component_map())
    return model


def writer_of(formulation: str) -> type[PyomoAlgebra]:
    """Return the algebra of a formulation."""
    writers = dict(zip(FORMULATIONS, (PyomoAlgebra, Substituted, PyomoSquares)))
    return writers[check_choice("formulation", formulation, FORMULATIONS)]


def central(problem: RiskAndSize) -> np.ndarray:
    """Return the prior, or what is nearest to it under the problem's constraints."""
    return problem.prior if problem.posteriors is None else problem.posteriors.nearest(problem.prior)


def set_start(model: Any, problem: RiskAndSize, posterior: np.ndarray, weights: bool = True) -> None:
    """Give every variable its value at a posterior, so that a solver starts from a feasible point."""
    for variable, weight in zip(model.q.values() if weights else (), posterior.tolist()):
        if not variable.fixed:
            variable.set_value(weight, skip_validation=True)
    values = values_at(problem, posterior) | values_at(problem, posterior, SquaredValues)
    for name, value in values.items():
        if (variable := model.component(name)) is not None:
            variable.set_value(value, skip_validation=True)


class PyomoAlgebra(Algebra):
    """Pyomo's expressions; the weights themselves are the variables."""

    def __init__(
        self, problem: RiskAndSize, model: Any, q: Any = None, simplex: bool = True, exact: bool = False
    ) -> None:
        import pyomo.environ as pyo
        from pyomo.core.base.indexed_component import IndexedComponent

        super().__init__(problem, problem.prior)
        # For whatever solver the user hands the model to.
        use_environment_folders()
        self.pyo, self.model, self.simplex, self.exact = pyo, model, simplex, exact or self.exact
        self.log = over_vectors(pyo.log)
        self.given = given = [] if q is None else self._checked(q)
        # Variables of the user's are weights as they are; expressions are equal to variables of the model's own.
        self.shared = bool(given) and all(getattr(each, "is_variable_type", bool)() for each in given)
        everyone = range(problem.size)
        if self.shared:
            model.q = pyo.Reference(given, ctype=IndexedComponent)
        else:
            model.q = pyo.Var(everyone, domain=pyo.NonNegativeReals)
        self.weights = list(model.q.values())
        self.ratios = object_array(self.weights) / problem.prior
        self._write_box()
        if problem.posteriors is not None:
            model.rows = pyo.Constraint([limit.row.name for limit in limits(problem)])
        model.scaling_factor = pyo.Suffix(direction=pyo.Suffix.EXPORT)
        if not self.shared:
            factors = self.factors.weights.tolist()
            model.scaling_factor.update(zip(self.weights, factors))
            if given:
                model.given = pyo.Constraint(everyone, rule=lambda model, i: model.q[i] == given[i])
                model.scaling_factor.update(zip(model.given.values(), factors))

    def _checked(self, q: Any) -> list[Any]:
        from pyomo.core.expr.numvalue import as_numeric

        try:
            given = list(q.values() if callable(getattr(q, "values", None)) else q)
            for each in given:
                as_numeric(each)
        except TypeError:
            raise InputError("q", q, "it must be a sequence of variables or expressions") from None
        size = self.problem.size
        if len(given) != size:
            raise InputError(f"q has {len(given)} entries, but there are {size} classifiers; the two must match.")
        return given

    def _write_box(self) -> None:
        """Write floors and caps: as bounds of the model's own variables; as rows, where those of the user's variables
        do not say as much."""
        floors, caps = (each.tolist() for each in box(self.problem))
        if self.shared:
            self.model.box = self.pyo.Constraint(range(self.problem.size))
        for i, (variable, floor, cap) in enumerate(zip(self.weights, floors, caps)):
            wanted = floor > 0.0 or (self.shared and self.simplex)
            low = floor if wanted and (variable.lb is None or variable.lb < floor) else None
            high = cap if cap < 1.0 and (variable.ub is None or variable.ub > cap) else None
            if low is high is None:
                continue
            if self.shared:
                self.model.box[i] = (low, variable, high)
            else:
                variable.setlb(low)
                variable.setub(high)

    def add(self, name: str, component: Any, scale: float) -> None:
        """Put an objective or a constraint into the model."""
        self.model.add_component(name, component)
        self.model.scaling_factor[component] = scale

    def sqrt(self, x: Any) -> Expression:
        return x**0.5

    def mean(self, terms: Any) -> Expression:
        # Pyomo makes a number of a vector of one.
        return self._sum(self.prior, terms if isinstance(terms, np.ndarray) else [terms])

    def mean_power(self, ratios: Any, order: float) -> Expression:
        with np.errstate(over="ignore"):
            factors = self.prior ** (1.0 - order)
        if ratios is not self.ratios or not np.isfinite(factors).all():
            # At large orders the factors exceed the floating-point range, though the terms do not.
            return super().mean_power(ratios, order)
        return self._sum(factors, (q**order for q in self.weights))

    def mean_entropy(self, ratios: Any) -> Expression:
        if ratios is not self.ratios:
            return super().mean_entropy(ratios)
        # Not q ln(q/p): solvers recognise this as convex, and give it a value where q is zero.
        weights = object_array(self.weights)
        return self._sum(np.ones(weights.size), weights * self.log(weights)) - self._sum(np.log(self.prior), weights)

    def average(self, values: np.ndarray) -> Expression:
        return self._sum(values, self.weights)

    def quadratic(self, matrix: np.ndarray) -> Expression:
        return self.pyo.quicksum(q * self._sum(row, self.weights) for q, row in zip(self.weights, matrix))

    def _sum(self, factors: np.ndarray, terms: Any) -> Expression:
        return self.pyo.quicksum(factor * term for factor, term in zip(factors.tolist(), terms) if factor != 0.0)

    def variable(self, name: str, value: float, lower: float | None = None, upper: float | None = None) -> Expression:
        self.variables[name] = self.pyo.Var(bounds=(lower, upper))
        self.model.add_component(name, self.variables[name])
        return self.variables[name]

    def limit(self, limit: Limit, scale: float) -> None:
        rows, name = self.model.rows, limit.row.name
        rows[name] = limit.written(self.average)
        self.model.scaling_factor[rows[name]] = scale / limit.unit

    def support(self, costs: np.ndarray, total: float) -> None:
        pyo, model, everyone = self.pyo, self.model, range(self.problem.size)
        caps = np.minimum(box(self.problem)[1], 1.0).tolist()
        model.on = pyo.Var(everyone, domain=pyo.Binary, initialize=1)
        model.held = pyo.Constraint(everyone, rule=lambda model, i: model.q[i] <= caps[i] * model.on[i])
        model.support = pyo.Constraint(expr=self._sum(costs, model.on.values()) <= total)

    def constrain(self, name: str, left: Any, right: Any, equality: bool, scale: float) -> None:
        difference = left - right
        self.add(name, self.pyo.Constraint(expr=difference == 0.0 if equality else difference >= 0.0), scale)


class Substituted(PyomoAlgebra):
    """The paper's form: empirical risk and divergence are expressions in the weights."""

    exact = True

    def empirical_risk(self) -> Expression:
        return self.problem.express_risk(self) if self.problem.risks.max() > 0.0 else 0.0

    def lift(self, name: str, size: Any) -> Expression:
        return self.problem.counted(size)

    def norm(self, ratios: Any, order: float) -> Expression:
        return self.problem.counted(self.mean_power(ratios, order) ** (1.0 / order))


class PyomoSquares(Squares, PyomoAlgebra):
    """Without square roots."""
