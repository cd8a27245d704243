"""Somebody's own distance and divergence in the algebraic models, and what is said where they have no expression."""

import numpy as np
import pytest
from scipy.optimize import minimize

import pacb_models as pm
from pacb_models.distances import BY_NAME, Distance, Inverse

from ..own_bounds import Doubled, Mixed, Relative, Sharp, TangentChiSquared

RISKS = np.array([0.08, 0.1, 0.17, 0.22, 0.3, 0.45])
PRIOR = np.array([0.05, 0.2, 0.3, 0.15, 0.2, 0.1])
MODELLED = ("ipopt", "casadi", "dnlp", "scip")
PAIRS = [(Relative(), "chi2"), (Relative(), "kl"), ("kl", Mixed()), ("squared", Mixed()), (Relative(), Mixed())]
PAIRS += [(Sharp(), "chi2")]


class Affine(Distance):
    """r = 2L + 3b: affine, so that the bound is convex."""

    name = "affine"
    affine, moment = True, BY_NAME["linear"].moment

    def derivatives(self, L, budget):
        return Inverse(2.0 * L + 3.0 * budget, 2.0, 3.0, 0.0, 0.0, 0.0)


def make(distance, divergence, m=300):
    return pm.BoundProblem(RISKS, m, 0.05, distance, divergence, PRIOR)


def brute_force(problem):
    """The least bound over the softmax of free numbers, from many starts."""

    def bound(x):
        weights = problem.prior * np.exp(x - x.max())
        return problem.bound(weights / weights.sum())

    starts = [np.zeros(problem.size), *(-k * problem.risks for k in (3.0, 10.0, 30.0, 100.0))]
    return min(minimize(bound, start, method="BFGS", options={"gtol": 1e-9}).fun for start in starts)


@pytest.mark.outside
@pytest.mark.parametrize("name", MODELLED)
@pytest.mark.parametrize("distance, divergence", PAIRS)
def test_own_expressions_are_minimised(name, distance, divergence):
    """Also of a class that inherits the name of another formula."""
    problem = make(distance, divergence)
    least, solution = brute_force(problem), pm.solve(problem, name)
    assert solution.status == "optimal", solution.message
    assert solution.bound == pytest.approx(least, abs=1e-7)
    if name == "scip":
        assert least - 1e-4 <= solution.claimed_lower_bound <= least + 1e-9


@pytest.mark.parametrize("name", MODELLED)
@pytest.mark.parametrize(
    "distance, divergence, sentence",
    [
        (Doubled(), "chi2", r"the doubled distance lacks the method `express` \(class Doubled\)"),
        ("kl", TangentChiSquared(), r"the tangent-chi2 divergence lacks the method `express` \(class Tangent"),
    ],
)
def test_without_an_expression(name, distance, divergence, sentence):
    problem = make(distance, divergence)
    with pytest.raises(pm.UnsupportedProblemError, match=sentence):
        pm.solve(problem, name)
    with pytest.raises(pm.UnsupportedProblemError, match=sentence):
        problem.pyomo_model()


def test_an_expression_that_says_something_else_is_refused():
    class Wrong(Relative):
        def express(self, algebra, L, budget):
            return L + budget

    with pytest.raises(pm.UnsupportedProblemError, match="they do not fit the other methods"):
        make(Wrong(), "chi2").pyomo_model()


@pytest.mark.parametrize("divergence", ["chi2", "kl"])
def test_affine_distances_are_convex(divergence):
    problem = make(Affine(), divergence)
    least, solution = brute_force(problem), pm.solve(problem, "cvxpy")
    assert solution.status == "optimal" and solution.is_global
    assert solution.bound == pytest.approx(least, abs=1e-7)
    value = problem.cvxpy_problem().solve()
    assert value * (3.0 / problem.exponent if divergence == "kl" else 1.0) == pytest.approx(least, abs=1e-7)
    with pytest.raises(pm.UnsupportedProblemError, match="tangent-chi2 divergence lacks the method `cone`"):
        pm.solve(make(Affine(), TangentChiSquared()), "cvxpy")


@pytest.mark.parametrize("distance", [Relative(), Sharp()])
def test_convex_concave_procedure(distance):
    problem = make(distance, "chi2")
    solution = pm.solve(problem, "ccp")
    assert solution.status == "optimal"
    assert solution.bound == pytest.approx(brute_force(problem), abs=1e-7)
