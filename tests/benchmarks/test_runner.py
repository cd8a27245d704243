"""The harness at work: time limits that end a stuck solver, crashes, kills, resumption, two runs at once, Dask."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from pacb_models.benchmarks.results import FIELDS, LOG, load_results, read_rows


def rows_by_problem(directory):
    return {row["problem"]: row for row in read_rows(directory)}


def wait_for_rows(directory, count, seconds=60.0):
    """Wait until a running benchmark has logged some rows."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        log = directory / LOG
        if log.exists() and log.read_bytes().count(b"\n") >= count:
            return
        time.sleep(0.05)
    raise AssertionError(f"no {count} rows within {seconds} s")


def test_stuck_crashing_and_wrong_solvers_do_not_lose_the_run(pacb, tmp_path):
    out = tmp_path / "out"
    result = pacb("bench", "--suite", "troubles", "--out", out, "--no-report")
    assert result.returncode == 0, result.stderr
    rows = rows_by_problem(out)
    fine, stuck, crash, wrong = (rows[name] for name in ("equal-H2", "equal-H3", "equal-H4", "spread-H5"))
    assert fine["status"] == "optimal" and fine["success"] and fine["correct"]
    assert abs(fine["gap"]) <= 1e-12
    assert stuck["status"] == "time_limit" and not stuck["success"]
    assert stuck["charged_seconds"] == stuck["time_limit"] == 1.0
    assert stuck["H"] == 3 and stuck["distance"] == "linear"
    assert crash["status"] == "error" and f"signal {int(signal.SIGABRT)}" in crash["message"]
    # The prior is no optimum here: the claim is corrected from the recomputed residual.
    assert wrong["status"] == "not_converged" and not wrong["claims"] and not wrong["correct"]
    assert set(fine) == set(FIELDS)


def test_exports_equal_the_log(pacb, tmp_path):
    import pandas as pd

    out = tmp_path / "out"
    assert pacb("bench", "--suite", "troubles", "--out", out, "--no-report", "--problems", "H2").returncode == 0
    log = load_results(out)
    assert pd.read_csv(out / "results.csv")["bound"].tolist() == log["bound"].tolist()
    assert pd.read_parquet(out / "results.parquet")["key"].tolist() == log["key"].tolist()
    environment = json.loads((out / "environment.json").read_text())
    assert environment["versions"]["numpy"] and environment["cores"] >= 1


def test_a_killed_run_resumes_without_losing_or_repeating(pacb, tmp_path):
    out = tmp_path / "out"
    running = pacb("bench", "--suite", "many", "--out", out, "--no-report", wait=False)
    wait_for_rows(out, 4)
    running.send_signal(signal.SIGKILL)
    running.wait()
    # What a process may leave when it is killed while writing.
    with open(out / LOG, "a") as file:
        file.write('{"key": "torn')
    before = {row["key"]: row["timestamp"] for row in read_rows(out)}
    assert 4 <= len(before) < 20
    refused = pacb("bench", "--suite", "many", "--out", out, "--no-report")
    assert refused.returncode == 2 and "--resume" in refused.stderr.splitlines()[-1]
    assert pacb("bench", "--suite", "many", "--out", out, "--no-report", "--resume").returncode == 0
    lines = [json.loads(line) for line in (out / LOG).read_text().splitlines()]
    assert len(lines) == len({line["key"] for line in lines}) == 20
    assert all(line["timestamp"] == before[line["key"]] for line in lines if line["key"] in before)


def test_failures_are_kept_and_retried_on_request(pacb, tmp_path):
    out = tmp_path / "out"
    arguments = ("bench", "--suite", "troubles", "--problems", "H3", "--time-limit", "0.3", "--out", out, "--no-report")
    assert pacb(*arguments).returncode == 0
    assert pacb(*arguments, "--resume").returncode == 0
    assert len((out / LOG).read_text().splitlines()) == 1
    assert pacb(*arguments, "--resume", "--retry-failed").returncode == 0
    assert len((out / LOG).read_text().splitlines()) == 2
    assert len(read_rows(out)) == 1


def test_second_run_into_one_directory_is_refused(pacb, tmp_path):
    out = tmp_path / "out"
    arguments = ("bench", "--suite", "troubles", "--problems", "H3", "--time-limit", "600", "--out", out, "--no-report")
    stuck = pacb(*arguments, wait=False)
    try:
        deadline = time.monotonic() + 60
        while not (out / "environment.json").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        second = pacb(*arguments, "--resume")
        assert second.returncode == 2
        assert "another run is writing to" in second.stderr
    finally:
        stuck.kill()
        stuck.wait()


def test_interrupt_leaves_a_usable_result_and_says_how_to_go_on(pacb, tmp_path, interruptible):
    out = tmp_path / "out"
    running = pacb("bench", "--suite", "many", "--out", out, "--no-report", wait=False)
    wait_for_rows(out, 2)
    running.send_signal(signal.SIGINT)
    _, messages = running.communicate(timeout=60)
    assert running.returncode == 130
    assert f"pacb bench --suite many --out {out} --resume" in messages
    assert 2 <= len(load_results(out)) < 20
    assert (out / "results.csv").exists()


