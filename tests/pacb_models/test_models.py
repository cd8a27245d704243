"""The bound as a model, and in models of the user's: it is the problem's in every system, and used the right way."""

import io
import logging
import os
import pickle
import re
import shutil
import subprocess
import sys
from itertools import product

import casadi
import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from pyomo.common.log import LoggingIntercept
from pyomo.gdp import Disjunct, Disjunction

import pacb_models as pm
from pacb_models.models import convex
from pacb_models.models.lifted import values_at
from pacb_models.models.pyomo_models import FORMULATIONS, set_start
from pacb_models.models.text_models import text_block
from pacb_models.solvers.nonlinear import native
from pacb_models.solvers.nonlinear.ipopt import cyipopt_missing

from ..drawn import PAIRS, weights

RISKS = np.array([0.02, 0.1, 0.1, 0.25, 0.5, 0.9])
PRIOR = np.array([0.1, 0.2, 0.3, 0.15, 0.2, 0.05])
RNG = np.random.default_rng(7)
POSTERIOR = RNG.dirichlet(np.ones(6))
#: Columns are posteriors: mixtures of them are weights that are expressions.
MIXED = RNG.dirichlet(np.ones(6), size=3).T


def make(distance="kl", divergence="chi2", **arguments):
    order = 1.5 if divergence == "renyi" else 2.0
    return pm.BoundProblem(RISKS, 150, 0.05, distance, divergence, PRIOR, order=order, **arguments)


def within(block):
    model = pyo.ConcreteModel()
    model.pac = block
    model.least = pyo.Objective(expr=model.pac.bound)
    return model


def largest_violation(model):
    rows = list(model.component_data_objects(pyo.Constraint, active=True))
    below = (row.lb - pyo.value(row.body) for row in rows if row.lb is not None)
    above = (pyo.value(row.body) - row.ub for row in rows if row.ub is not None)
    return max(0.0, *below, *above)


def ipopt(model):
    if missing := cyipopt_missing():
        pytest.skip(missing)
    with native.float_environment_restored():
        return pyo.SolverFactory("cyipopt", options={"bound_relax_factor": 0.0}).solve(model)


# --- the models of the solvers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("divergence, distance", PAIRS)
def test_a_smaller_statistic_is_infeasible(divergence, distance):
    """The lifted constraints bind: a bound below the true one breaks one of them."""
    problem = make(distance, divergence)
    model = problem.pyomo_model("lifted")
    lifted = model.component({"kl": "KL", "chi2": "X", "renyi": "t"}[divergence])
    lifted.set_value(lifted.value - 1e-3, skip_validation=True)
    assert largest_violation(model) >= 1e-3 * 0.99
    set_start(model, problem, problem.prior)
    if distance == "kl":
        model.r.set_value(model.r.value - 1e-3)
        assert largest_violation(model) > 1e-5


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("divergence", ["chi2", "renyi", "kl"])
def test_no_errors_at_all(divergence, formulation):
    """With every risk zero L has no interior, so it is no variable; kl(0, r) = -ln(1 - r) has no logarithm of zero."""
    problem = make("kl", divergence).replace(risks=np.zeros(6))
    model = problem.pyomo_model(formulation)
    assert model.component("L") is None and largest_violation(model) <= 1e-12
    assert pyo.value(model.bound) == pytest.approx(problem.bound(PRIOR), rel=1e-12)


@pytest.mark.parametrize("divergence, distance", PAIRS)
def test_hessian_is_sparse_when_lifted_and_dense_when_substituted(divergence, distance):
    if native.find_asl_library() is None:
        pytest.skip(f"no {native.ASL_LIBRARY}: make setup")
    size = 30
    problem = make(distance, divergence).replace(risks=np.linspace(0.1, 0.5, size), prior=None)
    lifted = native.pynumero_problem(problem.pyomo_model("lifted")).nnz_hessian_lag()
    substituted = native.pynumero_problem(problem.pyomo_model("substituted")).nnz_hessian_lag()
    # At Rényi orders every weight meets the root of the statistic, too.
    assert lifted <= (3 if divergence == "renyi" else 1) * size + 9
    # The KL divergence is a sum over the weights: where nothing else is curved, nothing couples them.
    separable = divergence == "kl" and distance in ("linear", "ch")
    assert substituted <= size + 1 if separable else substituted >= size**2


