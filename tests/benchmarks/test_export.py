"""Exported problems: read back by readers, and solved by solvers, that never saw this package."""

import json
import math
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from itertools import product
from pathlib import Path

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy.special import rel_entr

import pacb_models as pm
from pacb_models.benchmarks.harness.suites import problems_named
from pacb_models.benchmarks.problems.export import archive, export
from pacb_models.benchmarks.problems.families import instance
from pacb_models.benchmarks.problems.model_files import DEFAULT, add_floors, mixture
from pacb_models.benchmarks.problems.problem import Problem, table_problem
from pacb_models.benchmarks.problems.solution_files import read_solution
from pacb_models.commands.program import main
from pacb_models.errors import UnsupportedProblemError
from pacb_models.models.pyomo_models import set_start
from pacb_models.solvers.nonlinear import native

from ..solvers.constrained import best_of_supports
from .exported import BOX, ROWS, constrained_problem, smallest

pytestmark = pytest.mark.long


def record(stem: Path) -> dict:
    return json.loads(Path(f"{stem}.json").read_text())


def exported(kind: str | Problem, folder: Path, *formats: str, **options: object) -> tuple[pm.BoundProblem, Path, dict]:
    """A problem, how its files begin, and what its JSON says; "wdbc-kl" is of the embedded table, "chi2-kl" is hard."""
    recipe = kind
    if isinstance(kind, str):
        recipe = table_problem("wdbc", 50, kind.removeprefix("wdbc-")) if kind.startswith("wdbc") else smallest(kind)
    export(recipe, folder, formats, **options)
    return recipe.build(), folder / recipe.name, record(folder / recipe.name)


@pytest.fixture(scope="module")
def two_minima(tmp_path_factory: pytest.TempPathFactory) -> tuple[pm.BoundProblem, Path, dict]:
    """A χ²-squared problem of two minima, in the usual formats."""
    return exported("chi2-squared", tmp_path_factory.mktemp("models"), *DEFAULT)


def found_by(model) -> dict[str, float]:
    """The values of the variables in SCIP's best solution."""
    return {variable.name: model.getVal(variable) for variable in model.getVars()}


def scip_of(path: Path | str):
    """A file as SCIP reads it, and solves it."""
    model = pytest.importorskip("pyscipopt", reason="pip install pyscipopt").Model()
    model.hideOutput()
    model.readProblem(str(path))
    model.optimize()
    return model


def highs_of(path: Path | str):
    """A file as HiGHS reads it, and solves it."""
    highspy = pytest.importorskip("highspy", reason="pip install highspy")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return highs


def clarabel_of(path: Path | str):
    """A file as Clarabel reads it, and its solution."""
    solver = pytest.importorskip("clarabel", reason="pip install clarabel").load_from_file(str(path))
    solver.print_to_buffer()
    found = solver.solve()
    assert str(found.status) == "Solved"
    return found


def normalised(values: object, size: int) -> np.ndarray:
    """The weights among values by name, or the first of a list, as a posterior."""
    weights = [values[f"q[{i}]"] for i in range(size)] if isinstance(values, dict) else values[:size]
    return np.array(weights) / np.sum(weights)


def test_data_and_optimum_stand_beside_the_model(two_minima):
    problem, stem, data = two_minima
    assert (data["risks"], data["prior"]) == (problem.risks.tolist(), problem.prior.tolist())
    again = pm.BoundProblem.from_json(Path(f"{stem}.json").read_text())
    assert again.coefficient == data["coefficient"] and again.log_constant == data["log_constant_value"]
    assert again.bound(data["posterior"]) == pytest.approx(data["optimum"], abs=1e-15)
    frozen = instance(data["name"])
    minima = [minimum["bound"] for minimum in data["local_minima"]]
    assert minima == pytest.approx([frozen.optimum, frozen.second_minimum], abs=1e-12)
    assert data["lower_bound"] is None or data["lower_bound"] <= data["optimum"]


