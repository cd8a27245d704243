"""The global search: against brute force in fifty digits, the certificate's ingredients one by one, invariants."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy.special import softmax

import pacb_models as pm
from pacb_models.solvers.exact.frontier import chi_squared, gibbs, renyi
from pacb_models.solvers.exact.frontier.stationarity import STATIONARITY, Point

from .path_reference import Reference, best, scan

EVERY_BOUND = [
    *(("chi2", distance, 2.0) for distance in ("linear", "squared", "kl")),
    *(("kl", distance, 1.0) for distance in ("linear", "squared", "kl", "pinsker", "ch")),
    *(("renyi", distance, order) for order in (1.01, 1.5, 3.0, 12.0) for distance in ("linear", "squared", "kl")),
]
#: A few only: the constants of kl take a while, and are remembered.
SAMPLE_SIZES = [1, 6, 40, 300, 5000]
RISKS = {
    "spread": np.array([0.11, 0.13, 0.2, 0.26, 0.34, 0.52]),
    "ties": np.array([0.2, 0.1, 0.1, 0.3, 0.2, 0.4, 0.1]),
    "zero risks": np.array([0.0, 0.04, 0.0, 0.3, 0.07]),
    "high risks": np.array([0.93, 0.97, 0.6, 0.99, 1.0]),
    "one good": np.array([0.02, 0.4, 0.41, 0.42, 0.43, 0.44]),
}
PRIORS = {
    "spread": [0.05, 0.3, 0.1, 0.2, 0.25, 0.1],
    "ties": [0.1, 0.2, 0.05, 0.15, 0.2, 0.1, 0.2],
    "zero risks": [0.02, 0.5, 0.03, 0.25, 0.2],
    "high risks": [0.4, 0.3, 0.01, 0.2, 0.09],
    "one good": [0.01, 0.39, 0.1, 0.2, 0.2, 0.1],
}


def solve(problem: pm.BoundProblem) -> pm.Solution:
    """The solution of the problem as it is: what merging equal risks does to it is tested elsewhere."""
    solution = pm.solve(problem, "frontier", merge=False)
    assert solution.status == "optimal"
    return solution


def minima(solution: pm.Solution) -> list[float]:
    """The bounds of all local minima, best first."""
    return [solution.bound, *(minimum.bound for minimum in solution.local_minima)]


def problem_of(name: str, bound: tuple[str, str, float], uniform: bool, m: int = 40, **arguments) -> pm.BoundProblem:
    divergence, distance, order = bound
    prior = None if uniform else PRIORS[name]
    return pm.BoundProblem(RISKS[name], m, 0.05, distance, divergence, prior, order=order, **arguments)


# --- against brute force ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", EVERY_BOUND, ids=lambda bound: "-".join(map(str, bound)))
@pytest.mark.parametrize("name", RISKS)
def test_every_minimum_to_twelve_digits(name, bound):
    """Both priors in turn, so that each bound meets each risk vector once in fifty digits."""
    uniform = (list(RISKS).index(name) + EVERY_BOUND.index(bound)) % 2 == 0
    problem = problem_of(name, bound, uniform)
    solution = solve(problem)
    expected = scan(problem, count=4000)
    assert solution.is_global
    assert solution.kkt_residual <= 1e-10
    assert abs(solution.bound - float(expected[0][0])) <= 1e-12
    found = minima(solution)
    assert found == sorted(found)
    for value, _ in expected:
        assert min(abs(value - number) for number in found) <= 1e-12
    # What the scan cannot see is a valley narrower than its grid: with kl and zero risks, the end of the path.
    unseen = [number for number in found if min(abs(value - number) for value, _ in expected) > 1e-12]
    assert len(unseen) <= (bound[1] == "kl" and problem.risks.min() == 0.0)


@pytest.mark.parametrize("constant", ["exact", "paper"])
@pytest.mark.parametrize("m", [1, 30, 10**4, 10**9])
@pytest.mark.parametrize("bound", EVERY_BOUND[:8], ids=lambda bound: "-".join(map(str, bound)))
def test_every_constant_and_sample_size(bound, m, constant):
    """Stationary, and better than a thousand points of the path and two hundred off it."""
    problem = problem_of("spread", bound, uniform=False, m=m, constant=constant)
    solution = solve(problem)
    assert solution.is_global
    assert solution.kkt_residual <= 1e-10
    random = np.random.default_rng(m)
    for other in random.dirichlet(np.full(6, 0.5), size=200):
        step = 10.0 ** random.uniform(-6, 0)
        assert problem.bound((1 - step) * solution.posterior + step * other) >= solution.bound - 1e-14 * solution.bound
    assert min(float(value) for value, _ in scan(problem, count=1000)) >= solution.bound * (1 - 1e-12)


TWO_MINIMA = [
    ([0.02] + [0.3] * 20, 50, "squared"),
    ([0.05] + [0.3] * 20, 50, "squared"),
    ([0.0] + [0.5] * 60, 30, "squared"),
    ([0.05, 0.10] + [0.30] * 48, 50, "squared"),
    ([0.02] + [0.3] * 20, 30, "kl"),
    ([0.05] + [0.5] * 20, 20, "kl"),
    ([0.02] + [0.5] * 60, 20, "kl"),
    ([0.05, 0.10] + [0.30] * 48, 50, "kl"),
]


@pytest.mark.parametrize("risks, m, distance", TWO_MINIMA)
def test_two_minima_under_a_uniform_prior(risks, m, distance):
    """Few good classifiers among many poor ones: a scan finds both minima, and so does descent that knows no path."""
    problem = pm.BoundProblem(risks, m, 0.05, distance)
    solution = solve(problem)
    assert solution.is_global
    assert len(solution.local_minima) == 1
    expected = scan(problem)
    assert minima(solution) == pytest.approx([float(value) for value, _ in expected], abs=1e-12)
    other = solution.local_minima[0]
    assert other.bound > solution.bound

    starts = problem.prior, softmax(np.where(np.array(risks) < 0.2, 6.0, 0.0))
    reached = sorted(descend(problem, start) for start in starts)
    # Multiplied weights never reach zero: they come only so close to a minimum on the boundary.
    assert reached == pytest.approx(minima(solution), abs=1e-5)
    assert reached[0] >= solution.bound - 1e-12


def descend(problem: pm.BoundProblem, q: np.ndarray) -> float:
    """The bound at the end of a descent by small multiplicative steps, too small to leap out of a valley."""
    rate, bound = 0.1, problem.bound(q)
    for _ in range(2000):
        slope = problem.gradient(q)
        slope -= q @ slope
        trial = q * np.exp(-min(rate, 0.1 / np.abs(slope).max()) * slope)
        trial /= trial.sum()
        value = problem.bound(trial)
        if value < bound:
            q, bound, rate = trial, value, 1.2 * rate
        else:
            rate *= 0.5
    return bound


def test_local_minima_describe_themselves():
    problem = pm.BoundProblem([0.02] + [0.3] * 20, 50, 0.05, "squared")
    solution = solve(problem)
    (other,) = solution.local_minima
    assert solution.support_size == 1
    assert other.support_size == 21
    assert problem.outer(other.empirical_risk, other.divergence + 1.0) == pytest.approx(other.bound, abs=1e-14)
    assert problem.bound(solution.posterior) == solution.bound


def test_three_minima_of_a_high_order():
    """Near the uniform norm nearly every risk is a corner of the frontier, and the kl bound has a minimum at some."""
    risks, prior = [0.12, 0.38, 0.38, 0.43, 0.62, 0.71], [0.10, 0.06, 0.26, 0.32, 0.23, 0.03]
    problem = pm.BoundProblem(risks, 237, 0.05, "kl", "renyi", prior, order=10.0)
    expected = scan(problem)
    assert len(expected) == 3
    assert minima(solve(problem)) == pytest.approx([float(value) for value, _ in expected], abs=1e-12)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_random_problems_against_a_scan(seed):
    random = np.random.default_rng(seed)
    size = int(random.integers(2, 8))
    shapes = (
        random.random(size),
        random.integers(0, 8, size) / 10,
        random.beta(0.3, 0.3, size),
        random.random(size) ** 4,
    )
    risks = shapes[random.integers(len(shapes))]
    if np.ptp(risks) < 1e-6:
        risks[0] = 1.0 - risks[0]
    prior = random.dirichlet(np.full(size, random.choice([0.5, 5.0]))) + 1e-6
    divergence, distance, order = EVERY_BOUND[random.integers(len(EVERY_BOUND))]
    problem = pm.BoundProblem(
        risks, int(random.choice(SAMPLE_SIZES)), 10 ** random.uniform(-3, -0.5), distance, divergence,
        prior / prior.sum(), order=order,
    )  # fmt: skip
    solution = solve(problem)
    assert solution.is_global
    assert solution.kkt_residual <= 1e-10
    expected = scan(problem, count=3000, prominence=1e-8)
    assert solution.bound <= float(expected[0][0]) + 1e-12
    for value, _ in expected:
        assert min(abs(value - number) for number in minima(solution)) <= 1e-9


# --- digits ----------------------------------------------------------------------------------------------------------

#: Risks that nearly agree, and what separates them.
CLOSE = {
    "twelfth digit": 0.3 + 1e-12 * np.array([0, 3, 4, 7, 12, 30, 31]),
    "fifteenth digit": 0.3 + 5.6e-16 * np.array([0, 3, 4, 7, 12, 30, 31]),
    "near one": 1 - 1e-3 * np.array([0.9, 0.85, 0.5, 0.3, 0.1, 0.05]),
}


class Rescaled(pm.BoundProblem):
    """A problem whose moment constant is set so that the optimal support breaks off inside the set."""

    def __init__(self, coefficient: float, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self._set(coefficient=coefficient)


@pytest.mark.parametrize("distance", ["linear", "squared", "kl"])
@pytest.mark.parametrize("name", CLOSE)
def test_risks_that_nearly_agree(name, distance):
    """Bound, support and weights against the fifty-digit optimum of the very numbers that were passed."""
    risks = CLOSE[name]
    scale, mean = float(np.ptp(risks)) / 3, float(np.mean(risks))
    # With these, d, which is c/√Q, balances inside the set; no sample is large enough for a smaller constant of kl.
    least = 1e-10 if distance == "kl" else 0.0
    coefficient = {"linear": scale, "squared": 4 * scale**2, "kl": 2 * scale**2 / (mean * (1 - mean))}[distance]
    problem = Rescaled(max(coefficient, least), risks, 100, 0.05, distance)
    outcome = chi_squared.minimise(problem)
    bound, parameter = best(problem, 300)
    assert outcome.is_global
    assert abs(problem.bound(outcome.posterior) - float(bound)) <= 1e-12
    assert problem.kkt_residual(outcome.posterior) <= 1e-10
    exact = Reference(problem).posterior(parameter)
    assert [w > 0 for w in outcome.posterior] == [w > 0 for w in exact]
    assert outcome.posterior == pytest.approx([float(w) for w in exact], abs=1e-10)


@pytest.mark.parametrize("distance", ["linear", "squared", "kl"])
@pytest.mark.parametrize("m", [10**2, 10**6, 10**9])
def test_close_risks_beside_an_outlier_with_little_prior(m, distance):
    """A variance of 1e-10 beside one of 1e-18: subtracting squares of means would lose the latter."""
    risks, prior = [0.0, 0.5, 0.5 + 1e-9, 0.5 + 2e-9, 0.5 + 5e-9], [1e-10, *[(1 - 1e-10) / 4] * 4]
    problem = pm.BoundProblem(risks, m, 0.05, distance, prior=prior)
    solution = solve(problem)
    assert solution.is_global
    assert solution.kkt_residual <= 1e-10
    assert abs(solution.bound - float(scan(problem, count=4000)[0][0])) <= 1e-12


@pytest.mark.parametrize("distance", ["linear", "squared", "kl"])
def test_weights_of_a_long_run_of_close_risks(distance):
    """Forty risks close together, the support ending among them: exact zeros beyond it."""
    gap, coefficient = {"linear": (1e-12, 1e-11), "squared": (1e-12, 1e-22), "kl": (1e-6, 3e-10)}[distance]
    risks = 0.3 + gap * np.arange(40)
    problem = Rescaled(coefficient, risks, 100, 0.05, distance)
    posterior = chi_squared.minimise(problem).posterior
    _, parameter = best(problem, 80)
    exact = Reference(problem).posterior(parameter)
    assert 3 < np.count_nonzero(posterior) < 40
    assert [w > 0 for w in posterior] == [w > 0 for w in exact]
    assert posterior == pytest.approx([float(w) for w in exact], abs=1e-10)


def test_geometric_prior_over_a_thousand_classifiers():
    """Prior weights down to 1e-301: no overflow, no warning, and the optimum of every bound."""
    prior = 2.0 ** -np.arange(1, 1001)
    prior[-1] *= 2
    for risks in (np.linspace(0.9, 0.01, 1000), np.random.default_rng(1).random(1000)):
        for divergence, distance, order in EVERY_BOUND:
            problem = pm.BoundProblem(risks, 100, 0.05, distance, divergence, prior, order=order)
            with np.errstate(under="ignore"):
                solution = solve(problem)
            assert solution.is_global
            assert solution.kkt_residual <= 1e-10


# --- special sets ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", EVERY_BOUND, ids=lambda bound: "-".join(map(str, bound)))
def test_equal_risks_give_the_prior(bound):
    divergence, distance, order = bound
    prior = [0.2, 0.5, 0.3]
    for risk in (0.0, 0.25, 1.0):
        problem = pm.BoundProblem([risk] * 3, 50, 0.05, distance, divergence, prior, order=order)
        solution = solve(problem)
        assert solution.posterior.tolist() == prior
        assert solution.is_global
    single = solve(pm.BoundProblem([0.3], 50, 0.05, distance, divergence, order=order))
    assert single.posterior.tolist() == [1.0]


@pytest.mark.parametrize("divergence, order", [("chi2", 2.0), ("renyi", 1.5), ("renyi", 4.0)])
def test_kl_end_of_path_without_errors(divergence, order):
    """At L = 0 the slope in L is infinite: moving any mass, however little, off the zero risks raises the bound."""
    problem = pm.BoundProblem([0.0, 0.3, 0.35, 0.0], 40, 0.05, "kl", divergence, [0.01, 0.5, 0.48, 0.01], order=order)
    solution = solve(problem)
    reference = Reference(problem)
    end = reference.end()
    at_end = [minimum for minimum in (solution, *solution.local_minima) if minimum.empirical_risk == 0.0]
    assert len(at_end) == 1
    assert at_end[0].bound == pytest.approx(float(end), abs=1e-12)
    assert at_end[0].support_size == 2
    mp.dps = 3000
    second = min(y for y in reference.y if y > 0)
    for exponent in (400, 600, 1000):
        assert reference.bound(reference.posterior(second + mpf(10) ** -exponent)) > reference.end()


@pytest.mark.parametrize("second, is_minimum", [(0.04, True), (0.0101, True), (0.005, False), (0.001, False)])
def test_gibbs_end_of_path_without_errors(second, is_minimum):
    """All mass on the zero risks is a local minimum of kl with the KL divergence when the next risk exceeds 1/m."""
    problem = pm.BoundProblem([0.0, second, 0.4], 100, 0.05, "kl", "kl", [0.3, 0.3, 0.4])
    solution = solve(problem)
    reference = Reference(problem)
    mp.dps = 3000
    end, before, after = (
        reference.end(),
        reference.bound(reference.posterior(mpf(1500) / mpf(second))),
        reference.bound(reference.posterior(mpf(2500) / mpf(second))),
    )
    assert (before > after > end) == is_minimum
    lowest = [m for m in solution.local_minima if m.empirical_risk == 0.0] + [solution] * (
        solution.empirical_risk == 0.0
    )
    assert bool(lowest) == is_minimum


def test_many_zero_risks():
    """Separable data: the optimum is the prior restricted to classifiers without errors, with exact zeros elsewhere."""
    risks = np.repeat([0.0, 0.2], [30, 20])
    for distance in ("squared", "kl"):
        problem = pm.BoundProblem(risks, 5000, 0.05, distance)
        solution = solve(problem)
        assert solution.empirical_risk == 0.0
        assert solution.posterior[:30] == pytest.approx(np.full(30, 1 / 30), abs=1e-17)
        assert not solution.posterior[30:].any()


def test_tiny_risks():
    """Gaps whose products underflow count as ties: the bound is that of the risks rounded to zero."""
    tiny = pm.BoundProblem([0.0, 5e-324, 1e-310, 1e-200, 0.3], 100, 0.05)
    for divergence, distance, order in EVERY_BOUND:
        problem = tiny.replace(divergence=divergence, distance=distance, order=order)
        rounded = solve(problem.replace(risks=[0.0, 0.0, 0.0, 0.0, 0.3]))
        outcome = {"chi2": chi_squared, "kl": gibbs, "renyi": renyi}[divergence].minimise(problem)
        assert outcome.is_global
        assert problem.bound(outcome.posterior) == pytest.approx(rounded.bound, abs=1e-14)
        for risks in ([1e-60, 2e-60, 0.3], [0.0, 1e-18, 1.0]):
            assert solve(problem.replace(risks=risks)).kkt_residual <= 1e-10


def test_unknown_option():
    with pytest.raises(pm.InputError, match=r"'grid'.*frontier"):
        pm.solve(pm.BoundProblem([0.1, 0.2], 50), "frontier", grid=100)


# --- orders ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", ["linear", "squared", "kl"])
def test_order_two_is_chi_squared(distance):
    random = np.random.default_rng(2)
    risks, prior = random.random(30), random.dirichlet(np.ones(30))
    chi2 = pm.BoundProblem(risks, 60, 0.05, distance, "chi2", prior)
    exactly = solve(chi2.replace(divergence="renyi", order=2.0))
    assert exactly.posterior == pytest.approx(solve(chi2).posterior, abs=1e-15)
    assert exactly.bound == pytest.approx(solve(chi2).bound, abs=1e-15)

    class Nearly(pm.BoundProblem):
        """The path of a slightly different order with the coefficient of order two, which changes little."""

        coefficient = chi2.coefficient

    for order in (2.0 - 1e-9, 2.0 + 1e-9):
        nearly = Nearly(risks, 60, 0.05, distance, "renyi", prior, order=order)
        assert renyi.minimise(nearly).posterior == pytest.approx(solve(chi2).posterior, abs=1e-7)


@pytest.mark.parametrize("distance", ["linear", "squared", "kl"])
@pytest.mark.parametrize("order", [1 + 1e-6, 1.0001, 1.01, 1.9, 2.1, 5.0, 50.0])
def test_orders_near_one_and_large(order, distance):
    random = np.random.default_rng(int(order * 10))
    problem = pm.BoundProblem(
        random.random(20), 60, 0.05, distance, "renyi", random.dirichlet(np.ones(20)), order=order
    )
    solution = solve(problem)
    assert solution.is_global
    assert solution.kkt_residual <= 1e-10
    others = (1 - 1e-3) * solution.posterior + 1e-3 * random.dirichlet(np.full(20, 0.3), size=300)
    assert all(problem.bound(q) >= solution.bound - 1e-14 for q in others)
    assert all(problem.bound(q) >= solution.bound for q in random.dirichlet(np.full(20, 0.3), size=300))


# --- the certificate's ingredients -----------------------------------------------------------------------------------


class ChiSquaredSegment(chi_squared.Segment):
    """With the methods of the other paths: the elasticity of a segment rises, so that its ends enclose it."""

    def evaluate(self, z: np.ndarray) -> Point:
        columns = zip(*(self.evaluate_one(one)[:-1] for one in z.tolist()), strict=True)
        return Point(*(np.array(values) for values in columns))

    def elasticity_range(self, start: Point, end: Point) -> tuple[np.ndarray, np.ndarray]:
        return start.e, end.e


def paths(random: np.random.Generator, problem: pm.BoundProblem):
    """The smooth pieces of a problem's path, each with an interval of its coordinate."""
    if problem.divergence == "kl":
        path = gibbs.GibbsPath(problem)
        low, high = path.limits(STATIONARITY[problem.distance]) if problem.distance != "linear" else (1.0, 1e3)
        yield path, math.log(low), math.log(high)
    elif problem.order == 2.0:
        y = np.sort(problem.risks - problem.risks.min())
        k = int(random.integers(1, y.size))
        below, prior = y[:k], problem.prior[np.argsort(problem.risks)][:k]
        P, W, Q = (float(np.sum(prior * (y[k] - below) ** j)) for j in range(3))
        S, R = (float(np.sum(prior * below * (y[k] - below) ** j)) for j in range(2))
        ramp = chi_squared.Ramp(float(y[k]), P, W, Q, Q - W * W / P, S, R)
        if W > 0.0:
            yield (
                ChiSquaredSegment(ramp, problem.coefficient, float(problem.risks.min())),
                -math.log(W + P),
                -math.log(W),
            )
    else:
        path = renyi.RenyiPath(problem)
        path.sort()
        segment = path.segment(int(random.integers(path.levels.size - 1)))
        yield segment, 0.0, 30.0


