"""The scripts in ``examples/`` run, from any directory, and show what they promise."""

import ast
import json
import re
import runpy
import sys
from pathlib import Path

import pytest

from pacb_models.commands.program import main

pytestmark = pytest.mark.outside

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """What a script prints; in this process, which saves its imports. As a program it is run from the wheel."""

    def printed(name, *arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        out, err = capsys.readouterr()
        assert not err
        return out

    return printed


def test_every_example_is_tested():
    named = set(re.findall(r'run\("(\w+\.py)"', Path(__file__).read_text()))
    assert named == {path.name for path in EXAMPLES.glob("*.py")}


def test_benchmark_your_solver(run):
    lines = run("benchmark_your_solver.py").splitlines()[1:]
    rows = [line.split() for line in lines]
    assert len(rows) == 12
    for distance, solver, optimal, correct, gap, _ in rows:
        assert float(gap) > -1e-7, "no solver can be below the certified minimum"
        if solver == "frontier":
            assert (optimal, correct) == ("9/9", "9/9")
        if solver == "exponentiated-gradient":
            # A descent method that is given 500 steps: it gets there on most problems, and never below.
            assert int(correct.split("/")[0]) >= 5, distance


def test_your_solver_is_taken_by_its_file(tmp_path, capsys):
    (tmp_path / "risks.csv").write_text("0.1\n0.2\n0.3\n")
    solvers = f"{EXAMPLES / 'benchmark_your_solver.py'}:SOLVER,frontier"
    assert main(["check", str(tmp_path / "risks.csv"), "--m", "200", "--solvers", solvers]) == 0
    assert "exponentiated-gradient  optimal" in capsys.readouterr().out


def test_certify_your_classifiers(run):
    printed = run("certify_your_classifiers.py")
    assert "With probability at least 0.95 over the 228 held-out examples" in printed
    bounds = [float(bound) for bound in re.findall(r"held-out error [\d.]+, certified ([\d.]+)", printed)]
    assert len(bounds) == 5 and bounds == sorted(bounds) and bounds[0] < 0.1
    assert f"probability at most {re.search(r'certified ([0-9.]+)', printed)[1]}" in printed


def test_certify_your_own_table(run, tmp_path):
    from sklearn.datasets import load_wine

    load_wine(as_frame=True).frame.to_csv(tmp_path / "wine.csv", index=False)
    printed = run("certify_your_classifiers.py", "wine.csv", "--target", "target")
    assert "over the 71 held-out examples" in printed


@pytest.mark.parametrize("own", [False, True])
def test_compare_divergences(run, tmp_path, own):
    (tmp_path / "risks.csv").write_text("name,risk,prior\na,0.1,0.5\nb,0.2,0.25\nc,0.05,0.25\n")
    printed = run("compare_divergences.py", *(["risks.csv", "--m", 300] if own else []))
    rows = [line for line in printed.splitlines() if re.match(r"(chi2|Rényi|KL)", line)]
    assert len(rows) == 6
    for row in rows:
        bounds = [float(cell) for cell in re.findall(r"([\d.]+) \(", row)]
        assert len(bounds) == 4
        assert bounds == sorted(bounds), "more confidence costs more"
    assert ("3 classifiers on 300 examples" in printed) == own


def test_the_bound_in_your_own_model(run):
    rows = [line.rsplit(maxsplit=2) for line in run("bound_in_your_own_model.py").splitlines()]
    assert len(rows) == 7
    for name, own, other in rows:
        # SCIP's rows hold to 1e-6.
        assert float(own) == pytest.approx(float(other), abs=3e-6), name


def test_one_theorem(run, tmp_path):
    """Few lines prove little, more of them nearly the minimum, and the picture is written."""
    few, many, best = (float(line.split()[-1]) for line in run("one_theorem.py").splitlines())
    assert few < many <= best < many + 2e-3
    assert (tmp_path / "one-theorem.svg").stat().st_size > 10_000


def shown(path, namespace):
    """What a notebook would show: the value of the last expression of each cell, run in turn."""
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, path.name, "exec"), namespace)
        if last is not None:
            yield eval(compile(ast.Expression(last.value), path.name, "eval"), namespace)


def test_the_notebook_leads_from_twenty_classifiers_to_a_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    count, certificate, frame, picture, good, chosen, size, guarantee, monitor = shown(
        EXAMPLES / "twenty_models.ipynb", {"__name__": "__main__"}
    )
    assert count == 20 and len(certificate.names) == 21 and len(frame) == 5
    assert "<table>" in certificate._repr_html_() and picture._repr_png_().startswith(b"\x89PNG")
    assert set(frame.index) <= set(good) and size > 100
    assert "seed 0" in str(chosen) and chosen.m == 204
    assert guarantee.bound > certificate.single_bound and len(guarantee.statements) == 4
    assert monitor.alarm is None and monitor.examples == 86
    html = (tmp_path / "certificate.html").read_text()
    assert "Certificate: breast cancer" in html and "false negative rate" in html and "called malignant" in html


def test_the_notebook_of_the_tutorial_compares_solvers():
    certificate, solution, easy, hard, picture = shown(EXAMPLES / "tutorial.ipynb", {"__name__": "__main__"})
    assert certificate.names[certificate.single] == "boosting" and solution.is_global and easy.agree
    assert not hard.agree and [row.solver for row in hard.rows if row.verdict == "agrees"] == ["frontier"]
    assert len(picture.minima) == 3 and {end.place for end in picture.ends} == {"the minimum", "local minimum 3 of 3"}
