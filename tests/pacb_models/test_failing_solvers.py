"""A solver that raises, leaves or returns nonsense is a failed solver: one line and exit code 1, as a user sees it."""

import json

import pytest

import pacb_models as pm
from pacb_models.commands.program import main
from pacb_models.solver import Solver

PROBLEM = pm.BoundProblem([0.1, 0.2, 0.3], m=100)

#: Another package's solver, in a file.
FAILING = """
import sys
from pacb_models.solution import Outcome
from pacb_models.solver import Solver

class Failing(Solver):
    name = "failing"
    needs = ("problem.bound_at",)

    def run(self, problem):
        {body}

SOLVER = Failing()
"""


class Raising(Solver):
    name = "raising"
    needs = ("problem.bound_at",)

    def __init__(self, reason):
        self.reason = reason

    def run(self, problem):
        raise self.reason


@pytest.fixture
def with_solver(tmp_path):
    """The line of a command with the solver of a text."""

    def line(text, command="solve", option="--solver"):
        (tmp_path / "risks.csv").write_text("0.1\n0.2\n")
        (tmp_path / "mine.py").write_text(text)
        return f"{command} {tmp_path}/risks.csv --m 50 {option} {tmp_path}/mine.py:SOLVER"

    return line


@pytest.mark.outside
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("sys.exit(0)", "solver 'failing' failed: it raised SystemExit: 0."),
        ("raise KeyError('weights')", "solver 'failing' failed: it raised KeyError: 'weights'."),
        ("raise ValueError('two\\nlines')", r"solver 'failing' failed: it raised ValueError: two lines."),
        ("raise ValueError(3_000_000 * 'no ')", r"solver 'failing' failed: it raised ValueError: no no no"),
        ("return None", "solver 'failing' failed: it returned None; it must return an Outcome."),
        ("raise MemoryError", "out of memory"),
    ],
)
def test_solve_says_that_the_solver_failed(with_solver, body, said, pacb):
    printed = pacb(with_solver(FAILING.format(body=body)), code=1)
    assert printed.out == "" and printed.err.startswith(f"pacb solve: {said}") and printed.err.count("\n") == 1
    assert len(printed.err) < 1200


@pytest.mark.parametrize("reason", [pm.InputError("option a is 1."), KeyboardInterrupt(), MemoryError()])
def test_what_is_not_the_solver_s_failure_is_handed_on(reason):
    with pytest.raises(type(reason)) as caught:
        pm.solve(PROBLEM, Raising(reason))
    assert caught.value is reason


#: One that prints through Python and past it, and colours the terminal.
CHATTY = FAILING.replace("import sys", "import os, sys").format(
    body="print('hello'); os.write(1, b'past Python'); "
    "return Outcome(problem.prior.copy(), 'optimal', 'red \\x1b[31m\\nnew line', setup_seconds={seconds})"
)


@pytest.mark.parametrize(("command", "option"), [("solve", "--solver"), ("check", "--solvers")])
def test_json_is_all_of_standard_output_whatever_a_solver_prints(with_solver, capfd, command, option):
    words = with_solver(CHATTY.format(seconds=0.0), command, option).split()
    assert main([*words, "--json"]) == 1
    printed = capfd.readouterr()
    assert json.loads(printed.out) and r"red \\x1b[31m\\nnew line" in printed.out
    assert "hello" in printed.err and "past Python" in printed.err
    assert main(words) == 1
    assert "\x1b" not in capfd.readouterr().out


@pytest.mark.parametrize("seconds", ["float('nan')", "-1e9", "float('inf')"])
def test_a_time_that_is_none_is_named(with_solver, seconds, pacb):
    done = pacb(with_solver(CHATTY.format(seconds=seconds)), code=1)
    assert "it returned the setup_seconds" in done.err.splitlines()[-1]
