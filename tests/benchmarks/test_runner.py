"""The harness at work: time limits that end a stuck solver, crashes, kills, resumption, two runs at once, Dask."""

import importlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from pacb_models.benchmarks.harness.environment import Environments
from pacb_models.benchmarks.harness.results import LOG, load_results, read_rows
from pacb_models.benchmarks.harness.runner import run_suite
from pacb_models.benchmarks.harness.suites import Cell, Suite
from pacb_models.benchmarks.problems.problem import Problem, synthetic
from pacb_models.benchmarks.report import write_report
from pacb_models.benchmarks.verdict import correct, success
from pacb_models.errors import InputError

from ..conftest import gone
from .made_up_log import write_log

# Whole runs, some of which are killed or wait for their time limits.
pytestmark = [pytest.mark.outside, pytest.mark.timeout(300)]


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def bench(pacb, out):
    """A suite into the directory ``out``, without a report."""
    return lambda suite, *words, **options: pacb(
        "bench", "--suite", suite, "--out", out, "--no-report", *words, **options
    )


@pytest.fixture
def hold(plugin):
    """Let the solver of the suite "many" come back from smaller problems only; None: from all."""

    def write(size):
        (plugin / "hold.part").write_text(str(size))
        (plugin / "hold.part").replace(plugin / "hold")
        if size is None:
            (plugin / "hold").unlink()

    return write


def rows_by_problem(directory):
    return {row.problem: row for row in read_rows(directory)}


def wait_for_rows(directory, count, seconds=300.0):
    """Wait until a running benchmark has logged some rows."""
    deadline, log = time.monotonic() + seconds, directory / LOG
    while not (log.exists() and log.read_bytes().count(b"\n") >= count):
        assert time.monotonic() < deadline, f"no {count} rows within {seconds} s"
        time.sleep(0.05)


def test_stuck_crashing_and_wrong_solvers_do_not_lose_the_run(bench, out):
    result = bench("troubles")
    assert result.returncode == 0, result.stderr
    rows = rows_by_problem(out)
    fine, stuck, crash, wrong = (rows[name] for name in ("equal-H2", "equal-H3", "equal-H4", "spread-H5"))
    assert fine.status == "optimal" and success(fine) and correct(fine) and abs(fine.gap) <= 1e-12
    assert stuck.status == "time_limit" and not success(stuck)
    assert (stuck.time_limit, stuck.size, stuck.distance) == (3.0, 3, "linear")
    assert crash.status == "error" and f"signal {int(signal.SIGABRT)}" in crash.message
    # The prior is no optimum here: the claim is corrected from the recomputed residual.
    assert wrong.status == "not_converged" and not wrong.claims and not correct(wrong)
    assert 0.0 <= fine.wall_seconds < 3.0 <= stuck.wall_seconds


def test_exports_equal_the_log(bench, out):
    import pandas as pd
    import pyarrow.parquet as pq

    assert bench("troubles", "--problems", "H2").returncode == 0
    log = load_results(out)
    assert pd.read_csv(out / "results.csv")["bound"].tolist() == log["bound"].tolist()
    assert pd.read_parquet(out / "results.parquet")["key"].tolist() == log["key"].tolist()
    environments = Environments.read(out)
    assert environments.entry(1)["versions"]["numpy"] and environments.entry(1)["cores"] >= 1
    assert log["environment"].tolist() == [1] and log["settings"].tolist() == [{}]
    # The Parquet file can be passed on alone.
    assert json.loads(pq.read_schema(out / "results.parquet").metadata[b"pacb"]) == asdict(environments)
    # At another time, and with other programs, it is the same environment.
    later = {**environments.entry(1), "date": "2030-01-01T00:00:00+00:00", "load": 99}
    assert environments.number(later, out) == 1 and environments.number({**later, "cores": 99}, out) == 2


def test_a_killed_run_resumes_without_losing_or_repeating(bench, out, hold):
    hold(14)
    running = bench("many", wait=False)
    wait_for_rows(out, 4)
    running.send_signal(signal.SIGKILL)
    running.wait()
    hold(None)
    # What a process may leave when it is killed while writing.
    with open(out / LOG, "a") as file:
        file.write('{"key": "torn')
    before = {row.key: row.timestamp for row in read_rows(out)}
    assert len(before) == 4
    refused = bench("many")
    assert refused.returncode == 2 and "resume" in refused.stderr.splitlines()[-1]
    assert bench("many", "--resume").returncode == 0
    lines = [json.loads(line)["row"] for line in (out / LOG).read_text().splitlines()]
    assert len(lines) == len({line["key"] for line in lines}) == 20
    assert all(line["timestamp"] == before[line["key"]] for line in lines if line["key"] in before)
    assert (out / f"{LOG}.cut").read_text() == '{"key": "torn\n'