def test_scip_reads_the_nl_file_and_proves_the_optimum(two_minima):
    problem, stem, data = two_minima
    model = scip_of(f"{stem}.nl")
    assert model.getStatus() == "optimal"
    # SCIP's points are feasible to 1e-6: its objective may lie that much below the minimum.
    assert model.getObjVal() == pytest.approx(data["optimum"], abs=1e-6)
    assert model.getDualbound() <= data["optimum"] + 1e-9
    values = found_by(model)
    assert {"q[0]", f"q[{data['H'] - 1}]", "L", "X"} <= values.keys()
    assert problem.bound(normalised(values, problem.size)) == pytest.approx(data["optimum"], abs=1e-5)


def test_asl_reads_start_and_derivatives(two_minima):
    """The ASL library evaluates the model at its start: the prior, with the bound of the prior."""
    if native.find_asl_library() is None:
        pytest.skip(f"no {native.ASL_LIBRARY}: make setup")
    native.use_environment_folders()
    from pyomo.contrib.pynumero.interfaces.ampl_nlp import AslNLP

    problem, stem, _ = two_minima
    with native.float_environment_restored():
        nlp = AslNLP(f"{stem}.nl")
    start = dict(zip(Path(f"{stem}.col").read_text().split(), nlp.get_primals()))
    assert [start[f"q[{i}]"] for i in range(problem.size)] == problem.prior.tolist()
    assert nlp.evaluate_objective() == pytest.approx(problem.bound(problem.prior), abs=1e-12)
    assert np.abs(nlp.evaluate_eq_constraints()).max() < 1e-12


@pytest.mark.parametrize("kind", ["chi2-kl", "kl-kl", "wdbc-kl", "wdbc-linear"])
def test_casadi_reads_the_nl_file_and_ends_in_a_minimum(kind, tmp_path):
    """CasADi's reader takes neither comments nor suffixes. It begins at the prior; Ipopt ends in a listed minimum."""
    casadi = pytest.importorskip("casadi", reason="pip install casadi")
    problem, stem, data = exported(kind, tmp_path, "nl", suffixes=False)
    builder = casadi.NlpBuilder()
    builder.import_nl(f"{stem}.nl")
    start = dict(zip(Path(f"{stem}.col").read_text().split(), builder.x_init, strict=True))
    assert [start[f"q[{i}]"] for i in range(problem.size)] == problem.prior.tolist()
    assert len(Path(f"{stem}.row").read_text().split()) == len(builder.g) + 1  # and the objective
    program = {"x": casadi.vcat(builder.x), "f": builder.f, "g": casadi.vcat(builder.g)}
    objective = casadi.Function("objective", [program["x"]], [program["f"]])
    assert float(objective(builder.x_init)) == pytest.approx(problem.bound(problem.prior), abs=1e-12)
    silent = {"ipopt": {"print_level": 0, "bound_relax_factor": 0.0, "bound_push": 1e-8}, "print_time": False}
    limits = {"lbx": builder.x_lb, "ubx": builder.x_ub, "lbg": builder.g_lb, "ubg": builder.g_ub}
    found = casadi.nlpsol("solver", "ipopt", program, silent)(x0=builder.x_init, **limits)
    minima = [minimum["bound"] for minimum in data["local_minima"]]
    assert len(minima) == (1 if kind.startswith("wdbc") else 2)
    assert min(abs(float(found["f"]) - minimum) for minimum in minima) < 1e-7


# --- .lp, .mps and Clarabel's file ------------------------------------------------------------------------------------


