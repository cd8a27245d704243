r"""The convex bound minimisations as CVXPY problems: affine distances, :math:`r = r_L L + r_b b`, with a conic budget.

χ² (a second-order cone program) and Rényi order α (a power cone program):

.. math:: \min_{q, t}\ r_L \sum_i q_i l_i + t \quad\text{s.t.}\quad
          \lVert u \rVert_\alpha \le t, \quad u_i = r_b c\,p_i^{1/\alpha - 1} q_i, \quad \sum_i q_i = 1,\ q \ge 0.

KL (an exponential cone program), with :math:`n/r_b` times the bound as objective, which keeps the cone's part of order
one:

.. math:: \min_{q, t}\ \sum_i \big(q_i (n l_i r_L/r_b - \ln p_i) + t_i\big) + \ln(I/\delta) \quad\text{s.t.}\quad
          q_i \ln q_i \le t_i, \quad \sum_i q_i = 1.

A divergence says which cone it is (its method ``cone``). Risks, prior and constant are parameters, so that another
problem of the same size and cone is not compiled again. CVXPY stores how every coefficient depends on every parameter,
which takes memory and time proportional to :math:`H^2`: 10 s at H = 10 000, too much memory at H = 100 000. Above
:data:`LARGEST_PARAMETRISED` the data are written into the problem instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InputError, UnsupportedProblemError
from ..problem import BoundProblem, Problem
from ..solver import lacking
from .cvxpy_models import box_rows, check_weights
from .lifted import box, limits

if TYPE_CHECKING:
    import cvxpy as cp

#: The largest number of classifiers for which parameters pay: compiling takes ten times as long, half a second.
LARGEST_PARAMETRISED = 2000


class ConvexModel(NamedTuple):
    """A CVXPY problem, and the posterior as its variables and as its multipliers tell it; none where none was found."""

    problem: cp.Problem
    readings: Callable[[], list[np.ndarray]]


def cvxpy_problem(problem: BoundProblem) -> cp.Problem:
    """Return the bound minimisation as a CVXPY problem of its own, with the values of its parameters set.

    Its variable ``q`` is the posterior in the order of ``problem.risks``.

    Examples
    --------
    >>> import pacb_models as pm
    >>> problem = pm.BoundProblem([0.1, 0.3], m=100, distance="linear")
    >>> value = problem.cvxpy_problem().solve()
    >>> bool(abs(value - pm.solve(problem).bound) < 1e-7)
    True
    """
    check_conic(problem)
    return build(problem, parametrised=True).problem


@dataclass(frozen=True)
class ConvexBound:
    """A convex bound in CVXPY: an expression to minimise or to limit from above, and the constraints of the weights; it
    unpacks to these two."""

    problem: BoundProblem
    expression: cp.Expression
    constraints: list[cp.Constraint]

    def __iter__(self) -> Iterator[Any]:
        return iter((self.expression, self.constraints))

    def update(self, problem: BoundProblem) -> None:
        """Give the parameters the values of another problem of as many classifiers, for instance at another delta."""
        if not isinstance(problem, type(self.problem)):
            raise InputError("problem", problem, f"it must be a {type(self.problem).__name__}")
        check_conic(problem)
        data = problem.divergence_function.cone().data(problem)
        found = self.expression.parameters()
        shapes = {each.name(): each.shape for each in found}
        if shapes != {name: np.shape(value) for name, value in data.items()}:
            expected = f"its bound must have the parameters {shapes}, which bounds of at most {LARGEST_PARAMETRISED} "
            raise InputError("problem", problem, f"{expected}classifiers with the same divergence have")
        own, others = ([each.as_record() for each in of.constraints] for of in (problem, self.problem))
        if own != others:
            raise InputError(f"problem has the constraints {own}; they must be those that were written, {others}.")
        for each in found:
            each.value = data[each.name()]


def cvxpy_bound(problem: BoundProblem, q: cp.Expression, *, simplex: bool = True) -> ConvexBound:
    """Write the bound of weights that are CVXPY's variables or affine expressions, where it is convex.

    Parameters
    ----------
    problem : BoundProblem
        With an affine distance (linear); :meth:`~pacb_models.BoundProblem.cvxpy_nonlinear` has the others.
    q : cvxpy.Expression
        A vector of H weights.
    simplex : bool
        As for :func:`~pacb_models.models.pyomo_blocks.pyomo_block`.

    Returns
    -------
    expression, constraints
        CVXPY refuses to maximise the expression or to limit it from below. The numbers of the problem are parameters
        (DPP): the method ``update(problem)`` sets those of another problem, and CVXPY does not compile again.

    Examples
    --------
    >>> import cvxpy as cp, pacb_models as pm
    >>> problem = pm.BoundProblem([0.1, 0.3], m=100, distance="linear")
    >>> q = cp.Variable(2)
    >>> bound = problem.cvxpy_bound(q)
    >>> program = cp.Problem(cp.Minimize(bound.expression + 0.2 * q[0]), bound.constraints)
    >>> program.is_dcp(dpp=True)
    True
    """
    import cvxpy as cp

    check_weights(problem, q)
    check_conic(problem)
    cone = problem.divergence_function.cone()
    expression = cone.express(q, _parameters(problem, cone.data(problem)))
    posterior = [cp.sum(q) == 1.0, q >= 0.0] if simplex else []
    return ConvexBound(problem, expression, [*posterior, *constraints_on(problem, q)])


def check_conic(problem: BoundProblem) -> None:
    """Refuse a problem without a conic form."""
    if (reason := not_conic(problem)) is not None:
        raise UnsupportedProblemError(f"{problem.describe()} has no CVXPY form: {reason}.")


def not_conic(problem: Problem) -> str | None:
    """Return None when a problem is convex and has a cone, else a clause that says why not."""
    if not problem.distance_function.affine:
        return "its bound is not convex, as that of an affine distance (linear) is"
    return lacking(problem, "divergence.cone")


def _parameters(problem: BoundProblem, data: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers as CVXPY's parameters, for sets of a size for which these pay."""
    import cvxpy as cp

    if problem.size > LARGEST_PARAMETRISED:
        return data
    # Only with a rate that is known to be positive is the entropy's part convex.
    return {name: cp.Parameter(np.shape(n), name=name, value=n, nonneg=name == "rate") for name, n in data.items()}


