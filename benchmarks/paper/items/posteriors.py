"""Optimal posteriors: supports (Figure 1, and against δ), weights (Figures 4 and 5), concentration (6, and Table 9)."""

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import product

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import pacb_models as pm
from pacb_models.plots.style import BLACK, BLUE, GREY, VERMILION

from ...problems.problem import PAPER_DATASETS
from ...report.drawing import Look
from ...report.tables import Group, Table
from ..cells import BOTH_HALVES, CORRECTED, PRINTED, REPRODUCED, VERSIONS, Cells, Values
from ..item import Item
from ..numbers import words
from ..showing import DISTANCE_LOOK, NAMES, SERIES, Beside, grid_of_axes, legend_below, named, panel_per_dataset
from ..study import ALL_CLASSIFIERS, DISTANCES, PAPER_DELTA, Study

# --- Figure 1: the linear bound B*(H') and its two components against the support size H' -----------------------------

#: The paper does not say which data set it shows. Here one whose support is full and one where it ends early.
CASES = (("bupa", 0.01), ("ionosphere", 0.1))


def _fill_supports(study: Study, cells: Cells) -> None:
    for dataset, delta in CASES:
        problem = study.problem(dataset, ALL_CLASSIFIERS, "linear", REPRODUCED, delta=delta)
        solution = pm.solve(problem, "subset-search")
        mean, root = components(problem.risks, problem.coefficient)
        found = {"delta": delta, "m": problem.m, "best_size": solution.details["best_size"], "bound": solution.bound}
        found |= {"mean": mean.tolist(), "root": [None if np.isnan(value) else value for value in root.tolist()]}
        cells.add(REPRODUCED, dataset, ALL_CLASSIFIERS, "linear", **found)


