"""The smallest certificate of each set of classifiers: PAC-Bayes bounds against bounds from error counts.

A table and a figure of our own; the paper has nothing like it. Every bound is valid at its δ except the last column,
which shows what choosing the best of H classifiers costs: the limit of Clopper and Pearson without any correction.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
from matplotlib.figure import Figure

import pacb_models as pm
from pacb_models.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE, SKY, VERMILION

from ...problems.problem import PAPER_DATASETS
from ...report.drawing import Look
from ...report.tables import Entry, Group, Table
from ..cells import REPRODUCED, Cells
from ..item import Item
from ..numbers import words
from ..showing import as_text, named
from ..study import ALL_CLASSIFIERS, Study
from ..style import line_per_dataset

_DELTAS = (0.05, 0.01)
#: The order between χ² (2) and KL (1), and the spread: both to be fixed before the errors are seen.
_ORDER, _SPREAD = 1.2, 3.0
_OTHER_GRID = "arithmetic-geometric"
#: Sets of classifiers: the first of the grid "paper", and the whole other grid.
_SETS = (50, ALL_CLASSIFIERS, _OTHER_GRID)


def _pac_bayes(divergence: str, order: float = 2.0) -> Callable[[np.ndarray, int, float], float]:
    return lambda errors, m, delta: pm.solve(pm.BoundProblem(errors / m, m, delta, "kl", divergence, order=order)).bound


#: Columns: title, and how each bound is computed from counts, m and δ.
BOUNDS: dict[str, tuple[str, Callable[[np.ndarray, int, float], float]]] = {
    "chi2-kl": ("χ²–kl", _pac_bayes("chi2")),
    "kl-kl": ("KL–kl", _pac_bayes("kl")),
    "renyi-kl": (f"Rényi {_ORDER:g}", _pac_bayes("renyi", _ORDER)),
    "occam": ("best single", lambda errors, m, delta: pm.certify(errors, m, delta).single_bound),
    "tie split": ("tie split", lambda errors, m, delta: pm.certify(errors, m, delta).bound),
    "spread": (f"spread {_SPREAD:g}", lambda errors, m, delta: pm.certify(errors, m, delta, spread=_SPREAD).bound),
    "uncorrected": (
        "best, uncorrected (not valid)",
        lambda errors, m, delta: float(pm.clopper_pearson(int(errors.min()), m, delta)),
    ),
}

#: What is compared; the last is no guarantee.
_VALID = list(BOUNDS)[:-1]


def _counts(study: Study, dataset: str, which: object) -> tuple[np.ndarray, int]:
    """Error counts and m of one set of classifiers."""
    table = study.other_grid[dataset] if which == _OTHER_GRID else study.tables[dataset]
    return table.validation_errors[: None if which == _OTHER_GRID else which], table.m


def _fill(study: Study, cells: Cells) -> None:
    sets = {place: _counts(study, *place) for place in product(PAPER_DATASETS, _SETS)}
    for place, (errors, m) in sets.items():
        cells.add(REPRODUCED, *place, H=len(errors), m=m)
    cases = list(product(sets, _DELTAS))
    found = study.map("certificates", _all_bounds, [(*sets[place], delta) for place, delta in cases])
    for (place, delta), values in zip(cases, found, strict=True):
        for name, value in values.items():
            cells.add(REPRODUCED, place[0], place[1], name, **{_quantity_at(delta): value})


def _all_bounds(errors: np.ndarray, m: int, delta: float) -> dict[str, float]:
    return {name: min(float(bound(errors, m, delta)), 1.0) for name, (_, bound) in BOUNDS.items()}


def _quantity_at(delta: float) -> str:
    """The name of a bound at δ."""
    return f"bound at {delta:g}"


def _beaten(cells: Cells, delta: float, name: str, by: str) -> int:
    """On how many data sets one bound of all classifiers is above another."""
    pairs = (
        [cells[dataset, ALL_CLASSIFIERS, each, _quantity_at(delta)][REPRODUCED] for each in (name, by)]
        for dataset in PAPER_DATASETS
    )
    return sum(first > second for first, second in pairs)


def _panel(cells: Cells, delta: float) -> Table:
    titles = tuple(title for title, _ in BOUNDS.values())
    groups = (
        Group("", ("data set", "H", "m")),
        Group("PAC-Bayes", titles[:3]),
        Group("from error counts", titles[3:6]),
        Group("", titles[6:]),
    )
    rows = []
    for dataset, which in product(PAPER_DATASETS, _SETS):
        size, m = (cells[dataset, which, "", name][REPRODUCED] for name in ("H", "m"))
        label = f"{size} (arithmetic–geometric)" if which == _OTHER_GRID else str(size)
        values = {name: cells[dataset, which, name, _quantity_at(delta)][REPRODUCED] for name in BOUNDS}
        best = min(values[name] for name in _VALID)
        kinds = {name: "best" if name in _VALID and value == best else "" for name, value in values.items()}
        row = named(dataset, label, m, first=which == _SETS[0])
        rows.append([*row, *(Entry(as_text(values[name], 4), kind) for name, kind in kinds.items())])
    above = {name: _beaten(cells, delta, f"{name}-kl", "occam") for name in ("chi2", "kl")}
    notes = words("certificates", "notes", size=ALL_CLASSIFIERS, **above)
    return Table(f"certificates-{delta:g}", f"Certificates at δ = {delta:g}", groups, rows, notes)


CERTIFICATES_TABLE = Item(
    "certificates", _fill, uses=("other_grid",), show=lambda cells: [_panel(cells, delta) for delta in _DELTAS]
)

_DRAWN_DELTA = 0.05
_LOOKS: dict[str, Look] = {
    "chi2-kl": {"marker": "D", "color": GREEN, "ms": 6, "mfc": "white"},
    "kl-kl": {"marker": "s", "color": VERMILION, "ms": 6, "mfc": "white"},
    "renyi-kl": {"marker": "^", "color": ORANGE, "ms": 6, "mfc": "white"},
    "occam": {"marker": "o", "color": SKY, "ms": 6},
    "tie split": {"marker": "o", "color": BLUE, "ms": 6},
    "spread": {"marker": "v", "color": BLACK, "ms": 6},
    "uncorrected": {"marker": "|", "color": GREY, "mew": 1.5, "ms": 11},
}


def _draw(cells: Cells) -> Figure:
    """A mark for each bound of each data set."""
    figure, axis = line_per_dataset(5.2, f"bound on the risk (H = {ALL_CLASSIFIERS}, δ = {_DRAWN_DELTA:g})")
    for (line, dataset), (position, name) in product(enumerate(PAPER_DATASETS), enumerate(BOUNDS)):
        value = cells[dataset, ALL_CLASSIFIERS, name, _quantity_at(_DRAWN_DELTA)][REPRODUCED]
        height = line + 0.36 * (2 * position / (len(BOUNDS) - 1) - 1)
        axis.plot(value, height, ls="none", label=None if line else BOUNDS[name][0], **_LOOKS[name])
    axis.set_xscale("log")
    ticks = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3]
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    wins = min(_beaten(cells, _DRAWN_DELTA, name, "tie split") for name in list(BOUNDS)[:3])
    title = f"A certificate from error counts is below the PAC-Bayes bounds on {wins} of 9 data sets"
    figure.suptitle(title, fontsize=11)
    figure.legend(loc="outside lower center", ncols=4, columnspacing=1.4)
    return figure


CERTIFICATES_FIGURE = Item("certificates-figure", of="certificates", draw=_draw)