@pytest.mark.parametrize("extension", ["lp", "mps"])
@pytest.mark.parametrize("distance", ["linear", "squared"])
def test_scip_reads_quadratic_rows_and_proves_the_optimum(distance, extension, tmp_path):
    """The linear distance is a second-order cone program; the squared one is not convex, and quadratic all the same."""
    problem, stem, data = exported(f"wdbc-{distance}", tmp_path, extension)
    model = scip_of(f"{stem}.{extension}")
    assert model.getStatus() == "optimal" and model.getDualbound() <= data["optimum"]
    # SCIP's points are feasible to 1e-6.
    assert model.getObjVal() == pytest.approx(data["optimum"], abs=1e-6)
    model.writeBestSol(f"{stem}.sol", write_zeros=False)
    found = read_solution(f"{stem}.sol", 50)
    assert found.objective == pytest.approx(model.getObjVal(), abs=1e-12) and {"L", "t"} <= found.variables.keys()
    assert problem.bound(normalised(found.weights, 50)) == pytest.approx(data["optimum"], abs=1e-6)


@pytest.mark.parametrize("extension", ["lp", "mps"])
@pytest.mark.parametrize("kind", ["chi2-kl", "chi2-squared", "wdbc-linear"])
def test_highs_reads_the_program_that_touches_the_bound(kind, extension, tmp_path):
    """HiGHS has no quadratic rows, and an objective may be quadratic: its minimum is ours, also where ours is hard."""
    problem, stem, data = exported(kind, tmp_path, extension, formulation="touching")
    assert data["models"] == {extension: "touching"}
    highs = highs_of(f"{stem}.{extension}")
    assert highs.getInfo().objective_function_value == pytest.approx(data["optimum"], abs=1e-9)
    highs.writeSolution(f"{stem}.sol", 0)
    found = read_solution(f"{stem}.sol", problem.size)
    assert found.weights == pytest.approx(np.array(data["posterior"]), abs=1e-6)
    assert problem.bound(normalised(found.weights, problem.size)) == pytest.approx(data["optimum"], abs=1e-9)


@pytest.mark.parametrize(("divergence", "order"), [("chi2", 2.0), ("kl", 2.0), ("renyi", 3.0)])
def test_clarabel_reads_cones(divergence, order, tmp_path):
    risks, prior = np.linspace(0.1, 0.4, 12), np.arange(1.0, 13.0) / 78.0
    bound = {"m": 150, "distance": "linear", "divergence": divergence, "order": order, "prior": prior}
    recipe = Problem("cones", "mine", pm.BoundProblem, {"risks": risks, **bound})
    problem, stem, data = exported(recipe, tmp_path, "clarabel")
    path = Path(f"{stem}.clarabel.json")
    found, offset = clarabel_of(path), json.loads(path.read_text())["offset"]
    assert found.obj_val + offset == pytest.approx(data["optimum"], abs=1e-7)
    assert problem.bound(normalised(found.x, 12)) == pytest.approx(data["optimum"], abs=1e-7)


# --- Constraints ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extension", ["nl", "lp", "mps"])
@pytest.mark.parametrize("constraints", [ROWS, (BOX,), (*ROWS, BOX)])
def test_scip_reads_constraints_and_proves_the_optimum_under_them(constraints, extension, tmp_path):
    problem, stem, data = exported(constrained_problem(*constraints), tmp_path, extension)
    assert data["schema"] == 3 and pm.BoundProblem.from_json(json.dumps(data)).to_json() == problem.to_json()
    model = scip_of(f"{stem}.{extension}")
    names = " ".join(each.name for each in model.getConss())
    assert ("latency" in names and "memory" in names) == (ROWS[0] in constraints)
    assert model.getObjVal() == pytest.approx(data["optimum"], abs=2e-6)
    assert data["optimum"] > pm.solve(problem.replace(constraints=())).bound + 1e-3


@pytest.mark.parametrize("constraints", [ROWS, (BOX,), (*ROWS, BOX)])
def test_highs_and_clarabel_read_constraints(constraints, tmp_path):
    recipe = constrained_problem(*constraints)
    export(recipe, tmp_path, ["clarabel"])
    problem, stem, data = exported(recipe, tmp_path, "mps", formulation="touching")
    highs, found = highs_of(f"{stem}.mps"), clarabel_of(f"{stem}.clarabel.json")
    for value in (highs.getInfo().objective_function_value, found.obj_val):
        assert value == pytest.approx(data["optimum"], abs=1e-7)
    for weights in (highs.getSolution().col_value[:12], found.x[:12]):
        assert problem.posteriors.violation(np.array(weights)) < 1e-6


