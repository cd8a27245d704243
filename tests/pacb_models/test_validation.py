"""Every bad input is one sentence: the argument, the offending value and its index, what was expected."""

import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import pacb_models as pm

GOOD = {"risks": [0.1, 0.2, 0.3], "m": 100, "delta": 0.05}

#: (arguments that replace good ones, what the sentence must say)
BAD = [
    # risks
    ({"risks": [0.1, 1.5, 0.2]}, [r"risks\[1\] is 1\.5", r"\[0, 1\]"]),
    ({"risks": [0.1, 0.2, -1e-9]}, [r"risks\[2\] is -1e-09", r"\[0, 1\]"]),
    ({"risks": [0.1, float("nan")]}, [r"risks\[1\] is nan"]),
    ({"risks": [float("inf"), 0.1]}, [r"risks\[0\] is inf", r"\[0, 1\]"]),
    ({"risks": [2.0, 3.0, 0.5]}, [r"risks\[0\] is 2\.0", "1 more"]),
    ({"risks": [float("inf"), float("-inf"), float("nan")]}, [r"risks\[2\] is nan"]),
    ({"risks": []}, ["risks", "empty"]),
    ({"risks": 0.3}, ["risks", "one-dimensional", r"\(\)"]),
    ({"risks": [[0.1, 0.2]]}, ["risks", "one-dimensional", r"\(1, 2\)"]),
    ({"risks": [0.1, "low", "high"]}, [r"risks\[1\] is 'low'", "number"]),
    ({"risks": {"a": 0.1}}, ["risks is {'a': 0.1}", "sequence of numbers"]),
    ({"risks": "0.1 0.2"}, ["risks is '0.1 0.2'", "sequence of numbers"]),
    *(({"m": m}, [rf"\bm is {m!r}"]) for m in (0, 10.0, True, "many", None, 10**9 + 1)),
    *(({"delta": d}, ["delta is .*strictly between 0 and 1"]) for d in (0.0, 1.0, math.nan, True, "small")),
    # prior
    ({"prior": [0.5, 0.5]}, ["prior has 2 entries", "3 risks"]),
    ({"prior": [0.5, 0.7, -0.2]}, [r"prior\[2\] is -0\.2", "positive"]),
    ({"prior": [0.5, 0.5, 0.0]}, [r"prior\[2\] is 0\.0", "positive"]),
    ({"prior": [0.5, 0.3, 0.3]}, [r"prior sums to 1\.1", "sum to 1", "1e-09"]),
    ({"prior": [0.5, 0.3, 0.2 + 2e-9]}, [r"prior sums to 1\.000000002"]),
    ({"prior": [1e308, 1e308, 1e308]}, [r"prior sums to inf; it must sum to 1"]),
    ({"prior": "uniform"}, ["prior is 'uniform'", "sequence of numbers"]),
    # names
    ({"distance": "cubic"}, ["distance", "'cubic'", "linear", "squared", "kl", "pinsker", "ch"]),
    ({"divergence": "tv"}, ["divergence", "'tv'", "chi2", "renyi", "kl"]),
    ({"constant": "best"}, ["constant", "'best'", "exact", "paper"]),
    ({"distance": None}, ["distance", "None"]),
    ({"distance": ["kl"]}, ["distance", r"\['kl'\]"]),
    # combinations that do not exist
    ({"distance": "pinsker"}, ["pinsker", "chi2", "linear", "squared", "kl"]),
    ({"distance": "ch", "divergence": "renyi"}, ["'?ch'?", "renyi", "linear", "squared", "kl"]),
    ({"divergence": "renyi", "constant": "paper"}, ["paper", "renyi", "chi2"]),
    *(
        ({"divergence": "renyi", "order": a}, ["order is .*finite.*above 1"])
        for a in (1.0, math.inf, math.nan, "two", True)
    ),
]


def assert_one_sentence(message: str, fragments: list[str]) -> None:
    assert "\n" not in message
    assert message.endswith(".")
    assert not re.search(r"[.!?] [A-Z]", message), "more than one sentence"
    for fragment in fragments:
        assert re.search(fragment, message), f"{fragment!r} is missing in: {message}"


