"""The global search: against brute force in fifty digits, the certificate's ingredients one by one, invariants."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy.special import softmax

import pacb_models as pm
from pacb_models.distances import BY_NAME, Inverse
from pacb_models.divergences import by_name
from pacb_models.proofs import check_proof
from pacb_models.solvers.exact import frontier as exact
from pacb_models.solvers.exact.frontier import SOLVER

from ..drawn import arrays, powers_of_ten, some_weights, weights, with_orders
from ..own_bounds import Mixed, Relative, Sharp, TangentChiSquared
from .path_reference import Reference, best, scan

EVERY_BOUND = with_orders(1.01, 1.5, 3.0, 12.0)
#: Rényi's divergence has no constants of the paper's.
OF_THE_PAPER = [bound for bound in EVERY_BOUND if bound[0] != "renyi"]
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


@pytest.mark.long
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


@pytest.mark.long
@pytest.mark.parametrize("constant", ["exact", "paper"])
@pytest.mark.parametrize("m", [1, 30, 10**4, 10**9])
@pytest.mark.parametrize("bound", OF_THE_PAPER, ids=lambda bound: "-".join(map(str, bound)))
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
    ([0.05] + [0.3] * 20, 50, "squared"),
    ([0.0] + [0.5] * 60, 30, "squared"),
    ([0.05, 0.10] + [0.30] * 48, 50, "squared"),
    ([0.02] + [0.3] * 20, 30, "kl"),
    ([0.02] + [0.5] * 60, 20, "kl"),
    ([0.05, 0.10] + [0.30] * 48, 50, "kl"),
]


@pytest.mark.long
@pytest.mark.parametrize("risks, m, distance", TWO_MINIMA)
def test_two_minima_under_a_uniform_prior(risks, m, distance):
    """Few good classifiers among many poor ones: a scan finds both minima, and so does descent that knows no path."""
    problem = pm.BoundProblem(risks, m, 0.05, distance)
    solution = solve(problem)
    assert solution.is_global
    (other,) = solution.local_minima
    expected = scan(problem)
    assert minima(solution) == pytest.approx([float(value) for value, _ in expected], abs=1e-12)
    assert other.bound > solution.bound == problem.bound(solution.posterior)
    assert {solution.support_size, other.support_size} == {len(risks), sum(risk < 0.2 for risk in risks)}
    assert problem.bound_at(other.empirical_risk, math.sqrt(other.divergence + 1.0)) == pytest.approx(other.bound)
    starts = problem.prior, softmax(np.where(np.array(risks) < 0.2, 6.0, 0.0))
    reached = sorted(pm.solve(problem, "mirror", start=start).bound for start in starts)
    assert reached == pytest.approx(minima(solution), abs=1e-9) and reached[0] >= solution.bound - 1e-12


def test_minima_of_a_high_order():
    """Near the uniform norm nearly every risk is a corner of the frontier, and the kl bound has a minimum at some.

    Those that the proof does not need may be missed.
    """
    risks, prior = [0.12, 0.38, 0.38, 0.43, 0.62, 0.71], [0.10, 0.06, 0.26, 0.32, 0.23, 0.03]
    problem = pm.BoundProblem(risks, 237, 0.05, "kl", "renyi", prior, order=10.0)
    expected = scan(problem)
    assert len(expected) == 3
    found = minima(solve(problem))
    assert found[0] == pytest.approx(float(min(value for value, _ in expected)), abs=1e-12)
    assert all(min(abs(each - float(value)) for value, _ in expected) <= 1e-12 for each in found)


@st.composite
def few_risks(draw):
    """Anywhere, with ties, near the ends, or small."""
    shapes = (
        st.integers(0, 10**6).map(lambda k: k / 10**6),
        st.integers(0, 7).map(lambda k: k / 10),
        st.integers(0, 1000).map(lambda k: round(0.5 - 0.5 * math.cos(math.pi * k / 1000), 6)),
        st.integers(0, 1000).map(lambda k: (k / 1000) ** 4),
    )
    return draw(arrays(draw(st.sampled_from(shapes)), draw(st.integers(2, 7))))


@pytest.mark.long
@given(few_risks(), st.sampled_from(EVERY_BOUND), st.sampled_from(SAMPLE_SIZES), powers_of_ten(-3.0, -0.5), st.data())
@settings(max_examples=40)
def test_random_problems_against_a_scan(risks, bound, m, delta, data):
    assume(np.ptp(risks) >= 1e-6)
    divergence, distance, order = bound
    prior = data.draw(weights(risks.size, decades=5.0))
    problem = pm.BoundProblem(risks, m, delta, distance, divergence, prior, order=order)
    solution = solve(problem)
    assert solution.is_global
    assert solution.kkt_residual <= 1e-10
    expected = scan(problem, count=3000, prominence=1e-8)
    assert solution.bound <= float(expected[0][0]) + 1e-12
    # Others are listed where the search met them, which it need not.
    assert minima(solution) == sorted(minima(solution))


# --- digits ----------------------------------------------------------------------------------------------------------

#: Risks that nearly agree, and what separates them.
CLOSE = {
    "twelfth digit": 0.3 + 1e-12 * np.array([0, 3, 4, 7, 12, 30, 31]),
    "fifteenth digit": 0.3 + 5.6e-16 * np.array([0, 3, 4, 7, 12, 30, 31]),
    "near one": 1 - 1e-3 * np.array([0.9, 0.85, 0.5, 0.3, 0.1, 0.05]),
    "forty in a row": 0.3 + 1e-12 * np.arange(40),
}


class Rescaled(pm.BoundProblem):
    """A problem whose moment constant is set so that the optimal support breaks off inside the set."""

    def __init__(self, coefficient: float, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self._set(coefficient=coefficient)


@pytest.mark.long
@pytest.mark.parametrize("distance", ["linear", "squared", "kl"])
@pytest.mark.parametrize("name", CLOSE)
def test_risks_that_nearly_agree(name, distance):
    """Bound, support and weights against the fifty-digit optimum of the very numbers that were passed."""
    risks = CLOSE[name]
    scale, mean = float(np.ptp(risks)) / 3, float(np.mean(risks))
    # With these, d, which is c/√Q, balances inside the set; no sample is large enough for a smaller constant of kl.
    least = 1e-10 if distance == "kl" else 0.0
    coefficient = {"linear": scale, "squared": 4 * scale**2, "kl": 2 * scale**2 / (mean * (1 - mean))}[distance]
    if risks.size == 40:  # the support ends among them
        risks = 0.3 + 1e-6 * np.arange(40) if distance == "kl" else risks
        coefficient = {"linear": 1e-11, "squared": 1e-22, "kl": 3e-10}[distance]
    problem = Rescaled(max(coefficient, least), risks, 100, 0.05, distance)
    outcome = SOLVER.run(problem)
    assert risks.size < 40 or 3 < np.count_nonzero(outcome.posterior) < 40
    bound, parameter = best(problem, 80 if risks.size == 40 else 300)
    assert check_proof(problem, outcome.proof) >= problem.bound(outcome.posterior) * (1.0 - 1e-9)
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
    second = min(y for y in reference.y if y > 0)
    with mp.workdps(3000):
        for exponent in (400, 600, 1000):
            assert reference.bound(reference.posterior(second + mpf(10) ** -exponent)) > reference.end()


@pytest.mark.parametrize("second, is_minimum", [(0.04, True), (0.0101, True), (0.005, False), (0.001, False)])
def test_gibbs_end_of_path_without_errors(second, is_minimum):
    """All mass on the zero risks is a local minimum of kl with the KL divergence when the next risk exceeds 1/m."""
    problem = pm.BoundProblem([0.0, second, 0.4], 100, 0.05, "kl", "kl", [0.3, 0.3, 0.4])
    solution = solve(problem)
    reference = Reference(problem)
    with mp.workdps(3000):
        before, after = (reference.bound(reference.posterior(mpf(beta) / mpf(second))) for beta in (1500, 2500))
        assert (before > after > reference.end()) == is_minimum
    lowest = [m for m in solution.local_minima if m.empirical_risk == 0.0] + [solution] * (
        solution.empirical_risk == 0.0
    )
    assert bool(lowest) == is_minimum


def test_tiny_risks():
    """Gaps whose products underflow count as ties: the bound is that of the risks rounded to zero."""
    tiny = pm.BoundProblem([0.0, 5e-324, 1e-310, 1e-200, 0.3], 100, 0.05)
    for divergence, distance, order in EVERY_BOUND:
        problem = tiny.replace(divergence=divergence, distance=distance, order=order)
        rounded = solve(problem.replace(risks=[0.0, 0.0, 0.0, 0.0, 0.3]))
        outcome = SOLVER.run(problem)
        assert check_proof(problem, outcome.proof) >= problem.bound(outcome.posterior) * (1.0 - 1e-9)
        assert problem.bound(outcome.posterior) == pytest.approx(rounded.bound, abs=1e-14)
        for risks in ([1e-60, 2e-60, 0.3], [0.0, 1e-18, 1.0]):
            assert solve(problem.replace(risks=risks)).kkt_residual <= 1e-10


# --- orders ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", ["linear", "squared", "kl"])
def test_order_two_is_chi_squared(distance):
    random = np.random.default_rng(2)
    risks, prior = random.random(30), random.dirichlet(np.ones(30))
    chi2 = pm.BoundProblem(risks, 60, 0.05, distance, "chi2", prior)
    exactly = solve(chi2.replace(divergence="renyi", order=2.0))
    assert exactly.posterior == pytest.approx(solve(chi2).posterior, abs=1e-15)
    assert exactly.bound == pytest.approx(solve(chi2).bound, abs=1e-15)


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


# --- the theorem's ingredients ---------------------------------------------------------------------------------------

DIVERGENCES = [("chi2", 2.0), ("kl", 1.0), ("renyi", 1.05), ("renyi", 3.0), ("renyi", 40.0)]
some_ratios = st.lists(st.floats(1e-6, 1.0), min_size=2, max_size=8)


eight_risks = st.lists(st.floats(0, 1), min_size=8, max_size=8)


@given(some_ratios, some_ratios, eight_risks, st.floats(-8, 12), st.sampled_from(DIVERGENCES))
def test_every_line_supports_every_posterior(posterior, prior, risks, z, divergence):
    size = min(len(posterior), len(prior))
    q, p = (np.array(values[:size]) / sum(values[:size]) for values in (posterior, prior))
    risks = np.array(risks[:size])
    name, order = divergence
    chosen = by_name(name, order)
    frontier = chosen.frontier(risks, p, False)
    line = frontier.line(z)
    height = line.T + line.slope * line.x
    rounding = 1e-12 * (1.0 + height)
    assert chosen.size(q, p) + line.slope * float(np.dot(q, risks - frontier.least)) >= height - rounding
    touching = frontier.posterior(z)
    reached = chosen.size(touching, p) + line.slope * float(np.dot(touching, risks - frontier.least))
    assert reached == pytest.approx(height, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name, order", DIVERGENCES)
def test_lines_one_by_one_and_together(name, order):
    random = np.random.default_rng(1)
    frontier = by_name(name, order).frontier(random.random(40), random.dirichlet(np.ones(40)), False)
    z = np.linspace(-3.0, 8.0, 50)
    together = frontier.lines(z)
    for i, each in enumerate(z.tolist()):
        assert [float(values[i]) for values in together] == pytest.approx([*frontier.line(each)], rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("distance", BY_NAME)
def test_the_bound_is_jointly_concave(distance):
    """What the theorem rests on, for each of our distances: midpoints lie above chords."""
    random = np.random.default_rng(3)
    first, second = (np.array([random.random(2000), 10.0 ** random.uniform(-6, 0, 2000)]) for _ in range(2))
    r = [BY_NAME[distance].invert(*pair) for pair in (first, second, 0.5 * (first + second))]
    assert (r[2] >= 0.5 * (r[0] + r[1]) - 1e-13).all()


@pytest.mark.parametrize("d", [1e-8, 0.3, 50.0, 699.9, 700.1, 800.0, 3000.0])
def test_balance_of_kl(d):
    # ln(1 - L + L e^d) - L d: e^d overflows, and the difference rounds like its terms.
    kl = BY_NAME["kl"]
    with mp.workdps(400):
        for L in (5e-324, 1e-311, 1e-304, 1e-200, 1e-20, 0.3, 1.0 - 2.0**-53):
            exact = mp.log(1 - mpf(L) + mpf(L) * mp.exp(d)) - mpf(L) * d
            with np.errstate(divide="ignore"):
                arrays = kl.balance(np.array([L]), np.ones(1), np.array([d]))
            for value in (kl.balance(L, 1.0, d), arrays[0]):
                found = math.exp(2.0 * float(value))
                assert found == pytest.approx(float(exact), rel=1e-12, abs=2.0**-51 * (1.0 + L * d))


@given(st.sampled_from([*BY_NAME]), st.floats(0.001, 0.9), st.floats(1e-5, 1.0), st.floats(1e-3, 1e3))
def test_balance_has_the_sign_of_the_slopes(name, L, budget, rate):
    distance = BY_NAME[name]
    r = distance.derivatives(L, budget)
    expected = rate * r.b - r.L
    if abs(expected) > 1e-9 * r.L and r.value < 1.0 - 1e-9:
        assert (distance.balance(L, budget, rate) > 0.0) == (expected > 0.0)


# --- other people's bounds -------------------------------------------------------------------------------------------


class NumbersOnly(Relative):
    """The same with a method that takes no arrays."""

    def derivatives(self, L, b):
        return super().derivatives(float(L), float(b))


class Bent(Relative):
    """r = L + b²: convex in the budget, so that no theorem holds."""

    name = "bent"

    def derivatives(self, L, b):
        return Inverse(L + b * b, 1.0, 2 * b, 0.0, 0.0, 2.0)


FOREIGN = [(NumbersOnly(), "chi2"), (NumbersOnly(), "kl"), (Sharp(), "chi2"), (NumbersOnly(), Mixed())]
FOREIGN += [(name, Mixed()) for name in ("kl", "squared", "linear")]
FOREIGN += [(name, TangentChiSquared()) for name in ("kl", "squared")]


@pytest.mark.long
@pytest.mark.parametrize("distance, divergence", FOREIGN)
@pytest.mark.parametrize("risks", [[0.02, 0.4, 0.45], [0.1, 0.12, 0.3]])
def test_bounds_of_other_people_against_brute_force(distance, divergence, risks):
    problem = pm.BoundProblem(risks, m=80, distance=distance, divergence=divergence)
    solution = solve(problem)
    assert solution.is_global and solution.kkt_residual <= 1e-9

    def smallest_of(first, second):
        points = ([a, b, max(1.0 - a - b, 0.0)] for a in first for b in second if a + b <= 1.0 + 1e-9)
        return min((problem.bound(point), *point[:2]) for point in points)

    # A grid in steps of 1/50, then, around its best point, one in steps of 1/1000.
    _, *near = smallest_of(*2 * [np.linspace(0.0, 1.0, 51)])
    smallest, *_ = smallest_of(*(np.clip(x + np.linspace(-0.02, 0.02, 41), 0.0, 1.0) for x in near))
    assert solution.lower_bound <= solution.bound <= smallest
    assert solution.bound >= smallest - 1e-3
    assert solution.lower_bound == pytest.approx(solution.bound, rel=1e-11)


def test_nothing_is_proven_of_a_distance_that_is_not_convex():
    problem = pm.BoundProblem([0.1, 0.2, 0.4], m=50, distance=Bent())
    solution = pm.solve(problem, "frontier")
    assert not solution.is_global
    assert solution.lower_bound is None
    assert "not jointly convex" in solution.message


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


@pytest.mark.long
@pytest.mark.parametrize("divergence", ["chi2", "kl", "renyi"])
@pytest.mark.parametrize("name", large_sets(100))
def test_a_search_that_begins_in_bins_finds_what_the_thorough_one_finds(name, divergence, monkeypatch):
    risks = large_sets(40_000)[name]
    prior = np.random.default_rng(4).random(risks.size) + 0.01
    for m, distance in ((30, "squared"), (3000, "kl"), (300, "linear")):
        for given_prior in (None, prior / prior.sum()):
            problem = pm.BoundProblem(risks, m, 0.05, distance, divergence, prior=given_prior, order=3.0)
            quick = solve(problem)
            with monkeypatch.context() as patched:
                patched.setattr(exact, "LARGE", 10**9)
                thorough = solve(problem)
            assert quick.is_global and thorough.is_global
            assert quick.kkt_residual <= 1e-10
            assert quick.bound == pytest.approx(thorough.bound, rel=1e-12)


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


@pytest.mark.long
@given(risk_lists, st.sampled_from(EVERY_BOUND), st.sampled_from(SAMPLE_SIZES), st.floats(0.001, 0.4), st.data())
def test_invariants(risks, bound, m, delta, data):
    """A posterior that no other is below, in whatever order; more examples or less confidence lower the minimum."""
    divergence, distance, order = bound
    prior = data.draw(weights(len(risks)))
    problem = pm.BoundProblem(risks, m, delta, distance, divergence, prior, order=order)
    solution = solve(problem)
    assert np.all(solution.posterior >= 0.0) and solution.is_global
    assert solution.posterior.sum() == pytest.approx(1.0, abs=1e-14)
    for q in (prior, *data.draw(st.lists(some_weights(len(risks)), min_size=3, max_size=3))):
        assert problem.bound(q) >= solution.bound - 1e-13
    shuffled = data.draw(st.permutations(range(len(risks))))
    other = solve(problem.replace(risks=np.array(risks)[shuffled], prior=prior[shuffled]))
    assert other.bound == pytest.approx(solution.bound, abs=1e-13)
    if not solution.local_minima:
        assert other.posterior == pytest.approx(solution.posterior[shuffled], abs=1e-9)
    assert solve(problem.replace(delta=1.5 * delta)).bound <= solution.bound + 1e-13
    assert solve(problem.replace(m=2 * m)).bound <= solution.bound + 1e-13


@pytest.mark.parametrize("delta", [0.01, 0.2])
def test_the_narrowest_minimum_is_certified(delta):
    # The second smallest risk is 1/m, where the end of the Gibbs path is just stationary and e^d overflows before it.
    risks = np.random.default_rng(5).binomial(10**6, 1e-6, 400) / 1e6
    problem = pm.BoundProblem(risks, m=10**6, delta=delta, distance="kl", divergence="kl")
    solution = pm.solve(problem, "frontier")
    assert solution.status == "optimal" and solution.is_global
    assert solution.bound <= pm.solve(problem, "fixed-point").bound + 1e-12


@settings(max_examples=50)
@given(st.floats(5e-324, 1e-290), st.integers(1, 10**8), st.floats(1e-9, 0.9))
def test_the_smallest_risks_there_are(risk, m, delta):
    problem = pm.BoundProblem([0.0, risk, risk], m=m, delta=delta, distance="kl", divergence="kl")
    solution = pm.solve(problem, "frontier")
    assert solution.is_global and solution.status == "optimal"
    assert solution.bound == pytest.approx(problem.bound(problem.prior), rel=1e-12)
