"""What change of measure costs: the least bound with and without it, with two-sided and one-sided constants.

A table of our own. Relaxed and direct bound have the same distance, divergence and constant; the direct one leaves out
the inequalities of Hölder (or Donsker and Varadhan) and Jensen.
"""

from __future__ import annotations

from itertools import product

import numpy as np

import pacb_models as pm

from ...problems.problem import KINDS, PAPER_DATASETS
from ...report.tables import Entry, Group, Table
from ..cells import REPRODUCED, Cells
from ..item import TableItem
from ..numbers import words
from ..showing import as_text, named
from ..study import ALL_CLASSIFIERS, Study

_DELTA = 0.05
#: Name, distance, divergence and order of each pair.
BOUND_PAIRS = (
    ("χ²–linear", "linear", "chi2", 2.0),
    ("χ²–squared", "squared", "chi2", 2.0),
    ("χ²–kl", "kl", "chi2", 2.0),
    ("Rényi 3–kl", "kl", "renyi", 3.0),
    ("Rényi 1.2–kl", "kl", "renyi", 1.2),
    ("Rényi 8/7–kl", "kl", "renyi", 8 / 7),
    ("KL–squared", "squared", "kl", 2.0),
    ("KL–kl", "kl", "kl", 2.0),
)
_CONSTANTS = ("exact", "one-sided")
_LEAST = tuple((kind, constant) for constant in _CONSTANTS for kind in KINDS)


def _fill(study: Study, cells: Cells) -> None:
    cases = list(product(PAPER_DATASETS, BOUND_PAIRS))
    tables = study.tables
    arguments = [(tables[name].risks(ALL_CLASSIFIERS), tables[name].m, *pair[1:]) for name, pair in cases]
    for (dataset, pair), found in zip(cases, study.map("change of measure", _minima, arguments), strict=True):
        cells.add(REPRODUCED, dataset, ALL_CLASSIFIERS, pair[0], **found)


def _minima(risks: np.ndarray, m: int, distance: str, divergence: str, order: float) -> dict[str, float]:
    """The least bounds, and how far the posteriors with and without change of measure are apart."""
    solutions = {
        (kind, constant): pm.solve(KINDS[kind](risks, m, _DELTA, distance, divergence, constant=constant, order=order))
        for kind, constant in _LEAST
    }
    found = {f"{kind} {constant}": float(solution.bound) for (kind, constant), solution in solutions.items()}
    for constant in _CONSTANTS:
        relaxed, direct = (solutions[kind, constant].posterior for kind in KINDS)
        found[f"moved {constant}"] = 0.5 * float(np.abs(relaxed - direct).sum())
    return found


def _show(cells: Cells) -> list[Table]:
    """One panel: rows are pairs on data sets."""
    groups = (
        Group("", ("data set", "bound")),
        Group("two-sided constant", ("with change of measure", "direct")),
        Group("one-sided constant", ("with change of measure", "direct")),
        Group("", ("all in all", "weight moved")),
    )
    rows = []
    for dataset, (name, *_) in product(PAPER_DATASETS, BOUND_PAIRS):
        quantities = [*(f"{kind} {constant}" for kind, constant in _LEAST), "moved one-sided"]
        *values, moved = (cells[dataset, ALL_CLASSIFIERS, name, quantity][REPRODUCED] for quantity in quantities)
        saved = 1.0 - values[-1] / values[0]
        texts = [*(as_text(value, 4) for value in values), f"−{100 * saved:.1f} %", f"{100 * moved:.1f} %"]
        rows.append([*named(dataset, name, first=name == BOUND_PAIRS[0][0]), *map(Entry, texts)])
    return [
        Table("change-of-measure", "What change of measure costs", groups, rows, words("change-of-measure", "notes"))
    ]


CHANGE_OF_MEASURE_TABLE = TableItem("change-of-measure", _fill, show=_show)