@pytest.mark.parametrize("divergence", ["chi2", "renyi", "kl"])
@pytest.mark.parametrize("parametrised", [True, False])
@settings(max_examples=10)
@given(q=weights(6))
def test_cvxpy_objective_is_the_bound(divergence, parametrised, q):
    """At any posterior, with the norm or the entropy tight; for KL the objective is n times the bound."""
    problem = make("linear", divergence)
    model = convex.build(problem, parametrised)
    assert model.problem.is_dcp(dpp=True) and bool(model.problem.parameters()) == parametrised
    values = {"q": q}
    if divergence == "kl":
        values["t"], factor = q * np.log(q), problem.exponent
    else:
        u = problem.divergence_function.cone().data(problem)["penalty"] * q
        t = (u**problem.order).sum() ** (1 / problem.order)
        values |= {"t": t, "s": u**problem.order / t ** (problem.order - 1)}
        factor = 1.0
    for variable in model.problem.variables():
        variable.value = values[variable.name()]
    assert model.problem.objective.value == pytest.approx(factor * problem.bound(q), rel=1e-10)


def test_cvxpy_problem_of_the_user_is_the_users():
    """Two calls share nothing: changing one problem's parameter leaves the other alone."""
    problem = make("linear", "chi2")
    first, second = problem.cvxpy_problem(), problem.cvxpy_problem()
    value = second.solve()
    for parameter in first.parameters():
        parameter.value = 2.0 * parameter.value
    assert first.solve() == pytest.approx(2.0 * value, rel=1e-6)
    assert second.solve() == pytest.approx(value, rel=1e-9)


def test_large_orders_have_finite_coefficients():
    """prior ** (1 - order) overflows where prior * (q / prior) ** order does not."""
    prior, q = [1e-5, 0.5, 0.49999], np.array([1e-5, 0.6, 0.39999])
    problem = pm.BoundProblem([0.1, 0.2, 0.3], 100, 0.05, "squared", "renyi", prior, order=100.0)
    model = problem.pyomo_model()
    set_start(model, problem, q)
    assert largest_violation(model) <= 1e-12
    assert model.t.value**100 == pytest.approx(problem.statistic(q), rel=1e-12)


# --- blocks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize(("divergence", "distance"), PAIRS)
def test_a_block_has_the_bound_at_any_posterior(distance, divergence, formulation, exact):
    problem = make(distance, divergence).replace(risks=[0.0, *RISKS[1:]])
    model = within(problem.pyomo_block(formulation=formulation, exact=exact))
    assert pyo.value(model.pac.bound) == pytest.approx(problem.bound(PRIOR), rel=1e-12)
    model.pac.initialise(POSTERIOR)
    assert pyo.value(model.pac.bound) == pytest.approx(problem.bound(POSTERIOR), rel=1e-12)
    assert largest_violation(model) <= 1e-12
    rows = {row.local_name: row.equality for row in model.component_data_objects(pyo.Constraint)}
    tied = rows.keys() - {"upper_root"} if exact or formulation == "substituted" else {"normalised", "empirical_risk"}
    assert {name for name, equality in rows.items() if equality} == tied


def test_the_model_is_the_block_with_an_objective():
    problem = make(constraints=[pm.average(RISKS, at_most=0.2, name="limit"), pm.weights(at_most=0.6)])
    model, block = problem.pyomo_model(), problem.pyomo_block()
    own, others = ([part.local_name for part in each.component_objects()] for each in (model, block))
    assert own == others
    assert model.component("bound").ctype is pyo.Objective and block.component("bound").ctype is pyo.Expression
    for row in model.component_data_objects(pyo.Constraint):
        assert row.expr.to_string() == block.find_component(row.name).expr.to_string()


def test_weights_are_the_users_variables_or_expressions():
    problem = make("kl", "kl")
    model = pyo.ConcreteModel()
    model.w = pyo.Var(range(6), bounds=(0.0, None), initialize=dict(enumerate(POSTERIOR)))
    model.pac = problem.pyomo_block(model.w)
    model.pac.initialise()
    assert pyo.value(model.pac.bound) == pytest.approx(problem.bound(POSTERIOR), rel=1e-12)
    assert [each.name for each in model.pac.q.values()] == [each.name for each in model.w.values()]
    assert not list(model.pac.box.values())  # their own bounds say so
    model.x = pyo.Var(range(3), bounds=(0.0, None), initialize=1.0 / 3.0)
    model.mix = problem.pyomo_block([sum(MIXED[i, k] * model.x[k] for k in range(3)) for i in range(6)])
    model.mix.initialise()
    assert pyo.value(model.mix.bound) == pytest.approx(problem.bound(MIXED.mean(axis=1)), rel=1e-12)
    model.least = pyo.Objective(expr=model.mix.bound)
    del model.pac
    ipopt(model)
    x = np.array([each.value for each in model.x.values()])
    grid = [np.array([a, b, 1.0 - a - b]) for a, b in product(np.linspace(0, 1, 101), repeat=2) if a + b <= 1.0]
    least = min(problem.bound(MIXED @ each) for each in grid)
    assert x.sum() == pytest.approx(1.0, abs=1e-8) and least - 1e-4 <= pyo.value(model.least) <= least + 1e-7


