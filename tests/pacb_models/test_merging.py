"""Equal risks as one classifier: the groups against a dictionary, the theorem by its consequences, every solver."""

import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pacb_models as pm
from pacb_models import merging
from pacb_models.benchmarks.problems.problem import PAPER_DATASETS
from pacb_models.benchmarks.problems.risks import load_risk_table
from pacb_models.solving.registry import capable_solvers

from ..drawn import PAIRS, arrays, priors, weights
from ..solvers.path_reference import scan
from ..solvers.solver_checks import TWO_MINIMA

#: Solvers that compute to the last digits; the others stop at a tolerance of their own.
EXACT = ("frontier", "fixed-point", "subset-search")


def dirichlet(size: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(size))


def tied(seed: int, size: int = 30, m: int = 40, random_prior: bool = True, **arguments) -> pm.BoundProblem:
    """Few error counts, 0 and ``m`` among them, for many classifiers."""
    generator = np.random.default_rng(seed)
    errors = np.append(generator.choice([0, 3, 4, 7, 11, 20], size - 1), m)
    prior = dirichlet(size, seed) if random_prior else None
    return pm.BoundProblem.from_counts(errors, m, prior=prior, order=1.5, **arguments)


@st.composite
def tied_problems(draw, sizes, m):
    """The same, drawn."""
    (divergence, distance), size = draw(st.sampled_from(PAIRS)), draw(sizes)
    errors = np.append(draw(arrays(st.sampled_from([0, 3, 4, 7, 11, 20]), size - 1)), m).astype(int)
    bound = {"distance": distance, "divergence": divergence, "order": 1.5}
    return pm.BoundProblem.from_counts(errors, m, prior=draw(priors(size)), **bound)


def check_groups(problem: pm.BoundProblem) -> None:
    """Risks, prior weights, counts and both directions of the translation, by definition."""
    merged, members = problem.merged(), {}
    for index, risk in enumerate(problem.risks.tolist()):
        members.setdefault(risk, []).append(index)
    smaller, members = merged.problem, dict(sorted(members.items()))
    if len(members) == problem.size:
        assert smaller is problem and merged.groups is None
        return
    assert smaller.risks.tolist() == list(members)
    assert merged.counts.tolist() == [len(group) for group in members.values()]
    assert smaller.prior == pytest.approx([problem.prior[group].sum() for group in members.values()], rel=1e-13)
    assert (smaller.m, smaller.delta, smaller.coefficient) == (problem.m, problem.delta, problem.coefficient)
    shares = dirichlet(smaller.size, 1)
    expanded = merged.expand(shares)
    for share, group in zip(shares, members.values()):
        wanted = share * problem.prior[group] / problem.prior[group].sum()
        np.testing.assert_allclose(expanded[group], wanted, rtol=1e-13, atol=0)
    assert merged.groups.sums(expanded) == pytest.approx(shares, rel=1e-13)


# --- the groups ------------------------------------------------------------------------------------------------------


@settings(max_examples=80)
@given(
    m=st.integers(1, 12),
    errors=st.lists(st.integers(0, 12), min_size=1, max_size=60),
    data=st.data(),
    how=st.sampled_from(["counts", "quotients", "one minus accuracy", "single precision", "mixed", "no counts"]),
)
def test_groups_are_those_of_equal_risks(m, errors, data, how):
    errors = np.minimum(errors, m)
    prior = data.draw(priors(errors.size))
    quotients = errors / m
    complements = 1.0 - (m - errors) / m
    risks = {
        "counts": quotients,
        "quotients": quotients,
        "one minus accuracy": complements,
        "single precision": quotients.astype(np.float32),
        "mixed": np.where(np.arange(errors.size) % 2, quotients, complements),
        "no counts": np.sqrt(quotients),
    }[how]
    problem = pm.BoundProblem(risks, m, distance="linear", prior=prior)
    if how == "counts":
        problem = pm.BoundProblem.from_counts(errors, m, distance="linear", prior=prior)
    check_groups(problem)


@pytest.mark.parametrize("m", [1000, 10**9])
@pytest.mark.parametrize("how", ["quotients", "one minus accuracy", "no counts"])
def test_groups_of_a_large_set(how, m):
    errors = np.random.default_rng(0).integers(0, 900, 20_000)
    risks = {"quotients": errors / m, "one minus accuracy": 1.0 - (m - errors) / m, "no counts": errors / 1777}[how]
    check_groups(pm.BoundProblem(risks, m, distance="linear", prior=dirichlet(errors.size, 3)))


