"""What a cell's key holds, and suites and problems of other packages that are broken."""

import importlib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import pacb_models as pm
from pacb_models.benchmarks.commands import bench
from pacb_models.benchmarks.experiments.datasets import available_datasets, load_dataset
from pacb_models.benchmarks.harness import suites, worker
from pacb_models.benchmarks.harness.results import read_rows
from pacb_models.benchmarks.harness.runner import run_suite
from pacb_models.benchmarks.harness.suites import DENSE, DENSE_LARGEST, Cell, Suite, from_files, suite
from pacb_models.benchmarks.problems.families import CONSTRAINED, instances
from pacb_models.benchmarks.problems.forests import forest
from pacb_models.benchmarks.problems.problem import UCI_FAMILY, Problem, outside_problems
from pacb_models.benchmarks.verdict import correct
from pacb_models.commands.program import build_parser
from pacb_models.errors import InputError, SolverUnavailableError
from pacb_models.plugins import PluginError
from pacb_models.solving.registry import capable_solvers, get_solver, solver_names

from ..installed import install

BROKEN = """
[pacb_models.problems]
absent = no_such_module:problems
fine = their_suites:problems
leaves = leaving_module:problems
raises = their_suites:raises
[pacb_models.suites]
absent = no_such_module:suite
raises = their_suites:raises
scalar = their_suites:scalar
[pacb_models.datasets]
a-leaves = leaving_module:load
"""

MODULE = """
from pacb_models import BoundProblem
from pacb_models.benchmarks.problems.problem import Problem

class Mute(Exception):
    def __str__(self):
        raise RuntimeError("not even that")

def problems():
    return [Problem("theirs", "made up", BoundProblem, {"risks": [0.1, 0.2], "m": 50})]

def raises():
    raise Mute

def scalar():
    return 3
"""


@pytest.fixture
def broken_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, BROKEN, their_suites=MODULE, leaving_module="raise SystemExit(3)\n")
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("broken_package")
def test_broken_problems_are_named_and_left_out(capsys):
    assert [problem.name for problem in outside_problems()] == ["theirs"]
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    for line, name, reason in zip(lines, ("absent", "leaves", "raises"), ("No module", "SystemExit: 3", "Mute")):
        assert f"pacb_models.problems {name!r} of the package theirs cannot be used: " in line and reason in line


@pytest.mark.usefixtures("broken_package")
@pytest.mark.parametrize(
    ("name", "reason"), [("absent", "No module"), ("raises", "Mute"), ("scalar", "it returned 3, not a Suite")]
)
def test_a_broken_suite_is_one_sentence_and_no_other_suites_trouble(name, reason):
    assert suites.suite_lines().keys() >= {name, "quick"}
    with pytest.raises(PluginError, match=rf"pacb_models.suites {name!r} .*{reason}"):
        suite(name)


@pytest.mark.usefixtures("broken_package")
def test_a_broken_data_set_is_named_only_when_it_is_asked_for():
    assert "a-leaves" in available_datasets() and load_dataset("wdbc").name == "wdbc"
    with pytest.raises(PluginError, match=r"pacb_models.datasets 'a-leaves' .*SystemExit"):
        load_dataset("a-leaves")


def test_the_key_holds_the_content_of_a_risk_file(tmp_path):
    path = tmp_path / "mine.csv"
    keys = []
    for text in ("0.1\n0.2\n", "0.1\n0.3\n", "# the same risks\n0.1\n0.2\n"):
        path.write_text(text)
        keys.append([cell.key for cell in from_files([str(path)], 100, ["kl"]).cells])
    assert keys[0] == keys[2] and not set(keys[0]) & set(keys[1])