def test_bounds_that_the_users_variables_lack_are_rows():
    model = pyo.ConcreteModel()
    model.w = pyo.Var(range(6))
    model.w[2].setlb(0.05)
    model.w[2].setub(0.3)
    model.pac = make(constraints=[pm.weights(at_most=0.4)]).pyomo_block(model.w)
    assert [(row.lb, row.ub) for row in model.pac.box.values()] == [(0.0, 0.4)] * 5
    assert 2 not in model.pac.box and "normalised" in model.pac.component_map()
    free = make(constraints=[pm.weights(at_most=0.4)]).pyomo_block(model.w, simplex=False)
    assert [(row.lb, row.ub) for row in free.box.values()] == [(None, 0.4)] * 5 and free.component("normalised") is None


@pytest.mark.parametrize("formulation", ["lifted", "squares"])
@pytest.mark.parametrize(("divergence", "distance"), PAIRS)
def test_the_wrong_way_is_refused(distance, divergence, formulation):
    model = within(make(distance, divergence).pyomo_block(formulation=formulation))
    model.x = pyo.Var(bounds=(0.0, 1.0))
    bound, x = model.pac.bound, model.x
    for right in (bound <= 0.5, x >= 2.0 * bound - 1.0, pyo.exp(bound) <= 3.0, bound**2 <= x + 1.0, x * bound <= 1.0):
        model.row = pyo.Constraint(expr=right)
        model.pac.check()
        del model.row
    for wrong in (bound >= 0.1, bound == x, (bound - 0.2) ** 2 <= 1.0, x - bound <= 0.0, (x - 0.5) * bound <= 1.0):
        model.row = pyo.Constraint(expr=wrong)
        with pytest.raises(pm.InputError, match=r"row does not surely get worse when pac\.bound grows, .* exact=True"):
            model.pac.initialise(POSTERIOR)
        model.row.deactivate()
        model.pac.check()
        del model.row
    model.least.sense = pyo.maximize
    with pytest.raises(pm.InputError, match=r"least does not surely get worse"):
        model.pac.check()
    model.row = pyo.Constraint(expr=bound >= 0.1)
    model.del_component("pac")
    model.pac = make(distance, divergence).pyomo_block(formulation=formulation, exact=True)
    model.pac.check()


def test_a_variable_of_the_block_used_the_wrong_way_is_refused():
    model = within(make().pyomo_block())
    model.row = pyo.Constraint(expr=model.pac.X >= 2.0)
    with pytest.raises(pm.InputError, match="row does not surely get worse"):
        model.pac.check()
    del model.row
    # Through an expression of the user's, too, and from another block.
    model.inner = pyo.Block()
    model.inner.gain = pyo.Expression(expr=0.5 - model.pac.bound)
    model.inner.row = pyo.Constraint(expr=model.inner.gain <= 0.1)
    with pytest.raises(pm.InputError, match=r"inner\.row does not surely get worse"):
        model.pac.check()
    model.inner.deactivate()
    model.pac.check()
    model.either, model.other = Disjunct(), Disjunct()
    model.either.row = pyo.Constraint(expr=model.pac.bound >= 0.3)
    model.choice = Disjunction(expr=[model.either, model.other])
    with pytest.raises(pm.InputError, match=r"either\.row does not surely get worse"):
        model.pac.check()
    model.either.row.set_value(model.pac.bound <= 0.3)
    model.pac.check()
    # The empirical risk is tied by an equation: any limit on it is right.
    model.row = pyo.Constraint(expr=model.pac.L >= 0.1)
    model.pac.check()


