"""Certificates from counts: the worst case over all couplings, fifty digits, invariants, and what they say."""

import itertools
import math
import pickle
import tracemalloc

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import pacb_models as pm
from pacb_models import InputError
from pacb_models.benchmarks.problems.risks import load_risk_table
from pacb_models.benchmarks.studies.couplings import worst_case
from pacb_models.certificates.binomial import tails_at
from pacb_models.certificates.count_certificate import common_risk
from pacb_models.certificates.losses import loss_limits
from pacb_models.certificates.scores import Spread, TieSplit
from pacb_models.numerics.confidence_sets import Total, common_root

from ..drawn import priors, some_weights
from .binomial_reference import log_tail
from .mp_reference import golden_section

# --- validity: the exact worst case over all dependences ------------------------------------------------------------


def any_violation(certificate: pm.Certificate, risks: np.ndarray, factor: float = 1.0) -> bool:
    """Whether one of the statements is false: the random classifier's bound, or that of a single one."""
    return bool(
        certificate.posterior @ risks > factor * certificate.bound or np.any(risks > factor * certificate.single_bounds)
    )


def critical(m: int, level: float, k: int) -> float:
    """Just above Clopper and Pearson's limit at k errors: the smallest risk for which k errors are a violation."""
    return pm.clopper_pearson(k, m, level) * (1 + 1e-9)


@pytest.mark.long
@pytest.mark.parametrize(
    ("m", "size", "delta", "spread"),
    [(6, 2, 0.05, 0.0), (12, 2, 0.2, 0.0), (4, 3, 0.1, 0.0), (5, 3, 0.3, 0.0), (4, 3, 0.1, 1.0), (2, 4, 0.1, 0.0)],
)
def test_worst_case_over_all_couplings(m, size, delta, spread):
    """At the critical risks the probability of a false statement reaches delta (tie split), and never exceeds it."""
    made = {
        counts: pm.certify(counts, m, delta, spread=spread) for counts in itertools.product(range(m + 1), repeat=size)
    }
    largest, broken = 0.0, 0.0
    ties = [made[(k,) * size].bound * (1 + 1e-9) for k in range(m)]
    singles = [critical(m, delta / size, k) for k in range(m)]
    candidates = [np.full(size, risk) for risk in (*singles, *ties) if risk < 1.0]
    candidates += [np.array([*[first] * (size - 1), second]) for first, second in itertools.pairwise(singles)]
    for risks in candidates:
        if not np.all(risks < 1.0):
            continue
        largest = max(largest, worst_case(m, risks, lambda counts, r=risks: any_violation(made[counts], r)))
        broken = max(broken, worst_case(m, risks, lambda counts, r=risks: any_violation(made[counts], r, factor=0.9)))
    assert largest <= delta * (1 + 1e-7)
    if spread == 0.0:
        assert largest >= delta * (1 - 1e-6)
    assert broken > delta  # a bound that is a tenth smaller is no bound


def test_worst_case_with_a_prior():
    m, delta, prior = 5, 0.2, np.array([0.5, 0.3, 0.2])
    made = {counts: pm.certify(counts, m, delta, prior=prior) for counts in itertools.product(range(m + 1), repeat=3)}
    random = np.random.default_rng(0)
    limits = [[critical(m, delta * p, k) for k in range(m)] for p in prior]
    worst = []
    for _ in range(12):
        risks = np.array([of[random.integers(m)] for of in limits])
        worst.append(worst_case(m, risks, lambda counts, r=risks: any_violation(made[counts], r)))
    assert max(worst) <= delta * (1 + 1e-7)
    assert max(worst) >= delta * (1 - 1e-6)


def test_scores_have_mean_delta_times_prior():
    """The tie split's score is a randomised test of exactly its level, the spread's an e-value of mean one."""
    m, level = 30, 0.013
    for scoring in (TieSplit(), Spread(1.0), Spread(3.0)):
        for risk in (0.01, 0.1, 0.37, 0.8):
            total = 0.0
            for k in range(m):
                below, mass = binom.cdf(k - 1, m, risk), binom.pmf(k, m, risk)
                if below >= scoring.scale * level:
                    continue
                at = tails_at(np.array([float(k)]), m, risk)
                score = scoring.score(at, np.array([float(k)]), m, np.array([risk]), np.array([level]))
                value = float(score.value[0])
                total += mass * (min(value, 1.0) if isinstance(scoring, TieSplit) else value)
            assert binom.cdf(m - 1, m, risk) < scoring.scale * level or total == pytest.approx(level, rel=1e-10)


