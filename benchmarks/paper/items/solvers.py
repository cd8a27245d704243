"""kl bounds by the fixed point and by Ipopt (Tables 6 and 7), and by convex–concave procedures (Table 8)."""

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import pacb_models as pm
from pacb_models import BoundProblem
from pacb_models.models.pyomo_models import pyomo_model
from pacb_models.solvers.convex.ccp import from_start, subproblem
from pacb_models.solvers.nonlinear.interior_point import QUIET, ending, set_options
from pacb_models.solvers.nonlinear.ipopt import cyipopt_missing
from pacb_models.solvers.nonlinear.native import pynumero_problem
from pacb_models.solvers.options import Iterative

from ...harness.environment import ipopt_version
from ...problems.problem import PAPER_DATASETS, PAPER_SIZES
from ...report.tables import NONE, Entry, Group, Table
from ..cells import BOTH_HALVES, CORRECTED, PRINTED, REPRODUCED, VERSIONS, Cells, Values
from ..item import Item
from ..numbers import words
from ..showing import NAMES, Beside, as_text, named
from ..study import Study

#: The rows of both tables.
PLACES = list(product(PAPER_DATASETS, PAPER_SIZES))

#: The paper's letters, "none" where it prints no letter, and ours for what it has no letter for.
LETTERS = {
    "optimal": "none",
    "acceptable": "A",
    "infeasible": "I",
    "restoration_failed": "R",
    "iteration_limit": "M",
    "numerical_error": "E",
    "error": "E",
    "unavailable": "not installed",
}

#: Ipopt moves starting values away from their bounds, by default to at least this.
_PUSH = 0.01

#: Largest H at which Ipopt is started from zero (up to thousands of iterations in a restoration phase).
LARGEST_FROM_ZERO = 50


def _fill(study: Study, cells: Cells) -> None:
    # The largest sets first, which take longest.
    cases = sorted(PLACES, key=lambda place: -place[1])
    arguments = []
    for dataset, size in cases:
        problems = {version: study.problem(dataset, size, "kl", version) for version in VERSIONS}
        arguments.append((problems, study.tables[dataset].test_risks(size)))
    for (dataset, size), found in zip(cases, study.map("fixed point and Ipopt", solve_cell, arguments)):
        for version, method, values in found:
            cells.add(version, dataset, size, method, **values)
    for dataset in PAPER_DATASETS:
        table = study.tables[dataset]
        cells.add(REPRODUCED, dataset, validation_size=table.m, test_size=table.test_size)
    cells.add(REPRODUCED, "all", ipopt=ipopt_version() or "")


def solve_cell(problems: dict[str, BoundProblem], test_risks: np.ndarray) -> list[tuple[str, str, Values]]:
    """Return all numbers of one data set and size: versions, methods and their values."""
    found: list[tuple[str, str, Values]] = []
    for version, problem in problems.items():
        fixed_point, minimum = pm.solve(problem, "subset-search"), pm.solve(problem, "frontier")
        test_error = float(fixed_point.posterior @ test_risks)
        found += [
            (version, "fixed-point", {"bound": fixed_point.bound, "test_error": test_error}),
            (version, "frontier", {"bound": minimum.bound}),
            (version, "direct", {"start_risk": _PUSH * float(problem.risks.sum())}),
        ]
    for version in (REPRODUCED, CORRECTED):
        found.append((version, "ipopt", _ipopt(problems[version], test_risks)))
    # The paper's formulation with Ipopt's defaults, from the prior and, for small H, from zero.
    problem = problems[REPRODUCED]
    found.append((REPRODUCED, "direct", _ipopt(problem, test_risks, formulation="substituted", defaults=True)))
    # An ``ipopt`` program alone will not do.
    if problem.size <= LARGEST_FROM_ZERO and cyipopt_missing() is None:
        status = status_from_zero(problem)
        found.append((REPRODUCED, "from zero", {"status": LETTERS.get(status, status)}))
    return found


