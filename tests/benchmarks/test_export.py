"""Exported problems: read back by readers, and solved by solvers, that never saw this package."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sysconfig
import tarfile
from pathlib import Path

import numpy as np
import pytest

import pacb_models as pm
from pacb_models import native
from pacb_models.benchmarks.export import archive, export
from pacb_models.benchmarks.families import instance, instances
from pacb_models.benchmarks.problems import Problem, table_problem
from pacb_models.cli import main


def smallest(kind: str) -> Problem:
    """The smallest tuned two-minima instance of a kind, for example "chi2-squared"."""
    found = [frozen for frozen in instances() if frozen.family == "one-good" and frozen.name.endswith(kind)]
    return min(found, key=lambda frozen: frozen.size).problem


@pytest.fixture(scope="module")
def two_minima(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with a χ²-squared problem of two minima, in all formats."""
    folder = tmp_path_factory.mktemp("models")
    export(smallest("chi2-squared"), folder)
    return folder / smallest("chi2-squared").name


def record(stem: Path) -> dict:
    return json.loads(Path(f"{stem}.json").read_text())


def test_data_and_optimum_stand_beside_the_model(two_minima):
    data = record(two_minima)
    problem = smallest("chi2-squared").build()
    assert (data["risks"], data["prior"]) == (problem.risks.tolist(), problem.prior.tolist())
    again = pm.BoundProblem(
        data["risks"],
        m=data["m"],
        delta=data["delta"],
        distance=data["distance"],
        divergence=data["divergence"],
        prior=data["prior"],
        constant=data["constant"],
    )
    assert again.coefficient == data["coefficient"] and again.log_constant == data["log_constant_value"]
    assert again.bound(data["posterior"]) == pytest.approx(data["optimum"], abs=1e-15)
    frozen = instance(data["name"])
    assert [minimum["bound"] for minimum in data["local_minima"]] == pytest.approx(
        [frozen.optimum, frozen.second_minimum], abs=1e-12
    )
    assert data["lower_bound"] is None or data["lower_bound"] <= data["optimum"]


def test_scip_reads_the_nl_file_and_proves_the_optimum(two_minima):
    pyscipopt = pytest.importorskip("pyscipopt", reason="pip install pyscipopt")
    data = record(two_minima)
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(f"{two_minima}.nl")
    names = {variable.name for variable in model.getVars()}
    assert {"q[0]", f"q[{data['H'] - 1}]", "L", "X"} <= names
    model.optimize()
    assert model.getStatus() == "optimal"
    # SCIP's points are feasible to 1e-6: its objective may lie that much below the minimum.
    assert model.getObjVal() == pytest.approx(data["optimum"], abs=1e-6)
    assert model.getDualbound() <= data["optimum"] + 1e-9
    weights = np.array([model.getVal(v) for v in sorted(model.getVars(), key=_index) if v.name.startswith("q[")])
    assert smallest("chi2-squared").build().bound(weights / weights.sum()) == pytest.approx(data["optimum"], abs=1e-5)


def _index(variable) -> int:
    number = re.fullmatch(r"q\[(\d+)\]", variable.name)
    return int(number[1]) if number else -1


def test_asl_reads_start_and_derivatives(two_minima):
    """The ASL library evaluates the model at its start: the prior, with the bound of the prior."""
    if native.find_asl_library() is None:
        pytest.skip(f"no {native.ASL_LIBRARY}: make setup")
    native.use_environment_folders()
    from pyomo.contrib.pynumero.interfaces.ampl_nlp import AslNLP

    with native.float_environment_kept():
        nlp = AslNLP(f"{two_minima}.nl")
    columns = Path(f"{two_minima}.col").read_text().split()
    problem = smallest("chi2-squared").build()
    start = dict(zip(columns, nlp.get_primals()))
    assert [start[f"q[{i}]"] for i in range(problem.size)] == problem.prior.tolist()
    assert nlp.evaluate_objective() == pytest.approx(problem.bound(problem.prior), abs=1e-12)
    assert np.abs(nlp.evaluate_eq_constraints()).max() < 1e-12