# --- values ---------------------------------------------------------------------------------------------------------


def test_spread_is_for_many_near_ties():
    """The tables' other certificates are compared in benchmarks/test_reproduce.py."""
    table = load_risk_table("wdbc")
    errors = np.rint(table.risks() * table.m).astype(int)
    assert [round(pm.certify(errors, table.m, spread=spread).bound, 4) for spread in (0, 3)] == [0.1211, 0.1171]


def test_ties_solve_the_printed_equation():
    for errors, m, delta in (([4, 4, 9], 549, 0.05), ([0, 0, 0, 3], 100, 0.1), ([40] * 10 + [41], 200, 0.01)):
        certificate = pm.certify(errors, m, delta)
        k, size = min(errors), len(errors)
        ties = errors.count(k)
        with mp.workdps(50):
            level = mp.mpf(delta) / size
            at, below = (log_tail(k, m, mp.mpf(certificate.bound) * part, mp.mpf(1) / ties) for part in (1, 1 - 1e-13))
            assert at <= mp.log(level) < below
        np.testing.assert_allclose(certificate.posterior, [(e == k) / ties for e in errors])
    zero = pm.certify([0, 0, 0, 3], 100, 0.1)
    assert zero.bound == pytest.approx(1 - (3 * 0.1 / 4) ** (1 / 100), rel=1e-13)