def test_the_quadratic_risk_of_votes_is_one_sided():
    problem = pm.TandemProblem.from_errors(RNG.random((50, 4)) < 0.3, divergence="kl")
    model, exact = within(problem.pyomo_block()), within(problem.pyomo_block(exact=True))
    for each in (model, exact):
        each.row = pyo.Constraint(expr=each.pac.L >= 0.4)
    exact.pac.check()
    with pytest.raises(pm.InputError, match="row does not surely get worse"):
        model.pac.check()
    model.row.set_value(model.pac.L <= 0.4)
    model.pac.check()


def test_exact_blocks_can_be_maximised():
    """The largest bound on a convex set of two risks is at one of its ends."""
    problem = pm.BoundProblem([0.1, 0.3], m=100, distance="squared")
    model = within(problem.pyomo_block(exact=True))
    model.floor = pyo.Constraint(expr=model.pac.q[0] >= 0.4)
    model.least.sense = pyo.maximize
    model.pac.initialise([0.5, 0.5])
    ipopt(model)
    found = pyo.value(model.pac.bound)
    weights = [np.array([a, 1.0 - a]) for a in np.linspace(0.4, 1.0, 601)]
    assert found == pytest.approx(problem.bound([model.pac.q[0].value, 1.0 - model.pac.q[0].value]), abs=1e-7)
    assert min(abs(found - problem.bound(end)) for end in (weights[0], weights[-1])) <= 1e-6


def test_two_blocks_share_one_posterior():
    """With equal problems the larger bound is that of one: its proven minimum."""
    problem = make("squared")
    model = pyo.ConcreteModel()
    model.one, model.z = problem.pyomo_block(), pyo.Var(initialize=1.0)
    model.two = problem.replace(m=120).pyomo_block(model.one.q, simplex=False)
    model.rows = pyo.ConstraintList()
    for block in (model.one, model.two):
        model.rows.add(block.bound <= model.z)
    model.least = pyo.Objective(expr=model.z)
    assert str(ipopt(model).solver.termination_condition) == "optimal"
    assert model.z.value == pytest.approx(pm.solve(problem.replace(m=120)).bound, abs=1e-7)
    assert len([row for row in model.component_objects(pyo.Constraint) if row.local_name == "normalised"]) == 1


def test_scaling_is_exported_from_inside_and_nothing_is_warned_of(tmp_path):
    problem = make()
    model = within(problem.pyomo_block())
    said = io.StringIO()
    with LoggingIntercept(said, "pyomo", level=logging.WARNING):
        for name in ("model.nl", "model.gms"):
            model.write(str(tmp_path / name))
        ipopt(model)
        nlp = native.pynumero_problem(model)
    assert said.getvalue() == ""
    factors = dict(zip((each.name for each in nlp.get_pyomo_variables()), nlp.get_primals_scaling()))
    assert [factors[f"pac.q[{i}]"] for i in range(6)] == pytest.approx((1.0 / PRIOR).tolist())
    assert pyo.value(model.least) == pytest.approx(pm.solve(problem).bound, abs=1e-7)


@pytest.mark.outside
@pytest.mark.parametrize(
    ("distance", "divergence"), [("squared", "chi2"), ("kl", "chi2"), ("squared", "kl"), ("kl", "kl")]
)
def test_scip_proves_a_purchase(distance, divergence):
    """With the KL divergence, too, whose terms must have a value at weight zero: else SCIP buys everything."""
    problem = pm.BoundProblem([0.1, 0.11, 0.14, 0.2], 300, 0.05, distance, divergence)
    costs = [0.05, 0.02, 0.01, 0.001]
    model = pyo.ConcreteModel()
    model.pac, model.buy = problem.pyomo_block(), pyo.Var(range(4), domain=pyo.Binary)
    model.held = pyo.Constraint(range(4), rule=lambda model, i: model.pac.q[i] <= model.buy[i])
    model.total = pyo.Objective(expr=model.pac.bound + sum(c * b for c, b in zip(costs, model.buy.values())))
    model.pac.check()
    said = pyo.SolverFactory("scip_direct").solve(model, timelimit=60)
    totals = {}
    for bought in filter(any, product((0, 1), repeat=4)):
        held = problem.replace(constraints=[pm.weights(at_most=np.array(bought, dtype=float))])
        totals[bought] = pm.solve(held).bound + np.dot(costs, bought)
    best, least = min(totals.items(), key=lambda pair: pair[1])
    assert tuple(round(each.value) for each in model.buy.values()) == best != (1, 1, 1, 1)
    assert pyo.value(model.total) == pytest.approx(least, abs=3e-6)
    assert least - 1e-4 <= said.problem.lower_bound <= least + 3e-6


