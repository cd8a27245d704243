"""Nonlinear codes: Ipopt on the Pyomo models and with hand-written derivatives, and the codes that others maintain."""

import os
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pacb_models as pm
from pacb_models.benchmarks.problems.problem import PAPER_DATASETS, table_problem
from pacb_models.benchmarks.problems.risks import load_risk_table
from pacb_models.solution import Status
from pacb_models.solvers.nonlinear import native
from pacb_models.solvers.nonlinear.cyipopt_nlp import lifted
from pacb_models.solvers.nonlinear.interior_point import STATUS_MAP
from pacb_models.solvers.nonlinear.ipopt import read_log
from pacb_models.solving.registry import get_solver

from ..drawn import PAIRS, arrays, weights
from .solver_checks import CONCENTRATED, TWO_MINIMA, distance_to_a_minimum, make

RNG = np.random.default_rng(8)
RISKS = RNG.binomial(200, 0.2, 40) / 200
PRIOR = RNG.dirichlet(np.full(40, 3.0))
#: Two of them never err.
FEW, FEW_PRIOR = np.append(RISKS[:9], [0.0, 0.0]), PRIOR[:11] / PRIOR[:11].sum()


# --- Ipopt on the Pyomo models ---------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("constant", ["exact", "paper"])
@pytest.mark.parametrize("name", PAPER_DATASETS)
def test_kl_grid_of_the_paper(name, constant):
    """The paper's Ipopt failed in 34 of these 45 cells."""
    table = load_risk_table(name)
    for size in (50, 200, 500, 1000, 1990):
        problem = pm.BoundProblem(table.risks(size), table.m, 0.01, "kl", constant=constant)
        solution = pm.solve(problem, "ipopt")
        assert solution.status == "optimal", f"H = {size}: {solution.message}"
        assert -1e-12 <= solution.bound - pm.solve(problem, "frontier").bound <= 1e-7


def test_default_options_fail_where_the_papers_did():
    """The paper's formulation, Ipopt's own options: the start is pushed out of kl's domain at once."""
    table = load_risk_table("spambase")
    problem = pm.BoundProblem(table.risks(500), table.m, 0.01, "kl", constant="paper")
    failed = pm.solve(problem, "ipopt", merge=False, formulation="substituted", defaults=True)
    assert failed.status == "numerical_error" and failed.details["ipopt_codes"] == [-13]
    assert pm.solve(problem, "ipopt", merge=False, formulation="substituted").status == "optimal"


def test_default_options_are_ipopts_own():
    """Its relaxed bounds let weights go below zero; what is reported is the bound of the weights put on the simplex."""
    problem = pm.BoundProblem([0.0, 0.1, 0.2, 0.5, 0.9, 1.0], 500, 0.05, "squared")
    solution = pm.solve(problem, "ipopt", defaults=True)
    assert solution.details["simplex_violation"] > 1e-9
    assert pm.solve(problem, "ipopt").details["simplex_violation"] < 1e-12
    assert solution.posterior.min() >= 0.0
    assert solution.bound >= pm.solve(problem, "frontier").bound - 1e-12


def test_a_minimum_without_errors_beside_a_better_one():
    """Mushroom, 200 classifiers: zero risk is a local minimum, and a bound 4.5e-7 smaller is to be had with some."""
    table = load_risk_table("mushroom")
    problem = pm.BoundProblem(table.risks(200), table.m, 0.01, "kl")
    solution = pm.solve(problem, "ipopt", starts=6, seed=0)
    assert solution.empirical_risk > 0.0
    assert solution.bound == pytest.approx(pm.solve(problem, "frontier").bound, abs=1e-10)


LARGE = make(np.random.default_rng(0).binomial(2000, 0.2, 3000) / 2000, "kl", "chi2")


