"""``pacb`` as a process: its streams, interrupts, what it imports, other packages' commands, its processes."""

import json
import os
import pickle
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import psutil
import pytest

import pacb_models as pm
from pacb_models.errors import InputError

from ..installed import install

pytestmark = pytest.mark.outside

PACB = [sys.executable, "-m", "pacb_models"]


def pacb(*arguments: str, path: Path | None = None, env: dict[str, str] | None = None, **keywords):
    environment = {**os.environ, **(env or {}), **({} if path is None else {"PYTHONPATH": str(path)})}
    keywords = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 300, **keywords}
    return subprocess.run([*PACB, *arguments], text=True, env=environment, check=False, **keywords)


def complains_in_one_line(done: subprocess.CompletedProcess[str], status: int, phrase: str) -> bool:
    return done.returncode == status and done.stderr.count("\n") == 1 and phrase in done.stderr


# --- imports ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "absent"),
    [
        ("import pacb_models", "numpy importlib.metadata"),
        ("from pacb_models import BoundProblem, cross_check, solve", "scipy importlib.metadata pandas cvxpy pyomo"),
        (
            "import pacb_models as pm; pm.solve(pm.BoundProblem([0.1, 0.2], m=9), 'fixed-point')",
            "pyomo cvxpy cyipopt sklearn matplotlib pandas",
        ),
        # And so nothing that needs NumPy.
        ("import pacb_models.commands.program as cli; cli.build_parser()", "numpy rich"),
    ],
)
def test_nothing_is_imported_before_it_is_used(program, absent):
    code = [sys.executable, "-c", f"import sys; {program}; print(*sys.modules)"]
    imported = subprocess.run(code, capture_output=True, text=True, check=True).stdout.split()
    assert not {*imported} & {*absent.split()}


def test_every_public_name_is_found_and_none_is_a_module():
    """A module of the same name would take its place as soon as somebody imports the module, unless it is meant."""
    assert len(set(pm.__all__)) == len(pm.__all__) > 20
    assert set(pm.__all__) <= set(dir(pm))
    modules = {module.name for module in pkgutil.iter_modules(pm.__path__)}
    for name in pm.__all__:
        found = getattr(pm, name)
        assert found is import_module(f"pacb_models.{name}") if name in modules else found.__name__ == name
    with pytest.raises(AttributeError, match="nonsense"):
        _ = pm.nonsense


# --- interrupts ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("moment", ["numpy", "command"])
def test_an_interrupt_while_modules_are_imported_leaves_no_traceback(tmp_path, moment):
    interrupting = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nwhile True: pass\n"
    if moment == "numpy":
        (tmp_path / "numpy.py").write_text(interrupting)
    else:
        install(tmp_path, "[pacb_models.commands]\nslow = slow:add_parser\n", slow=interrupting)
    done = pacb(*(["constants", "--m", "9"] if moment == "numpy" else ["slow"]), path=tmp_path)
    assert complains_in_one_line(done, 130, "interrupted")
    assert done.stdout == ""


# --- streams ---------------------------------------------------------------------------------------------------------


#: Python writes at once, or what is left when it ends: whichever the tests were started with.
BUFFERING = pytest.mark.parametrize("buffering", [{"PYTHONUNBUFFERED": ""}, {"PYTHONUNBUFFERED": "1"}])


@BUFFERING
def test_standard_output_may_be_full(buffering):
    with open("/dev/full", "w") as full:
        done = pacb("constants", "--m", "9", stdout=full, env=buffering)
    assert complains_in_one_line(done, 1, "No space left on device")


@BUFFERING
@pytest.mark.parametrize("arguments", [("constants", "--m", "0"), ("frobnicate",)])
def test_standard_error_may_be_full(arguments, buffering):
    with open("/dev/full", "w") as full:
        assert pacb(*arguments, stderr=full, env=buffering).returncode == 2


