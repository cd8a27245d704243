"""The examination on this machine, and on environments made broken on purpose."""

import json
import os
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from pacb_models.benchmarks.commands import doctor
from pacb_models.solving import registry

from ..installed import install

pytestmark = pytest.mark.outside

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def report():
    return doctor.examine()


def by_name(findings):
    return {finding.name: finding for finding in findings}


def examine_in(python, section, **environment):
    """A section of the report of another interpreter or environment, which sees the packages of this one."""
    layout = [sys.executable, str(ROOT / "tools" / "namespace.py")]
    namespace = subprocess.run(layout, capture_output=True, text=True, check=True).stdout.strip()
    paths = [environment.pop("PYTHONPATH", ""), namespace, *sys.path]
    code = "import json; from pacb_models.benchmarks.commands import doctor as d; "
    code += f"print(json.dumps([*map(d.asdict, d._{section}())]))"
    done = subprocess.run(
        [python, "-c", code],
        cwd=namespace,
        env={"PATH": "/usr/bin:/bin", **environment, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return by_name(doctor.Checked(**line) for line in json.loads(done.stdout.splitlines()[-1]))


def test_every_registered_solver_is_reported(report):
    findings = by_name(report["solvers"])
    assert list(findings) == registry.solver_names()
    for name, reason in registry.available_solvers().items():
        assert (findings[name].found is not None) == reason.available
        assert str(reason) in findings[name].note


def test_versions_are_those_installed(report):
    findings = by_name(report["packages"])
    for name in ("numpy", "scipy", "pyomo", "cvxpy", "clarabel", "scs", "scikit-learn"):
        assert findings[name].found == metadata.version(name)
        assert not findings[name].remedy
    assert "pytest" not in findings  # a developers' tool
    assert len(findings) == len(report["packages"])  # casadi is in two extras


def test_ipopt_is_recent_and_solves_a_pyomo_model(report):
    findings = by_name(report["ipopt"])
    if findings["Ipopt through cyipopt"].found is None:
        pytest.skip(f"no Ipopt here: {findings['Ipopt through cyipopt']['remedy']}")
    assert tuple(map(int, findings["Ipopt through cyipopt"].found.split("."))) >= (3, 14)
    assert findings["a Pyomo model solved"].found.startswith("yes"), findings["a Pyomo model solved"].note


def test_report_prints_every_finding(report, capsys):
    doctor.print_report(report)
    printed = capsys.readouterr().out
    for title, findings in report.items():
        assert f"{title}\n" in printed
        assert all(f"  {finding.name} " in printed for finding in findings)


def test_missing_and_old_packages_come_with_a_command(capsys):
    missing = doctor._package(Requirement("no-such-package[part]>=2; extra == 'some'"))
    assert (missing.found, missing.remedy) == (None, "pip install 'no-such-package[part]>=2'")
    old = doctor._package(Requirement("numpy>=999"))
    assert (old.found, old.note) == (metadata.version("numpy"), ">=999 is needed")
    doctor.print_report({"packages": [missing, old]})
    first, second = capsys.readouterr().out.splitlines()[1:3]
    assert first.split() == ["no-such-package", "MISSING", "->", "pip", "install", "'no-such-package[part]>=2'"]
    assert second.endswith("(>=999 is needed)  -> pip install 'numpy>=999'")


def test_without_the_asl_library_no_model_is_solved_and_the_command_is_given(tmp_path):
    # Pyomo itself would say that its cyipopt solver is available here.
    venv.create(tmp_path / "empty", with_pip=False)
    findings = examine_in(tmp_path / "empty" / "bin" / "python", "ipopt")
    assert findings["PyNumero ASL library"].found is None
    assert findings["a Pyomo model solved"].found is None
    assert "libpynumero_ASL" in findings["a Pyomo model solved"].note
    assert "make setup" in findings["a Pyomo model solved"].remedy


def test_a_solver_that_cannot_be_loaded_does_not_hide_the_others(tmp_path):
    entries, raising = (
        "[pacb_models.solvers]\nbroken = broken:SOLVER\n",
        "raise OSError('libbroken.so: no such file')\n",
    )
    install(tmp_path, entries, broken=raising)
    findings = examine_in(sys.executable, "solvers", PYTHONPATH=str(tmp_path))
    assert findings["broken"].found is None
    assert "OSError: libbroken.so: no such file" in findings["broken"].note
    assert set(registry.solver_names()) < set(findings)


def test_a_probe_that_crashes_is_a_finding():
    found, complaint = doctor._probe("import os; os.abort()")
    assert found is None
    assert "signal 6" in complaint


@pytest.mark.parametrize("kind", ["unset", "missing", "partial"])
def test_data_directory(kind, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    if kind == "unset":
        monkeypatch.delenv("PACB_DATA", raising=False)
    else:
        monkeypatch.setenv("PACB_DATA", str(tmp_path / "data"))
    if kind == "partial":
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "bupa.csv").touch()
    directory, files = doctor._data()
    expected = {"unset": "not set", "missing": None, "partial": str(tmp_path / "data")}
    assert directory.found == expected[kind]
    assert bool(directory.remedy) == (kind == "missing")
    assert files.found.startswith("1 of 9" if kind == "partial" else "0 of 9")
    assert ("bupa.csv" in files.note) == (kind != "partial")
    assert "spambase.csv" in files.note


def test_real_data_directory_is_complete(data_dir, monkeypatch):
    monkeypatch.setenv("PACB_DATA", str(data_dir))
    _, files = doctor._data()
    assert files.found == f"9 of 9 in {data_dir}"