def test_failures_are_kept_and_retried_on_request(bench, out):
    for more, lines in ((), 1), (("--resume",), 1), (("--resume", "--retry-failed"), 2):
        # Nothing succeeds, which the exit code says.
        assert bench("troubles", "--problems", "H3", "--time-limit", "0.3", *more).returncode == 1
        assert len((out / LOG).read_text().splitlines()) == lines and len(read_rows(out)) == 1


def test_second_run_into_one_directory_is_refused(bench, out):
    arguments = ("troubles", "--problems", "H3", "--time-limit", "600")
    with bench(*arguments, wait=False) as stuck:
        deadline = time.monotonic() + 300
        while not (out / "environment.json").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        second = bench(*arguments, "--resume")
        stuck.kill()
    assert second.returncode == 2 and "another process is" in second.stderr


def test_interrupt_leaves_a_usable_result_and_says_how_to_go_on(pacb, hold, tmp_path, interruptible):
    out = tmp_path / "a place with spaces"
    words = ["--suite=many", "--problems=-H1", "--solvers=sleeper", f"--out={out}", "--no-report"]
    hold(12)
    running = pacb("bench", *words, wait=False)
    wait_for_rows(out, 2)
    running.send_signal(signal.SIGINT)
    _, messages = running.communicate(timeout=300)
    assert running.returncode == 130 and "Traceback" not in messages
    assert len(load_results(out)) == 2 and (out / "results.csv").exists()
    hold(None)
    assert f"The same command with --resume goes on from what {out} holds." in messages
    assert pacb("bench", *words, "--resume").returncode == 0
    assert len(read_rows(out)) == 10 == len((out / LOG).read_text().splitlines())


def test_workers_leave_when_the_runner_is_killed(bench, out, hold):
    hold(11)
    running = bench("many", wait=False)
    wait_for_rows(out, 1)
    children = subprocess.check_output(["pgrep", "-P", str(running.pid)], text=True).split()
    running.kill()
    running.wait()
    assert children and all(gone(int(child)) for child in children)


def test_scaling_measures_memory_and_spares_larger_problems(bench, out):
    assert bench("growing").returncode == 0
    rows = rows_by_problem(out)
    assert success(rows["equal-H2"]) and rows["equal-H2"].peak_memory_bytes >= 0
    assert rows["equal-H3"].status == "time_limit"
    for name in ("equal-H50", "equal-H60"):
        assert rows[name].status == "time_limit" and "not tried" in rows[name].message


@pytest.fixture
def cluster(start_cluster, plugin):
    return start_cluster(plugin, MARKS=str(plugin))