def test_the_fast_path_for_a_uniform_prior_is_the_general_one():
    random = np.random.default_rng(1)
    for _ in range(40):
        m = int(random.choice([3, 20, 549, 10**5]))
        errors = random.integers(0, max(2, m // 20), size=int(random.integers(2, 30)))
        delta = float(random.choice([0.05, 0.01, 1e-6]))
        fast, general = (
            pm.certify(errors, m, delta),
            common_risk(TieSplit(), errors, m, np.full(errors.size, delta / errors.size)),
        )
        assert fast.bound == pytest.approx(general.bound, rel=1e-12)
        assert fast.single_bound == pytest.approx(general.single_bound, rel=1e-12)


def test_scores_next_to_zero_do_not_use_up_the_budget():
    """Where a score begins is rounded up, to where it is 1e-10: classifiers next to no weight may lie below it."""
    others = range(200_000, 900_000, 1000)
    certificate = pm.certify([2, *others], 10**6, prior=[0.999, *[0.001 / len(others)] * len(others)])
    posterior = np.array([1.0, *[1e-30] * len(others)])
    assert certificate.bound_of(posterior) >= certificate.single_bounds[0]


@pytest.mark.parametrize(
    ("errors", "m", "delta", "prior", "spread"),
    [
        ([0, 1, 0], 3, 0.2, [1e-300, 1e-300, 1.0], 0.08),
        ([1, 7], 10, 0.01, [1.0, 1e-72], 3.0),
        ([2], 10, 1e-300, [1.0], 0.001),
        ([63, 0, 0], 100, 1e-100, [1e-86, 1e-30, 1.0], 6.0),
        ([0], 10**9, 1e-9, [1.0], 20.0),
    ],
)
def test_spread_at_the_ends_of_the_range_of_numbers(errors, m, delta, prior, spread):
    certificate = pm.certify(errors, m, delta, prior=prior, spread=spread)
    other = np.arange(1.0, len(errors) + 1) / np.arange(1.0, len(errors) + 1).sum()
    found = [certificate.bound, certificate.single_bound, certificate.bound_of(other), *certificate.single_bounds]
    assert np.isfinite(found).all() and certificate.bound <= min(found) * (1 + 1e-11) and max(found) <= 1.0


counts = st.integers(2, 2000).flatmap(
    lambda m: st.tuples(st.just(m), st.lists(st.integers(0, m), min_size=1, max_size=12))
)


@pytest.mark.long
@settings(max_examples=40)
@given(case=counts, delta=st.sampled_from([0.5, 0.1, 0.05, 1e-3, 1e-9]), data=st.data())
def test_invariants(case, delta, data):
    m, errors = case
    prior = data.draw(priors(len(errors)))
    certificate = pm.certify(errors, m, delta, prior=prior)
    levels = delta * certificate.prior
    occam = np.min(pm.clopper_pearson(errors, m, levels))
    assert certificate.bound <= certificate.single_bound <= occam * (1 + 1e-13)
    np.testing.assert_allclose(certificate.single_bounds, pm.clopper_pearson(errors, m, levels), rtol=1e-12)
    assert certificate.single_bounds[certificate.single] == pytest.approx(certificate.single_bound, rel=1e-13)
    assert certificate.posterior.sum() == pytest.approx(1.0, abs=1e-12) and certificate.posterior.min() >= 0.0
    assert certificate.bound_of(certificate.posterior) == pytest.approx(certificate.bound, rel=1e-9)
    assert certificate.bound * (1 - 1e-12) <= certificate.bound_of(data.draw(some_weights(len(errors))))
    order = data.draw(st.permutations(range(len(errors))))
    shuffled = pm.certify(np.array(errors)[order], m, delta, prior=None if prior is None else prior[order])
    assert shuffled.bound == pytest.approx(certificate.bound, rel=1e-12)


@settings(max_examples=8)
@given(case=counts, spread=st.floats(0.1, 2.0), other=some_weights(12))
def test_invariants_with_spread(case, spread, other):
    m, errors = case
    errors = (errors * 12)[:12]
    certificate = pm.certify(errors, m, 0.05, spread=spread)
    assert certificate.bound <= certificate.single_bound
    assert certificate.bound_of(certificate.posterior) == pytest.approx(certificate.bound, rel=1e-9)
    assert certificate.bound * (1 - 1e-12) <= certificate.bound_of(other)


def test_weights_that_sum_to_nearly_one_make_no_bound_smaller():
    """A sum is accepted within 1e-9: a prior's excess must not add to delta, a posterior's lack not shrink a risk."""
    prior, much, little = np.array([0.3, 0.7]), 1 + 9e-10, 1 - 9e-10
    for arguments in ({"errors": [3, 9]}, {"errors": [3, 9], "spread": 1.0}, {"losses": [3.0, 9.0]}):
        exact, heavy = (pm.certify(m=30, prior=weights, **arguments) for weights in (prior, prior * much))
        assert np.all(heavy.single_bounds >= exact.single_bounds * (1 - 1e-14)) and heavy.bound >= exact.bound - 1e-14
        assert exact.bound_of(prior * little) >= exact.bound_of(prior) * (1 - 1e-14)


def test_levels_below_the_range_of_numbers_guarantee_nothing():
    prior = [1e-200, 1 - 2e-200, 1e-200]
    for arguments in ({"errors": [0, 3, 5]}, {"errors": [0, 3, 5], "spread": 3.0}, {"losses": [0.0, 3.0, 5.0]}):
        certificate = pm.certify(m=30, delta=1e-300, prior=prior, **arguments)
        assert certificate.single_bounds[[0, 2]].tolist() == [1.0, 1.0]
        assert certificate.bound <= certificate.bound_of([0.2, 0.5, 0.3]) <= 1.0


def test_where_the_score_is_not_convex_the_box_is_used_and_said():
    """Two classifiers, delta 0.9, one error of two: psi bends the wrong way."""
    certificate = pm.certify([1, 1], 2, 0.9)
    assert certificate.bound == certificate.single_bound == pytest.approx(pm.clopper_pearson(1, 2, 0.45), rel=1e-12)
    assert any("Ties could not be split" in note for note in certificate.notes)
    assert certificate.bound_of([0.5, 0.5]) == pytest.approx(certificate.single_bound, rel=1e-12)
    assert not pm.certify([1, 1], 2, 0.2).notes


def test_the_convexity_condition_holds_for_levels_up_to_a_ninth():
    for m in [*range(2, 120), 500, 1000, 20000, 10**6, 10**9]:
        k = np.arange(1.0, m) if m < 120 else np.unique(np.geomspace(1, m - 1, 200).round())
        assert TieSplit().convex_level(k, float(m)).min() >= (1 - 1e-13) / 9


# --- losses ---------------------------------------------------------------------------------------------------------


def p_value(s: float, m: int, risk: float) -> float:
    outcomes = np.arange(m + 1)
    mass = binom.pmf(outcomes, m, risk)
    return min(float(np.maximum(c - outcomes, 0) @ mass) / (c - s) for c in range(int(s) + 1, m + 1))


@pytest.mark.parametrize(
    ("m", "s", "delta"),
    [
        (10, 0.0, 0.05),
        (10, 2.5, 0.05),
        (100, 7.3, 0.01),
        (549, 21.7, 1e-3),
        (549, 0.4, 1e-6),
        (20, 19.2, 0.05),
        (1, 0.3, 0.05),
    ],
)
def test_loss_limits_solve_the_equation_of_the_p_value(m, s, delta):
    bound = pm.certify(losses=[s], m=m, delta=delta).bound
    assert p_value(s, m, bound) <= delta * (1 + 1e-11)
    assert p_value(s, m, bound * (1 - 1e-9)) > delta


def test_loss_limits_are_above_those_of_errors_and_cover():
    certificate = pm.certify(losses=[21.0, 30.0, 549.0], m=549)
    assert certificate.single_bound > pm.certify([21, 30, 549], 549).single_bound
    assert certificate.single == 0 and certificate.single_bounds[2] == 1.0
    assert "has an expected loss of at most" in str(certificate)
    weighted = pm.certify(losses=[21.0, 30.0], m=549, prior=[0.1, 0.9])
    np.testing.assert_allclose(
        weighted.single_bounds,
        [pm.certify(losses=[21.0], m=549, delta=0.005).bound, pm.certify(losses=[30.0], m=549, delta=0.045).bound],
        rtol=1e-12,
    )
    random = np.random.default_rng(0)
    # Losses of three values: the limit must cover the mean loss in all but delta of the draws.
    values, chances, delta = np.array([0.0, 0.3, 1.0]), np.array([0.7, 0.2, 0.1]), 0.2
    sums = random.multinomial(30, chances, size=4000) @ values
    distinct, places = np.unique(sums.round(9), return_inverse=True)
    limits = loss_limits(distinct, 30, np.full(distinct.size, delta))[places]
    failures = int(np.count_nonzero(limits < values @ chances))
    assert 0 < failures and binom.cdf(failures, 4000, delta) < 0.999


# --- words and input ------------------------------------------------------------------------------------------------


def test_it_prints_what_is_guaranteed_rounded_up():
    certificate = pm.certify([25, 23, 21, 35, 50], 549, names=["logistic", "forest", "boosting", "nearest", "tree"])
    text = str(certificate)
    assert "boosting errs with probability at most 0.06182 (observed: 0.0383)" in text
    assert certificate.bound <= 0.06182
    assert "single_bound=0.0199723," in repr(pm.certify([4, 4, 9], 540))  # 0.01997221...
    tied = str(pm.certify([4, 4, 9], 549))
    assert "weight on 2 of 3 classifiers" in tied and "(twice that)" in tied
    assert "vacuous" in str(pm.certify([3, 3], 3))


def test_it_is_a_plain_object():
    certificate = pm.certify([4, 4, 9], 549, prior=[0.2, 0.3, 0.5], names=["a", "b", "c"])
    assert pickle.loads(pickle.dumps(certificate)) == certificate
    with pytest.raises(AttributeError, match="cannot be set"):
        certificate.delta = 0.5
    for array in (certificate.posterior, certificate.single_bounds, certificate.errors):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    record = certificate.as_dict()
    assert record["single_name"] == certificate.names[certificate.single]
    assert type(record["bound"]) is float and type(record["single_bound"]) is float


def test_large_sets_and_samples():
    random = np.random.default_rng(0)
    errors = random.binomial(10**9, 0.01, size=10**5)
    certificate = pm.certify(errors, 10**9, 1e-12)
    assert 0 < certificate.bound - errors.min() / 10**9 < 1e-4
    prior = random.dirichlet(np.ones(10**5))
    weighted = pm.certify(errors, 10**9, 1e-12, prior=prior)
    assert weighted.bound <= weighted.single_bound


def test_a_prior_on_a_thousand_million_examples_takes_little_memory():
    tracemalloc.start()
    assert pm.certify([5, 9], 10**9, prior=[0.4, 0.6]).bound < 1e-7
    assert tracemalloc.get_traced_memory()[1] < 10**7
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"errors": [0.046, 0.042], "m": 549},
            r"errors\[0\] is 0.046 \(and 1 more\); error counts are whole numbers: pass",
        ),
        ({"errors": [1, 2], "m": 1}, r"errors\[1\] is 2.0; a number of errors lies between 0 and m"),
        ({"errors": [], "m": 10}, "errors must be one-dimensional and not empty"),
        ({"errors": [[1, 2]], "m": 10}, "errors must be one-dimensional and not empty"),
        ({"errors": [1], "m": 2.5}, "m is 2.5; a sample size"),
        ({"m": 10}, "neither errors nor losses is given"),
        ({"errors": [1], "losses": [1.0], "m": 10}, "losses is given together with errors"),
        ({"losses": [[0.1, 1.2]]}, r"losses\[0, 1\] is 1.2; every loss must lie between 0 and 1"),
        ({"losses": [[0.1], [float("nan")]]}, r"losses\[1, 0\] is nan"),
        ({"losses": np.zeros((0, 2))}, r"losses has the shape \(0, 2\)"),
        ({"losses": [[0.1], [0.2]], "m": 3}, "m is 3, but losses has 2 rows"),
        ({"losses": [[0.1], [0.2]], "names": ["a", "b"]}, "names has 2 entries"),
        ({"losses": [[0.1], [0.2]], "spread": 1.0}, "losses is given together with errors or spread"),
        ({"losses": [10.5], "m": 10}, r"losses\[0\] is 10.5; a sum of losses"),
        ({"errors": [1, 2], "m": 10, "names": ["a"]}, "names has 1 entries, but there are 2 classifiers"),
        ({"errors": [1, 2], "m": 10, "prior": [1.0]}, "prior has 1 entries"),
        ({"errors": [1, 2], "m": 10, "delta": 1.0}, "delta is 1.0"),
        ({"errors": [1, 2], "m": 10, "spread": -1}, "spread is -1; it must be a number of at least 0"),
        ({"errors": [1, 2], "m": 10, "spread": 5}, "spread is 5; with this delta and prior it can be at most 3"),
        ({"errors": [1], "m": 10, "delta": 0.5, "spread": 1}, "it can be at most 0 "),
        ({"errors": [1, 2], "m": 10, "names": 2}, "names is 2; it must be a sequence of names"),
        ({"errors": [1, 2], "m": 10, "names": [1, "1"]}, "names has '1' more than once"),
        ({"errors": [1, 2], "m": np.timedelta64(10, "D")}, "m is .*; a sample size"),
        ({"errors": [1, 2], "m": 10, "spread": np.timedelta64(1, "D")}, "spread is .*; it must be a number"),
        ({"losses": [[0.1, 0.2], [0.3]], "m": 2}, r"losses\[0\] is \[0.1, 0.2\]; every entry must be a number"),
        ({"losses": [[0.1], [0.2]], "m": [2, 2]}, r"m is \[2, 2\]; a sample size"),
    ],
)
def test_bad_input_is_one_sentence(arguments, words):
    with pytest.raises(InputError, match=words):
        pm.certify(**arguments)