def build(problem: BoundProblem, parametrised: bool = False) -> ConvexModel:
    """Return the model of a problem, with its numbers as parameters or as they are."""
    import cvxpy as cp

    cone = problem.divergence_function.cone()
    data = cone.data(problem)
    q = cp.Variable(problem.size, name="q", nonneg=True)
    objective, constraints = cone.write(q, _parameters(problem, data) if parametrised else data)
    rows = [cp.sum(q) == 1.0, *constraints, *constraints_on(problem, q)]
    program = cp.Problem(cp.Minimize(objective / data.get("rate", 1.0)), rows)

    def readings() -> list[np.ndarray]:
        r"""Read the weights: the cone's multiplier is the gradient of the convex function that the cone describes. A
        conic solver knows it to its tolerance ε, but the variable ``q`` itself only to :math:`\sqrt\varepsilon`, as the
        objective is flat around its minimum: with ``q`` Clarabel's optimality conditions would hold to 1e-5, with the
        multiplier they hold to 1e-9."""
        if q.value is None:
            return []
        weights = cone.weights(constraints[0].dual_value, data)
        return [q.value, weights / weights.sum()]

    return ConvexModel(program, readings)


def constraints_on(problem: Problem, q: cp.Expression) -> list[Any]:
    """Return the problem's constraints on the posterior, labelled as the user calls them."""
    import cvxpy as cp

    rows = [limit.written(lambda values: values @ q).set_label(limit.row.name) for limit in limits(problem)]
    constraints = box_rows(problem, q) + rows
    if problem.posteriors is not None and problem.posteriors.support is not None:
        on = cp.Variable(problem.size, name="on", boolean=True)
        costs, total = problem.posteriors.support.costs(problem.size)
        caps = np.minimum(box(problem)[1], 1.0)
        constraints += [q <= cp.multiply(caps, on), (costs @ on <= total).set_label("support")]
    return constraints
