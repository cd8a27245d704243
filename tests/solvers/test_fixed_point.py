"""The paper's fixed-point scheme: its equations literally, its safeguards, and where it leads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pacb_models as pm
from pacb_models.solvers.options import StationaryPoint

from ..drawn import PAIRS, problems
from .path_reference import right_side, scan
from .solver_checks import TWO_GROUPS


def solve(problem: pm.BoundProblem, **options) -> pm.Solution:
    return pm.solve(problem, "fixed-point", **options)


@pytest.mark.parametrize("distance", ["linear", "squared", "kl"])
@pytest.mark.parametrize("m", [20, 100, 1000])
def test_solution_satisfies_the_papers_equation_on_its_support(distance, m):
    risks = np.linspace(0.08, 0.45, 40)
    problem = pm.BoundProblem(risks, m=m, delta=0.05, distance=distance, constant="paper")
    solution = solve(problem)
    support = solution.posterior > 0.0
    q, l = solution.posterior[support], risks[support]
    assert q == pytest.approx(right_side(q, l, problem), rel=1e-9)
    assert (np.diff(np.flatnonzero(support)) == 1).all()
    assert solution.kkt_residual < 1e-12


def bounds_of(solution):
    return [point.bound for point in solution.details["trace"]]


@pytest.mark.parametrize("distance", ["squared", "kl"])
def test_trace_is_the_papers_iteration(distance):
    """As long as no weight turns negative, iterate by iterate."""
    risks = np.linspace(0.2, 0.4, 15)
    problem = pm.BoundProblem(risks, m=20, delta=0.05, distance=distance, constant="paper")
    trace = bounds_of(solve(problem, variant="paper", trace=True))
    q = problem.prior
    for value in trace[:8]:
        assert value == pytest.approx(problem.bound(q), rel=1e-13)
        q = right_side(q, risks, problem)
        assert q.min() > 0.0


@pytest.mark.parametrize("distance", ["linear", "squared", "pinsker", "kl", "ch"])
def test_companion_equations(distance):
    """q ∝ p exp(-b l), normalised: b = m, 2√(mR), 2√(2mR), m (logit r - logit L), (2m-1) 2√y / (dy/dR)."""
    risks, prior, m, delta = np.linspace(0.1, 0.5, 10), np.arange(1, 11) / 55, 60, 0.05
    problem = pm.BoundProblem(risks, m=m, delta=delta, distance=distance, divergence="kl", prior=prior)
    solution = solve(problem)
    q = solution.posterior
    information = np.sum(q * np.log(q / prior)) + np.log(problem.constant_value / delta)
    L, r = q @ risks, solution.bound
    roots = np.roots([1, 15 / 8, 135 / 16, -135 / 16 * information / (2 * m - 1)])
    y = roots[np.abs(roots.imag) < 1e-12].real.item()
    b = {
        "linear": m,
        "squared": 2 * np.sqrt(m * information),
        "pinsker": 2 * np.sqrt(2 * m * information),
        "kl": m * (np.log(r / (1 - r)) - np.log(L / (1 - L))),
        "ch": (2 * m - 1) * 2 * np.sqrt(y) * (3 * y**2 + 15 / 4 * y + 135 / 16) / (135 / 16),
    }[distance]
    weights = prior * np.exp(-b * risks)
    assert q == pytest.approx(weights / weights.sum(), rel=1e-9)
    # Where b is a number the first step arrives.
    assert (solution.iterations == 1) == (distance == "linear")


@pytest.mark.parametrize("distance", ["linear", "squared", "kl"])
@pytest.mark.parametrize("uniform", [True, False])
def test_bound_is_right_to_twelve_digits(distance, uniform):
    """It is one of the minima of a scan in fifty digits."""
    random = np.random.default_rng(12)
    for _ in range(4):
        risks, prior = 0.2 + 0.2 * random.random(20), None if uniform else random.dirichlet(np.full(20, 2.0))
        problem = pm.BoundProblem(risks, m=int(random.integers(5, 200)), distance=distance, prior=prior)
        solution = solve(problem)
        assert solution.support_size > 1
        assert min(abs(solution.bound - float(value)) for value, _ in scan(problem, count=2000)) <= 1e-12


@pytest.mark.long
@settings(max_examples=300)
@given(problems(PAIRS, 25), st.data(), st.booleans())
def test_it_descends_to_a_stationary_point(problem, data, safeguard):
    """Majorise, then minimise: for every distance and divergence, from any start, with risks at zero and one, ties, and
    nearly equal risks, with secant steps or without."""
    vertex = data.draw(st.none() | st.integers(0, problem.size - 1))
    start = None if vertex is None else np.eye(problem.size)[vertex]
    solution = solve(problem, start=start, trace=True, safeguard=safeguard)
    trace = np.array(bounds_of(solution))
    assert (np.diff(trace) <= 4e-15 * trace[:-1]).all()
    if safeguard:
        assert solution.status == "optimal" and solution.kkt_residual <= 1e-10, solution.message
    assert solution.posterior.sum() == pytest.approx(1.0, abs=1e-12) and solution.posterior.min() >= 0.0


@settings(max_examples=100)
@given(problems(PAIRS, 25))
def test_smaller_risks_have_more_weight(problem):
    """Posterior over prior falls as the risk rises."""
    q = solve(problem).posterior
    order = np.argsort(problem.risks)
    density = (q / problem.prior)[order]
    assert (np.diff(density) <= 1e-9 * density[:-1]).all()


@pytest.mark.parametrize("divergence, distance", PAIRS)
def test_a_start_without_risk_and_another_order(divergence, distance):
    """The logarithm of the kl equation is infinite there."""
    risks, prior, shuffled = np.array([0.4, 0.1, 0.3, 0.2]), np.array([0.1, 0.2, 0.3, 0.4]), np.array([2, 0, 3, 1])
    problem = pm.BoundProblem([0.0, 0.01, 0.02, 0.4], 50, distance=distance, divergence=divergence, order=1.5)
    solution = solve(problem, start=[1.0, 0.0, 0.0, 0.0])
    assert solution.status == "optimal" and solution.kkt_residual < 1e-10
    one, other = (solve(problem.replace(risks=risks[each], prior=prior[each])) for each in (np.arange(4), shuffled))
    assert other.posterior == pytest.approx(one.posterior[shuffled], abs=1e-12)


def test_vacuous_bound():
    """The bound at the start rounds to one; the logit gap is finite all the same and leads away from there."""
    problem = pm.BoundProblem([0.0, 0.99], m=1, delta=0.1, distance="kl", prior=[0.01, 0.99])
    assert problem.bound(problem.prior) == 1.0 > solve(problem).bound


def test_large_set():
    solution = solve(pm.BoundProblem(np.random.default_rng(0).random(200_000), m=2000, distance="squared"))
    assert solution.status == "optimal" and solution.kkt_residual < 1e-12


def test_slow_contraction_is_accelerated():
    """Errors of 0.049 on m = 20: the companion's map contracts by m l = 0.98 only."""
    problem = pm.BoundProblem([0.049, 0.0], m=20, delta=0.01, distance="kl", divergence="kl")
    plain, guarded = (solve(problem, safeguard=safeguard, max_iterations=300) for safeguard in (False, True))
    assert (plain.status, guarded.status) == ("iteration_limit", "optimal") and guarded.iterations < 30
    assert guarded.details["safeguarded_steps"] > 0 == plain.details["safeguarded_steps"]


