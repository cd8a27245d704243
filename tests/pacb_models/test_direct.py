"""Direct bounds against forty digits, the theorems about them, and their edges."""

import math
import pickle

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import exp, mpf

import pacb_models as pm
from pacb_models.benchmarks.problems.risks import load_risk_table

from ..drawn import arrays, priors, some_weights, weights, with_orders
from .direct_reference import DirectReference

PAIRS = with_orders(1.2, 3.0)


def pair(divergence, distance, order, risks, m, prior=None, delta=0.05, constant="exact"):
    """The relaxed and the direct problem."""
    arguments = (risks, m, delta, distance, divergence, prior, constant, order)
    return pm.BoundProblem(*arguments), pm.DirectProblem(*arguments)


@st.composite
def instances(draw, largest=12, deltas=(0.9, 0.05, 1e-4)):
    """A pair of problems and two posteriors, the second with zeros."""
    size = draw(st.integers(1, largest))
    m = draw(st.sampled_from([1, 5, 40, 1000, 10**6]))
    examples = min(m, 1000)
    risks = draw(arrays(st.integers(0, examples), size)) / examples
    problems = pair(*draw(st.sampled_from(PAIRS)), risks, m, draw(priors(size)), draw(st.sampled_from(deltas)))
    return *problems, draw(weights(size, decades=4.0)), draw(some_weights(size))


@pytest.mark.parametrize(
    ("divergence", "distance", "order", "risks", "delta"),
    [
        *((*case, [0.1, 0.25, 0.4], 0.05) for case in PAIRS),
        *((*case, [0.02, 0.9, 0.3], 0.05) for case in PAIRS),
        *((*case, [0.02, 0.9, 0.3], d) for case in PAIRS if case[1] != "kl" for d in (1e-50, 1e-200, 1e-300)),
    ],
)
def test_bound_against_forty_digits(divergence, distance, order, risks, delta):
    """At the smallest δ bounds are up to 1e200: nobody needs them, but they are not below the true ones either."""
    q = np.array([0.5, 0.2, 0.3])
    _, problem = pair(divergence, distance, order, risks, 30, [0.2, 0.3, 0.5], delta)
    worst = problem.worst_risks(q)
    true = DirectReference(problem).bound(q, worst)
    assert 0 <= problem.bound(q) - true <= (1e-12 * max(1.0, true) if delta == 0.05 else 2e-12 * true)
    assert float(true) == pytest.approx(q @ worst, rel=1e-12)


@pytest.mark.parametrize(("divergence", "distance", "order"), PAIRS)
def test_all_weight_where_there_is_little_prior(divergence, distance, order):
    """The posterior's classifier is above the common risk of all, and its prior weight is far from one."""
    risks, prior, q = np.array([0.325, 0.703]), np.array([1 - 3.2e-7, 3.2e-7]), np.array([0.0, 1.0])
    _, problem = pair(divergence, distance, order, risks, 224437, prior, 0.0028)
    worst = problem.worst_risks(q)
    true = DirectReference(problem, exp(mpf(problem.log_radius))).bound(q, worst)
    assert true <= problem.bound(q) <= true * (1 + mpf(10) ** -12)


@pytest.mark.parametrize("distance", ["linear", "squared"])
@pytest.mark.parametrize("order", [1.001, 3.0, 1e4])
@pytest.mark.parametrize("prior", [[1e-200, 1.0], [1.0, 1e-200]])
def test_bounds_up_to_the_largest_numbers(distance, order, prior):
    """The whole budget in one classifier's true risk is a lower bound; where it overflows, so does the bound."""
    problem = pm.DirectProblem([0.1, 0.2], 5, 1e-300, distance, "renyi", prior, order=order)
    for q in ([0.5, 0.5], [0.0, 1.0], [1.0, 0.0]):
        with mpmath.workdps(30):
            budgets = [(exp(mpf(problem.log_radius)) / mpf(p)) ** (1 - 1 / mpf(order)) for p in prior]
            excess = [b if distance == "linear" else mpmath.sqrt(b) for b in budgets]
            lowest = float(max(w * x for w, x in zip(q, excess)))
        assert problem.bound(q) >= lowest * (1 - 1e-12)
        assert math.isfinite(problem.bound(q)) or lowest > 1e150