# --- the confidence set, in thirty and more digits -------------------------------------------------------------------


def score(k: int, m: int, level: mp.mpf, l: mp.mpf) -> mp.mpf:
    """The tie split's score (e - P(B < k))/P(B = k), not below zero."""
    below = mp.exp(log_tail(k - 1, m, l)) if k else mp.mpf(0)
    return (level - below) / (mp.exp(log_tail(k, m, l)) - below) if level > below else mp.mpf(0)


@pytest.mark.parametrize("seed", range(12))
def test_common_risk_of_any_prior_in_fifty_digits(seed):
    """The bound is not below the risk at which the scores add up to one, and not above it but for rounding."""
    random = np.random.default_rng(seed)
    m = int(random.choice([12, 60, 549]))
    errors = random.binomial(m, 0.05, 6) // int(random.choice([1, 4]))
    prior = random.dirichlet(np.full(6, 5.0))
    found = pm.certify(errors, m, 0.05, prior=prior)
    with mp.workdps(50):
        levels = [mp.mpf(0.05) * mp.mpf(p) for p in prior]

        def total(l: mp.mpf) -> mp.mpf:
            return sum(score(int(k), m, level, l) for k, level in zip(errors, levels, strict=True))

        high = mp.mpf(found.bound)
        assert total(high) >= 1
        assert total(high * (1 - mp.mpf(10) ** -13)) < 1


