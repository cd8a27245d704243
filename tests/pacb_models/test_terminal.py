"""What is seen on a terminal: the verdict first, tables that fit; and the plain text everywhere else."""

import os
import pty
import re
import subprocess
import sys

import pytest

import pacb_models as pm
from pacb_models import terminal
from pacb_models.benchmarks.commands import doctor
from pacb_models.commands.program import main
from pacb_models.solving import checking

TWO_MINIMA = pm.BoundProblem([0.0] + [0.5] * 60, m=30, delta=0.05, distance="squared")


@pytest.fixture
def seen(monkeypatch, capsys):
    """A function that prints as on a terminal of some width and returns the lines."""

    def printed(show, width=120):
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        show()
        monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
        # Bold letters are left without colours.
        return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()

    return printed


@pytest.mark.outside
def test_a_real_terminal_gets_a_drawn_table_and_a_pipe_the_plain_one():
    command = [sys.executable, "-m", "pacb_models", "constants", "--m", "1000"]
    environment = {**os.environ, "COLUMNS": "100", "TERM": "xterm"}
    piped = subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=theirs, env=environment) as process:
        os.close(theirs)
        shown = b""
        # Linux answers with an error when the other end is closed.
        try:
            while part := os.read(ours, 4096):
                shown += part
        except OSError:
            pass
        assert process.wait() == 0
    os.close(ours)
    assert piped.startswith("   m  divergence  distance ") and "\x1b" not in piped
    assert "too small" not in piped
    drawn = shown.decode()
    verdict = drawn.partition("\n")[0]
    assert "No constant of the paper is too small" in verdict and "406.9 times the exact one" in verdict
    assert "\x1b" in drawn and all(line.split()[3] in drawn for line in piped.splitlines()[1:])


def test_check_says_first_who_disagrees(seen, capsys):
    table = pm.cross_check(TWO_MINIMA, ["frontier", "fixed-point"])
    lines = seen(table.show)
    worse = next(row for row in table.rows if not row.agrees)
    assert lines[0] == f"1 of 2 solvers agree; not {worse.solver} ({worse.verdict})."
    assert lines[1].startswith("reference: frontier")
    table.show()
    assert capsys.readouterr().out == f"{table}\n"


def test_check_says_that_all_agree_and_counts_who_cannot_run_apart():
    table = pm.cross_check(TWO_MINIMA, ["frontier"])
    row = table.rows[0]
    assert table.verdict.startswith("The solver agrees: the smallest bound is 0.")
    both = checking.CrossCheck((row, row), "frontier", row.bound, 1e-7)
    assert both.verdict.startswith("All 2 solvers agree: ")
    nan = float("nan")
    absent = checking.CheckRow("x", "unavailable", nan, nan, None, nan, None, nan, nan, "failed: no x")
    assert checking.CrossCheck((row, absent), "frontier", row.bound, 1e-7).verdict.endswith(". 1 cannot run here.")
    assert checking.CrossCheck((absent,), "none", nan, 1e-7).verdict.startswith("No solver could run.")


def test_a_narrow_window_leaves_out_no_digit(seen):
    table = pm.cross_check(TWO_MINIMA, ["frontier"])
    bound = str(table).splitlines()[1].split()[2]
    wide, narrow = (seen(table.show, width) for width in (140, 60))
    assert any(bound in line for line in wide)
    assert all(len(line) <= 60 for line in narrow) and "…" not in "".join(narrow)


@pytest.mark.parametrize("command", [["constants", "--m", "1000"], ["constants", "--m", "100000"]])
def test_headings_are_not_broken_in_a_window_of_80_columns(seen, command):
    lines = seen(lambda: main(command), 80)
    assert all(len(line) <= 80 for line in lines)
    heading = next(line for line in lines if "exact" in line and "one-sided" in line)
    assert heading.split()[:3] == ["m", "divergence", "distance"]


def test_doctor_says_first_what_is_missing(seen):
    found, absent = doctor.Checked("frontier", "available"), doctor.Checked("scip", None, note="no [scip] here")
    lines = seen(lambda: doctor.print_report({"solvers": [found, absent]}))
    assert lines[0] == "1 of 2 solvers work. Missing, or not the version that is needed: scip."
    assert any("MISSING  (no [scip] here)" in line for line in lines)
    assert seen(lambda: doctor.print_report({"solvers": [found]}))[0] == "Everything works (solvers: 1)."


def test_without_rich_a_terminal_gets_the_verdict_and_the_plain_text(seen, monkeypatch):
    for name in ("rich.console", "rich.text"):
        monkeypatch.setitem(sys.modules, name, None)
    assert seen(lambda: terminal.show(terminal.Line(["Good."], True), [], "a  b")) == ["Good.", "", "a  b"]


def test_renyi_constants_have_no_verdict_on_the_paper(seen):
    lines = seen(lambda: main(["constants", "--m", "50", "--divergence", "renyi", "--order", "3"]))
    assert not any("paper is" in line for line in lines) and any("one-sided" in line for line in lines)