def test_large_set_of_different_risks_is_left_alone():
    problem = pm.BoundProblem(np.random.default_rng(0).random(100_000), 1000)
    assert problem.merged().problem is problem


def test_risks_that_differ_in_the_last_digit_are_different():
    risks = np.array([0.1, np.nextafter(0.1, 1.0), 0.1, 0.3])
    assert pm.BoundProblem(risks, 10).merged().problem.risks.tolist() == sorted(set(risks.tolist()))


def test_equal_groups_keep_the_uniform_prior():
    merged = pm.BoundProblem([0.3, 0.1, 0.1, 0.3], 10).merged()
    assert merged.problem.uniform_prior and merged.problem.prior.tolist() == [0.5, 0.5]


def test_long_sums_are_accurate():
    """A million weights in one group; the sum of numbers that are not dyadic, to the last digits."""
    prior = np.full(10**6, 0.5 / (10**6 - 1))
    prior[0] = 0.5
    merged = pm.BoundProblem(np.append(0.3, np.full(10**6 - 1, 0.1)), 10, prior=prior).merged()
    assert merged.problem.prior == pytest.approx([0.5, 0.5], rel=1e-14)


# --- counts ----------------------------------------------------------------------------------------------------------


def test_from_counts_is_the_problem_of_the_risks():
    problem = pm.BoundProblem.from_counts([3, 0, 10], 10, delta=0.01, distance="squared", prior=[0.2, 0.3, 0.5])
    assert problem.risks.tolist() == [0.3, 0.0, 1.0]
    assert problem.errors.tolist() == [3, 0, 10] and not problem.errors.flags.writeable
    assert (problem.m, problem.delta, problem.distance) == (10, 0.01, "squared")
    assert problem.replace(delta=0.1).errors.tolist() == [3, 0, 10]
    assert problem.replace(m=20).errors is None
    assert problem.replace(risks=[0.1], prior=None).errors is None


@pytest.mark.parametrize(
    "errors, sentence",
    [
        ([1, -1], r"errors\[1\] is -1.0; every count must be a whole number from 0 to m = 10."),
        ([11, 12], r"errors\[0\] is 11.0 \(and 1 more\); every count .* m = 10."),
        ([0.5], r"errors\[0\] is 0.5; every count must be a whole number"),
        ([float("inf")], r"errors\[0\] is inf"),
    ],
)
def test_counts_that_are_none(errors, sentence):
    with pytest.raises(pm.InputError, match=sentence):
        pm.BoundProblem.from_counts(errors, 10)


# --- the theorem -----------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(problem=tied_problems(st.just(8), 20), posterior=weights(8, decades=5.0))
def test_averaging_within_groups_never_raises_the_bound(problem, posterior):
    """Jensen's inequality, at any posterior; and the two problems agree on what is averaged."""
    merged = problem.merged()
    shares = posterior if merged.groups is None else merged.groups.sums(posterior)
    averaged = merged.expand(shares)
    assert problem.bound(averaged) <= problem.bound(posterior) * (1 + 1e-13)
    assert problem.bound(averaged) == pytest.approx(merged.problem.bound(shares), rel=1e-14)
    assert problem.kkt_residual(averaged) == pytest.approx(merged.problem.kkt_residual(shares), rel=1e-9, abs=1e-14)
    assert problem.classify(averaged, 1e9) == merged.problem.classify(shares, 1e9)


@pytest.mark.parametrize("random_prior", [False, True], ids=["uniform", "random"])
@pytest.mark.parametrize("divergence, distance", PAIRS)
def test_merged_minimum_is_that_of_brute_force(divergence, distance, random_prior):
    """Every minimum of the raw problem, found by comparing bounds in fifty digits."""
    problem = tied(5, 9, 40, random_prior, divergence=divergence, distance=distance)
    solution = pm.solve(problem, merge=True)
    assert solution.details["merged_size"] < problem.size
    assert solution.is_global
    found = [solution.bound, *(minimum.bound for minimum in solution.local_minima)]
    expected = [float(bound) for bound, _ in scan(problem, count=4000)]
    assert found[0] == pytest.approx(expected[0], abs=1e-12)
    assert all(min(abs(bound - number) for number in found) <= 1e-12 for bound in expected)


