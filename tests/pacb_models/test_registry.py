"""Finding solvers, choosing one, judging what it returns; and many problems at once."""

import math
from importlib.metadata import EntryPoint

import numpy as np
import pytest

import pacb_models as pm
from pacb_models.benchmarks.harness.measurement import Measurement
from pacb_models.benchmarks.harness.referee import by_weights
from pacb_models.benchmarks.harness.worker import outcome
from pacb_models.benchmarks.verdict import success
from pacb_models.problem import Problem
from pacb_models.solution import Outcome, Status
from pacb_models.solver import Solver
from pacb_models.solving import registry
from pacb_models.solving.judging import ACCEPTABLE_RESIDUAL, OPTIMAL_RESIDUAL, assess
from pacb_models.solving.registry import capable_solvers, get_solver
from pacb_models.wording import at_least

from ..own_bounds import Returns

PROBLEM = pm.BoundProblem([0.1, 0.2, 0.4], m=500, delta=0.05, distance="squared")
OPTIMUM = pm.solve(PROBLEM, "fixed-point").posterior
# Multiples of 2⁻⁵⁰ that sum to one exactly, on every processor: others would be normalised, in their last digits.
OPTIMUM[1:] = np.round(OPTIMUM[1:] * 2.0**50) / 2.0**50
OPTIMUM[0] = 1.0 - OPTIMUM[1:].sum()
PROOF = pm.solve(PROBLEM, "frontier").proof
PROVEN = pm.check_proof(PROBLEM, PROOF)


@pytest.fixture
def installed(monkeypatch):
    """Registers solvers for one test, as entry points would."""

    def install(*solvers: Solver) -> None:
        class Point:
            def __init__(self, solver):
                self.solver = solver

            def load(self):
                return self.solver

        table = registry._entry_points() | {solver.name: Point(solver) for solver in solvers}
        monkeypatch.setattr(registry, "_entry_points", lambda: table)

    return install


# --- finding and choosing ---------------------------------------------------------------------------------------------


def test_availability_for_a_problem():
    table = pm.available_solvers(pm.BoundProblem([0.1], m=5, distance="pinsker", divergence="kl"))
    assert table["fixed-point"].available
    assert not table["subset-search"].available
    assert "the kl divergence lacks the method `supports`" in table["subset-search"]


def test_auto_takes_the_exact_one_and_others_have_to_be_there_and_able():
    assert get_solver("frontier").exact and pm.solve(PROBLEM).solver == "frontier"
    with pytest.raises(pm.InputError, match=r"solver is 'magic'; it must be 'auto' or one of 'frontier', .*'slsqp'"):
        pm.solve(PROBLEM, "magic")
    with pytest.raises(pm.UnsupportedProblemError, match=r"'subset-search' cannot .*pinsker.*kl.*fixed-point"):
        pm.solve(PROBLEM.replace(distance="pinsker", divergence="kl"), "subset-search")


def test_missing_software(installed):
    about = {"requires": ("no_such_module",), "install": "pip install no-such-module"}
    installed(Returns(None, name="needs-more", **about))
    assert not pm.available_solvers()["needs-more"].available
    with pytest.raises(pm.SolverUnavailableError, match="no_such_module not installed: pip install no-such-module"):
        pm.solve(PROBLEM, "needs-more")


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("target", ["no_such_module:SOLVER", "math:SOLVER", "math:pi"])
def test_broken_entry_point_is_reported_and_harms_nobody(monkeypatch, target):
    broken = EntryPoint(name="broken", value=target, group=registry.SOLVERS_GROUP)
    table = registry._entry_points() | {"broken": broken}
    monkeypatch.setattr(registry, "_entry_points", lambda: table)
    assert "cannot be used" in pm.available_solvers()["broken"]
    assert pm.solve(PROBLEM).status == "optimal"
    with pytest.raises(pm.SolverUnavailableError, match=r"'broken' cannot run here: .* cannot be used"):
        pm.solve(PROBLEM, "broken")
    check = pm.cross_check(PROBLEM, ["fixed-point", "broken"])
    assert [row.status for row in check.rows] == ["optimal", "unavailable"]


# --- options ----------------------------------------------------------------------------------------------------------


