"""A solver that raises, leaves or returns nonsense is a failed solver: one line and exit code 1, as a user sees it."""

from __future__ import annotations

import pytest

import pacb_models as pm
from pacb_models.commands.program import main
from pacb_models.solver import Solver

PROBLEM = pm.BoundProblem([0.1, 0.2, 0.3], m=100)

#: Another package's solver, in a file.
FAILING = """
import sys
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


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("sys.exit(0)", "solver 'failing' failed: it raised SystemExit: 0."),
        ("raise KeyError('weights')", "solver 'failing' failed: it raised KeyError: 'weights'."),
        ("raise ValueError('two\\nlines')", r"solver 'failing' failed: it raised ValueError: two lines."),
        ("return None", "solver 'failing' failed: it returned None; it must return an Outcome."),
        ("raise MemoryError", "out of memory"),
    ],
)
def test_solve_says_that_the_solver_failed(tmp_path, capsys, body, said):
    (tmp_path / "risks.csv").write_text("0.1\n0.2\n")
    (tmp_path / "mine.py").write_text(FAILING.format(body=body))
    words = ["solve", str(tmp_path / "risks.csv"), "--m", "50", "--solver", f"{tmp_path / 'mine.py'}:SOLVER"]
    assert main(words) == 1
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", f"pacb solve: {said}\n")


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
