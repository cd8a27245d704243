"""A problem as JSON: the same problem comes back, and nothing else is taken for one."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pacb_models as pm
from pacb_models import problem_file
from pacb_models.distances.squared import Quadratic
from pacb_models.errors import InputError, UnsupportedProblemError
from pacb_models.problem import Problem

PAIRS = [("kl", "chi2"), ("squared", "chi2"), ("linear", "kl"), ("ch", "kl"), ("squared", "renyi")]


@given(
    risks=st.lists(st.floats(0, 1), min_size=1, max_size=6),
    m=st.integers(1, 10_000),
    delta=st.floats(1e-6, 0.5),
    pair=st.sampled_from(PAIRS),
    order=st.floats(1.1, 8.0),
    constant=st.sampled_from(["exact", "one-sided"]),
    shares=st.none() | st.lists(st.floats(0.01, 1), min_size=6, max_size=6),
    kind=st.sampled_from([pm.BoundProblem, pm.DirectProblem]),
)
def test_the_same_problem_comes_back(risks, m, delta, pair, order, constant, shares, kind):
    prior = None if shares is None else np.array(shares[: len(risks)]) / sum(shares[: len(risks)])
    problem = kind(risks, m, delta, *pair, prior=prior, constant=constant, order=order)
    again = kind.from_json(problem.to_json())
    assert repr(again) == repr(problem) and again.uniform_prior == problem.uniform_prior
    assert again.order == problem.order
    assert again.risks.tolist() == problem.risks.tolist() and again.prior.tolist() == problem.prior.tolist()
    assert again.to_json() == problem.to_json()


def test_counts_come_back_as_counts():
    problem = pm.BoundProblem.from_counts([3, 7], m=37)
    again = pm.BoundProblem.from_json(problem.to_json().encode())
    assert again.errors.tolist() == [3, 7] and again.coefficient == problem.coefficient


def test_other_fields_and_the_first_version_are_read():
    record = json.loads(pm.BoundProblem([0.1, 0.2], m=50).to_json())
    del record["errors"]
    text = json.dumps(record | {"schema": 1, "prior": [0.5, 0.5], "optimum": 0.4})
    assert pm.BoundProblem.from_json(text).prior.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"schema": 99}, "has the schema 99; this version reads 1 to"),
        ({"schema": True}, "has the schema True"),
        ({"m": 0}, "m is 0"),
        ({"risks": [0.1, 2.0]}, r"risks\[1\] is 2.0"),
        ({"risks": "abc"}, "risks"),
        ({"distance": "bogus"}, "distance is 'bogus'"),
        ({"divergence": ["kl"]}, "divergence is"),
        ({"problem_kind": "direct"}, "problem_kind 'direct'; BoundProblem is 'bound'"),
        ({"errors": [5, 11]}, "errors that are not its risks times m"),
        ({"constraints": [{"at_most": 1}]}, "constraints"),
        ({"order": "x", "divergence": "renyi"}, "order"),
    ],
)
def test_what_is_no_problem_is_one_sentence(changes, complaint):
    record = json.loads(pm.BoundProblem([0.1, 0.2], m=50).to_json()) | changes
    with pytest.raises(InputError, match=complaint):
        pm.BoundProblem.from_json(json.dumps(record))


@pytest.mark.parametrize("text", ["", "{", "[1]", "3", "{}", "[" * 100_000, b"\xff"])
def test_what_is_no_json_is_one_sentence(text):
    with pytest.raises(InputError, match="must be"):
        pm.BoundProblem.from_json(text)


def test_somebody_elses_formula_is_not_written():
    class Mine(Quadratic):
        name, scale = "squared", 1.0

    class Other(Problem):
        def bound(self, posterior):
            return 0.5

    for problem in (pm.BoundProblem([0.1], m=10, distance=Mine()), Other([0.1], m=10)):
        with pytest.raises(UnsupportedProblemError, match="a formula of its own"):
            problem.to_json()
        # An export tells what it can, and nobody takes it for one of our problems.
        with pytest.raises(InputError, match="problem_kind 'own'"):
            pm.BoundProblem.from_json(json.dumps(problem_file.as_record(problem)))


def test_the_reference_describes_every_field():
    record = problem_file.as_record(pm.BoundProblem([0.1], m=10))
    assert all(f"``{name}``" in problem_file.__doc__ for name in record)