def test_every_text_format_names_the_rows(tmp_path):
    export(constrained_problem(*ROWS), tmp_path, ["nl", "gms", "bar", "lp", "mps"])
    rows = {path.suffix: path.read_text() for path in tmp_path.iterdir()}
    named = ["rows[latency]", "rows['memory (GiB)']", "rows['memory (GiB) (at least)']"]
    assert rows[".row"].splitlines()[1:4] == named
    assert all("rows_latency_" in rows[suffix] for suffix in (".gms", ".bar"))
    assert all("rows(latency)" in rows[suffix] for suffix in (".lp", ".mps"))


@pytest.mark.parametrize("extension", ["nl", "lp"])
def test_a_limit_on_the_support_has_binary_variables(extension, tmp_path):
    """SCIP's minimum is the smallest of all pairs of classifiers, each solved with the others capped at zero."""
    problem, stem, _ = exported(constrained_problem(pm.support(at_most=2), size=5, m=100), tmp_path, extension)
    model = scip_of(f"{stem}.{extension}")
    assert [variable.vtype() for variable in model.getVars()].count("BINARY") == 5
    assert model.getObjVal() == pytest.approx(best_of_supports(problem), abs=2e-6)


@pytest.mark.parametrize(
    ("constraint", "options", "complaint"),
    [
        (pm.support(at_most=2), {"formats": ["clarabel"]}, "has binary variables, which Clarabel does not know"),
        (BOX, {"formats": ["nl"], "floors": True}, "floors are for problems without constraints"),
    ],
)
def test_what_constraints_rule_out_is_one_sentence(constraint, options, complaint, tmp_path):
    with pytest.raises(UnsupportedProblemError, match=complaint):
        export(constrained_problem(constraint), tmp_path, **options)


def test_the_command_takes_constraints_from_columns(tmp_path):
    risks = tmp_path / "mine.csv"
    risks.write_text("risk,latency\n0.1,40\n0.2,20\n0.3,10\n")
    words = ["export", str(risks), "--m", "100", "--at-most", "latency=25", "--format", "nl", "--out", str(tmp_path)]
    assert main([*words, "--distance", "linear"]) == 0
    data = record(tmp_path / "mine-chi2-linear")
    row = {"kind": "average", "values": [40.0, 20.0, 10.0], "at_most": 25.0, "name": "latency"}
    assert data["constraints"] == [row]
    assert np.dot(data["posterior"], [40.0, 20.0, 10.0]) <= 25.0 + 1e-9


# --- GAMS -------------------------------------------------------------------------------------------------------------


def test_scip_has_no_reader_for_gams_files_here(two_minima):
    """The page says so; where a wheel brings one, this fails, and a round trip is due."""
    for extension in ("gms", "bar"):
        with pytest.raises(Exception, match="a required plugin was not found"):
            scip_of(f"{two_minima[1]}.{extension}")