def test_unknown_option_lists_the_valid_ones():
    expected = (
        r"option 'max_iter' is unknown to solver 'fixed-point'; its options are 'time_limit', 'start', "
        r"'starts', 'seed', 'max_iterations', 'tolerance', 'trace', 'variant', 'safeguard'\."
    )
    with pytest.raises(pm.InputError, match=expected):
        pm.solve(PROBLEM, "fixed-point", max_iter=3)


def test_the_problem_is_no_option():
    with pytest.raises((pm.InputError, TypeError)):
        pm.solve(PROBLEM, "fixed-point", problem=PROBLEM)


def test_solver_that_takes_any_option_judges_itself(installed):
    installed(Returns(lambda problem, **options: Outcome(problem.prior, "not_converged", ",".join(options))))
    assert pm.solve(PROBLEM, "returns", a=1, b=2).message == "a,b"


# --- judging ----------------------------------------------------------------------------------------------------------


def judged(weights, status="optimal", **fields):
    weights = None if weights is None else np.asarray(weights, dtype=float)
    return assess(PROBLEM, Outcome(weights, status, **fields), "anything", 0.25)


def test_everything_is_recomputed():
    assert OPTIMUM.sum() == 1.0
    solution = judged(OPTIMUM, iterations=7, proof=PROOF, setup_seconds=0.5)
    assert solution.bound == PROBLEM.bound(OPTIMUM)
    assert solution.empirical_risk == PROBLEM.empirical_risk(OPTIMUM)
    assert solution.divergence == pytest.approx(PROBLEM.statistic(OPTIMUM) - 1.0, abs=1e-15)
    assert solution.kkt_residual == PROBLEM.kkt_residual(OPTIMUM) <= 1e-10
    assert solution.support_size == np.count_nonzero(OPTIMUM)
    assert (solution.status, solution.iterations, solution.seconds, solution.setup_seconds) == ("optimal", 7, 0.25, 0.5)
    assert solution.is_global
    for above in (0.0, 1e-9):
        message = judged(OPTIMUM, claimed_lower_bound=solution.bound + above).message
        assert ("is above the bound of its own weights" in message) == (above > 0.0)
    capped = PROBLEM.replace(distance="linear", constraints=[pm.weights(at_most=0.5)])
    message = assess(capped, Outcome(np.array([0.501, 0.499, 0.0]), "optimal"), "anything", 0.25).message
    assert "but its weights break the constraints by 1.0e-03" in message


@pytest.mark.parametrize("claim", ["optimal", "acceptable"])
def test_claims_by_residual(claim):
    """Walk away from the optimum: the strongest word the residual allows, never a stronger one than was said."""
    seen = set()
    for distance in (0.0, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 1e-2, 0.1):
        solution = judged((1 - distance) * OPTIMUM + distance * PROBLEM.prior, claim)
        if solution.kkt_residual <= OPTIMAL_RESIDUAL:
            assert solution.status == claim
        elif solution.kkt_residual <= ACCEPTABLE_RESIDUAL:
            assert solution.status == "acceptable"
        else:
            assert solution.status == "not_converged" and f"said '{claim}'" in solution.message
        seen.add(solution.status)
    assert seen == {claim, "acceptable", "not_converged"}


@pytest.mark.outside
@pytest.mark.parametrize(
    ("off", "held"),
    [(5e-7, "optimal"), (-5e-7, "optimal"), (5e-6, "acceptable"), (-5e-6, "acceptable"), (5e-3, "not_converged")],
)
def test_claims_by_distance_from_the_simplex(off, held):
    """The harness must not reject what is called optimal here: normalising hides weights that sum to something else."""
    solution = judged((1.0 + off) * OPTIMUM, proof=PROOF)
    assert solution.kkt_residual <= 1e-10
    assert solution.status == held and solution.is_global == (held == "optimal")
    assert ("off the simplex by" in solution.message) == (held != "optimal")
    said = outcome(solution)
    returned = {field: said[field] for field in ("status", "simplex_residual", "posterior")}
    facts = {"key": "k", "problem": "p", "family": "f", "solver": "s", "settings": {}, "time_limit": 1.0}
    row = Measurement(**(facts | by_weights(PROBLEM, "anything", returned)))
    assert row.claims == success(row) == (held == "optimal")