@pytest.mark.parametrize("order", [1.2, 3.0, 20.0])
@pytest.mark.parametrize("distance", ["linear", "squared", "kl"])
def test_leaving_out_large_risks_changes_nothing(distance, order, monkeypatch):
    """Large sets of a Rényi order: their largest risks are left out before the others are sorted."""
    random = np.random.default_rng(0)
    for kind in range(6):
        risks = random.random(400) ** (1, 3)[kind % 2]
        if kind > 3:
            risks = np.append(risks, 0.5 + risks / 2)[300:]  # one good classifier among poor ones: several minima
            risks[0] = 0.0
        prior = random.dirichlet(np.ones(risks.size)) if kind % 3 else None
        problem = pm.BoundProblem(risks, 40, 0.05, distance, "renyi", prior, order=order)
        found = []
        for few in (risks.size, 4):
            monkeypatch.setattr(renyi, "_FEW_ITEMS", few)
            found.append(renyi.minimise(problem))
        whole, narrowed = found
        assert narrowed.is_global == whole.is_global and len(narrowed.local_minima) == len(whole.local_minima)
        assert narrowed.posterior == pytest.approx(whole.posterior, abs=1e-10)


@given(st.integers(0, 2**32 - 1), st.sampled_from(EVERY_BOUND))
@settings(max_examples=150)
def test_enclosures_hold_between_their_ends(seed, bound):
    """Excess, threshold and elasticity at two hundred points of an interval stay in the ranges from its two ends."""
    divergence, distance, order = bound
    random = np.random.default_rng(seed)
    size = int(random.integers(2, 9))
    risks = random.random(size) ** random.choice([1, 3])
    problem = pm.BoundProblem(
        risks,
        int(random.choice(SAMPLE_SIZES)),
        0.05,
        distance,
        divergence,
        random.dirichlet(np.ones(size)),
        order=order,
    )
    stationarity = STATIONARITY[distance]
    for path, low, high in paths(random, problem):
        a, b = np.sort(random.uniform(low, high, 2))
        if random.random() < 0.5:
            b = min(a + 10.0 ** random.uniform(-4, -1), b)
        points = path.evaluate(np.linspace(a, b, 200))
        ends = stationarity.ends(points.L, points.b, points.d)
        first, last = ends.take(slice(0, 1)), ends.take(slice(199, 200))
        ranges = [
            (ends.excess, stationarity.excess_range(first, last)),
            (points.e, path.elasticity_range(points.take(slice(0, 1)), points.take(slice(199, 200)))),
        ]
        if distance != "linear":
            ranges.append((ends.threshold, stationarity.threshold_range(first, last)))
        for inside, (least, most) in ranges:
            slack = 1e-9 * np.abs(inside) + 1e-12 * (np.abs(points.b) + points.d)
            assert np.all(inside >= least[0] - slack)
            assert np.all(inside <= most[0] + slack)
        assert np.all(np.diff(points.L) <= 1e-15)
        assert np.all(np.diff(points.b) >= -1e-13 * points.b[1:])
        assert np.all(np.diff(points.d) >= -1e-13 * points.d[1:])


