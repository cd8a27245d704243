"""Measuring processes that are confused, killed, or never come back: no cell gets what is not its own."""

import os
import pickle
import signal
import subprocess
import sys
from multiprocessing.connection import wait

import pytest

from pacb_models import BoundProblem
from pacb_models.benchmarks import verdict
from pacb_models.benchmarks.harness import measuring
from pacb_models.benchmarks.harness.measurement import LEVELS
from pacb_models.benchmarks.harness.measuring import Conditions, Pool, Process
from pacb_models.benchmarks.harness.suites import Cell
from pacb_models.benchmarks.problems.problem import Problem
from pacb_models.solution import Outcome
from pacb_models.solver import Solver

from ..conftest import gone, slowness
from ..installed import install
from .made_up_log import row

pytestmark = pytest.mark.outside


def cell(size: int, solver: str = "fixed-point") -> Cell:
    arguments = {"risks": [0.1 + 0.01 * k for k in range(size)], "m": 500, "distance": "linear"}
    return Cell(Problem(f"p{size}", "made up", BoundProblem, arguments), solver)


@pytest.fixture
def pools():
    """Make a pool, as that of a run; all are ended."""
    made = []

    def make(time_limit: float = 20.0, **conditions) -> Pool:
        made.append(Pool(Conditions("suite", time_limit, **conditions)))
        return made[-1]

    yield make
    for pool in made:
        pool.end()


@pytest.fixture
def pool(pools):
    return pools()


def process_of(pool: Pool, solver: str = "fixed-point") -> Process:
    [process] = [process for process in pool._processes if process.solver == solver]
    return process


def test_after_an_exception_the_next_cell_gets_its_own_measurement(pool, monkeypatch):
    """The process still has the first cell's answers in its pipe."""

    def broken(process, kind, seconds):
        if kind == "ready":
            raise ZeroDivisionError("whatever")
        return answer(process, kind, seconds)

    answer = Process.answer
    monkeypatch.setattr(Process, "answer", broken)
    failed = pool.measure(cell(3))
    assert (failed.status, failed.message) == ("error", "ZeroDivisionError: whatever")
    monkeypatch.undo()
    assert pool.measure(cell(5)).size == 5


def test_an_answer_to_another_request_is_refused(pool):
    assert pool.measure(cell(3)).status == "optimal"
    other = cell(4)
    process_of(pool)._pipe.send((other.key, "measure", pickle.dumps((other, 20.0, False))))
    confused = pool.measure(cell(5))
    assert confused.status == "error" and f"for cell {other.key}" in confused.message
    assert pool.measure(cell(5)).size == 5


@pytest.mark.parametrize("whose", ["fixed-point", ""], ids=["solver", "referee"])
def test_a_cell_is_innocent_of_an_idle_process_s_death(pool, whose):
    assert pool.measure(cell(3)).status == "optimal"
    first = process_of(pool, whose)
    os.kill(first.number, signal.SIGKILL)
    wait([first._end], 60.0)
    found = pool.measure(cell(4))
    assert verdict.success(found) and found.reference_bound is not None
    assert process_of(pool, whose) is not first


def test_one_hanging_warm_up_is_waited_for_only_once(pools, plugin, monkeypatch):
    """And neither for five minutes: the time limit counts."""
    hanging = (
        "import time\nfrom pacb_models.solver import Solver\nclass Hanging(Solver):\n    name = 'hanging'\n"
        "    def run(self, problem):\n        time.sleep(3600)\nSOLVER = Hanging()\n"
    )
    entries = "[pacb_models.solvers]\nhanging = hanging:SOLVER\n"
    monkeypatch.syspath_prepend(str(install(plugin, entries, hanging=hanging)))
    # Long enough for a new process to import the package.
    seconds = 4.0 * slowness()
    monkeypatch.setattr(measuring, "PREPARATION_LIMIT", seconds - 0.5)
    impatient = pools(time_limit=0.5)
    first, second = (impatient.measure(cell(size, "hanging")) for size in (3, 4))
    assert first.message == f"importing and warming up took over {seconds:g} s" and first.size == 3
    assert second.message == f"not tried: its warm-up took over {seconds:g} s before" and second.size == 4


