"""Solvers that do what they must not do: it is their own cells' trouble, in a process each and on a real cluster."""

import json

import pytest

from pacb_models.benchmarks.harness.results import judged_results, read_rows
from pacb_models.benchmarks.verdict import correct, success

from ..conftest import gone
from ..installed import install

pytestmark = pytest.mark.outside

VANDALS = tuple("shallow patcher writer counter huge talker escaper clock pickler killed dying".split())

#: Every solver does its worst, then returns the prior with a claim of optimality. The prior is the optimum of none of
#: the problems. What they are given is wide enough for slsqp to recurse, and for BLAS to start threads.
MODULE = """
import gc, json, os, pickle, signal, sys, time
from multiprocessing.connection import Connection
from pathlib import Path
import numpy as np
from pacb_models import BoundProblem
from pacb_models.benchmarks.harness.suites import Cell, Suite
from pacb_models.benchmarks.problems.problem import Problem, table_problem
from pacb_models.solution import Outcome
from pacb_models.solver import Solver


MARKS = Path(os.environ["MARKS"])


class Vandal(Solver):
    needs = ("problem.bound_at",)

    def __init__(self, name):
        self.name = name

    def run(self, problem):
        outcome = Outcome(problem.prior.copy(), "optimal")
        return getattr(self, self.name)(problem, outcome) or outcome

    def shallow(self, problem, outcome):
        sys.setrecursionlimit(60)

    def patcher(self, problem, outcome):
        import pacb_models.problem, pacb_models.solving.judging as judging
        judging.supported_claim = lambda status, *residuals: status
        pacb_models.problem.BoundProblem.bound = lambda problem, posterior: 0.5
        pacb_models.problem.BoundProblem.judge = lambda problem, posterior: pacb_models.problem.Judgement(0.5, 0.0)
        pacb_models.problem.BoundProblem.kkt_residual = lambda problem, posterior: 0.0

    def writer(self, problem, outcome):
        problem.risks.setflags(write=True)
        problem.risks[:] = 0.0

    def counter(self, problem, outcome):
        from threadpoolctl import threadpool_info
        a = np.random.default_rng(0).random((300, 300))
        a @ a
        found = [pool["num_threads"] for pool in threadpool_info()]
        (MARKS / f"threads-{os.getpid()}").write_text(json.dumps(found))

    def huge(self, problem, outcome):
        outcome.iterations = 10**40

    def talker(self, problem, outcome):
        raise ValueError("\\x1b[31m" + 3_000_000 * "no\\n")

    def escaper(self, problem, outcome):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                (MARKS / f"escaped-{os.getpid()}").touch()
                time.sleep(3600)
            os._exit(0)
        while not list(MARKS.glob("escaped-*")):
            time.sleep(0.01)

    def clock(self, problem, outcome):
        time.sleep(2.0)
        time.perf_counter = lambda: 0.0

    def pickler(self, problem, outcome):
        for found in gc.get_objects():
            if isinstance(found, Connection):
                found.send_bytes(pickle.dumps(Path(MARKS / "run").touch))
                found.send_bytes(pickle.dumps(Touch()))

    def killed(self, problem, outcome):
        mark = MARKS / f"killed-{problem.m}"
        if problem.m > 100 and not mark.exists():  # the warm-up's m is 100
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def dying(self, problem, outcome):
        os.kill(os.getpid(), signal.SIGKILL)


class Touch:
    def __reduce__(self):
        return Path.touch, (MARKS / "run",)


NAMES = [name for name in vars(Vandal) if name not in ("run", "needs") and not name.startswith("_")]
globals().update((name, Vandal(name)) for name in NAMES)


def suite():
    problems = [table_problem(name, 50, "squared") for name in ("wdbc", "haberman")]
    cells = [Cell(problem, name) for problem in problems for name in [*NAMES, "frontier", "slsqp"]]
    return Suite("vandals", "everything in one run", tuple(cells), time_limit=20.0)
"""


@pytest.fixture
def vandals(plugin):
    entries = "".join(f"{name} = vandals:{name}\n" for name in VANDALS)
    entries = f"[pacb_models.solvers]\n{entries}[pacb_models.suites]\nvandals = vandals:suite\n"
    return install(plugin, entries, vandals=MODULE)


def test_with_two_at_a_time(pacb, vandals, tmp_path):
    check(pacb("bench", "--suite", "vandals", "--jobs", "2", "--out", tmp_path / "out"), tmp_path / "out", vandals)


def test_on_a_cluster(pacb, vandals, start_cluster, tmp_path, monkeypatch):
    monkeypatch.setenv("MARKS", str(vandals))
    # What would be taken from the workers' environment, or from the client's.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.setenv(name, "2")
    arguments = ("--suite", "vandals", "--dask", start_cluster(vandals).address, "--out", tmp_path / "out")
    check(pacb("bench", *arguments), tmp_path / "out", vandals)


def check(result, out, marks):
    assert (out / "results.jsonl").exists(), result.stderr
    rows = read_rows(out)
    found = {name: [row for row in rows if row.solver == name] for name in (*VANDALS, "frontier", "slsqp")}
    assert {len(its) for its in found.values()} == {2} and all(row.parallel for row in rows)
    # The honest ones are right, and so are the optima that all are judged by.
    for name in ("frontier", "slsqp"):
        assert all(success(row) and correct(row) for row in found[name]), found[name]
    optima = {row.problem: row.bound for row in found["frontier"]}
    for row in rows:
        assert row.solver in ("pickler", "dying") or row.reference_bound == pytest.approx(optima[row.problem], abs=1e-9)
    # Whatever its process says, the prior is the prior.
    bounds = {row.problem: row.bound for row in found["counter"]}
    for row in [*found["patcher"], *found["writer"]]:
        assert row.bound == bounds[row.problem] and not success(row) and not correct(row)
    # Claims that are denied are contradictions, which the exit code tells.
    assert all(row.claims for row in found["patcher"])
    assert result.returncode == 1, result.stderr
    assert "that the recomputed residuals deny" in result.stdout and "patcher" in result.stdout
    # The runner has a clock of its own, runs nothing that it is sent, and measures once more what somebody killed.
    assert all(row.seconds + row.setup_seconds < 0.5 * row.wall_seconds > 0.95 for row in found["clock"])
    told = judged_results(out).sentence(longest=len(rows))
    assert "clock on wdbc-H50-squared-exact: its own clock shows much less time" in told
    assert all(row.status == "error" and "nonsense" in row.message for row in found["pickler"]), found["pickler"]
    assert not (marks / "run").exists()
    assert [row.status for row in found["killed"]] == ["not_converged"] * 2
    assert all(row.message == "the process ended with signal 9, twice" for row in found["dying"])
    assert all("iterations is 1000" in row.message and row.status == "error" for row in found["huge"])
    for row in found["talker"]:
        assert r"ValueError: \x1b[31mno no no" in row.message and len(row.message) <= 1000
    threads = [json.loads(mark.read_text()) for mark in marks.glob("threads-*")]
    assert threads and all(its and set(its) == {1} for its in threads), threads
    escaped = [int(mark.name.partition("-")[2]) for mark in marks.glob("escaped-*")]
    assert escaped and all(map(gone, escaped))
    assert (out / "results.parquet").exists() and (out / "report.html").exists()
    assert "\x1b" not in result.stdout + result.stderr