def test_time_limit_inside_ipopt():
    """Ipopt's own limit on wall-clock time, which neither cyipopt nor Pyomo knows how to report."""
    solution = pm.solve(LARGE, "ipopt", options={"max_wall_time": 1e-6})
    assert solution.status == "time_limit" and solution.details["ipopt_codes"] == [-5]
    assert solution.message == "Ipopt: Maximum wallclock time exceeded; time_limit was reached."
    assert np.isfinite(solution.bound)


def test_time_limit_counts_the_model():
    """A limit that is over while the model is built: Ipopt is not started."""
    solution = pm.solve(LARGE, "ipopt", time_limit=1e-3)
    assert (solution.status, solution.iterations) == ("time_limit", 0)
    assert solution.message == "the time limit was reached before Ipopt was started."


@pytest.fixture
def ipopt_program(tmp_path, monkeypatch):
    """An ``ipopt`` on PATH."""
    program = tmp_path / "ipopt"
    script = Path(__file__).with_name("ipopt_program.py")
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(script))} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return program


@pytest.fixture
def nothing_compiled(tmp_path, monkeypatch):
    """An environment without the ASL library and without an ``ipopt``."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))


@pytest.mark.outside
def test_program(ipopt_program):
    problem = make(FEW, "kl", "chi2", prior=FEW_PRIOR)
    reference, solution = (pm.solve(problem, "ipopt", interface=name) for name in ("cyipopt", "executable"))
    assert (solution.status, solution.iterations) == ("optimal", reference.iterations)
    assert solution.bound == pytest.approx(reference.bound, abs=1e-12)
    assert (solution.posterior > 0).tolist() == (reference.posterior > 0).tolist()
    few = pm.solve(TWO_MINIMA, "ipopt", interface="executable", max_iterations=2)
    assert (few.status, few.iterations) == ("iteration_limit", 2)
    with pytest.raises(pm.InputError, match=r"'tool'.* is refused by Ipopt"):
        pm.solve(TWO_MINIMA, "ipopt", interface="executable", options={"tool": 1})


@pytest.mark.outside
def test_program_that_hangs(ipopt_program):
    """A program that does not look at the clock is stopped."""
    ipopt_program.write_text('#!/bin/sh\ntest "$1" = -v && echo "Ipopt 3.14.0" && exit\nexec sleep 100\n')
    assert pm.solve(TWO_MINIMA, "ipopt", interface="executable", time_limit=1.0).status == "time_limit"


@pytest.mark.outside
@pytest.mark.parametrize("options", [{"interface": "executable"}, {}])
def test_program_that_crashes(options, request, ipopt_program, tmp_path, monkeypatch):
    """The program is used when it is asked for, and when the library is missing."""
    if not options:
        request.getfixturevalue("nothing_compiled")
        monkeypatch.setenv("PATH", str(tmp_path))
    ipopt_program.write_text("#!/bin/sh\necho no licence\nexit 1\n")
    (tmp_path / "files").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "files"))
    assert get_solver("ipopt").missing() is None
    solution = pm.solve(TWO_MINIMA, "ipopt", **options)
    assert solution.status == "error"
    assert re.search(r"the program ipopt did not run to its end; it printed: .*no licence", solution.message)
    assert list((tmp_path / "files").iterdir()) == []


def test_missing_says_what_to_install(nothing_compiled):
    sentence = get_solver("ipopt").missing()
    assert "libpynumero_ASL" in sentence and "make setup" in sentence and "conda install" in sentence
    with pytest.raises(pm.SolverUnavailableError, match="libpynumero_ASL"):
        pm.solve(TWO_MINIMA, "ipopt")


@pytest.mark.parametrize("interface", ["cyipopt", "executable"])
def test_interfaces_that_are_missing(nothing_compiled, interface):
    with pytest.raises(pm.SolverUnavailableError, match=interface):
        get_solver("ipopt").run(TWO_MINIMA, interface=interface)


def test_log_of_every_ending():
    for code, ending in STATUS_MAP.items():
        assert read_log(f"Number of Iterations....: 17\n\nEXIT: {ending.printed}, and more.\n") == (code, 17)
    assert read_log("EXIT: Gone fishing.\n") == (-199, None)


@pytest.mark.skipif(np.finfo(np.longdouble).eps >= 2.0**-52, reason="long double is double here: nothing to keep")
def test_long_doubles_keep_their_digits():
    # The ASL library sets the x87 unit to double precision.
    pm.solve(TWO_MINIMA, "ipopt", interface="cyipopt")
    assert np.longdouble(1.0) + np.finfo(np.longdouble).eps > 1.0


@pytest.mark.parametrize("solver", ["ipopt", "cyipopt"])
def test_ipopts_own_complaint_is_not_on_standard_output(solver, capfd):
    with pytest.raises(pm.InputError, match="bogus"):
        pm.solve(pm.BoundProblem([0.1, 0.2], 50, distance="linear"), solver, options={"bogus": 1})
    assert capfd.readouterr().out == ""


# --- its library and its program -------------------------------------------------------------------------------------


@pytest.fixture
def bare_paths(monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)


def test_environment_is_appended_once_and_never_put_first(bare_paths):
    native.use_environment_folders()
    once = os.environ["PATH"].split(os.pathsep)
    native.use_environment_folders()
    assert os.environ["PATH"].split(os.pathsep) == once
    assert once[0] == "/usr/bin"
    assert str(Path(sys.prefix) / "bin") in once


def test_library_path_goes_before_path_as_in_pyomo(bare_paths, monkeypatch, tmp_path):
    for variable, name in (("PATH", "second"), ("LD_LIBRARY_PATH", "first")):
        (tmp_path / name).mkdir()
        (tmp_path / name / native.ASL_LIBRARY).touch()
        monkeypatch.setenv(variable, str(tmp_path / name))
        assert native.find_asl_library() == tmp_path / name / native.ASL_LIBRARY


def test_executable_of_the_environment_is_found_without_activation(bare_paths, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert native.find_asl_library() is None and native.find_ipopt_executable() is None
    program = tmp_path / "bin" / "ipopt"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    assert native.find_ipopt_executable() is None  # not executable yet
    program.chmod(0o755)
    assert native.find_ipopt_executable() == program


# --- Ipopt with hand-written derivatives -----------------------------------------------------------------------------


@st.composite
def points(draw, problem):
    """Interior points of the lifted problem's domain, with L and T not tied to the weights."""
    q, T = 0.9 * draw(weights(problem.size)) + 0.1 * problem.prior, problem.divergence_size(problem.prior)
    return np.append(q, (draw(st.floats(0.05, 0.6)), T + draw(st.floats(0.1, 2.0))))


