"""What is no problem, no solver or no number is told in one sentence, with the argument's name, at every front door."""

import math

import pytest

import pacb_models as pm
from pacb_models.benchmarks.paper.claims import quasi_convexity_condition
from pacb_models.constants import moment_curve
from pacb_models.distances import Catoni
from pacb_models.errors import InputError
from pacb_models.plots import ConvergenceDisplay, PathDisplay
from pacb_models.solving.registry import get_solver

from ..own_bounds import Doubled

PROBLEM = pm.BoundProblem([0.1, 0.2], m=100)
SQUARED = PROBLEM.replace(distance="squared")
NO_PROBLEM = ([0.1, 0.2], None, 5, pm.BoundProblem)
FOREIGN = pm.BoundProblem([0.1, 0.2], 150, distance=Doubled())
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
    (lambda: FOREIGN.pyomo_model(), "the doubled distance lacks the method `express`"),
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
    with pytest.raises(InputError, match=sentence) as said:
        call()
    assert "\n" not in str(said.value)


def test_numbers_beyond_all_floats_are_told_shortly():
    for changes in ({"delta": 10**400}, {"m": 10**400}, {"divergence": "renyi", "order": 10**400}):
        with pytest.raises(InputError) as said:
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
