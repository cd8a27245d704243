"""SciPy's general-purpose minimisers."""

from __future__ import annotations

import numpy as np
import pytest

import pacb_models as pm
from pacb_models.benchmarks.problems.problem import table_problem

from .solver_checks import make

METHODS = ("slsqp", "trust-constr")
RNG = np.random.default_rng(6)
RISKS = RNG.binomial(200, 0.2, 12) / 200
PRIOR = RNG.dirichlet(np.full(12, 5.0))


@pytest.mark.parametrize("dataset", ["bupa", "mammographic", "haberman"])
def test_steps_that_vanish_at_the_minimum_are_a_success(dataset):
    """SciPy's trust-constr says so itself (its status 2, ``success=True``); the residual has the last word."""
    solution = pm.solve(table_problem(dataset, 50, "linear").build(), "trust-constr", merge=False)
    assert solution.status == "optimal" and solution.kkt_residual <= 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_time_limit_returns_the_best_point_so_far(method):
    """At the prior the first value is taken; a limit between the first and the last leaves something better."""
    rng = np.random.default_rng(0)
    problem = make(rng.uniform(0.1, 0.3, 400), "squared", "chi2")
    solution = pm.solve(problem, method, time_limit=0.05)
    assert solution.status == "time_limit"
    assert solution.bound <= problem.bound(problem.prior)


def test_no_errors_but_one():
    """At zero empirical risk the kl distance has infinite slopes, which a minimiser must survive."""
    problem = make([0.0, 0.0, 0.5], "kl", "chi2", m=1000)
    solution = pm.solve(problem, "slsqp")
    assert np.isfinite(solution.bound)
    assert solution.bound >= pm.solve(problem, "frontier").bound - 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_the_tolerance_is_one_on_the_residual(method):
    problem = make(RISKS, "squared", "chi2", prior=PRIOR)
    loose, tight = (pm.solve(problem, method, tolerance=tolerance) for tolerance in (1e-3, 1e-6))
    assert loose.iterations < tight.iterations
    assert loose.kkt_residual <= 1e-3 and tight.kkt_residual <= 1e-6
