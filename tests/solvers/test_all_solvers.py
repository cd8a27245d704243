"""Every registered solver passes the same checks; one that is registered without an entry here fails the suite."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pacb_models as pm
from pacb_models.solution import Status
from pacb_models.solvers.branch_and_bound import scip
from pacb_models.solvers.convex import conic
from pacb_models.solvers.nonlinear import casadi_nlp, dnlp, interior_point
from pacb_models.solving.registry import capable_solvers, get_solver, solver_names

from ..drawn import PAIRS, arrays, weights
from ..own_bounds import Doubled
from .solver_checks import (
    CONCENTRATED,
    FIRST_ORDER,
    GRADIENT,
    TWO_MINIMA,
    cases,
    check,
    distance_to_a_minimum,
    make,
)


class Entry(NamedTuple):
    """How a solver is checked: with which options, and which statuses it may end with."""

    options: tuple[dict[str, Any], ...] = ({},)
    statuses: tuple[str, ...] = ("optimal",)


ENTRIES = {
    "frontier": Entry(),
    "direct": Entry(),
    "fixed-point": Entry(),
    "subset-search": Entry(),
    "cvxpy": Entry(),
    "ipopt": Entry(options=({}, {"formulation": "substituted"}, {"starts": 2, "seed": 1})),
    "cyipopt": Entry(options=({}, {"starts": 2, "seed": 1})),
    "ccp": Entry(),
    # Asked for the last digit, SciPy's methods often end because they find no better point, and say so.
    "slsqp": Entry(statuses=("optimal", "acceptable")),
    "trust-constr": Entry(statuses=("optimal", "acceptable")),
    "mirror": Entry(),
    "spg": Entry(),
    "lbfgsb": Entry(),
    "frank-wolfe": Entry(),
    "softmax": Entry(),
    "casadi": Entry(),
    "dnlp": Entry(),
    "scip": Entry(),
}


RNG = np.random.default_rng(5)
RISKS = np.append(RNG.binomial(200, 0.2, 25) / 200, [0.0, 0.0])
PRIOR = RNG.dirichlet(np.full(27, 5.0))
#: Those that keep a limit of time.
LIMITED = [name for name in solver_names() if get_solver(name).keeps_time_limit]


def marks_of(name: str) -> list[pytest.MarkDecorator]:
    """SCIP runs in a process of its own, and only the exact methods are quick."""
    if name == "scip":
        return [pytest.mark.outside]
    return [] if name in ("frontier", "direct", "fixed-point") else [pytest.mark.long]


CASES = [
    pytest.param(name, case, options, id=f"{name}-{case}{k}", marks=marks_of(name))
    for name, entry in ENTRIES.items()
    for case in cases()
    if name in solver_names() and get_solver(name).unsupported(case.example) is None
    # Methods that see nothing but values and slopes get one distance of the direct bounds, whose reference is slow.
    if case.kind == "bound" or case.distance == "kl" or get_solver(name).needs != ("problem.gradient",)
    for k, options in enumerate(entry.options)
]


def test_every_registered_solver_has_an_entry():
    assert sorted(ENTRIES) == sorted(solver_names()), "add the solver to ENTRIES, with the options to check it with"
    assert {case.values[0] for case in CASES} == set(ENTRIES)
    for name in solver_names():
        assert get_solver(name).needs and "." in get_solver(name).needs[0], name


def test_every_solver_can_run_here():
    """What set-up installs is complete; a solver that is missing would pass every other test by not running."""
    assert not any(pm.available_solvers().values())


@pytest.mark.parametrize("name, case, options", CASES)
def test_known_optimum(name, case, options):
    """The problem as it is; tests/pacb_models/test_merging.py compares every solver with and without merging."""
    entry, known = ENTRIES[name], case.known
    check(known, pm.solve(known.problem, name, merge=False, **options), name, entry.statuses)


@pytest.mark.parametrize("divergence, distance", PAIRS)
def test_pairs_out_of_reach_say_who_can(divergence, distance):
    problem = make([0.1, 0.2], distance, divergence)
    able = capable_solvers(problem)
    assert "frontier" in able
    for name in set(solver_names()) - set(able):
        with pytest.raises(pm.UnsupportedProblemError) as caught:
            pm.solve(problem, name)
        sentence = str(caught.value)
        assert repr(name) in sentence and distance in sentence and divergence in sentence
        assert sentence.endswith(f"{', '.join(able)} can.")


@pytest.mark.parametrize("name", LIMITED)
def test_time_limit_that_is_over_at_once(name):
    """A nanosecond is over before anything is solved; nothing hangs, and nothing is claimed."""
    problems = (make(np.random.default_rng(3).binomial(200, 0.2, 300) / 200, x, d) for d, x in PAIRS)
    problem = next(each for each in problems if get_solver(name).unsupported(each) is None)
    solution = pm.solve(problem, name, time_limit=1e-9)
    assert solution.status == "time_limit" and "time" in solution.message


SLOW = [pair for pair in PAIRS if pair[0] != "renyi" and pair[1] in ("squared", "kl")]


@pytest.mark.parametrize(
    "name, options, accuracy, size, divergence, distance",
    [
        *(("ipopt", {"formulation": form}, 1e-8, 27, *pair) for form in ("lifted", "substituted") for pair in PAIRS),
        *((name, {}, 1e-9, 27, *pair) for name in ("casadi", "dnlp") for pair in PAIRS),
        *(("slsqp", {}, 1e-7, 27, *pair) for pair in PAIRS),
        *(("trust-constr", {}, 1e-7, 12, *pair) for pair in SLOW),
        *(("dnlp", {"backend": "UNO"}, 1e-7, 12, *pair) for pair in SLOW),
    ],
)
def test_agrees_with_frontier(name, options, accuracy, size, divergence, distance):
    problem = make(RISKS[:size], distance, divergence, prior=PRIOR[:size] / PRIOR[:size].sum())
    solution = pm.solve(problem, name, **options)
    assert solution.status in ENTRIES[name].statuses and solution.setup_seconds >= 0.0
    assert -1e-12 <= solution.bound - pm.solve(problem, "frontier").bound <= accuracy
    assert solution.kkt_residual <= (1e-6 if accuracy == 1e-7 else 1e-7)
    assert solution.details.get("backend", "IPOPT") == options.get("backend", "IPOPT")


@pytest.mark.long
@pytest.mark.parametrize(
    "name, divergence, distance",
    [
        *(("cyipopt", *pair) for pair in PAIRS),
        *(("cvxpy", divergence, "linear") for divergence in ("chi2", "renyi", "kl")),
    ],
)
@settings(max_examples=6)
@given(data=st.data())
def test_agrees_with_frontier_on_counts(name, divergence, distance, data):
    """Counts with ties and zeros, any prior; the local method ends in one of the minima."""
    m, size = data.draw(st.sampled_from([20, 400, 5000])), data.draw(st.integers(1, 25))
    counts, prior = data.draw(arrays(st.integers(0, m // 3), size)), data.draw(weights(size, decades=1.3))
    problem = make(counts / m, distance, divergence, m=m, prior=prior)
    solution = pm.solve(problem, name)
    assert solution.status == "optimal" and solution.is_global == (name == "cvxpy")
    assert solution.bound >= pm.solve(problem, "frontier").bound - 1e-12
    if distance_to_a_minimum(solution) > (1e-8 if name == "cvxpy" else 1e-7):
        # The exact solver lists the minima that it met: another one is one if no step to a classifier goes down.
        assert name != "cvxpy"
        q, steps = solution.posterior, np.multiply.outer([1e-4, 1e-3, 1e-2], np.eye(size)).reshape(-1, size)
        bounds = [problem.bound((1.0 - step.sum()) * q + step) for step in steps]
        assert min(bounds) >= solution.bound - 1e-9


@pytest.mark.parametrize("name", [*GRADIENT, "ipopt", "cyipopt", "casadi"])
def test_the_start_decides_which_minimum(name):
    certified = pm.solve(TWO_MINIMA, "frontier")
    other = certified.local_minima[0].bound
    assert other - certified.bound > 0.03
    assert pm.solve(TWO_MINIMA, name, start=TWO_MINIMA.prior).bound == pytest.approx(certified.bound, abs=1e-7)
    found = pm.solve(TWO_MINIMA, name, start=CONCENTRATED).bound
    # The barrier of trust-constr pulls every start to the centre of the simplex first.
    assert found == pytest.approx(certified.bound if name == "trust-constr" else other, abs=1e-7)


@pytest.mark.parametrize("name", ["ipopt", "cyipopt", "casadi", "dnlp"])
def test_several_starts_report_the_other_minima(name):
    reference, solution = pm.solve(TWO_MINIMA, "frontier"), pm.solve(TWO_MINIMA, name, starts=6, seed=0)
    assert solution.status == "optimal" and solution.details["ipopt_codes"] == 6 * [0]
    assert solution.details["statuses"] == 6 * ["optimal"] and len(solution.details["bounds"]) == 6
    assert solution.bound == pytest.approx(reference.bound, abs=1e-7)
    if name != "dnlp":  # Ipopt behind CVXPY takes another way
        for found, expected in zip(solution.local_minima, reference.local_minima, strict=True):
            assert (
                found.bound == pytest.approx(expected.bound, abs=1e-7) and found.support_size == expected.support_size
            )
    after_one = pm.solve(TWO_MINIMA, name, starts=4, max_iterations=1).details["bounds"]
    assert len(set(np.round(after_one, 4))) == 4


@pytest.mark.parametrize("name", [*GRADIENT, "cyipopt"])
def test_a_third_party_s_distance(name):
    """Twice the budget is the budget of a quarter of the sample: a problem whose minimum is known."""
    problem = pm.BoundProblem(RISKS[:12], 400, 0.05, Doubled(), "chi2")
    known = pm.solve(pm.BoundProblem(RISKS[:12], 100, 0.05, "linear", "chi2"), "frontier").bound
    assert pm.solve(problem, name).bound == pytest.approx(known, abs=1e-9 if name in GRADIENT else 1e-8)


@pytest.mark.parametrize("name", ["ipopt", "cyipopt", "casadi", "dnlp", "scip"])
def test_vacuous_bounds_are_not_solved(name):
    """Where the kl bound rounds to one there is nothing to descend, and no model has a point inside its domain."""
    solution = pm.solve(pm.BoundProblem(np.ones(5), m=9, delta=1e-6), name, merge=False)
    assert (solution.status, solution.bound) == ("acceptable", 1.0)
    assert "rounds to 1" in solution.message and not solution.iterations


@pytest.mark.parametrize(
    "name, limit, options",
    [
        *(("cvxpy", 2, {"backend": backend}) for backend in conic.SETTINGS),
        *((name, 2, {}) for name in ("ipopt", "cyipopt", "casadi", "dnlp", "slsqp", "trust-constr", "ccp")),
        *((name, 1, {}) for name in (*FIRST_ORDER, "fixed-point")),
    ],
)
def test_iteration_limit(name, limit, options):
    problem = make(RISKS[:12], "linear" if name == "cvxpy" else "squared", "chi2", prior=PRIOR[:12] / PRIOR[:12].sum())
    options |= {} if name == "cvxpy" else {"start": problem.prior}
    solution = pm.solve(problem, name, max_iterations=limit, **options)
    assert solution.status == "iteration_limit" and "max_iterations" in solution.message
    assert solution.iterations == (None if name == "dnlp" else limit)
    assert solution.bound == pytest.approx(problem.bound(solution.posterior), rel=1e-15)
    assert name in ("cvxpy", "casadi", "dnlp") or solution.bound <= problem.bound(problem.prior)


def test_statuses_of_the_software_are_known():
    """The codes of Ipopt's header, as cyipopt compiled it, and the wall-clock limit that it does not know."""
    import clarabel
    import cyipopt

    assert {*casadi_nlp.CODES.values(), *dnlp.CODES.values()} <= set(interior_point.STATUS_MAP)
    assert set(cyipopt.STATUS_MESSAGES) | {-5} == set(interior_point.STATUS_MAP)
    assert {known.status for known in interior_point.STATUS_MAP.values()} <= set(Status)
    assert {*conic.STATUS_MAP.values(), *scip.STATUS_MAP.values()} <= set(Status)
    assert set(conic.SETTINGS) == set(conic.LIMITS)
    names = {str(getattr(clarabel.SolverStatus, name)) for name in dir(clarabel.SolverStatus) if name[0].isupper()}
    assert names - {"Unsolved", "CallbackTerminated"} <= set(conic.STATUS_MAP)
    unknown = interior_point.ending(-4711)
    assert unknown.status == "error" and "-4711" in unknown.printed


