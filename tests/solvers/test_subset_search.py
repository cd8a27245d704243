"""Algorithm 1: against the paper's loops written out, against exact roots, and where its early break goes wrong."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import pacb_models as pm

from ..drawn import problems
from .path_reference import right_side
from .solver_checks import TWO_GROUPS


def search(problem: pm.BoundProblem, **options) -> pm.Solution:
    return pm.solve(problem, "subset-search", **options)


def algorithm_2(risks: np.ndarray, m: int, delta: float) -> list[float]:
    """B*(1), B*(2), … up to the break: the linear special case with its misprints mended; risks in ascending order."""
    H = risks.size
    bounds = [risks[0] + np.sqrt(H / (4 * m * delta))]
    for size in range(2, H + 1):
        head = risks[:size]
        radicand = H / (size * 4 * m * delta) - np.mean((head - head.mean()) ** 2)
        weights = (1 + (head.mean() - head) / np.sqrt(max(radicand, 1e-300))) / size
        if radicand <= 0 or weights.min() < 0:
            break
        posterior = np.concatenate((weights, np.zeros(H - size)))
        bounds.append(posterior @ risks + np.sqrt(H * np.sum(posterior**2) / (4 * m * delta)))
    return bounds


def algorithm_1(problem: pm.BoundProblem) -> tuple[np.ndarray, int | None]:
    """B*(H') before the break, and where it breaks; risks in ascending order, uniform prior. The paper's equation is
    iterated vector by vector, until it settles or leaves the positive weights."""
    risks, H = problem.risks, problem.size
    bounds = [problem.bound(np.eye(H)[0])]
    for size in range(2, H + 1):
        q, last = np.full(size, 1 / size), np.zeros(size)
        while np.abs(q - last).max() >= 1e-14:
            q, last = right_side(q, risks[:size], problem), q
            if q.min() < 0:
                return np.array(bounds), size
        bounds.append(problem.bound(np.concatenate((q, np.zeros(H - size)))))
    return np.array(bounds), None


@given(
    arrays(float, st.integers(2, 25), elements=st.floats(0.0, 1.0)).map(np.sort),
    st.integers(1, 2000),
    st.sampled_from([0.001, 0.01, 0.05, 0.5]),
)
def test_linear_search_is_algorithm_2(risks, m, delta):
    problem = pm.BoundProblem(risks, m=m, delta=delta, distance="linear")
    bounds = algorithm_2(risks, m, delta)
    solution = search(problem)
    found = solution.details["bounds"]
    visited = found[~np.isnan(found)]
    # At a tie in rounding (a last weight of exactly zero) the two may break one support apart, with equal bounds.
    shared = min(visited.size, len(bounds))
    assert abs(visited.size - len(bounds)) <= 1 or np.allclose(visited[shared:], bounds[-1], rtol=1e-12)
    assert visited[:shared] == pytest.approx(np.array(bounds[:shared]), rel=1e-12)
    assert solution.bound == pytest.approx(min(bounds), rel=1e-12)
    assert solution.is_global and solution.status == "optimal"


@pytest.mark.parametrize("distance", ["squared", "kl"])
@pytest.mark.parametrize("constant", ["exact", "paper"])
@pytest.mark.parametrize("m", [15, 60, 300])
def test_search_is_algorithm_1(distance, constant, m):
    risks = np.sort(np.random.default_rng(m).random(25)) * 0.5
    problem = pm.BoundProblem(risks, m=m, delta=0.05, distance=distance, constant=constant)
    bounds, broke_at = algorithm_1(problem)
    details = search(problem).details
    assert (details["broke_at"], details["best_size"]) == (broke_at, np.argmin(bounds) + 1)
    assert details["bounds"][: bounds.size] == pytest.approx(bounds, rel=1e-12)
    assert np.isnan(details["bounds"][bounds.size :]).all() and details["visited"].sum() == (broke_at or 25)
    assert (details["feasible"] == ~np.isnan(details["bounds"])).all()


def squared_bounds_by_cubic(problem: pm.BoundProblem) -> np.ndarray:
    """B*(H') from the smaller positive root of (1/P + V u)³ = (c⁴/16) u², u = t²; NaN where it is infeasible."""
    order = np.argsort(problem.risks, kind="stable")
    risks, prior = problem.risks[order], problem.prior[order]
    c = problem.coefficient**0.5
    bounds = []
    for size in range(1, problem.size + 1):
        l, p, P = risks[:size], prior[:size], prior[:size].sum()
        mean = p @ l / P
        V = p @ (l - mean) ** 2
        if V < 1e-18:
            bounds.append(mean + c * P**-0.25)
            continue
        roots = np.roots([V**3, 3 * V**2 / P - c**4 / 16, 3 * V / P**2, 1 / P**3])
        real = np.sort(roots.real[(np.abs(roots.imag) < 1e-9 * np.abs(roots)) & (roots.real > 0)])
        t = np.sqrt(real[0]) if real.size else np.inf
        feasible = t * (l[-1] - mean) * P <= 1.0
        bounds.append(mean - t * V + c * (1 / P + t * t * V) ** 0.25 if feasible else np.nan)
    return np.array(bounds)


@settings(max_examples=60)
@given(
    arrays(int, st.integers(1, 20), elements=st.integers(0, 40)).map(lambda k: k / 100),
    st.sampled_from([3, 10, 40, 300]),
    st.data(),
)
def test_all_supports_of_the_squared_bound_by_their_cubics(risks, m, data):
    shares = data.draw(st.none() | arrays(int, risks.size, elements=st.integers(1, 20)))
    prior = None if shares is None else shares / shares.sum()
    problem = pm.BoundProblem(risks, m=m, distance="squared", prior=prior)
    solution = search(problem, early_break=False)
    expected, found = squared_bounds_by_cubic(problem), solution.details["bounds"]
    both = ~np.isnan(expected) & ~np.isnan(found)
    assert found[both] == pytest.approx(expected[both], rel=1e-7)
    # Where only one of the two sees a feasible root, the double root or the break point is a rounding error away.
    assert np.count_nonzero(np.isnan(expected) != np.isnan(found)) <= 1
    assert solution.bound == pytest.approx(np.nanmin(expected), rel=1e-9)
    # Only a convex bound is certified, or equal risks.
    assert not solution.is_global or np.ptp(problem.risks) == 0.0


BOUNDS = [("chi2", distance) for distance in ("linear", "squared", "kl")]


@pytest.mark.long
@settings(max_examples=100)
@given(problems(BOUNDS, 30))
def test_visiting_all_supports_finds_the_global_minimum(problem):
    """Any prior, ties, risks at zero and one."""
    solution = search(problem, early_break=False)
    assert (solution.status, solution.message) == ("optimal", "") and solution.kkt_residual <= 1e-10
    assert solution.bound == pytest.approx(pm.solve(problem, "frontier").bound, abs=1e-11)


@settings(max_examples=50)
@given(problems(BOUNDS, 30))
def test_early_break_is_never_better(problem):
    full, broken = search(problem, early_break=False), search(problem)
    assert broken.bound >= full.bound - 1e-13
    if problem.distance == "linear":
        assert broken.bound == pytest.approx(full.bound, rel=1e-13)
    assert broken.bound == pytest.approx(np.nanmin(broken.details["bounds"]), rel=1e-12)


@pytest.mark.parametrize(
    "distance, best, broken", [("squared", 0.4761310365, 0.5121495458), ("kl", 0.4822138848, 0.4970119897)]
)
def test_early_break_stops_at_a_worse_support(distance, best, broken):
    problem = pm.BoundProblem(TWO_GROUPS, m=50, delta=0.05, distance=distance)
    exact, stopped, full = pm.solve(problem, "frontier"), search(problem), search(problem, early_break=False)
    assert (stopped.details["broke_at"], stopped.support_size, exact.support_size) == (3, 2, 50)
    assert (exact.bound, stopped.bound) == pytest.approx((best, broken), abs=1e-10)
    # What it returns is a local minimum, so no test at the point itself can tell.
    assert stopped.status == "optimal" and not stopped.is_global
    assert problem.classify(stopped.posterior) == "local minimum"
    # A few supports in between have no feasible fixed point.
    assert full.bound == pytest.approx(exact.bound, abs=1e-12)
    feasible = full.details["feasible"]
    assert feasible[:2].all() and not feasible[2:8].any() and feasible[-1]


def test_components_of_the_linear_bound():
    """Mean risk and root, as in the paper's figure: one rises, the other falls, and they add up."""
    risks = np.linspace(0.05, 0.5, 60)
    problem = pm.BoundProblem(risks, m=30, delta=0.05, distance="linear")
    details = search(problem).details
    size = details["best_size"]
    mean, root = (component[:size] for component in details["components"])
    variances = np.array([np.var(risks[:k]) for k in range(1, size + 1)])
    sizes = np.arange(1, size + 1)
    assert mean == pytest.approx(np.cumsum(risks)[:size] / sizes, rel=1e-13)
    assert root == pytest.approx(np.sqrt(60 / (sizes * 4 * 30 * 0.05) - variances), rel=1e-12)
    assert mean + root == pytest.approx(details["bounds"][:size], rel=1e-13)
    assert (np.diff(mean) > 0.0).all() and (np.diff(root) < 0.0).all()


@pytest.mark.parametrize("distance", ["squared", "kl"])
def test_the_others(distance):
    problem = pm.BoundProblem(np.linspace(0.05, 0.5, 60), m=100, distance=distance)
    solution = search(problem)
    (first, second), at = solution.details["components"], solution.details["best_size"] - 1
    assert first[at] == pytest.approx(solution.empirical_risk, rel=1e-12)
    assert first[at] + second[at] == pytest.approx(solution.bound, rel=1e-12)
    few = search(problem, early_break=False, max_iterations=3)
    assert "did not settle; raise max_iterations" in few.message and not few.is_global
    with pytest.raises(pm.InputError, match=r"warm_start is True; it exists for the linear distance only\."):
        search(problem, warm_start=True)


@given(
    arrays(float, st.integers(1, 40), elements=st.floats(0.0, 1.0)),
    st.integers(1, 5000),
    st.sampled_from([0.01, 0.05, 0.5]),
    st.data(),
)
def test_warm_start_finds_the_same(risks, m, delta, data):
    shares = data.draw(st.none() | arrays(int, risks.size, elements=st.integers(1, 20)))
    prior = None if shares is None else shares / shares.sum()
    problem = pm.BoundProblem(risks, m=m, delta=delta, distance="linear", prior=prior)
    cold, warm = search(problem), search(problem, warm_start=True)
    assert warm.bound == pytest.approx(cold.bound, rel=1e-13) and warm.is_global
    assert warm.details["visited"].sum() <= problem.size


def test_warm_start_begins_where_the_components_cross():
    """Σ l² = H/(4mδ): of the two terms the mean is the smaller one up to there, the root beyond."""
    risks = np.linspace(0.02, 0.6, 400)
    problem = pm.BoundProblem(risks, m=50, delta=0.05, distance="linear")
    warm = search(problem, warm_start=True)
    begin = warm.details["warm_start_size"]
    assert np.sum(risks[:begin] ** 2) <= 400 / (4 * 50 * 0.05) < np.sum(risks[: begin + 1] ** 2)
    full = search(problem, early_break=False).details
    mean, root = full["components"]
    if full["feasible"][begin - 1]:
        assert mean[begin - 1] <= root[begin - 1]
    # It looks at few supports; a search from below looks at all up to the best one.
    assert warm.iterations < search(problem).iterations
    assert search(problem).details["warm_start_size"] is None


@pytest.mark.parametrize("distance", ["linear", "squared", "kl"])
def test_large_set(distance):
    problem = pm.BoundProblem(np.random.default_rng(0).random(100_000), m=1000, distance=distance)
    solution = search(problem, early_break=False)
    assert solution.status == "optimal"
    assert solution.bound == pytest.approx(pm.solve(problem, "frontier").bound, abs=1e-12)
