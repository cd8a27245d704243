"""What a cell's key holds, and suites and problems of other packages that are broken."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pacb_models import BoundProblem
from pacb_models.benchmarks.families import instances
from pacb_models.benchmarks.problems import Problem, outside_problems
from pacb_models.benchmarks.suites import (
    DENSE,
    DENSE_LARGEST,
    MODELLED,
    QUICK_HARD,
    Cell,
    from_files,
    suite,
    suite_names,
)
from pacb_models.ensembles.datasets import available_datasets, load_dataset
from pacb_models.plugins import PluginError
from pacb_models.registry import solver_names

BROKEN = """
[pacb_models.problems]
absent = no_such_module:problems
fine = their_module:problems
leaves = leaving_module:problems
raises = their_module:raises
[pacb_models.suites]
absent = no_such_module:suite
raises = their_module:raises
scalar = their_module:scalar
[pacb_models.datasets]
a-leaves = leaving_module:load
"""

MODULE = """
from pacb_models import BoundProblem
from pacb_models.benchmarks.problems import Problem

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
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(BROKEN)
    (tmp_path / "their_module.py").write_text(MODULE)
    (tmp_path / "leaving_module.py").write_text("raise SystemExit(3)\n")
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
    assert name in suite_names() and "quick" in suite_names()
    with pytest.raises(PluginError, match=rf"pacb_models.suites {name!r} .*{reason}"):
        suite(name)


@pytest.mark.usefixtures("broken_package")
def test_a_broken_data_set_is_named_only_when_it_is_asked_for():
    assert "a-leaves" in available_datasets()
    assert load_dataset("wdbc").name == "wdbc"
    with pytest.raises(PluginError, match=r"pacb_models.datasets 'a-leaves' .*SystemExit"):
        load_dataset("a-leaves")


def test_the_key_holds_the_content_of_a_risk_file(tmp_path):
    path = tmp_path / "mine.csv"
    keys = []
    for text in ("0.1\n0.2\n", "0.1\n0.3\n", "# the same risks\n0.1\n0.2\n"):
        path.write_text(text)
        keys.append([cell.key for cell in from_files([str(path)], 100, ["kl"]).cells])
    assert keys[0] == keys[2] and not set(keys[0]) & set(keys[1])


def test_the_key_holds_all_of_an_array():
    """The text of a long array leaves out its middle."""
    risks = np.linspace(0.1, 0.2, 5000)
    other = risks.copy()
    other[2500] = 0.5
    keys = {Cell(Problem("p", "d", BoundProblem, {"risks": each, "m": 9}), "frontier").key for each in (risks, other)}
    assert len(keys) == 2


def test_suites_hold_the_hard_problems():
    every = {frozen.name for frozen in instances()}
    fast = suite("hard").cells
    assert {cell.problem.name for cell in fast} == every
    assert not {cell.solver for cell in fast} & {*DENSE, *MODELLED}
    everything = suite("field").cells
    assert every < {cell.problem.name for cell in everything}
    assert {cell.solver for cell in everything} >= {*DENSE, *MODELLED} & set(solver_names())
    assert all(cell.problem.arguments["count"] <= DENSE_LARGEST for cell in everything if cell.solver in DENSE)
    # The largest are not built to know who can handle them, but they are what is measured.
    assert max(cell.problem.arguments["count"] for cell in fast) == 1_000_000


def test_quick_tells_solvers_apart_without_waiting_for_dense_methods():
    cells = suite("quick").cells
    assert set(QUICK_HARD) < {cell.problem.name for cell in cells}
    assert all(cell.problem.arguments["count"] <= DENSE_LARGEST for cell in cells if cell.solver in DENSE)


def test_certificates_are_checked_where_a_global_method_can():
    cells = suite("certify-optimum").cells
    assert {cell.solver for cell in cells} == {"frontier", "scip"} & set(solver_names())
    for cell in cells:
        problem = cell.problem.build()
        assert problem.size <= 50 and problem.divergence in ("chi2", "kl")
    assert {cell.problem.dataset for cell in cells} >= {"wdbc", "one-good", "no-errors"}
