"""SCIP's lower bounds, against minima that are certified by other means."""

import signal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pacb_models as pm
from pacb_models.solvers.branch_and_bound import scip

from ..drawn import PAIRS, arrays, weights
from .solver_checks import make

pytestmark = pytest.mark.outside

RNG = np.random.default_rng(9)
RISKS = RNG.binomial(200, 0.2, 7) / 200
PRIOR = RNG.dirichlet(np.full(7, 3.0))


@pytest.mark.parametrize("divergence, distance", PAIRS)
def test_the_certified_minimum_lies_between_its_bounds(divergence, distance):
    problem = make(RISKS, distance, divergence, prior=PRIOR)
    certified = pm.solve(problem, "frontier").bound
    solution = pm.solve(problem, "scip")
    assert solution.status == "optimal" and solution.claimed_lower_bound <= certified <= solution.bound + 1e-12
    assert solution.bound - solution.claimed_lower_bound <= 1e-5
    check = pm.cross_check(problem, ["frontier", "scip"])
    rows = {row.solver: row for row in check.rows}
    assert check.agree and rows["scip"].lower_bound is None and not solution.is_global
    assert rows["scip"].claimed_lower_bound >= certified - 1e-5
    assert "scip says: no bound is below" in str(check)


@pytest.mark.parametrize("risks, m", [([0.0] + [0.4] * 49, 110), ([0.05, 0.10] + 48 * [0.30], 50)])
@pytest.mark.parametrize("distance", ["squared", "kl"])
def test_two_minima(risks, m, distance):
    """Started in the worse one, it finds the better one, and proves that there is no other."""
    problem = pm.BoundProblem(risks, m=m, delta=0.05, distance=distance)
    certified = pm.solve(problem, "frontier")
    concentrated = np.where(problem.risks < 0.2, 1.0, 1e-3)
    solution = pm.solve(problem, "scip", start=concentrated / concentrated.sum())
    assert solution.bound - certified.bound <= 1e-7
    assert certified.bound - 1e-5 <= solution.claimed_lower_bound <= certified.bound


@pytest.mark.parametrize("distance", ["squared", "relative", "kl"])
def test_its_start_is_a_solution_of_the_model(distance):
    """Also where a root is above one, as that of a vacuous bound."""
    problem = pm.BoundProblem(RISKS, m=3, distance=distance, divergence="kl", prior=PRIOR)
    model = scip.ScipModel(problem, PRIOR)
    solution = model.scip.createSol()
    for variable in model.scip.getVars():
        model.scip.setSolVal(solution, variable, model.start[variable.name])
    assert model.scip.checkSol(solution)


@pytest.mark.parametrize("share", [1e-8, 1e-10, 1e-12, 1e-15])
@pytest.mark.parametrize("divergence, distance", [("kl", "kl"), ("kl", "squared"), ("chi2", "squared"), ("chi2", "kl")])
def test_prior_weights_below_its_tolerance_are_not_lost(divergence, distance, share):
    """SCIP takes coefficients below 1e-9 for zero; without the good classifier the minimum would be larger."""
    prior = np.array([share, *np.full(5, (1.0 - share) / 5)])
    risks = [0.01, *np.linspace(0.3, 0.45, 5)]
    problem = pm.BoundProblem(risks, m=2000, delta=0.05, distance=distance, divergence=divergence, prior=prior)
    certified = pm.solve(problem, "frontier").bound
    solution = pm.solve(problem, "scip", time_limit=20.0)
    assert certified - 1e-4 <= solution.claimed_lower_bound <= certified <= solution.bound + 1e-12


def test_a_prior_that_no_scaling_helps_is_refused():
    """At order 12 a prior weight of 1e-15 makes a coefficient of 1e93."""
    problem = pm.BoundProblem([0.1, 0.2], 100, 0.05, "squared", "renyi", [1e-15, 1.0 - 1e-15], order=12.0)
    solution = pm.solve(problem, "scip", merge=False)
    assert solution.status == "numerical_error" and solution.claimed_lower_bound is None
    assert "prior weights of 1e-15 are too small for SCIP at order 12" in solution.message


