"""What change of measure costs: the least bound with and without it, with two-sided and one-sided constants.

A table and a figure of our own. Relaxed and direct bound have the same distance, divergence and constant; the direct
one leaves out the inequalities of Hölder (or Donsker and Varadhan) and Jensen.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import pacb_models as pm
from pacb_models.plots.style import BLUE, GREY, ORANGE

from ...problems.problem import KINDS, PAPER_DATASETS
from ...report.drawing import Look
from ...report.tables import Entry, Group, Table
from ..cells import REPRODUCED, Cells
from ..item import Item
from ..numbers import words
from ..showing import as_text, named
from ..study import ALL_CLASSIFIERS, Study
from ..style import panel_per_dataset

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
_LEAST = tuple(f"{kind} {constant}" for constant in _CONSTANTS for kind in KINDS)


def _fill(study: Study, cells: Cells) -> None:
    cases = list(product(PAPER_DATASETS, BOUND_PAIRS))
    tables = study.tables
    arguments = [(tables[name].risks(ALL_CLASSIFIERS), tables[name].m, *pair[1:]) for name, pair in cases]
    for (dataset, pair), found in zip(cases, study.map("change of measure", minima, arguments), strict=True):
        cells.add(REPRODUCED, dataset, ALL_CLASSIFIERS, pair[0], **found)


def minima(risks: np.ndarray, m: int, distance: str, divergence: str, order: float) -> dict[str, float]:
    """The least bounds, and how far the posteriors with and without change of measure are apart."""
    found, moved = {}, {}
    for constant in _CONSTANTS:
        posteriors = []
        for name, kind in KINDS.items():
            solution = pm.solve(kind(risks, m, _DELTA, distance, divergence, constant=constant, order=order))
            found[f"{name} {constant}"] = float(solution.bound)
            posteriors.append(solution.posterior)
        moved[f"moved {constant}"] = 0.5 * float(np.abs(posteriors[0] - posteriors[1]).sum())
    return found | moved


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
        quantities = [*_LEAST, "moved one-sided"]
        *values, moved = (cells[dataset, ALL_CLASSIFIERS, name, quantity][REPRODUCED] for quantity in quantities)
        saved = 1.0 - values[-1] / values[0]
        texts = [*(as_text(value, 4) for value in values), f"−{100 * saved:.1f} %", f"{100 * moved:.1f} %"]
        rows.append([*named(dataset, name, first=name == BOUND_PAIRS[0][0]), *map(Entry, texts)])
    notes = words("change-of-measure", "notes")
    return [Table("change-of-measure", "What change of measure costs", groups, rows, notes)]


CHANGE_OF_MEASURE_TABLE = Item("change-of-measure", _fill, show=_show)

_STEPS: tuple[tuple[str, str, Look], ...] = (
    ("direct exact", "direct, two-sided constant", {"color": ORANGE, "marker": "o"}),
    ("bound one-sided", "change of measure, one-sided constant", {"color": GREY, "marker": "s", "mfc": "white"}),
    ("direct one-sided", "direct, one-sided constant", {"color": BLUE, "marker": "o"}),
)


def _draw(cells: Cells) -> Figure:
    """A panel for each data set, a line for each bound: the least bounds as shares of the usual one."""
    names = [name for name, *_ in BOUND_PAIRS]

    def draw(axis: Axes, dataset: str) -> None:
        def values(step: str) -> np.ndarray:
            return np.array([cells[dataset, ALL_CLASSIFIERS, name, step][REPRODUCED] for name in names])

        for step, label, look in _STEPS:
            axis.plot(values(step) / values("bound exact"), range(len(names)), ls="none", ms=5, label=label, **look)
        axis.axvline(1.0, color=GREY, lw=0.8)
        axis.set_ylim(len(names) - 0.5, -0.5)
        left = axis.get_subplotspec().is_first_col()
        axis.set_yticks(range(len(names)), names if left else [""] * len(names))

    return panel_per_dataset(draw, 8.6, ("least bound, as a share of the usual one", ""))


CHANGE_OF_MEASURE_FIGURE = Item("change-of-measure-figure", of="change-of-measure", draw=_draw)
