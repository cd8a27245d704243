"""How concentrated the optimal posteriors are: N(α) and the Herfindahl–Hirschman index (Table 9), and Figure 6."""

from __future__ import annotations

from itertools import product

import numpy as np
from matplotlib.figure import Figure

import pacb_models as pm

from ...report.tables import Group, Table
from ..cells import CORRECTED, PRINTED, REPRODUCED, Cells
from ..item import Item
from ..numbers import words
from ..showing import NAMES, Beside, named
from ..study import DISTANCES, EXACT, PAPER, PAPER_DELTA, VERSIONS, Study
from ..style import DISTANCE_LOOK, grid_of_axes, legend_below

LARGE_SIZE = 1000

#: In the paper's order.
FIVE_DATASETS = ("mammographic", "spambase", "wdbc", "bupa", "banknote")

_LEVELS = (0.8, 0.9, 0.95)

#: Where the caption says how many times the squared posterior's index exceeds the others'.
_RATIO_CLAIMED = ("spambase", "bupa")


def classifiers_for(posterior: np.ndarray, risks: np.ndarray, level: float) -> int:
    """N(α): the number of classifiers, by increasing risk, that hold the share ``level`` of the weight.

    >>> classifiers_for(np.array([0.5, 0.2, 0.3]), np.array([0.1, 0.3, 0.2]), 0.8)
    2
    """
    mass = mass_by_risk(posterior, risks)
    # A share that is reached exactly must not be missed by rounding.
    return int(np.searchsorted(mass, level * (1.0 - 1e-12)) + 1)


def mass_by_risk(posterior: np.ndarray, risks: np.ndarray) -> np.ndarray:
    """The weight of the first one, two, … classifiers by increasing risk."""
    return np.cumsum(posterior[np.argsort(risks, kind="stable")])


def concentration(posterior: np.ndarray) -> float:
    """What the paper calls HHI: the root of the sum of squares (the usual index is the sum itself)."""
    return float(np.sqrt(np.sum(posterior**2)))


def _fill(study: Study, cells: Cells) -> None:
    for dataset in FIVE_DATASETS:
        cells.add(REPRODUCED, dataset, validation_size=study.tables[dataset].m)
    for dataset, distance, version in product(FIVE_DATASETS, DISTANCES, VERSIONS):
        problem = study.problem(dataset, LARGE_SIZE, distance, version)
        q = pm.solve(problem, "frontier").posterior
        counts = {f"N({level})": classifiers_for(q, problem.risks, level) for level in _LEVELS}
        values = {**counts, "HHI": concentration(q), "support": int(np.count_nonzero(q))}
        cells.add(version.name, dataset, LARGE_SIZE, distance, **values)
    for dataset, version in product(_RATIO_CLAIMED, VERSIONS):
        linear, squared, kl = (cells[dataset, LARGE_SIZE, each, "HHI"][version.name] for each in DISTANCES)
        cells.add(version.name, dataset, LARGE_SIZE, HHI_ratio=squared / max(linear, kl))
    cells.add(REPRODUCED, "all", H=LARGE_SIZE, H_in_text=LARGE_SIZE, delta=PAPER_DELTA)


#: What is measured, and its decimals.
_MEASURES = {**{f"N({level})": 0 for level in _LEVELS}, "HHI": 4, "support": 0}


def _show(cells: Cells) -> list[Table]:
    rows = []
    for dataset, (measure, decimals) in product(FIVE_DATASETS, _MEASURES.items()):
        row = named(dataset, measure, first=measure == "N(0.8)")
        for distance in DISTANCES:
            row += Beside(decimals=decimals).cells(cells[dataset, LARGE_SIZE, distance, measure])
        rows.append(row)
    groups = (Group("", ("data set", "measure")), *map(Beside().group, DISTANCES))
    ratios = [cells[dataset, LARGE_SIZE, "", "HHI_ratio"] for dataset in _RATIO_CLAIMED]
    ours = {each: " and ".join(f"{ratio[each]:.1f}" for ratio in ratios) for each in (REPRODUCED, CORRECTED)}
    notes = words("sparsity", "notes", claimed=" and ".join(ratio[PRINTED] for ratio in ratios), **ours)
    title = "Concentration of the optimal posteriors, H = 1000, δ = 0.01 (Table 9)"
    return [Table("sparsity", title, groups, rows, notes)]


SPARSITY_TABLE = Item("sparsity", _fill, show=_show)

# --- Figure 6: distribution functions over the classifiers, by increasing risk ----------------------------------------

#: In the paper's order of panels.
_PANELS = ("spambase", "bupa", "mammographic", "wdbc", "banknote")

_ROWS = {PAPER: "paper's constants", EXACT: "exact constants"}


def _fill_distributions(study: Study, cells: Cells) -> None:
    """The weight of the first one, two, … classifiers."""
    for version, dataset, distance in product(_ROWS, _PANELS, DISTANCES):
        problem = study.problem(dataset, LARGE_SIZE, distance, version)
        mass = mass_by_risk(pm.solve(problem, "frontier").posterior, problem.risks)
        cells.add(version.name, dataset, LARGE_SIZE, distance, mass=mass.tolist())


def _draw(cells: Cells) -> Figure:
    """A row for each version, a column for each data set."""
    figure, axes = grid_of_axes(2, len(_PANELS), 11.0, 5.0, sharex=True, sharey=True)
    for axis, (version, dataset) in zip(axes, product(_ROWS, _PANELS)):
        axis.plot([0, LARGE_SIZE], [0.0, 1.0], color="#999999", lw=1.0, label="prior")
        for distance in DISTANCES:
            mass = cells[dataset, LARGE_SIZE, distance, "mass"][version.name]
            axis.plot(range(LARGE_SIZE + 1), [0.0, *mass], label=distance, **{**DISTANCE_LOOK[distance], "marker": ""})
        if version == PAPER:
            axis.set_title(NAMES[dataset])
        else:
            axis.set_xlabel("classifiers by risk")
        if dataset == _PANELS[0]:
            axis.set_ylabel(f"{_ROWS[version]}\nposterior mass")
    legend_below(figure, axes[0], 4)
    return figure


DISTRIBUTIONS = Item("cdfs", _fill_distributions, draw=_draw)
