"""Tables 6 and 7: kl bounds and test errors by the fixed point and by Ipopt, with the letters for Ipopt's failures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

import pacb_models as pm
from pacb_models import BoundProblem

from ...harness.environment import ipopt_version
from ...problems.problem import PAPER_DATASETS
from ...report.tables import NONE, Cell, Group, Table
from .. import ipopt_from_zero
from ..entries import Entries, Entry
from ..item import TableItem
from ..numbers import words
from ..showing import NAMES, Beside, named, shown
from ..study import BOTH_HALVES, EXACT, PAPER, VERSIONS, Study

SIZES = (50, 200, 500, 1000, 1990)

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
PUSH = 0.01

#: Largest H at which Ipopt is started from zero (up to thousands of iterations in a restoration phase).
LARGEST_FROM_ZERO = 50


def fill(study: Study, entries: Entries) -> dict[str, Any]:
    cases = [(dataset, size) for size in reversed(SIZES) for dataset in PAPER_DATASETS]
    arguments = [
        (
            {version.name: study.problem(dataset, size, "kl", version) for version in VERSIONS},
            study.tables[dataset].test_risks(size),
        )
        for dataset, size in cases
    ]
    for (dataset, size), found in zip(cases, study.map("fixed point and Ipopt", solve_cell, arguments)):
        for column, key, value in found:
            entries.add(dataset, f"{column}_H{size}", key, value)
    for dataset in PAPER_DATASETS:
        entries.add(dataset, "validation_size", "ours", study.tables[dataset].m)
        entries.add(dataset, "test_size", "ours", study.tables[dataset].test_size)
    return {"ipopt": ipopt_version() or ""}


def solve_cell(problems: dict[str, BoundProblem], test_risks: np.ndarray) -> list[tuple[str, str, Any]]:
    """All numbers of one data set and size: (column, version, value)."""
    found: list[tuple[str, str, Any]] = []
    for name, problem in problems.items():
        fixed_point, minimum = pm.solve(problem, "subset-search"), pm.solve(problem, "frontier")
        found += [
            ("bound_fp", name, fixed_point.bound),
            ("test_error_fp", name, float(fixed_point.posterior @ test_risks)),
            ("bound_minimum", name, minimum.bound),
            ("start_risk", name, PUSH * float(problem.risks.sum())),
        ]
    for name in (PAPER.name, EXACT.name):
        found += _ipopt(problems[name], test_risks, name, "solver")
    # The paper's formulation with Ipopt's defaults, from the prior and, for small H, from zero.
    problem = problems[PAPER.name]
    found += _ipopt(problem, test_risks, PAPER.name, "direct", formulation="substituted", defaults=True)
    if problem.size <= LARGEST_FROM_ZERO and ipopt_from_zero.available():
        status = ipopt_from_zero.status_from_zero(problem)
        found.append(("status_from_zero", PAPER.name, LETTERS.get(status, status)))
    return found


def _ipopt(
    problem: BoundProblem, test_risks: np.ndarray, name: str, column: str, **options: Any
) -> list[tuple[str, str, Any]]:
    if not pm.available_solvers()["ipopt"].available:
        return [(f"status_{column}", name, LETTERS["unavailable"])]
    solution = pm.solve(problem, "ipopt", merge=False, **options)
    letter = LETTERS.get(solution.status, solution.status)
    return [
        (f"bound_{column}", name, solution.bound),
        (f"test_error_{column}", name, float(solution.posterior @ test_risks)),
        (f"status_{column}", name, letter),
        (f"test_error_status_{column}", name, letter),
        (f"iterations_{column}", name, solution.iterations),
    ]


def show(entries: Entries, facts: dict[str, Any]) -> list[Table]:
    return [
        _panel(entries, "bound", "kl bounds by fixed point and by Ipopt, δ = 0.01 (Table 6)", _notes(entries, facts)),
        _panel(entries, "test_error", "Average test errors of the same posteriors (Table 7)", ()),
    ]


def _panel(entries: Entries, quantity: str, title: str, notes: Sequence[str]) -> Table:
    beside = Beside.of(quantity)
    groups: tuple[Group, ...] = (
        Group("", ("data set", "H")),
        beside.group("fixed point"),
        Group("Ipopt, printed", ("value", "letter")),
        Group("Ipopt, lifted", ("paper's const.", "exact const.", "letter")),
        Group("Ipopt, direct, defaults", ("value", "letter")),
    )
    if quantity == "bound":
        groups += (Group("the letters' cause", ("from zero", "risk at the start")),)
    rows = [
        [
            *named(dataset, size, first=size == SIZES[0]),
            *beside.cells(as_meant(entries, dataset, f"{quantity}_fp_H{size}")),
            *_ipopt_cells(entries, dataset, quantity, size),
        ]
        for dataset, size in product(PAPER_DATASETS, SIZES)
    ]
    return Table(f"fp-vs-solver-{quantity.replace('_', '-')}", title, groups, rows, notes)


def _ipopt_cells(entries: Entries, dataset: str, quantity: str, size: int) -> list[Cell]:
    status = "status" if quantity == "bound" else "test_error_status"

    def value(column: str, key: str = PAPER.name) -> Any:
        return entries.value(dataset, f"{column}_H{size}", key)

    cells = [
        Cell(as_meant(entries, dataset, f"{quantity}_solver_H{size}").printed, "printed"),
        Cell(_letter(entries.printed(dataset, f"{status}_solver_H{size}")), "printed"),
        Cell(shown(value(f"{quantity}_solver"))),
        Cell(shown(value(f"{quantity}_solver", EXACT.name))),
        Cell(_letter(value("status_solver"))),
        Cell(shown(value(f"{quantity}_direct"))),
        _letter_cell(value("status_direct")),
    ]
    if quantity == "bound":
        cells += [_letter_cell(value("status_from_zero")), Cell(shown(value("start_risk"), 2))]
    return cells


def _letter(letter: str | None) -> str:
    return {"none": "ok", None: NONE}.get(letter, letter)


def _letter_cell(letter: str | None) -> Cell:
    return Cell(_letter(letter), "off" if letter in ("I", "R", "M", "E") else "")


def as_meant(entries: Entries, row: str, column: str) -> Entry:
    """The cell, with Waveform's swapped cells of H = 200 put right."""
    entry = entries.get(row, column)
    if not is_swapped(row, column):
        return entry
    one, other = ("bound", "test_error") if column.startswith("bound") else ("test_error", "bound")
    return Entry(row, column, f"{entries.printed(row, column.replace(one, other))}*", entry.values, entry.note)


