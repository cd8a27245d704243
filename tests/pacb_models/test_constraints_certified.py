"""The smallest bound under limits on other bounds, against grids of posteriors."""

from dataclasses import replace

import numpy as np
import pytest

import pacb_models as pm
from pacb_models.proofs import Intervals, ProofError, check_intervals
from pacb_models.proofs.intervals import Limited

#: Numbers that overflow prove nothing, and are meant to: no warning.
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def grid(steps: int) -> np.ndarray:
    """Posteriors on three classifiers."""
    return np.array([[a, b, steps - a - b] for a in range(steps + 1) for b in range(steps + 1 - a)]) / steps


def three(risks=(0.1, 0.1, 0.1), m=10, **arguments):
    return pm.BoundProblem(risks, m, **arguments)


ERRORS, MISSES = (0.1, 0.12, 0.2), (0.2, 0.12, 0.05)


@pytest.mark.long
def test_a_limit_that_does_not_bind_changes_nothing():
    errors = three(ERRORS, 1000)
    found, free = pm.minimise_certified(errors, {"misses": (three(MISSES, 400), 0.9)}, 1e-4), pm.solve(errors)
    assert found.bound == pytest.approx(free.bound, rel=2e-4)
    assert found.lower_bound <= free.bound


@pytest.mark.long
def test_averages_of_the_problem_are_kept():
    errors = three(ERRORS, 1000, constraints=pm.average([1.0, 2.0, 3.0], at_least=2.2, name="a"))
    found = pm.minimise_certified(errors, {"misses": (three(MISSES, 400), 0.25)}, 1e-3)
    assert float(np.dot(found.posterior, [1.0, 2.0, 3.0])) >= 2.2 - 1e-9
    assert found.bounds["misses"] <= 0.25


@pytest.mark.long
@pytest.mark.parametrize("seed", range(30))
def test_the_smallest_bound_on_the_simplex(seed):
    rng = np.random.default_rng(seed)
    divergence = ({"divergence": "chi2"}, {"divergence": "kl"}, {"divergence": "renyi", "order": 3.0})[seed % 3]
    shared = {"prior": rng.dirichlet(np.full(3, 3.0)), **divergence}
    errors = pm.BoundProblem(rng.uniform(0.0, 0.6, 3), m=500, distance=("kl", "squared")[seed % 2], **shared)
    misses = pm.BoundProblem(rng.uniform(0.0, 0.6, 3), m=200, **shared)
    smallest, free = pm.solve(misses).bound, misses.bound(pm.solve(errors).posterior)
    limits = {"misses": (misses, smallest + rng.uniform(0.2, 1.0) * (free - smallest) + 1e-4)}
    found = pm.minimise_certified(errors, limits, tolerance=1e-3)
    assert found.lower_bound == check_intervals(errors, limits, found.proof)
    assert found.bounds["misses"] == misses.bound(found.posterior) <= limits["misses"][1]
    assert found.bound == errors.bound(found.posterior)
    assert found.bound * (1.0 - 1e-3) <= found.lower_bound <= found.bound
    # Posteriors everywhere, and close to the one that was found.
    near = found.posterior + 0.02 * (grid(40) - found.posterior)
    for q in np.vstack((grid(100), near)):
        if misses.bound(q) <= limits["misses"][1]:
            assert errors.bound(q) >= found.lower_bound


@pytest.fixture(scope="module")
def proven():
    errors = three(ERRORS, 1000, delta=0.025)
    limits = {"misses": (three(MISSES, 400, delta=0.025), 0.2)}
    return errors, limits, pm.minimise_certified(errors, limits, tolerance=1e-4)


def test_the_gap_falls_with_the_square_of_the_width(proven):
    assert len(proven[2].proof.lines) <= 8


def without(proof: Intervals, k: int) -> Intervals:
    return replace(proof, ends=np.delete(proof.ends, k), lines=proof.lines[:k] + proof.lines[k + 1 :])


@pytest.mark.long
def test_no_lie_proves_more_than_the_truth(proven):
    errors, limits, found = proven
    proof, rng = found.proof, np.random.default_rng(1)
    assert check_intervals(errors, limits, replace(proof, claim=1.0)) <= found.bound
    for k in range(len(proof.lines) - 1):
        # The interval behind it has to hold for its sizes too.
        assert check_intervals(errors, limits, replace(without(proof, k), claim=1.0)) <= found.bound
    for factors in rng.lognormal(0.0, 1.0, (20, 4)):
        for changed in (proof.lines[::-1], tuple(rows * factors for rows in proof.lines)):
            assert check_intervals(errors, limits, replace(proof, lines=changed, claim=1.0)) <= found.bound
    for wider in (0.21, 0.25, 0.9):
        others = {"misses": (limits["misses"][0], wider)}
        truth = pm.minimise_certified(errors, others, tolerance=1e-3).bound
        assert check_intervals(errors, others, replace(proof, claim=1.0)) <= truth


