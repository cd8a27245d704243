"""A third party's distance, divergence and solver objects, given to the package without registration."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pacb_models as pm
from pacb_models.constants import log_moment_constant
from pacb_models.distances import Distance, Inverse
from pacb_models.divergences import Budget, ChiSquared
from pacb_models.solution import Outcome
from pacb_models.solver import Solver

RISKS = [0.05, 0.08, 0.1, 0.3]


class Relative(Distance):
    """φ = (l − l̂)²/(2l) for l above l̂, a minorant of the binary kl; r = L + b + √(b² + 2bL)."""

    name = "relative"
    additive = False

    def derivatives(self, L, budget):
        b, s = budget, math.sqrt(budget * (budget + 2.0 * L))
        return Inverse(L + b + s, 1.0 + b / s, 1.0 + (b + L) / s, -(b * b) / s**3, b * L / s**3, -(L * L) / s**3)

    def log_constant(self, m, divergence, order, constant):
        return log_moment_constant("kl", m, constant, divergence, order)


class LinearisedChiSquared(ChiSquared):
    """The budget c(X + 1)/2, which is at least c√X."""

    name = "linearised"

    def budget(self, statistic, coefficient, exponent):
        return Budget(0.5 * coefficient * (statistic + 1.0), 0.5 * coefficient, 0.0)


class Prior(Solver):
    """Returns the prior."""

    name = "prior"
    handles = {"chi2": ("linear",)}

    def run(self, problem):
        return Outcome(problem.prior.copy(), "optimal")


@pytest.mark.parametrize("divergence", ["chi2", "kl"])
def test_a_distance_with_its_own_constant(divergence):
    problem = pm.BoundProblem(RISKS, m=200, distance=Relative(), divergence=divergence)
    kl = problem.replace(distance="kl")
    assert problem.log_constant == kl.log_constant
    assert problem.constant_value == pytest.approx(kl.constant_value, rel=1e-12)
    for q in np.random.default_rng(0).dirichlet(np.ones(4), size=20):
        # The inverse of a minorant of kl is no smaller than that of kl, and it solves its own equation.
        bound, L = problem.bound(q), problem.empirical_risk(q)
        assert bound >= kl.bound(q)
        budget = problem.divergence_function.budget(problem.statistic(q), problem.coefficient, problem.exponent).value
        assert (bound - L) ** 2 / (2.0 * bound) == pytest.approx(budget, rel=1e-12)


def test_a_divergence_says_which_moments_it_needs():
    problem = pm.BoundProblem(RISKS, m=200, distance="squared", divergence=LinearisedChiSquared())
    chi2 = problem.replace(divergence="chi2")
    assert problem.divergence == "linearised"
    assert problem.constant_value == chi2.constant_value
    assert problem.bound(problem.prior) == pytest.approx(chi2.bound(chi2.prior), rel=1e-15)
    for q in np.random.default_rng(0).dirichlet(np.ones(4), size=20):
        assert problem.bound(q) >= chi2.bound(q)


def test_a_divergence_and_distance_that_do_not_go_together_are_refused():
    with pytest.raises(pm.InputError, match="'pinsker'"):
        pm.BoundProblem(RISKS, m=200, distance="pinsker", divergence=LinearisedChiSquared())


@pytest.mark.parametrize("distance", ["linear", "squared", "kl", Relative()])
def test_ipopt_minimises_bounds_it_has_no_name_for(distance):
    problem = pm.BoundProblem(RISKS, m=200, distance=distance, divergence=LinearisedChiSquared())
    solution = pm.solve(problem, solver="cyipopt")
    assert solution.status == "optimal"
    others = np.random.default_rng(0).dirichlet(np.ones(4), size=2000)
    assert solution.bound <= min(problem.bound(q) for q in others)


def test_a_solver_that_is_not_registered():
    problem = pm.BoundProblem([0.2, 0.2], m=200, distance="linear")
    solution = pm.solve(problem, Prior())
    assert (solution.solver, solution.status) == ("prior", "optimal")
    with pytest.raises(pm.UnsupportedProblemError, match="solver 'prior' cannot minimise the kl distance"):
        pm.solve(problem.replace(distance="kl"), Prior())


def test_cross_check_of_a_solver_that_is_not_registered():
    problem = pm.BoundProblem(RISKS, m=2000, distance="linear")
    table = pm.cross_check(problem, solvers=["frontier", Prior()])
    assert [row.solver for row in table.rows] == ["frontier", "prior"]
    assert table.rows[0].agrees
    # The prior is no minimum here, and its claim to be one was corrected before the comparison.
    assert table.rows[1].status == "not_converged"
    assert not table.agree