@pytest.mark.parametrize("distance", ["squared", "kl"])
def test_hundred_starts_find_two_points(distance):
    """Uniqueness is the paper's observation; here a uniform prior has two minima, and a hundred starts see both."""
    problem = pm.BoundProblem(TWO_GROUPS, m=50, delta=0.05, distance=distance)
    solution = solve(problem, starts=100, seed=1)
    points = solution.details["distinct_points"]
    assert [(point.support_size, point.kind) for point in points] == [(50, "local minimum"), (2, "local minimum")]
    assert sum(point.starts for point in points) == 100
    assert solution.bound == pytest.approx(points[0].bound, abs=1e-14)
    assert solution.details["statuses"] == 100 * ["optimal"]
    # The other one is listed where every solver lists them, and both are what the exact solver finds.
    exact = pm.solve(problem, "frontier")
    assert solution.bound == pytest.approx(exact.bound, abs=1e-12)
    assert [m.bound for m in solution.local_minima] == pytest.approx([m.bound for m in exact.local_minima], abs=1e-12)


@pytest.mark.parametrize("distance", ["linear", "squared", "kl"])
def test_hundred_starts_find_one_point(distance):
    problem = pm.BoundProblem(np.linspace(0.1, 0.3, 50), m=500, distance=distance)
    (point,) = solve(problem, starts=100).details["distinct_points"]
    assert isinstance(point, StationaryPoint) and point.starts == 100


def test_given_start_is_one_of_several():
    problem = pm.BoundProblem(TWO_GROUPS, m=50, distance="squared")
    start = np.where(TWO_GROUPS < 0.2, 0.5, 0.0)
    alone = solve(problem, start=start)
    assert alone.support_size == 2
    assert solve(problem, start=start, starts=2, seed=0).bound <= alone.bound


def test_only_the_convex_case_is_certified():
    problem = pm.BoundProblem([0.1, 0.2], m=50, distance="linear")
    assert solve(problem).is_global
    assert not solve(problem.replace(distance="squared")).is_global
    assert not solve(problem, variant="paper", max_iterations=1).is_global
