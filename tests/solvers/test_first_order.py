"""Methods that ask of a bound only its value and its slopes."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

import pacb_models as pm
from pacb_models import optimality
from pacb_models.benchmarks.problems.families import instance
from pacb_models.benchmarks.problems.risks import load_risk_table
from pacb_models.solvers.coordinates import Logits, Powers
from pacb_models.solvers.first_order.mirror import PowerMap, level
from pacb_models.solvers.options import Iterative, best_start
from pacb_models.solvers.oracle import Oracle
from pacb_models.solving.registry import get_solver

from ..drawn import PAIRS, arrays, powers_of_ten, weights
from ..own_bounds import TangentChiSquared
from .solver_checks import FIRST_ORDER, GRADIENT, distance_to_a_minimum, make

RNG = np.random.default_rng(6)
RISKS = RNG.binomial(200, 0.2, 12) / 200
PRIOR = RNG.dirichlet(np.full(12, 5.0))


@pytest.mark.long
@pytest.mark.parametrize("divergence, distance", PAIRS)
@pytest.mark.parametrize("coordinates", ["ratios", "roots", "powers", "logits"])
@settings(max_examples=5)
@given(factors=arrays(st.floats(0.5, 1.5), 12), shifts=arrays(st.floats(-0.5, 0.5), 12))
def test_gradient_against_finite_differences(divergence, distance, coordinates, factors, shifts):
    problem = make(RISKS, distance, divergence, prior=PRIOR)
    oracle = Oracle(problem, Iterative().checked(problem))
    variables = {
        "ratios": Powers(oracle, 1.0),
        "roots": Powers(oracle, np.sqrt(12 * PRIOR)),
        "powers": Powers(oracle, np.sqrt(PRIOR), 1.5),
        "logits": Logits(oracle, np.sqrt(PRIOR)),
    }[coordinates]
    x = variables.point(PRIOR) * factors + (shifts if coordinates == "logits" else 0)
    near, far = ([variables.value(x + h) - variables.value(x - h) for h in step * np.eye(12)] for step in (1e-4, 2e-4))
    quotients = (8 * np.array(near) - np.array(far)) / 12e-4
    assert variables.gradient(x) == pytest.approx(quotients, rel=1e-6, abs=1e-9)


@given(st.data(), st.integers(1, 30), powers_of_ten(-3.0, 3.0), st.sampled_from([1.05, 1.5, 2.0, 3.0, 8.0]))
def test_level_of_the_power_mirror(data, size, spread, order):
    """The weights that belong to the level sum to one, computed in fifty digits."""
    prior, u = data.draw(weights(size, decades=9.0)), spread * data.draw(arrays(st.floats(-3.0, 3.0), size))
    exponent = 1.0 / (order - 1.0)
    theta = level(u, prior, exponent)
    with mp.workdps(50):

        def total(t):
            return sum(mpf(p) * max(mpf(v) - t, 0) ** mpf(exponent) for p, v in zip(prior, u))

        # Where powers are high the sum depends strongly on the level: the level has to be right to rounding.
        slack = mpf(1e-12) * (float(np.abs(u).max()) + abs(theta) + 1.0)
        assert total(mpf(theta) - slack) >= 1 >= total(mpf(theta) + slack)


@pytest.mark.parametrize(
    ("shares", "u", "order", "accuracy"),
    [
        # infinitely steep at the second coordinate
        ([1.0, 1.0], [1.0, 6e-156], 3.0, 1e-12),
        # the largest coordinate alone would be at the level -10^63
        ([1e-8, 1.0, 1.0, 1.0, 1.0], [20.0, 15.0, 0.0, 0.0, 0.0], 8.0, 1e-12),
        # coordinates are 99th powers; one is less than the rounding of the largest, which alone counts
        ([1.0, 1.0, 1.0], [0.0, 0.0, 3e60], 100.0, 1e-4),
    ],
)
def test_levels_that_were_missed(shares, u, order, accuracy):
    prior, u = np.array(shares) / sum(shares), np.array(u)
    exponent = 1.0 / (order - 1.0)
    theta = level(u, prior, exponent)
    assert float(prior @ np.maximum(u - theta, 0.0) ** exponent) == pytest.approx(1.0, rel=accuracy)


@pytest.mark.parametrize(
    "prior, order, u, q",
    [
        ([0.2, 0.3, 0.5], 2.0, [3e20, 1e20, 3e20], [2 / 7, 0, 5 / 7]),
        ([1.5e-5, 0.666685, 0.3333], 12.0, [-1.3e23, 1.7e20, -4.5e21], [0, 1, 0]),
    ],
)
def test_projection_of_ratios_whose_rounding_is_more_than_one(prior, order, u, q):
    assert PowerMap(np.array(prior), order).posterior(np.array(u))[0] == pytest.approx(q)


@pytest.mark.parametrize("name", ["no-errors-07-H50-chi2-kl", "extreme-prior-12-H200-kl-kl"])
def test_logits_leave_a_single_classifier(name):
    problem = instance(name).build()
    start = np.eye(problem.size)[3]
    solution = pm.solve(problem, "softmax", start=start)
    assert solution.status == "optimal" and solution.bound < problem.bound(start)


def test_who_finds_no_better_point_far_from_a_minimum_does_not_call_it_optimal():
    problem = instance("orders-06-H50-renyi100-kl").build()
    ends = []
    for vertex in np.eye(50)[::10]:
        start = 1e-6 * problem.prior + (1.0 - 1e-6) * vertex
        outcome = get_solver("mirror").run(problem, start=start, max_iterations=300)
        assert outcome.status != "optimal" or problem.kkt_residual(outcome.posterior) <= 1e-6
        ends.append(outcome.status)
    assert "not_converged" in ends


@pytest.mark.long
@pytest.mark.parametrize("divergence, distance", PAIRS)
def test_they_agree_with_frontier(divergence, distance):
    """Gaps below 1e-9 with many classifiers and an uneven prior."""
    rng = np.random.default_rng(PAIRS.index((divergence, distance)))
    risks, prior = rng.binomial(300, 0.2, 150) / 300, rng.dirichlet(np.full(150, 2.0))
    problem = make(risks, distance, divergence, m=300, prior=prior)
    minimum = pm.solve(problem, "frontier").bound
    names = {name for name in FIRST_ORDER if get_solver(name).unsupported(problem) is None}
    assert {"mirror", "softmax"} <= names
    for name in names:
        solution = pm.solve(problem, name)
        assert solution.status == "optimal" and -1e-12 <= solution.bound - minimum <= 1e-9, name


@pytest.mark.parametrize("order", [1.02, 1.1, 6.0, 40.0])
def test_mirror_at_extreme_orders(order):
    solution = pm.solve(pm.BoundProblem(RISKS, 200, 0.05, "kl", "renyi", PRIOR, order=order), "mirror")
    assert solution.status == "optimal" and distance_to_a_minimum(solution) <= 1e-9


@pytest.mark.parametrize("name", ["mirror", "spg", "lbfgsb"])
def test_few_iterations_whatever_the_number_of_classifiers(name):
    risks = np.random.default_rng(1).binomial(1000, 0.1, 20_000) / 1000
    solution = pm.solve(make(risks, "kl", "chi2", m=1000), name)
    assert distance_to_a_minimum(solution) <= 1e-12 and solution.details["gradient_evaluations"] <= 100


@pytest.mark.parametrize("name", GRADIENT)
def test_evaluations_are_counted(name, monkeypatch):
    """Every gradient that is computed is counted, and no other."""
    computed, gradient = 0, optimality.gradient

    def counting(problem, q, *known):
        nonlocal computed
        computed += not known
        return gradient(problem, q, *known)

    problem = make(RISKS, "kl", "chi2", prior=PRIOR)
    monkeypatch.setattr(optimality, "gradient", counting)
    details = pm.solve(problem, name).details
    assert details["gradient_evaluations"] == computed > 1 and details["function_evaluations"] >= 2


@pytest.mark.parametrize("name", [*GRADIENT, "fixed-point"])
def test_trace(name):
    """From the start to the solution, a point per iteration, the seconds in order."""
    problem = make(RISKS, "kl", "chi2", prior=PRIOR)
    assert "trace" not in pm.solve(problem, name).details
    solution = pm.solve(problem, name, start=problem.prior, trace=True)
    trace = solution.details["trace"]
    assert trace[0].bound == pytest.approx(problem.bound(problem.prior), abs=1e-14)
    assert trace[-1].bound == pytest.approx(solution.bound, abs=1e-9)
    assert len(trace) - 1 - solution.iterations in (0, -1)
    seconds = [point.seconds for point in trace]
    assert seconds == sorted(seconds) and 0.0 <= seconds[0] and seconds[-1] <= solution.seconds


def test_adam_ends_short_of_the_minimum_and_says_so():
    risks = np.random.default_rng(0).binomial(549, 0.08, 500) / 549
    solution = pm.solve(make(risks, "kl", "chi2", m=549), "softmax", method="adam")
    assert (solution.status, solution.iterations) == ("iteration_limit", 2000)
    assert 0.0 < distance_to_a_minimum(solution) < 1e-3 and solution.details["gradient_evaluations"] == 2001


@pytest.mark.parametrize("name", [*GRADIENT, "cyipopt"])
def test_a_third_party_s_divergence(name):
    r"""Linear distance: minimising :math:`q\cdot l + \tfrac c2 X` leads to :math:`q_i = p_i (\mu - l_i)_+/c`."""
    problem = pm.BoundProblem(RISKS, 2000, 0.05, "linear", TangentChiSquared(), PRIOR)
    c = math.sqrt(1 / (4 * 2000) / 0.05)
    low, high = RISKS.min(), RISKS.max() + c
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if PRIOR @ np.maximum(middle - RISKS, 0.0) < c else (low, middle)
    q = PRIOR * np.maximum(middle - RISKS, 0.0) / c
    known = q @ RISKS + 0.5 * c * (np.sum(q**2 / PRIOR) + 1.0)
    assert pm.solve(problem, name).bound == pytest.approx(known, abs=1e-9)


@pytest.mark.parametrize("name", ["spg", "lbfgsb", "frank-wolfe"])
def test_steep_slopes_are_refused_where_they_are_not_understood(name):
    with pytest.raises(pm.UnsupportedProblemError, match="finite at weight zero"):
        pm.solve(make(RISKS, "kl", "kl"), name)


@pytest.mark.long
@pytest.mark.parametrize(("distance", "order"), [("squared", 2.0), ("kl", 2.0), ("kl", 8 / 7), ("kl", 3.0)])
@pytest.mark.parametrize("table", ["mammographic", "haberman", "mushroom"])
@pytest.mark.parametrize("name", ["mirror", "lbfgsb"])
def test_few_steps_on_direct_bounds(name, table, distance, order):
    """In the coordinates of the problem's own order they take thousands, and L-BFGS-B ends 1e-5 above the minimum."""
    risks = load_risk_table(table)
    problem = pm.DirectProblem(risks.risks(1990), risks.m, 0.05, distance, "renyi", order=order)
    solution = pm.solve(problem, name)
    assert solution.status == "optimal" and solution.iterations <= 150
    assert solution.bound == pytest.approx(problem.common_risk.high, abs=1e-10)