@pytest.mark.outside
@pytest.mark.skipif(cyipopt_missing() is not None, reason="no cyipopt")
def test_ipopt_is_found_without_activation():
    code = (
        "import pyomo.environ as pyo, pacb_models as pm\n"
        "model = pyo.ConcreteModel()\n"
        "model.pac = pm.BoundProblem([0.1, 0.3], m=100).pyomo_block()\n"
        "model.least = pyo.Objective(expr=model.pac.bound)\n"
        "print(pyo.SolverFactory('cyipopt').solve(model).solver.termination_condition)\n"
    )
    bare = {"PATH": "/usr/bin:/bin", "HOME": os.environ.get("HOME", "/")}
    done = subprocess.run([sys.executable, "-c", code], env=bare, capture_output=True, text=True)
    assert done.stdout.strip() == "optimal", done.stderr


def test_wrong_weights_are_refused_in_a_sentence():
    problem, model = make(), pyo.ConcreteModel()
    model.w = pyo.Var(range(5))
    with pytest.raises(pm.InputError, match="q has 5 entries, but there are 6 classifiers; the two must match"):
        problem.pyomo_block(model.w)
    entries = ("abcdef", [None] * 6, 5, [*model.w.values(), "x"])
    vectors = (cp.Variable(5), cp.square(cp.Variable(6)), PRIOR, cp.Variable((6, 1)))
    columns = (casadi.SX.sym("q", 5), PRIOR, casadi.DM(PRIOR))
    for write, wrong, expected in (
        *((problem.pyomo_block, each, "a sequence of variables or expressions") for each in entries),
        *((problem.cvxpy_nonlinear, each, "a vector of 6 variables, or an affine") for each in vectors),
        *((problem.replace(distance="linear").cvxpy_bound, each, "a vector of 6 variables") for each in vectors),
        *((problem.casadi_bound, each, "a column of 6 SX or MX") for each in columns),
    ):
        with pytest.raises(pm.InputError, match=f"q is .*; it must be {expected}"):
            write(wrong)
    with pytest.raises(pm.UnsupportedProblemError, match="no CVXPY form: its bound is not convex"):
        problem.cvxpy_bound(cp.Variable(6))
    for name, arguments in (("q", (-PRIOR, PRIOR)), ("q", ([1.0], PRIOR)), ("direction", (PRIOR, [np.nan] * 6))):
        with pytest.raises(pm.InputError, match=f"{name} is .*; it must be 6 finite numbers"):
            problem.hessian_product(*arguments)
    with pytest.raises(pm.InputError, match="system is 'mod'; it must be one of 'inc', 'jl'"):
        text_block(problem, "mod")


def test_further_linear_rows_are_proven():
    problem = make("squared")
    model = within(problem.pyomo_block())
    model.latency = pyo.Constraint(expr=3.0 + sum(i * model.pac.q[i] for i in range(6)) >= 5.5)
    model.pac.q[1].setub(0.25)
    ipopt(model)
    found = problem.read_back(model.pac, prove=True)
    caps = pm.weights(at_most=[1.0, 0.25, 1.0, 1.0, 1.0, 1.0])
    same = problem.replace(constraints=[pm.average(np.arange(6.0), at_least=2.5), caps])
    proven = pm.solve(same)
    assert found.status == "optimal" and "its rows as constraints: latency, weights." in found.message
    assert found.bound == pytest.approx(proven.bound, abs=1e-7) == found.details["claimed"]
    assert proven.bound - 1e-8 <= found.lower_bound <= proven.bound
    # Weights that are feasible, but no minimum, are not claimed to be one.
    model.pac.initialise(same.posteriors.nearest(PRIOR))
    other = problem.read_back(model.pac, prove=True)
    assert not other.is_global and other.status == "not_converged" and other.bound > found.bound + 1e-4


def test_weights_that_are_fixed_stay_where_they_are():
    problem = make("squared")
    model = within(problem.pyomo_block())
    model.pac.q[0].fix(0.4)
    same = problem.replace(constraints=[pm.weights([0.4, 1, 1, 1, 1, 1], [0.4, 0, 0, 0, 0, 0])])
    model.pac.initialise(same.posteriors.nearest(PRIOR))
    ipopt(model)
    found, least = problem.read_back(model.pac, prove=True), pm.solve(same).bound
    assert model.pac.q[0].value == 0.4 and found.bound == pytest.approx(least, abs=1e-7)
    assert least - 1e-8 <= found.lower_bound <= least