# Its licences expire: this runs for those who have one, a demonstration licence, say.
if gams := shutil.which("gams"):

    @pytest.mark.outside
    @pytest.mark.parametrize("divergence", ["chi2", "kl"])
    @pytest.mark.parametrize("distance", ["linear", "squared", "kl"])
    def test_gams_reads_the_gms_file_and_judge_what_it_writes(distance, divergence, tmp_path, capsys):
        """With floors: CONOPT, the default there, ends without them where it evaluates ln 0."""
        bound = {"m": 300, "distance": distance, "divergence": divergence}
        recipe = Problem("p", "mine", pm.BoundProblem, {"risks": np.linspace(0.1, 0.4, 12), **bound})
        export(recipe, tmp_path, ["gms"], floors=True)
        done = subprocess.run([gams, "p.gms", "lo=0", "gdx=levels"], cwd=tmp_path, timeout=120, check=False)
        files = [str(tmp_path / name) for name in ("p.lst", "levels.gdx")]
        assert (done.returncode, main(["judge", str(tmp_path / "p.json"), *files, "--json"])) == (0, 0)
        listing, levels = json.loads(capsys.readouterr().out)["solutions"]
        assert re.fullmatch(r"\w+ \(GAMS [\d.]+\)", listing["solver"]) and levels["solver"] == "levels"
        assert listing["verdict"] == levels["verdict"] == "found"
        assert listing["bound"] == pytest.approx(levels["bound"], abs=1e-9)


def test_no_model_has_suffixes_where_none_are_wanted(tmp_path, capsys):
    words = ["export", smallest("chi2-kl").name, "--no-suffixes", "--out", str(tmp_path)]
    assert main(words) == 0
    capsys.readouterr()
    for path in tmp_path.iterdir():
        assert "scaling" not in path.read_text(), path.name


def variable_bounds(nl: Path) -> list[tuple[float, float]]:
    """The segment "b" of an .nl file: lower and upper bound of each variable, in the order of the .col file."""
    lines = nl.read_text().split("\nb\n")[1].split("\nk")[0].splitlines()
    ends = {"0": lambda low, high: (low, high), "1": lambda high: (-np.inf, high), "2": lambda low: (low, np.inf)}
    return [ends[kind](*map(float, rest)) for kind, *rest in map(str.split, lines)]


@pytest.mark.parametrize("kind", ["chi2-kl", "kl-kl", "chi2-squared"])
def test_floors_are_written_with_the_optimum_that_they_leave(kind, tmp_path):
    problem, stem, data = exported(kind, tmp_path, "nl", floors=True)
    bounds = dict(zip(Path(f"{stem}.col").read_text().split(), variable_bounds(Path(f"{stem}.nl")), strict=True))
    assert [bounds[f"q[{i}]"][0] for i in range(problem.size)] == (1e-9 * problem.prior).tolist()
    assert 0.0 < bounds["L"][0] <= 1e-9 * problem.empirical_risk(problem.prior)
    assert bounds.get("r", (0.0, 1.0 - 1e-12)) == (0.0, 1.0 - 1e-12)
    floors = data["floors"]
    assert floors["lower_bound"] <= floors["optimum"]
    assert floors["optimum"] - data["optimum"] == floors["above_optimum"]
    assert 0.0 <= floors["above_optimum"] < 1e-8
    # The optimum is attained where the floors are kept, and the certified one is not below any of those.
    weights = 1e-9 * problem.prior + (1 - 1e-9) * np.array(data["posterior"])
    assert problem.bound(weights) == pytest.approx(floors["optimum"], abs=1e-15)
    rng = np.random.default_rng(0)
    for posterior in rng.dirichlet(np.ones(problem.size), 50):
        assert problem.bound(1e-9 * problem.prior + (1 - 1e-9) * posterior) >= floors["lower_bound"] - 1e-15


@pytest.mark.parametrize("risks", [[0.0, 0.0, 0.0], [1.0, 1.0], [0.0, 0.5], [0.0, 1e-12]])
def test_floors_never_cut_off_the_minimum(risks, tmp_path):
    """Risks of zero have no variable L, and a bound of one no room below it: the mixture with the prior is allowed."""
    problem = pm.BoundProblem(risks, m=10, distance="kl")
    model = problem.pyomo_model()
    add_floors(model, problem)
    posterior = pm.solve(problem).posterior
    set_start(model, problem, mixture(problem, posterior))
    for variable in model.component_data_objects(pyo.Var):
        assert variable.lb is None or variable.value >= variable.lb
        assert variable.ub is None or variable.value <= variable.ub