def is_swapped(row: str, column: str) -> bool:
    """Whether the paper has this cell in the other of its two tables."""
    return row == "waveform" and re.fullmatch("(bound|test_error)_(fp|solver)_H200", column) is not None


def e_rule(entries: Entries, key: str) -> int:
    """In how many cells of Table 6 the letter is E if and only if the pushed start has a risk above one."""
    return sum(
        (entries.value(dataset, f"start_risk_H{size}", key) > 1.0)
        == (entries.printed(dataset, f"status_solver_H{size}") == "E")
        for dataset, size in product(PAPER_DATASETS, SIZES)
    )


def early_breaks(entries: Entries, key: str, tolerance: float = 1e-9) -> list[tuple[str, int]]:
    """The cells where Algorithm 1 stops before it reaches the minimum."""
    return [place for place in product(PAPER_DATASETS, SIZES) if _missed_by(entries, *place, key) > tolerance]


def _missed_by(entries: Entries, dataset: str, size: int, key: str) -> float:
    fixed_point, minimum = (entries.value(dataset, f"bound_{name}_H{size}", key) for name in ("fp", "minimum"))
    return fixed_point - minimum


def _notes(entries: Entries, facts: dict[str, Any]) -> list[str]:
    cells = list(product(PAPER_DATASETS, SIZES))
    letters = [entries.printed(dataset, f"status_solver_H{size}") for dataset, size in cells]
    count = sum(letter not in ("", "none") for letter in letters)
    version = f" {facts['ipopt']}" if facts["ipopt"] else ""
    ours, both_halves = (e_rule(entries, each.name) for each in (PAPER, BOTH_HALVES))
    counts = {"letters": count, "cells": len(cells), "ours": ours, "both_halves": both_halves}
    notes = words("fp-vs-solver", "notes", version=version, **counts)
    for key, title in ((PAPER.name, "the paper's"), (EXACT.name, "exact")):
        missed = [
            f"{NAMES[dataset]}, H = {size}, by {_missed_by(entries, dataset, size, key):.1e}"
            for dataset, size in early_breaks(entries, key)
        ]
        end = (
            f"stops before it reaches the minimum: {', '.join(missed)}"
            if missed
            else "reaches the minimum in every cell"
        )
        notes.append(f"With {title} constants Algorithm 1 {end}.")
    return notes


ITEM = TableItem("fp-vs-solver", fill, show=show)
