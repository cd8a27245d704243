"""Solutions of other people's solvers: every kind of file, every verdict, and the row in the report."""

import json
import os
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pacb_models as pm
from pacb_models.benchmarks import verdict
from pacb_models.benchmarks.harness.results import load_results, read_rows
from pacb_models.benchmarks.harness.submissions import BELOW, INFEASIBLE, Judge, add_to_log
from pacb_models.benchmarks.problems.claimed import Claimed, claims
from pacb_models.benchmarks.problems.export import export
from pacb_models.benchmarks.problems.problem import Problem, from_file, table_problem
from pacb_models.benchmarks.problems.solution_files import SolutionFile, parse_dump, parse_sol, read_solution
from pacb_models.benchmarks.report import write_report
from pacb_models.benchmarks.verdict import Ending, correct, success
from pacb_models.commands.program import main
from pacb_models.errors import InputError
from pacb_models.models.lifted import values_at, write

from .exported import BOX, ROWS, constrained_problem, smallest

pytestmark = pytest.mark.long


def sol(path: Path, recipe: Problem, posterior: np.ndarray, code: int = 0, message: str = "", **changes: float) -> Path:
    """A .sol file with the values that belong to a posterior, or others; AMPL's form."""
    problem = recipe.build()
    values = values_at(problem, posterior) | {f"q[{i}]": w for i, w in enumerate(posterior)} | changes
    names = path.with_suffix(".col").read_text().split()
    lines = [message or "MYSOLVER 1.2: optimal", "", "Options", "3", "1", "1", "0", "2", "2", str(len(names))]
    lines += [str(len(names)), "0.25", "-1", *(repr(float(values[name])) for name in names), f"objno 0 {code}", ""]
    path.write_text("\n".join(lines))
    return path


@pytest.fixture(scope="module", params=["chi2-kl", "chi2-squared", "kl-kl"])
def case(request, tmp_path_factory) -> tuple[Problem, Path, pm.Solution]:
    """A problem with two minima, where its solution is to be written, and its optimum."""
    recipe, folder = smallest(request.param), tmp_path_factory.mktemp("models")
    export(recipe, folder, ["nl"])
    return recipe, folder / f"{recipe.name}.sol", pm.solve(recipe.build())


def answer(capsys, *words: object) -> tuple[int, dict]:
    status = main(["judge", *map(str, words), "--json"])
    return status, json.loads(capsys.readouterr().out)


def only_answer(capsys, *words: object) -> tuple[int, dict]:
    status, said = answer(capsys, *words)
    (only,) = said["solutions"]
    return status, only


def test_an_optimum_is_found_also_in_the_papers_formulation_which_has_fewer_variables(case, tmp_path, capsys):
    recipe, path, best = case
    files = [path]
    if recipe.build().divergence == "chi2":
        export(recipe, tmp_path, ["nl"], formulation="substituted")
        files.append(tmp_path / path.name)
    for file in files:
        status, only = only_answer(capsys, file.with_suffix(".json"), sol(file, recipe, best.posterior))
        assert status == 0 and only["verdict"] == Ending.FOUND.words and only["solver"] == "MYSOLVER 1.2"
        assert only["bound"] == pytest.approx(best.bound, abs=1e-15) and only["violation"] < 1e-12
        assert only["claimed"] == pytest.approx(best.bound, abs=1e-12)


def test_a_local_minimum_has_its_number(case, capsys):
    recipe, path, best = case
    problem = recipe.build()
    # One minimum is near the prior, the other at the one good classifier.
    corner = 0.999 * np.eye(problem.size)[problem.risks.argmin()] + 0.001 * problem.prior
    ends = [pm.solve(problem, "ipopt", start=start) for start in (problem.prior, corner)]
    (second,) = [end for end in ends if end.bound > best.bound + 2 * verdict.CORRECT_GAP]
    status, only = only_answer(capsys, recipe.name, sol(path, recipe, second.posterior))
    assert status == 0 and only["verdict"] == Ending.LOCAL.words
    assert only["sentence"].startswith("local minimum 2 of 2: bound")


