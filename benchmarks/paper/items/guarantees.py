"""What other guarantees of the same classifiers say: tables and figures of our own; the paper has nothing like them."""

from functools import partial
from itertools import product

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import pacb_models as pm
from pacb_models.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE, SKY, VERMILION

from ...problems.problem import KINDS, PAPER_DATASETS
from ...report.drawing import Look
from ...report.tables import Entry, Group, Table
from ..cells import REPRODUCED, Cells
from ..item import Item
from ..numbers import words
from ..showing import as_text, line_per_dataset, named, panel_per_dataset
from ..study import ALL_CLASSIFIERS, Study

# --- The smallest certificate of each set of classifiers: PAC-Bayes bounds against bounds from error counts. All are
# valid at their δ but for the last, which shows what choosing the best of H classifiers costs: the limit of Clopper and
# Pearson without any correction.

_DELTAS = (0.05, 0.01)
#: The order between χ² (2) and KL (1), and the spread: both to be fixed before the errors are seen.
_ORDER, _SPREAD = 1.2, 3.0
_OTHER_GRID = "arithmetic-geometric"
#: Sets of classifiers: the first of the grid "paper", and the whole other grid.
_SETS = (50, ALL_CLASSIFIERS, _OTHER_GRID)


#: The titles of the bounds, and their marks.
BOUNDS: dict[str, tuple[str, Look]] = {
    "chi2-kl": ("χ²–kl", {"marker": "D", "color": GREEN, "ms": 6, "mfc": "white"}),
    "kl-kl": ("KL–kl", {"marker": "s", "color": VERMILION, "ms": 6, "mfc": "white"}),
    "renyi-kl": (f"Rényi {_ORDER:g}", {"marker": "^", "color": ORANGE, "ms": 6, "mfc": "white"}),
    "occam": ("best single", {"marker": "o", "color": SKY, "ms": 6}),
    "tie split": ("tie split", {"marker": "o", "color": BLUE, "ms": 6}),
    "spread": (f"spread {_SPREAD:g}", {"marker": "v", "color": BLACK, "ms": 6}),
    "uncorrected": ("best, uncorrected (not valid)", {"marker": "|", "color": GREY, "mew": 1.5, "ms": 11}),
}

#: What is compared; the last is no guarantee.
_VALID = list(BOUNDS)[:-1]


def _counts(study: Study, dataset: str, which: object) -> tuple[np.ndarray, int]:
    """Return error counts and m of one set of classifiers."""
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
    found = {
        f"{divergence}-kl": pm.solve(pm.BoundProblem(errors / m, m, delta, "kl", divergence, order=order)).bound
        for divergence, order in (("chi2", 2.0), ("kl", 2.0), ("renyi", _ORDER))
    }
    certificate, spread = (pm.certify(errors, m, delta, spread=spread) for spread in (0.0, _SPREAD))
    found |= {"occam": certificate.single_bound, "tie split": certificate.bound, "spread": spread.bound}
    found["uncorrected"] = float(pm.clopper_pearson(int(errors.min()), m, delta))
    return {name: min(float(found[name]), 1.0) for name in BOUNDS}


def _quantity_at(delta: float) -> str:
    """Return the name of a bound at δ."""
    return f"bound at {delta:g}"


def _beaten(cells: Cells, delta: float, name: str, by: str) -> int:
    """Return on how many data sets one bound of all classifiers is above another."""
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


_PANELS = tuple(partial(_panel, delta=delta) for delta in _DELTAS)
CERTIFICATES_TABLE = Item("certificates", _fill, uses=("other_grid",), tables=_PANELS)

_DRAWN_DELTA = 0.05


def _draw(cells: Cells) -> Figure:
    """Return a mark for each bound of each data set."""
    figure, axis = line_per_dataset(5.2, f"bound on the risk (H = {ALL_CLASSIFIERS}, δ = {_DRAWN_DELTA:g})")
    for (line, dataset), (position, name) in product(enumerate(PAPER_DATASETS), enumerate(BOUNDS)):
        title, look = BOUNDS[name]
        value = cells[dataset, ALL_CLASSIFIERS, name, _quantity_at(_DRAWN_DELTA)][REPRODUCED]
        height = line + 0.36 * (2 * position / (len(BOUNDS) - 1) - 1)
        axis.plot(value, height, ls="none", label=None if line else title, **look)
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


# --- What change of measure costs: the least bound with and without it, with two-sided and one-sided constants. Relaxed
# and direct bound have the same distance, divergence and constant; the direct one leaves out the inequalities of Hölder
# (or Donsker and Varadhan) and Jensen.

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


def _fill_minima(study: Study, cells: Cells) -> None:
    cases = list(product(PAPER_DATASETS, BOUND_PAIRS))
    tables = study.tables
    arguments = [(tables[name].risks(ALL_CLASSIFIERS), tables[name].m, *pair[1:]) for name, pair in cases]
    for (dataset, pair), found in zip(cases, study.map("change of measure", minima, arguments), strict=True):
        cells.add(REPRODUCED, dataset, ALL_CLASSIFIERS, pair[0], **found)


def minima(risks: np.ndarray, m: int, distance: str, divergence: str, order: float) -> dict[str, float]:
    """Return the least bounds, and how far the posteriors with and without change of measure are apart."""
    found, moved = {}, {}
    for constant in _CONSTANTS:
        posteriors = []
        for name, kind in KINDS.items():
            solution = pm.solve(kind(risks, m, _DELTA, distance, divergence, constant=constant, order=order))
            found[f"{name} {constant}"] = float(solution.bound)
            posteriors.append(solution.posterior)
        moved[f"moved {constant}"] = 0.5 * float(np.abs(posteriors[0] - posteriors[1]).sum())
    return found | moved


def _table(cells: Cells) -> Table:
    """Return a row for each pair on data sets."""
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
    return Table("change-of-measure", "What change of measure costs", groups, rows, notes)


CHANGE_OF_MEASURE_TABLE = Item("change-of-measure", _fill_minima, tables=(_table,))

_STEPS: tuple[tuple[str, str, Look], ...] = (
    ("direct exact", "direct, two-sided constant", {"color": ORANGE, "marker": "o"}),
    ("bound one-sided", "change of measure, one-sided constant", {"color": GREY, "marker": "s", "mfc": "white"}),
    ("direct one-sided", "direct, one-sided constant", {"color": BLUE, "marker": "o"}),
)


def _draw_minima(cells: Cells) -> Figure:
    """Return a panel for each data set, a line for each bound: the least bounds as shares of the usual one."""
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


CHANGE_OF_MEASURE_FIGURE = Item("change-of-measure-figure", of="change-of-measure", draw=_draw_minima)
