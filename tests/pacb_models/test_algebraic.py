"""The Pyomo and CVXPY models say what the problem says."""

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings

import pacb_models as pm
from pacb_models.algebra import scaling
from pacb_models.models import convex
from pacb_models.models.pyomo_models import FORMULATIONS, set_start
from pacb_models.names import DISTANCES
from pacb_models.solvers.nonlinear import native
from pacb_models.solvers.nonlinear.native import pynumero_problem

from ..drawn import weights
from ..solvers.test_blocks import largest_violation

PAIRS = [(divergence, distance) for divergence, names in DISTANCES.items() for distance in names]
RISKS = np.array([0.0, 0.1, 0.1, 0.25, 0.5, 0.9])
PRIOR = np.array([0.1, 0.2, 0.3, 0.15, 0.2, 0.05])


def make(distance, divergence, risks=RISKS, prior=PRIOR):
    return pm.BoundProblem(risks, 150, 0.05, distance, divergence, prior, order=1.5 if divergence == "renyi" else 2.0)


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
    problem = make("kl", divergence, risks=np.zeros(6))
    model = problem.pyomo_model(formulation)
    assert model.component("L") is None and largest_violation(model) <= 1e-12
    assert pyo.value(model.bound) == pytest.approx(problem.bound(PRIOR), rel=1e-12)


@pytest.mark.parametrize("divergence, distance", PAIRS)
def test_hessian_is_sparse_when_lifted_and_dense_when_substituted(divergence, distance):
    if native.find_asl_library() is None:
        pytest.skip(f"no {native.ASL_LIBRARY}: make setup")
    size = 30
    problem = make(distance, divergence, risks=np.linspace(0.1, 0.5, size), prior=None)
    lifted = pynumero_problem(problem.pyomo_model("lifted")).nnz_hessian_lag()
    substituted = pynumero_problem(problem.pyomo_model("substituted")).nnz_hessian_lag()
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
        u = model.cone.data(problem, 1.0)["penalty"] * q
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


def test_scaling_does_not_depend_on_the_number_of_classifiers():
    """Every classifier twice, with half the prior each: per classifier the scaled problem stays the same."""
    once = scaling(make("kl", "chi2"))
    twice = scaling(make("kl", "chi2", risks=np.repeat(RISKS, 2), prior=np.repeat(PRIOR / 2, 2)))
    assert twice.weights[::2] / 2 == pytest.approx(once.weights)
    assert np.array(twice[1:]) / 2 == pytest.approx(np.array(once[1:]))


def test_large_orders_have_finite_coefficients():
    """prior ** (1 - order) overflows where prior * (q / prior) ** order does not."""
    prior, q = [1e-5, 0.5, 0.49999], np.array([1e-5, 0.6, 0.39999])
    problem = pm.BoundProblem([0.1, 0.2, 0.3], 100, 0.05, "squared", "renyi", prior, order=100.0)
    model = problem.pyomo_model()
    set_start(model, problem, q)
    assert largest_violation(model) <= 1e-12
    assert model.t.value**100 == pytest.approx(problem.statistic(q), rel=1e-12)