def test_a_copy_of_a_model_is_checked_and_values_are_needed():
    model = pyo.ConcreteModel()
    model.w = pyo.Var(range(6), bounds=(0.0, 1.0))
    model.pac = make().pyomo_block(model.w)
    model.least = pyo.Objective(expr=model.pac.bound)
    with pytest.raises(pm.InputError, match="q has no values yet; give them some, or initialise the block"):
        model.pac.initialise()
    for copied in (model.clone(), pickle.loads(pickle.dumps(model))):
        copied.pac.initialise(POSTERIOR)
        copied.least.sense = pyo.maximize
        with pytest.raises(pm.InputError, match="least does not surely get worse"):
            copied.pac.check()
    model.pac.check()


def test_what_is_not_the_problem_is_judged_by_its_bound():
    problem = make("squared")

    def reason(model):
        model.pac.initialise(POSTERIOR)
        found = problem.read_back(model.pac, prove=True)
        assert found.status == "not_converged" and not found.is_global and found.lower_bound is None
        assert found.bound == problem.bound(POSTERIOR)
        return re.fullmatch(r"the weights are judged by their bound alone, as (.*)\.", found.message)[1]

    model = within(problem.pyomo_block())
    model.x = pyo.Var(initialize=0.0)
    model.row = pyo.Constraint()
    for strange in (model.pac.q[0] <= model.x, model.pac.q[0] ** 2 <= 1.0):
        model.row.set_value(strange)
        assert reason(model) == "row is not a linear row of the weights"
    model.row.deactivate()
    model.few = pyo.SOSConstraint(var=model.pac.q, sos=2)
    assert reason(model) == "few is not a linear row of the weights"
    del model.few
    model.either, model.other = Disjunct(), Disjunct()
    model.either.row = pyo.Constraint(expr=model.pac.q[0] >= 0.2)
    model.choice = Disjunction(expr=[model.either, model.other])
    assert reason(model) == "choice is not a linear row of the weights"
    for part in (model.choice, model.either, model.other):
        part.deactivate()
    model.least.expr = model.pac.bound + model.x
    assert reason(model) == "the objective least is not the bound"
    model.least.deactivate()
    assert reason(model) == "the model does not minimise the bound"
    model.pac.q[0].domain = pyo.Binary
    assert reason(model) == "some of them are integers"
    mixed = within(problem.pyomo_block([1.0 * each for each in POSTERIOR]))
    assert reason(mixed) == "they are expressions of other variables"


@pytest.mark.parametrize("divergence", ["chi2", "renyi", "kl"])
def test_a_convex_bound_is_the_bound_and_follows_its_parameters(divergence):
    problem, q = make("linear", divergence), cp.Variable(6)
    bound = problem.cvxpy_bound(q)
    expression, constraints = bound
    fixed = cp.Problem(cp.Minimize(expression), [*constraints, q == POSTERIOR])
    free = cp.Problem(cp.Minimize(expression), constraints)
    assert free.is_dcp(dpp=True) and free.parameters()
    for aim, rows in ((cp.Maximize(expression), []), (cp.Minimize(q[0]), [expression >= 0.5])):
        with pytest.raises(cp.DCPError):
            cp.Problem(aim, constraints + rows).solve()
    for changed in (problem, problem.replace(delta=0.2), problem.replace(m=900), problem.replace(risks=RISKS[::-1])):
        bound.update(changed)
        assert fixed.solve(solver=cp.CLARABEL) == pytest.approx(changed.bound(POSTERIOR), abs=1e-7)
        assert free.solve(solver=cp.CLARABEL) == pytest.approx(pm.solve(changed).bound, abs=1e-7)
    other = {"chi2": "kl", "renyi": "kl", "kl": "chi2"}[divergence]
    for wrong, said in (
        (make("linear", other), "its bound must have the parameters"),
        (problem.replace(risks=RISKS[:3], prior=None), "its bound must have the parameters"),
        (problem.replace(constraints=[pm.support(at_most=2)]), "problem has the constraints .*'support'.*those that"),
        (pm.DirectProblem(RISKS, 150, distance="linear", divergence=divergence), "it must be a BoundProblem"),
    ):
        with pytest.raises(pm.InputError, match=said):
            bound.update(wrong)
    with pytest.raises(pm.UnsupportedProblemError, match="its bound is not convex"):
        bound.update(problem.replace(distance="squared" if divergence != "kl" else "kl"))
    q.value = POSTERIOR
    assert expression.value == pytest.approx(problem.replace(risks=RISKS[::-1]).bound(POSTERIOR), rel=1e-12)


