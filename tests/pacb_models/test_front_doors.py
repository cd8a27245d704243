"""What is no problem, no solver or no number is told in one sentence, with the argument's name, at every front door."""

from __future__ import annotations

import pytest

import pacb_models as pm
from pacb_models.commands.program import main
from pacb_models.errors import InputError
from pacb_models.plots import ConvergenceDisplay
from pacb_models.solving.registry import get_solver

PROBLEM = pm.BoundProblem([0.1, 0.2], m=100)
NO_PROBLEM = ([0.1, 0.2], None, 5, pm.BoundProblem)


@pytest.mark.parametrize("door", [pm.solve, pm.cross_check, ConvergenceDisplay.from_solvers, pm.available_solvers])
@pytest.mark.parametrize("problem", NO_PROBLEM)
def test_what_is_no_problem(door, problem):
    if door is pm.available_solvers and problem is None:
        return
    with pytest.raises(InputError, match=r"^problem is .*; it must be a problem, as pm\.BoundProblem makes one\.$"):
        door(problem)


@pytest.mark.parametrize("problem", NO_PROBLEM)
def test_what_is_no_bound_problem(problem):
    for call in (lambda: pm.path(problem, "delta", [0.1]), lambda: pm.minimise_certified(problem, {"a": (PROBLEM, 1)})):
        with pytest.raises(InputError, match=r"^problem is .*; it must be a BoundProblem\.$"):
            call()


@pytest.mark.parametrize("problems", [5, None, PROBLEM])
def test_what_is_no_list_of_problems(problems):
    with pytest.raises(InputError, match=r"^problems is .*; it must be a sequence of problems\.$"):
        pm.solve_many(problems)


@pytest.mark.parametrize("solver", [5, None, [], {}])
def test_what_is_no_solver(solver):
    many = [pm.BoundProblem([0.1, 0.2], m=100)]
    for call in (pm.solve, lambda _, each: pm.solve_many(many, each), lambda p, each: pm.path(p, "m", [9], each)):
        with pytest.raises(InputError, match=r"^solver is .*; it must be the name of a solver, or a Solver\.$"):
            call(PROBLEM, solver)


def test_what_is_no_list_of_solvers():
    for door in (pm.cross_check, ConvergenceDisplay.from_solvers):
        with pytest.raises(InputError, match=r"^solvers is 5; it must be a list of solvers\.$"):
            door(PROBLEM, 5)


@pytest.mark.parametrize("function", [5, None, "kl", type(PROBLEM)])
def test_what_has_no_derivatives(function):
    with pytest.raises(InputError, match=r"^function is .*; it must be a Distance, a Divergence or a Problem\.$"):
        pm.check_derivatives(function)


def test_what_is_no_parameter():
    with pytest.raises(InputError, match=r"^parameter is \[\]; it must be the name of a parameter\.$"):
        pm.path(PROBLEM, [], [0.1])


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
    ("words", "said"),
    [
        (
            ["solve", "r.csv", "--m", "9", "--solvr", "x"],
            "pacb solve: unrecognized arguments: --solvr x; did you mean --solver?",
        ),
        (
            ["constants", "--m", "9", "--zzz"],
            "pacb constants: unrecognized arguments: --zzz (see 'pacb constants --help')",
        ),
        (["judge", "a", "b", "--sovler=x"], "pacb judge: unrecognized arguments: --sovler=x; did you mean --solver?"),
    ],
)
def test_an_unknown_option_names_the_command_and_the_nearest(words, said, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(words)
    assert capsys.readouterr().err.startswith(said)


@pytest.mark.parametrize("value", ["[" * 100_000, "1" * 5000])
def test_an_option_that_json_cannot_read_is_a_text(value, tmp_path, capsys):
    (tmp_path / "r.csv").write_text("0.1\n0.2\n")
    assert main(["solve", str(tmp_path / "r.csv"), "--m", "9", "--solver", "ccp", "--option", f"tol={value}"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and len(said) < 2000


def test_a_missing_column_among_many_is_a_short_sentence(tmp_path, capsys):
    columns = ",".join(f"latency{k}" for k in range(100_000))
    (tmp_path / "r.csv").write_text(f"risk,{columns}\n0.1{',1' * 100_000}\n")
    assert main(["solve", str(tmp_path / "r.csv"), "--m", "9", "--at-most", "size=3"]) == 2
    said = capsys.readouterr().err
    assert "has no column 'size'; its columns are 'risk', 'latency0'" in said and "and 99981 more" in said
    assert len(said) < 1000