def check_derivatives(derivatives, function, x, rel=1e-6):
    """Fourth-order central differences, one row per component of the function, within what rounding does to them."""
    for i in range(x.size):
        h = 1e-3 * x[i] * np.eye(x.size)[i]
        near, far = function(x + h) - function(x - h), function(x + 2 * h) - function(x - 2 * h)
        rounding = 2.0**-50 * np.abs(function(x)).max() / h[i]
        assert derivatives[..., i] == pytest.approx((8 * near - far) / (12 * h[i]), rel=rel, abs=rounding)


@pytest.mark.long
@pytest.mark.parametrize("divergence, distance", PAIRS)
@settings(max_examples=8)
@given(data=st.data())
def test_derivatives_against_finite_differences(divergence, distance, data):
    rows = [pm.average(FEW[::-1], at_most=0.3), pm.average(FEW**2, at_least=0.01)]
    nlp = lifted(make(FEW, distance, divergence, prior=FEW_PRIOR).replace(constraints=rows))
    x = data.draw(points(nlp.problem))
    check_derivatives(nlp.gradient(x), nlp.objective, x)

    jacobian = np.zeros((5, x.size))
    jacobian[nlp.jacobianstructure()] = nlp.jacobian(x)
    check_derivatives(jacobian, nlp.constraints, x)

    multipliers, factor = data.draw(arrays(st.floats(-2.0, 2.0), 5)), data.draw(st.floats(0.1, 2.0))

    def slope_of_the_lagrangian(at):
        rows = np.zeros((5, at.size))
        rows[nlp.jacobianstructure()] = nlp.jacobian(at)
        return factor * nlp.gradient(at) + multipliers @ rows

    hessian = np.zeros((x.size, x.size))
    rows, columns = nlp.hessianstructure()
    assert (rows >= columns).all()
    hessian[rows, columns] = nlp.hessian(x, multipliers, factor)
    hessian[columns, rows] = hessian[rows, columns]
    check_derivatives(hessian, slope_of_the_lagrangian, x)