def test_a_large_convex_bound_has_no_parameters():
    risks = np.linspace(0.1, 0.4, convex.LARGEST_PARAMETRISED + 1)
    problem = pm.BoundProblem(risks, 500, distance="linear")
    bound = problem.cvxpy_bound(cp.Variable(risks.size))
    assert not bound.expression.parameters()
    with pytest.raises(pm.InputError, match=r"its bound must have the parameters \{\}"):
        bound.update(problem)


def test_convex_bounds_of_expressions_with_constraints_and_costs():
    """The weights are mixtures; the independent way to the same minimum is a fine grid."""
    problem = make("linear", constraints=[pm.average(RISKS, at_least=0.2)])
    x = cp.Variable(3, nonneg=True)
    bound = problem.cvxpy_bound(MIXED @ x)
    value = cp.Problem(cp.Minimize(bound.expression + 0.05 * x[0]), bound.constraints).solve(solver=cp.CLARABEL)
    grid = [np.array([a, b, 1.0 - a - b]) for a, b in product(np.linspace(0, 1, 201), repeat=2) if a + b <= 1.0]
    least = min(problem.bound(MIXED @ each) + 0.05 * each[0] for each in grid if RISKS @ MIXED @ each >= 0.2)
    assert least - 1e-3 <= value <= least + 1e-8


@pytest.mark.outside
@pytest.mark.filterwarnings("ignore:CVXPY .DNLP.")
@pytest.mark.parametrize(("distance", "divergence"), [("kl", "chi2"), ("squared", "renyi"), ("kl", "kl"), ("ch", "kl")])
def test_nonlinear_bounds_are_minimised(distance, divergence):
    problem, q = make(distance, divergence, constraints=[pm.weights(at_most=0.5)]), cp.Variable(6)
    expression, constraints = problem.cvxpy_nonlinear(q)
    assert q.value == pytest.approx(PRIOR)
    q.value = POSTERIOR
    program = cp.Problem(cp.Minimize(expression + 0.0 * q[0]), constraints)
    program.solve(solver="IPOPT", nlp=True, print_level=0)
    assert program.value == pytest.approx(pm.solve(problem).bound, abs=1e-7)


@pytest.mark.parametrize("kind", [casadi.SX, casadi.MX])
@pytest.mark.parametrize(("divergence", "distance"), PAIRS)
def test_casadi_has_the_bound_and_minimises_it(distance, divergence, kind):
    problem = make(distance, divergence, constraints=[pm.weights(at_most=0.5)])
    q = kind.sym("q", 6)
    bound = problem.casadi_bound(q)
    x = casadi.vertcat(q, bound.variables)
    rows = casadi.Function("rows", [x], [bound.expression, bound.constraints])
    for posterior in (PRIOR, POSTERIOR):
        value, g = (np.asarray(each).ravel() for each in rows([*posterior, *bound.start(posterior)]))
        assert value == pytest.approx(problem.bound(posterior), rel=1e-12)
        assert (g >= np.array(bound.limits["lbg"]) - 1e-9).all()
    quiet = {"ipopt.print_level": 0, "print_time": 0, "ipopt.bound_relax_factor": 0.0}
    solver = casadi.nlpsol("own", "ipopt", {"x": x, "f": bound.expression, "g": bound.constraints}, quiet)
    limits = {f"{side}bx": [end] * 6 + bound.limits[f"{side}bx"] for side, end in (("l", 1e-12), ("u", 1.0))}
    start = [*PRIOR, *bound.start(PRIOR)]
    found = solver(x0=start, lbg=bound.limits["lbg"], ubg=bound.limits["ubg"], **limits)
    assert float(found["f"]) == pytest.approx(pm.solve(problem).bound, abs=1e-7)