@BUFFERING
def test_the_reader_may_leave(buffering):
    reading, writing = os.pipe()
    os.close(reading)
    done = pacb("constants", "--m", "9", stdout=writing, env=buffering)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_output_in_an_encoding_without_our_letters(tmp_path):
    risks = tmp_path / "risks.csv"
    risks.write_text("name,risk\nε-SVM,0.1\n", encoding="utf-8")
    done = pacb("solve", str(risks), "--m", "9", env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0 and done.stderr == ""
    assert r"\u03b5-SVM" in done.stdout
    assert pacb("train", "--help", env={"PYTHONIOENCODING": "ascii"}).returncode == 0


def test_standard_input_may_be_unreadable():
    shell = ["sh", "-c", f"{sys.executable} -m pacb_models solve - --m 9 <&-"]
    closed = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert complains_in_one_line(closed, 2, "cannot read the risk file 'standard input'")
    undecodable = subprocess.run([*PACB, "solve", "-", "--m", "9"], input=b"0.1\n\xff\n", capture_output=True)
    assert undecodable.returncode == 2 and b"not a text file in UTF-8" in undecodable.stderr


def test_standard_input_with_a_byte_order_mark():
    text = "\ufeffname,risk\na,0.1\n".encode()
    done = subprocess.run([*PACB, "solve", "-", "--m", "9", "--json"], input=text, capture_output=True, check=True)
    assert json.loads(done.stdout)["empirical_risk"] == 0.1


# --- commands of other packages --------------------------------------------------------------------------------------


def test_a_broken_command_is_named_in_one_line_and_keeps_no_other_from_working(tmp_path):
    entries = "[pacb_models.commands]\nabsent = no_such_module:f\nleaves = leaving:f\n"
    theirs = (
        "from pacb_models.commands.program import add_command\n"
        "def solve(subparsers): add_command(subparsers, 'solve', None, 'ours, not theirs')\n"
        "def fine(subparsers): add_command(subparsers, 'fine', lambda options: print('fine') or 0, 'their command')\n"
    )
    entries += "solve = theirs:solve\nfine = theirs:fine\n"
    install(tmp_path, entries, theirs=theirs, leaving="raise SystemExit('bye')\n")
    shown = pacb("--help", path=tmp_path)
    assert shown.returncode == 0 and "their command" in shown.stdout and "ours, not theirs" not in shown.stdout
    lines = shown.stderr.splitlines()
    assert len(lines) == 3
    for line, name in zip(lines, ("absent", "leaves", "solve"), strict=True):
        assert f"pacb_models.commands {name!r} of the package theirs cannot be used" in line
    done = pacb("fine", path=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")
    assert pacb("constants", "--m", "9", path=tmp_path).stderr == ""
    assert complains_in_one_line(pacb("absent", path=tmp_path), 2, "No module named 'no_such_module'")


# --- what is not there -----------------------------------------------------------------------------------------------

WITHOUT = """
import sys
sys.modules[sys.argv[1]] = None
from pacb_models.commands.program import main
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize(
    "command", [["bench", "--suite", "quick", "--out", "out"], ["judge", "wdbc-H50-kl-exact", "a.csv"]]
)
def test_a_plain_installation_says_what_a_command_needs(command, tmp_path):
    (tmp_path / "a.csv").write_text("1\n" + "0\n" * 49)
    words = [sys.executable, "-P", "-c", WITHOUT, "pandas", *command]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert complains_in_one_line(done, 1, "pandas is not installed: pip install 'pacb-models[bench]'")


def test_pyomo_cannot_do_without_docstrings(tmp_path):
    (tmp_path / "r.csv").write_text("0.1\n0.2\n")
    done = pacb("solve", str(tmp_path / "r.csv"), "--m", "50", "--solver", "ipopt", env={"PYTHONOPTIMIZE": "2"})
    assert complains_in_one_line(done, 1, "cannot run here: Pyomo needs docstrings")


def test_a_complaint_about_an_argument_names_it_and_survives_another_process():
    reason = InputError("m", 0, "it must be at least 1")
    assert (str(reason), reason.argument) == ("m is 0; it must be at least 1.", "m")
    again = pickle.loads(pickle.dumps(reason))
    assert (str(again), again.argument) == (str(reason), "m")
    whole = InputError("errors and losses are both given; give one of the two.")
    assert (str(whole), whole.argument) == ("errors and losses are both given; give one of the two.", "")
    assert len(str(InputError("q", "x" * 10_000, "it must be short"))) < 300


# --- processes that we start end with us -----------------------------------------------------------------------------


WORK = """
import time
from joblib import Parallel, delayed
from pacb_models.processes import ended_with_us

def work(seconds):
    time.sleep(seconds)

if __name__ == "__main__":
    with ended_with_us():
        Parallel(n_jobs=2)(delayed(work)(0.1) for _ in range(4))
        print("started", flush=True)
        Parallel(n_jobs=2)(delayed(work)(600) for _ in range(2))
"""


def test_a_program_that_is_told_to_end_leaves_none_of_joblib_s_processes(tmp_path):
    (tmp_path / "program.py").write_text(WORK)
    program = subprocess.Popen([sys.executable, tmp_path / "program.py"], stdout=subprocess.PIPE)
    assert program.stdout.readline() == b"started\n"
    children = psutil.Process(program.pid).children(recursive=True)
    workers = [child for child in children if "loky" in " ".join(child.cmdline())]
    program.terminate()
    program.wait(timeout=30)
    _, left = psutil.wait_procs(workers, timeout=30)
    assert len(workers) >= 2 and not left
