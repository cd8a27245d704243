"""Rows, caps, floors and supports in the models, and models that are read back."""

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
import pytest

import pacb_models as pm
from pacb_models.solvers.options import default_start, nearest, starting_posteriors

from ..pacb_models.test_models import ipopt
from .constrained import CONVEX, PAIRS, constrained


@pytest.mark.parametrize("formulation", ["lifted", "substituted"])
@pytest.mark.parametrize(("distance", "divergence"), PAIRS)
def test_pyomo_models_hold_the_rows_as_the_user_wrote_them(distance, divergence, formulation):
    problem = constrained(1, distance, divergence)
    latency, misses, _ = problem.constraints
    model = problem.pyomo_model(formulation)
    assert list(model.rows) == ["latency", "misses"]
    assert problem.posteriors.violation(np.array([variable.value for variable in model.q.values()])) <= 1e-12
    q = np.random.default_rng(0).dirichlet(np.ones(problem.size))
    for variable, weight in zip(model.q.values(), q):
        variable.set_value(weight)
    for row, given in zip(model.rows.values(), (latency, misses)):
        assert row.body() == pytest.approx(given.values @ q, rel=1e-14)
        assert (row.lower, row.upper) == (given.at_least, given.at_most)
    assert [variable.lb for variable in model.q.values()] == problem.posteriors.lower.tolist()
    assert [variable.ub for variable in model.q.values()] == problem.posteriors.upper.tolist()
    # Scaled, a row's largest difference from its limit has the factor of the sum of the weights.
    factor = model.scaling_factor[model.rows["latency"]] * np.abs(latency.values - latency.at_most).max()
    assert factor == pytest.approx(model.scaling_factor[model.normalised], rel=1e-14)


def test_names_that_a_model_has_itself_are_kept():
    names = ["q", "bound", "L", "a.b", "normalised"]
    constraints = [pm.average([0.1 * k, 0.2, 0.9], at_most=0.8, name=name) for k, name in enumerate(names, 1)]
    problem = pm.BoundProblem([0.1, 0.2, 0.3], m=100, constraints=constraints)
    assert list(problem.pyomo_model().rows) == names
    assert pm.solve(problem, "ipopt").status == "optimal"


def test_opposite_limits_are_one_equation_and_empty_rows_are_none():
    constraints = [
        pm.average([1.0, 2.0, 4.0], at_most=2.5, at_least=2.5, name="size"),
        pm.average([3.0, 3.0, 3.0], at_most=3.0, name="equal"),
        pm.average([0.0, 0.0, 0.0], at_most=1.0, name="zero"),
    ]
    problem = pm.BoundProblem([0.1, 0.2, 0.15], m=100, constraints=constraints)
    model = problem.pyomo_model()
    assert list(model.rows) == ["size"]
    assert (model.rows["size"].lower, model.rows["size"].upper) == (2.5, 2.5)
    for solver in ("ipopt", "cyipopt", "casadi", "dnlp"):
        solution = pm.solve(problem, solver)
        assert solution.status == "optimal", solver
        assert [1.0, 2.0, 4.0] @ solution.posterior == pytest.approx(2.5, abs=1e-9), solver


def test_limits_on_the_support_have_binary_variables():
    problem = pm.BoundProblem(
        [0.1, 0.2, 0.3], m=100, constraints=[pm.support(sizes=[3.0, 1.0, 2.0], total=4.0), pm.weights(at_most=0.7)]
    )
    model = problem.pyomo_model()
    assert all(variable.is_binary() for variable in model.on.values())
    for variable, on in zip(model.on.values(), (1, 0, 1)):
        variable.set_value(on)
    assert (model.support.body(), model.support.upper) == (5.0, 4.0)
    model.q[1].set_value(0.1)
    assert model.held[1].body() > 0.0 == model.held[1].upper


