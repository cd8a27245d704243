"""Solvers against each other."""

import math
from dataclasses import replace

import numpy as np
import pytest

import pacb_models as pm
from pacb_models.solution import Outcome
from pacb_models.solving.checking import verdict

from ..own_bounds import Returns
from ..solvers.solver_checks import TWO_MINIMA

NUMPY_SOLVERS = ["frontier", "fixed-point", "subset-search"]
PROBLEM = pm.BoundProblem(np.linspace(0.1, 0.4, 12), m=300, delta=0.05, distance="kl")

SOLVED = replace(pm.solve(PROBLEM), lower_bound=None, proof=None, is_global=False)


def solution(bound: float, status: str = "optimal", residual: float = 0.0, message: str = "", **lower: float):
    return replace(SOLVED, bound=bound, status=status, kkt_residual=residual, message=message, **lower)


@pytest.mark.parametrize(
    "found, gap, expected",
    [
        (solution(0.3), 0.0, "agrees"),
        (solution(0.3), 1e-7, "agrees"),
        (solution(0.3), -1e-8, "agrees"),
        (solution(0.3), -1e-6, "below the reference by 1.0e-06"),
        (solution(0.3), 1e-3, "worse by 1.0e-03"),
        (solution(0.3, residual=1e-5), 1e-3, "claims optimal but is not"),
        (solution(0.3, "acceptable", residual=1e-5), 1e-3, "worse by 1.0e-03"),
        (solution(0.3, "acceptable"), 1e-8, "agrees"),
        (solution(0.3, "not_converged"), 0.0, "failed: not_converged"),
        (solution(0.3, "time_limit", message="after 1 s"), 0.1, "failed: time_limit, after 1 s"),
        (solution(0.3, "not_converged"), -1.0, "below the reference by 1.0e+00"),
        (solution(0.3, "not_converged", details={"constraint_violation": 2e-5}), -1.0, "failed: not_converged"),
    ],
)
def test_verdicts(found, gap, expected):
    assert verdict(found, gap, 1e-7) == expected


@pytest.mark.parametrize(
    "lower, smallest, expected",
    [
        (0.3, 0.3, "agrees"),
        (0.2, 0.3, "agrees"),
        (0.3 + 1e-13, 0.3, "agrees"),
        (0.3, 0.2, "its lower bound is refuted, by 1.0e-01"),
        (0.3, 0.3 - 1e-9, "its lower bound is refuted, by 1.0e-09"),
    ],
)
def test_lower_bounds_have_to_be_below_every_bound(lower, smallest, expected):
    assert verdict(solution(0.3, lower_bound=lower), 0.0, 1e-7, smallest) == expected
    assert verdict(solution(0.3, claimed_lower_bound=lower), 0.0, 1e-7, smallest) == expected


def claims(name: str, lower: float) -> Returns:
    """A solver that returns the prior and claims that no bound is below a number."""
    return Returns(lambda problem: Outcome(problem.prior, "not_converged", claimed_lower_bound=lower), name=name)


def test_certified_minimum_between_lower_and_upper_bounds():
    certified = pm.solve(PROBLEM, "frontier").bound
    low, high = claims("low", certified - 1e-3), claims("high", certified + 1e-3)
    check = pm.cross_check(PROBLEM, ["frontier", low, high])
    rows = {row.solver: row for row in check.rows}
    assert rows["frontier"].agrees
    assert rows["low"].claimed_lower_bound == certified - 1e-3 and not rows["low"].refuted
    assert rows["low"].lower_bound is None
    assert rows["high"].verdict == "its lower bound is refuted, by 1.0e-03" and rows["high"].refuted
    assert not check.agree
    assert check.lower_bound == rows["frontier"].lower_bound >= certified * (1.0 - 1e-9)
    assert check.as_dict()["rows"][1]["claimed_lower_bound"] == certified - 1e-3
    assert "its lower bound is refuted" in str(check) and "proven: no bound is below" in str(check)
    assert "low says: no bound is below" in str(check) and "high says" not in str(check)


def test_reference_that_was_not_asked_for_refutes_a_lower_bound():
    certified = pm.solve(PROBLEM, "frontier").bound
    assert pm.cross_check(PROBLEM, [claims("high", certified + 1e-3)]).rows[0].refuted


def test_a_worse_local_minimum_is_seen_whoever_is_asked():
    """The search with the early break finds it."""
    check = pm.cross_check(TWO_MINIMA, NUMPY_SOLVERS)
    verdicts = {row.solver: row.verdict for row in check.rows}
    assert verdicts == {"frontier": "agrees", "fixed-point": "agrees", "subset-search": "worse by 3.6e-02"}
    assert not check.agree
    assert pm.cross_check(TWO_MINIMA, NUMPY_SOLVERS, options={"subset-search": {"early_break": False}}).agree
    # The reference is exact even when it was not asked for.
    alone = pm.cross_check(TWO_MINIMA, ["subset-search"])
    assert alone.reference == "frontier" and [row.solver for row in alone.rows] == ["subset-search"]
    assert not alone.agree


def test_failure_of_one_solver_does_not_hide_the_others():
    options = {"fixed-point": {"max_iterations": 1}, "subset-search": {"no_such_option": 1}}
    check = pm.cross_check(PROBLEM, NUMPY_SOLVERS, options=options)
    rows = {row.solver: row for row in check.rows}
    assert rows["frontier"].agrees
    assert rows["fixed-point"].verdict.startswith("failed: iteration_limit")
    assert rows["subset-search"].status == "error"
    assert "option 'no_such_option' is unknown" in rows["subset-search"].verdict
    assert math.isnan(rows["subset-search"].bound)


def test_table():
    check = pm.cross_check(PROBLEM, NUMPY_SOLVERS)
    lines = str(check).splitlines()
    assert lines[0].split()[:4] == ["solver", "status", "bound", "gap"]
    assert len(lines) == 6
    assert lines[-2].startswith("reference: frontier, bound 0.")
    assert lines[-1].startswith("proven: no bound is below 0.")
    frame = check.to_frame()
    assert frame["solver"].tolist() == NUMPY_SOLVERS
    assert frame["verdict"].eq("agrees").all()


def test_a_notebook_shows_tables():
    problem = pm.BoundProblem([0.1, 0.2, 0.4], m=100, distance="linear")
    shown = pm.solve(problem)._repr_html_()
    assert "frontier: optimal, the global minimum" in shown and shown.count("<tr>") >= 6
    table = pm.cross_check(problem, solvers=["frontier", "mirror"])._repr_html_()
    assert "All 2 solvers agree" in table and "mirror" in table and "<script" not in table