@pytest.mark.outside
def test_one_point_has_one_verdict(tmp_path):
    """Above the optimum by more than 1e-7, which its residual explains: for judge, report and the rule of success."""
    risks = np.array([0.1, 0.12, 0.2, 0.6])
    recipe = Problem("near", "mine", pm.BoundProblem, {"risks": risks, "m": 1000, "distance": "kl"}, 4)
    problem, best = recipe.build(), pm.solve(recipe.build())
    towards = np.eye(4)[3] - best.posterior
    q = best.posterior + 2.2e-7 / (problem.gradient(best.posterior) @ towards) * towards
    assert best.posterior[3] == 0.0 and 1e-7 < problem.bound(q) - best.bound <= problem.kkt_residual(q) < 1e-6
    finding = Judge(recipe).judge(SolutionFile(weights=q, status="optimal"), "theirs")
    assert finding.verdict == "found, less accurately" and not finding.wrong
    add_to_log(tmp_path, recipe, [finding])
    [row], judged = read_rows(tmp_path), verdict.Judged(load_results(tmp_path))
    assert success(row) and judged.runs["ending"].tolist() == [Ending.LESS_ACCURATE]
    assert judged.contradictions.empty and not judged.runs["false_claim"].any()
    assert "1 of 1 runs missed the optimum; 1 found it less accurately" in write_report(tmp_path).read_text()


def test_a_sum_that_its_variable_falls_short_of_is_called_out(case, capsys):
    """The weights are the best, and the solver's own value is smaller: its statistic is below the sum of squares."""
    recipe, path, best = case
    statistic = next(name for name in ("X", "KL", "t") if name in values_at(recipe.build(), best.posterior))
    right = values_at(recipe.build(), best.posterior)[statistic]
    file = sol(path, recipe, best.posterior, **{statistic: right - 9e-3})
    status, only = only_answer(capsys, path.with_suffix(".json"), file)
    assert status == 1 and only["violated"] == "divergence"
    assert only["violation"] == pytest.approx(9e-3, rel=1e-6)
    # Where the bound is a variable of its own, it still has its value; else the value falls with the sum.
    assert only["verdict"] == (INFEASIBLE if recipe.build().distance == "kl" else BELOW)


def test_a_value_below_the_proven_one_is_called_out_but_not_one_with_few_digits(case, capsys):
    recipe, path, best = case

    def judged(value):
        message = f"MYSOLVER 1.2: optimal solution; objective {value}\n7 iterations"
        return only_answer(capsys, path.with_suffix(".json"), sol(path, recipe, best.posterior, message=message))

    status, only = judged(f"{best.bound - 5e-3:.9g}")
    assert status == 1 and only["verdict"] == BELOW and "by 5.0e-03" in only["sentence"]
    assert only["claimed"] == pytest.approx(best.bound - 5e-3, abs=1e-8)
    cut = best.bound - np.floor(best.bound * 1e4) / 1e4
    _, only = judged(f"{best.bound - cut:.4f}")
    assert (only["verdict"] == Ending.FOUND.words) == (cut <= 0.5e-4 + verdict.CORRECT_GAP)


def test_weights_that_do_not_sum_to_one_are_infeasible_but_may_be_a_little_below_zero(case, tmp_path, capsys):
    """SNOPT's are: the divergence of it is no number, and the violation is no more than what is missing to zero."""
    _, path, best = case
    (tmp_path / "mine.csv").write_text("weight\n" + "\n".join(map(repr, (1.01 * best.posterior).tolist())))
    status, only = only_answer(capsys, path.with_suffix(".json"), tmp_path / "mine.csv")
    assert status == 1 and (only["verdict"], only["violated"]) == (INFEASIBLE, "normalised")
    assert only["violation"] == pytest.approx(0.01) and only["solver"] == "mine" and only["claimed"] is None
    for amount, infeasible in ((1e-9, False), (1e-4, True)):
        weights = best.posterior.copy()
        weights[0] = -amount
        weights[weights.argmax()] += 1.0 - weights.sum()
        (tmp_path / "q.json").write_text(json.dumps(weights.tolist()))
        _, only = only_answer(capsys, path.with_suffix(".json"), tmp_path / "q.json")
        assert only["violation"] == pytest.approx(amount, rel=1e-6) and (only["verdict"] == INFEASIBLE) == infeasible