def test_latex_is_written_when_it_is_asked_for(tmp_path):
    _, stem, _ = exported("chi2-squared", tmp_path, "tex")
    text = Path(f"{stem}.tex").read_text()
    assert text.startswith(r"\documentclass") and r"\min" in text and r"\label" not in text
    assert text.count("{") == text.count("}")


@pytest.mark.outside
@pytest.mark.parametrize("kind", ["chi2-kl", "kl-kl"])
def test_an_ipopt_program_solves_the_nl_file(kind, tmp_path):
    pounce = shutil.which("pounce", path=sysconfig.get_path("scripts")) or pytest.skip("pip install pounce-solver")
    problem, stem, data = exported(kind, tmp_path, "nl")
    done = subprocess.run([pounce, f"{stem}.nl", f"{stem}.sol"], capture_output=True, text=True, timeout=120)
    assert Path(f"{stem}.sol").exists(), done.stdout + done.stderr
    weights = np.maximum(read_solution(f"{stem}.sol", problem.size).weights, 0.0)
    bound = problem.bound(weights / weights.sum())
    # A local method ends in one of the minima that the file lists.
    assert min(abs(bound - minimum["bound"]) for minimum in data["local_minima"]) < 1e-6


def test_gams_and_baron_files_have_names_and_start(two_minima):
    problem, stem, _ = two_minima
    first = float(problem.prior[0])
    gams, baron = Path(f"{stem}.gms").read_text(), Path(f"{stem}.bar").read_text()
    assert f"q_0_.l = {first!r}" in gams and "minimizing" in gams
    shown = re.findall(r"^  (\w+)\.l[,;]$", gams.partition("\ndisplay\n")[2], re.MULTILINE)
    assert shown[0] == "GAMS_OBJECTIVE" and {"q_0_", "L", "X"} < set(shown)
    assert f"q_0_: {first!r};" in baron and "OBJ: minimize" in baron
    assert "scaling_factor" not in baron


def test_large_problems_are_data_only(tmp_path):
    written = export(table_problem("wdbc", 50, "kl"), tmp_path, largest=49)
    assert [path.name for path in written] == ["wdbc-H50-kl-exact.json", "wdbc-H50-kl-exact.proof.json"]
    assert record(tmp_path / "wdbc-H50-kl-exact")["models"] == {}


def test_an_archive_is_the_same_bytes_each_time(tmp_path):
    for folder in ("one", "two"):
        written = export(table_problem("wdbc", 50, "linear"), tmp_path / folder, ["nl"])
        archive(tmp_path / folder, written, tmp_path / folder / "set.tar.xz")
    first, second = ((tmp_path / folder / "set.tar.xz").read_bytes() for folder in ("one", "two"))
    assert first == second
    with tarfile.open(tmp_path / "one" / "set.tar.xz") as packed:
        assert "set/wdbc-H50-linear-exact.nl" in packed.getnames()


def test_the_command_writes_risk_files_once_and_named_problems(tmp_path):
    risks = tmp_path / "mine.csv"
    risks.write_text("0.1\n0.2\n0.3\n")
    out = tmp_path / "models"
    words = [*[str(risks)] * 2, "wdbc-H50-kl-exact", "--m", "100", "--format", "gms", "--out", str(out)]
    assert main(["export", *words]) == 0
    names = product(("mine-chi2-kl", "wdbc-H50-kl-exact"), ("gms", "json", "proof.json"))
    assert {path.name for path in out.iterdir()} == {f"{name}.{extension}" for name, extension in names}


