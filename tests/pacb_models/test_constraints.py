"""Constraints on the posterior: what they are, what they refuse, and the set that keeps them."""

import copy
import json
import pickle
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import pacb_models as pm
from pacb_models.constraints import Posteriors
from pacb_models.constraints.posteriors import cheapest
from pacb_models.constraints.wording import findings
from pacb_models.errors import InputError

RISKS = [0.1, 0.12, 0.15, 0.18]
LATENCY = [40.0, 20.0, 10.0, 5.0]
RECALL = [0.95, 0.93, 0.91, 0.85]


def problem(*constraints, **arguments):
    return pm.BoundProblem(RISKS, m=500, constraints=constraints, **arguments)


EVERY = [
    pm.average(LATENCY, at_most=25, name="latency"),
    pm.average(RECALL, at_least=0.9, at_most=0.99),
    pm.weights(at_most=0.6, at_least=[0.0, 0.1, 0.0, 0.0]),
    pm.support(sizes=[30, 20, 10, 8], total=60),
]


# -- What they say of themselves ---------------------------------------------------------------------------------------


def test_constraints_say_themselves():
    shown = [
        "average([4 values], at_most=25, name='latency')",
        "average([4 values], at_most=0.99, at_least=0.9)",
        "weights(at_most=0.6, at_least=[4 values])",
        "support(sizes=[4 values], total=60)",
    ]
    assert list(map(repr, EVERY)) == shown
    asked = problem(*EVERY)
    assert repr(asked).endswith(f"constraints=[{', '.join(shown)}])")
    assert asked.describe().endswith(
        "subject to latency at most 25, average 2 at most 0.99, average 2 (at least) at least 0.9, "
        "weights at most 0.6, weights at least 0 to 0.1, sizes of at most 60 together"
    )
    assert "constraints" not in repr(problem()) and "subject" not in problem().describe()
    assert problem(pm.support(at_most=1)).describe().endswith("subject to at most 1 classifier")


def same(first, second):
    assert len(first) == len(second)
    assert [each.as_record() for each in first] == [each.as_record() for each in second]


def test_constraints_are_carried_along():
    asked = problem(*EVERY, delta=0.1)
    for other in (
        asked.replace(delta=0.01),
        pickle.loads(pickle.dumps(asked)),
        copy.deepcopy(asked),
        pm.BoundProblem.from_json(asked.to_json()),
    ):
        same(other.constraints, asked.constraints)
        assert np.array_equal(other.posteriors.matrix, asked.posteriors.matrix)
        assert np.array_equal(other.posteriors.upper, asked.posteriors.upper)
    assert asked.replace(constraints=()).posteriors is None
    counted = pm.BoundProblem.from_counts([50, 60, 75, 90], m=500, constraints=EVERY[:1])
    assert counted.replace(delta=0.2).posteriors.rows[0].name == "latency"
    record = json.loads(asked.to_json())
    assert record["schema"] == 3
    assert [each["kind"] for each in record["constraints"]] == ["average", "average", "weights", "support"]
    assert "constraints" not in json.loads(problem().to_json())
    # One constraint needs no list.
    same(pm.BoundProblem(RISKS, m=500, constraints=pm.support(at_most=2)).constraints, [pm.support(at_most=2)])


def test_constraints_never_change():
    values = np.array(LATENCY)
    row = pm.average(values, at_most=25)
    values[0] = 0.0
    assert row.values[0] == 40.0
    with pytest.raises(ValueError, match="read-only"):
        row.values[0] = 1.0
    with pytest.raises(AttributeError):
        row.at_most = 3.0
    with pytest.raises(ValueError, match="read-only"):
        problem(row).posteriors.upper[0] = 0.5


# -- Bad input is one sentence ---------------------------------------------------------------------------------------