def test_risk_files_have_constraints_and_problems_as_json_have_their_own(tmp_path):
    """Both are the problem that the same words describe in Python, and keep their keys."""
    table, theirs = tmp_path / "mine.csv", tmp_path / "theirs.json"
    table.write_text("risk,latency\n0.1,60\n0.15,30\n0.2,10\n")
    limits = [pm.average([60, 30, 10], at_most=25, name="latency"), pm.support(at_most=2)]
    expected = pm.BoundProblem([0.1, 0.15, 0.2], 100, distance="squared", constraints=limits)
    theirs.write_text(expected.replace(delta=0.2).to_json())
    words = ["bench", "--risks", str(table), str(theirs), "--m", "100", "--distance", "squared"]
    options = build_parser("bench").parse_args([*words, "--at-most", "latency=25", "--support-at-most", "2"])
    cells, again = ([cell for cell in bench._suite(options).cells if cell.solver == "frontier"] for _ in range(2))
    assert [cell.problem.name for cell in cells] == [f"{table}-squared-constrained", "theirs"]
    for cell, problem in zip(cells, (expected, expected.replace(delta=0.2)), strict=True):
        assert cell.problem.build().to_json() == problem.to_json() and cell.problem.size == 3
    assert [cell.key for cell in again] == [cell.key for cell in cells]


def test_suites_hold_the_hard_problems():
    every = {frozen.name for frozen in instances()}
    fast = suite("hard").cells
    assert {cell.problem.name for cell in fast} == every
    assert not {cell.solver for cell in fast} & {*DENSE, *suites.MODELLED}
    everything = suite("field").cells
    assert every < {cell.problem.name for cell in everything}
    assert {cell.solver for cell in everything} >= {*DENSE, *suites.MODELLED} & set(solver_names())
    assert all(cell.problem.arguments["count"] <= DENSE_LARGEST for cell in everything if cell.solver in DENSE)
    # The largest are not built to know who can handle them, but they are what is measured.
    assert max(cell.problem.arguments["count"] for cell in fast) == 1_000_000


def test_the_constrained_suite_asks_everybody_who_honours_the_constraints():
    cells = suite("constrained").cells
    assert {cell.problem.name for cell in cells} == {frozen.name for frozen in instances(CONSTRAINED)}
    assert all(get_solver(cell.solver).refusal(cell.problem.build()) is None for cell in cells)
    assert {cell.solver for cell in cells} >= {"frontier", "ipopt"} & set(solver_names())


def test_quick_tells_solvers_apart_without_waiting_for_dense_methods():
    cells = suite("quick").cells
    assert set(suites.QUICK_HARD) < {cell.problem.name for cell in cells}
    assert all(cell.problem.arguments["count"] <= DENSE_LARGEST for cell in cells if cell.solver in DENSE)


def test_certificates_are_checked_where_a_global_method_can():
    cells = suite("certify-optimum").cells
    assert {cell.solver for cell in cells} == {"frontier", "scip"} & set(solver_names())
    problems = {cell.problem.name: cell.problem.build() for cell in cells}.values()
    assert max(problem.size for problem in problems) <= 50 and {each.divergence for each in problems} == {"chi2", "kl"}
    assert {cell.problem.family for cell in cells} >= {UCI_FAMILY, "one-good", "no-errors"}


def test_every_local_method_gets_the_same_starts():
    chosen = suite("quick").select(["frontier", "fixed-point", "ccp", "mirror"], "wdbc-H50-kl").with_starts(3, seed=7)
    assert Counter(cell.solver for cell in chosen.cells) == {"frontier": 1, "fixed-point": 3, "ccp": 3, "mirror": 3}
    problem, started = chosen.cells[0].problem.build(), [cell for cell in chosen.cells if cell.start is not None]
    starts = {(cell.start, cell.options(problem)["start"].tobytes()) for cell in started}
    assert len(starts) == len(dict(starts)) == len(set(dict(starts).values())) == 3
    assert {cell.seed for cell in started} == {7} and len({cell.key for cell in chosen.cells}) == 10
    # More starts are further ones, and the others keep their keys.
    more = suite("quick").select(["ccp"], "wdbc-H50-kl").with_starts(5, seed=7)
    assert {cell.key for cell in chosen.cells if cell.solver == "ccp"} < {cell.key for cell in more.cells}
    # What has starts of its own, or another number of classifiers, is left alone.
    own = [Cell(more.cells[0].problem, "ccp", {"starts": 2}, 0), Cell(more.cells[0].problem, "ccp", {"merge": True})]
    assert Suite("own", "", tuple(own), 1.0).with_starts(5, 0).cells == tuple(own)


