"""What others install: the source distribution and the wheel, in an environment that has never seen the checkout."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml
from readme_renderer.markdown import render

import pacb_models

# The first test builds distributions and installs one into an empty environment.
pytestmark = [pytest.mark.outside, pytest.mark.timeout(300)]

ROOT = Path(__file__).resolve().parent.parent
NOT_SOURCE = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", "results", "*.egg-info", "__pycache__", ".*cache", ".hypothesis", "*.log"
)


def run(*command, cwd, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(command, cwd=cwd, env={**clean, **environment}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """``make wheel``, in a copy of the sources: building leaves files behind."""
    folder = tmp_path_factory.mktemp("dist")
    source = folder / "source"
    shutil.copytree(ROOT, source, ignore=NOT_SOURCE, symlinks=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ".", cwd=source)
    return folder


@pytest.fixture(scope="module")
def installed(dist, tmp_path_factory):
    """An environment with the wheel in it, and the dependencies of this one within reach."""
    folder = tmp_path_factory.mktemp("elsewhere")
    run(sys.executable, "-m", "venv", "--without-pip", folder / "env", cwd=folder)
    python = folder / "env" / "bin" / "python"
    [wheel] = dist.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", "--quiet"]
    run(*pip, wheel, cwd=folder)
    # A line in a .pth file puts a folder on the path and leaves the .pth files in it alone, the checkout's among them.
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "env" / "lib" / version / "site-packages"
    (packages / "dependencies.pth").write_text("\n".join(path for path in sys.path if "site-packages" in path))
    shutil.copytree(ROOT / "examples", folder / "examples")
    return python


def test_the_source_distribution_is_a_checkout(dist):
    [archive] = dist.glob("*.tar.gz")
    with tarfile.open(archive) as content:
        names = {name.partition("/")[2] for name in content.getnames()}
    for folder in ("tests", "docs", "examples", "tools", "benchmarks/studies/speed", "benchmarks/problems/risks"):
        assert any(name.startswith(f"{folder}/") for name in names), folder
    for file in ("Makefile", "mkdocs.yml", "README.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE"):
        assert file in names


def test_the_wheel_holds_the_packages_and_nothing_else(dist):
    [wheel] = dist.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"pacb_models"}
    scripts = ("pacb_models/benchmarks/studies/speed", "pacb_models/benchmarks/benchopt")
    assert not [name for name in names if name.startswith(scripts)]


def test_packages_come_from_the_wheel(installed):
    code = "import pacb_models as pm, pacb_models.benchmarks as b, pacb_models.solvers as s; "
    code += "print(*pm.__path__, *b.__path__, *s.__path__)\n"
    code += "from importlib.util import find_spec; print(find_spec('solvers'), find_spec('benchmarks'))"
    home = installed.parent.parent
    *places, beside = run(installed, "-c", code, cwd=home.parent).splitlines()
    assert all(Path(path).is_relative_to(home) for path in " ".join(places).split())
    assert beside == "None None", "nothing is installed beside other packages"


def test_solve(installed):
    folder = installed.parents[2]
    (folder / "risks.csv").write_text("name,risk\na,0.05\nb,0.1\nc,0.2\n")
    solve = (installed.parent / "pacb", "solve", "risks.csv", "--m", "300", "--json")
    solution, fixed_point = (json.loads(run(*solve, *more, cwd=folder)) for more in ((), ("--solver", "fixed-point")))
    assert (solution["status"], solution["solver"], solution["is_global"]) == ("optimal", "frontier", True)
    assert fixed_point["bound"] == pytest.approx(solution["bound"], abs=1e-12)


def test_doctor(installed):
    report = json.loads(run(installed.parent / "pacb", "doctor", "--json", cwd=installed.parents[2]))
    found = {finding["name"]: finding["found"] for finding in report["solvers"]}
    assert found["frontier"] == "available"
    assert {"fixed-point", "subset-search", "cvxpy", "ipopt", "cyipopt", "ccp", "mirror", "slsqp"} <= set(found)


def test_embedded_tables(installed):
    code = (
        "from pacb_models.benchmarks.problems.risks import available, load_risk_table\n"
        "from pacb_models.benchmarks.paper.cells import printed\n"
        "print(len(available()), len(load_risk_table('wdbc')), len(printed('bounds')) > 0)"
    )
    assert run(installed, "-c", code, cwd=installed.parents[2]) == "10 1990 True\n"


#: Ipopt reaches Pyomo's models through a library that set-up builds; a wheel does not bring it. tests/test_examples.py
#: runs that example.
NEEDS_SET_UP = "bound_in_your_own_model.py"
ALL = "import runpy, sys\nfor name in sys.argv[1:]: sys.argv[1:] = []; runpy.run_path(name, run_name='__main__')"


def test_examples(installed):
    """One after the other in one process, which saves their imports."""
    folder = installed.parents[2]
    examples = [path for path in sorted((folder / "examples").glob("*.py")) if path.name != NEEDS_SET_UP]
    assert len(examples) >= 4 and run(installed, "-c", ALL, *examples, cwd=folder)


def test_one_version_everywhere(dist):
    version = pacb_models.__version__
    [wheel] = dist.glob("*.whl")
    assert wheel.name.startswith(f"pacb_models-{version}-")
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == version
    assert f"\n## {version} — " in (ROOT / "CHANGELOG.md").read_text()


def test_the_page_on_the_package_index(dist):
    """What the index would make of it: complete, without a link or a picture that leads nowhere."""
    run(sys.executable, "-m", "twine", "check", "--strict", *dist.glob("*.whl"), *dist.glob("*.tar.gz"), cwd=dist)
    [wheel] = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        [name] = [name for name in content.namelist() if name.endswith(".dist-info/METADATA")]
        description = content.read(name).decode().partition("\n\n")[2]
    page = runpy.run_path(str(ROOT / "tools" / "index_page.py"))["index_page"]((ROOT / "README.md").read_text())
    assert description.strip() == page.strip(), "python tools/index_page.py"
    shown = render(description)
    targets = re.findall(r'(?:href|src)="([^"]*)"', shown)
    assert "<h1" in shown and all(target.startswith(("https://", "#")) for target in targets), targets