#: Every divergence and every distance.
SOME = [("chi2", "linear"), ("renyi", "squared"), ("kl", "kl"), ("kl", "pinsker"), ("kl", "ch")]


@pytest.mark.outside
@pytest.mark.parametrize("divergence, distance", PAIRS)
def test_every_solver_with_and_without_merging(divergence, distance):
    problem = tied(2, divergence=divergence, distance=distance)
    minimum = pm.solve(problem).bound
    for name in capable_solvers(problem):
        if name == "scip" and (divergence, distance) not in SOME:
            continue  # half a second each; what merging changes, its numbers, has nothing to do with the model
        raw, merged = (pm.solve(problem, name, merge=merge) for merge in (False, True))
        assert raw.details["merged_size"] == problem.size
        assert merged.details["merged_size"] == len(set(problem.risks.tolist()))
        assert merged.status in ("optimal", "acceptable"), (name, merged.message)
        exact = name in EXACT
        # SLSQP gives up on some processors, where the weights of large orders rise vertically, and says so.
        if raw.status != "not_converged" or name != "slsqp":
            assert merged.bound == pytest.approx(raw.bound, rel=1e-13 if exact else 1e-7), name
            assert merged.posterior == pytest.approx(raw.posterior, abs=1e-12 if exact else 1e-3), name
        assert merged.bound >= minimum * (1 - 1e-13)
        assert merged.bound == pytest.approx(problem.bound(merged.posterior), rel=1e-14)
        assert problem.kkt_residual(merged.posterior) == pytest.approx(merged.kkt_residual, abs=1e-12)
        assert merged.support_size == np.count_nonzero(merged.posterior)
        assert merged.support_size == raw.support_size or not exact


@pytest.mark.long
@settings(max_examples=40)
@given(problem=tied_problems(st.integers(2, 100), 50))
def test_certified_minima_do_not_depend_on_merging(problem):
    raw, merged = pm.solve(problem, "frontier", merge=False), pm.solve(problem, "frontier", merge=True)
    assert raw.is_global and merged.is_global
    assert merged.bound == pytest.approx(raw.bound, rel=1e-13)
    assert merged.posterior == pytest.approx(raw.posterior, abs=1e-12)
    assert len(merged.local_minima) == len(raw.local_minima)
    for ours, other in zip(merged.local_minima, raw.local_minima):
        assert ours == pytest.approx(other, rel=1e-9)
        assert ours.support_size == other.support_size


@pytest.mark.parametrize("divergence, distance", PAIRS)
@pytest.mark.parametrize("errors", [[7] * 5, [0] * 5, [20] * 5, [0, 20, 0, 20], [4]], ids=str)
def test_degenerate_sets(errors, divergence, distance):
    """All equal, two values at the ends of the range, a single classifier: the raw minimum again."""
    problem = pm.BoundProblem.from_counts(errors, 20, distance=distance, divergence=divergence, order=3.0)
    for name in ("auto", "fixed-point"):
        merged, raw = (pm.solve(problem, name, merge=merge) for merge in (True, False))
        assert merged.details["merged_size"] == len(set(errors))
        assert merged.bound == pytest.approx(raw.bound, rel=1e-14)
        assert merged.posterior == pytest.approx(raw.posterior, abs=1e-13)


# --- what solve does with it -----------------------------------------------------------------------------------------


def test_a_starting_posterior_is_taken_as_it_is():
    """The paper's CCP returns its start; were the problem merged, the start would be averaged."""
    problem = pm.BoundProblem.from_counts([3, 1, 3, 4, 1, 7], 40, prior=dirichlet(6, 1))
    start = dirichlet(6, 4)
    solution = pm.solve(problem, "ccp", variant="paper", start=start, max_iterations=1)
    assert solution.details["merged_size"] == 6
    assert solution.posterior == pytest.approx(start, abs=1e-4)
    assert pm.solve(problem, "fixed-point", start=start).details["merged_size"] == 6
    assert pm.solve(problem, "fixed-point", start=None).details["merged_size"] < 6