#: What is no value of an option, and what every solver that has it says of it, in the same words.
WRONG = {
    "time_limit": [(value, "time_limit is ") for value in (0, -1.0, "soon", True)],
    "tolerance": [(value, "tolerance is .*; it must be a positive number") for value in (0.0, -1e-3, "tight", True)],
    "max_iterations": [(value, f"max_iterations is {value}") for value in (0, -1, 0.5, 2.5)],
    "starts": [(value, "starts is .*; it must be a whole number") for value in (0, 1.5, True, "3", None)],
    "seed": [(-1, "seed is -1")],
    "start": [
        (np.ones(3), "start sums to 3"),
        ([0.3, 0.3, 0.5], r"start sums to 1\.1"),
        ([1.0], "start has 1 entries"),
        ([1.5, -0.5, 0.0], r"start\[1\] is -0\.5"),
    ],
    "options": [(value, "it must be a dict of the software's own options") for value in (3, "tol=1e-3")],
}


def refused(name: str, options: dict[str, Any], complaint: str) -> str:
    """What a solver says of options that it refuses."""
    distance, kind = "linear" if name == "cvxpy" else "squared", "direct" if name == "direct" else "bound"
    with pytest.raises(pm.InputError, match=complaint) as refusal:
        pm.solve(make([0.1, 0.2, 0.3], distance, "chi2", kind=kind), name, **options)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