@pytest.mark.parametrize(("divergence", "distance", "order"), PAIRS)
def test_minimum_is_the_root_in_forty_digits(divergence, distance, order):
    _, problem = pair(divergence, distance, order, [0.1, 0.25, 0.12, 0.6], 30, [0.1, 0.3, 0.2, 0.4])
    root = problem.common_risk
    true = DirectReference(problem).common_risk(root.high)
    assert true <= root.high <= true + 1e-12
    # with the package's own constant, which is rounded up, the enclosure is tighter
    own = DirectReference(problem, exp(mpf(problem.log_radius))).common_risk(root.high)
    assert root.low <= own <= root.high <= root.low + 1e-14
    solution = pm.solve(problem)
    assert (solution.solver, solution.status, solution.is_global) == ("direct", "optimal", True)
    assert solution.lower_bound <= own
    assert true <= solution.bound <= true + 1e-12


@pytest.mark.parametrize(
    ("table", "size", "divergence", "distance", "order", "constant"),
    [
        ("spambase", 1990, "chi2", "kl", 2.0, "exact"),
        ("spambase", 1990, "renyi", "kl", 3.0, "one-sided"),
        ("spambase", 1990, "kl", "linear", 2.0, "exact"),
        ("mammographic", 1990, "renyi", "squared", 8 / 7, "exact"),
        ("mammographic", 1990, "kl", "ch", 2.0, "exact"),
        ("mushroom", 1990, "chi2", "kl", 2.0, "exact"),
        ("bupa", 50, "renyi", "kl", 8 / 7, "one-sided"),
    ],
)
def test_conic_model_of_embedded_tables(table, size, divergence, distance, order, constant):
    """Badly scaled, Clarabel ends without a point here."""
    risks = load_risk_table(table)
    problem = pm.DirectProblem(risks.risks(size), risks.m, 0.05, distance, divergence, None, constant, order)
    solution = pm.solve(problem, "cvxpy")
    assert solution.status in ("optimal", "acceptable")
    assert solution.bound == pytest.approx(problem.common_risk.high, abs=1e-7)


@pytest.mark.parametrize(("divergence", "order"), [("chi2", 2.0), ("renyi", 3.0), ("kl", 2.0)])
@pytest.mark.parametrize("risks", [[0.0, 0.02, 0.3, 1.0], [1.0, 0.9, 0.95], [0.0, 0.0]])
def test_conic_model_of_classifiers_that_never_or_always_err(divergence, order, risks):
    problem = pm.DirectProblem(risks, 12, 0.9, "kl", divergence, constant="one-sided", order=order)
    solution = pm.solve(problem, "cvxpy", merge=False)
    assert solution.status in ("optimal", "acceptable")
    assert solution.bound == pytest.approx(problem.common_risk.high, abs=1e-7)


@pytest.mark.long
@settings(max_examples=150)
@given(instances(deltas=(0.9, 0.05, 1e-4, 1e-200)))
def test_never_above_the_relaxed_bound(instance):
    relaxed, direct, *posteriors = instance
    for q in posteriors:
        above = direct.bound(q) - relaxed.bound(q)
        # A radius of e^460 is known to fewer digits.
        assert above <= max(1e-13, 2.0**-49 * direct.log_radius) * max(1.0, relaxed.bound(q))
        if relaxed.distance == "linear":
            # Hölder's inequality and that of Donsker and Varadhan are attained, and Jensen's is an equation.
            assert abs(above) <= 1e-11 * max(1.0, relaxed.bound(q))


@pytest.mark.long
@settings(max_examples=100)
@given(instances(), st.floats(0.01, 0.99))
def test_convex_with_the_worst_risks_as_gradient(instance, share):
    _, problem, q, other = instance
    mixture = share * q + (1 - share) * other
    scale = max(1.0, problem.bound(other), problem.bound(q))
    assert problem.bound(mixture) <= share * problem.bound(q) + (1 - share) * problem.bound(other) + 1e-12 * scale
    # the tangent at q is below the bound everywhere
    assert problem.bound(other) >= problem.bound(q) + problem.gradient(q) @ (other - q) - 1e-11 * scale
    assert problem.worst_risks(q) @ q == pytest.approx(problem.bound(q), rel=1e-11)


@pytest.mark.long
@settings(max_examples=100)
@given(instances())
def test_no_posterior_is_below_the_minimum(instance):
    _, problem, *posteriors = instance
    solution = pm.solve(problem)
    assert solution.status == "optimal" and solution.is_global
    assert solution.lower_bound <= solution.bound <= solution.lower_bound + 1e-12 * max(1.0, solution.bound)
    for q in posteriors:
        assert problem.bound(q) >= solution.lower_bound


def test_the_minimum_next_to_one_is_proven():
    """The sum bends so much there that the lower end of the root was above it."""
    problem = pm.DirectProblem([0.45, 0.575, 0.925, 0.975], m=40, delta=1e-4, divergence="renyi", order=3.0)
    assert pm.solve(problem).is_global