@pytest.mark.long
@pytest.mark.parametrize("make_problem", [pm.BoundProblem, pm.DirectProblem])
def test_softmax_comes_back_from_weights_that_should_not_be_zero(make_problem):
    """Wdbc: L-BFGS alone ends 3e-6 and 1.5e-7 above the minimum, where slopes times weights are next to nothing."""
    table, distance = load_risk_table("wdbc"), "squared" if make_problem is pm.BoundProblem else "kl"
    problem = make_problem(table.risks(1990), table.m, distance=distance, constant="one-sided").merged().problem
    found = pm.solve(problem, "softmax", start=best_start(problem))
    assert found.status == "optimal" and found.bound - pm.solve(problem).bound <= 1e-11


@pytest.mark.parametrize(
    "name, method",
    [("06-H50-renyi100-kl", "mirror"), *(("10-H50-renyi40-squared", name) for name in ("mirror", "lbfgsb"))],
)
def test_large_orders(name, method):
    """In its own coordinates, powers of that order, mirror stalls; at H = 500 and order 100 they overflow. L-BFGS-B
    begins anew where its line search gives up."""
    problem = instance(f"orders-{name}").build()
    solution = pm.solve(problem, method, start=problem.prior, max_iterations=2000)
    assert solution.status == "optimal" and distance_to_a_minimum(solution) < 1e-9
