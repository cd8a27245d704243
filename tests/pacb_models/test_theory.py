"""The paper's theorems about χ² bounds: those that hold, and those that do not."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import pacb_models as pm
from pacb_models.benchmarks.paper.claims import quasi_convexity_condition

from ..drawn import some_weights
from ..solvers.solver_checks import TWO_GROUPS

DISTANCES = ("linear", "squared", "kl")


def two_minima(distance: str) -> tuple[pm.BoundProblem, pm.Solution, pm.Solution]:
    """A uniform-prior problem and its two local minima, best first, found from a start near each."""
    problem = pm.BoundProblem(TWO_GROUPS, m=50, delta=0.05, distance=distance)
    on_the_good = np.where(TWO_GROUPS < 0.2, 0.5, 0.0)
    found = [pm.solve(problem, "fixed-point", start=start) for start in (problem.prior, on_the_good)]
    return problem, *sorted(found, key=lambda solution: solution.bound)


@given(
    q=some_weights(5),
    other=some_weights(5),
    alpha=st.floats(0.01, 0.99),
    m=st.integers(2, 10**6),
    constant=st.sampled_from(["exact", "paper"]),
)
def test_quasi_convexity_condition_is_quasi_convexity_itself(q, other, alpha, m, constant):
    problem = pm.BoundProblem([0.0, 0.1, 0.2, 0.5, 0.9], m=m, delta=0.05, distance="squared", constant=constant)
    condition = quasi_convexity_condition(problem, q, other, alpha)
    mixture = alpha * q + (1 - alpha) * other
    rise = problem.bound(mixture / mixture.sum()) - problem.bound(q)
    assert condition.left - condition.right == pytest.approx(rise, abs=1e-12)


@pytest.mark.parametrize("distance", ["squared", "kl"])
def test_two_strict_local_minima_under_a_uniform_prior(distance):
    problem, best, other = two_minima(distance)
    assert problem.uniform_prior
    assert (best.support_size, other.support_size) == (50, 2)
    assert other.bound - best.bound > 0.01
    for solution in (best, other):
        assert problem.kkt_residual(solution.posterior) < 1e-10
        assert problem.classify(solution.posterior) == "local minimum"
    # Off its support the second one has slopes that are larger, not merely as large: no first-order way out either.
    slopes = problem.gradient(other.posterior)
    inside = other.posterior > 0.0
    assert slopes[~inside].min() > slopes[inside].max() + 1e-3
    # Strict: every direction of a sample leads up.
    random = np.random.default_rng(1)
    for solution in (best, other):
        for target in random.dirichlet(np.ones(50), 200):
            assert problem.bound(solution.posterior + 1e-3 * (target - solution.posterior)) > solution.bound


def test_the_two_minima_refute_quasi_convexity():
    problem, best, other = two_minima("squared")
    worse, better = other.posterior, best.posterior
    holds = [quasi_convexity_condition(problem, worse, better, alpha).holds for alpha in (0.05, 0.9, 0.999)]
    assert holds == [True, False, False]
    # The case the paper could not decide: less empirical risk and a larger χ² on one side than on the other.
    assert other.empirical_risk < best.empirical_risk
    assert other.divergence > best.divergence


# --- The corollary of theorem 2: ordered subsets ----------------------------------------------------------------------


def posteriors_on(subset: tuple[int, ...], risks: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Many posteriors on a subset, the best for each of many empirical risks among them: weights p (level - risk)_+."""
    chosen = np.array(subset)
    least = risks[chosen].min()
    levels = least + np.geomspace(1e-3, 1e3, 80)
    raw = np.zeros((80, risks.size))
    raw[:, chosen] = prior[chosen] * np.maximum(levels[:, None] - risks[chosen], 0.0)
    return raw / raw.sum(axis=1, keepdims=True)


@pytest.mark.long
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("uniform", [True, False])
def test_no_subset_beats_the_ordered_ones(distance, uniform):
    """The corollary, for any prior: of all 1023 supports of ten classifiers, an ordered one carries the optimum."""
    random = np.random.default_rng(9)
    risks = random.random(10)
    prior = None if uniform else random.dirichlet(np.full(10, 2.0))
    problem = pm.BoundProblem(risks, m=25, delta=0.1, distance=distance, prior=prior)
    solution = pm.solve(problem, "subset-search", early_break=False)
    support = np.flatnonzero(solution.posterior)
    assert set(support) == set(np.argsort(risks)[: support.size])
    smallest = min(
        problem.bound_at(problem.empirical_risk(q), problem.divergence_size(q))
        for size in range(1, 11)
        for subset in combinations(range(10), size)
        for q in posteriors_on(subset, risks, problem.prior)[:: 1 if distance == "linear" else 4]
    )
    assert solution.bound <= smallest
    assert solution.bound == pytest.approx(smallest, rel=1e-2)


def test_theorem_2_needs_the_uniform_prior():
    """Of the two supports of size one the ordered one has the smaller risk, and hardly any prior."""
    problem = pm.BoundProblem([0.10, 0.11], m=100, delta=0.05, distance="linear", prior=[0.01, 0.99])
    assert problem.bound([0.0, 1.0]) < problem.bound([1.0, 0.0])


# --- what else the paper claims --------------------------------------------------------------------------------------


@given(
    risks=arrays(float, st.integers(1, 30), elements=st.floats(0.0, 1.0)),
    m=st.integers(1, 10**5),
    delta=st.floats(0.001, 0.5),
)
def test_linear_bound_decreases_up_to_the_best_support(risks, m, delta):
    problem = pm.BoundProblem(risks, m=m, delta=delta, distance="linear")
    details = pm.solve(problem, "subset-search", early_break=False).details
    bounds = details["bounds"][: details["best_size"]]
    assert not np.isnan(bounds).any()
    assert (np.diff(bounds) <= 1e-15 * bounds[:-1]).all()
    # Beyond it no support is feasible, but for risks equal to the last, which the best support may leave out.
    beyond = details["feasible"][details["best_size"] :]
    assert np.all(details["bounds"][details["best_size"] :][beyond] >= bounds[-1] * (1 - 1e-15))