@pytest.mark.parametrize("option, value, complaint", [(option, *case) for option in WRONG for case in WRONG[option]])
def test_wrong_options_are_refused_by_everybody_in_the_same_words(option, value, complaint):
    able = [name for name in solver_names() if option in get_solver(name).option_names()]
    assert len({refused(name, {option: value}, complaint) for name in able}) == 1


@pytest.mark.parametrize(
    "name, options, complaint",
    [
        *((name, {"no_such_option": 1}, "'no_such_option' is unknown") for name in ENTRIES),
        ("ipopt", {"formulation": "dense"}, "dense"),
        ("ipopt", {"interface": "telnet"}, "telnet"),
        ("ipopt", {"options": {"tool": 1}}, "tool"),
        ("cyipopt", {"options": {"no_such_option": 1}}, "which Ipopt refuses"),
        ("cyipopt", {"options": {"max_iter": "many"}}, "which Ipopt refuses"),
        ("cvxpy", {"backend": "ECOS"}, "backend is 'ECOS'; it must be one of 'CLARABEL', 'SCS'"),
        ("cvxpy", {"options": {"bogus": 1}}, "'bogus': 1.*CLARABEL refuses"),
        ("casadi", {"plugin": "snopt"}, "plugin is 'snopt'; it must be one of 'ipopt', 'sqpmethod', 'sleqp'"),
        ("casadi", {"options": {"no_such": 1}}, "refused by CasADi"),
        ("dnlp", {"backend": "KNITRO"}, "backend is 'KNITRO'; it must be one of 'IPOPT', 'UNO'"),
        ("softmax", {"method": "sgd"}, "method is 'sgd'; it must be one of 'lbfgs', 'adam'"),
        ("softmax", {"method": "adam", "learning_rate": -1}, "learning_rate is -1"),
        ("ccp", {"variant": "both"}, "variant is 'both'"),
        ("ccp", {"variant": "paper"}, "variant is 'paper'"),
    ],
)
def test_bad_options_are_one_sentence(name, options, complaint):
    refused(name, options, complaint)