@given(st.floats(0.001, 0.999), st.floats(0.001, 0.999))
@settings(max_examples=60)
def test_the_kl_threshold_range_holds_across_one_half(first, second):
    """L (1 - L) has its peak inside an interval of empirical risks that crosses 1/2: no end of it shows that."""
    high, low = max(first, second), min(first, second)
    kl = STATIONARITY["kl"]
    ones = np.ones(1)
    start, end = kl.ends(high * ones, ones, ones), kl.ends(low * ones, ones, ones)
    least, most = kl.threshold_range(start, end)
    inside = np.linspace(low, high, 101)
    inside = inside * (1.0 - inside)
    assert least[0] <= inside.min() * (1.0 + 1e-15) and inside.max() <= most[0] * (1.0 + 1e-15)


@pytest.mark.parametrize("bound", EVERY_BOUND, ids=lambda bound: "-".join(map(str, bound)))
def test_excess_and_elasticity_are_derivatives(bound):
    """The sign of h is that of dB along the path; its slope, e, d and the speed are derivatives: by differences."""
    divergence, distance, order = bound
    random = np.random.default_rng(7)
    stationarity = STATIONARITY[distance]
    signs, checked, step = [], 0, 1e-4
    for _ in range(150):
        problem = pm.BoundProblem(
            random.random(6), int(random.choice(SAMPLE_SIZES)), 0.05, distance, divergence,
            random.dirichlet(np.ones(6)), order=order,
        )  # fmt: skip
        for path, low, high in paths(random, problem):
            z = float(random.uniform(low, min(high, low + 2.0)))
            left, here, right = (path.evaluate_one(value) for value in (z - step, z, z + step))
            dL, db, dd = right.L - left.L, right.b - left.b, right.d - left.d
            if abs(dL) < 1e-8 or abs(db) < 1e-8 * here.b or abs(dd) < 1e-8 * here.d:
                continue  # lost in rounding
            checked += 1
            assert -db / dL == pytest.approx(here.d, rel=1e-4)
            assert -dL / dd == pytest.approx(here.e, rel=1e-4)
            assert dd / (2 * step) == pytest.approx(here.speed, rel=1e-4)
            excess = [stationarity.excess(point.L, point.b, point.d) for point in (left, here, right)]
            slope = stationarity.excess_slope(here.L, here.d, here.e)
            assert (excess[2] - excess[0]) / dd == pytest.approx(slope, rel=1e-3, abs=1e-6 * (1 + here.b / here.d))
            invert = problem.distance_function.invert
            change = invert(right.L, right.b) - invert(left.L, left.b)
            if excess[0] * excess[2] > 0.0 and abs(change) > 1e-11:
                assert np.sign(change) == np.sign(excess[1])
                signs.append(float(np.sign(change)))
    assert checked >= 10
    assert {-1.0, 1.0} == set(signs)