@pytest.mark.parametrize("arguments, fragments", BAD, ids=[str(arguments) for arguments, _ in BAD])
def test_bad_problem(arguments, fragments):
    with pytest.raises(pm.InputError) as caught:
        pm.BoundProblem(**(GOOD | arguments))
    assert isinstance(caught.value, ValueError)
    assert_one_sentence(str(caught.value), fragments)


BAD_POSTERIORS = [
    ([0.5, 0.5], ["posterior has 2 entries", "3 risks"]),
    ([0.5, 0.6, -0.1], [r"posterior\[2\] is -0\.1", "non-negative"]),
    ([0.5, 0.4, 0.2], [r"posterior sums to 1\.1"]),
    ([[0.5, 0.3, 0.2]], ["posterior", "one-dimensional"]),
]


@pytest.mark.parametrize("method", ["bound", "gradient", "kkt_residual", "classify"])
@pytest.mark.parametrize("posterior, fragments", BAD_POSTERIORS, ids=[str(p) for p, _ in BAD_POSTERIORS])
def test_bad_posterior(method, posterior, fragments):
    problem = pm.BoundProblem(**GOOD)
    with pytest.raises(pm.InputError) as caught:
        getattr(problem, method)(posterior)
    assert_one_sentence(str(caught.value), fragments)


@pytest.mark.parametrize("kind", [pm.BoundProblem, pm.DirectProblem])
@pytest.mark.parametrize("divergence, distance", [("chi2", "linear"), ("chi2", "kl"), ("kl", "squared")])
def test_sums_that_are_nearly_one_make_no_bound_smaller(kind, divergence, distance):
    """A prior's excess would make every posterior look nearer to it, a posterior's lack its risk smaller."""
    prior, posterior = np.array([0.3, 0.2, 0.5]), np.array([0.6, 0.3, 0.1])
    exact = kind([0.1, 0.2, 0.4], 100, 0.05, distance, divergence, prior)
    heavy = kind([0.1, 0.2, 0.4], 100, 0.05, distance, divergence, prior * (1 + 9e-10))
    bound = exact.bound(posterior)
    assert heavy.bound(posterior) == pytest.approx(bound, rel=1e-13)
    assert exact.bound(posterior * (1 - 9e-10)) == pytest.approx(bound, rel=1e-13)


def test_integers_and_numpy_scalars_are_numbers():
    problem = pm.BoundProblem([0, 1], m=np.int64(10), delta=np.float32(0.5))
    assert type(problem.m) is int
    assert type(problem.delta) is float
    assert problem.bound([1, 0]) == problem.bound([1.0, 0.0])


NO_REAL_NUMBERS = [
    np.ma.masked_array([0.1, 0.9, 0.4], mask=[False, True, False]),
    np.array([0.1, 0.9, 0.4 + 0j]),
    [0.1, 0.9, 0.4j],
    *(np.array([0, 1, 2], dtype=kind) for kind in ("timedelta64[s]", "datetime64[D]")),
    ["0.1", "0.9", "0.4"],
    np.array([0.1, "0.9", 0.4], dtype=object),
    *([0.1, value, 0.2] for value in (10**400, None)),
    [[0.1, 0.2], [0.3]],
]


@pytest.mark.parametrize("values", NO_REAL_NUMBERS, ids=repr)
@pytest.mark.filterwarnings("error")
def test_only_real_numbers_that_are_known(values):
    problem = pm.BoundProblem(**GOOD)
    for refused in (
        lambda: pm.BoundProblem(values, 50),
        lambda: pm.BoundProblem([0.1, 0.2, 0.3], 50, prior=values),
        lambda: problem.bound(values),
        lambda: pm.kl_inverse(values, 0.1),
        lambda: pm.kl_inverse(0.1, values),
        lambda: pm.clopper_pearson(1, 50, values),
    ):
        with pytest.raises(
            pm.InputError, match=r"must be a number|must be known|(array|sequence) of numbers"
        ) as caught:
            refused()
        assert_one_sentence(str(caught.value), [])


def test_unusual_arrays_of_known_real_numbers():
    expected = [0.125, 0.25, 1.0]
    for values in (
        np.ma.masked_array(expected),
        [Fraction(1, 8), Decimal("0.25"), True],
        np.array(expected, dtype=np.float32),
        np.array([*expected, 9.0])[:3],
    ):
        assert pm.BoundProblem(values, 50).risks.tolist() == expected
