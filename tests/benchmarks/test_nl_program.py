"""Somebody's program that reads .nl files, as a solver: its limits, its failures, and its row."""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

import pacb_models as pm
from pacb_models.benchmarks.harness.nl_program import NlProgram
from pacb_models.benchmarks.harness.results import read_rows
from pacb_models.benchmarks.report import write_report
from pacb_models.benchmarks.verdict import correct, success
from pacb_models.commands.program import main
from pacb_models.errors import InputError
from pacb_models.plugins import FILES
from pacb_models.solving.registry import named_solver, solver_identity

from ..conftest import gone

pytestmark = [pytest.mark.outside, pytest.mark.long]

PROBLEM = pm.BoundProblem([0.1, 0.2, 0.3, 0.25], m=300, distance="squared")

#: SCIP, which reads .nl itself and is no program here: two lines, and AMPL's form of a solution.
SCIP = """
import sys; from pyscipopt import Model; model = Model(); model.hideOutput(); model.readProblem(sys.argv[1])
model.optimize(); solution = model.getBestSol()
names = open("model.col").read().split()
found = {variable.name: model.getSolVal(solution, variable) for variable in model.getVars()}
values = [repr(found[name]) for name in names]
lines = [f"SCIP {model.version()}: {model.getStatus()}", "", "Options", "3", "1", "1", "0", "0", "0"]
open("model.sol", "w").write("\\n".join([*lines, str(len(values)), str(len(values)), *values, "objno 0 0", ""]))
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Makes a program of a script, and forgets the solver afterwards."""
    monkeypatch.delenv(FILES, raising=False)

    def make(content: str, interpreter: str = "/bin/sh", name: str = "theirs") -> Path:
        path = tmp_path / name
        path.write_text(f"#!{interpreter}\n{content}")
        path.chmod(0o755)
        return path

    return make


def bench(program: Path | str, out: Path, *words: str) -> dict:
    """The row of a program on one small problem."""
    risks = out.with_suffix(".csv")
    risks.write_text("".join(f"{risk!r}\n" for risk in PROBLEM.risks.tolist()))
    problem = ["--risks", str(risks), "--m", str(PROBLEM.m), "--distance", "squared"]
    main(["bench", *problem, "--solvers", f"nl:{program}", "--no-report", "--out", str(out), *words])
    (row,) = read_rows(out)
    return row


@pytest.mark.skipif(not shutil.which("pounce", path=sysconfig.get_path("scripts")), reason="pip install pounce-solver")
def test_pounce_is_measured(tmp_path, capsys):
    row = bench("pounce", tmp_path / "out", "--time-limit", "30")
    assert (row.solver, row.status) == ("nl:pounce", "optimal") and correct(row)
    assert row.message.startswith(f"{row.software}: ") and row.seconds > 0.0
    # Its version is known from its own words only.
    assert row.software.startswith("POUNCE ") and row.software in Path(write_report(tmp_path / "out")).read_text()
    assert "nl:pounce" in capsys.readouterr().out


def test_a_script_around_scip_is_measured(program, tmp_path, capsys):
    pytest.importorskip("pyscipopt", reason="pip install pyscipopt")
    row = bench(program(SCIP, sys.executable, "scip-nl"), tmp_path / "out", "--time-limit", "30")
    assert row.solver == "nl:scip-nl" and row.message.startswith("SCIP ")
    # Feasible to 1e-6, as SCIP's points are: near the optimum.
    assert row.gap == pytest.approx(0.0, abs=1e-4)


def test_a_hanging_program_meets_its_limit_with_all_that_it_started(program, tmp_path, capsys):
    hanging = program(f"setsid sleep 300 & echo $! > {tmp_path}/pid; sleep 300\n")
    row = bench(hanging, tmp_path / "out", "--time-limit", "2")
    assert row.status == "time_limit" and not success(row)
    assert 1.0 < row.seconds + row.setup_seconds < 60.0  # and not 300
    assert gone(int((tmp_path / "pid").read_text()))


def test_a_program_is_given_no_more_memory_than_a_solver(program, tmp_path, capsys):
    greedy = program("bytearray(2**30)\nprint('had it')\n", sys.executable)
    row = bench(greedy, tmp_path / "out", "--memory-limit", "400M")
    assert row.status == "error" and "MemoryError" in row.message and "had it" not in row.message