def test_a_sum_that_never_reaches_one_has_no_root():
    assert common_root(lambda _: Total(-math.inf, 0.0, 0.0, 0.0), 0.0, 0.5, 1e-7).high == math.inf
    assert common_root(lambda t: Total(t - 1.0, 1.0, 0.0, 0.0), 0.0, 0.5, 1e-7).high >= 0.5


def spread_score(k: int, m: int, level: mp.mpf, l: mp.mpf, spread: float) -> mp.mpf:
    """The mean of (ln(e^d e) - ln P_U)_+ over U, divided by e^d, from the antiderivative of ln."""
    below, top = mp.exp(log_tail(k - 1, m, l)) if k else mp.mpf(0), mp.exp(log_tail(k, m, l))
    reach = level * mp.exp(spread)
    primitive = lambda y: y * (mp.log(reach) - mp.log(y) + 1) if y else mp.mpf(0)  # noqa: E731
    return (primitive(min(top, reach)) - primitive(below)) / (top - below) / mp.exp(spread) if reach > below else 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("errors", "m", "prior", "posterior", "spread"),
    [
        ([3, 4], 40, [0.3, 0.7], [0.6, 0.4], 0.0),
        ([0, 2], 30, [0.5, 0.5], [0.3, 0.7], 0.0),
        ([5, 5], 40, [0.9, 0.1], [0.55, 0.45], 0.0),
        ([3, 4], 40, [0.4, 0.6], [0.6, 0.4], 1.0),
        ([2, 2], 20, [0.5, 0.5], [0.51, 0.49], 2.9),
    ],
)
def test_bound_of_a_posterior_in_thirty_digits(errors, m, prior, posterior, spread):
    """The largest average over the set's boundary: golden sections in the first risk, bisections for the second."""
    certificate = pm.certify(errors, m, 0.05, prior=prior, spread=spread)
    found = certificate.bound_of(posterior)
    with mp.workdps(30):
        levels = [mp.mpf(0.05) * mp.mpf(p) for p in prior]

        def psi(i: int, l: mp.mpf) -> mp.mpf:
            arguments = errors[i], m, levels[i], l
            return spread_score(*arguments, spread) if spread else score(*arguments)

        def largest(i: int, budget: mp.mpf) -> mp.mpf:
            low, high = mp.mpf(0), mp.mpf(1) - mp.mpf(10) ** -20
            for _ in range(50):
                middle = (low + high) / 2
                low, high = (middle, high) if psi(i, middle) <= budget else (low, middle)
            return low

        for i, single in enumerate(certificate.single_bounds.tolist()):
            assert single == pytest.approx(float(largest(i, mp.mpf(1))), rel=1e-12)

        def average(first: mp.mpf) -> mp.mpf:
            return mp.mpf(posterior[0]) * first + mp.mpf(posterior[1]) * largest(1, 1 - psi(0, first))

        true, _ = golden_section(average, mp.mpf(0), largest(0, 1 - psi(1, mp.mpf(10) ** -25)), 32)
        assert true <= found <= true * (1 + mp.mpf(10) ** -11)
