"""Every registered solver passes the same checks; one that is registered without an entry here fails the suite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import pacb_models as pm
from pacb_models.solving.registry import capable_solvers, get_solver, solver_names

from .solver_checks import PAIRS, cases, check, make


@dataclass(frozen=True)
class Entry:
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


def problem_for(name: str) -> pm.BoundProblem | pm.DirectProblem:
    """One that the solver can minimise."""
    return next(case for case in CASES if case.values[0] == name).values[1].example


def test_every_registered_solver_has_an_entry():
    assert sorted(ENTRIES) == sorted(solver_names()), "add the solver to ENTRIES, with the options to check it with"


def test_every_entry_is_exercised():
    assert {case.values[0] for case in CASES} == set(ENTRIES)


def test_every_solver_says_what_it_needs():
    for name in solver_names():
        assert get_solver(name).needs and "." in get_solver(name).needs[0], name


def test_every_solver_can_run_here():
    """What set-up installs is complete; a solver that is missing would pass every other test by not running."""
    assert not any(pm.available_solvers().values())


@pytest.mark.parametrize("name, case, options", CASES)
def test_known_optimum(name, case, options):
    """The problem as it is, and with equal risks merged where there are any."""
    entry, known = ENTRIES[name], case.known
    check(known, pm.solve(known.problem, name, merge=False, **options), name, entry.statuses)
    if known.problem.merged().groups is not None:
        check(known, pm.solve(known.problem, name, **options), name, entry.statuses)


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


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_unknown_option(name):
    with pytest.raises(pm.InputError, match="'no_such_option' is unknown"):
        pm.solve(problem_for(name), name, no_such_option=1)


@pytest.mark.parametrize("name", [name for name in sorted(ENTRIES) if get_solver(name).keeps_time_limit])
def test_time_limit_that_is_over_at_once(name):
    """A nanosecond is over before anything is solved; nothing hangs, and nothing is claimed."""
    divergence, distance = next(
        pair for pair in PAIRS if get_solver(name).unsupported(make([0.1, 0.2], pair[1], pair[0])) is None
    )
    rng = np.random.default_rng(3)
    problem = make(rng.binomial(200, 0.2, 300) / 200, distance, divergence)
    solution = pm.solve(problem, name, time_limit=1e-9)
    assert solution.status == "time_limit"
    assert "time" in solution.message


@pytest.mark.parametrize("name", [name for name in sorted(ENTRIES) if get_solver(name).keeps_time_limit])
@pytest.mark.parametrize("limit", [0, -1.0, "soon", True])
def test_time_limit_that_is_none(name, limit):
    with pytest.raises(pm.InputError, match="time_limit"):
        pm.solve(problem_for(name), name, time_limit=limit)