def test_a_lower_bound_from_numbers_in_reach_of_its_tolerances():
    """In units of the prior t⁶ would be 1e20, SCIP's infinity, and SCIP proved a lower bound of .8056."""
    prior = [5.70811642611152e-05, 4.362482554429148e-09, 6.382754856591544e-08, 0.0, 3.5872611948228234e-05]
    prior[3] = 1.0 - sum(prior)
    problem = pm.BoundProblem([0.4, 1, 1, 0.8, 0.4], 76664, 0.05, "kl", "renyi", prior, order=6.0)
    certified = pm.solve(problem, "frontier").bound
    for merge in (True, False):
        solution = pm.solve(problem, "scip", merge=merge, time_limit=20.0)
        assert certified - 1e-4 <= solution.claimed_lower_bound <= certified <= 0.72897


@settings(max_examples=15)
@given(
    risks=arrays(st.sampled_from([0.0, 0.04, 0.2, 0.4, 0.55, 0.8, 1.0]), 4),
    prior=weights(4, decades=12.0),
    pair=st.sampled_from(PAIRS),
    order=st.sampled_from([1.2, 3.0, 6.0, 12.0, 30.0]),
    m=st.sampled_from([20, 500, 76664]),
)
def test_no_lower_bound_is_above_the_minimum(risks, prior, pair, order, m):
    """Priors over twelve orders of magnitude, and large orders: a lower bound is right, or there is none."""
    divergence, distance = pair
    problem = pm.BoundProblem(risks, m, 0.05, distance, divergence, prior, order=order)
    solution = pm.solve(problem, "scip", time_limit=2.0)
    certified = pm.solve(problem, "frontier").bound
    assert "above the bound of its own weights" not in solution.message
    assert solution.claimed_lower_bound is None or solution.claimed_lower_bound <= certified * (1.0 + 1e-12)


def test_time_limit_keeps_the_lower_bound_reached_so_far():
    risks = np.random.default_rng(0).uniform(0.1, 0.4, 1000)
    problem = pm.BoundProblem(risks, 300, 0.05, "kl", "renyi", order=3.0)
    solution, certified = pm.solve(problem, "scip", time_limit=4.0), pm.solve(problem, "frontier").bound
    assert solution.status == "time_limit" and solution.bound >= certified - 1e-12
    assert solution.claimed_lower_bound is None or 0.0 <= solution.claimed_lower_bound <= certified


def test_polishing_makes_the_weights_stationary():
    problem = make(RISKS, "kl", "chi2", prior=PRIOR)
    raw, polished = (pm.solve(problem, "scip", polish=polish) for polish in (False, True))
    assert polished.kkt_residual <= 1e-9 < raw.kkt_residual
    assert polished.bound <= raw.bound + 1e-12
    # The raw weights are less than optimal; SCIP's lower bound stays a claim in both cases.
    assert raw.status != "optimal" and raw.claimed_lower_bound <= polished.bound
    assert raw.lower_bound is None and polished.lower_bound is None
    assert polished.claimed_lower_bound <= polished.bound


def test_a_process_that_ends_is_a_finding_and_not_the_end(monkeypatch):
    """SCIP has been seen to abort Python; here the worker is ended by a signal, as then."""
    code = f"import os; os.kill(os.getpid(), {int(signal.SIGABRT)})"
    monkeypatch.setattr(scip, "COMMAND", ["-c", code])
    solution = pm.solve(make(RISKS, "kl", "chi2"), "scip")
    assert solution.status == "error" and solution.claimed_lower_bound is None
    assert solution.message == f"SCIP ended its process by signal {int(signal.SIGABRT)}."


def test_options():
    problem = make(RISKS, "kl", "chi2", prior=PRIOR)
    solution = pm.solve(problem, "scip", options={"limits/gap": 0.5})
    assert solution.details["scip_status"] in ("gaplimit", "optimal")
    with pytest.raises(pm.InputError, match="SCIP refuses"):
        pm.solve(problem, "scip", options={"no/such": 1})