def _ipopt(problem: BoundProblem, test_risks: np.ndarray, **options: Any) -> Values:
    if not pm.available_solvers()["ipopt"].available:
        return {"status": LETTERS["unavailable"]}
    solution = pm.solve(problem, "ipopt", merge=False, **options)
    letter = LETTERS.get(solution.status, solution.status)
    found = {"bound": solution.bound, "test_error": float(solution.posterior @ test_risks), "status": letter}
    return {**found, "test_error_status": letter, "iterations": solution.iterations}


def status_from_zero(problem: BoundProblem) -> str:
    """Return how Ipopt ends as the paper may have run it: its formulation, every option at its default, every variable
    zero.

    The paper names no starting point; AMPL starts variables at zero unless it is told otherwise.
    """
    from pyomo.contrib.pynumero.interfaces.cyipopt_interface import CyIpoptNLP

    nlp = pynumero_problem(pyomo_model(problem, "substituted"))
    ipopt = CyIpoptNLP(nlp)
    try:
        set_options(ipopt, QUIET)
        _, info = ipopt.solve(np.zeros(nlp.n_primals()))
    finally:
        ipopt.close()
    return ending(info["status"]).status


_TITLES = {
    "bound": "kl bounds by fixed point and by Ipopt, δ = 0.01 (Table 6)",
    "test_error": "Average test errors of the same posteriors (Table 7)",
}


def _panel(cells: Cells, quantity: str) -> Table:
    beside = Beside.of(quantity)
    groups: tuple[Group, ...] = (
        Group("", ("data set", "H")),
        beside.group("fixed point"),
        Group("Ipopt, printed", ("value", "letter")),
        Group("Ipopt, lifted", ("paper's const.", "exact const.", "letter")),
        Group("Ipopt, direct, defaults", ("value", "letter")),
    )
    notes: Sequence[str] = ()
    if quantity == "bound":
        groups += (Group("the letters' cause", ("from zero", "risk at the start")),)
        notes = _notes(cells)
    rows = []
    for dataset, size in PLACES:
        fixed_point = beside.cells(as_meant(cells, dataset, size, "fixed-point", quantity))
        start = [*named(dataset, size, first=size == PAPER_SIZES[0]), *fixed_point]
        rows.append([*start, *_ipopt_cells(cells, dataset, size, quantity)])
    return Table(f"fp-vs-solver-{quantity.replace('_', '-')}", _TITLES[quantity], groups, rows, notes)


def _ipopt_cells(cells: Cells, dataset: str, size: int, quantity: str) -> list[Entry]:
    status = "status" if quantity == "bound" else "test_error_status"

    def value(method: str, quantity: str, version: str = REPRODUCED) -> Any:
        return cells[dataset, size, method, quantity].get(version)

    def letter(method: str) -> Entry:
        found = value(method, "status")
        return Entry(_words_of(found), "off" if found in ("I", "R", "M", "E") else "")

    row = [
        Entry(as_meant(cells, dataset, size, "ipopt", quantity).get(PRINTED, ""), "printed"),
        Entry(_words_of(value("ipopt", status, PRINTED)), "printed"),
        Entry(as_text(value("ipopt", quantity))),
        Entry(as_text(value("ipopt", quantity, CORRECTED))),
        Entry(_words_of(value("ipopt", "status"))),
        Entry(as_text(value("direct", quantity))),
        letter("direct"),
    ]
    return row + [letter("from zero"), Entry(as_text(value("direct", "start_risk"), 2))] * (quantity == "bound")


def _words_of(letter: str | None) -> str:
    return {"none": "ok", None: NONE}.get(letter, letter)


def as_meant(cells: Cells, dataset: str, size: object, method: str, quantity: str) -> Values:
    """Return the cell, with Waveform's cells of H = 200 put right: the paper has its bounds among the test errors."""
    values = cells[dataset, size, method, quantity]
    if (dataset, str(size)) != ("waveform", "200"):
        return values
    other = {"bound": "test_error", "test_error": "bound"}[quantity]
    return {**values, PRINTED: f"{cells[dataset, size, method, other][PRINTED]}*"}