def test_weights_as_csv_and_json(case, tmp_path, capsys):
    _, path, best = case
    weights = best.posterior.tolist()
    (tmp_path / "a.csv").write_text("\n".join(map(repr, weights)))
    (tmp_path / "b.json").write_text(json.dumps(weights))
    said = {"posterior": weights, "solver": "Theirs 3", "objective": best.bound, "status": "optimal"}
    (tmp_path / "c.json").write_text(json.dumps(said))
    files = [tmp_path / name for name in ("a.csv", "b.json", "c.json")]
    status, said = answer(capsys, path.with_suffix(".json"), *files)
    assert status == 0 and [each["verdict"] for each in said["solutions"]] == [Ending.FOUND.words] * 3
    assert [each["solver"] for each in said["solutions"]] == ["a", "b", "Theirs 3"]


def test_the_prior_is_no_minimum_and_a_file_may_have_no_point(case, tmp_path, capsys):
    recipe, path, _ = case
    prior, empty = tmp_path / "p.json", tmp_path / "none.sol"
    prior.write_text(json.dumps(recipe.build().prior.tolist()))
    empty.write_text("THEIRS: infeasible problem\n\nOptions\n3\n1\n1\n0\n5\n0\n23\n0\nobjno 0 200\n")
    first, second = answer(capsys, path.with_suffix(".json"), prior, empty)[1]["solutions"]
    assert first["verdict"] == "not a minimum" and second["verdict"] == "no point"
    assert second["sentence"] == "no point: THEIRS: infeasible problem"


@given(
    st.floats(0.0, 0.05),
    st.sampled_from([("kl", "chi2"), ("squared", "chi2"), ("squared", "renyi"), ("kl", "kl"), ("ch", "kl")]),
    st.lists(st.floats(0.0, 1.0), min_size=4, max_size=4).filter(lambda shares: sum(shares) > 0.1),
)
def test_the_model_at_a_posterior_has_no_violation_and_its_bound(short, pair, shares):
    """Also at weights of zero, where Pyomo's expressions have no value; and what is taken away is seen."""
    problem = pm.BoundProblem([0.1, 0.2, 0.3, 0.5], 200, 0.05, *pair, order=3.0)
    posterior = np.array(shares) / sum(shares)
    values = values_at(problem, posterior)
    model = Claimed(problem, posterior, values)
    assert write(model) == pytest.approx(problem.bound(posterior), rel=1e-7)
    assert max(model.violations.values()) <= 1e-9
    model = Claimed(problem, posterior, values | {"L": values["L"] - short})
    write(model)
    assert model.violations["empirical_risk"] == pytest.approx(short, abs=1e-12)


# --- Constraints ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def constrained(tmp_path_factory) -> tuple[Path, pm.Solution]:
    """A problem whose most accurate classifiers are slow, as a file, and its optimum."""
    folder = tmp_path_factory.mktemp("constrained")
    recipe = constrained_problem(ROWS[0], BOX)
    export(recipe, folder, ["nl"])
    return folder / "constrained.json", pm.solve(recipe.build())


@pytest.mark.parametrize(
    ("change", "violated", "amount"),
    [
        (lambda q: q, None, 0.0),
        (lambda q: np.array([0.0] + [1.0 / 11.0] * 11), "weights at least", 0.01),
        (lambda q: np.where(np.arange(12) < 5, 0.17, 0.15 / 7), "latency", None),
        (lambda q: np.array([0.75 / 11.0] * 11 + [0.25]), "weights at most", 0.05),
    ],
)
def test_a_row_or_a_cap_that_is_not_kept_is_named(change, violated, amount, constrained, tmp_path, capsys):
    path, best = constrained
    weights = change(best.posterior)
    (tmp_path / "q.json").write_text(json.dumps(weights.tolist()))
    status, said = answer(capsys, path, tmp_path / "q.json")
    (only,) = said["solutions"]
    assert said["optimum"] == pytest.approx(best.bound, abs=1e-9) and status == (violated is not None)
    if violated is None:
        assert only["verdict"] == Ending.FOUND.words
        return
    assert (only["verdict"], only["violated"]) == (INFEASIBLE, violated)
    problem = pm.BoundProblem.from_json(path.read_text())
    assert only["violation"] == pytest.approx(problem.posteriors.violation(weights) if amount is None else amount)


def test_too_many_classifiers_are_a_violation_by_their_weight(tmp_path, capsys):
    problem = pm.BoundProblem([0.1, 0.2, 0.3, 0.4], m=300, constraints=[pm.support(at_most=2)])
    (tmp_path / "p.json").write_text(problem.to_json())
    (tmp_path / "q.json").write_text("[0.6, 0.3, 0.07, 0.03]")
    status, only = only_answer(capsys, tmp_path / "p.json", tmp_path / "q.json")
    assert status == 1 and (only["verdict"], only["violated"]) == (INFEASIBLE, "support")
    assert only["violation"] == pytest.approx(0.1)