@pytest.mark.parametrize("divergence, distance", PAIRS)
def test_many_copies_of_a_classifier_change_nothing(divergence, distance):
    """Scaling: with each classifier 500 times the bound and its accuracy stay the same."""
    few = make(FEW, distance, divergence, prior=FEW_PRIOR)
    many = make(np.repeat(FEW, 500), distance, divergence, prior=np.repeat(FEW_PRIOR / 500, 500))
    one, other = pm.solve(few, "cyipopt"), pm.solve(many, "cyipopt")
    assert one.status == other.status == "optimal"
    assert other.bound == pytest.approx(one.bound, abs=1e-9)
    assert other.kkt_residual <= 1e-7


def test_weights_that_should_be_zero_are_zero():
    problem = make([0.1, 0.11, 0.5, 0.9], "squared", "chi2", m=5000)
    reference, solution = pm.solve(problem, "frontier"), pm.solve(problem, "cyipopt")
    assert 0 < reference.support_size < 4
    assert (solution.posterior > 0).tolist() == (reference.posterior > 0).tolist()

    # A start with weights of zero is moved inside.
    vertex = pm.solve(TWO_MINIMA, "cyipopt", start=np.eye(50)[0])
    assert vertex.status == "optimal" and vertex.support_size > 1


def test_time_limit_between_the_starts():
    """The limit is for all starts together; what was found by then is reported."""
    problem = make(np.random.default_rng(1).binomial(200, 0.2, 2000) / 200, "kl", "chi2")
    solution = pm.solve(problem, "cyipopt", starts=100_000, time_limit=1.0)
    assert 1 <= len(solution.details["bounds"]) < 100_000
    assert solution.status == "time_limit" or (solution.status == "optimal" and "starts" in solution.message)


def test_raw_options_override_ours():
    loose = pm.solve(TWO_MINIMA, "cyipopt", options={"tol": 1e-2, "acceptable_tol": 1e-2})
    tight = pm.solve(TWO_MINIMA, "cyipopt", options={"tol": 1e-10})
    assert loose.iterations < tight.iterations and loose.kkt_residual > tight.kkt_residual


# --- CasADi's codes, those behind CVXPY, and SciPy's minimisers ------------------------------------------------------


def test_cvxpy_s_first_step_is_from_the_start():
    """Its later ones may lead elsewhere: CVXPY adds variables of its own, and Ipopt takes another way."""
    after_one = pm.solve(TWO_MINIMA, "dnlp", start=CONCENTRATED, max_iterations=1)
    assert after_one.bound == pytest.approx(TWO_MINIMA.bound(CONCENTRATED), abs=2e-3)
    assert after_one.posterior[:2].sum() > 0.9


def test_evaluations_are_counted():
    details = pm.solve(make(RISKS, "kl", "chi2"), "casadi").details
    assert details["gradient_evaluations"] > 3 and details["function_evaluations"] > 3


