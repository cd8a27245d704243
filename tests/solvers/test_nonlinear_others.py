"""Nonlinear programming codes that others maintain: CasADi's, those behind CVXPY, and SciPy's minimisers."""

import numpy as np
import pytest

import pacb_models as pm
from pacb_models.benchmarks.problems.problem import table_problem
from pacb_models.solution import Status

from .solver_checks import CONCENTRATED, PAIRS, TWO_MINIMA, distance_to_a_minimum, make

RNG = np.random.default_rng(8)
RISKS = RNG.binomial(200, 0.2, 40) / 200
PRIOR = RNG.dirichlet(np.full(40, 3.0))


def test_cvxpy_s_first_step_is_from_the_start():
    """Its later ones may lead elsewhere: CVXPY adds variables of its own, and Ipopt takes another way."""
    after_one = pm.solve(TWO_MINIMA, "dnlp", start=CONCENTRATED, max_iterations=1)
    assert after_one.bound == pytest.approx(TWO_MINIMA.bound(CONCENTRATED), abs=2e-3)
    assert after_one.posterior[:2].sum() > 0.9


def test_evaluations_are_counted():
    details = pm.solve(make(RISKS, "kl", "chi2"), "casadi").details
    assert details["gradient_evaluations"] > 3 and details["function_evaluations"] > 3


@pytest.mark.parametrize("plugin", ["sqpmethod", "sleqp"])
def test_other_plugins_claim_nothing_that_does_not_hold(plugin):
    """Sequential quadratic programming often ends far from the minimum; what it says of that is corrected."""
    for divergence, distance in PAIRS:
        problem = make(RISKS[:10], distance, divergence)
        solution = pm.solve(problem, "casadi", plugin=plugin, max_iterations=100)
        gap = solution.bound - pm.solve(problem, "frontier").bound
        assert solution.status in set(Status) and gap >= -1e-12
        assert gap <= 1e-5 or solution.status not in ("optimal", "acceptable"), (divergence, distance, gap)


@pytest.mark.parametrize("name", ["cyipopt", "casadi", "dnlp", "ipopt"])
@pytest.mark.parametrize("order", [6.0, 40.0])
def test_large_orders(name, order):
    """The statistic there is a number of many digits; Ipopt is given its root instead."""
    problem = pm.BoundProblem(RISKS, 400, 0.05, "kl", "renyi", PRIOR, order=order)
    solution = pm.solve(problem, name, max_iterations=500)
    assert solution.status == "optimal" and distance_to_a_minimum(solution) <= 1e-9


@pytest.mark.outside
@pytest.mark.parametrize("solver", ["ipopt", "cyipopt", "dnlp", "casadi"])
def test_a_file_of_options_in_the_current_directory_is_not_read(solver, tmp_path, monkeypatch):
    problem = pm.BoundProblem([0.1, 0.2, 0.3], m=100, distance="squared")
    monkeypatch.chdir(tmp_path)
    before = pm.solve(problem, solver)
    # What we set ourselves, and what we do not.
    (tmp_path / "ipopt.opt").write_text("max_iter 1\nmu_strategy adaptive\n")
    after = pm.solve(problem, solver)
    assert (after.status, after.iterations, after.bound) == (before.status, before.iterations, before.bound)
    assert after.status == "optimal"


def test_ipopt_reads_the_file_of_options_that_it_is_told_to(tmp_path):
    problem = pm.BoundProblem([0.1, 0.2, 0.3], m=100, distance="squared")
    (tmp_path / "mine.opt").write_text("max_iter 1\n")
    told = {"option_file_name": str(tmp_path / "mine.opt")}
    assert pm.solve(problem, "cyipopt", options=told).status == "iteration_limit"


@pytest.mark.parametrize("dataset", ["bupa", "mammographic", "haberman"])
def test_steps_that_vanish_at_the_minimum_are_a_success(dataset):
    """SciPy's trust-constr says so itself (its status 2, ``success=True``); the residual has the last word."""
    solution = pm.solve(table_problem(dataset, 50, "linear").build(), "trust-constr", merge=False)
    assert solution.status == "optimal" and solution.kkt_residual <= 1e-6


@pytest.mark.parametrize("method", ["slsqp", "trust-constr"])
def test_time_limit_returns_the_best_point_so_far(method):
    """At the prior the first value is taken; a limit between the first and the last leaves something better."""
    problem = make(np.random.default_rng(0).uniform(0.1, 0.3, 400), "squared", "chi2")
    solution = pm.solve(problem, method, time_limit=0.05)
    assert solution.status == "time_limit" and solution.bound <= problem.bound(problem.prior)


def test_no_errors_but_one():
    """At zero empirical risk the kl distance has infinite slopes, which a minimiser must survive."""
    problem = make([0.0, 0.0, 0.5], "kl", "chi2", m=1000)
    assert pm.solve(problem, "frontier").bound - 1e-12 <= pm.solve(problem, "slsqp").bound < np.inf


@pytest.mark.parametrize("method", ["slsqp", "trust-constr"])
def test_the_tolerance_is_one_on_the_residual(method):
    problem = make(RISKS, "squared", "chi2", prior=PRIOR)
    loose, tight = (pm.solve(problem, method, tolerance=tolerance) for tolerance in (1e-3, 1e-6))
    assert loose.iterations < tight.iterations
    assert loose.kkt_residual <= 1e-3 and tight.kkt_residual <= 1e-6