# --- GAMS: what version 54.6.1 wrote, with a demonstration licence, of `pacb export one-good-17 --format gms` ---------

GAMS = Path(__file__).parent / "gams"
ONE_GOOD = "one-good-17"


def test_a_listing_of_gams_has_solver_status_and_levels(capsys):
    status, only = only_answer(capsys, ONE_GOOD, GAMS / "conopt.lst")
    assert status == 0 and (only["solver"], only["verdict"]) == ("CONOPT (GAMS 54.6.1)", Ending.LOCAL.words)
    assert only["sentence"].startswith("local minimum 2 of 2: bound 0.397677571,")
    assert only["claimed"] == pytest.approx(only["bound"], abs=1e-8) and only["violation"] < 1e-7


def test_a_solver_that_says_that_it_failed_claims_nothing_but_another_word_is_called_out(tmp_path, capsys):
    """MINOS stops at a point where the rows do not hold, with a value far too small, and says so."""
    status, said = answer(capsys, ONE_GOOD, GAMS / "minos.lst")
    (only,) = said["solutions"]
    assert status == 0 and (only["verdict"], only["violated"]) == (INFEASIBLE, "divergence")
    assert only["claimed"] < said["optimum"] - 0.1 and only["sentence"].endswith("; the solver says infeasible")
    liar = tmp_path / "liar.lst"
    liar.write_text((GAMS / "minos.lst").read_text().replace("5 Locally Infeasible", "2 Locally Optimal"))
    status, only = only_answer(capsys, ONE_GOOD, liar)
    assert status == 1 and only["verdict"] == BELOW


def test_a_dump_of_a_gdx_has_the_levels_with_all_digits():
    """What gdxdump prints of the same solution: the eight decimals of the listing are these, rounded."""
    dump, found = parse_dump((GAMS / "conopt.txt").read_text()), read_solution(GAMS / "conopt.lst", 20)
    assert dump.objective == pytest.approx(found.objective, abs=0.5e-8) and dump.status == found.status == "optimal"
    levels = dump.variables
    assert levels == pytest.approx(found.variables, abs=0.51e-8) and len(levels) == 23
    assert sum(levels[f"q[{i}]"] for i in range(20)) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.outside
def test_a_gdx_needs_gams(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "a.gdx").touch()
    with pytest.raises(InputError, match="is read by gdxdump, a program of GAMS, which is not on the PATH"):
        read_solution(tmp_path / "a.gdx", 3)


@given(
    st.sampled_from([("kl", "chi2"), ("squared", "chi2"), ("linear", "chi2"), ("squared", "renyi"), ("ch", "kl")]),
    st.lists(st.sampled_from([0.0, -1.0, 1.0, 0.5, 1e300, -1e300, np.inf, np.nan]), min_size=8, max_size=8),
)
def test_whatever_a_file_has_is_judged(pair, values):
    """Zeros that are divided by, roots of what is negative, and no numbers at all."""
    problem = pm.BoundProblem([0.1, 0.2, 0.3, 0.5], 200, 0.05, *pair, order=3.0)
    given = dict(zip(("L", "X", "t", "KL", "r", "y", "s1", "s2"), values))
    for names in (given, {"L": given["L"], "X": given["X"]}, {"t": given["t"], "s1": given["s1"]}):
        said = claims(problem, SolutionFile(problem.prior, variables=names))
        assert said.violation >= 0.0 and (said.claimed is None or np.isfinite(said.claimed))


# --- Rows -------------------------------------------------------------------------------------------------------------


