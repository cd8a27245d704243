"""Many problems at once: the same answers as one by one, on cases with known minima and on random ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf, sqrt

import pacb_models as pm
from pacb_models.solution import LocalMinimum
from pacb_models.solvers.exact.frontier import batches

from ..drawn import arrays, powers_of_ten, priors, weights
from ..solvers.path_reference import Reference, scan
from ..solvers.solver_checks import PAIRS, cases, make

DISTANCES = ("linear", "squared", "kl")


def agree(problem: pm.BoundProblem, other: pm.Solution, merge: bool | str = "auto") -> None:
    """A solution is, to rounding, what ``solve`` makes of the problem.

    Neither search looks for all other minima, and each may meet some that the other does not: what both promise is that
    those listed are minima.
    """
    one = pm.solve(problem, merge=merge)
    assert other.bound == pytest.approx(one.bound, rel=1e-13)
    if one.bound == 1.0:  # no posterior is known to be better than another
        return
    np.testing.assert_allclose(other.posterior, one.posterior, rtol=0, atol=1e-12)
    assert other.empirical_risk == pytest.approx(one.empirical_risk, rel=1e-11, abs=1e-15)
    assert other.divergence == pytest.approx(one.divergence, rel=1e-10, abs=1e-12)
    assert (other.status, other.is_global, other.solver) == (one.status, one.is_global, one.solver)
    assert other.kkt_residual == pytest.approx(one.kkt_residual, abs=1e-11)
    assert other.lower_bound == pytest.approx(one.lower_bound, rel=1e-12)
    for listed in (one.local_minima, other.local_minima):
        assert [met.bound for met in listed] == sorted(met.bound for met in listed)
        assert len({met.empirical_risk for met in listed} | {one.empirical_risk}) == len(listed) + 1
        assert all(met.bound >= one.bound for met in listed)
        if not ((0.0 < problem.risks) & (problem.risks < NEXT_TO_NOTHING)).any():
            for met in listed:
                check_minimum(problem, met)


#: How far from a minimum the bound is compared with it, as parts of the path's parameter: a valley may be narrower than
#: the first, and rounding have moved its lowest point by more than the last. What counts as level, relative to that.
ASIDE, LEVEL = [mpf(10) ** -power for power in range(6, 33, 2)], mpf(10) ** -9
#: Smaller risks are all the same to the searches.
NEXT_TO_NOTHING = 1e-80


def check_minimum(problem: pm.BoundProblem, met: LocalMinimum) -> None:
    """In fifty digits: the path's posterior of that empirical risk has that bound, and is in a valley."""
    reference = Reference(problem)
    nearest = min(y for y in reference.y if y > 0)
    ends = met.empirical_risk == problem.risks.min()
    place = nearest / 2 if ends else place_of(reference, met.empirical_risk)
    bound = reference.bound(reference.posterior(place))
    assert float(bound) == pytest.approx(met.bound, rel=1e-10)
    # A classifier that is about to get weight, or has only just got some, may count or not.
    surely = sum(weight > 1e-12 for weight in reference.posterior(place))
    assert surely <= met.support_size <= sum(weight > 0 for weight in reference.posterior(place * (1 + ASIDE[0])))
    if ends and problem.distance == "kl" and met.empirical_risk == 0.0:
        return  # the inverse rises infinitely fast from there: a minimum, too narrow for any digits
    sides = (1,) if ends else (-1, 1)
    for part in ASIDE:
        beside = [
            reference.bound(reference.posterior((nearest if ends else place) * (1 + side * part))) for side in sides
        ]
        if min(beside) >= bound * (1 - LEVEL * part):
            return
    pytest.fail(f"{met} is in no valley")


def place_of(reference: Reference, empirical_risk: float) -> mpf:
    """The parameter of the posterior with an empirical risk, by bisection."""
    low, high = min(y for y in reference.y if y > 0), mpf(10) ** 6
    if reference.problem.divergence == "kl":
        low, high = mpf(10) ** 6 / low, mpf(10) ** -6
    for _ in range(200):
        middle = sqrt(low * high)
        risk = sum(w * l for w, l in zip(reference.posterior(middle), reference.risks))
        low, high = (middle, high) if risk <= empirical_risk else (low, middle)
    return low


def rows(seed: int, kind: str, count: int = 40, size: int = 7) -> np.ndarray:
    random = np.random.default_rng(seed)
    return {
        "uniform": lambda: random.random((count, size)),
        "counts": lambda: random.binomial(30, random.uniform(0, 0.5, (count, 1)), (count, size)) / 30,
        "one good": lambda: np.column_stack((random.uniform(0, 0.05, count), np.full((count, size - 1), 0.4))),
        "zeros": lambda: np.where(random.random((count, size)) < 0.3, 0.0, random.random((count, size))),
        "equal": lambda: np.repeat(random.random((count, 1)), size, axis=1),
        "tiny": lambda: 10.0 ** random.uniform(-60, 0, (count, size)),
        "near one": lambda: 1.0 - 10.0 ** random.uniform(-12, 0, (count, size)),
    }[kind]()