@pytest.mark.parametrize("status", sorted(set(Status) - {"optimal", "acceptable"}))
def test_other_statuses_stand(status):
    assert judged(OPTIMUM, status).status == status
    assert judged(PROBLEM.prior, status).status == status


def leave(problem):
    raise SystemExit("bye")


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (lambda _: None, "returned None; it must return an Outcome"),
        (lambda _: 0.5, "returned 0.5; it must return an Outcome"),
        (lambda _: Outcome(OPTIMUM, "fine"), "returned the status 'fine'"),
        (lambda _: Outcome(OPTIMUM, "optimal", iterations="many"), "returned the iterations 'many'"),
        (lambda _: Outcome(OPTIMUM, "optimal", setup_seconds=None), "returned the setup_seconds None"),
        (lambda _: Outcome(OPTIMUM, "optimal", claimed_lower_bound="0"), "returned the claimed_lower_bound '0'"),
        (lambda _: Outcome(OPTIMUM, "optimal", message=None), "returned the message None"),
        (lambda _: Outcome(0.5, "optimal"), "returned the posterior 0.5"),
        (lambda _: Outcome(OPTIMUM[:-1], "optimal"), "returned the posterior"),
        (lambda _: Outcome(["a"] * OPTIMUM.size, "optimal"), "returned the posterior"),
        (lambda _: 1 / 0, "ZeroDivisionError"),
        (leave, "SystemExit: bye"),
    ],
)
def test_a_solver_that_returns_or_raises_anything_costs_its_own_row(answer, complaint):
    table = pm.cross_check(PROBLEM, ["fixed-point", Returns(answer)])
    assert [row.status for row in table.rows] == ["optimal", "error"]
    assert complaint in table.rows[1].verdict
    assert "agrees" in str(table)


@pytest.mark.parametrize("reason", [pm.InputError("option a is 1."), KeyboardInterrupt(), MemoryError()])
def test_what_is_not_the_solver_s_failure_is_handed_on(reason):
    def answer(problem):
        raise reason

    with pytest.raises(type(reason)) as caught:
        pm.solve(PROBLEM, Returns(answer))
    assert caught.value is reason


def test_a_solver_that_cannot_say_what_it_handles_keeps_no_other_from_running(installed):
    installed(Returns(None, unsupported=lambda problem: 1 / 0))
    assert "ZeroDivisionError" in pm.available_solvers(PROBLEM)["returns"]
    assert "returns" not in capable_solvers(PROBLEM)
    assert pm.solve(PROBLEM).status == "optimal"


def test_solutions_can_be_compared_and_put_into_sets():
    one, other = pm.solve(PROBLEM), pm.solve(PROBLEM)
    assert one == one and one != other
    assert len({one, other}) == 2


@pytest.mark.parametrize("solvers", ["fixed-point", get_solver("fixed-point"), ("fixed-point",)])
def test_one_solver_may_be_named_alone(solvers):
    assert [row.solver for row in pm.cross_check(PROBLEM, solvers).rows] == ["fixed-point"]


@pytest.mark.parametrize("weights", [None, [0.0, 0.0, 0.0], [np.nan, 0.5, 0.5], [np.inf, 0.0, 0.0], [-1.0, -2.0, 0.0]])
def test_unusable_weights(weights):
    solution = judged(weights)
    assert solution.status == "numerical_error"
    assert solution.posterior is None
    assert solution.bound == np.inf
    assert solution.as_dict()["bound"] is None


def test_negative_noise_is_cut_off():
    solution = judged([1.0 + 1e-9, -1e-9, 0.0], "not_converged")
    assert solution.posterior.tolist() == [1.0, 0.0, 0.0]
    assert solution.support_size == 1


def test_a_proof_holds_whatever_the_weights_and_the_status_are():
    assert judged(OPTIMUM).lower_bound is None and judged(OPTIMUM).proof is None
    assert PROBLEM.bound(OPTIMUM) * (1.0 - 1e-9) <= PROVEN <= PROBLEM.bound(OPTIMUM)
    for weights, status in (
        (PROBLEM.prior, "time_limit"),
        (PROBLEM.prior, "optimal"),
        (None, "error"),
        (OPTIMUM, "acceptable"),
    ):
        solution = judged(weights, status, proof=PROOF)
        assert solution.lower_bound == PROVEN and solution.proof is PROOF
        assert not solution.is_global