@pytest.mark.outside
def test_rows_join_the_log_and_the_report(tmp_path, capsys):
    recipe = table_problem("wdbc", 50, "kl")
    export(recipe, tmp_path, ["nl"])
    stem, results = tmp_path / recipe.name, tmp_path / "results"
    best = pm.solve(recipe.build())
    words = ["bench", "--suite", "quick", "--problems", recipe.name, "--solvers", "frontier", "--no-report"]
    assert main([*words, "--out", str(results)]) == 0
    file = sol(Path(f"{stem}.sol"), recipe, best.posterior, message="MINE 2.0: done")
    for _ in range(2):  # the second replaces the first
        assert main(["judge", f"{stem}.json", str(file), "--into", str(results)]) == 0
    _, theirs = read_rows(results)
    assert theirs.solver == "MINE 2.0" and success(theirs) and correct(theirs)
    assert (theirs.seconds, theirs.minima, theirs.suite) == (None, 1, "quick")
    judged = verdict.Judged(load_results(results))
    table = judged.by_solver.set_index("method")
    assert table.loc["MINE 2.0", "found"] == 1 and np.isnan(table.loc["MINE 2.0", "median"])
    # Nobody is slower than a time that was not measured.
    assert table.loc["frontier", "relative"] == 1.0
    assert "MINE 2.0" in Path(write_report(results)).read_text()
    liar = sol(Path(f"{stem}.sol"), recipe, best.posterior, message="LIAR: objective 0.1")
    assert main(["judge", f"{stem}.json", str(liar), "--into", str(results)]) == 1
    wrong = verdict.Judged(load_results(results)).contradictions
    assert wrong["method"].tolist() == ["LIAR"]
    assert "claims a value below the proven one: 0.1" in wrong["message"].iloc[0]
    capsys.readouterr()


@pytest.mark.outside
def test_a_directory_without_results_becomes_one_which_another_problem_of_the_same_name_does_not_join(tmp_path, capsys):
    for delta in (0.01, 0.02):
        export(table_problem("wdbc", 50, "kl", delta=delta), tmp_path / str(delta), largest=1)
    (tmp_path / "theirs.json").write_text(json.dumps([0.02] * 50))
    name, words = "wdbc-H50-kl-exact.json", [str(tmp_path / "theirs.json"), "--into", str(tmp_path / "out")]
    assert main(["judge", str(tmp_path / "0.01" / name), *words]) == 0
    assert [row.solver for row in read_rows(tmp_path / "out")] == ["theirs"]
    assert write_report(tmp_path / "out").exists()
    assert main(["judge", str(tmp_path / "0.02" / name), *words]) == 2
    assert "results on another 'wdbc-H50-kl-exact': its delta is 0.01, not 0.02" in capsys.readouterr().err


# --- Files ------------------------------------------------------------------------------------------------------------

GAMS_SOLVED = """GAMS 54.6.1
     SOLVER  CONOPT              FROM LINE  80
**** SOLVER STATUS     1 Normal Completion
**** MODEL STATUS      2 Locally Optimal
"""


def test_names_and_values_must_fit(tmp_path):
    (tmp_path / "a.sol").write_text("x\n\nOptions\n3\n1\n1\n0\n0\n0\n3\n3\n1\n0\n0\nobjno 0 0\n")
    for names, size, complaint in (("", 2, "has 3 variables, but .* names 2"), ("L\n", 3, r"no variable 'q\[2\]'")):
        (tmp_path / "a.col").write_text(f"q[0]\nq[1]\n{names}")
        with pytest.raises(InputError, match=complaint):
            read_solution(tmp_path / "a.sol", size)
    assert read_solution(tmp_path / "a.sol", 2).weights.tolist() == [1.0, 0.0]


def test_a_tolerance_among_the_options_is_passed_over():
    text = "m: x\n\nOptions\n5\n1\n1\n0\n1\n1\n2\n2\n1e-6\n9\n0.5\n0.25\nobjno 0 100\n"
    assert parse_sol(text) == ("m: x", [0.5, 0.25], 100)


def test_nobody_takes_the_name_of_our_solvers(tmp_path, capsys):
    export(table_problem("wdbc", 50, "kl"), tmp_path, largest=1)
    (tmp_path / "frontier.json").write_text(json.dumps([0.02] * 50))
    words = ["judge", str(tmp_path / "wdbc-H50-kl-exact.json"), str(tmp_path / "frontier.json")]
    assert main(words) == 2 and main([*words, "--solver", "mine"]) == 0
    assert "which is a solver of this package; yours needs a name" in capsys.readouterr().err


DEEP = "[" * 100_000