@pytest.mark.outside
def test_a_packed_library_is_used_without_the_package(tmp_path, capsys):
    name = "budget-01-H20-chi2-kl"
    names = {name, smallest("chi2-squared").name, "wine-H100-kl"}
    words = [*names, "--format", "nl", "--out", str(tmp_path / "models")]
    assert main(["export", *words, "--archive", str(tmp_path / "set.tar.xz")]) == 0
    capsys.readouterr()
    with tarfile.open(tmp_path / "set.tar.xz") as packed:
        packed.extractall(tmp_path, filter="data")
    folder = tmp_path / "set"
    entries = {entry["name"]: entry for entry in json.loads((folder / "index.json").read_text())["problems"]}
    assert set(entries) == names
    assert entries["wine-H100-kl"]["problem_kind"] == "tandem"
    for entry in (entries[each] for each in names - {"wine-H100-kl"}):
        frozen = instance(entry["name"])
        assert entry["optimum"] == pytest.approx(frozen.optimum, abs=1e-12)
        assert entry["local_minima"] == pytest.approx([frozen.optimum, frozen.second_minimum], abs=1e-10)
    for entry in entries.values():
        assert 0.0 <= entry["gap"] <= 1e-9 and entry["lower_bound"] <= entry["optimum"]
        assert all((folder / file).is_file() for file in entry["files"])
        proof = json.loads((folder / f"{entry['name']}.proof.json").read_text())
        assert entry["proof_digest"] == proof["problem_digest"]
    assert entries[name]["constraints"] == ["average"]
    assert f"{name}.nl" in entries[name]["files"]
    page = (folder / "README.md").read_text()
    assert page.startswith("# PAC-Bayesian bounds") and "\n3 problems. " in page and "$" not in page
    proofs = sorted(map(str, folder.glob("*.proof.json")))
    code = "import sys; sys.modules['numpy'] = None; import runpy; sys.argv = sys.argv[1:]\n"
    code += "sys.path.insert(0, '.'); runpy.run_path(sys.argv[0], run_name='__main__')"
    command = [sys.executable, "-P", "-c", code, "votes.py", *proofs]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert (done.returncode, done.stdout.count(": proven: ")) == (0, 3), done.stderr


def test_the_formulas_of_the_library_give_the_bound(tmp_path):
    """Its page, in Python, for a posterior of every divergence."""
    for kind in ("chi2-kl", "kl-kl", "renyi3-squared"):
        _, _, data = exported(kind, tmp_path)
        l, q = np.array(data["risks"]), np.array(data["posterior"])
        p = np.full(l.size, 1 / l.size) if data["prior"] is None else np.array(data["prior"])
        L, c, alpha = q @ l, data["log_constant_value"] - math.log(data["delta"]), data["order"]
        if data["divergence"] == "kl":
            b = (rel_entr(q, p).sum() + max(c, 0)) / data["m"]
        else:
            b = (p @ (q / p) ** alpha) ** (1 / alpha) * math.exp(c * (1 - 1 / alpha))
        r = data["optimum"]
        kl = rel_entr(L, r) + rel_entr(1 - L, 1 - r)
        assert (kl if data["distance"] == "kl" else (r - L) ** 2) == pytest.approx(b, rel=1e-9)
    _, _, data = exported(*problems_named("wine-H100-renyi"), tmp_path)
    A, q, alpha, r = np.array(data["tandem_risks"]), np.array(data["posterior"]), data["order"], data["optimum"]
    L, p, c = q @ A @ q, np.full(q.size, 1 / q.size), data["log_constant_value"] - math.log(data["delta"])
    b = (p @ (q / p) ** alpha) ** (2 / alpha) * math.exp(c * (1 - 1 / alpha))
    assert rel_entr(L, r) + rel_entr(1 - L, 1 - r) == pytest.approx(b, rel=1e-9)


@pytest.mark.outside
def test_python_without_docstrings_is_one_sentence(tmp_path):
    environment = {**os.environ, "PYTHONOPTIMIZE": "2"}
    command = [sys.executable, "-m", "pacb_models", "export", smallest("chi2-squared").name, "--out", str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 2 and not list(tmp_path.iterdir())
    assert done.stderr.count("\n") == 1 and "PYTHONOPTIMIZE" in done.stderr
    words = [sys.executable, "-m", "pacb_models", "bench", "--help"]
    assert "  quick" in subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout
