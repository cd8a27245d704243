"""The installation: what is declared is what is imported, packaged and installed, and set-up says what it cannot do."""

import ast
import configparser
import inspect
import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import pacb_models
import pacb_models as pm

pytestmark = pytest.mark.outside

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("pacb_models", "solvers", "benchmarks")
#: Scripts that are run from a checkout and are no part of the wheel.
CHECKOUT_ONLY = ("benchmarks/studies/speed", "benchmarks/benchopt")
#: Names that conda-forge gives otherwise than PyPI.
CONDA_NAMES = {"build": ["python-build"], "dask": ["dask", "distributed"]}
#: What pip users get by other means: Python itself, and the compiled parts that set-up builds.
ONLY_CONDA = {"python", "pip", "ipopt", "pynumero-libraries", "cmarkgfm"}


@pytest.fixture(scope="module")
def setup_cfg():
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


@pytest.fixture(scope="module")
def declared(setup_cfg):
    """Extra ("" for the core) -> requirements."""
    groups = {"": setup_cfg["options"]["install_requires"], **setup_cfg["options.extras_require"]}
    return {extra: [Requirement(line) for line in text.split("\n") if line] for extra, text in groups.items()}


def test_environment_yml_and_setup_cfg_list_the_same(declared, setup_cfg):
    dependencies = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    *lines, from_pypi = dependencies
    # Conda writes this part into a file for pip, which takes no other option in a line of it.
    assert from_pypi["pip"].count("-e .") == 1
    lines += [line for line in from_pypi["pip"] if line != "-e ."]
    written = [Requirement(line.replace("pynumero_libraries", "pynumero-libraries")) for line in lines]
    conda = {canonicalize_name(each.name): str(each.specifier) for each in written}
    assert len(conda) == len(lines), "a name is listed twice"
    every = [requirement for group in declared.values() for requirement in group]
    pip = {canonicalize_name(name): str(r.specifier) for r in every for name in CONDA_NAMES.get(r.name, [r.name])}
    assert {name: bound for name, bound in conda.items() if name not in ONLY_CONDA} == pip
    assert conda["python"] == setup_cfg["options"]["python_requires"]


def test_every_requirement_has_a_lower_bound_and_a_reason(declared, setup_cfg):
    lines = (ROOT / "setup.cfg").read_text(encoding="utf-8").splitlines()
    for requirement in (each for group in declared.values() for each in group):
        assert [s.operator for s in requirement.specifier] == [">="]
        position = next(n for n, line in enumerate(lines) if line.strip() == str(requirement))
        assert lines[position - 1].lstrip().startswith("#"), f"setup.cfg gives no reason for {requirement}"


def test_installed_metadata_is_that_of_setup_cfg(declared, setup_cfg):
    """A stale environment would test other entry points than the ones declared."""
    installed = metadata.distribution("pacb-models")
    assert installed.version == pacb_models.__version__, "run make setup"
    for group, text in setup_cfg["options.entry_points"].items():
        expected = dict(map(str.strip, line.split("=", 1)) for line in text.split("\n") if line)
        found = {entry.name: entry.value for entry in installed.entry_points if entry.group == group}
        assert found == expected, f"{group}: run make setup"
    names = {canonicalize_name(Requirement(line).name) for line in installed.requires}
    assert names == {canonicalize_name(r.name) for group in declared.values() for r in group}, "run make setup"


OWN = metadata.distribution("pacb-models").entry_points


@pytest.mark.parametrize("entry", OWN, ids=lambda entry: f"{entry.group}:{entry.name}")
def test_declared_entry_points_can_be_loaded(entry):
    target = entry.load()
    if entry.group == "pacb_models.solvers":
        assert target.name == entry.name


def in_namespace(path):
    """A file's path inside the one import namespace: solvers/options.py is pacb_models/solvers/options.py."""
    return path if path.parts[0] == "pacb_models" else Path("pacb_models") / path