@given(st.floats(0, 1), st.floats(0, 650))
def test_target_is_below_the_parabola(L, d):
    for stationarity in STATIONARITY.values():
        if stationarity is not STATIONARITY["linear"]:
            assert stationarity.target(L, d) <= 0.25 * d * d * (1 + 1e-12) + 1e-15
            vector = stationarity.target(np.array([L]), np.array([d]))
            assert vector[0] == pytest.approx(stationarity.target(L, d), rel=1e-14, abs=1e-15)


def test_sweep_settles_a_touching_zero():
    """Where the second minimum is about to appear, h touches zero: the sweep ends, and the optimum stays certified."""
    risks = [0.0] + [0.5] * 60

    def count(delta: float) -> int:
        return len(solve(pm.BoundProblem(risks, 30, delta, "squared")).local_minima)

    low, high = 0.05, 0.9
    assert count(low) != count(high)
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if count(middle) == count(0.05) else (low, middle)
    for delta in (low, high):
        problem = pm.BoundProblem(risks, 30, delta, "squared")
        solution = solve(problem)
        assert solution.is_global
        assert solution.kkt_residual <= 1e-10
        assert abs(solution.bound - float(scan(problem)[0][0])) <= 1e-12


def test_two_turns_inside_one_segment():
    """Falling, rising, falling between two neighbouring risks: seen although the ends of the segment do not show it."""
    problem = pm.BoundProblem([0.0] + [0.5] * 60, 30, 0.05, "squared")
    path = chi_squared.ChiSquaredPath(problem)
    P, W, Q = 1 / 61, 0.5 / 61, 0.25 / 61
    segment = chi_squared.Segment(chi_squared.Ramp(0.5, 1.0, W, Q, P * (1 - P) * 0.25, 30 / 61, 0.0), path.c, 0.0)
    ends = [segment.evaluate_one(z) for z in (-math.log(W + 1.0), -math.log(W))]
    assert all(path.stationarity.excess(point.L, point.b, point.d) < 0.0 for point in ends)
    assert len(solve(problem).local_minima) == 1