#: One row of seven risks.
ROWS = {
    "any": arrays(st.floats(0.0, 1.0), 7),
    "counts": arrays(st.integers(0, 30), 7).map(lambda errors: errors / 30),
    "one good": st.tuples(st.floats(0.0, 0.05), st.just(0.4)).map(lambda pair: np.array([pair[0], *[pair[1]] * 6])),
    "zeros": arrays(st.just(0.0) | st.floats(0.001, 1.0), 7),
    "equal": st.floats(0.0, 1.0).map(lambda risk: np.full(7, risk)),
    "tiny": arrays(powers_of_ten(-60.0, 0.0), 7),
    "near one": arrays(powers_of_ten(-12.0, 0.0), 7).map(lambda rest: 1.0 - rest),
}


@pytest.mark.long
@settings(max_examples=120, deadline=None)
@given(
    distance=st.sampled_from(DISTANCES),
    kind=st.sampled_from(sorted(ROWS)),
    prior=priors(7) | st.lists(weights(7, decades=12.0), min_size=6, max_size=6).map(np.array),
    m=st.sampled_from([1, 5, 30, 1000, 10**6]),
    delta=st.sampled_from([0.9, 0.05, 1e-6]),
    data=st.data(),
)
def test_batch_is_one_by_one(distance, kind, prior, m, delta, data):
    risks = np.array(data.draw(st.lists(ROWS[kind], min_size=6, max_size=6)))
    batch = pm.ProblemBatch(risks, m, delta, distance, prior=prior)
    solutions = pm.solve_many(batch)
    for row, problem in enumerate(batch):
        agree(problem, solutions[row], merge=False)
        assert solutions.bound[row] == pytest.approx(problem.bound(solutions.posterior[row]), rel=1e-14)


@pytest.mark.parametrize("distance", DISTANCES)
def test_few_rows_are_solved_alone(distance):
    """The agreement above is that of two computations: nearly all rows are settled together."""
    for kind in ("uniform", "counts", "one good", "zeros"):
        outcome = batches.minimise(pm.ProblemBatch(rows(0, kind, 2000, 20), 100, distance=distance))
        assert np.count_nonzero(outcome.unsettled) <= 20


@pytest.mark.parametrize("distance", DISTANCES)
def test_minima_are_those_of_brute_force(distance):
    """Rows with two minima among them, found by comparing bounds in fifty digits."""
    risks = np.array([[0.02] + [0.3] * 9, [0.0] + [0.5] * 9, [0.11, 0.13, 0.2, 0.26, 0.34, 0.52] + [0.6] * 4])
    batch = pm.ProblemBatch(risks, [50, 30, 40], [0.05, 0.1, 0.2], distance)
    for problem, solution in zip(batch, pm.solve_many(batch)):
        expected = scan(problem, count=4000)
        assert solution.is_global
        assert solution.bound == pytest.approx(float(expected[0][0]), abs=1e-12)
        found = [solution.bound, *(minimum.bound for minimum in solution.local_minima)]
        assert all(min(abs(float(value) - number) for number in found) <= 1e-12 for value, _ in expected)


@pytest.mark.parametrize("size", [1, 2, 20])
def test_classifiers_that_are_all_alike(size):
    """No row has a turn: the prior is the minimum of each."""
    batch = pm.ProblemBatch.from_counts(np.full((3, size), 4), m=100)
    for problem, solution in zip(batch, pm.solve_many(batch)):
        agree(problem, solution)


@pytest.mark.parametrize("distance", DISTANCES)
def test_the_smallest_risks_that_there_are(distance):
    """Their supporting lines overflow."""
    risks = np.array([[0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 5e-324], [5e-324, 1e-323, 0.1, 0.2, 0.2, 0.2, 1e-310]])
    for m in (1, 100):
        batch = pm.ProblemBatch(risks, m, 0.9, distance)
        for problem, solution in zip(batch, pm.solve_many(batch)):
            agree(problem, solution, merge=False)


@pytest.mark.long
def test_known_optima():
    """Every divergence and distance, in one list of problems of several kinds and sizes, in their order."""
    known = [case.known for case in cases()]
    solutions = pm.solve_many([each.problem for each in known])
    for each, solution in zip(known, solutions, strict=True):
        assert solution.bound == pytest.approx(each.bound, abs=1e-12)
        agree(each.problem, solution)


