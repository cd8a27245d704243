"""What change of measure costs: the least bound with and without it, with two-sided and one-sided constants.

A table of our own. Relaxed and direct bound have the same distance, divergence and constant; the direct one leaves out
the inequalities of Hölder (or Donsker and Varadhan) and Jensen.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

import pacb_models as pm

from ...problems.problem import KINDS, PAPER_DATASETS
from ...report.tables import Cell, Group, Table
from ..entries import Entries
from ..item import TableItem
from ..numbers import words
from ..showing import named, shown
from ..study import ALL_CLASSIFIERS, Study

DELTA = 0.05
#: Name, distance, divergence and order of each pair.
PAIRS = (
    ("χ²–linear", "linear", "chi2", 2.0),
    ("χ²–squared", "squared", "chi2", 2.0),
    ("χ²–kl", "kl", "chi2", 2.0),
    ("Rényi 3–kl", "kl", "renyi", 3.0),
    ("Rényi 1.2–kl", "kl", "renyi", 1.2),
    ("Rényi 8/7–kl", "kl", "renyi", 8 / 7),
    ("KL–squared", "squared", "kl", 2.0),
    ("KL–kl", "kl", "kl", 2.0),
)
CONSTANTS = ("exact", "one-sided")
VERSIONS = tuple((kind, constant) for constant in CONSTANTS for kind in KINDS)


def fill(study: Study, entries: Entries) -> None:
    cases = list(product(PAPER_DATASETS, PAIRS))
    tables = study.tables
    arguments = [(tables[name].risks(ALL_CLASSIFIERS), tables[name].m, *pair[1:]) for name, pair in cases]
    for (dataset, pair), found in zip(cases, study.map("change of measure", _minima, arguments), strict=True):
        for column, value in found.items():
            entries.add(f"{dataset} {pair[0]}", column, "ours", value)


def _minima(risks: np.ndarray, m: int, distance: str, divergence: str, order: float) -> dict[str, float]:
    """The least bounds, and how far the posteriors with and without change of measure are apart."""
    solutions = {
        (kind, constant): pm.solve(KINDS[kind](risks, m, DELTA, distance, divergence, constant=constant, order=order))
        for kind, constant in VERSIONS
    }
    found = {f"{kind} {constant}": float(solution.bound) for (kind, constant), solution in solutions.items()}
    for constant in CONSTANTS:
        relaxed, direct = (solutions[kind, constant].posterior for kind in KINDS)
        found[f"moved {constant}"] = 0.5 * float(np.abs(relaxed - direct).sum())
    return found


def show(entries: Entries, facts: dict[str, Any]) -> list[Table]:
    """One panel: rows are pairs on data sets."""
    groups = (
        Group("", ("data set", "bound")),
        Group("two-sided constant", ("with change of measure", "direct")),
        Group("one-sided constant", ("with change of measure", "direct")),
        Group("", ("all in all", "weight moved")),
    )
    rows = []
    for dataset, (name, *_) in product(PAPER_DATASETS, PAIRS):
        row = f"{dataset} {name}"
        values = [entries.value(row, f"{kind} {constant}", "ours") for kind, constant in VERSIONS]
        saved, moved = 1.0 - values[-1] / values[0], entries.value(row, "moved one-sided", "ours")
        texts = [*(shown(value, 4) for value in values), f"−{100 * saved:.1f} %", f"{100 * moved:.1f} %"]
        rows.append([*named(dataset, name, first=name == PAIRS[0][0]), *map(Cell, texts)])
    return [
        Table("change-of-measure", "What change of measure costs", groups, rows, words("change-of-measure", "notes"))
    ]


ITEM = TableItem("change-of-measure", fill, also=("change-of-measure-figure",), show=show)