@given(st.integers(0, 2**32 - 1), st.sampled_from(["squared", "kl"]))
@settings(max_examples=200)
def test_rising_part_of_a_segment(seed, distance):
    """The excess rises exactly between the two ends: by its slope at two hundred points."""
    random = np.random.default_rng(seed)
    stationarity = STATIONARITY[distance]
    # Few below and many above, or the reverse; risks above one half let the threshold rise at first.
    P = random.uniform(0.1, 1.0)
    weights = np.array([10.0 ** random.uniform(-4, 0), 1.0])
    below = np.array([0.0, random.uniform(0, 0.3)])
    position = float(below[1] + 10.0 ** random.uniform(-4, -1))
    weights *= P / weights.sum()
    W, Q = (float(np.sum(weights * (position - below) ** k)) for k in (1, 2))
    S, R = (float(np.sum(weights * below * (position - below) ** k)) for k in (0, 1))
    ramp = chi_squared.Ramp(position, P, W, Q, Q - W * W / P, S, R)
    floor, c = random.uniform(0.0, 0.6), 10.0 ** random.uniform(-6, 1)
    segment = chi_squared.Segment(ramp, c, floor)
    low, high = -math.log(W + P * 10.0 ** random.uniform(-3, 0)), -math.log(W)
    part = segment.rising_part(stationarity, low, high)
    for z in np.linspace(low, high, 200).tolist():
        point = segment.evaluate_one(z)
        slope = stationarity.excess_slope(point.L, point.d, point.e)
        if abs(slope) > 1e-9 * point.d:
            assert (slope > 0.0) == (part is not None and part[0] <= z <= part[1])


