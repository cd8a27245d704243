"""The command line, run as a user runs it: exit codes, one JSON object, one line for bad input."""

import io

import pytest

import pacb_models as pm
from pacb_models.commands.arguments import parse_options
from pacb_models.names import DISTANCES

RISKS = [0.12, 0.1, 0.31, 0.1]


@pytest.fixture
def risk_file(tmp_path):
    path = tmp_path / "risks.csv"
    path.write_text("name,risk\n" + "".join(f"svm{i},{risk}\n" for i, risk in enumerate(RISKS)))
    return str(path)


@pytest.mark.parametrize("distance", ["linear", "squared", "kl"])
def test_solve_prints_one_json_object_with_the_solution(risk_file, distance, pacb):
    record = pacb(f"solve {risk_file} --m 549 --delta 0.01 --distance {distance} --json").json
    problem = pm.BoundProblem(RISKS, m=549, delta=0.01, distance=distance)
    fields = set(pm.Solution.__dataclass_fields__) - {"details", "problem", "proof"}
    assert set(record) == fields | {"multipliers", "sensitivities"}
    assert record["status"] == "optimal" and record["is_global"] is True
    # Equal risks were merged: the same sums in another order.
    assert record["bound"] == pytest.approx(problem.bound(record["posterior"]), rel=1e-14)
    assert record["bound"] <= problem.bound(problem.prior)


def test_solve_for_reading(risk_file, pacb):
    out = pacb(f"solve {risk_file} --m 549 --top 2").out
    assert "true risk at most this, with probability at least 0.95" in out and "the global minimum" in out
    assert "svm1" in out and "svm3" in out and "svm2" not in out


def test_solve_with_constraints_says_which_bind_and_what_they_are_about(tmp_path, pacb):
    path = tmp_path / "models.csv"
    path.write_text("name,risk,Latency,recall\na,0.10,60,0.95\nb,0.11,40,0.93\nc,0.13,20,0.91\nd,0.15,5,0.85\n")
    line = f"solve {path} --m 549 --at-most latency=25 --at-least recall=0.5"
    record = pacb(line, "--json").json
    assert record["is_global"] and record["multipliers"]["latency"] > 0.0 == record["multipliers"]["recall"]
    assert record["sensitivities"]["rows"]["latency"] == -record["multipliers"]["latency"]
    assert sum(q * a for q, a in zip(record["posterior"], (60, 40, 20, 5), strict=True)) == pytest.approx(25, abs=1e-9)
    out = pacb(line, "--weights-at-most", 0.9).out
    rate = f"{record['multipliers']['latency']:.3g}"
    assert f"latency at most 25: holds with equality; a little more room lowers the bound by {rate} per unit" in out
    assert "recall at least 0.5: has room" in out and "weights at most 0.9: 0 classifiers are at the cap" in out
    assert "The constraint is about averages on the sample; the bound is about true risk." in out
    checked = pacb(f"check {path} --m 549 --support-at-most 2 --solvers frontier")
    assert "The constraint is about averages on the sample" in checked.out


@pytest.mark.outside
@pytest.mark.parametrize("command", ["solve", "check"])
@pytest.mark.parametrize(
    "problem",
    [
        pm.BoundProblem(RISKS, 549, 0.02, "squared", constraints=[pm.support(at_most=2), pm.weights(at_most=0.7)]),
        pm.DirectProblem(RISKS, 549, 0.02, "kl", "kl"),
    ],
)
def test_a_problem_as_json_needs_no_options(command, problem, tmp_path, pacb, refused):
    path = tmp_path / "problem.json"
    path.write_text(problem.to_json())
    found = pacb(f"{command} {path} --json").json
    bound = pm.solve(problem).bound
    assert found.get("bound", found.get("reference_bound")) == pytest.approx(bound, abs=1e-12)
    for option, value in (("--m", 9), ("--at-most", "a=1")):
        refused(f"{option} needs a file of risks; a problem as JSON has its own.\n", f"{command} {path}", option, value)


def test_names_of_any_length_and_kind_keep_the_table_in_columns(tmp_path, pacb):
    path = tmp_path / "risks.csv"
    for second, shown in (('"two\nlines"', r"two\nlines"), ("b", "b")):
        path.write_text(f"name,risk\na,0.2\n{second},0.2\n")
        table = pacb(f"solve {path} --m 50").out.partition("\n\n")[2].splitlines()
        assert [line.split()[0] for line in table] == ["name", "a", shown]
        assert len({len(line) for line in table}) == 1


def test_what_solve_prints_as_a_guarantee_is_rounded_to_the_safe_side(tmp_path, pacb):
    path = tmp_path / "risks.csv"
    path.write_text("0\n0.5\n")
    asked = f"solve {path} --m 1000000000 --delta 4e-7 --divergence kl"
    bound = pacb(asked, "--json").json["bound"]
    assert 0 < bound < 1e-7
    line = pacb(asked).out.splitlines()[0]
    assert bound <= float(line.split()[1]) <= bound * (1 + 1e-9)
    assert line.endswith("with probability at least 0.9999996)")


def test_solve_reads_standard_input_and_priors(monkeypatch, pacb):
    monkeypatch.setattr("sys.stdin", io.StringIO("risk,prior\n0.1,0.25\n0.2,0.75\n"))
    record = pacb("solve - --m 100 --json").json
    problem = pm.BoundProblem([0.1, 0.2], m=100, prior=[0.25, 0.75])
    assert record["bound"] == problem.bound(record["posterior"])