def sources(*folders):
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def imported_names(path):
    """Top-level names that a file imports, anywhere in it; relative imports are its own package."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.partition(".")[0]


def names_of(declared, *extras):
    """Canonical names that the extras require; dask[distributed] stands for both."""
    return {canonicalize_name(name) for extra in extras for r in declared[extra] for name in (r.name, *r.extras)}


@pytest.mark.parametrize("folder", [*PACKAGES, "tests", "docs"])
def test_every_third_party_import_is_declared(declared, folder):
    developers_only = {"dev", "docs"} if folder in ("pacb_models", "solvers") else set()
    allowed = names_of(declared, *(extra for extra in declared if extra not in developers_only))
    distributions = metadata.packages_distributions()
    # The checkers of proofs run alone, too, and then import each other by name.
    alone = [*(ROOT / "tools").glob("*.py"), *(ROOT / "pacb_models" / "proofs").glob("*.py")]
    own = {*PACKAGES, "tests", "conftest", *sys.stdlib_module_names} | {path.stem for path in alone}
    for path in sources(folder):
        for name in set(imported_names(path)) - own:
            found = set(map(canonicalize_name, distributions.get(name, [name])))
            assert allowed & found, f"{path.relative_to(ROOT)} imports {name}"


def imported_modules(path):
    """Full names of the modules of ours that a file imports, relative imports resolved in the one namespace."""
    package = in_namespace(path.relative_to(ROOT)).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, (base, node.module)))
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and re.fullmatch(r"pacb_models(\.\w+){2,}", str(node.value)):
            # A name for import_module, or of a process to start.
            yield node.value


@pytest.mark.parametrize("folder, forbidden", [("pacb_models", ["solvers", "benchmarks"]), ("solvers", ["benchmarks"])])
def test_imports_point_one_way(folder, forbidden):
    """benchmarks → solvers → pacb_models; the models find solvers through the registry only."""
    wrong = tuple(f"pacb_models.{name}." for name in forbidden)
    for path in sources(folder):
        for name in imported_modules(path):
            assert not f"{name}.".startswith(wrong), f"{path.relative_to(ROOT)} imports {name}"


#: The rooms of the core from the ground up: what a module imports when it is imported stands in its own or below.
FLOORS = [
    "errors wording html names files immutable validation plugins processes terminal environment numerics algebra",
    "distances divergences",
    "constants",
    "constraints",
    "merging optimality problem_file risk_file",
    "problem tandem",
    "direct proofs",
    "solution",
    "solver",
    "solving",
    "models certificates",
    "plots estimators cluster",
    "commands",
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms.split()}


def test_nothing_in_the_core_imports_upward():
    for path in sources("pacb_models"):
        module = path.relative_to(ROOT / "pacb_models").with_suffix("")
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if module.parts[0].startswith("__") or not isinstance(node, ast.ImportFrom) or not node.level:
                continue
            names = [node.module] if node.module else [alias.name for alias in node.names]
            above = module.parents[node.level - 1]
            for room in {(above / name.replace(".", "/")).parts[0] for name in names} - {"__version__"}:
                assert FLOOR[room] <= FLOOR[module.parts[0]], f"{module} imports {room}"


def test_no_public_name_brings_solvers_or_benchmarks():
    """Also what is imported only when a name is first used points one way; one public name is a solver."""
    names = [name for name in pm.__all__ if name != "minimise_certified"]
    code = f"import sys, pacb_models as pm; [getattr(pm, name) for name in {names!r}]; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pacb_models.certificates" in done.stdout.split()
    assert not [name for name in done.stdout.split() if name.startswith(("pacb_models.solvers", "pacb_models.bench"))]


ELSEWHERE = """
import importlib, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "resource", "termios", "pwd", "grp"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
for name in ("fcntl", "resource"):
    sys.modules.pop(name, None)
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


def test_modules_can_be_imported_on_other_systems():
    """Windows has no fcntl and no resource; what needs Linux says so when it is used."""
    # joblib and what builds on it import such modules themselves where they are there.
    core = ("", ".commands.program", ".solving.registry", ".certificates", ".benchmarks.commands.doctor")
    ours = [f"pacb_models{name}" for name in core]
    for path in sources("solvers", "benchmarks"):
        relative = path.relative_to(ROOT)
        if not any(map(relative.is_relative_to, CHECKOUT_ONLY)) and path.name != "__main__.py":
            ours.append(".".join(in_namespace(relative).with_suffix("").parts).removesuffix(".__init__"))
    done = subprocess.run([sys.executable, "-c", ELSEWHERE, *ours], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]


def test_set_up_scripts_need_only_the_standard_library():
    own = {path.stem for path in (ROOT / "tools").glob("*.py")}
    for path in sources("tools"):
        # Run by developers, once everything is installed.
        if path.name in ("mutants.py", "solver_table.py", "freeze_hard.py"):
            continue
        assert set(imported_names(path)) <= own | set(sys.stdlib_module_names), path


def test_every_file_of_the_packages_gets_into_the_wheel(setup_cfg):
    """A folder without __init__.py, or a data file that no pattern names, would be missing for everyone but us."""
    tracked = subprocess.run(["git", "ls-files", *PACKAGES], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode:
        pytest.skip("not a git checkout")
    packages = setup_cfg["options"]["packages"].split()
    data = setup_cfg["options.package_data"].items()
    patterns = [f"{name.replace('.', '/')}/{pattern}" for name, text in data for pattern in text.split()]
    for path in map(Path, tracked.stdout.split()):
        if path.suffix == ".py":
            packaged = ".".join(in_namespace(path).parent.parts) in packages
        else:
            packaged = path.suffix == ".md" or any(map(in_namespace(path).match, patterns))
        assert packaged or any(map(path.is_relative_to, CHECKOUT_ONLY)), path


def test_every_embedded_table_has_its_source():
    """Where a table comes from and under which licence is what a distribution asks first."""
    page = (ROOT / "benchmarks" / "problems" / "risks" / "SOURCES.md").read_text(encoding="utf-8")
    tables = {path.name.removesuffix("-arithmetic-geometric.csv") for path in (ROOT / "benchmarks").rglob("*.csv")}
    assert not [name for name in tables if not re.search(rf"[`/]{re.escape(name.removesuffix('.csv'))}(\.csv)?`", page)]


def run(*command, **environment):
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def test_make_help_lists_every_target():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.search(r"^\.PHONY: (.*)$", makefile, re.M)[1].split())
    printed = run("make", "help", PATH=os.environ["PATH"]).stdout
    assert {line.split()[0] for line in printed.splitlines()} == targets


@pytest.mark.parametrize("python", ["/bin/false", "/no/such/python"])
def test_an_unusable_python_is_named(python):
    done = run("sh", "tools/setup.sh", "run", PATH=os.environ["PATH"], PYTHON=python)
    assert done.returncode == 1
    assert done.stderr == f"set-up: PYTHON={python} is not a working Python 3.11 or newer.\n"


def test_no_python_at_all_is_one_line_with_the_command(tmp_path):
    done = run(shutil.which("sh"), "tools/setup.sh", "run", PATH=str(tmp_path))
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "apt-get install python3" in done.stderr


def test_ci_runs_make_test():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().splitlines()[-1] == "make test"


# --- types -----------------------------------------------------------------------------------------------------------

IGNORED = "# type: " + "ignore"


def test_exceptions_are_few_and_say_why():
    """One rule each, a comment beside or above; how many there are stands on the page about testing."""
    excepted = []
    for path in sources(*PACKAGES):
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            if IGNORED in line:
                above = "\n".join(lines[max(number - 2, 0) : number])
                assert re.search(rf"{IGNORED}\[[a-z-]+\]$", line) and "# " in above, f"{path.name}:{number + 1}"
                excepted.append(path)
    page = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    assert f"`{IGNORED}` stands in {len(excepted)} places" in page


def annotations(thing):
    """(name, annotation) of a function, or of the public parts of a class and of those of ours above it."""
    if inspect.isfunction(thing):
        yield from ((f"{thing.__qualname__}({name})", text) for name, text in inspect.get_annotations(thing).items())
    if inspect.isclass(thing):
        for owner in thing.__mro__:
            if owner.__module__.startswith("pacb_models"):
                yield from ((f"{owner.__name__}.{name}", text) for name, text in inspect.get_annotations(owner).items())
                for name, member in vars(owner).items():
                    if not name.startswith("_") or name == "__init__":
                        inner = (getattr(member, part, None) for part in ("__func__", "fget", "func"))
                        yield from annotations(next(filter(inspect.isfunction, inner), member))


@pytest.mark.parametrize("name", pm.__all__)
def test_public_functions_and_arrays_say_what_they_return_and_hold(name):
    """Any as a return type switches a user's type checker off; a bare np.ndarray, or an object, tells it nothing."""
    written = [(part, str(text)) for part, text in annotations(getattr(pm, name))]
    anything = re.compile(r"(^|\| )(typing\.)?Any\b")
    assert not [part for part, text in written if part.endswith("(return)") and anything.search(text)]
    # Evaluated, an array of a kind has its kind in brackets; "object at" is the mark of keywords.
    assert not [part for part, text in written if re.search(r"\bobject\b(?! at)|ndarray(?!\[)", text)]