def test_a_problem_that_is_never_built_costs_the_time_limit(pools, monkeypatch, tmp_path):
    """And what building it started is ended with its process. One that cannot be built says why."""
    seconds = 4.0 * slowness()
    monkeypatch.setattr(measuring, "PREPARATION_LIMIT", seconds - 0.5)
    command = f"echo $$ > {tmp_path / 'process'}; exec sleep 3600"
    recipe = Problem("never", "made up", subprocess.run, {"args": ["sh", "-c", command]})
    pool = pools(time_limit=0.5)
    wrong = Problem("impossible", "made up", BoundProblem, {"risks": [0.5, 7.0], "m": 10})
    assert pool.measure(Cell(wrong, "frontier")).message.startswith("the problem cannot be built: InputError: risks")
    found = pool.measure(Cell(recipe, "frontier"))
    assert (found.status, found.message) == ("error", f"building the problem took over {seconds:g} s")
    assert gone(int((tmp_path / "process").read_text()))
    assert pool.measure(cell(3, "frontier")).size == 3


class Traced(Solver):
    """Comes down in three steps, and says so when asked."""

    name = "traced"

    def run(self, problem, trace=False):
        details = {"trace": [(1.0, 0.0), (0.25 + 5e-4, 0.2), (0.25 + 5e-7, 0.6), (0.25, 0.8)]} if trace else {}
        return Outcome(problem.prior.copy(), "optimal", details=details)


def test_times_to_levels_are_shares_of_the_measured_time(monkeypatch):
    from pacb_models.benchmarks.harness import worker

    monkeypatch.setattr(worker, "get_solver", lambda name: Traced())
    monkeypatch.setattr(worker, "solve", lambda problem, name, **options: Traced().run(problem, **options))
    descents = worker.way_down(cell(3, "traced"), cell(3).problem.build(), {})
    made = row("traced", seconds=8.0, setup_seconds=1.0)
    found = worker.with_times(made, descents)
    # The bound is within 1e-3 at a quarter, within 1e-6 at three quarters of the traced time.
    times = [getattr(found, name) for name in LEVELS]
    assert found.traced and times == pytest.approx([3.0, 7.0, 9.0])
    # Without a trace, all of its time for the levels that it reaches.
    short = worker.with_times(made.told({"bound": 0.25 + 1e-5}), [])
    assert not short.traced and [getattr(short, name) for name in LEVELS] == [9.0, None, None]


def test_the_search_path_leaves_out_what_python_put_in_front(monkeypatch):
    monkeypatch.setattr(sys, "path", ["", os.getcwd(), "/somewhere"])
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", object())
    assert measuring.search_path() == ["/somewhere"]
    # A script's own directory stays: its problems may be defined there.
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    assert measuring.search_path() == [os.getcwd(), "/somewhere"]


def test_processes_are_gone_with_the_run(pool):
    pool.measure(cell(3))
    processes = [process.number for process in pool._processes]
    pool.end()
    assert len(processes) == 2 and all(map(gone, processes)) and pool.measure(cell(3)) is None


def test_idle_processes_are_limited_each_has_one_solver_and_the_optimum_is_found_once(pools):
    pool, recipe = pools(kept=2), cell(3).problem
    rows = [pool.measure(Cell(recipe, name)) for name in ("frontier", "fixed-point", "subset-search", "fixed-point")]
    assert all(map(verdict.success, rows)) and {row.minima for row in rows} == {1}
    assert {row.reference_bound for row in rows} == {pool._references[recipe.identity][0]}
    assert rows[0].reference_bound == pytest.approx(rows[0].bound, abs=1e-9)
    assert sorted(process.solver for process in pool._processes) == ["", "fixed-point"]


# --- memory ----------------------------------------------------------------------------------------------------------

#: Alone in its process: 400 MB before, 100 MB during, nothing after.
PROGRAM = """
import numpy as np
from pacb_models.benchmarks.harness.worker import PeakMemory
before = np.ones(50_000_000)
del before
memory = PeakMemory()
during = np.ones(12_500_000)
del during
print(memory.rise(), PeakMemory().rise())
"""

#: Arrays of this size have pages of their own, of 2 MiB where the system likes them large. Linux counts pages on every
#: core apart, and adds up what a core has when it is this many (lib/percpu_counter.c). And Python reads a small file.
LARGE_PAGES = 2 * 2**21
CORES = os.cpu_count() or 1
NOT_ADDED_YET = max(32, 2 * CORES) * CORES * os.sysconf("SC_PAGE_SIZE")
A_SMALL_FILE = 2**20


def test_peak_memory_is_that_since_the_start_alone():
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # BLAS threads would come and go
    command = [sys.executable, "-P", "-c", PROGRAM]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    during, after = map(int, result.stdout.split())
    assert during == pytest.approx(100e6, abs=LARGE_PAGES + NOT_ADDED_YET + A_SMALL_FILE)
    assert after <= NOT_ADDED_YET + A_SMALL_FILE