def test_limits_hold_without_the_harness(program, tmp_path):
    hanging = program(f"sleep 300 & echo $! > {tmp_path}/pid; sleep 300\n")
    PROBLEM.pyomo_model()  # Pyomo's import is a part of the limit otherwise
    started = time.monotonic()
    solution = pm.solve(PROBLEM, NlProgram("nl:theirs", str(hanging)), time_limit=2.0)
    assert solution.status == "time_limit" and time.monotonic() - started < 60.0
    assert gone(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize(
    ("script", "status", "words"),
    [
        ("echo no licence; exit 3", "error", "no model.sol; exit code 3; it printed: no licence"),
        ("kill -9 $$", "error", "no model.sol; signal 9; it printed: nothing"),
        (r"printf 'T: none\n\nOptions\n3\n1\n1\n0\n0\n0\n6\n0\nobjno 0 200\n' > model.sol", "infeasible", "T: none"),
        (r"printf 'T: good\n\nOptions\n3\n1\n1\n0\n0\n0\n6\n0\nobjno 0 0\n' > model.sol", "not_converged", "T: good"),
        ("mkfifo model.sol", "error", "model.sol is no regular file."),
        ("ln -s /dev/zero model.sol", "error", "model.sol is no regular file."),
        ("ln -s model.sol model.sol", "error", "model.sol': Too many levels of symbolic links."),
        ("echo no > model.sol", "error", "model.sol is not a solution in AMPL's text form (.sol), nor one with names."),
    ],
)
def test_what_goes_wrong_is_said(script, status, words, program):
    solution = pm.solve(PROBLEM, NlProgram("nl:theirs", str(program(script))))
    assert solution.status == status and solution.posterior is None
    assert solution.message == words or ("model.sol" in words and solution.message.endswith(words))


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGHUP])
def test_it_ends_with_the_command_and_leaves_nothing(told, program, tmp_path):
    hanging = program(f"echo $$ > {tmp_path}/part; mv {tmp_path}/part {tmp_path}/pid; sleep 300\n")
    (tmp_path / "risks.csv").write_text("0.1\n0.2\n")
    (tmp_path / "temporary").mkdir()
    words = ["solve", tmp_path / "risks.csv", "--m", "300", "--distance", "squared", "--solver", f"nl:{hanging}"]
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "pacb_models", *words], env={**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    ) as command:
        while not (tmp_path / "pid").exists():
            assert command.poll() is None
            time.sleep(0.02)
        command.send_signal(told)
        assert command.wait(30) == -told
    assert gone(int((tmp_path / "pid").read_text())) and not list((tmp_path / "temporary").iterdir())


def test_a_claim_is_believed_only_as_far_as_the_weights_go(program):
    """The start, written back as the optimum."""
    lines = r"'T 1: optimal\n\nOptions\n3\n1\n1\n0\n0\n0\n6\n6\n"
    script = f"printf {lines}'\"$(sed 's/q.*/0.25/; s/[LX]/1/' model.col)\"'\\nobjno 0 0\\n' > model.sol"
    solution = pm.solve(PROBLEM, NlProgram("nl:theirs", str(program(script))))
    assert solution.status == "not_converged" and "the solver said 'optimal'" in solution.message
    assert solution.details["software"] == "T 1"
    # L and X are one in that file, and the empirical risk of equal weights is not.
    assert "empirical_risk is violated by 7.9e-01, with a value of 1." in solution.message


@pytest.mark.parametrize("options", [{"suffixes": False}, {"floors": True}, {"start": [0.1, 0.2, 0.3, 0.4]}])
def test_the_file_is_as_it_was_asked_for(options, program):
    keep = program("cp model.nl model.col $(dirname $0); exit 1")
    pm.solve(PROBLEM, NlProgram("nl:theirs", str(keep)), **options)
    text, names = (keep.with_name(f"model.{kind}").read_text() for kind in ("nl", "col"))
    assert ("scaling_factor" in text) == options.get("suffixes", True)
    assert ("2 2.5e-10" in text) == options.get("floors", False)
    first = names.split().index("q[0]")
    start = options.get("start", [0.25])[0]
    assert f"\n{first} {start!r}\n" in text


def test_a_name_that_is_no_program_is_one_sentence(tmp_path, capsys, program):
    assert main(["bench", "--solvers", "nl:no-such-program", "--out", str(tmp_path / "out")]) == 2
    assert "nl:no-such-program names no program" in capsys.readouterr().err
    with pytest.raises(InputError, match="it must be a positive"):
        pm.solve(PROBLEM, NlProgram("nl:theirs", str(program("exit 1"))), time_limit=-1.0)


def test_another_content_is_another_solver(program):
    path = program("exit 1")
    assert named_solver(f"nl:{path}") == named_solver(f"nl:{path}") == "nl:theirs"
    before = solver_identity("nl:theirs")
    program("exit 2")
    assert solver_identity("nl:theirs") != before
    (path.parent / "other").mkdir()
    other = shutil.copy(path, path.parent / "other" / "theirs")
    with pytest.raises(InputError, match="rename one of them"):
        named_solver(f"nl:{other}")
