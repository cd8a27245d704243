"""Conic solvers on the convex bounds; the convex–concave procedure against the exact solver, scans and mpmath."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pacb_models as pm
from pacb_models.benchmarks.problems.risks import load_risk_table
from pacb_models.models.convex import LARGEST_PARAMETRISED
from pacb_models.solvers.convex.ccp import from_start, subproblem
from pacb_models.solvers.convex.conic import LIMITS, SETTINGS
from pacb_models.solvers.convex.subproblems import TwoSidedSubproblem, tangent_ratio
from pacb_models.solvers.options import Iterative

from ..drawn import arrays, some_weights, weights
from ..pacb_models.mp_reference import binary_kl, invert
from .path_reference import scan
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


# --- the convex–concave procedure -------------------------------------------------------------------------------------

BOTH = pytest.mark.parametrize("distance", ["squared", "kl"])
#: Two local minima each: one good classifier that the prior trusts little, among poor ones.
TWO_MINIMA = {
    "kl": {"risks": [0.02, 0.26, 0.265], "m": 50, "delta": 0.05, "prior": [0.05, 0.475, 0.475]},
    "squared": {"risks": [0.0, 0.2, 0.205], "m": 50, "delta": 0.05, "prior": [0.1, 0.45, 0.45]},
}


def random_problem(distance, size, seed, constant="exact", general_prior=False, m=500, delta=0.01):
    random = np.random.default_rng(seed)
    risks = np.round(random.beta(2.0, 8.0, size) * m) / m
    prior = random.dirichlet(np.ones(size)) if general_prior else None
    return pm.BoundProblem(risks, m=m, delta=delta, distance=distance, prior=prior, constant=constant)


def path_minima(problem):
    """Bounds of the local minima by brute force, best first."""
    return [float(value) for value, _ in scan(problem, count=3000)]


@pytest.mark.long
@BOTH
@pytest.mark.parametrize("constant", ["exact", "paper"])
@pytest.mark.parametrize("general_prior", [False, True])
@pytest.mark.parametrize("size", [2, 10, 50])
def test_agrees_with_exact_solver_and_path_search(distance, constant, general_prior, size):
    problem = random_problem(distance, size, seed=size, constant=constant, general_prior=general_prior)
    solution = pm.solve(problem, "ccp")
    assert solution.status == "optimal" and solution.kkt_residual <= 1e-8 and solution.setup_seconds > 0.0
    assert solution.bound == pytest.approx(pm.solve(problem, "frontier").bound, abs=1e-11)
    assert general_prior or solution.bound == pytest.approx(path_minima(problem)[0], abs=1e-11)


@BOTH
@pytest.mark.parametrize(("name", "constant"), [("spambase", "exact"), ("mushroom", "exact"), ("bupa", "paper")])
def test_real_risks_of_the_largest_grid(distance, name, constant):
    table = load_risk_table(name)
    problem = pm.BoundProblem(table.risks(1990), m=table.m, delta=0.01, distance=distance, constant=constant)
    solution, reference = pm.solve(problem, "ccp"), pm.solve(problem, "frontier")
    assert solution.status == "optimal" and 0.0 <= solution.bound - reference.bound + 1e-15 <= 1e-10


def test_prior_over_twelve_orders_of_magnitude():
    random = np.random.default_rng(1)
    prior = np.exp(-random.uniform(0.0, 28.0, 40))
    problem = pm.BoundProblem(random.beta(2.0, 8.0, 40), m=50, distance="kl", prior=prior / prior.sum())
    solution = pm.solve(problem, "ccp")
    assert (solution.status, solution.support_size) == ("optimal", pm.solve(problem, "frontier").support_size)
    assert solution.bound == pytest.approx(path_minima(problem)[0], abs=1e-11)


@st.composite
def small_problems(draw):
    size = draw(st.integers(1, 8))
    risks = draw(arrays(st.sampled_from([0.0, 0.01, 0.1, 0.2, 0.35, 0.5, 1.0]), size))
    m, delta = draw(st.sampled_from([1, 5, 50, 2000])), draw(st.sampled_from([1e-6, 0.01, 0.5]))
    return pm.BoundProblem(risks, m, delta, draw(st.sampled_from(["squared", "kl"])), prior=draw(weights(size)))


@pytest.mark.long
@settings(max_examples=40)
@given(small_problems(), st.data())
def test_every_descent_is_monotone_and_never_below_the_minimum(problem, data):
    solution = pm.solve(problem, "ccp", start=data.draw(some_weights(problem.size)))
    lowest = pm.solve(problem, "frontier").bound
    # The limit of the residual is absolute, and a vacuous squared bound may be 18.
    assert solution.status == "optimal" or (solution.bound > 1.0 and solution.kkt_residual <= 1e-6 * solution.bound)
    history = solution.details["history"]
    assert solution.bound == pytest.approx(history[-1], rel=1e-15)
    assert all(np.diff(history) <= 0.0) and history[-1] >= lowest * (1.0 - 1e-15)


@BOTH
def test_every_iterate_is_a_valid_bound_to_fifty_digits(distance):
    problem = random_problem(distance, 30, seed=4, general_prior=True)
    compiled, points = subproblem(problem), []

    def recording(q, seconds):
        points.append((q, problem.bound(q)))
        return compiled(q, seconds)

    start = np.random.default_rng(5).dirichlet(np.ones(problem.size))
    outcome = from_start(problem, recording, start, Iterative(max_iterations=1000).checked(problem))
    assert outcome.status == "optimal" and len(points) == outcome.iterations > 3
    with mpmath.workdps(50):
        for posterior, bound in points:
            q = [mpmath.mpf(x) for x in posterior]
            L = mpmath.fdot(q, map(mpmath.mpf, problem.risks)) / mpmath.fsum(q)
            X = mpmath.fsum(x * x / mpmath.mpf(p) for x, p in zip(q, problem.prior)) / mpmath.fsum(q) ** 2
            budget = problem.coefficient * mpmath.sqrt(X)
            spent = (bound - L) ** 2 if distance == "squared" else binary_kl(L, mpmath.mpf(bound))
            assert bound >= L and spent >= budget * (1 - mpmath.mpf(10) ** -14)


def test_ratio_of_slopes_where_the_bound_rounds_to_one():
    problem = pm.BoundProblem([0.7, 0.9], m=2, delta=1e-4, distance="kl")
    assert problem.bound(problem.prior) == 1.0
    with mpmath.workdps(200):
        # At a uniform prior the norm is one.
        L = mpmath.mpf(problem.empirical_risk(problem.prior))
        r = invert("kl", L, mpmath.mpf(problem.coefficient))
        gap = mpmath.log(r / (1 - r)) - mpmath.log(L / (1 - L))
        assert tangent_ratio(problem, problem.prior) == pytest.approx(float(problem.coefficient / gap), rel=1e-13)


def test_start_among_the_faultless_stays_there_and_takes_the_priors_shape():
    prior = np.array([0.1, 0.2, 0.3, 0.4])
    problem = pm.BoundProblem([0.0, 0.0, 0.2, 0.3], m=200, delta=0.05, distance="kl", prior=prior)
    solution = pm.solve(problem, "ccp", start=[0.9, 0.1, 0.0, 0.0])
    assert solution.status == "optimal"
    np.testing.assert_allclose(solution.posterior, [1 / 3, 2 / 3, 0.0, 0.0], atol=1e-12)
    assert solution.bound == pytest.approx(1.0 - math.exp(-problem.coefficient / math.sqrt(0.3)), abs=1e-14)
    # Under a cap the subproblem has the least norm among the faultless that the constraints allow.
    capped = problem.replace(constraints=[pm.weights(at_most=[0.2, 1.0, 1.0, 1.0])])
    solution = pm.solve(capped, "ccp", start=[0.1, 0.9, 0.0, 0.0])
    assert solution.status == "optimal"
    np.testing.assert_allclose(solution.posterior, [0.2, 0.8, 0.0, 0.0], atol=1e-7)


@BOTH
def test_equal_risks_have_the_prior_from_any_start(distance):
    prior = np.array([0.5, 0.3, 0.2])
    equal = pm.solve(pm.BoundProblem([0.3] * 3, m=100, distance=distance, prior=prior), "ccp", start=[0.1, 0.1, 0.8])
    assert equal.status == "optimal"
    np.testing.assert_allclose(equal.posterior, prior, atol=1e-12)


def test_leaves_the_region_where_the_bound_rounds_to_one():
    prior = np.r_[0.01, np.full(9, 0.11)]
    problem = pm.BoundProblem(np.r_[0.01, np.ones(9)], m=10, delta=0.05, distance="kl", prior=prior)
    assert problem.bound(prior) == 1.0
    solution = pm.solve(problem, "ccp")
    assert solution.status == "optimal" and solution.bound < 0.99
    assert solution.bound == pytest.approx(path_minima(problem)[0], abs=1e-11)
    hopeless = pm.solve(pm.BoundProblem([0.3, 0.4], m=1, delta=1e-8, distance="kl"), "ccp")
    assert (hopeless.status, hopeless.bound) == ("optimal", 1.0)


@BOTH
def test_different_starts_end_in_different_local_minima(distance):
    problem = pm.BoundProblem(distance=distance, **TWO_MINIMA[distance])
    best, other = path_minima(problem)[:2]
    alone, several = pm.solve(problem, "ccp"), pm.solve(problem, "ccp", starts=30)
    assert best < other - 1e-3 and not several.is_global
    assert (several.bound, alone.bound) == pytest.approx((best, other), abs=1e-10)
    points = several.details["distinct_points"]
    assert [point.kind for point in points] == ["local minimum"] * 2
    assert sum(point.starts for point in points) == 30
    assert [minimum.bound for minimum in several.local_minima] == [points[1].bound]
    assert points[1].bound == pytest.approx(other, abs=1e-10)


@pytest.mark.parametrize("constant", ["exact", "paper"])
def test_paper_variant_returns_its_starts(constant):
    table = load_risk_table("wdbc")
    problem = pm.BoundProblem(table.risks(50), m=table.m, delta=0.01, distance="kl", constant=constant)
    starts = np.vstack((problem.prior, np.random.default_rng(1).dirichlet(np.ones(50), size=19)))
    two_sided, one_sided = subproblem(problem, "paper"), subproblem(problem)
    options = Iterative(max_iterations=1000).checked(problem)
    lowest = []
    for start in starts:
        stuck, free = (from_start(problem, solve, start, options) for solve in (two_sided, one_sided))
        assert stuck.status == "not_converged" and problem.kkt_residual(stuck.posterior) > 1e-3
        np.testing.assert_array_equal(stuck.posterior, start)
        lowest.append(problem.bound(free.posterior))
        assert problem.bound(start) > lowest[-1] + 1e-3
    assert np.ptp(lowest) < 1e-12
    solution = pm.solve(problem, "ccp", variant="paper", starts=20, seed=1)
    assert (solution.status, solution.details["statuses"]) == ("not_converged", ["not_converged"] * 20)


def test_two_sided_solver_moves_by_its_own_inaccuracy_only():
    """What the conic solver returns: near the start, and outside the constraints by more than rounding."""
    problem = random_problem("kl", 20, seed=9, constant="paper")
    model, starts = TwoSidedSubproblem(problem), np.random.default_rng(2).dirichlet(np.ones(20), size=12)
    assert model.problem.is_dpp()
    steps = [(start, model.solve(start)) for start in starts]
    moved = [(start, step) for start, step in steps if step.posterior is not None]
    assert len(moved) >= 6
    for start, step in moved:
        assert np.abs(step.posterior - start).max() < 2e-3 and step.violation > 1e-12


def test_paper_variant_at_a_stationary_start_and_without_a_tangent():
    equal = pm.solve(pm.BoundProblem([0.3] * 5, m=100, distance="kl"), "ccp", variant="paper")
    assert equal.status == "optimal"
    np.testing.assert_array_equal(equal.posterior, np.full(5, 0.2))
    faultless = pm.BoundProblem(np.zeros(4), m=100, distance="kl")
    stuck = pm.solve(faultless, "ccp", variant="paper", start=[0.7, 0.1, 0.1, 0.1])
    assert stuck.status == "not_converged" and "no tangent" in stuck.message
    assert pm.solve(faultless, "ccp", variant="paper").status == "optimal"


@pytest.mark.parametrize("variant", ["one-sided", "paper"])
def test_limits_are_kept_and_told(variant):
    problem = random_problem("kl", 50, seed=10)
    late = pm.solve(problem, "ccp", variant=variant, time_limit=1e-9)
    assert (late.status, late.iterations) == ("time_limit", 0)
    assert late.bound == pytest.approx(problem.bound(problem.prior), rel=1e-15)
    many = pm.solve(problem, "ccp", variant=variant, starts=10**5, time_limit=0.5)
    reached = len(many.details["bounds"])
    assert reached < 10**5
    assert f"after {reached} of 100000 starts" in many.message
    claimed = [bound for bound, status in zip(many.details["bounds"], many.details["statuses"]) if status == "optimal"]
    assert many.bound == pytest.approx(min(claimed or many.details["bounds"]), rel=1e-12)


def test_time_limit_reaches_the_conic_solver():
    problem = random_problem("squared", 500, seed=10)
    compiled = subproblem(problem)
    assert compiled(problem.prior, 1e-7).status == "MaxTime"
    assert compiled(problem.prior, math.inf).status in ("Solved", "AlmostSolved")


def test_loose_tolerance_is_not_called_optimal():
    solution = pm.solve(random_problem("kl", 50, seed=10), "ccp", tolerance=0.5)
    assert solution.kkt_residual > 1e-6 and solution.status in ("acceptable", "not_converged")


def test_unsupported_pairs_say_why():
    with pytest.raises(pm.UnsupportedProblemError, match=r"no concave part to linearise.*cvxpy"):
        pm.solve(pm.BoundProblem([0.1, 0.2], m=100, distance="linear"), "ccp")
    with pytest.raises(pm.UnsupportedProblemError, match="it needs a divergence whose size is the norm of order two"):
        pm.solve(pm.BoundProblem([0.1, 0.2], m=100, distance="kl", divergence="kl"), "ccp")