FINITE = "a finite number, at most 1e+300 in size."


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: pm.average(LATENCY), "average: at_most and at_least are both missing; give one of them, or both."),
        (lambda: pm.average([1.0, np.nan], 1), "average: values[1] is nan; every entry must be a number."),
        (lambda: pm.average([[1.0, 2.0]], 1), "average: values must be one-dimensional, but its shape is (1, 2)."),
        (lambda: pm.average([], 1), "average: values must hold at least one number, but it is empty."),
        (lambda: pm.average(["a", "b"], 1), "average: values[0] is 'a'; every entry must be a number."),
        (lambda: pm.average(LATENCY, "25"), f"average: at_most is '25'; it must be {FINITE}"),
        (lambda: pm.average(LATENCY, 1e305), f"average: at_most is 1e+305; it must be {FINITE}"),
        (lambda: pm.average([1, 1e308], 1), f"average: values[1] is 1e+308; every entry must be {FINITE}"),
        (lambda: pm.average(LATENCY, 1, 2), "average: at_least is 2, which is above at_most, 1."),
        (lambda: pm.average(LATENCY, 1, name=3), "average: name is 3; it must be a text."),
        (lambda: pm.average(LATENCY, 1, name=" "), "average: name is ' '; it must be a text."),
        (lambda: pm.weights(), "weights: at_most and at_least are both missing; give one of them, or both."),
        (lambda: pm.weights(at_most=1.5), "weights: at_most is 1.5; a weight is between 0 and 1."),
        (lambda: pm.weights(at_least=[0.1, -0.1]), "weights: at_least is -0.1; a weight is between 0 and 1."),
        (lambda: pm.weights(at_most=[0.1, np.nan]), "weights: at_most[1] is nan; every entry must be a number."),
        (lambda: pm.support(), "support: give at_most, a number of classifiers, or sizes and total; not both."),
        (lambda: pm.support(2, [1, 2], 3), "support: give at_most, a number of classifiers, or sizes and total; not"),
        (lambda: pm.support(sizes=[1, 2]), "support: sizes and total go together; give both, or at_most."),
        (lambda: pm.support(sizes=[1, -2], total=1), "support: sizes[1] is -2.0; a size is not negative."),
        (lambda: pm.support(at_most=0), "support: at_most is 0; it must be a whole number of at least 1."),
        (lambda: pm.support(at_most=2.5), "support: at_most is 2.5; it must be a whole number"),
        (lambda: problem("fast"), "constraints holds 'fast'; it must be made by pm.average, pm.weights or pm.support."),
        (lambda: pm.BoundProblem([0.1], m=9, constraints=0), "constraints is 0; it must be a list of constraints."),
        (lambda: problem(pm.average([1, 2], 1)), "average: values has 2 entries, but there are 4 classifiers; the two"),
        (lambda: problem(pm.weights([0.5, 1])), "weights: at_most has 2 entries, but there are 4 classifiers"),
        (lambda: problem(pm.support(1), pm.support(2)), "constraints has two limits on the support; give one."),
        (
            lambda: problem(pm.average(LATENCY, 25, name="a"), pm.average(RECALL, 1, name="a")),
            "constraints has two rows named 'a'; give each a name of its own.",
        ),
        (lambda: pm.BoundProblem(RISKS, m=9, constraints=3), "constraints is 3; it must be a list of constraints."),
        (
            lambda: pm.DirectProblem(RISKS, m=9, constraints=[pm.support(1)]),
            "constraints are not for a DirectProblem; they are for a BoundProblem.",
        ),
    ],
)
def test_bad_input_is_one_sentence(make, sentence):
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value).startswith(sentence)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("constraints", "sentence"),
    [
        ([pm.average(LATENCY, 4)], "constraints cannot hold: no posterior has average 1 at most 4."),
        # In units of the first value, weights of any average of the others would keep the limit.
        (
            [pm.average([1e15, 5, 1, 1], 2, name="ms")],
            "constraints: ms at most 2 is too small a limit beside the value 1e+15 of classifier 0 to be kept by "
            "weights of 16 digits; leave such classifiers out.",
        ),
        (
            [pm.average(LATENCY, 12, name="ms"), pm.average(RECALL, at_least=0.92, name="recall"), pm.weights(0.9)],
            "constraints cannot hold together: ms at most 12 and recall at least 0.92.",
        ),
        (
            [pm.average(LATENCY, 8, name="ms"), pm.average(RECALL, 1.0), pm.weights(at_least=0.2)],
            "constraints cannot hold together: ms at most 8 and weights at least 0.2.",
        ),
        (
            [pm.average(LATENCY, 6, name="ms"), pm.weights(at_most=0.5)],
            "constraints cannot hold together: ms at most 6 and weights at most 0.5.",
        ),
        ([pm.weights(at_most=0.2)], "constraints cannot hold: weights at most 0.2 sum to 0.8, below one."),
        ([pm.weights(at_least=0.3)], "constraints cannot hold: weights at least 0.3 sum to 1.2, above one."),
        (
            [pm.weights(at_most=0.5), pm.weights(at_least=[0, 0, 0.6, 0])],
            "constraints cannot hold together: weight 2 is at least 0.6 and at most 0.5.",
        ),
        (
            [pm.support(at_most=2), pm.weights(at_most=0.4)],
            "constraints cannot hold together: weights at most 0.4, at most 2 classifiers.",
        ),
        ([pm.support(sizes=[3, 4, 5, 6], total=2)], "constraints cannot hold: no classifier has a size of at most 2."),
    ],
)
def test_constraints_that_cannot_hold_are_named(constraints, sentence):
    with pytest.raises(InputError) as caught:
        problem(*constraints)
    assert str(caught.value) == sentence