def test_dask_cluster_measures_the_same_cells(pacb, bench, out, cluster, tmp_path):
    result = bench("troubles", "--dask", cluster.address)
    assert result.returncode == 0, result.stderr
    rows = rows_by_problem(out)
    assert success(rows["equal-H2"]) and rows["equal-H2"].parallel
    assert (rows["equal-H3"].status, rows["equal-H4"].status) == ("time_limit", "error")
    # A risk file of the runner's directory, which the workers do not share.
    (tmp_path / "mine.csv").write_text("0.1\n0.2\n0.3\n")
    arguments = ("--risks", "mine.csv", "--m", "200", "--solvers", "frontier", "--dask", cluster.address)
    result = pacb("bench", *arguments, "--out", tmp_path / "mine", "--no-report", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert [success(row) for row in read_rows(tmp_path / "mine")] == [True] * 3
    assert cluster.measuring_processes() == []


def test_a_cluster_that_falls_apart_stops_the_run_with_a_sentence(cluster, pacb, hold, tmp_path, monkeypatch):
    """Code that the workers lack; then the workers die; then the scheduler."""
    (tmp_path / "only_here.py").write_text("from pacb_models import BoundProblem as make_it\ndef make(**k): ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    make = importlib.import_module("only_here").make
    lacking = Suite("lacking", "", (Cell(Problem("p", "d", make), "frontier"),), 5.0)
    with pytest.raises(InputError, match=r"the worker tcp://.* cannot import only_here.make \(ModuleNotFoundError"):
        run_suite(lacking, tmp_path / "lacking", dask=cluster.address)
    assert not (tmp_path / "lacking" / LOG).exists()

    def bench(*more, after=0, then=None):
        """As soon as there are more rows than so many, something happens to the cluster."""
        arguments = ("bench", "--suite", "many", "--out", out, "--no-report", "--time-limit", "10", *more)
        if then is not None:
            wait_and_do = threading.Thread(target=lambda: (wait_for_rows(out, after + 1), then()), daemon=True)
            wait_and_do.start()
        done = pacb(*arguments)
        return done.returncode, done.stderr

    out = tmp_path / "out"
    hold(12)
    with monkeypatch.context() as impatient:
        impatient.setattr("pacb_models.cluster.PATIENCE", 1.0)
        left, said = bench("--dask", cluster.address, then=lambda: [worker.kill() for worker in cluster.workers])
    assert left == 1 and "had no workers for 1 s" in said
    before = len(read_rows(out))
    assert 1 <= before <= 2

    hold(16)
    cluster.start_worker()
    left, said = bench("--dask", cluster.address, "--resume", after=before, then=cluster.scheduler.kill)
    assert left == 1 and re.search(r"the Dask scheduler at tcp://.* is gone", said)
    assert before < len(read_rows(out)) <= 6
    # Without a cluster the rest is measured here.
    hold(None)
    assert bench("--resume")[0] == 0
    assert len(read_rows(out)) == 20


def test_dask_without_a_cluster_is_one_sentence(bench, monkeypatch):
    monkeypatch.setattr("pacb_models.cluster.ANSWER", 1.0)
    for address in ("tcp://127.0.0.1:9", "nonsense"):
        result = bench("troubles", "--dask", address)
        assert result.returncode == 2
        assert "no Dask scheduler answers there" in result.stderr.splitlines()[-1]


def test_problems_of_other_packages_run_with_every_capable_solver(bench, out):
    assert bench("outside", "--solvers", "frontier,sleeper,fixed-point").returncode == 0
    rows = read_rows(out)
    assert {row.solver for row in rows} == {"frontier", "sleeper", "fixed-point"}
    assert all(success(row) and correct(row) for row in rows)


def test_own_risk_files_with_a_bound_and_options_of_ones_own(pacb, out, tmp_path):
    risks = tmp_path / "mine.csv"
    risks.write_text("0.1\n0.2\n0.3\n")
    solvers = ("--solvers", "frontier,fixed-point", "--option", "starts=3", "--option", "seed=5", "--no-report")
    for bound in ((), ("--divergence", "renyi", "--order", "3", "--constant", "one-sided", "--distance", "kl")):
        result = pacb("bench", "--risks", risks, "--m", "200", *bound, *solvers, "--out", out, "--resume")
        assert result.returncode == 0, result.stderr
    rows = load_results(out)
    assert len(rows) == 3 * 2 + 2 and rows["success"].all()
    facts = rows.groupby("problem")[["divergence", "order", "constant"]].first()
    assert list(facts.loc[f"{risks}-kl-renyi-3.0-one-sided"]) == ["renyi", 3.0, "one-sided"]
    assert list(facts.loc[f"{risks}-kl"]) == ["chi2", 2.0, "exact"]
    # The exact solver has no starts, and gets none.
    given = {name: rows["settings"].iloc[0] for name, rows in rows.groupby("solver")}
    assert given == {"frontier": {}, "fixed-point": {"seed": 5, "starts": 3}}


def test_a_hostile_plugin_costs_its_own_cells(pacb, plugin, out):
    result = pacb("bench", "--suite", "hostile", "--memory-limit", "1G", "--out", out)
    assert result.returncode == 0, result.stderr
    rows = {row.settings["how"]: row for row in read_rows(out)}
    assert success(rows[""])
    statuses = {how: row.status for how, row in rows.items() if how}
    assert statuses.pop("child") == "time_limit"
    assert set(statuses.values()) == {"error"}, statuses
    said = {"exit": "SystemExit: 3", "interrupt": "KeyboardInterrupt", "mute": "Mute"}
    said |= {"memory": "out of memory (the limit is 1 GiB)"}
    said |= {"text": "returned the iterations 'many'; it must be a count"}
    # Not ended at the limit, though the fork holds the pipe open.
    said |= {"fork": f"the process ended with signal {int(signal.SIGABRT)}"}
    assert all(words in rows[how].message for how, words in said.items())
    assert (out / "results.parquet").exists() and (out / "report.html").exists()
    for how in ("child", "fork"):
        assert gone(int((plugin / how).read_text()))


def test_code_in_the_current_directory_is_not_run(plugin, tmp_path):
    """By the console script, as users start it: Python's -m would put the directory on the path by itself."""
    here = tmp_path / "here"
    here.mkdir()
    for name in ("random", "solvers", "benchmarks", "numpy", "sleepy", "sitecustomize"):
        (here / f"{name}.py").write_text(f"open({str(here / 'run')!r}, 'a').write({name!r} + ' ')\nraise SystemExit\n")
    command = [Path(sys.executable).with_name("pacb"), "bench", "--suite", "troubles", "--problems", "H2"]
    environment = {**os.environ, "PYTHONPATH": str(plugin)}
    subprocess.run([*command, "--out", "out", "--no-report"], cwd=here, env=environment, check=True)
    assert not (here / "run").exists(), (here / "run").read_text()
    assert [success(row) for row in read_rows(here / "out")] == [True]


def test_other_processes_get_the_safe_path_too():
    """Those of joblib and of the doctor."""
    code = (
        "import os, sys; from pacb_models.__main__ import main; sys.argv[1:] = ['constants', '--m', '9']; main();"
        "os.execv(sys.executable, [sys.executable, '-c', 'import sys; print(sys.flags.safe_path)'])"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "True"


def test_a_full_disk_stops_the_run_and_loses_nothing(bench, out, monkeypatch):
    """A limit to the size of files stands for the disk: writing fails the same way."""
    # Under coverage, its own file would be too large, too.
    for name in ("COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START"):
        monkeypatch.delenv(name, raising=False)
    # And Python would leave modules that are cut off.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    full = bench("many", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000)))
    assert full.returncode == 1 and "Traceback" not in full.stderr
    assert f"cannot write '{out / LOG}': File too large" in full.stderr.splitlines()[-1]
    assert f"The same command with --resume goes on from what {out} holds." in full.stderr
    before = (out / LOG).read_text().splitlines()
    assert 1 <= len(before) < 20
    assert bench("many", "--resume").returncode == 0
    lines = (out / LOG).read_text().splitlines()
    assert lines[: len(before)] == before and len(lines) == 20


def some_problems(*sizes):
    recipes = [Problem(f"p{k}", "made up", synthetic, {"count": k, "distance": "linear"}) for k in sizes]
    return Suite("some", "", tuple(Cell(recipe, "frontier") for recipe in recipes), 20.0)


@pytest.mark.parametrize("place", ["/dev/null", "/dev/null/below"])
def test_an_unusable_directory_is_one_sentence(place):
    with pytest.raises(InputError, match=f"cannot write '{place}/results.jsonl': "):
        run_suite(some_problems(5), place)


def test_another_system_is_told_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(InputError, match=r"^the harness measures in processes .* as Linux can; this is win32\."):
        run_suite(some_problems(5), tmp_path)
    assert not list(tmp_path.iterdir())


def test_resuming_elsewhere_keeps_the_environments_apart(tmp_path):
    out = run_suite(some_problems(5), tmp_path / "out")
    path = out / "environment.json"
    content = json.loads(path.read_text())
    content["environments"][0]["processor"] = "a slide rule"
    path.write_text(json.dumps(content))
    run_suite(some_problems(5, 6), out, resume=True)
    assert [row.environment for row in read_rows(out)] == [1, 2]
    environments = Environments.read(out)
    assert environments.entry(1)["processor"] == "a slide rule" != environments.entry(2)["processor"]
    page = write_report(out).read_text()
    assert "A mixture: these runs were measured in 2 environments, which differ in processor." in page
    assert "a slide rule" in page and "environment 2" in page


def test_repetitions_are_rows_of_their_own_and_resumed_one_by_one(tmp_path):
    out = run_suite(some_problems(5, 6), tmp_path / "out")
    # As if one had run out of time: it is not measured again.
    write_log(out, [read_rows(out)[1].told({"status": "time_limit"})])
    run_suite(some_problems(5, 6), out, resume=True, repeats=3)
    assert [f"{row.problem} {row.repetition}" for row in read_rows(out)] == ["p5 0", "p6 0", "p5 1", "p5 2"]
