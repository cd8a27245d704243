"""What all tests share: the real data sets, hypothesis profiles, and the rule that nothing is skipped where CI=true."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

IN_CI = os.environ.get("CI", "").lower() in ("true", "1")
DATA_BESIDE_CHECKOUT = Path(__file__).resolve().parents[2] / "shared" / "data"

# One process per core already: BLAS threads on top of that only get into each other's way.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Deadlines, and a check of how fast examples are drawn, would fail tests on a busy machine; in CI the same examples are
# tried every time.
settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("here"), derandomize=True, print_blob=True)
settings.load_profile("ci" if IN_CI else "here")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The directory of the raw UCI files: PACB_DATA, or ../shared/data beside the checkout."""
    folder = Path(os.environ.get("PACB_DATA") or DATA_BESIDE_CHECKOUT)
    if not folder.is_dir():
        pytest.skip(f"no data sets in {folder}: set PACB_DATA to the directory with the raw UCI files")
    return folder


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT reaches the programs that the test starts, also where a shell started pytest with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def start_cluster(tmp_path: Path):
    """Start a real Dask scheduler with two worker processes, on loopback; returns its address."""
    started = []

    def start(environment: dict[str, str] | None = None) -> str:
        script = tmp_path / "start_cluster.py"
        script.write_text(
            "from distributed import LocalCluster; import sys\n"
            "if __name__ == '__main__':\n"
            "    c = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host='127.0.0.1')\n"
            "    print(c.scheduler_address, flush=True); sys.stdin.read()\n"
        )
        process = subprocess.Popen(
            [sys.executable, str(script)], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return process.stdout.readline().strip()

    yield start
    for process in started:
        process.stdin.close()
        process.wait(timeout=300)


def fail_when_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip into a failure that gives its reason. Expected failures, which pytest also calls skipped, stay."""
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid}: nothing may be skipped where CI=true. {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    fail_when_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    fail_when_skipped(report)
    return report