def test_check_compares_the_solvers(risk_file, pacb):
    out = pacb(f"check {risk_file} --m 549 --solvers frontier,fixed-point,subset-search").out
    assert out.count("agrees") == 3 and "reference: frontier" in out
    table = pacb(f"check {risk_file} --m 549 --solvers frontier,fixed-point --json").json
    assert table["agree"] is True
    assert [row["solver"] for row in table["rows"]] == ["frontier", "fixed-point"]


def test_check_exits_one_when_a_solver_disagrees(tmp_path, pacb):
    (tmp_path / "r.csv").write_text("0.05\n0.10\n" + "0.30\n" * 48)
    line = f"check {tmp_path}/r.csv --m 50 --distance squared --solvers frontier,subset-search"
    assert "worse by" in pacb(line, code=1).out  # at another local minimum


def test_constants_shows_exact_and_paper(pacb):
    shown = pacb("constants --m 1000").out.splitlines()
    line = next(line for line in shown if "chi2" in line and " kl " in line)
    assert "9.04924e-07" in line and "0.000368182" in line
    rows = pacb("constants --m 1000 6000 --divergence kl --json").json["constants"]
    assert [row["distance"] for row in rows] == [each for each in DISTANCES["kl"] for _ in range(2)]
    assert next(row for row in rows if row["m"] == 6000 and row["distance"] == "linear")["exact"] is None


BAD_INPUT = [
    ("solve {file} --m 0", "m is 0"),
    ("solve {file} --m 10 --delta 1.5", "delta is 1.5"),
    ("solve {file} --m 10 --distance cubic", "'cubic'"),
    ("solve {file} --m 10 --solver magic", "--solver is 'magic'"),
    ("solve {file} --m 10 --option nonsense", "'nonsense'"),
    ("solve {file} --m 10 --option unknown=1", "unknown"),
    ("solve {file} --m 10 --option problem=1", "'problem=1'"),
    ("solve {file} --m 10 --solver cvxpy", "frontier"),
    ("solve missing.csv --m 10", "missing.csv"),
    ("solve {file}", "--m"),
    ("solve {file} --m ten", "ten"),
    ("check {file} --m 10 --solvers magic", "'magic'"),
    ("check {file} --m 10 --tol -1", "tol is -1.0"),
    ("check {file} --m 10 --time-limit 0", "--time-limit is 0.0"),
    ("solve {file} --m 10 --top -1", "--top is -1"),
    ("solve {file} --m 10 --delta 1e-320", "delta is 1e-320"),
    ("constants --m 0", "--m is 0"),
    ("constants --m 5 --divergence tv", "'tv'"),
    ("constants --m 5 --order=0 --divergence renyi", "--order is 0.0"),
    ("constants --m 5 --order 3", "--order needs --divergence renyi"),
    ("solve {file} --m 10 --order 3", "--order needs --divergence renyi"),
    ("frobnicate", "frobnicate"),
    ("solve {file} --m 10 --solver ''", "--solver is empty"),
    ("solve {file} --m 10 --solver=", "--solver is empty"),
    ("bench --report ''", "--report is empty"),
    ("solve {file} --m 10 --at-most speed=1", "no column 'speed'; its columns are 'name', 'risk'."),
    ("check {file} --m 10 --at-most risk=low", "--at-most is 'risk=low'; it must have the form COLUMN="),
    ("solve {file} --m 10 --at-least risk", "--at-least is 'risk'; it must have the form COLUMN=NUMBER"),
    ("solve {file} --m 10 --sizes risk=inf", "--sizes is 'risk=inf'; it must have the form"),
    ("solve {file} --m 10 --at-most name=1", "line 2: name is 'svm0'; it must be a number"),
    ("solve {file} --m 10 --at-most risk=0.05", "no posterior has risk at most 0.05"),
    ("solve {file} --m 10 --at-most risk=1 --at-most Risk=1", "--at-most is given twice"),
    ("solve {file} --m 10 --weights-at-most 2", "--weights-at-most is 2.0; a weight is between 0 and"),
    ("solve {file} --m 10 --weights-at-most 0.2", "weights at most 0.2 sum to 0.8, below one"),
    ("solve {file} --m 10 --support-at-most 0", "--support-at-most is 0"),
    ("solve {file} --m 10 --support-at-most 2 --sizes risk=1", "two limits on the support"),
    ("solve {file} --m 10 --at-most risk=1 --direct", "not for a DirectProblem"),
    ("solve {file} --m 10 --at-most risk=1 --plot x.svg", "--plot draws a bound along its path"),
]


@pytest.mark.parametrize(("line", "named"), BAD_INPUT, ids=[line for line, _ in BAD_INPUT])
def test_bad_input_is_exit_two_and_one_line(risk_file, refused, line, named):
    refused(named, line.replace("{file}", risk_file))


def test_option_values_are_json_where_they_are_json():
    assert parse_options(["a=1", "b=text", "c=false", "d=1e-3"]) == {"a": 1, "b": "text", "c": False, "d": 1e-3}


@pytest.mark.parametrize("name", ["options", "max_iterations"])
def test_a_long_option_that_is_refused_is_answered_with_a_short_line(risk_file, name, pacb):
    line = f"solve {risk_file} --m 10 --distance linear --solver cvxpy --option {name}={5000 * '['}"
    said = pacb(line, code=2).err
    assert said.startswith(f"pacb solve: {name} is '[[[") and len(said) < 300


def test_help_of_every_command_names_its_arguments(pacb):
    shown = pacb("--help").out
    for command in ("solve", "check", "constants", "doctor"):
        assert command in shown and f"usage: pacb {command}" in pacb(f"{command} --help").out