@pytest.mark.parametrize("plugin", ["sqpmethod", "sleqp"])
def test_other_plugins_claim_nothing_that_does_not_hold(plugin):
    """Sequential quadratic programming often ends far from the minimum; what it says of that is corrected."""
    for divergence, distance in PAIRS:
        problem = make(RISKS[:10], distance, divergence)
        solution = pm.solve(problem, "casadi", plugin=plugin, max_iterations=100)
        gap = solution.bound - pm.solve(problem, "frontier").bound
        assert solution.status in set(Status) and gap >= -1e-12
        assert gap <= 1e-5 or solution.status not in ("optimal", "acceptable"), (divergence, distance, gap)


@pytest.mark.parametrize("name", ["cyipopt", "casadi", "dnlp", "ipopt"])
@pytest.mark.parametrize("order", [6.0, 40.0])
def test_large_orders(name, order):
    """The statistic there is a number of many digits; Ipopt is given its root instead."""
    problem = pm.BoundProblem(RISKS, 400, 0.05, "kl", "renyi", PRIOR, order=order)
    solution = pm.solve(problem, name, max_iterations=500)
    assert solution.status == "optimal" and distance_to_a_minimum(solution) <= 1e-9


@pytest.mark.outside
@pytest.mark.parametrize("solver", ["ipopt", "cyipopt", "dnlp", "casadi"])
def test_a_file_of_options_in_the_current_directory_is_not_read(solver, tmp_path, monkeypatch):
    problem = pm.BoundProblem([0.1, 0.2, 0.3], m=100, distance="squared")
    monkeypatch.chdir(tmp_path)
    before = pm.solve(problem, solver)
    # What we set ourselves, and what we do not.
    (tmp_path / "ipopt.opt").write_text("max_iter 1\nmu_strategy adaptive\n")
    after = pm.solve(problem, solver)
    assert (after.status, after.iterations, after.bound) == (before.status, before.iterations, before.bound)
    assert after.status == "optimal"


def test_ipopt_reads_the_file_of_options_that_it_is_told_to(tmp_path):
    problem = pm.BoundProblem([0.1, 0.2, 0.3], m=100, distance="squared")
    (tmp_path / "mine.opt").write_text("max_iter 1\n")
    told = {"option_file_name": str(tmp_path / "mine.opt")}
    assert pm.solve(problem, "cyipopt", options=told).status == "iteration_limit"


@pytest.mark.parametrize("dataset", ["bupa", "mammographic", "haberman"])
def test_steps_that_vanish_at_the_minimum_are_a_success(dataset):
    """SciPy's trust-constr says so itself (its status 2, ``success=True``); the residual has the last word."""
    solution = pm.solve(table_problem(dataset, 50, "linear").build(), "trust-constr", merge=False)
    assert solution.status == "optimal" and solution.kkt_residual <= 1e-6


@pytest.mark.parametrize("method", ["slsqp", "trust-constr"])
def test_time_limit_returns_the_best_point_so_far(method):
    """At the prior the first value is taken; a limit between the first and the last leaves something better."""
    problem = make(np.random.default_rng(0).uniform(0.1, 0.3, 400), "squared", "chi2")
    solution = pm.solve(problem, method, time_limit=0.05)
    assert solution.status == "time_limit" and solution.bound <= problem.bound(problem.prior)


def test_no_errors_but_one():
    """At zero empirical risk the kl distance has infinite slopes, which a minimiser must survive."""
    problem = make([0.0, 0.0, 0.5], "kl", "chi2", m=1000)
    assert pm.solve(problem, "frontier").bound - 1e-12 <= pm.solve(problem, "slsqp").bound < np.inf


@pytest.mark.parametrize("method", ["slsqp", "trust-constr"])
def test_the_tolerance_is_one_on_the_residual(method):
    problem = make(RISKS, "squared", "chi2", prior=PRIOR)
    loose, tight = (pm.solve(problem, method, tolerance=tolerance) for tolerance in (1e-3, 1e-6))
    assert loose.iterations < tight.iterations
    assert loose.kkt_residual <= 1e-3 and tight.kkt_residual <= 1e-6