class Hollow(tuple):
    """Lines that are counted and never shown."""

    def __iter__(self):
        return iter(())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda proof: without(proof, len(proof.lines) - 1), "does not show that no posterior of a size above"),
        (lambda proof: replace(without(proof, len(proof.lines) - 1), beyond=np.ones(1)), "does not show that no"),
        (lambda proof: replace(proof, ends=proof.ends[:-1]), "do not follow each other"),
        (lambda proof: replace(proof, ends=proof.ends[::-1]), "do not follow each other"),
        (lambda proof: replace(proof, ends=np.append(0.5, proof.ends[1:])), "do not follow each other"),
        (lambda proof: replace(proof, ends=np.append(proof.ends[:-1], np.inf)), "do not follow each other"),
        (lambda proof: replace(proof, claim=float("nan")), "has no claim"),
        (lambda proof: replace(proof, lines=tuple(-rows for rows in proof.lines)), "has not the numbers"),
        (lambda proof: replace(proof, lines=tuple(rows[:, :3] for rows in proof.lines)), "has not the numbers"),
        (lambda proof: replace(without(proof, len(proof.lines) - 1), beyond=-np.ones(1)), "not a number ≥ 0"),
        (lambda proof: replace(proof, lines=Hollow(proof.lines)), "do not follow each other"),
        (lambda proof: proof.lines, "is no proof by intervals"),
    ],
)
def test_what_proves_nothing_is_refused(proven, change, sentence):
    errors, limits, found = proven
    with pytest.raises(ProofError, match=sentence):
        check_intervals(errors, limits, change(found.proof))


def test_an_end_at_which_the_limits_contradict(proven):
    """Both limits leave no posterior from some size on, and multipliers show it there and not before."""
    errors, limits, _ = proven
    misses = limits["misses"][0]
    alarms = pm.BoundProblem([0.05, 0.12, 0.2], m=400, delta=0.025)
    limited = Limited(errors, {"misses": (misses, 0.2), "alarms": (alarms, 0.2)})
    ones = np.ones(2)
    for size in np.linspace(1.0, 1.7, 30).tolist():
        # The sum of the two risks is 0.25 for the first and the last classifier, and 0.24 for the other.
        left = float(limited.level(size).sum()) - 0.24
        assert limited.is_last(size, ones) == (left < 0.0)
        assert not limited.is_last(size, np.zeros(2))
    assert {limited.is_last(size, ones) for size in (1.0, 1.7)} == {False, True}


def test_levels_are_rounded_up(proven):
    errors, limits, _ = proven
    for distance in ("kl", "squared"):
        misses = limits["misses"][0].replace(distance=distance)
        for limit in (0.15, 0.3, 0.8, 1.05):
            limited = Limited(errors, {"misses": (misses, limit)})
            for size in (1.0, 1.2, 1.7):
                level = limited.level(size).item()
                assert level == 1.0 or misses.bound_at(level, size) >= limit
                assert level < 1e-15 or misses.bound_at(level - 1e-11, size) <= limit


def test_limits_above_one_are_not_taken_for_convex():
    """The largest risk that is allowed is cut off at one for small sizes, and below one for large ones."""
    prior = [0.45, 0.45, 0.1]
    errors = pm.BoundProblem([0.0, 0.3, 0.6], m=1000, prior=prior)
    misses = pm.BoundProblem([1.0, 1.0, 0.0], m=100, distance="squared", prior=prior)
    limit = misses.bound_at(1.0, 1.6)
    assert Limited(errors, {"misses": (misses, limit)}).level(1.5) == 1.0
    free = pm.solve(errors)
    assert misses.bound(free.posterior) <= limit
    # Lines of a tighter limit on one interval, where a chord from one on would leave the minimum out.
    lines = np.vstack(pm.minimise_certified(errors, {"misses": (misses, limit - 0.2)}, tolerance=1e-3).proof.lines)
    proof = Intervals(np.array([4.0]), (lines,), np.zeros(1), 1.0)
    assert check_intervals(errors, {"misses": (misses, limit)}, proof) <= free.bound


@pytest.mark.parametrize(
    ("problem", "limits", "sentence"),
    [
        (three(), {}, "limits is empty"),
        (three(), {"a": (pm.BoundProblem([0.1, 0.2], m=10), 0.5)}, "has other classifiers or another prior"),
        (three(), {"a": (three(prior=[0.2, 0.3, 0.5]), 0.5)}, "has other classifiers or another prior"),
        (three(), {"a": (three(divergence="kl"), 0.5)}, "has another divergence"),
        (three(), {"a": (three(), 0.01)}, "no posterior was found .* a at most 0.01"),
        (three(), {"a": (three(), "b")}, r"limits\['a'\]\[1\] is 'b'; it must be a positive number"),
        (three(), {"a": (three(), float("nan"))}, r"limits\['a'\]\[1\] is nan; it must be a positive"),
        (three(), {"a": (0.5, three())}, r"limits\['a'\] is .* it must be a pair of a BoundProblem"),
        (three(), {"a": 5}, r"limits\['a'\] is 5; it must be a pair of a BoundProblem"),
        (three(), {"a": (three(), 0.2, 3)}, r"limits\['a'\] is .*; it must be a pair"),
        (three(), {"a": (pm.DirectProblem([0.1, 0.2, 0.3], m=10), 0.5)}, "it must be a pair of a BoundProblem"),
        (three(), {"a": (three(constraints=pm.weights(at_most=0.5)), 0.5)}, "constraints of its own"),
        (three(), [("a", 0.5)], "limits is .* it must be a dict of names"),
        (three(), None, "limits is None; it must be a dict"),
        (5, {"a": (three(), 0.5)}, "problem is 5; it must be a BoundProblem"),
        (pm.DirectProblem(ERRORS, m=100), {"a": (three(), 0.5)}, "problem is .* it must be a BoundProblem"),
        (three(constraints=pm.support(at_most=2)), {"a": (three(), 0.5)}, "a limit on the support"),
    ],
)
def test_bad_input_is_one_sentence(problem, limits, sentence):
    with pytest.raises(pm.InputError, match=sentence):
        pm.minimise_certified(problem, limits)
