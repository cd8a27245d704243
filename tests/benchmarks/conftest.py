"""A third party's package: its solvers, problems and suites."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from pacb_models.commands.program import main
from pacb_models.solving import registry

from ..installed import install

MODULE = '''
import os, subprocess, time
from pathlib import Path

from pacb_models.benchmarks.problems.problem import Problem
from pacb_models.benchmarks.harness.suites import Cell, Suite
from pacb_models import BoundProblem
from pacb_models.solution import Outcome
from pacb_models.solver import Solver


class Sleeper(Solver):
    """Returns the prior; never comes back from H = 3, dies at H = 4, and may be held up from some size on."""

    name = "sleeper"
    needs = ("problem.bound_at",)

    def run(self, problem, held_up=False):
        if problem.m > 100:  # the warm-up's m is 100
            if problem.size == 3:
                time.sleep(3600)
            if problem.size == 4:
                os.abort()
            while held_up and self.is_held_up(problem.size):
                time.sleep(0.01)
        return Outcome(problem.prior.copy(), "optimal")

    def is_held_up(self, size):
        hold = Path(os.environ["MARKS"], "hold")
        return hold.exists() and size >= int(hold.read_text())


SOLVER = Sleeper()


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("not even that")


class Hostile(Solver):
    """Does whatever a plug-in must not do."""

    name = "hostile"
    needs = ("problem.bound_at",)

    def run(self, problem, how="", mark=""):
        fine = Outcome(problem.prior.copy(), "optimal")
        if problem.m == 100:
            return fine
        raised = {"exit": SystemExit(3), "interrupt": KeyboardInterrupt(), "mute": Mute()}
        if how in raised:
            raise raised[how]
        fine.iterations = "many" if how == "text" else 0
        if how == "none":
            return None
        if how == "scalar":
            fine.posterior = 0.5
        if how == "memory":
            bytearray(4 << 30)
        if how == "child":
            child = subprocess.Popen(["sleep", "3600"])
            Path(mark).write_text(str(child.pid))
            time.sleep(3600)
        if how == "fork":
            child = os.fork()
            if child == 0:
                time.sleep(3600)
            Path(mark).write_text(str(child))
            os.abort()
        return fine


HOSTILE = Hostile()


def equal_risks(count):
    return BoundProblem([0.25] * count, m=500, distance="linear")


def spread_risks(count):
    return BoundProblem([0.1 * k for k in range(count)], m=500, distance="linear")


def equal(count):
    return Problem(f"equal-H{count}", "made up", equal_risks, {"count": count}, count)


def problems():
    return [equal(2)]


def many():
    cells = [Cell(equal(k), "sleeper", {"held_up": True}) for k in range(10, 30)]
    return Suite("many", "twenty that can be held up", tuple(cells), time_limit=60.0)


def troubles():
    recipes = [*map(equal, (2, 3, 4)), Problem("spread-H5", "made up", spread_risks, {"count": 5})]
    cells = [Cell(recipe, "sleeper") for recipe in recipes]
    return Suite("troubles", "fine, stuck, crash, wrong", tuple(cells), time_limit=3.0)


def hostile():
    ways = ("text", "none", "scalar", "exit", "interrupt", "mute", "memory", "child", "fork", "")
    cells = [Cell(equal(2), "hostile", {"how": how, "mark": f"{os.environ['MARKS']}/{how}"}) for how in ways]
    return Suite("hostile", "everything", tuple(cells), time_limit=3.0)


def growing():
    cells = [Cell(equal(k), "sleeper") for k in (2, 3, 50, 60)]
    return Suite("growing", "stuck at 3", tuple(cells), time_limit=3.0, measure_memory=True, stop_at_limit=True)
'''

ENTRY_POINTS = """
[pacb_models.solvers]
sleeper = sleepy:SOLVER
hostile = sleepy:HOSTILE
[pacb_models.problems]
sleepy = sleepy:problems
[pacb_models.suites]
many = sleepy:many
troubles = sleepy:troubles
growing = sleepy:growing
hostile = sleepy:hostile
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """The directory that holds the third party's package."""
    return install(tmp_path / "site", ENTRY_POINTS, sleepy=MODULE)


@pytest.fixture
def pacb(plugin: Path, monkeypatch, capsys):
    """``pacb`` with the third party's package installed: in this process, which saves its imports.

    In one of its own, which is only started with ``wait=False``, where :mod:`subprocess` is given any options.
    """

    def run(*arguments: str, wait: bool = True, **options):
        command = [*map(str, arguments)]
        variables = {"PYTHONPATH": str(plugin), "MARKS": str(plugin)}
        if wait and not options:
            with monkeypatch.context() as patch:
                patch.setattr(registry, "_listed", cache(registry._listed.__wrapped__))
                patch.delitem(sys.modules, "sleepy", raising=False)
                patch.syspath_prepend(str(plugin))
                for name, value in variables.items():
                    patch.setenv(name, value)
                try:
                    status = main(command)
                except SystemExit as left:  # after --help
                    status = left.code
            return subprocess.CompletedProcess(command, status, *capsys.readouterr())
        command = [sys.executable, "-m", "pacb_models", *command]
        options = {"env": {**os.environ, **variables}, "text": True} | options
        if wait:
            return subprocess.run(command, capture_output=True, check=False, timeout=300, **options)
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    return run