def test_a_proof_is_checked_again():
    """Of another problem, or no proof at all: nothing is proven, and the message says so."""
    other = pm.solve(pm.BoundProblem([0.1, 0.2, 0.4], m=500, divergence="kl"), "frontier").proof
    solution = judged(OPTIMUM, proof=other)
    assert solution.lower_bound is None or solution.lower_bound <= PROVEN
    solution = judged(OPTIMUM, proof="surely")
    assert (solution.status, solution.is_global, solution.lower_bound, solution.proof) == ("optimal", False, None, None)
    assert "nothing is proven: str is no proof." in solution.message


def test_a_claimed_lower_bound_is_handed_on_and_proves_nothing():
    for weights, status in ((OPTIMUM, "optimal"), (PROBLEM.prior, "time_limit"), (None, "error")):
        solution = judged(weights, status, claimed_lower_bound=0.1)
        assert solution.claimed_lower_bound == 0.1
        assert solution.lower_bound is None and not solution.is_global
    # Above by rounding only.
    assert judged(OPTIMUM, claimed_lower_bound=PROBLEM.bound(OPTIMUM) + 1e-14).message == ""


@pytest.mark.parametrize("excess", [1e-9, math.inf, math.nan])
def test_a_claimed_lower_bound_that_the_weights_refute(excess):
    solution = judged(OPTIMUM, claimed_lower_bound=PROBLEM.bound(OPTIMUM) + excess)
    assert solution.lower_bound is None
    assert not solution.is_global
    assert "above the bound of its own weights" in solution.message


def test_lower_bounds_are_shown_where_there_are_some():
    none, claimed, proven = judged(OPTIMUM), judged(OPTIMUM, claimed_lower_bound=0.125), judged(OPTIMUM, proof=PROOF)
    assert "lower_bound" not in repr(none) and "lower_bound" not in repr(claimed)
    assert f"lower_bound={at_least(PROVEN, 10)})" in repr(proven)
    assert none.as_dict()["lower_bound"] is None and none.as_dict()["claimed_lower_bound"] is None
    assert claimed.as_dict()["claimed_lower_bound"] == 0.125
    assert proven.as_dict()["lower_bound"] == PROVEN and "proof" not in proven.as_dict()
    assert "anything claims" in claimed._repr_html_() and "anything claims" not in none._repr_html_()


def test_status_words_of_the_contract():
    failures = "restoration_failed numerical_error not_converged unavailable error"
    assert set(Status) == set(f"optimal acceptable iteration_limit time_limit infeasible {failures}".split())


# --- many problems --------------------------------------------------------------------------------------------------


def mixture() -> list[Problem]:
    random = np.random.default_rng(3)
    problems = [
        kind(random.random(size), m, distance=distance, divergence=divergence)
        for kind in (pm.BoundProblem, pm.DirectProblem)
        for size in (3, 5)
        for m in (10, 100)
        for distance in ("linear", "squared", "kl")
        for divergence in ("chi2", "kl")
    ]
    random.shuffle(problems)
    return problems


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_mixture_keeps_its_order(n_jobs):
    problems = mixture()
    for problem, solution in zip(problems, pm.solve_many(iter(problems), n_jobs=n_jobs), strict=True):
        alone = pm.solve(problem)
        np.testing.assert_array_equal(solution.posterior, alone.posterior)
        assert (solution.bound, solution.status, solution.is_global) == (alone.bound, alone.status, alone.is_global)
    assert pm.solve_many([], n_jobs=n_jobs) == []


def test_another_solver():
    problems = [pm.BoundProblem([0.1, 0.2, 0.3], m=m, distance="squared") for m in (100, 200)]
    solutions = pm.solve_many(problems, "fixed-point")
    assert [(each.solver, each.is_global) for each in solutions] == [("fixed-point", False)] * 2
    assert [each.bound for each in solutions] == pytest.approx(
        [each.bound for each in pm.solve_many(problems)], abs=1e-9
    )


@pytest.mark.parametrize("n_jobs", [0, 1.5, True, "two"])
def test_a_number_of_processes_that_is_none(n_jobs):
    with pytest.raises(pm.InputError, match=r"n_jobs is .*; it must be a whole number other than 0, or None"):
        pm.solve_many([], n_jobs=n_jobs)
