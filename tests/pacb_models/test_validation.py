"""Every bad input is one sentence, at every front door: the argument, the value and its index, what was expected."""

import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import pacb_models as pm
from pacb_models.benchmarks.paper.claims import quasi_convexity_condition
from pacb_models.constants import moment_curve
from pacb_models.distances import Catoni
from pacb_models.plots import ConvergenceDisplay, PathDisplay
from pacb_models.solving.registry import get_solver

from ..own_bounds import Doubled

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


# --- no problem, no solver, no option ---------------------------------------------------------------------------------

PROBLEM = pm.BoundProblem([0.1, 0.2], m=100)
SQUARED = PROBLEM.replace(distance="squared")
NO_PROBLEM = ([0.1, 0.2], None, 5, pm.BoundProblem)
CATONI = pm.DirectProblem([0.1, 0.2], 50, distance=Catoni(1.0), divergence="kl")
HALVES = ([0.5, 0.5], [1.0, 0.0])
DOORS = (
    *(pm.solve, pm.cross_check, ConvergenceDisplay.from_solvers),
    lambda problem: pm.check_proof(problem, None),
)
NO_SOLVER = r"^solver is .*; it must be the name of a solver, or a Solver\.$"


def each(call, values, sentence):
    """The call with each of some values, and what is said of all."""
    return [(lambda given=given: call(given), sentence) for given in values]


A_PROBLEM = r"^problem is .*; it must be a problem, as pm\.BoundProblem makes"
REFUSED = [
    *(case for door in DOORS for case in each(door, NO_PROBLEM, A_PROBLEM)),
    *each(pm.available_solvers, (NO_PROBLEM[0], *NO_PROBLEM[2:]), A_PROBLEM),
    *(
        case
        for call in (lambda p: pm.path(p, "delta", [0.1]), lambda p: pm.minimise_certified(p, {"a": (PROBLEM, 1)}))
        for case in each(call, NO_PROBLEM, r"^problem is .*; it must be a BoundProblem\.$")
    ),
    *each(pm.solve_many, (5, None, PROBLEM), r"^problems is .*; it must be a sequence of problems\.$"),
    *(
        case
        for call in (
            lambda s: pm.solve(PROBLEM, s),
            lambda s: pm.solve_many([PROBLEM], s),
            lambda s: pm.path(PROBLEM, "m", [9], s),
        )
        for case in each(call, (5, None, [], {}), NO_SOLVER)
    ),
    *each(pm.check_derivatives, (5, None, "kl", type(PROBLEM)), r"^function is .*; it must be a Distance, a Diver"),
    *each(
        lambda merge: pm.solve(PROBLEM, merge=merge), ("yes", None, 1), r"merge is .*; it must be 'auto', True or Fal"
    ),
    *each(Catoni, (0.0, -1.0, math.inf, math.nan, "1"), r"beta is .*; it must be a positive number"),
    *each(
        lambda alpha: quasi_convexity_condition(SQUARED, *HALVES, alpha),
        (0.0, 1.0, math.nan, "half", True),
        "alpha is .*strictly between 0 and 1",
    ),
    *each(
        lambda changes: pm.BoundProblem([0.1], 50, **changes).cvxpy_problem(),
        ({"distance": "squared"}, {}, {"divergence": "kl", "distance": "pinsker"}, {"distance": Doubled()}),
        "no CVXPY form: its bound is not",
    ),
    (lambda: PROBLEM.pyomo_model("dense"), "formulation is 'dense'; it must be one of 'lifted', 'substituted'"),
    (lambda: pm.solve_many([PROBLEM, 3]), r"problems\[1\] is 3; it must be a problem"),
    (lambda: pm.cross_check(PROBLEM, solvers=["magic"]), "solver is 'magic'"),
    (lambda: pm.cross_check(PROBLEM, options={"magic": {}}), "solver is 'magic'"),
    (lambda: pm.cross_check(PROBLEM, tol=math.nan), "tol is nan"),
    (lambda: pm.cross_check(PROBLEM, time_limit=0), "time_limit is 0"),
    (lambda: pm.cross_check(PROBLEM, 5), r"^solvers is 5; it must be a list of solvers\.$"),
    (lambda: ConvergenceDisplay.from_solvers(PROBLEM, 5), r"^solvers is 5; it must be a list of solvers\.$"),
    (lambda: pm.path(PROBLEM, [], [0.1]), r"^parameter is \[\]; it must be the name of a parameter\.$"),
    (lambda: moment_curve("kl", 10, [0.5, 1.5]), r"^l\[1\] is 1\.5; a probability must lie in \[0, 1\]\.$"),
    (lambda: pm.minimise_certified(PROBLEM, {"a": (PROBLEM, 1)}, tolerance=0), "tolerance is 0; it must be a positive"),
    (lambda: PathDisplay.from_problem(CATONI), "problem is a DirectProblem; only a BoundProblem"),
    (lambda: pm.DirectProblem([0.1, 0.2], 50, distance=Doubled()).bound(HALVES[0]), "Doubled lacks `forward`"),
    (lambda: CATONI.bound(HALVES[0]), "the catoni distance has no direct bound: .* lacks `forward`"),
    (lambda: quasi_convexity_condition(PROBLEM, *HALVES, 0.5), "'kl' with 'chi2'"),
]


@pytest.mark.parametrize(("call", "sentence"), REFUSED)
def test_what_is_refused_is_named_in_one_sentence(call, sentence):
    with pytest.raises(pm.InputError) as said:
        call()
    assert_one_sentence(str(said.value), [sentence])


def test_numbers_beyond_all_floats_are_told_shortly():
    for changes in ({"delta": 10**400}, {"m": 10**400}, {"divergence": "renyi", "order": 10**400}):
        with pytest.raises(pm.InputError) as said:
            PROBLEM.replace(**changes)
        assert len(str(said.value)) < 200


def test_a_solver_may_be_an_object_where_convergence_is_drawn():
    display = ConvergenceDisplay.from_solvers(PROBLEM, [get_solver("ccp"), "fixed-point", get_solver("ccp")])
    assert list(display.traces) == ["ccp", "fixed-point", "ccp (2)"]
    display.plot()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("solve r.csv --m 9 --solvr x", "pacb solve: unrecognized arguments: --solvr x; did you mean --solver?"),
        ("constants --m 9 --zzz", "pacb constants: unrecognized arguments: --zzz (see 'pacb constants --help')"),
        ("judge a b --sovler=x", "pacb judge: unrecognized arguments: --sovler=x; did you mean --solver?"),
    ],
)
def test_an_unknown_option_names_the_command_and_the_nearest(line, said, refused):
    refused(said, line)


@pytest.mark.parametrize("value", ["[" * 100_000, "1" * 5000])
def test_an_option_that_json_cannot_read_is_a_text(value, tmp_path, pacb):
    (tmp_path / "r.csv").write_text("0.1\n0.2\n")
    said = pacb(f"solve {tmp_path}/r.csv --m 9 --solver ccp --option tol={value}", code=2).err
    assert said.count("\n") == 1 and len(said) < 2000


def test_a_missing_column_among_many_is_a_short_sentence(tmp_path, pacb):
    columns = ",".join(f"latency{k}" for k in range(100_000))
    (tmp_path / "r.csv").write_text(f"risk,{columns}\n0.1{',1' * 100_000}\n")
    said = pacb(f"solve {tmp_path}/r.csv --m 9 --at-most size=3", code=2).err
    assert "has no column 'size'; its columns are 'risk', 'latency0'" in said and "and 99981 more" in said
    assert len(said) < 1000
