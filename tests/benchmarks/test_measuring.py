"""Measuring processes that are confused, killed, or never come back: no cell gets what is not its own."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from pacb_models import BoundProblem, registry
from pacb_models.benchmarks import measuring
from pacb_models.benchmarks.measuring import Conditions, measure
from pacb_models.benchmarks.problems import Problem
from pacb_models.benchmarks.suites import Cell
from pacb_models.benchmarks.worker import Request
from pacb_models.solution import Outcome
from pacb_models.solver import Solver


def cell(size: int, solver: str = "fixed-point") -> Cell:
    arguments = {"risks": [0.1 + 0.01 * k for k in range(size)], "m": 500, "distance": "linear"}
    return Cell(Problem(f"p{size}", "made up", BoundProblem, arguments), solver)


@pytest.fixture
def conditions():
    made = Conditions("suite", time_limit=20.0)
    yield made
    measuring.end(made.run)


def worker_of(conditions: Conditions) -> measuring.Worker:
    [worker] = [worker for worker, run in measuring._all_workers.items() if run == conditions.run]
    return worker


def test_after_an_exception_the_next_cell_gets_its_own_measurement(conditions, monkeypatch):
    """The worker still has the first cell's answers in its pipe."""

    class Broken:
        @property
        def keeps_time_limit(self):
            raise ZeroDivisionError("a plug-in")

    monkeypatch.setattr(measuring, "get_solver", lambda name: Broken())
    failed = measure(cell(3), conditions)
    assert failed == {"status": "error", "message": "ZeroDivisionError: a plug-in"}
    monkeypatch.undo()
    assert measure(cell(5), conditions)["H"] == 5


def test_an_answer_to_another_request_is_refused(conditions):
    assert measure(cell(3), conditions)["status"] == "optimal"
    other = cell(4)
    worker_of(conditions)._pipes.send(tuple(Request(other.key, pickle.dumps(other), 20.0, False, None)))
    confused = measure(cell(5), conditions)
    assert confused["status"] == "error" and f"for cell {other.key}" in confused["message"]
    assert measure(cell(5), conditions)["H"] == 5


def test_a_cell_is_innocent_of_its_idle_workers_death(conditions):
    assert measure(cell(3), conditions)["status"] == "optimal"
    first = worker_of(conditions)
    os.kill(first._process.pid, signal.SIGKILL)
    assert measure(cell(4), conditions)["status"] == "optimal"
    assert worker_of(conditions) is not first


def test_the_certified_optimum_is_found_once(conditions):
    recipe = cell(6)
    first, again = measure(recipe, conditions), measure(Cell(recipe.problem, "subset-search"), conditions)
    assert first["reference_bound"] == again["reference_bound"] == measuring._references[recipe.problem.identity]
    assert first["reference_bound"] == pytest.approx(first["bound"], abs=1e-9)


def test_a_problem_that_cannot_be_built_says_why(conditions):
    recipe = Problem("impossible", "made up", BoundProblem, {"risks": [0.5, 7.0], "m": 10})
    row = measure(Cell(recipe, "frontier"), conditions)
    assert row["status"] == "error"
    assert row["message"].startswith("the problem cannot be built: InputError: risks")