def letter_of(cells: Cells, dataset: str, size: object, quantity: str = "status") -> str:
    """Return the letter that the paper prints beside a value of Ipopt; "" where there is none."""
    return cells[dataset, size, "ipopt", quantity].get(PRINTED, "").replace("none", "")


def _e_rule(cells: Cells, version: str) -> int:
    """Return in how many cells of Table 6 the letter is E if and only if the pushed start has a risk above one."""
    risky = {place: cells[*place, "direct", "start_risk"][version] > 1.0 for place in PLACES}
    return sum(too_large == (letter_of(cells, *place) == "E") for place, too_large in risky.items())


def early_breaks(cells: Cells, version: str) -> dict[tuple[str, int], float]:
    """Return by how much Algorithm 1 misses the minimum, in the cells where it stops before."""
    missed = {}
    for place in PLACES:
        found, least = (cells[*place, method, "bound"][version] for method in ("fixed-point", "frontier"))
        missed[place] = found - least
    return {place: by for place, by in missed.items() if by > 1e-9}


def _notes(cells: Cells) -> list[str]:
    ipopt = cells["all", "", "", "ipopt"][REPRODUCED]
    rule = {"ours": _e_rule(cells, REPRODUCED), "both_halves": _e_rule(cells, BOTH_HALVES)}
    counts = {"letters": sum(bool(letter_of(cells, *place)) for place in PLACES), "cells": len(PLACES)}
    notes = words("fp-vs-solver", "notes", version=f" {ipopt}" if ipopt else "", **rule, **counts)
    for version, title in ((REPRODUCED, "the paper's"), (CORRECTED, "exact")):
        missed = [
            f"{NAMES[name]}, H = {size}, by {by:.1e}" for (name, size), by in early_breaks(cells, version).items()
        ]
        stops = f"stops before it reaches the minimum: {', '.join(missed)}"
        notes.append(f"With {title} constants Algorithm 1 {stops if missed else 'reaches the minimum in every cell'}.")
    return notes


FP_VS_SOLVER_TABLE = Item(
    "fp-vs-solver", _fill, tables=tuple(partial(_panel, quantity=quantity) for quantity in _TITLES)
)

# --- Table 8: the fixed point against 1000 runs of the convex–concave procedure, H = 50. The paper's procedure stands
# beside what it amounts to, random posteriors without any optimisation, and beside the one-sided one, which descends.

SMALL_SIZE = 50

#: What stands in the paper's column, and the two things beside it.
_METHODS = {"ccp": "paper's CCP", "random": "random posteriors", "one-sided": "one-sided CCP"}

_STATISTICS = ("min", "max", "mean", "sd")


def _fill_ccp(study: Study, cells: Cells) -> None:
    places = list(product(PAPER_DATASETS, VERSIONS))
    problems = {place: study.problem(place[0], SMALL_SIZE, "kl", place[1]) for place in places}
    cases = list(product(("ccp", "one-sided", "random"), places))
    tests = {dataset: study.tables[dataset].test_risks(SMALL_SIZE) for dataset in PAPER_DATASETS}
    arguments = [(problems[place], tests[place[0]], method, study.starts, study.seed) for method, place in cases]
    every = study.map("convex–concave procedures", run_method, arguments)
    for (method, (dataset, version)), found in zip(cases, every):
        for quantity, values in found.items():
            summaries = {f"{quantity}_{statistic}": value for statistic, value in statistics_of(values).items()}
            cells.add(version, dataset, SMALL_SIZE, method, **summaries)
    for (dataset, version), problem in problems.items():
        solution = pm.solve(problem, "subset-search")
        test_error = study.test_error(dataset, solution.posterior)
        cells.add(version, dataset, SMALL_SIZE, "fixed-point", bound=solution.bound, test_error=test_error)
    cells.add(REPRODUCED, "all", starts=study.starts)


