"""Conic solvers on the convex bounds."""

import numpy as np
import pytest

import pacb_models as pm
from pacb_models.models.convex import LARGEST_PARAMETRISED
from pacb_models.solvers.convex.conic import LIMITS, SETTINGS

from .solver_checks import make

DIVERGENCES = ["chi2", "renyi", "kl"]
RNG = np.random.default_rng(11)
RISKS = RNG.binomial(300, 0.2, 60) / 300


def agreement(problem, **options):
    """The solution, and how far its bound is above the minimum."""
    solution = pm.solve(problem, "cvxpy", **options)
    excess = solution.bound - pm.solve(problem, "frontier").bound
    assert excess >= -1e-12
    return solution, excess


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_many_classifiers_without_parameters(divergence):
    risks = np.random.default_rng(2).binomial(300, 0.2, LARGEST_PARAMETRISED + 500) / 300
    solution, excess = agreement(make(risks, "linear", divergence, m=300))
    assert solution.status == "optimal" and excess <= 1e-8


def test_ten_thousand_classifiers_are_stationary():
    """Read from the cone's multiplier; the variable itself would be off by more than the limit for an optimal point."""
    problem = make(np.random.default_rng(3).binomial(500, 0.2, 10_000) / 500, "linear", "chi2", m=500)
    solution = pm.solve(problem, "cvxpy")
    assert solution.status == "optimal" and solution.kkt_residual <= 1e-7


@pytest.mark.parametrize("order", [1.2, 1.5, 3.0, 5.0, 8.0])
def test_orders(order):
    """At high orders weights are roots of multipliers, and noise must not become weight."""
    rng = np.random.default_rng(1)
    risks = rng.binomial(1000, rng.beta(4, 6, 150)) / 1000
    solution, excess = agreement(pm.BoundProblem(risks, 1000, 0.05, "linear", "renyi", order=order))
    assert solution.status == "optimal" and excess <= 1e-8


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_scs(divergence):
    solution, excess = agreement(make(RISKS[:15], "linear", divergence), backend="SCS")
    assert solution.details["backend"] == "SCS"
    assert solution.status in ("optimal", "acceptable") and excess <= 1e-5


def test_scs_at_its_own_accuracy_is_not_called_optimal():
    loose = {"eps_abs": 1e-3, "eps_rel": 1e-3}
    solution = pm.solve(make(RISKS, "linear", "chi2"), "cvxpy", backend="SCS", options=loose)
    assert solution.details["backend_status"] == "solved"
    assert solution.status in ("acceptable", "not_converged") and "KKT residual" in solution.message


@pytest.mark.parametrize("backend", sorted(SETTINGS))
def test_time_limit_inside_the_backend(backend):
    problem = make(np.random.default_rng(2).binomial(300, 0.2, 5000) / 300, "linear", "kl", m=300)
    late = {LIMITS[backend]["time"]: 1e-6}
    assert pm.solve(problem, "cvxpy", backend=backend, options=late).status == "time_limit"