@pytest.mark.parametrize("kind", ["casadi", "cvxpy"])
def test_exact_rows_hold_the_bound_from_both_sides(kind):
    """Every variable beside the weights has one value, whatever is maximised: it can neither rise nor fall."""
    problem = make("kl", "chi2")
    values = values_at(problem, POSTERIOR)
    for name, factor in product(values, (0.999, 1.001)):
        moved = {**values, name: factor * values[name]}
        if kind == "casadi":
            q = casadi.SX.sym("q", 6)
            bound = problem.casadi_bound(q, exact=True)
            rows = casadi.Function("rows", [casadi.vertcat(q, bound.variables)], [bound.constraints])
            g = np.asarray(rows([*POSTERIOR, *moved.values()])).ravel()
            violation = max((np.array(bound.limits["lbg"]) - g).max(), (g - np.array(bound.limits["ubg"])).max())
        else:
            q = cp.Variable(6, value=POSTERIOR)
            expression, constraints = problem.cvxpy_nonlinear(q, exact=True)
            for variable in cp.Problem(cp.Minimize(expression), constraints).variables():
                variable.value = moved.get(variable.name(), POSTERIOR)
            violation = max(np.max(each.violation()) for each in constraints)
        assert violation > 1e-6, (name, factor)


@pytest.mark.parametrize(("divergence", "distance"), PAIRS)
def test_derivatives_are_those_of_difference_quotients(distance, divergence):
    problem = make(distance, divergence)
    value, gradient = problem.value_and_gradient(POSTERIOR)
    assert value == problem.bound(POSTERIOR)
    for k, towards in enumerate(np.eye(6)):
        (up, above), (down, below) = (problem.value_and_gradient(POSTERIOR + h * towards) for h in (1e-6, -1e-6))
        assert gradient[k] == pytest.approx((up - down) / 2e-6, rel=1e-6, abs=1e-8)
        assert problem.hessian_product(POSTERIOR, towards) == pytest.approx((above - below) / 2e-6, rel=1e-5, abs=1e-8)


def evaluated(text, problem, values):
    """The rows of a JuMP block by name, as differences, and its bound; as Python reads them."""
    padded = {"log": np.log, "sqrt": np.sqrt, **values}
    rows = {}
    for line in text.replace("^", "**").splitlines():
        plain = re.sub(r"in 1:(\d+)", r"in range(\1)", line.strip())
        if data := re.fullmatch(r"(\w+) = (\[.*\])", plain):
            padded[data[1]] = eval(data[2])
        elif row := re.fullmatch(r"@constraint\(model, (.*) (==|>=) (.*)\)  # (\w+)", plain):
            rows[row[4]] = row[2], eval(row[1], padded) - eval(row[3], padded)
        elif end := re.fullmatch(r"return q, @expression\(model, (.*)\)", plain):
            bound = eval(end[1], padded)
    return rows, bound


@pytest.mark.parametrize(("divergence", "distance"), PAIRS)
def test_the_text_for_jump_says_the_same(distance, divergence):
    problem = make(distance, divergence, constraints=[pm.average(RISKS, at_least=0.01, name="least risk")])
    text, values = text_block(problem, "jl"), values_at(problem, POSTERIOR)
    rows, bound = evaluated(text, problem, {"q": POSTERIOR.tolist(), **values})
    assert bound == pytest.approx(problem.bound(POSTERIOR), rel=1e-12)
    assert {"normalised", "empirical_risk", "divergence", "least_risk"} <= rows.keys()
    for relation, difference in rows.values():
        assert abs(difference) <= 1e-12 if relation == "==" else difference >= -1e-12
    # A smaller variable than the true one breaks a row.
    for name in values.keys() - {"L"}:
        smaller, _ = evaluated(text, problem, {"q": POSTERIOR.tolist(), **values, name: 0.99 * values[name]})
        assert min(difference for _, difference in smaller.values()) < -1e-9, name
    assert set(re.findall(r"^    (\w+) = @variable", text, re.MULTILINE)) == {"q", *values}


if gams := shutil.which("gams"):  # PyPI has it, with a licence for small models: gamspy_base

    @pytest.mark.outside
    @pytest.mark.parametrize(("divergence", "distance"), PAIRS)
    def test_gams_minimises_the_block(distance, divergence, tmp_path):
        problem = make(distance, divergence, constraints=[pm.average(RISKS, at_least=0.2), pm.weights(at_most=0.5)])
        (tmp_path / "bound.inc").write_text(text_block(problem, "inc"))
        own = "Model own / all /;\nSolve own using nlp minimizing bound;\nOption decimals = 8;\nDisplay bound.l;\n"
        (tmp_path / "own.gms").write_text(f"$include bound.inc\n{own}")
        subprocess.run([gams, "own.gms", "lo=0"], cwd=tmp_path, timeout=120, check=True)
        shown = re.search(r"VARIABLE bound.L\s+=\s+(\S+)", (tmp_path / "own.lst").read_text())
        assert float(shown[1]) == pytest.approx(pm.solve(problem).bound, abs=1e-7)