@pytest.mark.parametrize(("distance", "divergence"), CONVEX)
def test_cvxpy_problems_hold_the_rows_with_their_names(distance, divergence):
    problem = constrained(2, distance, divergence)
    latency, misses, caps = problem.constraints
    model = problem.cvxpy_problem()
    labels = {constraint.label: constraint for constraint in model.constraints if constraint.label}
    assert list(labels) == ["weights at least", "weights at most", "latency", "misses"]
    model.solve(solver="CLARABEL")
    q = model.var_dict["q"].value
    assert latency.values @ q <= latency.at_most * (1.0 + 1e-6)
    assert misses.values @ q >= misses.at_least - 1e-6
    assert (q <= caps.at_most + 1e-6).all() and (q >= caps.at_least - 1e-6).all()
    assert labels["latency"].dual_value >= -1e-9


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5])
def test_starts_keep_the_constraints_and_differ(seed):
    problem = constrained(seed)
    assert problem.posteriors.violation(problem.prior) > 1e-3
    starts = list(starting_posteriors(problem, 4, seed))
    for q in starts:
        assert problem.posteriors.violation(q) <= 1e-12 and q.sum() == pytest.approx(1.0, abs=1e-12)
    assert max(np.abs(starts[1] - q).max() for q in starts) > 1e-3
    # The first is nearer to the prior, in the Kullback–Leibler divergence, than the others and what lies between.
    divergence = lambda q: float(q @ np.log(q / problem.prior))  # noqa: E731
    for q in starts[1:]:
        for share in (1.0, 0.1, 1e-3):
            assert divergence((1.0 - share) * starts[0] + share * q) >= divergence(starts[0]) - 1e-12
    assert nearest(problem, starts[2]) is starts[2]


def test_a_start_is_the_prior_or_keeps_the_constraints_of_a_set_without_inside():
    problem = pm.BoundProblem([0.1, 0.2, 0.3], m=100, constraints=[pm.weights(at_most=0.5)])
    assert default_start(problem) is problem.prior
    flat = problem.replace(constraints=[pm.average([1.0, 1.0, 2.0], at_most=1.0)])
    assert flat.posteriors.violation(default_start(flat)) <= 1e-9


def test_a_model_that_got_a_row_by_hand_is_read_back():
    free = constrained(4).replace(constraints=[])
    values = np.linspace(0.0, 1.0, free.size)[::-1]
    budget = 0.9 * float(values @ pm.solve(free).posterior)
    model = free.pyomo_model()
    model.budget = pyo.Constraint(expr=sum(a * q for a, q in zip(values, model.q.values())) <= budget)
    ipopt(model)
    with_row = free.replace(constraints=[pm.average(values, at_most=budget, name="budget")])
    found = with_row.read_back(model)
    assert (found.solver, found.status) == ("read back", "optimal")
    assert found.bound == pytest.approx(pm.solve(with_row, "cyipopt").bound, abs=1e-7)
    # The problem without the row takes it from the model.
    taken = free.read_back(model, prove=True)
    assert taken.status == "optimal" and "its rows as constraints: budget." in taken.message
    assert taken.problem.constraints[0].name == "budget"
    assert taken.lower_bound <= pm.solve(with_row).bound <= taken.bound == pytest.approx(found.bound, abs=1e-8)


def test_what_breaks_a_constraint_of_the_problem_is_told():
    problem = constrained(4)
    model = problem.pyomo_model()
    model.rows.deactivate()
    ipopt(model)
    found = problem.read_back(model)
    assert found.status == "not_converged" and found.details["constraint_violation"] > 1e-4
    # The weights that are reported keep it.
    assert problem.posteriors.violation(found.posterior) <= 1e-9


def test_a_cvxpy_problem_is_read_back():
    problem = constrained(5, "linear")
    model = problem.cvxpy_problem()
    model.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    found = problem.read_back(model)
    assert found.status == "optimal" and found.bound == pytest.approx(model.value, abs=1e-8)


def test_models_that_cannot_be_read_back():
    problem = pm.BoundProblem([0.1, 0.2, 0.3], m=100, distance="linear")
    stranger = pyo.ConcreteModel()
    for model in (stranger, cp.Problem(cp.Minimize(cp.Variable(name="x"))), "model", None):
        with pytest.raises(pm.InputError, match=f"model is a {type(model).__name__} without variables q; it must come"):
            problem.read_back(model)
    unsolved = pyo.ConcreteModel()
    unsolved.q = pyo.Var(range(3))
    for model in (unsolved, problem.cvxpy_problem()):
        with pytest.raises(pm.InputError, match="model has variables q without values; solve it first"):
            problem.read_back(model)
    other = problem.replace(risks=[0.1, 0.2])
    with pytest.raises(pm.InputError, match="model has 2 variables q, but there are 3 classifiers"):
        problem.read_back(other.pyomo_model())