# --- large sets ------------------------------------------------------------------------------------------------------


def large_sets(size: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    return {
        "uniform": random.random(size),
        "counts": random.binomial(200, 0.2, size) / 200,
        "four values": random.integers(0, 4, size) / 10,
        "mostly zero": np.where(random.random(size) < 0.9, 0.0, random.random(size)),
        "one outlier": np.append(0.3 + 1e-9 * random.random(size - 1), 0.9),
        "decades": 10.0 ** random.uniform(-12, 0, size),
        "two groups": np.append(random.uniform(0.02, 0.03, 40), random.uniform(0.4, 0.42, size - 40)),
    }


@pytest.mark.parametrize("distance", ["linear", "squared", "kl"])
@pytest.mark.parametrize("name", large_sets(100))
def test_buckets_find_what_sorting_finds(name, distance, monkeypatch):
    """The search without a sort gives the same minima as the walk over all sorted risks, for both kinds of prior."""
    risks = large_sets(40_000)[name]
    prior = np.random.default_rng(4).random(risks.size) + 0.01
    for m in (30, 3000):
        for weights in (None, prior / prior.sum()):
            problem = pm.BoundProblem(risks, m, 0.05, distance, prior=weights)
            monkeypatch.setattr(chi_squared, "_SMALL", 1000)
            quick = solve(problem)
            monkeypatch.setattr(chi_squared, "_SMALL", 10**9)
            thorough = solve(problem)
            assert quick.is_global
            assert quick.kkt_residual <= 1e-10
            assert quick.bound == pytest.approx(thorough.bound, abs=1e-13)
            assert len(quick.local_minima) == len(thorough.local_minima)
            for ours, theirs in zip(quick.local_minima, thorough.local_minima, strict=True):
                assert ours.bound == pytest.approx(theirs.bound, abs=1e-12)
                assert ours.support_size == theirs.support_size


def test_two_minima_in_a_large_set():
    """A few good classifiers among forty thousand: both minima survive the exclusion of buckets."""
    risks = large_sets(40_000)["two groups"]
    found = {m: len(solve(pm.BoundProblem(risks, m, 0.05, "squared")).local_minima) for m in (300, 600, 1200, 2400)}
    assert 1 in found.values()


@pytest.mark.parametrize("distance", ["linear", "squared", "kl"])
def test_a_million(distance):
    random = np.random.default_rng(5)
    prior = random.random(10**6) + 0.01
    problem = pm.BoundProblem(random.random(10**6), 1000, 0.05, distance, prior=prior / prior.sum())
    solution = solve(problem)
    assert solution.is_global
    assert solution.kkt_residual <= 1e-10
    assert solution.posterior.sum() == pytest.approx(1.0, abs=1e-12)
    highest = problem.risks[solution.posterior > 0].max()
    assert np.array_equal(solution.posterior > 0, problem.risks <= highest)
    inner = problem.risks <= 0.9 * highest
    weights = np.where(inner, solution.posterior, 0.0)
    assert problem.bound(weights / weights.sum()) > solution.bound


# --- invariants ------------------------------------------------------------------------------------------------------

risk_lists = st.lists(st.integers(0, 1000).map(lambda k: k / 1000), min_size=1, max_size=12)


@given(risk_lists, st.sampled_from(EVERY_BOUND), st.randoms(use_true_random=False), st.sampled_from(SAMPLE_SIZES))
def test_order_of_the_classifiers_does_not_matter(risks, bound, random, m):
    divergence, distance, order = bound
    shuffled = list(range(len(risks)))
    random.shuffle(shuffled)
    prior = np.arange(1.0, len(risks) + 1)
    prior /= prior.sum()
    problem = pm.BoundProblem(risks, m, 0.05, distance, divergence, prior, order=order)
    permuted = problem.replace(risks=np.array(risks)[shuffled], prior=prior[shuffled])
    solution, other = solve(problem), solve(permuted)
    assert other.bound == pytest.approx(solution.bound, abs=1e-13)
    if not solution.local_minima:
        assert other.posterior == pytest.approx(solution.posterior[shuffled], abs=1e-9)


@given(risk_lists, st.sampled_from(EVERY_BOUND), st.sampled_from(SAMPLE_SIZES), st.integers(0, 2**32 - 1))
def test_posterior_is_on_the_simplex_and_no_other_is_better(risks, bound, m, seed):
    divergence, distance, order = bound
    random = np.random.default_rng(seed)
    problem = pm.BoundProblem(
        risks, m, 0.05, distance, divergence, random.dirichlet(np.full(len(risks), 3.0)), order=order
    )
    solution = solve(problem)
    assert np.all(solution.posterior >= 0.0)
    assert solution.posterior.sum() == pytest.approx(1.0, abs=1e-14)
    assert solution.is_global
    for q in random.dirichlet(np.full(len(risks), 0.5), size=20):
        assert problem.bound(q) >= solution.bound - 1e-13
    assert problem.bound(problem.prior) >= solution.bound - 1e-13


@given(risk_lists, st.sampled_from(EVERY_BOUND), st.sampled_from(SAMPLE_SIZES), st.floats(0.001, 0.4))
def test_more_examples_or_less_confidence_lower_the_minimum(risks, bound, m, delta):
    divergence, distance, order = bound
    problem = pm.BoundProblem(risks, m, delta, distance, divergence, order=order)
    smallest = solve(problem).bound
    assert solve(problem.replace(delta=1.5 * delta)).bound <= smallest + 1e-13
    assert solve(problem.replace(m=2 * m)).bound <= smallest + 1e-13


@pytest.mark.parametrize("delta", [0.01, 0.2])
def test_the_narrowest_minimum_is_certified(delta):
    # The second smallest risk is 1/m, where the end of the Gibbs path is just stationary and e^d overflows before it.
    risks = np.random.default_rng(5).binomial(10**6, 1e-6, 400) / 1e6
    problem = pm.BoundProblem(risks, m=10**6, delta=delta, distance="kl", divergence="kl")
    solution = pm.solve(problem, "frontier")
    assert solution.status == "optimal" and solution.is_global
    assert solution.bound <= pm.solve(problem, "fixed-point").bound + 1e-12


@pytest.mark.parametrize("d", [1e-8, 0.3, 50.0, 699.9, 700.1, 800.0, 3000.0])
def test_budget_at_which_kl_turns(d):
    # ln(1 - L + L e^d) - L d: e^d overflows, and the difference rounds like its terms.
    with mp.workdps(400):
        for L in (5e-324, 1e-311, 1e-304, 1e-200, 1e-20, 0.3, 1.0 - 2.0**-53):
            exact = mp.log(1 - mpf(L) + mpf(L) * mp.exp(d)) - mpf(L) * d
            arrays = STATIONARITY["kl"].target(np.array([L]), np.array([d]))
            for value in (STATIONARITY["kl"].target(L, d), arrays[0]):
                assert float(value) == pytest.approx(float(exact), rel=1e-12, abs=2.0**-51 * (1.0 + L * d))


@settings(deadline=None, max_examples=50)
@given(st.floats(5e-324, 1e-290), st.integers(1, 10**8), st.floats(1e-9, 0.9))
def test_the_smallest_risks_there_are(risk, m, delta):
    problem = pm.BoundProblem([0.0, risk, risk], m=m, delta=delta, distance="kl", divergence="kl")
    solution = pm.solve(problem, "frontier")
    assert solution.is_global and solution.status == "optimal"
    assert solution.bound == pytest.approx(problem.bound(problem.prior), rel=1e-12)


@pytest.mark.parametrize("prior", ["uniform", "random"])
@pytest.mark.parametrize("spread", [0.3, 1e-3])
def test_sums_over_many_classifiers_on_the_gibbs_path(prior, spread):
    """More than fit into a cache are summed block by block; with little spread the variance is not a difference."""
    random = np.random.default_rng(0)
    risks = np.append(0.1, 0.4 + spread * random.random(70_000))
    weights = None if prior == "uniform" else random.dirichlet(np.ones(risks.size))
    problem = pm.BoundProblem(risks, m=1000, delta=0.05, distance="kl", divergence="kl", prior=weights)
    beta = 7.0
    point = gibbs.GibbsPath(problem).evaluate_one(math.log(beta))
    exact = problem.prior.astype(np.longdouble) * np.exp(-np.longdouble(beta) * (problem.risks - np.longdouble(0.1)))
    total = exact.sum()
    exact /= total
    mean = (exact * problem.risks).sum()
    assert point.L == pytest.approx(float(mean), rel=1e-13)
    divergence = float(-beta * (mean - np.longdouble(0.1)) - np.log(total))
    assert point.b * problem.exponent - problem.coefficient == pytest.approx(divergence, abs=1e-11)
    variance = float((exact * (problem.risks - mean) ** 2).sum())
    assert point.e == pytest.approx(problem.exponent * variance, rel=1e-11)
