"""Ipopt on the Pyomo models."""

import os
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

import pacb_models as pm
from pacb_models.benchmarks.problems.problem import PAPER_DATASETS
from pacb_models.benchmarks.problems.risks import load_risk_table
from pacb_models.solvers.nonlinear.interior_point import STATUS_MAP
from pacb_models.solvers.nonlinear.ipopt import read_log
from pacb_models.solving.registry import get_solver

from .solver_checks import TWO_MINIMA, make

RNG = np.random.default_rng(5)
RISKS = np.append(RNG.binomial(200, 0.2, 25) / 200, [0.0, 0.0])
PRIOR = RNG.dirichlet(np.ones(27))


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
    problem = make(RISKS, "kl", "chi2", prior=PRIOR)
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
