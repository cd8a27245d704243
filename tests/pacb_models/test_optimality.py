"""First- and second-order optimality against closed forms and dense matrices."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.linalg import null_space
from scipy.optimize import brentq

import pacb_models as pm
from pacb_models.constants import LARGEST_SAMPLE_SIZE
from pacb_models.optimality import sensitivities

from ..drawn import some_weights, with_orders
from .mp_reference import Reference, numbers

EVERY_BOUND = with_orders(1.5, 3.0)


# --- known optima ----------------------------------------------------------------------------------------------------


@st.composite
def linear_chi_squared(draw):
    """A problem whose closed form has no negative weight, with that optimum."""
    size = draw(st.integers(1, 20))
    risks = draw(arrays(float, size, elements=st.floats(0.0, 1.0)))
    shares = draw(arrays(int, size, elements=st.integers(1, 50)))
    prior = shares / shares.sum()
    m, delta = draw(st.integers(1, 50)), draw(st.sampled_from([1e-3, 0.01, 0.05]))
    mean = prior @ risks
    variance = prior @ (risks - mean) ** 2
    radicand = 1.0 / (4.0 * m * delta) - variance
    problem = pm.BoundProblem(risks, m=m, delta=delta, distance="linear", prior=prior)
    weights = prior * (1.0 + (mean - risks) / np.sqrt(radicand)) if radicand > 0.0 else -np.ones(size)
    return problem, weights, mean + np.sqrt(max(radicand, 0.0))


@given(linear_chi_squared().filter(lambda case: case[1].min() >= 0.0), st.data())
def test_residual_of_the_linear_bound_is_zero_at_its_closed_form_and_bounds_what_is_left_elsewhere(case, data):
    problem, weights, optimum = case
    assert problem.kkt_residual(weights) <= 1e-12
    assert problem.bound(weights) == pytest.approx(optimum, rel=1e-12)
    posterior = data.draw(some_weights(problem.size))
    # The residual is relative to bounds above one.
    residual = problem.kkt_residual(posterior) * max(problem.bound(posterior), 1.0)
    assert residual >= problem.bound(posterior) - optimum - 1e-12


@given(
    arrays(float, st.integers(1, 20), elements=st.floats(0.0, 1.0)),
    st.integers(1, 10**6),
    st.sampled_from([0.01, 0.05]),
)
def test_gibbs_posterior_of_the_linear_kl_bound_is_stationary(risks, m, delta):
    """q ∝ p exp(-m l); weights that underflow count as zero."""
    weights = np.exp(-m * (risks - risks.min()))
    weights /= weights.sum()
    problem = pm.BoundProblem(risks, m=m, delta=delta, distance="linear", divergence="kl")
    assert problem.kkt_residual(weights) <= 1e-12


@pytest.mark.parametrize("divergence, distance, order", EVERY_BOUND)
def test_residual_is_positive_off_the_optimum(divergence, distance, order):
    """At random posteriors it is at least a hundredth of the best first-order decrease towards a vertex."""
    random = np.random.default_rng(3)
    for _ in range(20):
        risks, prior = random.random(6), random.dirichlet(np.full(6, 3.0))
        problem = pm.BoundProblem(risks, m=200, distance=distance, divergence=divergence, prior=prior, order=order)
        posterior = random.dirichlet(np.ones(6))
        slopes = problem.gradient(posterior)
        decrease = slopes @ posterior - slopes.min()
        assert decrease > 0.0
        assert problem.kkt_residual(posterior) >= 0.01 * decrease


def test_residual_sees_a_classifier_left_out():
    """The optimum over two of three classifiers is none over all three."""
    problem = pm.BoundProblem([0.1, 0.2, 0.3], m=200, distance="squared")
    best_pair = pm.solve(problem.replace(risks=[0.2, 0.3]), "fixed-point").posterior
    assert problem.kkt_residual(np.array([0.0, *best_pair])) > 0.05


@pytest.mark.parametrize("weight", [1e-3, 1e-2, 0.1])
def test_kl_divergence_may_not_drop_a_weight_that_counts(weight):
    """Its slope at weight zero is minus infinity: the residual is about what the missing weight is worth."""
    risk = -np.log(weight) / 50.0
    problem = pm.BoundProblem([0.0, risk], m=50, distance="linear", divergence="kl")
    assert problem.kkt_residual([1.0, 0.0]) > 0.1 * weight / 50


def test_kl_divergence_may_drop_a_weight_that_underflows():
    problem = pm.BoundProblem([0.0, 0.9], m=2000, distance="linear", divergence="kl")
    assert problem.kkt_residual([1.0, 0.0]) == 0.0
    # Or one of 4e-44, although the slope at the smallest double is -0.6, with a cap that changes nothing, too.
    for constraints in ([], pm.weights(at_most=[1.0, 0.5])):
        problem = pm.BoundProblem([0.0, 0.1], m=1000, distance="linear", divergence="kl", constraints=constraints)
        assert 0.0 < problem.kkt_residual([1.0, 0.0]) < 1e-43
        assert problem.kkt_residual([0.99, 0.01]) > 5e-4


def test_the_kl_residual_is_the_printed_sum():
    """B = L + (KL + c)/m has the slopes l_i + (ln(q_i/p_i) + 1)/m, and asks for the Gibbs weights at b = m."""
    risks, prior, q, m = np.array([0.1, 0.15, 0.3]), np.array([0.2, 0.7, 0.1]), np.array([0.3, 0.0, 0.7]), 20
    problem = pm.BoundProblem(risks, m=m, distance="linear", divergence="kl", prior=prior)
    slopes = risks + (np.log(np.maximum(q, np.finfo(float).tiny) / prior) + 1.0) / m
    wanted = prior * np.exp(-m * risks) / np.sum(prior * np.exp(-m * risks))
    expected = np.sum(np.maximum(q, wanted) * np.abs(slopes - q @ slopes))
    assert problem.kkt_residual(q) == pytest.approx(expected, rel=1e-12)


# --- zero empirical risk with the kl distance ------------------------------------------------------------------------


def test_zero_risk_is_stationary_with_chi_squared():
    """The slope towards errors is infinite: what is best among the classifiers without any is a local minimum."""
    problem = pm.BoundProblem([0.0, 0.0, 0.3], m=50, distance="kl", prior=[0.25, 0.5, 0.25])
    assert problem.kkt_residual([1 / 3, 2 / 3, 0.0]) <= 1e-15
    assert problem.kkt_residual([2 / 3, 1 / 3, 0.0]) > 1e-3


@pytest.mark.parametrize("risk, stationary", [(0.2, True), (0.06, True), (0.049, True), (0.02, False), (0.001, False)])
def test_zero_risk_with_the_kl_divergence(risk, stationary):
    """Errors pay below a risk of 1/m; at 0.049 the weight they should have is below 1e-40."""
    problem = pm.BoundProblem([0.0, risk], m=20, delta=0.05, distance="kl", divergence="kl")
    left_out = problem.kkt_residual([1.0, 0.0])
    weights = np.linspace(0.0, 0.5, 2001)[1:]
    gain = problem.bound([1.0, 0.0]) - min(problem.bound([1.0 - w, w]) for w in weights)
    assert (left_out <= 1e-15) == stationary
    assert (gain > 0.0) == (not stationary)
    assert left_out >= 0.9 * gain


def test_zero_risk_may_be_a_local_minimum_beside_a_better_one():
    """With risks above 1/m no small weight of errors pays, whatever a large one would: the residual is zero."""
    problem = pm.BoundProblem([0.0, 0.02], m=100, delta=0.05, distance="kl", divergence="kl", prior=[1e-6, 1 - 1e-6])
    alone = problem.bound([1.0, 0.0])
    assert all(problem.bound([1.0 - weight, weight]) > alone for weight in (1e-7, 1e-9, 1e-11))
    assert problem.bound([1e-6, 1 - 1e-6]) < alone - 0.07
    assert problem.kkt_residual([1.0, 0.0]) == 0.0


# --- second order ----------------------------------------------------------------------------------------------------


def dense_verdict(reference: Reference, posterior: np.ndarray) -> tuple[str, str]:
    """Second-order verdicts on full support: eigenvalues on the tangent space, and minors of the bordered Hessian."""
    hessian = reference.hessian(numbers(posterior))
    size = posterior.size
    tangent = null_space(np.ones((1, size)))
    lowest = np.linalg.eigvalsh(tangent.T @ hessian @ tangent).min()
    bordered = np.block([[np.zeros((1, 1)), np.ones((1, size))], [np.ones((size, 1)), hessian]])
    # With one constraint: a minimum exactly when the leading minors from order three on are all negative.
    minors = [np.linalg.det(bordered[:order, :order]) for order in range(3, size + 2)]
    by_minors = "local minimum" if all(minor < 0.0 for minor in minors) else "saddle"
    return "local minimum" if lowest > 0.0 else "saddle", by_minors


@pytest.mark.parametrize("divergence, distance, order", EVERY_BOUND)
def test_minima_agree_with_dense_matrices(divergence, distance, order):
    risks, prior = [0.3, 0.35, 0.42, 0.5], [0.1, 0.2, 0.3, 0.4]
    arguments = {"distance": distance, "divergence": divergence}
    problem = pm.BoundProblem(risks, m=9, delta=0.05, prior=prior, order=order, **arguments)
    solution = pm.solve(problem, "fixed-point")
    assert solution.support_size == 4
    reference = Reference(risks, prior, 9, 0.05, distance, divergence, "exact", order)
    assert dense_verdict(reference, solution.posterior) == ("local minimum", "local minimum")
    assert problem.classify(solution.posterior) == "local minimum"


def stationary_posteriors(problem: pm.BoundProblem) -> list[np.ndarray]:
    """All stationary points with full support: q = p (1 + t (mean - l)), where t F_T = T F_L."""
    risks, prior = problem.risks, problem.prior
    mean = prior @ risks
    largest = 1.0 / (risks.max() - mean)

    def posterior(t: float) -> np.ndarray:
        return prior * (1.0 + t * (mean - risks))

    def slope(t: float) -> float:
        q = posterior(t)
        size = problem.divergence_size(q)
        F = problem.derivatives_at(problem.empirical_risk(q), size)
        return t * F.T / size - F.L

    grid = np.linspace(1e-6, largest * (1 - 1e-9), 400)
    signs = np.sign([slope(t) for t in grid])
    turns = np.flatnonzero(signs[1:] != signs[:-1])
    return [posterior(brentq(slope, grid[i], grid[i + 1], xtol=1e-15, rtol=1e-15)) for i in turns]


@pytest.mark.parametrize("distance, m", [("squared", 17), ("kl", 15)])
def test_minimum_and_saddle_on_one_support(distance, m):
    """Little prior on two good classifiers: along the path the bound falls, rises and falls again on full support."""
    risks, prior = [0.05, 0.1, 0.4, 0.41], [0.04, 0.06, 0.4, 0.5]
    problem = pm.BoundProblem(risks, m=m, delta=0.05, distance=distance, prior=prior)
    found = stationary_posteriors(problem)
    assert len(found) == 2
    reference = Reference(risks, prior, m, 0.05, distance, "chi2", "exact")
    for posterior, expected in zip(found, ["local minimum", "saddle"], strict=True):
        assert dense_verdict(reference, posterior) == (expected, expected)
        assert problem.classify(posterior) == expected


@settings(max_examples=60)
@given(
    arrays(int, 4, elements=st.integers(1, 99), unique=True),
    arrays(int, 4, elements=st.integers(1, 20)),
    st.sampled_from(EVERY_BOUND),
)
def test_sign_of_the_tangent_curvature_at_any_posterior(risks, shares, bound):
    """The second-order test does not need a stationary point: compare the signs anywhere."""
    divergence, distance, order = bound
    risks, posterior = risks / 100, shares / shares.sum()
    problem = pm.BoundProblem(risks, m=9, distance=distance, divergence=divergence, order=order)
    assume(problem.bound(posterior) <= 0.999)
    reference = Reference(risks, problem.prior, 9, 0.05, distance, divergence, "exact", order)
    hessian = reference.hessian(numbers(posterior))
    tangent = null_space(np.ones((1, 4)))
    lowest = np.linalg.eigvalsh(tangent.T @ hessian @ tangent).min()
    found = pm.optimality.tangent_curvature(problem, posterior)
    if abs(lowest) > 1e-6:
        assert (found > 0.0) == (lowest > 0.0)


def test_tolerance_of_classify():
    problem = pm.BoundProblem([0.1, 0.2, 0.3], m=100, distance="squared")
    posterior = pm.solve(problem, "fixed-point").posterior
    moved = 0.999 * posterior + 0.001 * problem.prior
    assert problem.classify(moved) == "not stationary"
    assert problem.classify(moved, tol=0.1) == "local minimum"


@pytest.mark.parametrize(
    ("arguments", "posterior", "verdict"),
    [
        ({"risks": [0.1, 0.9], "m": 1000, "distance": "linear", "delta": 0.9}, [1.0, 0.0], "local minimum"),
        ({"risks": [0.0, 0.0], "m": 50}, [0.5, 0.5], "local minimum"),
        # At this empirical risk the bound rounds to one: stationary in double precision, but no strict minimum.
        ({"risks": [0.9, 0.95], "m": 1, "delta": 1e-6}, [0.5, 0.5], "saddle"),
    ],
)
def test_verdicts_at_the_edges(arguments, posterior, verdict):
    assert pm.BoundProblem(**arguments).classify(posterior) == verdict


# --- changes of the problem ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("divergence, distance, order", EVERY_BOUND)
def test_sensitivities_are_what_a_change_makes_of_the_bound(divergence, distance, order):
    more = {"order": order} if divergence == "renyi" else {}
    problem = pm.BoundProblem([0.1, 0.3, 0.2, 0.4], m=300, distance=distance, divergence=divergence, **more)
    q = np.array([0.5, 0.0, 0.3, 0.2])
    found = sensitivities(problem, q)
    h = 1e-6
    delta = [problem.replace(delta=problem.delta + d).bound(q) for d in (-h, h)]
    assert found["delta"] == pytest.approx((delta[1] - delta[0]) / (2 * h), rel=1e-5)
    assert found["m"] == pytest.approx(problem.replace(m=301).bound(q) - problem.bound(q), rel=1e-9)
    for i in range(4):
        risks = [problem.replace(risks=problem.risks + d * np.eye(4)[i]).bound(q) for d in (-h, h)]
        assert found["risks"][i] == pytest.approx((risks[1] - risks[0]) / (2 * h), rel=1e-6, abs=1e-9)


def test_sensitivities_at_their_limits():
    """No classifier without weight counts, even where the bound rises vertically; nor is there a larger sample."""
    problem = pm.BoundProblem([0.0, 0.3], m=300, distance="kl")
    assert sensitivities(problem, np.array([1.0, 0.0]))["risks"].tolist() == [np.inf, 0.0]
    largest = pm.BoundProblem([0.1, 0.3], m=LARGEST_SAMPLE_SIZE, distance="linear")
    one_less = largest.replace(m=LARGEST_SAMPLE_SIZE - 1)
    expected = largest.bound(largest.prior) - one_less.bound(largest.prior)
    assert sensitivities(largest, largest.prior)["m"] == pytest.approx(expected, rel=1e-6, abs=0.0)


@pytest.mark.parametrize("divergence", ["chi2", "kl"])
def test_constrained_residual_is_zero_at_the_minimum_and_nowhere_near_it(divergence):
    rows = [pm.average([3.0, 2.0, 1.0, 5.0], at_most=1.9)]
    problem = pm.BoundProblem([0.1, 0.14, 0.2, 0.3], m=800, divergence=divergence, constraints=rows)
    best = pm.solve(problem)
    assert best.is_global and problem.kkt_residual(best.posterior) <= 1e-8
    # Towards the third classifier, which keeps the row.
    residuals = [
        problem.kkt_residual((1 - step) * best.posterior + step * np.array([0.0, 0.0, 1.0, 0.0]))
        for step in (0.01, 0.1, 0.5)
    ]
    assert 1e-6 < residuals[0] < residuals[1] < residuals[2]
