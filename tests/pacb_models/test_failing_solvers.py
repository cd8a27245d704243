"""A solver that raises, leaves or returns nonsense is a failed solver: one line and exit code 1, as a user sees it."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import psutil
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
    any_pair = True

    def run(self, problem):
        {body}

SOLVER = Failing()
"""


class Failing(Solver):
    name = "failing"
    any_pair = True

    def __init__(self, reason):
        self.reason = reason

    def run(self, problem):
        raise self.reason


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
        ("import os; os._exit(0)", "solver 'failing' failed: it ended its process with exit code 0."),
        ("import os; os.kill(os.getpid(), 9)", "solver 'failing' failed: it ended its process with exit code -9."),
        # What it leaves behind holds on to all that it had open.
        (
            "import os, time; os.fork() or time.sleep(20); os._exit(0)",
            "solver 'failing' failed: it ended its process with exit code 0.",
        ),
        (
            "return Outcome(problem.prior.copy(), 'optimal', details={'work': lambda: 0})",
            "solver 'failing' failed: what it returned cannot be sent to another process",
        ),
    ],
)
def test_solve_says_that_the_solver_failed(tmp_path, capsys, body, said):
    (tmp_path / "risks.csv").write_text("0.1\n0.2\n")
    (tmp_path / "mine.py").write_text(FAILING.format(body=body))
    words = ["solve", str(tmp_path / "risks.csv"), "--m", "50", "--solver", f"{tmp_path / 'mine.py'}:SOLVER"]
    assert main(words) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.startswith(f"pacb solve: {said}") and printed.err.count("\n") == 1
    assert len(printed.err) < 1200


@pytest.mark.outside
@pytest.mark.parametrize("command", ["solve", "check"])
@pytest.mark.parametrize(
    "body",
    [
        "import pacb_models.problem as p; p.Problem.judge = p.BoundProblem.judge = lambda s, q: p.Judgement(0.5, 0.0)",
        "import ctypes; ctypes.memset(problem.risks.ctypes.data, 0, problem.risks.nbytes)",
    ],
)
def test_what_it_changes_is_its_own(tmp_path, capsys, command, body):
    (tmp_path / "risks.csv").write_text("0.1\n0.2\n")
    body += "; return Outcome(problem.prior.copy(), 'optimal')"
    (tmp_path / "mine.py").write_text(FAILING.format(body=body))
    option = "--solver" if command == "solve" else "--solvers"
    words = [command, str(tmp_path / "risks.csv"), "--m", "50", option, f"{tmp_path / 'mine.py'}:SOLVER", "--json"]
    assert main(words) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found if command == "solve" else found["rows"][0])["status"] == "not_converged"


@pytest.mark.outside
def test_it_ends_with_the_command(tmp_path):
    mark = tmp_path / "mark"
    (tmp_path / "risks.csv").write_text("0.1\n0.2\n")
    body = f"import os, pathlib, time; pathlib.Path({str(mark)!r}).write_text(str(os.getpid()) + '.'); time.sleep(600)"
    (tmp_path / "mine.py").write_text(FAILING.format(body=body))
    words = ["solve", tmp_path / "risks.csv", "--m", "50", "--solver", tmp_path / "mine.py"]
    command = subprocess.Popen([sys.executable, "-m", "pacb_models", *map(str, words)])
    while not (mark.exists() and mark.read_text().endswith(".")):
        time.sleep(0.02)
    command.kill()
    command.wait()
    number = int(mark.read_text()[:-1])
    while psutil.pid_exists(number):
        time.sleep(0.02)


@pytest.mark.parametrize("reason", [SystemExit(0), ZeroDivisionError("division by zero"), RuntimeError("")])
def test_a_solver_that_raises_or_leaves_has_failed(reason):
    solution = pm.solve(PROBLEM, Failing(reason))
    assert (solution.status, solution.posterior, solution.lower_bound) == ("error", None, None)
    assert type(reason).__name__ in solution.message and type(reason).__name__ in solution.details["traceback"]


@pytest.mark.parametrize("reason", [pm.InputError("option a is 1."), KeyboardInterrupt(), MemoryError()])
def test_what_is_not_the_solver_s_failure_is_handed_on(reason):
    with pytest.raises(type(reason)) as caught:
        pm.solve(PROBLEM, Failing(reason))
    assert caught.value is reason


#: One that prints through Python and past it, and colours the terminal.
CHATTY = FAILING.replace("import sys", "import os, sys").format(
    body="print('hello'); os.write(1, b'past Python'); "
    "return Outcome(problem.prior.copy(), 'optimal', 'red \\x1b[31m\\nnew line', setup_seconds={seconds})"
)


@pytest.mark.parametrize("command", ["solve", "check"])
def test_json_is_all_of_standard_output_whatever_a_solver_prints(tmp_path, capfd, command):
    (tmp_path / "risks.csv").write_text("0.1\n0.2\n")
    (tmp_path / "mine.py").write_text(CHATTY.format(seconds=0.0))
    option = "--solver" if command == "solve" else "--solvers"
    words = [command, str(tmp_path / "risks.csv"), "--m", "50", option, f"{tmp_path / 'mine.py'}:SOLVER"]
    assert main([*words, "--json"]) == 1
    printed = capfd.readouterr()
    assert json.loads(printed.out) and r"red \\x1b[31m\\nnew line" in printed.out
    assert "hello" in printed.err and "past Python" in printed.err
    assert main(words) == 1
    assert "\x1b" not in capfd.readouterr().out


@pytest.mark.parametrize("seconds", ["float('nan')", "-1e9", "float('inf')"])
def test_a_time_that_is_none_is_named(tmp_path, capsys, seconds):
    (tmp_path / "risks.csv").write_text("0.1\n0.2\n")
    (tmp_path / "mine.py").write_text(CHATTY.format(seconds=seconds))
    assert main(["solve", str(tmp_path / "risks.csv"), "--m", "50", "--solver", f"{tmp_path / 'mine.py'}:SOLVER"]) == 1
    assert "it returned the setup_seconds" in capsys.readouterr().err.splitlines()[-1]