def run_method(
    problem: BoundProblem, test_risks: np.ndarray, method: str, starts: int, seed: int
) -> dict[str, np.ndarray]:
    """Return bounds, test errors and moves from the same random starts; nothing where the paper's procedure does not
    exist."""
    # Uniform on the simplex: Dirichlet with all parameters one.
    posteriors = np.random.default_rng(seed).dirichlet(np.ones(problem.size), size=starts)
    if method == "random":
        return {"bound": np.array([problem.bound(q) for q in posteriors]), "test_error": posteriors @ test_risks}
    if method == "ccp" and problem.risks.max() == 0.0:
        # The paper's linearisation needs a posterior with a positive empirical risk.
        return {}
    # Compiled once for all starts.
    solve = subproblem(problem, "paper" if method == "ccp" else "one-sided")
    options = Iterative(tolerance=1e-8, max_iterations=1000).checked(problem)
    outcomes = [from_start(problem, solve, start, options) for start in posteriors]
    histories = [outcome.details["history"] for outcome in outcomes]
    return {
        "bound": np.array([history[-1] for history in histories]),
        "test_error": np.array([outcome.posterior @ test_risks for outcome in outcomes]),
        "decrease": np.array([history[0] - history[-1] for history in histories]),
        "iterations": np.array([float(outcome.iterations or 0) for outcome in outcomes]),
    }


def statistics_of(values: np.ndarray) -> dict[str, float]:
    """Return range, mean and the standard deviation as R has it."""
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return {"min": float(values.min()), "max": float(values.max()), "mean": float(values.mean()), "sd": spread}


def _panel_of_ccp(cells: Cells, quantity: str, version: str) -> Table:
    fixed_point = Beside((version,), compared=quantity == "bound")
    summaries = ["CCP, printed", *(f"{name}, ours" for name in _METHODS.values())]
    columns = (Group(summary, ("range", "mean ± sd")) for summary in summaries)
    groups = (Group("", ("data set",)), fixed_point.group("fixed point"), *columns)
    rows = []
    for dataset in PAPER_DATASETS:
        row = [*named(dataset), *fixed_point.cells(cells[dataset, SMALL_SIZE, "fixed-point", quantity])]
        row += [Entry(text, "printed") for text in _summary(cells, dataset, "ccp", quantity, PRINTED)]
        for method in _METHODS:
            row += map(Entry, _summary(cells, dataset, method, quantity, version))
        rows.append(row)
    place = " (Table 8)" if version == REPRODUCED else ""
    risks = "paper's constants, risks on " if version == BOTH_HALVES else ""
    name = f"fp-vs-ccp-{quantity.replace('_', '-')}-{version.replace('_', '-')}"
    starts = cells["all", "", "", "starts"][REPRODUCED]
    title = "kl bounds" if quantity == "bound" else "Average test errors"
    title += f" with {risks}{VERSIONS[version]}, H = 50, {starts} random starts{place}"
    notes = _notes_on_ccp(cells) if (quantity, version) == ("bound", REPRODUCED) else ()
    return Table(name, title, groups, rows, notes)


def _summary(cells: Cells, dataset: str, method: str, quantity: str, version: str) -> tuple[str, str]:
    """Return range and mean with the standard deviation; "NA" for both where the paper prints that."""
    values = (cells[dataset, SMALL_SIZE, method, f"{quantity}_{name}"] for name in _STATISTICS)
    least, most, mean, spread = (as_text(value.get(version)) for value in values)
    return (mean, mean) if mean in ("NA", NONE) else (f"[{least}, {most}]", f"{mean} ± {spread}")


def _notes_on_ccp(cells: Cells) -> list[str]:
    places = (cells[dataset, SMALL_SIZE, "ccp", "decrease_max"] for dataset in PAPER_DATASETS)
    largest = max(values[REPRODUCED] for values in places if values)
    return words("fp-vs-ccp", "notes", more=f" by more than {largest:.1e}" if largest else "")


# The test errors of posteriors found with other risks tell nothing new.
_OF_CCP = [*product(["bound"], VERSIONS), *product(["test_error"], (REPRODUCED, CORRECTED))]
_PANELS = tuple(partial(_panel_of_ccp, quantity=quantity, version=version) for quantity, version in _OF_CCP)
FP_VS_CCP_TABLE = Item("fp-vs-ccp", _fill_ccp, uses=("starts", "seed"), tables=_PANELS)