# -- The set -----------------------------------------------------------------------------------------------------------


def random_set(draw, rows=3):
    """Rows that some random posterior keeps, and caps and floors around it."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 9))
    q = rng.dirichlet(np.full(size, 0.5))
    made = []
    for number in range(int(rng.integers(0, rows + 1))):
        values = rng.normal(size=size) * 10.0 ** rng.integers(-3, 4)
        room = rng.choice([0.0, 0.1]) * np.ptp(values)
        side = {"at_most": float(values @ q + room)} if rng.random() < 0.5 else {"at_least": float(values @ q - room)}
        made.append(pm.average(values, name=f"row {number}", **side))
    if rng.random() < 0.5:
        made.append(pm.weights(at_most=np.minimum(q + rng.choice([0.0, 0.2]), 1.0), at_least=q * rng.random()))
    return rng, q, Posteriors(size, made)


sets = st.composite(random_set)()


@settings(max_examples=60)
@given(sets)
def test_linear_minimisation_against_a_linear_program(given_set):
    rng, q, posteriors = given_set
    costs = rng.normal(size=q.size)
    values, limits = [row.values for row in posteriors.rows] or None, [row.limit for row in posteriors.rows] or None
    bounds = np.column_stack((posteriors.lower, posteriors.upper))
    reference = linprog(costs, values, limits, np.ones((1, q.size)), [1.0], bounds).fun
    found, multipliers = posteriors.minimise(costs)
    assert posteriors.violation(found) <= 1e-9 and abs(found.sum() - 1.0) <= 1e-9
    assert costs @ found == pytest.approx(reference, abs=1e-6)
    proven = posteriors.lowest(costs, multipliers)
    assert proven <= costs @ q + 1e-9 and proven == pytest.approx(reference, abs=1e-6)
    assert multipliers.shape == (len(posteriors.rows),) and (multipliers >= 0.0).all()
    # What is proven follows from the multipliers alone, whoever found them.
    tilted = costs + multipliers @ posteriors.matrix
    least = tilted @ cheapest(tilted, posteriors.lower, posteriors.upper)
    # It is lowered by what rounding may have done to prices that the multipliers make large.
    assert 0.0 <= least - proven <= 1e-14 * (1.0 + np.abs(costs).max() + multipliers.sum())


@settings(max_examples=60)
@given(sets)
def test_violation_is_zero_inside_and_positive_outside(given_set):
    rng, q, posteriors = given_set
    assert posteriors.violation(q) <= 1e-12
    other = rng.dirichlet(np.ones(q.size))
    units = [np.abs(row.values - row.limit).max() for row in posteriors.rows]
    outside = [(row.values @ other - row.limit) / unit for row, unit in zip(posteriors.rows, units, strict=True)]
    outside += [*(posteriors.lower - other), *(other - posteriors.upper), 0.0]
    violation = posteriors.violation(other)
    assert violation == pytest.approx(max(outside), abs=1e-12)
    repaired = posteriors.repaired(other, violation)
    assert repaired.sum() == pytest.approx(1.0, abs=1e-12) and repaired.min() >= 0.0
    assert posteriors.violation(repaired) <= max(violation, 1e-12)
    if violation > 0.0 and posteriors._inside[1] > 1e-6:
        assert posteriors.violation(repaired) <= 1e-9


@settings(max_examples=100)
@given(st.integers(0, 2**32 - 1))
def test_cheapest_between_caps_and_floors_against_a_linear_program(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 12))
    q = rng.dirichlet(np.ones(size))
    lower, upper = q * rng.random(size) * (rng.random() < 0.5), np.minimum(q + rng.random(size), 1.0)
    costs = rng.integers(-2, 3, size).astype(float)  # with ties
    found = cheapest(costs, lower, upper)
    reference = linprog(costs, A_eq=np.ones((1, size)), b_eq=[1.0], bounds=np.column_stack((lower, upper)))
    assert (found >= lower - 1e-15).all() and (found <= upper + 1e-15).all()
    assert found.sum() == pytest.approx(1.0, abs=1e-14)
    assert costs @ found == pytest.approx(reference.fun, abs=1e-9)


def test_weights_at_their_caps_but_for_rounding_need_no_linear_program(monkeypatch):
    """With 300 000 classifiers it takes minutes."""
    rng = np.random.default_rng(0)
    limits = [pm.average(rng.random(60), at_most=0.35), pm.weights(at_most=0.05)]
    limited = pm.BoundProblem(rng.random(60), m=100, divergence="kl", constraints=limits)
    q, posteriors = pm.solve(limited, "frontier").posterior, limited.posteriors
    assert np.count_nonzero(q == 0.05) > 1
    q = np.where(q == 0.05, q * (1.0 - 2.0**-52), q)
    monkeypatch.setattr(Posteriors, "minimise", None)
    assert posteriors.left(limited.gradient(q), q)[0] < 1e-9


def test_rows_are_in_units_of_their_own():
    """A violation in milliseconds is that in seconds."""
    slow = problem(pm.average(LATENCY, 25)).posteriors
    seconds = problem(pm.average(np.array(LATENCY) / 1000, 0.025)).posteriors
    q = np.array([0.9, 0.1, 0.0, 0.0])
    assert slow.violation(q) == pytest.approx(seconds.violation(q), rel=1e-12) == pytest.approx((38 - 25) / 20)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_violation_of_a_count_is_the_weight_over_it(limit):
    """The least weight that has to go for so many classifiers to be left, by trying all."""
    posteriors = problem(pm.support(at_most=limit)).posteriors
    q = np.array([0.4, 0.3, 0.2, 0.1])
    least = min(1.0 - q[list(kept)].sum() for kept in combinations(range(4), limit))
    assert posteriors.violation(q) == pytest.approx(least, abs=1e-15)
    assert posteriors.violation(np.array([1.0, 0.0, 0.0, 0.0])) == 0.0


@pytest.mark.parametrize("unit", [1.0, 1e-12, 5e-119])
def test_sizes_are_compared_in_their_own_unit(unit):
    posteriors = problem(pm.support(sizes=np.array([3.0, 2.0, 1.0, 1.0]) * unit, total=3.0 * unit)).posteriors
    assert posteriors.violation(np.array([0.0, 0.5, 0.3, 0.2])) == pytest.approx(0.2)
    assert posteriors.violation(np.array([0.0, 0.7, 0.3, 0.0])) == 0.0


def test_a_size_however_small_does_not_fit_into_nothing():
    risks, sizes = [0.2, 0.1, 0.1], [0.0, 1.0, 5e-119]
    solution = pm.solve(pm.BoundProblem(risks, m=60, constraints=pm.support(sizes=sizes, total=0.0)), "frontier")
    assert solution.posterior.tolist() == [1.0, 0.0, 0.0]
    assert solution.is_global


def test_sizes_that_add_up_to_the_total_fit_where_no_unit_is_small_enough():
    sizes = np.random.default_rng(1).random(40)
    posteriors = Posteriors(40, (pm.support(sizes=sizes, total=float(np.sum(sizes[:30]))),))
    assert posteriors.violation(np.r_[np.full(30, 1 / 30), np.zeros(10)]) == 0.0
    assert posteriors.violation(np.r_[np.full(30, 0.99 / 30), 0.01, np.zeros(9)]) == pytest.approx(0.01)


def test_room_under_a_limit_on_the_support():
    counted = problem(pm.support(at_most=2)).posteriors
    room = [bool(cap) for cap in counted.around(np.array([0.5, 0.5, 0.0, 0.0])).upper]
    assert room == [True, True, False, False]
    assert counted.around(np.array([1.0, 0.0, 0.0, 0.0])).upper.all()
    sized = problem(pm.support(sizes=[30, 20, 10, 8], total=41)).posteriors
    assert sized.around(np.array([1.0, 0.0, 0.0, 0.0])).upper.tolist() == [1.0, 0.0, 1.0, 1.0]
    capped = problem(pm.weights(at_most=0.5)).posteriors
    assert capped.around(np.array([0.5, 0.5, 0.0, 0.0])) is capped


def test_merged_classifiers_are_equal_under_the_constraints():
    risks, values = [0.1, 0.1, 0.1, 0.2], [1.0, 1.0, 2.0, 1.0]
    asked = pm.BoundProblem(risks, m=100, constraints=[pm.average(values, 1.5), pm.weights(at_most=0.4)])
    merged = asked.merged()
    assert merged.problem.size == 3
    part = merged.problem.posteriors
    assert sorted(zip(part.upper, part.rows[0].values, strict=True)) == [(0.4, 1.0), (0.4, 2.0), (0.8, 1.0)]
    q = merged.expand(merged.groups.sums(np.array([0.3, 0.1, 0.2, 0.4])))
    assert q.tolist() == pytest.approx([0.2, 0.2, 0.2, 0.4])
    limited = pm.BoundProblem(risks, m=100, constraints=[pm.support(at_most=2)])
    assert limited.merged().problem.size == 4


# -- What is said of a posterior ---------------------------------------------------------------------------------------


def test_findings_name_what_binds():
    posteriors = problem(*EVERY[:2], pm.weights(at_most=0.6, at_least=[0, 0.1, 0, 0]), pm.support(at_most=3)).posteriors
    q = np.array([0.575, 0.1, 0.0, 0.325])  # a latency of 26.625 ms
    said = "latency at most 25: is broken; a little more room lowers the bound by 0.002 per unit"
    assert findings(posteriors, q, {"latency": 2e-3})[0] == said
    q = np.array([0.6 - 3 / 35, 0.1, 0.0, 0.3 + 3 / 35])
    said = findings(posteriors, q, {})
    mean = float(np.dot(RECALL, q))
    assert said[1:] == [
        f"average 2 at most 0.99: has room, the average is {mean:.6g}",
        f"average 2 (at least) at least 0.9: has room, the average is {mean:.6g}",
        "weights at most 0.6: 0 classifiers are at the cap",
        "weights at least 0 to 0.1: 1 classifier is at the floor",
        "at most 3 classifiers: 3 of 3 used",
    ]