def test_a_solver_without_a_problem_is_told_why():
    chosen = suite("quick").select(["frontier"], "one-good-12-H50-chi2-kl")
    with pytest.raises(InputError, match="no problem; of one-good-12-H50-chi2-kl: its bound is not convex"):
        chosen.select(["cvxpy"])
    with pytest.raises(InputError, match="no problem; the help lists suites"):
        chosen.select(["ccp"])
    for solvers in (None, ["ccp"]):
        with pytest.raises(InputError, match="no cell of the suite 'outside' is left"):
            Suite("outside", "", (), 1.0).select(solvers)


@pytest.mark.outside
def test_starts_are_columns_of_the_results(tmp_path):
    chosen = suite("quick").select(["frontier", "fixed-point"], "one-good-17").with_starts(4, seed=0)
    rows = read_rows(run_suite(chosen, tmp_path))
    found = [(row.solver, row.seed, row.start) for row in rows]
    assert found == [("frontier", None, None), *(("fixed-point", 0, number) for number in range(4))]
    # From a few classifiers it finds one minimum, from all of them the other.
    assert {correct(row) for row in rows[1:]} == {True, False}


@pytest.mark.outside
def test_solvers_that_are_missing_are_named_and_no_failures(tmp_path, monkeypatch):
    monkeypatch.setattr(type(get_solver("fixed-point")), "missing", lambda self: "its software is not installed")
    told = []
    chosen = suite("quick").select(["frontier", "fixed-point"], "wdbc-H50-kl")
    rows = read_rows(run_suite(chosen, tmp_path / "out", tell=told.append))
    assert [row.solver for row in rows] == ["frontier"]
    assert told == ["left out: fixed-point, which cannot run here (its software is not installed)"]
    with pytest.raises(SolverUnavailableError, match="none of the solvers can run here: fixed-point"):
        run_suite(chosen.select(["fixed-point"]), tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_problem_is_the_same_when_its_code_moves(tmp_path, monkeypatch):
    """And another one when its data change."""
    code = "from dataclasses import dataclass\n@dataclass\nclass Data:\n    x: list\ndef make(**k): ...\n"
    for place in ("old", "new"):
        (tmp_path / "moving" / place).mkdir(parents=True)
        (tmp_path / "moving" / place / "recipes.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    old, new = (importlib.import_module(f"moving.{place}.recipes") for place in ("old", "new"))

    def identity(module, x, array=(1.0, 2.0)):
        return Problem("p", "d", module.make, {"data": module.Data(x), "array": np.array(array)}).identity

    assert identity(old, [1]) == identity(new, [1])
    assert identity(old, [1]) != identity(old, [2])
    assert identity(old, [1]) != identity(old, [1], (1.0, 2.0 + 1e-15))


def test_votes_of_forests_are_proven_and_warmed_up():
    cells = suite("votes").cells
    assert len({cell.problem.name for cell in cells}) == 3 * 2 * 3
    of_wine = [cell for cell in cells if cell.problem.name == "wine-H100-kl"]
    problem = of_wine[0].problem.build()
    assert {cell.solver for cell in of_wine} == set(capable_solvers(problem))
    errors, voted = forest("wine", 100)
    assert errors.shape == (89, 100) and voted <= (errors.mean(axis=1) >= 0.5).sum()
    # As small as a problem of its kind can be.
    tiny = worker.tiny(problem)
    assert (tiny.kind, tiny.size) == ("tandem", 3) and pm.solve(tiny, "frontier").is_global