@pytest.mark.long
@settings(max_examples=60)
@given(instances(), st.data())
def test_invariances(instance, data):
    """The order does not matter; equal classifiers merge; prior weight may be split between equals."""
    _, problem, q, _ = instance
    order = data.draw(st.permutations(range(problem.size)))
    shuffled = problem.replace(risks=problem.risks[order], prior=problem.prior[order])
    assert shuffled.bound(q[order]) == pytest.approx(problem.bound(q), rel=1e-12)
    assert shuffled.common_risk.high == pytest.approx(problem.common_risk.high, rel=1e-12)
    split = problem.replace(
        risks=np.append(problem.risks, problem.risks[0]),
        prior=np.append(problem.prior * np.r_[0.25, np.ones(problem.size - 1)], 0.75 * problem.prior[0]),
    )
    assert split.common_risk.high == pytest.approx(problem.common_risk.high, rel=1e-12)
    in_proportion = np.append(q * np.r_[0.25, np.ones(problem.size - 1)], 0.75 * q[0])
    assert split.bound(in_proportion) == pytest.approx(problem.bound(q), rel=1e-12)


@pytest.mark.long
@pytest.mark.parametrize(("divergence", "distance", "order"), PAIRS)
def test_maximum_and_its_dual_agree_near_the_optimum_and_far_away(divergence, distance, order):
    """The risks are in the set, so their average is not above the bound; the bound is a dual value, not below it."""
    random = np.random.default_rng(8)
    for _ in range(40):
        size, m = int(random.integers(2, 7)), int(random.choice([5, 100, 549, 10**5]))
        risks = random.binomial(min(m, 500), random.uniform(0, 0.6, size)) / min(m, 500)
        problem = pm.DirectProblem(risks, m, 0.05, distance, divergence, order=order, constant="one-sided")
        best = problem.weights_at(problem.common_risk.high)
        for share in (1e-9, 1e-6, 1e-3, 0.03, 0.3, 1.0):
            q = (1 - share) * best + share * random.dirichlet(np.full(size, 0.3))
            found = problem.confidence_set.worst_case(q)
            assert found.bound >= problem.common_risk.low
            assert abs(found.bound - q @ found.risks) <= 1e-11 * max(1.0, found.bound)


def test_risks_that_all_rest_at_the_price_of_the_start():
    """Only the second classifier's risk can rise above its empirical one, and at first the price is too low for it."""
    prior = np.array([0.43, 0.07, 0.13, 0.37])
    problem = pm.DirectProblem([1.0, 0.0, 1.0, 1.0], 1, 0.9, "kl", "kl", prior)
    q = np.array([0.75639, 0.00077, 0.17322, 0.06962])
    # p/(1 - l) = I/δ - (1 - p) with I = 2
    expected = 1.0 - 0.07 / (2 / 0.9 - 0.93)
    assert problem.worst_risks(q)[1] == pytest.approx(expected, rel=1e-12)
    assert problem.bound(q) == pytest.approx(1.0 - q[1] * (1.0 - expected), abs=1e-15)


@pytest.mark.long
@settings(max_examples=150)
@given(instances(largest=5, deltas=(0.9, 1e-20, 1e-100, 1e-200, 1e-300)))
def test_never_below_a_point_of_the_confidence_set(instance):
    """One classifier takes the whole budget, the others stay where they are."""
    _, problem, q, sparse = instance
    assume(not problem.penalty.signed)
    if problem.divergence == "kl":
        radius = math.log(math.expm1(max(problem.log_radius, 0.0))) if problem.log_radius < 700 else problem.log_radius
    for weights_ in (q, sparse):
        bound = problem.bound(weights_)
        for i, prior in enumerate(problem.prior):
            share = problem.log_radius - math.log(prior)
            if problem.divergence == "kl":
                # p e^(n φ) + (1 - p) = I/δ
                share = np.logaddexp(radius - math.log(prior), 0.0)
            true = problem.distance_function.invert(problem.risks[i], problem.penalty.budget(share))
            others = float(weights_ @ problem.risks) - weights_[i] * problem.risks[i]
            assert bound >= (others + weights_[i] * true) * (1 - 1e-12)


def test_a_posterior_at_which_newton_once_went_astray():
    problem = pm.DirectProblem([0.12, 0.15, 0.31], 549, constant="one-sided")
    q = np.array([0.94524777, 0.05475223, 0.0])
    assert problem.bound(q) == pytest.approx(q @ problem.worst_risks(q), abs=1e-13)
    assert problem.bound(q) > 0.1726


