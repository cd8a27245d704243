"""A solver in a Python file, ``mine.py:SOLVER``: solve, check and bench take it, and nothing is installed for it; one
that raises, leaves or returns nonsense is a failed solver: one line and exit code 1."""

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
import beside
from pacb_models.solution import Outcome
from pacb_models.solver import Solver

class Mine(Solver):
    name, steps = "mine", 3
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


def test_solve_and_check_take_a_file(here, pacb):
    words = ["--m", "50", "--distance", "linear"]
    solution = pacb("solve risks.csv", *words, "--solver", "mine.py:SOLVER", "--option", "note=hello", "--json").json
    assert (solution["solver"], solution["message"], solution["iterations"]) == ("mine", "hello", 3)
    table = pacb("check risks.csv", *words, "--solvers", f"{here}/mine.py,frontier,mine.py:SOLVER", "--json").json
    assert [row["solver"] for row in table["rows"]] == ["mine", "frontier"]


def test_a_file_that_changed_is_another_solver(here, pacb):
    for steps in (3, 4):
        (here / "mine.py").write_text(MINE.replace('"mine", 3', f'"mine", {steps}'))
        assert pacb("solve risks.csv --m 50 --distance linear --solver mine.py --json").json["iterations"] == steps


def test_bench_measures_it_in_processes_of_their_own(here, pacb):
    words = ["bench", "--risks", "risks.csv", "--m", "50", "--distance", "linear", "--no-report", "--out", "out"]
    pacb(*words, "--solvers", "mine.py:SOLVER,frontier")
    assert {row.solver: success(row) for row in read_rows(here / "out")} == {"mine": True, "frontier": True}
    # An edited file is measured anew, what did not change is not.
    (here / "mine.py").write_text(MINE + "\n# better\n")
    pacb(*words, "--solvers", "mine.py:SOLVER,frontier", "--resume")
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


def test_bench_gives_it_the_problems_of_a_suite(here, pacb):
    words = ["bench", "--suite", "quick", "--problems", "wdbc-H50-linear", "--solvers", "mine.py:SOLVER,frontier"]
    pacb(*words, "--out", "out")
    assert {row.solver for row in read_rows(here / "out")} == {"mine", "frontier"}
    # The report can be made again where the file is not known.
    pacb("bench --report out")


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
        (MINE.replace("name, steps", "_, steps"), "mine.py", "'mine.py' cannot be used: AttributeError"),
    ],
)
@pytest.mark.parametrize("command", ["solve --solver", "check --solvers", "bench --out out --solvers"])
def test_a_file_that_cannot_be_used_is_named_in_one_line(here, command, content, reference, complaint, refused):
    (here / "mine.py").write_text(content)
    name, *options = command.split()
    problem = ["--risks", "risks.csv"] if name == "bench" else ["risks.csv"]
    refused(complaint, name, *problem, "--m", "50", *options, reference)
    assert not (here / "out").exists()


@pytest.mark.parametrize("told", [True, False])
def test_workers_of_a_cluster_are_told_of_it_by_a_variable(here, pacb, start_cluster, told):
    address = start_cluster(**({FILES: f"mine={here}/mine.py:SOLVER"} if told else {})).address
    line = "bench --risks risks.csv --m 50 --distance linear --no-report --out out --solvers mine.py:SOLVER,frontier"
    done = pacb(line, "--dask", address, code=0 if told else 2)
    if told:
        assert {row.solver for row in read_rows(here / "out")} == {"mine", "frontier"}
    else:
        assert "cannot run the solver 'mine'" in done.err


@pytest.mark.parametrize("value", ["mine.py:SOLVER", "mine=", "=mine.py:SOLVER", "mine=no.txt"])
def test_a_variable_that_says_nothing_is_named(here, value, monkeypatch, refused):
    monkeypatch.setenv(FILES, value)
    said = f"{FILES} is '{value}'; it must be NAME=FILE.py:ATTRIBUTE"
    refused(said, "solve risks.csv --m 50 --solver frontier")
    monkeypatch.delenv(FILES)


def test_a_file_that_is_gone_harms_no_other_solver(here, monkeypatch, pacb, refused):
    monkeypatch.setenv(FILES, "gone=gone.py:SOLVER")
    pacb("solve risks.csv --m 50")
    said = "solver 'gone' cannot run here: solver 'gone' cannot be used: FileNotFoundError"
    refused(said, "solve risks.csv --m 50 --solver gone", code=1)
    monkeypatch.delenv(FILES)


# --- solvers that fail -----------------------------------------------------------------------------------------------

#: The line of a command, and a solver whose method is to be written.
SOLVE = "solve risks.csv --m 50 --solver mine.py"
FAILING = MINE.partition("    def run")[0] + "    def run(self, problem):\n        {body}\n\nSOLVER = Mine()\n"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("sys.exit(0)", "solver 'mine' failed: it raised SystemExit: 0."),
        ("raise KeyError('weights')", "solver 'mine' failed: it raised KeyError: 'weights'."),
        ("raise ValueError('two\\nlines')", r"solver 'mine' failed: it raised ValueError: two lines."),
        ("raise ValueError(3_000_000 * 'no ')", r"solver 'mine' failed: it raised ValueError: no no no"),
        ("return None", "solver 'mine' failed: it returned None; it must return an Outcome."),
        ("raise MemoryError", "out of memory"),
    ],
)
def test_solve_says_that_the_solver_failed(here, body, said, pacb):
    (here / "mine.py").write_text("import sys\n" + FAILING.format(body=body))
    printed = pacb(SOLVE, code=1)
    assert printed.out == "" and printed.err.startswith(f"pacb solve: {said}") and printed.err.count("\n") == 1
    assert len(printed.err) < 1200


#: One that prints through Python and past it, and colours the terminal.
CHATTY = "import os\n" + FAILING.format(
    body="print('hello'); os.write(1, b'past Python'); "
    "return Outcome(problem.prior.copy(), 'optimal', 'red \\x1b[31m\\nnew line', setup_seconds={seconds})"
)


@pytest.mark.parametrize("line", [SOLVE, "check risks.csv --m 50 --solvers mine.py"])
def test_json_is_all_of_standard_output_whatever_a_solver_prints(here, capfd, line):
    (here / "mine.py").write_text(CHATTY.format(seconds=0.0))
    (here / "risks.csv").write_text("0.1\n0.2\n")
    assert main([*line.split(), "--json"]) == 1
    printed = capfd.readouterr()
    assert json.loads(printed.out) and r"red \\x1b[31m\\nnew line" in printed.out
    assert "hello" in printed.err and "past Python" in printed.err
    assert main(line.split()) == 1
    assert "\x1b" not in capfd.readouterr().out


@pytest.mark.parametrize("seconds", ["float('nan')", "-1e9", "float('inf')"])
def test_a_time_that_is_none_is_named(here, seconds, pacb):
    (here / "mine.py").write_text(CHATTY.format(seconds=seconds))
    assert "it returned the setup_seconds" in pacb(SOLVE, code=1).err.splitlines()[-1]