SAYING_NOTHING = [
    ("a.txt", "1", "it must end in .sol, .lst, .gdx, .csv, .json"),
    ("a.csv", "0.5\n0.5", "has 2 weights; the problem has 3 classifiers"),
    ("a.csv", "x\ny\nz", "it must be a number"),
    ("a.csv", "nan\n0\n1", "sum is no finite number"),
    ("a.csv", "1e308\n1e308\n0", "sum is no finite number"),
    ("a.json", "{", "is not JSON"),
    ("a.json", "{}", "no list of numbers 'posterior'"),
    ("a.json", '[1, "a", 0]', "no list of numbers 'posterior'"),
    ("a.json", '{"posterior": [1, 0, 0], "status": "good"}', "has the status 'good'"),
    ("a.json", '{"posterior": [1, 0, 0], "objective": "low"}', "has the objective 'low'"),
    ("a.json", '{"posterior": [1, 0, 0], "solver": 3}', "has the solver 3"),
    ("a.lst", "GAMS 54.6.1  nothing was solved", "is not a listing of GAMS in which a model was solved"),
    ("a.lst", GAMS_SOLVED, "does not display the levels of the variables"),
    ("a.sol", "q(0) 0.5\nq(3) 0.5\n", "has a variable 'q[3]'; the problem has 3 classifiers"),
    ("a.sol", "nothing", "not a solution in AMPL's text form"),
    ("a.sol", "x\n\nOptions\n3\n1\n1\n0\n0\n0\n3\n3\n1\n", "not a solution in AMPL's text form"),
    ("a.sol", "x\n\nOptions\n3\n1\n1\n0\n0\n0\n3\n3\n1\n0\n0\nobjno 0 0\n", "needs the names of the variables"),
]
#: No numbers, numbers beyond all others, and depths without end: front doors know one rule.
BEYOND_ALL = [
    ("a.sol", "x: objective 1e999\n\nOptions\n3\n1\n1\n0\n0\n0\n3\n0\nobjno 0 0\n"),
    ("a.sol", f"x: objective {'9' * 400}\n\nOptions\n3\n1\n1\n0\n0\n0\n3\n0\nobjno 0 0\n"),
    ("a.sol", f"x: objective 1e{'9' * 5000}\n\nOptions\n3\n1\n1\n0\n0\n0\n3\n0\nobjno 0 0\n"),
    ("a.sol", f"q(0) 1\nq({'9' * 5000}) 0\n"),
    ("a.sol", f"x\n\nOptions\n3\n1\n1\n0\n0\n0\n3\n0\nobjno 0 {'9' * 5000}\n"),
    ("a.lst", f"{GAMS_SOLVED}\n---- 1 VARIABLE q_0_.L = NA\n"),
    ("a.lst", f"{GAMS_SOLVED}\n---- 1 VARIABLE q_0_.L = UNDF\n"),
    ("a.lst", f"{GAMS_SOLVED}\n---- 1 VARIABLE q_{'9' * 5000}_.L = 1\n"),
    ("a.json", '{"posterior": [1, 0, 0], "status": ["optimal"]}'),
    ("a.json", f'{{"posterior": [1, 0, 0], "objective": 1{"0" * 400}}}'),
    ("a.json", '{"posterior": [1, 0, 0], "objective": 1e999}'),
    ("a.json", f"[1{'0' * 400}, 0, 0]"),
    ("a.json", f"[{'1' * 5000}, 0, 0]"),
    ("a.json", DEEP),
    ("a.csv", "0.5\n\0\n"),
    ("a.csv", f"weight\n{'1' * 200_000}\n"),
    *(("problem.json", {name: wrong}) for name, wrong in (("distance", []), ("m", 10**400), ("risks", [10**400]))),
    *(("problem.json", {name: wrong}) for name, wrong in (("prior", {}), ("constraints", 3), ("delta", None))),
    *(("problem.json", {name: wrong}) for name, wrong in (("schema", 10**400), ("errors", [[1]]))),
    ("problem.json", {"constraints": [{"kind": []}]}),
    ("problem.json", {"divergence": "renyi", "order": []}),
]