@pytest.mark.long
@pytest.mark.parametrize("risks", [[0.0], [1.0], [0.0, 1.0], [1e-300, 0.2], [0.3, 0.3], [0.0, 1e-9, 0.999999, 1.0]])
@pytest.mark.parametrize("m", [1, 10**9])
def test_edges(risks, m):
    """Risks at the ends of [0, 1], a single classifier, the smallest and the largest sample."""
    size = len(risks)
    for divergence, distance, order in [*PAIRS, ("renyi", "kl", 1.01), ("renyi", "kl", 50.0)]:
        relaxed, direct = pair(divergence, distance, order, risks, m)
        solution = pm.solve(direct)
        assert solution.status == "optimal" and solution.is_global
        for q in (np.full(size, 1 / size), *np.eye(size)):
            assert np.isfinite(direct.worst_risks(q)).all()
            assert direct.bound(q) <= relaxed.bound(q) * (1 + 1e-13) + 1e-300
            assert direct.bound(q) >= solution.lower_bound


def test_the_root_is_found_in_a_few_evaluations():
    """Where rounding led to and fro around the root, all 200 that are allowed were made."""
    random = np.random.default_rng(0)
    problem = pm.DirectProblem(random.random(20), 500)
    assert problem.common_risk.evaluations <= 8
    for _ in range(300):
        divergence, distance, order = PAIRS[int(random.integers(len(PAIRS)))]
        m = int(random.choice([10, 500, 10**6]))
        root = pm.DirectProblem(random.random(5), m, 0.05, distance, divergence, order=order).common_risk
        assert root.evaluations <= 20 and root.high - root.low <= 1e-12


def test_many_classifiers():
    """They are evaluated in pieces."""
    random = np.random.default_rng(5)
    risks, prior = random.uniform(0, 1, 20_001), random.exponential(size=20_001)
    prior /= prior.sum()
    for divergence, distance, order in PAIRS:
        problem = pm.DirectProblem(risks, 400, 0.05, distance, divergence, prior, order=order)
        root, penalty = problem.common_risk, problem.penalty
        inside = np.ones(risks.size, bool) if (divergence, distance) == ("kl", "linear") else risks < root.high
        with np.errstate(divide="ignore"):
            values = penalty.logarithms(risks[inside], root.high - risks[inside], np.array(1 - root.high)).value
        total = math.fsum(prior[inside] * np.exp(values - problem.log_radius))
        total += math.fsum(prior[~inside]) * math.exp(penalty.at_rest - problem.log_radius)
        assert 1.0 <= total <= 1.0 + 1e-9
        assert root.high - root.low < 1e-13


def test_the_gap_is_not_above_the_residual_near_the_minimum():
    random = np.random.default_rng(1)
    for divergence, distance, order in PAIRS:
        problem = pm.DirectProblem(random.uniform(0, 0.5, 8), 60, 0.05, distance, divergence, order=order)
        best = pm.solve(problem)
        assert problem.kkt_residual(best.posterior) < 1e-12 < 1e-3 < problem.kkt_residual(problem.prior)
        for size in (1e-2, 1e-4, 1e-6):
            q = (1 - size) * best.posterior + size * random.dirichlet(np.ones(8))
            assert problem.bound(q) - best.bound <= 1.01 * problem.kkt_residual(q) + 1e-14


def test_arguments_are_those_of_the_bound_problem():
    problem = pm.DirectProblem([0.1, 0.3], m=20, delta=0.1, distance="squared", prior=[0.3, 0.7], constant="paper")
    assert repr(problem) == repr(pm.BoundProblem([0.1, 0.3], 20, 0.1, "squared", "chi2", [0.3, 0.7], "paper")).replace(
        "BoundProblem", "DirectProblem"
    )
    changed = problem.replace(m=30)
    assert (type(changed), changed.m, changed.kind) == (pm.DirectProblem, 30, "direct")
    assert pickle.loads(pickle.dumps(problem)).bound([0.5, 0.5]) == problem.bound([0.5, 0.5])
    with pytest.raises(AttributeError, match="m of a DirectProblem cannot be set"):
        problem.m = 10
    with pytest.raises(pm.InputError, match="posterior sums to"):
        problem.bound([0.5, 0.6])


def test_solvers_of_the_other_kind_say_so():
    bound, direct = pm.BoundProblem([0.1, 0.2], 50), pm.DirectProblem([0.1, 0.2], 50)
    with pytest.raises(
        pm.UnsupportedProblemError, match=r"'frontier' cannot minimise the direct bound of .*`bound_at`.*direct, .*can"
    ):
        pm.solve(direct, "frontier")
    with pytest.raises(pm.UnsupportedProblemError, match="the problem lacks the method `worst_case`"):
        pm.solve(bound, "direct")
    assert not pm.available_solvers(direct)["direct"]
    assert "lacks the method `bound_at`" in pm.available_solvers(direct)["frontier"]
