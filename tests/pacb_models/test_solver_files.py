"""A solver in a Python file, ``mine.py:SOLVER``: solve, check and bench take it, and nothing is installed for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from pacb_models.benchmarks.harness.results import read_rows
from pacb_models.benchmarks.verdict import success
from pacb_models.commands.program import main
from pacb_models.plugins import FILES
from pacb_models.solving.registry import solver_names

pytestmark = pytest.mark.outside

MINE = """
from dataclasses import dataclass

import beside
from pacb_models.solution import Outcome
from pacb_models.solver import Solver


@dataclass(eq=False)
class Mine(Solver):
    steps: int = 3
    name = "mine"
    needs = ("problem.bound_at",)

    def run(self, problem, note=""):
        return Outcome(beside.weights(problem), "optimal", note, iterations=self.steps)


SOLVER = Mine()
OTHER = 3
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "beside.py").write_text("def weights(problem):\n    return problem.prior.copy()\n")
    (tmp_path / "risks.csv").write_text("0.2\n0.2\n")
    yield tmp_path
    assert FILES not in os.environ and "mine" not in solver_names(), "forgotten with the command"


def test_solve_and_check_take_a_file(here, capsys):
    words = ["--m", "50", "--distance", "linear"]
    assert main(["solve", "risks.csv", *words, "--solver", "mine.py:SOLVER", "--option", "note=hello", "--json"]) == 0
    solution = json.loads(capsys.readouterr().out)
    assert (solution["solver"], solution["message"], solution["iterations"]) == ("mine", "hello", 3)
    assert main(["check", "risks.csv", *words, "--solvers", f"{here}/mine.py,frontier,mine.py:SOLVER", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["solver"] for row in rows] == ["mine", "frontier"]


def test_a_file_that_changed_is_another_solver(here, capsys):
    words = ["solve", "risks.csv", "--m", "50", "--distance", "linear", "--solver", "mine.py", "--json"]
    assert main(words) == 0
    (here / "mine.py").write_text(MINE.replace("steps: int = 3", "steps: int = 4"))
    assert main(words) == 0
    assert [json.loads(line)["iterations"] for line in capsys.readouterr().out.splitlines()] == [3, 4]


def test_bench_measures_it_in_processes_of_their_own(here, capsys):
    words = ["bench", "--risks", "risks.csv", "--m", "50", "--distance", "linear", "--no-report", "--out", "out"]
    assert main([*words, "--solvers", "mine.py:SOLVER,frontier"]) == 0
    assert {row.solver: success(row) for row in read_rows(here / "out")} == {"mine": True, "frontier": True}
    # An edited file is measured anew, what did not change is not.
    (here / "mine.py").write_text(MINE + "\n# better\n")
    assert main([*words, "--solvers", "mine.py:SOLVER,frontier", "--resume"]) == 0
    assert [row.solver for row in read_rows(here / "out")] == ["frontier", "mine", "mine"]


@pytest.mark.parametrize("place", ["pacb_models.py", "pacb_models/__init__.py"])
def test_what_is_beside_it_takes_the_place_of_no_package(here, place):
    """Processes that ours starts would look there before they find an editable installation, as this one is."""
    (here / place).parent.mkdir(exist_ok=True)
    (here / place).write_text(f"open({str(here / 'ran')!r}, 'w')")
    words = ["risks.csv", "--m", "50", "--distance", "linear", "--solvers", "mine.py:SOLVER,frontier"]
    for command in (["check", *words], ["bench", "--risks", *words, "--no-report", "--out", "out"]):
        done = subprocess.run([sys.executable, "-P", "-m", "pacb_models", *command], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert {row.solver: success(row) for row in read_rows(here / "out")} == {"mine": True, "frontier": True}
    assert not (here / "ran").exists()


def test_bench_gives_it_the_problems_of_a_suite(here, capsys):
    words = ["bench", "--suite", "quick", "--problems", "wdbc-H50-linear", "--solvers", "mine.py:SOLVER,frontier"]
    assert main([*words, "--out", "out"]) == 0
    assert {row.solver for row in read_rows(here / "out")} == {"mine", "frontier"}
    # The report can be made again where the file is not known.
    assert main(["bench", "--report", "out"]) == 0


@pytest.mark.parametrize(
    ("content", "reference", "complaint"),
    [
        (MINE, "absent.py:SOLVER", "cannot be used: FileNotFoundError: [Errno 2] No such file or directory"),
        (MINE, "mine.py:NOTHING", "cannot be used: AttributeError: module"),
        (MINE, "mine.py:OTHER", "cannot be used: TypeError: it is 3, not an instance of pacb_models.solver.Solver."),
        ("import no_such_module", "mine.py", "cannot be used: ModuleNotFoundError: No module named 'no_such_module'."),
        ("raise SystemExit('bye')", "mine.py", "solver 'mine.py' cannot be used: SystemExit: bye."),
        (MINE.replace('"mine"', '"frontier"'), "mine.py", "has the name 'frontier', which another solver has"),
        (MINE.replace('"mine"', '"a,b"'), "mine.py", "has the name 'a,b'; a solver's name has letters"),
        (MINE.replace('name = "mine"', ""), "mine.py", "'mine.py' cannot be used: AttributeError"),
    ],
)
@pytest.mark.parametrize("command", ["solve --solver", "check --solvers", "bench --out out --solvers"])
def test_a_file_that_cannot_be_used_is_named_in_one_line(here, capsys, command, content, reference, complaint):
    (here / "mine.py").write_text(content)
    name, *options = command.split()
    problem = ["--risks", "risks.csv"] if name == "bench" else ["risks.csv"]
    assert main([name, *problem, "--m", "50", *options, reference]) == 2
    printed = capsys.readouterr()
    assert complaint in printed.err and printed.err.count("\n") == 1 and not printed.out
    assert not (here / "out").exists()


@pytest.mark.parametrize("told", [True, False])
def test_workers_of_a_cluster_are_told_of_it_by_a_variable(here, capsys, start_cluster, told):
    address = start_cluster(**({FILES: f"mine={here}/mine.py:SOLVER"} if told else {})).address
    words = ["bench", "--risks", "risks.csv", "--m", "50", "--distance", "linear", "--no-report", "--out", "out"]
    code = main([*words, "--solvers", "mine.py:SOLVER,frontier", "--dask", address])
    if told:
        assert code == 0 and {row.solver for row in read_rows(here / "out")} == {"mine", "frontier"}
    else:
        assert code == 2 and "cannot run the solver 'mine'" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["mine.py:SOLVER", "mine=", "=mine.py:SOLVER", "mine=no.txt"])
def test_a_variable_that_says_nothing_is_named(here, capsys, value, monkeypatch):
    monkeypatch.setenv(FILES, value)
    assert main(["solve", "risks.csv", "--m", "50", "--solver", "frontier"]) == 2
    said = capsys.readouterr().err
    assert f"{FILES} is '{value}'; it must be NAME=FILE.py:ATTRIBUTE" in said and said.count("\n") == 1
    monkeypatch.delenv(FILES)


def test_a_file_that_is_gone_harms_no_other_solver(here, capsys, monkeypatch):
    monkeypatch.setenv(FILES, "gone=gone.py:SOLVER")
    assert main(["solve", "risks.csv", "--m", "50"]) == 0
    assert main(["solve", "risks.csv", "--m", "50", "--solver", "gone"]) == 1
    assert "solver 'gone' cannot run here: solver 'gone' cannot be used: FileNotFoundError" in capsys.readouterr().err
    monkeypatch.delenv(FILES)
