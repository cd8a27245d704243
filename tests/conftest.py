"""What all tests share: the real data sets, hypothesis profiles, time limits, and what may be skipped."""

import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

IN_CI = os.environ.get("CI", "").lower() in ("true", "1")
DATA_BESIDE_CHECKOUT = Path(__file__).resolve().parents[2] / "shared" / "data"
RAW_FILES = Path(os.environ.get("PACB_DATA") or DATA_BESIDE_CHECKOUT)
#: Reasons that are good ones everywhere: the raw files are not ours to give, and a search ends when its time is over.
NO_RAW_FILES = "no raw UCI files: set PACB_DATA to their directory (docs/installation.md says where they come from)"
TIME_IS_OVER = "the time of the search is over"
#: When the search of tests/fuzz.py has to end, in seconds since 1970.
UNTIL = float(os.environ.get("PACB_FUZZ_UNTIL") or "inf")

# Nothing of what collecting tests leaves is garbage: looking for some would take a quarter of that time.
gc.disable()
# One process per core already: BLAS threads on top of that only get into each other's way.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Deadlines, and a check of how fast examples are drawn, would fail tests on a busy machine. The same examples are tried
# every time, everywhere; tests/fuzz.py looks for others.
settings.register_profile(
    "same", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True, print_blob=True
)
settings.register_profile("fuzz", settings.get_profile("same"), derandomize=False)
settings.load_profile("same")
# Hypothesis also tries the numbers that stand in the modules imported so far, which differ from process to process. Its
# own numbers and ours are enough.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = providers.Constants


@pytest.fixture(autouse=True)
def full_precision() -> Iterator[None]:
    """Give every test a long double of full precision: the ASL library, loaded by a Pyomo model of a test or an
    example, takes it away from the whole process."""
    from pacb_models.solvers.nonlinear.native import float_environment_restored

    with float_environment_restored():
        yield


@pytest.fixture(scope="session")
def raw_files() -> Path | None:
    """The directory of the raw UCI files, where there is one: PACB_DATA, or ../shared/data beside the checkout."""
    return RAW_FILES if RAW_FILES.is_dir() else None


@pytest.fixture(scope="session")
def data_dir(raw_files: Path | None) -> Path:
    """The same for tests that need it."""
    return raw_files or pytest.skip(NO_RAW_FILES)


@pytest.fixture(scope="session")
def without_raw_files() -> Callable[[str], NoReturn]:
    """Skip, after what could be tested, for the want of the raw files."""
    return lambda what: pytest.skip(f"{what}: {NO_RAW_FILES}")


@pytest.fixture(scope="session")
def paper_dataset(request: pytest.FixtureRequest) -> Callable[[str], Any]:
    """A data set of the paper by name, from the raw files; scikit-learn has the numbers of wdbc."""
    from pacb_models.benchmarks.experiments.datasets import load_dataset

    def load(name: str) -> Any:
        alone = name == "wdbc" and not RAW_FILES.is_dir()
        return load_dataset(name, None if alone else request.getfixturevalue("data_dir"))

    return load


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT and SIGHUP end the programs that the test starts, also where pytest, in the background or under nohup,
    ignores them."""
    handlers = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def start_cluster(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Start a real Dask scheduler with two worker processes, on loopback."""
    from .dask_cluster import Cluster

    started = []

    def start(python_path: Path | None = None, **variables: str) -> Any:
        folder = tmp_path / "cluster"
        folder.mkdir()
        started.append(Cluster(folder, python_path or folder, **variables))
        return started[-1]

    yield start
    for cluster in started:
        cluster.close()


def slowness() -> float:
    """How much longer things take than on a quiet machine."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def gone(process: int) -> bool:
    """Whether a process ends soon; one that nobody waits for counts as ended."""
    stat = Path(f"/proc/{process}/stat")
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline:
        try:
            if stat.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


@pytest.hookimpl(trylast=True)  # Hypothesis marks its tests in this hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Time limits are those of a quiet machine, and longer on a busy one.

    A property that takes too long ends with its process, which pytest-xdist names and replaces: Hypothesis would catch
    an exception, and run the endless example again.
    """
    for item in items:
        own = item.get_closest_marker("timeout")
        limit = own.args[0] if own is not None else float(item.config.getini("timeout") or 0)
        method = "signal" if item.get_closest_marker("hypothesis") is None else "thread"
        item.add_marker(pytest.mark.timeout(limit * slowness(), method=method), append=False)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if time.time() > UNTIL:
        pytest.skip(TIME_IS_OVER)


_running: list[pytest.Item] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _running[:] = [item]
    try:
        return (yield)
    finally:
        _running.clear()
        # A solver in a file is known to a process from then on; the next test must not meet it.
        os.environ.pop("PACB_SOLVERS", None)


#: What libraries ask of the system in a moment: where a library is, which commit this is.
SYSTEM_PROGRAMS = ("ldconfig", "gcc", "cc", "ld", "objdump", "git")


def _complain_of_processes(event: str, arguments: tuple[Any, ...]) -> None:
    """`make quick` starts none: a test that does is marked, or fails."""
    if event == "subprocess.Popen" and Path(os.fsdecode(arguments[0])).name not in SYSTEM_PROGRAMS:
        for item in _running:
            assert item.get_closest_marker("outside"), f"{item.nodeid} starts a process and is not marked outside"


sys.addaudithook(_complain_of_processes)


def fail_when_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip into a failure that gives its reason. Expected failures, which pytest also calls skipped, stay."""
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not reason.endswith((NO_RAW_FILES, TIME_IS_OVER)):
            report.outcome = "failed"
            report.longrepr = f"{report.nodeid}: nothing may be skipped where CI=true. {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Skip what needs Ipopt where set-up could not build it, with the sentence that says what is missing."""
    from pacb_models import SolverUnavailableError

    try:
        return (yield)
    except SolverUnavailableError as reason:
        if "libpynumero_ASL" in str(reason):
            pytest.skip(str(reason))
        raise


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