def test_one_hanging_warm_up_is_waited_for_only_once(conditions, plugin, monkeypatch):
    """And neither for five minutes: the time limit counts."""
    (plugin / "hanging.py").write_text(
        "import time\nfrom pacb_models.solver import Solver\n"
        "class Hanging(Solver):\n"
        "    name, handles = 'hanging', {'chi2': ('linear',)}\n"
        "    def run(self, problem):\n"
        "        time.sleep(3600)\n"
        "SOLVER = Hanging()\n"
    )
    entries = next(plugin.glob("*.dist-info")) / "entry_points.txt"
    entries.write_text("[pacb_models.solvers]\nhanging = hanging:SOLVER\n")
    monkeypatch.syspath_prepend(str(plugin))
    monkeypatch.setattr(measuring, "PREPARATION_LIMIT", 4.0)
    impatient = Conditions("suite", time_limit=0.5, run=conditions.run)
    registry._entry_points.cache_clear()
    try:
        first, second = (measure(cell(size, "hanging"), impatient) for size in (3, 4))
        # A Dask worker sees several runs; another one may have more time, or a mended solver.
        assert {run for run, *_ in measuring._hanging} == {impatient.run}
    finally:
        registry._entry_points.cache_clear()
        registry.get_solver.cache_clear()
        measuring._hanging.clear()
    assert first["message"] == "importing and warming up took over 4.5 s" and first["H"] == 3
    assert second["message"] == "not tried: its warm-up took over 4.5 s before" and second["H"] == 4


def test_a_problem_that_is_never_built_costs_the_time_limit(conditions, monkeypatch):
    """And what building it started is ended with its process."""
    monkeypatch.setattr(measuring, "PREPARATION_LIMIT", 2.0)
    recipe = Problem("never", "made up", subprocess.run, {"args": ["sleep", "3607"]})
    row = measure(Cell(recipe, "frontier"), Conditions("suite", time_limit=0.5, run=conditions.run))
    assert row == {"status": "error", "message": "building the problem took over 2.5 s"}
    assert not [
        process for process in psutil.process_iter(["cmdline"]) if process.info["cmdline"] == recipe.arguments["args"]
    ]
    assert measure(cell(3, "frontier"), conditions)["H"] == 3


class Traced(Solver):
    """Comes down in three steps, and says so when asked."""

    name, handles = "traced", {"chi2": ("linear",)}

    def run(self, problem, trace=False):
        details = {"trace": [(1.0, 0.0), (0.25 + 5e-4, 0.2), (0.25 + 5e-7, 0.6), (0.25, 0.8)]} if trace else {}
        return Outcome(problem.prior.copy(), "optimal", details=details)


def test_times_to_levels_are_shares_of_the_measured_time(monkeypatch):
    from pacb_models.benchmarks import worker

    monkeypatch.setattr(worker, "get_solver", lambda name: Traced())
    monkeypatch.setattr(worker, "solve", lambda problem, name, merge, **options: Traced().run(problem, **options))
    shares = worker.Traces().shares(cell(3, "traced"), cell(3).problem.build(), 1.0, 0.25)
    # The bound is within 1e-3 at a quarter, within 1e-6 at three quarters of the traced time.
    assert shares == pytest.approx([0.25, 0.75, 1.0])
    row = {"bound": 0.25, "seconds": 8.0, "setup_seconds": 1.0}
    found = worker.times_to_levels(row, shares, 0.25)
    times = [found[name] for name in ("seconds_to_1e-03", "seconds_to_1e-06", "seconds_to_1e-09")]
    assert times == pytest.approx([3.0, 7.0, 9.0])
    # Without a trace, all of its time for the levels that it reaches.
    short = worker.times_to_levels(row | {"bound": 0.25 + 1e-5}, [None] * 3, 0.25)
    assert short == {"traced": False, "seconds_to_1e-03": 9.0}


def test_the_search_path_leaves_out_what_python_put_in_front(monkeypatch):
    import sys

    monkeypatch.setattr(sys, "path", ["", os.getcwd(), "/somewhere"])
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", object())
    assert measuring.search_path() == ["/somewhere"]
    # A script's own directory stays: its problems may be defined there.
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    assert measuring.search_path() == [os.getcwd(), "/somewhere"]


def test_workers_are_gone_with_the_run(conditions):
    measure(cell(3), conditions)
    process = worker_of(conditions)._process.pid
    measuring.end(conditions.run)
    deadline = time.monotonic() + 120
    while Path(f"/proc/{process}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{process}").exists()
    assert measure(cell(3), conditions) is None