def test_workers_leave_when_the_runner_is_killed(pacb, tmp_path):
    out = tmp_path / "out"
    running = pacb("bench", "--suite", "many", "--out", out, "--no-report", wait=False)
    wait_for_rows(out, 1)
    children = subprocess.run(
        ["pgrep", "-P", str(running.pid)], capture_output=True, text=True, check=True
    ).stdout.split()
    assert children
    running.kill()
    running.wait()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any(_alive(int(child)) for child in children):
        time.sleep(0.1)
    assert not any(_alive(int(child)) for child in children)


def _alive(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().split()[2] != "Z"
    except OSError:
        return False


def test_scaling_measures_memory_and_spares_larger_problems(pacb, tmp_path):
    out = tmp_path / "out"
    assert pacb("bench", "--suite", "growing", "--out", out, "--no-report").returncode == 0
    rows = rows_by_problem(out)
    assert rows["equal-H2"]["success"] and rows["equal-H2"]["peak_memory_bytes"] >= 0
    assert rows["equal-H3"]["status"] == "time_limit"
    for name in ("equal-H50", "equal-H60"):
        assert rows[name]["status"] == "time_limit" and "not tried" in rows[name]["message"]


def test_parallel_run_gives_the_same_rows_and_is_marked(pacb, tmp_path):
    out = tmp_path / "out"
    assert pacb("bench", "--suite", "many", "--jobs", "2", "--out", out, "--no-report").returncode == 0
    rows = read_rows(out)
    assert len(rows) == 20 and all(row["success"] and row["parallel"] for row in rows)


@pytest.fixture
def cluster(plugin):
    """A real Dask scheduler with two worker processes, on loopback."""
    environment = {**os.environ, "PYTHONPATH": str(plugin)}
    code = (
        "from distributed import LocalCluster; import sys, time\n"
        "if __name__ == '__main__':\n"
        "    c = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host='127.0.0.1')\n"
        "    print(c.scheduler_address, flush=True); sys.stdin.read()\n"
    )
    script = plugin / "start_cluster.py"
    script.write_text(code)
    process = subprocess.Popen(
        [sys.executable, str(script)], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    yield process.stdout.readline().strip()
    process.stdin.close()
    process.wait(timeout=60)


def test_dask_cluster_measures_the_same_cells(pacb, cluster, tmp_path):
    out = tmp_path / "out"
    result = pacb("bench", "--suite", "troubles", "--dask", cluster, "--out", out, "--no-report")
    assert result.returncode == 0, result.stderr
    rows = rows_by_problem(out)
    assert rows["equal-H2"]["success"] and rows["equal-H2"]["parallel"]
    assert rows["equal-H3"]["status"] == "time_limit"
    assert rows["equal-H4"]["status"] == "error"


def test_dask_without_a_cluster_is_one_sentence(pacb, tmp_path):
    result = pacb(
        "bench", "--suite", "troubles", "--dask", "tcp://127.0.0.1:9", "--out", tmp_path / "out", "--no-report"
    )
    assert result.returncode == 2
    assert "no Dask scheduler answers there" in result.stderr.splitlines()[-1]


def test_problems_of_other_packages_run_with_every_capable_solver(pacb, tmp_path):
    out = tmp_path / "out"
    result = pacb(
        "bench", "--suite", "outside", "--solvers", "frontier,sleeper,fixed-point", "--out", out, "--no-report"
    )
    assert result.returncode == 0, result.stderr
    assert {row["solver"] for row in read_rows(out)} == {"frontier", "sleeper", "fixed-point"}
    assert all(row["success"] and row["correct"] for row in read_rows(out))


def test_own_risk_files(pacb, tmp_path):
    risks = tmp_path / "mine.csv"
    risks.write_text("0.1\n0.2\n0.3\n")
    out = tmp_path / "out"
    arguments = (
        "bench",
        "--risks",
        risks,
        "--m",
        "200",
        "--solvers",
        "frontier,subset-search",
        "--out",
        out,
        "--no-report",
    )
    result = pacb(*arguments)
    assert result.returncode == 0, result.stderr
    assert len(read_rows(out)) == 6


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--suite", "nonsense"), "'nonsense'"),
        (("--solvers", "magic"), "'magic'"),
        (("--problems", "no such problem"), "no cell"),
        (("--jobs", "0"), "--jobs is 0"),
        (("--time-limit", "-1"), "--time-limit is -1"),
        (("--resume",), "--out"),
        (("--retry-failed",), "--resume"),
        (("--risks", "x.csv"), "--m"),
        (("--compare", "a", "b"), "holds no results"),
    ],
)
def test_bad_input_is_exit_two_and_one_line(arguments, named, capsys, monkeypatch, tmp_path):
    from pacb_models.cli import main

    monkeypatch.chdir(tmp_path)
    assert main(["bench", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and named in error
    assert not list(tmp_path.iterdir())


def test_compare_tells_what_became_wrong(pacb, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    assert pacb("bench", "--suite", "troubles", "--problems", "H2", "--out", first, "--no-report").returncode == 0
    second.mkdir()
    row = json.loads((first / LOG).read_text())
    row |= {"status": "time_limit", "success": False, "correct": False}
    (second / LOG).write_text(json.dumps(row) + "\n")
    worse = pacb("bench", "--compare", first, second)
    assert worse.returncode == 1
    assert "became wrong: 1" in worse.stdout and "optimal -> time_limit" in worse.stdout
    better = pacb("bench", "--compare", second, first)
    assert better.returncode == 0 and "became right: 1" in better.stdout
