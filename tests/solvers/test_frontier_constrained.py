"""The certified minimum under constraints, against convex solvers, brute force over supports and random posteriors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pacb_models as pm
from pacb_models.benchmarks.problems.families import instance
from pacb_models.constraints.tilting import PASSES
from pacb_models.proofs import Leaf, Proof
from pacb_models.solvers.exact.constrained import search_set

from .constrained import best_of_supports, limited, sets

PAIRS = [("kl", "chi2", 2.0), ("squared", "chi2", 2.0), ("linear", "chi2", 2.0), ("kl", "kl", 2.0)]
PAIRS += [("squared", "kl", 2.0), ("linear", "kl", 2.0), ("kl", "renyi", 1.5), ("squared", "renyi", 3.0)]


@pytest.mark.filterwarnings("error")
def test_lines_below_the_size_of_the_prior_are_not_inverted():
    """A lowered line left a negative budget, and a warning of NumPy's, in a distance that takes a root of it."""
    risks = [0.14358513788834246, 0.1939427618990869, 0.43918234488527064, 0.12940323086389716, 0.11289395691622892]
    costs = [12.49724440942579, 11.338952179808464, 28.789250975419257, 21.74058403476589, 5.126274795708202]
    limits = [pm.average(costs, at_most=18.704811976155092, name="cost"), pm.weights(at_most=0.399053)]
    problem = pm.BoundProblem(risks, m=4679, distance="ch", divergence="kl", constraints=limits)
    solution, other = pm.solve(problem), pm.solve(problem, "slsqp")
    assert solution.is_global and solution.bound == pytest.approx(other.bound, rel=1e-9)


@pytest.mark.long
@pytest.mark.parametrize(("distance", "divergence", "order"), PAIRS)
@settings(max_examples=15)
@given(given_set=sets(), corner=st.integers(0, 2**32 - 1))
def test_no_posterior_that_keeps_the_constraints_is_below(distance, divergence, order, given_set, corner):
    problem = limited(given_set, distance, divergence, order)
    solution = pm.solve(problem, "frontier")
    assert solution.status == "optimal"
    assert solution.details["constraint_violation"] <= 1e-12
    assert solution.is_global
    assert solution.lower_bound >= solution.bound * (1.0 - 1e-8)
    random = np.random.default_rng(corner)
    corners = [problem.posteriors.minimise(random.standard_normal(problem.size))[0] for _ in range(5)]
    for weights in random.dirichlet(np.ones(6), size=20):
        q = np.maximum(weights @ np.array([*corners, given_set[3]]), 0.0)
        assert problem.bound(q / q.sum()) >= solution.lower_bound


@pytest.mark.parametrize(("distance", "divergence", "order"), PAIRS)
def test_a_proof_proves_what_the_solution_says_and_a_wrong_one_less(distance, divergence, order):
    random = np.random.default_rng(3)
    given_set = (random.random(30), np.full(30, 1 / 30), list(random.random((2, 30))), np.full(30, 1 / 30), 0.01)
    problem = limited(given_set, distance, divergence, order)
    solution = pm.solve(problem, "frontier")
    leaf = solution.proof.tree
    assert pm.check_proof(problem, solution.proof) >= solution.lower_bound
    for column, change in ((0, 1.2), (1, 1.1), (3, 1.5)):
        wrong = leaf.lines.copy()
        wrong[:, column] = wrong[:, column] * change + 0.01
        less = pm.check_proof(problem, Proof(Leaf(wrong, leaf.floor), solution.bound))
        assert less < solution.lower_bound - 1e-9