@pytest.mark.parametrize("divergence, distance", PAIRS)
def test_every_divergence_and_distance(divergence, distance):
    risks = rows(1, "uniform", count=3, size=4)
    batch = pm.ProblemBatch(risks, 200, distance=distance, divergence=divergence, order=1.5)
    for row, solution in zip(risks, pm.solve_many(batch)):
        agree(make(row, distance, divergence), solution)


def test_a_mixture_keeps_its_order():
    random = np.random.default_rng(3)
    problems = [
        pm.BoundProblem(random.random(size), m, distance=distance, divergence=divergence)
        for size in (3, 5)
        for m in (10, 100)
        for distance in DISTANCES
        for divergence in ("chi2", "kl")
    ]
    random.shuffle(problems)
    for problem, solution in zip(problems, pm.solve_many(iter(problems)), strict=True):
        agree(problem, solution)
    assert pm.solve_many([]) == []


def test_another_solver():
    batch = pm.ProblemBatch(rows(0, "uniform", count=3), 100, distance="squared")
    solutions = pm.solve_many(batch, "fixed-point")
    assert solutions.solver == "fixed-point" and not solutions.is_global.any()
    assert solutions.bound == pytest.approx(pm.solve_many(batch).bound, abs=1e-9)


def test_batch_is_checked_and_never_changes():
    batch = pm.ProblemBatch.from_counts([[1, 2], [0, 10]], 10, delta=[0.1, 0.2], distance="linear")
    assert batch.risks.tolist() == [[0.1, 0.2], [0.0, 1.0]]
    assert [problem.delta for problem in batch] == [0.1, 0.2]
    assert batch.coefficient == pytest.approx([problem.coefficient for problem in batch], rel=1e-15)
    with pytest.raises(AttributeError):
        batch.m = 3
    assert not batch.risks.flags.writeable


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        ({"risks": [0.1, 0.2]}, r"risks must have the shape \(B, H\), one row per problem, but its shape is \(2,\)"),
        ({"risks": [[0.1, 2.0]]}, r"risks\[1\] is 2.0"),
        ({"risks": [[0.1], [0.1, 0.2]]}, r"risks must be an array of numbers of shape \(B, H\)"),
        ({"risks": np.ma.array([[0.1, 0.2]], mask=[[False, True]])}, "risks is a masked array"),
        ({"risks": [[0.1, 0.2j]]}, "risks.* every entry must be a number"),
        ({"m": np.ma.array([5, 6], mask=[False, True])}, "m is a masked array"),
        ({"risks": []}, r"risks must have the shape \(B, H\)"),
        ({"m": [1, 2, 3]}, r"m has the shape \(3,\); it must be one number or one for each of 2 rows"),
        ({"m": [1, 0]}, "m is .*0.*; a sample size must be"),
        ({"delta": [0.1, 1.0]}, "delta is .*1.0.*; it must be a number strictly between 0 and 1"),
        ({"prior": [[0.5, 0.5]]}, r"prior has the shape \(1, 2\); it must be \(2,\) or \(2, 2\)"),
        ({"prior": [[0.5, 0.5], [0.5, 0.6]]}, "prior sums to"),
        ({"distance": "ch"}, "ch"),
    ],
)
def test_batch_that_is_none(arguments, sentence):
    with pytest.raises(pm.InputError, match=sentence):
        pm.ProblemBatch(**({"risks": [[0.1, 0.2], [0.3, 0.4]], "m": 10} | arguments))


def test_what_is_no_problem_is_named():
    with pytest.raises(pm.InputError, match=r"problems\[1\] is 3; it must be a problem"):
        pm.solve_many([pm.BoundProblem([0.1, 0.2], m=10), 3])


def test_divergences_of_one_name_are_kept_apart():
    """Somebody's χ² that counts double, among ours: every bound is judged by its own problem."""
    ours = [pm.BoundProblem([0.1, 0.2, 0.3 + 0.01 * k], m=100, distance="linear") for k in range(30)]

    class Doubled(type(ours[0].divergence_function)):
        def statistic(self, q, p):
            return 2.0 * super().statistic(q, p)

        def gradient(self, q, p):
            return 2.0 * super().gradient(q, p)

        def curvature(self, q, p):
            return 2.0 * super().curvature(q, p)

        def slope_inverse(self, slope):
            return super().slope_inverse(0.5 * slope)

    theirs = [problem.replace(divergence=Doubled()) for problem in ours]
    bounds = [solution.bound for solution in pm.solve_many([*ours, *theirs])]
    assert bounds == pytest.approx([pm.solve(problem).bound for problem in (*ours, *theirs)], abs=1e-12)
    assert all(a < b for a, b in zip(bounds[:30], bounds[30:]))
    batch = pm.ProblemBatch([[0.1, 0.2, 0.3]] * 2, 100, divergence=theirs[0].divergence_function)
    assert batches.minimise(batch) is None, "our lines are not theirs"