@pytest.mark.parametrize("kind", ["chi2-kl", "kl-kl"])
def test_an_ipopt_program_solves_the_nl_file(kind, tmp_path):
    pounce = shutil.which("pounce", path=sysconfig.get_path("scripts")) or pytest.skip("pip install pounce-solver")
    recipe = smallest(kind)
    export(recipe, tmp_path, ["nl"])
    stem = tmp_path / recipe.name
    done = subprocess.run([pounce, f"{stem}.nl", f"{stem}.sol"], capture_output=True, text=True, timeout=120)
    assert Path(f"{stem}.sol").exists(), done.stdout + done.stderr
    weights = _weights(Path(f"{stem}.sol"), Path(f"{stem}.col").read_text().split())
    data = record(stem)
    minima = [minimum["bound"] for minimum in data["local_minima"]]
    # A local method ends in one of the minima that the file lists.
    bound = recipe.build().bound(weights / weights.sum())
    assert min(abs(bound - minimum) for minimum in minima) < 1e-6


def _weights(solution: Path, columns: list[str]) -> np.ndarray:
    """The posterior in AMPL's solution file: the last numbers of it, before "objno", are the variables."""
    lines = solution.read_text().split("objno")[0].splitlines()
    values = [float(line) for line in lines[-len(columns) :]]
    found = {name: value for name, value in zip(columns, values, strict=True)}
    return np.maximum([found[f"q[{i}]"] for i in range(sum(name.startswith("q[") for name in columns))], 0.0)


def test_gams_and_baron_files_have_names_and_start(two_minima):
    first = float(smallest("chi2-squared").build().prior[0])
    gams, baron = Path(f"{two_minima}.gms").read_text(), Path(f"{two_minima}.bar").read_text()
    assert f"q_0_.l = {first!r}" in gams and "minimizing" in gams
    assert f"q_0_: {first!r};" in baron and "OBJ: minimize" in baron
    assert "scaling_factor" not in baron


def test_large_problems_are_data_only(tmp_path):
    written = export(table_problem("wdbc", 50, "kl"), tmp_path, largest=49)
    assert [path.name for path in written] == ["wdbc-H50-kl-exact.json"]
    assert record(tmp_path / "wdbc-H50-kl-exact")["models"] == []


def test_an_archive_is_the_same_bytes_each_time(tmp_path):
    for folder in ("one", "two"):
        written = export(table_problem("wdbc", 50, "linear"), tmp_path / folder, ["nl"])
        archive(tmp_path / folder, written, tmp_path / folder / "set.tar.xz")
    first, second = ((tmp_path / folder / "set.tar.xz").read_bytes() for folder in ("one", "two"))
    assert first == second
    with tarfile.open(tmp_path / "one" / "set.tar.xz") as packed:
        assert "set/wdbc-H50-linear-exact.nl" in packed.getnames()


def test_the_command_writes_risk_files_and_named_problems(tmp_path, capsys):
    risks = tmp_path / "mine.csv"
    risks.write_text("0.1\n0.2\n0.3\n")
    out = tmp_path / "models"
    assert main(["export", str(risks), "wdbc-H50-kl-exact", "--m", "100", "--format", "gms", "--out", str(out)]) == 0
    assert sorted(path.name for path in out.iterdir()) == [
        "mine-chi2-kl.gms",
        "mine-chi2-kl.json",
        "wdbc-H50-kl-exact.gms",
        "wdbc-H50-kl-exact.json",
    ]
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nothing-of-that-name"], "'nothing-of-that-name' is neither a suite"),
        (["risks.csv"], "a risk file needs --m"),
    ],
)
def test_what_cannot_be_exported_is_named(arguments, complaint, tmp_path, capsys):
    assert main(["export", *arguments, "--out", str(tmp_path)]) == 2
    assert complaint in capsys.readouterr().err


def test_risk_files_of_one_name_are_not_written_over_each_other(tmp_path, capsys):
    for folder, risks in (("a", "0.1\n0.2\n"), ("b", "0.3\n0.4\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.csv").write_text(risks)
    out = tmp_path / "out"
    files = [str(tmp_path / folder / "x.csv") for folder in "ab"]
    assert main(["export", *files, "--m", "50", "--out", str(out)]) == 2
    assert "would both be written as 'x-chi2-kl'" in capsys.readouterr().err
    assert main(["export", files[0], "--m", "50", "--out", str(out), "--archive", files[0]]) == 2
    assert "--archive is" in capsys.readouterr().err
    assert not out.exists() and Path(files[0]).read_text() == "0.1\n0.2\n"
    # The same file twice is the same problem.
    assert main(["export", files[0], files[0], "--m", "50", "--format", "nl", "--out", str(out)]) == 0


def test_no_name_is_not_every_name(tmp_path, capsys):
    assert main(["export", "", "--out", str(tmp_path / "out")]) == 2
    assert "no problem's name" in capsys.readouterr().err