def components(risks: np.ndarray, coefficient: float) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the terms of :math:`B^*(H') = \bar l_{H'} + \sqrt{c^2 H/H' - var_{H'}}` for all H'; NaN without a
    root."""
    ordered = np.sort(risks)
    sizes = np.arange(1, len(risks) + 1)
    shifted = ordered - ordered[0]
    mean = np.cumsum(shifted) / sizes
    variance = np.maximum(np.cumsum(shifted**2) / sizes - mean**2, 0.0)
    radicand = coefficient**2 * len(risks) / sizes - variance
    return ordered[0] + mean, np.sqrt(np.where(radicand >= 0.0, radicand, np.nan))


def _draw_supports(cells: Cells) -> Figure:
    """Return mean risk, root term and their sum."""
    panels = cells.rows()
    figure, axes = grid_of_axes(1, len(panels), 8.0, 3.6)
    for axis, (place, panel) in zip(axes, panels.items()):
        mean, root = np.array(panel["mean"]), np.array(panel["root"], dtype=float)
        sizes, best, bound = np.arange(1, len(mean) + 1), panel["best_size"], panel["bound"]
        total = mean + root
        axis.plot(sizes, mean, color=BLUE, ls="--", label="mean risk of the H′ best")
        axis.plot(sizes, root, color=VERMILION, ls="-.", label="root term")
        axis.plot(sizes[:best], total[:best], color=BLACK, label="their sum, B*(H′)")
        if best < len(sizes):
            axis.plot(sizes[best:], total[best:], color=GREY, lw=1.0, label="beyond H* (negative weights)")
        axis.plot(best, bound, "o", color=BLACK)
        offset, side = (-4, "right") if best == len(sizes) else (4, "left")
        look: Look = {"xytext": (offset, 8), "textcoords": "offset points", "ha": side, "fontsize": 8}
        axis.annotate(f"H* = {best}\nB* = {bound:.4f}", (best, bound), **look)
        axis.set(title=f"{NAMES[place.dataset]}, m = {panel['m']}, δ = {panel['delta']}", xlabel="support size H′")
        axis.set_ylim(0.0, min(1.2, 1.1 * np.nanmax(total[10:])))
    legend_below(figure, axes[-1], 4)
    return figure


SUPPORTS = Item("linear-supports", _fill_supports, draw=_draw_supports)


# --- Figures 4 and 5: optimal weights against risk for three values of δ ----------------------------------------------

_DELTAS = (0.01, 0.05, 0.1)

#: The paper draws the weights of its fixed point and of its solver.
COMPARED = {"subset-search": "Algorithm 1", "ipopt": "Ipopt"}


def _fill_weights(study: Study, cells: Cells, dataset: str, distance: str, versions: Iterable[str]) -> None:
    table = study.tables[dataset]
    for version, delta in product(versions, _DELTAS):
        # The captions count all examples that are not in the test part.
        m = table.training_size + table.validation_size if version == BOTH_HALVES else table.m
        problem = study.problem(dataset, ALL_CLASSIFIERS, distance, version, delta=delta).replace(m=m)
        cells.add(version, dataset, ALL_CLASSIFIERS, f"δ = {delta}", m=m, **_curve(problem))


def _curve(problem: pm.BoundProblem) -> Values:
    """Return the optimal weights against risk, and how far those of the other methods are from them at most."""
    solution = pm.solve(problem, "frontier")
    # Classifiers of equal risk have equal weight.
    risks, first = np.unique(problem.risks, return_index=True)
    found = {"bound": solution.bound, "support": solution.support_size}
    found["last_risk"] = float(problem.risks[solution.posterior > 0.0].max())
    found |= {"risks": risks.tolist(), "weights": solution.posterior[first].tolist()}
    for name in COMPARED:
        if pm.available_solvers()[name].available:
            other = pm.solve(problem, name, merge=False)
            found[name] = float(np.abs(other.posterior - solution.posterior).max())
    return found


def _draw_weights(cells: Cells, versions: Mapping[str, str]) -> Figure:
    """Return a panel for each version, a curve for each δ."""
    figure, axes = grid_of_axes(1, len(versions), 1.2 + 3.2 * len(versions), 3.7)
    for axis, (title, version) in zip(axes, versions.items()):
        curves = cells.rows(version)
        axis.axhline(1.0 / ALL_CLASSIFIERS, color="#999999", lw=1.0, label="prior")
        for (place, curve), look in zip(curves.items(), SERIES):
            axis.plot(curve["risks"], curve["weights"], label=place.method, **look)
            if curve["support"] < ALL_CLASSIFIERS:
                axis.axvline(curve["last_risk"], color=look["color"], lw=0.8, ls=":")
        (m, *_), supports = ([curve[name] for curve in curves.values()] for name in ("m", "support"))
        axis.set_title(f"{title.format(m=m)}\nH* = {', '.join(map(str, supports))}", fontsize=9)
        axis.set(xlabel="empirical risk", ylim=(0.0, None))
        axis.ticklabel_format(axis="y", style="sci", scilimits=(0, 0), useMathText=True)
    axes[0].set_ylabel("weight of one classifier")
    legend_below(figure, axes[0], 1 + len(_DELTAS))
    return figure


def _agreement(cells: Cells) -> dict[str, str]:
    """Return how far the weights of the other methods are from those drawn."""
    said = []
    for name, title in COMPARED.items():
        if offs := [off for place, values in cells.items() if place.quantity == name for off in values.values()]:
            said.append(f"{title} gives the same weights within {max(offs):.0e}.")
    return {"agreement": " ".join(said)}


def _weights(name: str, dataset: str, distance: str, versions: Mapping[str, str]) -> Item:
    fill = partial(_fill_weights, dataset=dataset, distance=distance, versions=versions.values())
    return Item(name, fill, draw=partial(_draw_weights, versions=versions), facts=_agreement)


#: By the titles of the panels.
_BUPA = {"both halves, m = {m}": BOTH_HALVES, "validation, m = {m}": REPRODUCED}
_SPAMBASE = {
    "paper's constant, both halves, m = {m}": BOTH_HALVES,
    "paper's constant, m = {m}": REPRODUCED,
    "exact constant, m = {m}": CORRECTED,
}
WEIGHTS = [_weights("linear-weights", "bupa", "linear", _BUPA), _weights("kl-weights", "spambase", "kl", _SPAMBASE)]

# --- how many classifiers the posteriors use, against δ ---------------------------------------------------------------

MANY_DELTAS = np.geomspace(0.001, 0.5, 28)


def _fill_against_delta(study: Study, cells: Cells) -> None:
    """Fill in support sizes of every distance with both constants."""
    for position, dataset in enumerate(PAPER_DATASETS):
        study.report("supports", position, len(PAPER_DATASETS))
        for version, distance in product((REPRODUCED, CORRECTED), DISTANCES):
            problem = study.problem(dataset, ALL_CLASSIFIERS, distance, version)
            solutions = (pm.solve(problem.replace(delta=delta), "frontier") for delta in MANY_DELTAS.tolist())
            cells.add(version, dataset, ALL_CLASSIFIERS, distance, supports=[each.support_size for each in solutions])


#: What is drawn: the distance, the version, its line and its words; the linear constant is right in the paper.
_LINES = [
    (distance, version, style, f"{distance}, {words}")
    for distance in DISTANCES
    for version, style, words in ((CORRECTED, "-", "exact constant"), (REPRODUCED, ":", "paper's constant"))
    if (distance, version) != ("linear", REPRODUCED)
]


def _draw_against_delta(cells: Cells) -> Figure:
    """Return a panel for each data set."""

    def draw(axis: Axes, dataset: str) -> None:
        for distance, version, style, label in _LINES:
            sizes = cells[dataset, ALL_CLASSIFIERS, distance, "supports"][version]
            axis.plot(MANY_DELTAS, sizes, color=DISTANCE_LOOK[distance]["color"], ls=style, label=label)
        axis.set(xscale="log", ylim=(0, 1.05 * ALL_CLASSIFIERS))

    return panel_per_dataset(draw, 7.6, ("δ", "support size"), sharey=True)


AGAINST_DELTA = Item("support-against-delta", _fill_against_delta, draw=_draw_against_delta)

# --- Table 9: N(α) and the Herfindahl–Hirschman index -----------------------------------------------------------------

LARGE_SIZE = 1000

#: In the paper's order.
FIVE_DATASETS = ("mammographic", "spambase", "wdbc", "bupa", "banknote")

_LEVELS = (0.8, 0.9, 0.95)

#: Where the caption says how many times the squared posterior's index exceeds the others'.
_RATIO_CLAIMED = ("spambase", "bupa")


def classifiers_for(posterior: np.ndarray, risks: np.ndarray, level: float) -> int:
    """Return N(α): the number of classifiers, by increasing risk, that hold the share ``level`` of the weight.

    >>> classifiers_for(np.array([0.5, 0.2, 0.3]), np.array([0.1, 0.3, 0.2]), 0.8)
    2
    """
    mass = mass_by_risk(posterior, risks)
    # A share that is reached exactly must not be missed by rounding.
    return int(np.searchsorted(mass, level * (1.0 - 1e-12)) + 1)


def mass_by_risk(posterior: np.ndarray, risks: np.ndarray) -> np.ndarray:
    """Return the weight of the first one, two, … classifiers by increasing risk."""
    return np.cumsum(posterior[np.argsort(risks, kind="stable")])


def concentration(posterior: np.ndarray) -> float:
    """Return what the paper calls HHI: the root of the sum of squares (the usual index is the sum itself)."""
    return float(np.sqrt(np.sum(posterior**2)))


def _fill(study: Study, cells: Cells) -> None:
    for dataset in FIVE_DATASETS:
        cells.add(REPRODUCED, dataset, validation_size=study.tables[dataset].m)
    for dataset, distance, version in product(FIVE_DATASETS, DISTANCES, VERSIONS):
        problem = study.problem(dataset, LARGE_SIZE, distance, version)
        q = pm.solve(problem, "frontier").posterior
        counts = {f"N({level})": classifiers_for(q, problem.risks, level) for level in _LEVELS}
        values = {**counts, "HHI": concentration(q), "support": int(np.count_nonzero(q))}
        cells.add(version, dataset, LARGE_SIZE, distance, **values)
    for dataset, version in product(_RATIO_CLAIMED, VERSIONS):
        linear, squared, kl = (cells[dataset, LARGE_SIZE, each, "HHI"][version] for each in DISTANCES)
        cells.add(version, dataset, LARGE_SIZE, HHI_ratio=squared / max(linear, kl))
    cells.add(REPRODUCED, "all", H=LARGE_SIZE, H_in_text=LARGE_SIZE, delta=PAPER_DELTA)


#: What is measured, and its decimals.
_MEASURES = {**{f"N({level})": 0 for level in _LEVELS}, "HHI": 4, "support": 0}


def _table(cells: Cells) -> Table:
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
    return Table("sparsity", title, groups, rows, notes)


SPARSITY_TABLE = Item("sparsity", _fill, tables=(_table,))

# --- Figure 6: distribution functions over the classifiers, by increasing risk ----------------------------------------

#: In the paper's order of panels.
_PANELS = ("spambase", "bupa", "mammographic", "wdbc", "banknote")

_ROWS = (REPRODUCED, CORRECTED)


def _fill_distributions(study: Study, cells: Cells) -> None:
    """Fill in the weight of the first one, two, … classifiers."""
    for version, dataset, distance in product(_ROWS, _PANELS, DISTANCES):
        problem = study.problem(dataset, LARGE_SIZE, distance, version)
        mass = mass_by_risk(pm.solve(problem, "frontier").posterior, problem.risks)
        cells.add(version, dataset, LARGE_SIZE, distance, mass=mass.tolist())


def _draw_distributions(cells: Cells) -> Figure:
    """Return a row for each version, a column for each data set."""
    figure, axes = grid_of_axes(2, len(_PANELS), 11.0, 5.0, sharex=True, sharey=True)
    for axis, (version, dataset) in zip(axes, product(_ROWS, _PANELS)):
        axis.plot([0, LARGE_SIZE], [0.0, 1.0], color="#999999", lw=1.0, label="prior")
        for distance in DISTANCES:
            mass = cells[dataset, LARGE_SIZE, distance, "mass"][version]
            axis.plot(range(LARGE_SIZE + 1), [0.0, *mass], label=distance, **{**DISTANCE_LOOK[distance], "marker": ""})
        if version == REPRODUCED:
            axis.set_title(NAMES[dataset])
        else:
            axis.set_xlabel("classifiers by risk")
        if dataset == _PANELS[0]:
            axis.set_ylabel(f"{VERSIONS[version]}\nposterior mass")
    legend_below(figure, axes[0], 4)
    return figure


DISTRIBUTIONS = Item("cdfs", _fill_distributions, draw=_draw_distributions)