@pytest.mark.long
@pytest.mark.parametrize(("distance", "divergence"), [("kl", "chi2"), ("squared", "kl"), ("linear", "chi2")])
@pytest.mark.parametrize("kind", ["count", "sizes", "count and row"])
@settings(max_examples=6)
@given(given_set=sets(6), limit=st.integers(1, 4))
def test_few_classifiers_against_every_support(distance, divergence, kind, given_set, limit):
    risks, prior, (values, _), _, slack = given_set
    ordered = np.sort(values)
    few = [pm.support(at_most=limit)]
    if kind == "sizes":
        few = [pm.support(sizes=values, total=float(ordered[:limit].sum()) * 1.1)]
    elif kind == "count and row":
        few.append(pm.average(values, at_most=float(ordered[: values.size // 2 + 1].mean()) + slack))
    problem = pm.BoundProblem(risks, 60, 0.05, distance, divergence, prior, constraints=few)
    solution, best = pm.solve(problem, "frontier"), best_of_supports(problem)
    assert solution.is_global
    assert solution.bound == pytest.approx(best, rel=1e-7 if kind == "count and row" else 1e-8)
    assert solution.lower_bound <= best * (1.0 + 1e-11)


def test_minima_that_rounding_shows_between_risks_next_to_zero_do_not_use_up_the_branches():
    risks, sizes = [0.27373980213444690, 2.220446049250313e-16, 1.2e-38, 0, 0, 0], [0, 0, 0, 0.763, 0.702, 0.639]
    prior = [0.19611055328, 0.20990050466, 0.11220240059, 0.07671663783, 0.12604452556, 0.27902537808]
    problem = pm.BoundProblem(risks, 60, prior=prior, constraints=[pm.support(sizes=sizes, total=0.7033)])
    solution = pm.solve(problem, "frontier")
    assert solution.is_global and solution.iterations < 10_000


@pytest.mark.long
@pytest.mark.parametrize(("distance", "divergence", "order"), PAIRS)
def test_multipliers_and_sensitivities_are_difference_quotients(distance, divergence, order):
    random = np.random.default_rng(8)
    given_set = (random.random(12), np.full(12, 1 / 12), list(random.random((2, 12))), np.full(12, 1 / 12), 0.02)
    problem = limited(given_set, distance, divergence, order)
    solution = pm.solve(problem, "frontier")
    rates = solution.sensitivities
    assert max(solution.multipliers.values()) > 1e-3

    def smallest(**changes):
        return pm.solve(problem.replace(**changes), "frontier").bound

    assert rates["m"] == pytest.approx(smallest(m=101) - solution.bound, rel=1e-2)
    assert rates["delta"] == pytest.approx((smallest(delta=0.0501) - smallest(delta=0.0499)) / 0.0002, rel=1e-3)
    step = 1e-4
    for i in (0, 5):
        risks = [problem.risks + sign * step * np.eye(12)[i] for sign in (-1.0, 1.0)]
        expected = (smallest(risks=risks[1]) - smallest(risks=risks[0])) / (2.0 * step)
        assert rates["risks"][i] == pytest.approx(expected, rel=1e-2, abs=1e-5)
    for k, row in enumerate(problem.posteriors.rows):
        bounds = []
        for sign in (-1.0, 1.0):
            moved = list(problem.constraints)
            moved[k] = pm.average(row.values, at_most=row.limit + sign * step, name=row.name)
            bounds.append(smallest(constraints=moved))
        expected = (bounds[1] - bounds[0]) / (2.0 * step)
        assert rates["rows"][row.name] == pytest.approx(expected, rel=2e-2, abs=1e-5)
        assert solution.multipliers[row.name] == -rates["rows"][row.name]


def test_a_second_minimum_under_a_cap_is_not_taken_for_the_first():
    """One good classifier among many poor ones: without the search everywhere a method stays near the prior."""
    problem = pm.BoundProblem([0.0] + [0.5] * 60, m=30, distance="squared", constraints=pm.weights(at_most=0.9))
    solution = pm.solve(problem, "frontier")
    assert solution.is_global
    everywhere = [problem.bound(np.r_[w, np.full(60, (1.0 - w) / 60)]) for w in np.linspace(0.0, 0.9, 2001)]
    assert solution.bound == pytest.approx(min(everywhere), abs=1e-6)
    assert solution.bound <= min(everywhere)
    assert len(solution.local_minima) == 1


def test_posteriors_of_one_point():
    """Caps that sum to one leave no choice."""
    caps = [0.5, 0.25, 0.25]
    solution = pm.solve(pm.BoundProblem([0.1, 0.2, 0.3], m=100, constraints=pm.weights(at_most=caps)), "frontier")
    assert solution.posterior == pytest.approx(caps, abs=1e-12) and solution.is_global


@pytest.mark.parametrize(
    ("risks", "settings", "support", "caps", "posterior"),
    [
        ([0.338, 0.053, 0.357], (10000, "squared"), ([0.8, 1.3, 1.0], 2.3), [0.47, 0.39, 0.8], [0.0, 0.39, 0.61]),
        ([0.399, 0.367, 0.042], (100, "kl"), ([4.5, 1.9, 4.9], 6.8), [0.91, 0.4, 0.63], [0.0, 0.37, 0.63]),
        (
            [0.451, 0.463, 0.428, 0.096],
            (100000, "pinsker", "kl"),
            ([1.0] * 4, 2.0),
            [0.58, 0.52, 0.4, 0.48],
            [0.52, 0.0, 0.0, 0.48],
        ),
        ([0.1, 0.3, 0.35, 0.4], (100, "kl", "kl"), ([1.0] * 4, 2.0), 0.7, [0.7, 0.3, 0.0, 0.0]),
    ],
)
def test_a_branch_over_supports_is_never_dropped(risks, settings, support, caps, posterior):
    """Sizes are compared as the decimals that were typed, and a branch without a lower bound stays open."""
    (m, *names), (sizes, total) = settings, support
    constraints = [pm.support(sizes=sizes, total=total), pm.weights(at_most=caps)]
    problem = pm.BoundProblem(risks, m, 0.05, *names, constraints=constraints)
    solution, known = pm.solve(problem, "frontier"), problem.bound(posterior)
    assert solution.is_global
    assert solution.bound <= known * (1.0 + 1e-9)
    assert solution.lower_bound <= known


@pytest.mark.parametrize("order", [2.0, 10.0, 50.0])
def test_a_row_that_every_posterior_keeps_changes_nothing(order):
    free = pm.BoundProblem([0.675, 0.973], 8084, 0.05, "squared", "renyi", prior=[0.2, 0.8], order=order)
    kept = pm.solve(free.replace(constraints=[pm.average([1.0, 1.0], at_most=1.0)]))
    assert kept.is_global and kept.bound == pytest.approx(pm.solve(free).bound, rel=1e-10)


@pytest.mark.parametrize(
    ("risks", "settings", "constraints"),
    [
        ([0.344, 0.348, 0.243, 0.127, 0.328], (30000, "pinsker", "kl"), [pm.weights(at_most=0.76)]),
        ([0.1, 0.3, 0.35, 0.4], (10000, "kl", "kl"), [pm.weights(at_most=0.7)]),
        ([0.253, 0.259, 0.043], (500, "squared", "renyi"), [pm.average([3.24, 2.31, 8.38], at_most=2.32)]),
        # The exchange rate is steeper than where an order's lines end; with nothing found yet, every bound is too high.
        ([0.075, 0.103, 0.075, 0.103, 0.154], (2841, "linear", "kl"), [pm.support(at_most=3)]),
        (
            [0.09, 0.075],
            (1, "relative", "kl"),
            [pm.average([3.07, 7.93], at_most=6.23), pm.support(sizes=[3.4, 0.6], total=3.4)],
        ),
        # Between almost equal risks slopes overflow, and with them the multipliers of a row in a small unit.
        (
            [9e-301, 0.0, 7e-301],
            (10**9, "squared", "renyi"),
            [pm.average([2e-13, 9e-13, 5e-13], at_most=5e-13), pm.support(at_most=2)],
        ),
    ],
)
def test_problems_without_an_answer_once_have_a_proven_one(risks, settings, constraints):
    """Steps divided by a slope near zero, and a residual of weights that are zero, left them open."""
    m, distance, divergence = settings
    prior = [0.22, 0.14, 0.05, 0.4, 0.19] if m == 2841 else None
    problem = pm.BoundProblem(risks, m, 0.05, distance, divergence, prior, order=10.0, constraints=constraints)
    solution = pm.solve(problem, "frontier")
    assert solution.is_global and solution.kkt_residual < 1e-9
    assert m != 30000 or solution.bound == pytest.approx(0.165586971, rel=1e-8)


def of_large_order():
    """Minimisers of order 50 between caps and two rows take hundreds of passes each."""
    rng = np.random.default_rng(3)
    risks, *rows = 0.5 * rng.random(100), rng.random(100), rng.random(100)
    limits = [pm.average(row, at_most=limit) for row, limit in zip(rows, (0.4, 0.45), strict=True)]
    limits.append(pm.weights(at_most=0.2))
    return pm.BoundProblem(risks, m=1000, divergence="renyi", order=50.0, constraints=limits)


@pytest.mark.parametrize(
    "risks, prior, caps, rows, order, bound",
    [
        (
            [0.5, 0.5, 0.5, 0.4],
            [2e-9, 0.02, 0.002, 0.5],
            [0.27, 0.45, 0.39, 0.43],
            [([0.7, 0.4, 0.2, 0.8], 0.46), ([0.9, 0.2, 0.6, 0.4], 0.44)],
            50.0,
            0.7562041338,
        ),
        (
            [0.1, 0.7, 0.4, 0.3],
            [1e-4, 4e-9, 0.008, 3e-4],
            [0.51, 0.26, 0.52, 0.45],
            [([0.7, 0.8, 0.9, 0.9], 0.82), ([0.3, 0.6, 0.5, 0.7], 0.52)],
            100.0,
            0.3824723527,
        ),
    ],
)
def test_parts_of_a_path_that_are_too_far_are_halved(risks, prior, caps, rows, order, bound):
    """One part took all passes, and the bound that was left was up to 50 000 times too large."""
    limits = [pm.weights(at_most=caps), *(pm.average(values, at_most=limit) for values, limit in rows)]
    settings = (30000, 0.5, "linear", "renyi", np.array(prior) / sum(prior))
    solution = pm.solve(pm.BoundProblem(risks, *settings, order=order, constraints=limits))
    assert solution.is_global and solution.bound == pytest.approx(bound, rel=1e-8)


def test_a_search_ends_when_its_passes_are_spent_and_says_what_is_left():
    problem = of_large_order()
    found = {passes: search_set(problem, passes=passes) for passes in (1000, 8000)}
    for passes, (run, leaf) in found.items():
        # The last minimiser is finished, by a direct way and a path.
        assert run.frontier.tilting.passes <= passes + 2 * PASSES + 100
        weights = run.frontier.posterior(run.minima[0].z)
        assert problem.posteriors.violation(weights) <= 1e-9
        assert 0.0 < pm.check_proof(problem, Proof(leaf, run.claim)) <= problem.bound(weights)
    (few, _), (many, _) = found.values()
    assert few.frontier.tilting.passes < many.frontier.tilting.passes
    assert few.minima[0].bound >= many.minima[0].bound


def test_a_search_that_ends_with_open_intervals_hands_over_the_lines_of_the_last_polygon():
    """Lines drawn after it moved the places of those that were handed over, and branches stayed open."""
    assert pm.solve(instance("sparse-09-H60-renyi3-kl").build()).is_global