@pytest.mark.parametrize(("name", "content", "complaint"), [*SAYING_NOTHING, *((*case, "") for case in BEYOND_ALL)])
def test_whatever_a_parser_meets_is_one_sentence(name, content, complaint, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    record = pm.BoundProblem([0.1, 0.2, 0.3], m=100).to_json()
    Path("problem.json").write_text(record)
    Path("a.csv").write_text("1\n0\n0\n")
    Path(name).write_text(content if isinstance(content, str) else json.dumps(json.loads(record) | content))
    assert main(["judge", "problem.json", name if name != "problem.json" else "a.csv"]) == 2
    said = capsys.readouterr()
    assert name in said.err and complaint in said.err and said.err.count("\n") == 1 and not said.out


@pytest.mark.parametrize("weights", ["0\n0\n0\n", "-1\n0\n0\n"])
@pytest.mark.parametrize("distance", ["linear", "kl"])
def test_weights_of_which_nothing_is_left_are_infeasible(distance, weights, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("problem.json").write_text(pm.BoundProblem([0.1, 0.2, 0.3], m=100, distance=distance).to_json())
    Path("a.csv").write_text(weights)
    code, found = answer(capsys, "problem.json", "a.csv")
    assert code == 1 and found["solutions"][0]["verdict"] == "infeasible"


def test_a_stored_zero_of_gams_is_zero(tmp_path):
    (tmp_path / "a.lst").write_text(f"{GAMS_SOLVED}\nVARIABLE q_0_.L = EPS\nVARIABLE q_1_.L = 1\n")
    assert read_solution(tmp_path / "a.lst", 2).weights.tolist() == [0.0, 1.0]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.lst", "GAMS 54\n" + " SOLVER x\n" * 200_000),
        ("a.lst", GAMS_SOLVED + " " * 2_000_000),
        ("a.sol", "objective" + " " * 2_000_000 + "x"),
        ("a.sol", "q(0) " + "1" * 2_000_000 + "x"),
        ("a.sol", " " * 2_000_000 + "x\n\nOptions\n3\n1\n1\n0\n0\n0\n3\n0\n"),
        ("a.sol", "x" + " " * 2_000_000 + "x\n\nOptions\n3\n1\n1\n0\n0\n0\n3\n0\n"),
    ],
)
def test_long_files_are_read_in_one_pass(name, content, tmp_path):
    (tmp_path / name).write_text(content)
    with suppress(InputError):
        read_solution(tmp_path / name, 3)


@pytest.mark.timeout(60)
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.sol")
    with pytest.raises(InputError, match=r"a\.sol is no regular file"):
        read_solution(tmp_path / "a.sol", 3)


def test_no_terminal_obeys_a_name(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("problem.json").write_text(pm.BoundProblem([0.1, 0.2, 0.3], m=100).to_json())
    evil = "\x1b[2Jevil"
    Path(f"{evil}.json").write_text(json.dumps({"posterior": [1, 0, 0], "solver": evil, "message": evil}))
    Path(f"{evil}.csv").write_text("nothing")
    for kind in ("json", "csv"):
        main(["judge", "problem.json", f"{evil}.{kind}"])
    said = capsys.readouterr()
    assert said.out.count("evil") == said.out.count("\\x1b[2Jevil") >= 2 and said.err.count("\\x1b[2Jevil") == 1
    assert "\x1b" not in said.out + said.err


@pytest.mark.parametrize("problem", ["nothing", "absent.json", "one-good"])
def test_a_problem_that_is_none_is_one_sentence(problem, tmp_path, capsys):
    assert main(["judge", problem, str(tmp_path / "x.csv")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_optimum_is_not_taken_from_the_file(tmp_path):
    recipe = table_problem("wdbc", 50, "kl")
    export(recipe, tmp_path, largest=1)
    path = tmp_path / f"{recipe.name}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"optimum": 0.5, "local_minima": []}))
    best = pm.solve(recipe.build())
    finding = Judge(from_file(path)).judge(SolutionFile(best.posterior), "mine")
    assert finding.verdict == Ending.FOUND.words and finding.numbers.gap == pytest.approx(0.0, abs=1e-15)


def test_the_proof_beside_the_problem_is_cited(tmp_path, capsys):
    name = "one-good-17-H20-chi2-kl"
    assert main(["export", name, "--format", "nl", "--out", str(tmp_path)]) == 0
    problem, mine, proof = (tmp_path / file for file in (f"{name}.json", "mine.json", f"{name}.proof.json"))
    mine.write_text(json.dumps({"posterior": json.loads(problem.read_text())["posterior"]}))
    assert main(["judge", str(problem), str(mine)]) == 0
    assert capsys.readouterr().out.endswith(f"The optimum is proven by {proof} ('pacb verify' checks it).\n")
    assert answer(capsys, problem, mine)[1]["proof"] == str(proof)
    proof.unlink()
    assert main(["judge", str(problem), str(mine)]) == 0
    assert "pacb verify" not in capsys.readouterr().out