def test_details_are_about_the_classifiers_of_the_problem():
    problem = tied(3, 20, divergence="chi2", distance="kl")
    sizes = np.cumsum(list(Counter(sorted(problem.risks.tolist())).values()))
    search = pm.solve(problem, "subset-search", merge=True, early_break=False)
    raw = pm.solve(problem, "subset-search", early_break=False)
    assert search.details["sizes"].tolist() == sizes.tolist()
    assert raw.details["sizes"].tolist() == list(range(1, 21))
    assert search.details["bounds"] == pytest.approx(raw.details["bounds"][sizes - 1], rel=1e-12, nan_ok=True)
    assert search.details["best_size"] == raw.details["best_size"] == search.support_size
    ccp = pm.solve(problem, "ccp", starts=2).details
    assert {point.support_size for point in ccp["distinct_points"]} <= set(sizes.tolist())
    points = pm.solve(problem, "fixed-point", starts=3).details["distinct_points"]
    assert points[0].support_size == search.support_size


def test_paper_algorithm_sees_every_classifier():
    """Its early break may fall between classifiers of equal risk; merged, it would go on."""
    problem = TWO_MINIMA
    assert pm.solve(problem, "subset-search").details["broke_at"] == 3
    merged = pm.solve(problem, "subset-search", merge=True)
    assert merged.details["broke_at"] is None and merged.details["best_size"] == 50
    assert merged.bound == pytest.approx(pm.solve(problem).bound, rel=1e-13)


def test_paper_break_is_counted_in_classifiers():
    problem = tied(3, 20, divergence="chi2", distance="linear", delta=0.9)
    merged = pm.solve(problem, "subset-search", merge=True)
    sizes = merged.details["sizes"].tolist()
    broke_at = merged.details["broke_at"]
    assert broke_at in sizes
    assert merged.details["best_size"] == sizes[sizes.index(broke_at) - 1]


def test_set_up_includes_merging(monkeypatch):
    problem = tied(1, divergence="chi2", distance="linear")
    original = merging.merge
    monkeypatch.setattr(merging, "merge", lambda argument: time.sleep(0.05) or original(argument))
    assert pm.solve(problem, merge=True).setup_seconds >= 0.05


@pytest.mark.parametrize("distance", ["linear", "kl"])
def test_small_sets_are_merged_for_those_who_gain_by_it(distance):
    small, large = (tied(1, size, divergence="chi2", distance=distance) for size in (999, 1000))
    assert pm.solve(small).details["merged_size"] == 7
    assert pm.solve(small, "fixed-point").details["merged_size"] == 7
    assert pm.solve(large).details["merged_size"] == 7
    # Few different risks are merged in a small set, too; many are not.
    assert pm.solve(small.replace(divergence="kl")).details["merged_size"] == 7
    half = small.replace(divergence="kl", risks=np.linspace(0.1, 0.3, 500)[np.arange(999) // 2])
    assert pm.solve(half).details["merged_size"] == 999


def test_merged_problem_is_the_one_that_would_be_made():
    """Nothing is checked or computed again on the way, so it must be right."""
    for problem in (tied(2), tied(2, random_prior=False), tied(2, divergence="kl"), tied(2, size=80)):
        merged = problem.merged().problem
        made = problem.replace(risks=merged.risks, prior=None if merged.uniform_prior else merged.prior)
        assert repr(merged) == repr(made)
        for name in ("m", "delta", "constant", "constant_value", "log_constant", "coefficient", "exponent", "order"):
            assert getattr(merged, name) == getattr(made, name)
        assert merged.prior.tolist() == made.prior.tolist() and not merged.prior.flags.writeable
        with pytest.raises(AttributeError):
            merged.m = 3


def test_a_direct_bound_that_was_asked_for_is_still_merged():
    """What a problem remembers of its own classifiers is not what its merged problem would."""
    problem = pm.DirectProblem([0.1, 0.2, 0.1, 0.3, 0.2], m=100)
    expected = pm.solve(problem).bound
    assert problem.bound([0.2] * 5) > expected
    assert pm.solve(problem).bound == expected and problem.merged().problem.confidence_set.risks.size == 3


# --- the paper's tables ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dataset", PAPER_DATASETS)
def test_ipopt_solves_the_papers_tables_when_merged(dataset):
    """The paper's formulation with Ipopt's default options, which fails at H = 1990 on the raw problem where
    0.01 Σ l_i > 1.
    """
    table = load_risk_table(dataset)
    problem = pm.BoundProblem(table.risks(1990), table.m, 0.01, "kl", constant="paper")
    solution = pm.solve(problem, "ipopt", merge=True, formulation="substituted", defaults=True)
    assert solution.details["merged_size"] == len(set(table.risks(1990).tolist()))
    assert solution.status == "optimal"
    assert solution.bound == pytest.approx(pm.solve(problem).bound, abs=1e-7)
