"""Figures of optimal posteriors: their supports, weights and distribution functions (Figures 1, 4, 5 and 6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

import pacb_models as pm
from pacb_models.plots.style import BLACK, BLUE, GREY, VERMILION

from ...problems.problem import PAPER_DATASETS
from ..cells import REPRODUCED, Cells, Values
from ..item import FigureItem
from ..showing import NAMES
from ..study import ALL_CLASSIFIERS, BOTH_HALVES, DISTANCES, EXACT, PAPER, Study, Version
from ..tables.sparsity import LARGE_SIZE, mass_by_risk
from .style import DISTANCE_LOOK, SERIES, grid_of_axes, legend_below, line, panel_per_dataset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# --- Figure 1: the linear bound B*(H') and its two components against the support size H' -----------------------------

#: The paper does not say which data set it shows. Here one whose support is full and one where it ends early.
CASES = (("bupa", 0.01), ("ionosphere", 0.1))


def _fill_supports(study: Study, cells: Cells) -> None:
    for dataset, delta in CASES:
        problem = study.problem(dataset, ALL_CLASSIFIERS, "linear", PAPER, delta=delta)
        solution = pm.solve(problem, "subset-search")
        mean, root = components(problem.risks, problem.coefficient)
        cells.add(
            REPRODUCED,
            dataset,
            ALL_CLASSIFIERS,
            "linear",
            delta=delta,
            m=problem.m,
            best_size=solution.details["best_size"],
            bound=solution.bound,
            mean=mean.tolist(),
            root=[None if np.isnan(value) else value for value in root.tolist()],
        )


def components(risks: np.ndarray, coefficient: float) -> tuple[np.ndarray, np.ndarray]:
    r"""The terms of :math:`B^*(H') = \bar l_{H'} + \sqrt{c^2 H/H' - var_{H'}}` for all H'; NaN without a root."""
    ordered = np.sort(risks)
    sizes = np.arange(1, len(risks) + 1)
    shifted = ordered - ordered[0]
    mean = np.cumsum(shifted) / sizes
    variance = np.maximum(np.cumsum(shifted**2) / sizes - mean**2, 0.0)
    radicand = coefficient**2 * len(risks) / sizes - variance
    return ordered[0] + mean, np.sqrt(np.where(radicand >= 0.0, radicand, np.nan))


def _draw_supports(cells: Cells) -> Figure:
    """Mean risk, root term and their sum."""
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
        words, place_of = f"H* = {best}\nB* = {bound:.4f}", (best, bound)
        axis.annotate(words, place_of, xytext=(offset, 8), textcoords="offset points", ha=side, fontsize=8)
        axis.set(title=f"{NAMES[place.dataset]}, m = {panel['m']}, δ = {panel['delta']}", xlabel="support size H′")
        axis.set_ylim(0.0, min(1.2, 1.1 * np.nanmax(total[10:])))
    legend_below(figure, axes[-1], 4)
    return figure


SUPPORTS = FigureItem("linear-supports", _fill_supports, draw=_draw_supports)


# --- Figures 4 and 5: optimal weights against risk for three values of δ ----------------------------------------------

_DELTAS = (0.01, 0.05, 0.1)

#: The paper draws the weights of its fixed point and of its solver.
COMPARED = {"subset-search": "Algorithm 1", "ipopt": "Ipopt"}


#: The titles of the panels, and their versions.
_BUPA = {"both halves, m = {m}": BOTH_HALVES, "validation, m = {m}": PAPER}
_SPAMBASE = {
    "paper's constant, both halves, m = {m}": BOTH_HALVES,
    "paper's constant, m = {m}": PAPER,
    "exact constant, m = {m}": EXACT,
}


def _fill_weights(study: Study, cells: Cells, dataset: str, distance: str, versions: Iterable[Version]) -> None:
    table = study.tables[dataset]
    for version, delta in product(versions, _DELTAS):
        # The captions count all examples that are not in the test part.
        m = table.training_size + table.validation_size if version.both_halves else table.m
        problem = study.problem(dataset, ALL_CLASSIFIERS, distance, version, delta=delta).replace(m=m)
        cells.add(version.name, dataset, ALL_CLASSIFIERS, f"δ = {delta}", m=m, **_curve(problem))


def _curve(problem: pm.BoundProblem) -> Values:
    solution = pm.solve(problem, "frontier")
    risks, first = np.unique(problem.risks, return_index=True)
    others = [name for name in COMPARED if pm.available_solvers()[name].available]
    return {
        "bound": solution.bound,
        "support": solution.support_size,
        "last_risk": float(problem.risks[solution.posterior > 0.0].max()),
        # Classifiers of equal risk have equal weight.
        "risks": risks.tolist(),
        "weights": solution.posterior[first].tolist(),
        **{
            name: float(np.abs(pm.solve(problem, name, merge=False).posterior - solution.posterior).max())
            for name in others
        },
    }


def _draw_weights(cells: Cells, versions: Mapping[str, Version]) -> Figure:
    """A panel for each version, a curve for each δ."""
    figure, axes = grid_of_axes(1, len(versions), 1.2 + 3.2 * len(versions), 3.7)
    for axis, (title, version) in zip(axes, versions.items()):
        curves = cells.rows(version.name)
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
    """How far the weights of the other methods are from those drawn."""
    largest = {
        name: max(off for place, values in cells if place.quantity == name for off in values.values())
        for name in dict.fromkeys(place.quantity for place, _ in cells if place.quantity in COMPARED)
    }
    said = (f"{COMPARED[name]} gives the same weights within {value:.0e}." for name, value in largest.items())
    return {"agreement": " ".join(said)}


def _weights(name: str, dataset: str, distance: str, versions: Mapping[str, Version]) -> FigureItem:
    fill = partial(_fill_weights, dataset=dataset, distance=distance, versions=list(versions.values()))
    return FigureItem(name, fill, draw=partial(_draw_weights, versions=versions), facts=_agreement)


LINEAR_WEIGHTS = _weights("linear-weights", "bupa", "linear", _BUPA)
KL_WEIGHTS = _weights("kl-weights", "spambase", "kl", _SPAMBASE)


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


def _draw_distributions(cells: Cells) -> Figure:
    """A row for each version, a column for each data set."""
    figure, axes = grid_of_axes(2, len(_PANELS), 11.0, 5.0, sharex=True, sharey=True)
    for axis, (version, dataset) in zip(axes, product(_ROWS, _PANELS)):
        axis.plot([0, LARGE_SIZE], [0.0, 1.0], color="#999999", lw=1.0, label="prior")
        for distance in DISTANCES:
            mass = cells[dataset, LARGE_SIZE, distance, "mass"][version.name]
            axis.plot(range(LARGE_SIZE + 1), [0.0, *mass], label=distance, **line(distance))
        if version == PAPER:
            axis.set_title(NAMES[dataset])
        else:
            axis.set_xlabel("classifiers by risk")
        if dataset == _PANELS[0]:
            axis.set_ylabel(f"{_ROWS[version]}\nposterior mass")
    legend_below(figure, axes[0], 4)
    return figure


DISTRIBUTIONS = FigureItem("cdfs", _fill_distributions, draw=_draw_distributions)


# --- how many classifiers the posteriors use, against δ ---------------------------------------------------------------

MANY_DELTAS = np.geomspace(0.001, 0.5, 28)


def _fill_against_delta(study: Study, cells: Cells) -> None:
    """Support sizes of every distance with both constants."""
    for position, dataset in enumerate(PAPER_DATASETS):
        study.report("supports", position, len(PAPER_DATASETS))
        for version, distance in product((PAPER, EXACT), DISTANCES):
            problem = study.problem(dataset, ALL_CLASSIFIERS, distance, version)
            solutions = [pm.solve(problem.replace(delta=delta), "frontier") for delta in MANY_DELTAS.tolist()]
            supports = [solution.support_size for solution in solutions]
            cells.add(version.name, dataset, ALL_CLASSIFIERS, distance, supports=supports)


#: What is drawn: the distance, the version, its line and its words; the linear constant is right in the paper.
_LINES = [
    (distance, version, style, f"{distance}, {words}")
    for distance in DISTANCES
    for version, style, words in ((EXACT, "-", "exact constant"), (PAPER, ":", "paper's constant"))
    if (distance, version) != ("linear", PAPER)
]


def _draw_against_delta(cells: Cells) -> Figure:
    """A panel for each data set."""

    def draw(axis: Axes, dataset: str) -> None:
        for distance, version, style, label in _LINES:
            sizes = cells[dataset, ALL_CLASSIFIERS, distance, "supports"][version.name]
            axis.plot(MANY_DELTAS, sizes, color=DISTANCE_LOOK[distance]["color"], ls=style, label=label)
        axis.set(xscale="log", ylim=(0, 1.05 * ALL_CLASSIFIERS))

    return panel_per_dataset(draw, 7.6, ("δ", "support size"), sharey=True)


AGAINST_DELTA = FigureItem("support-against-delta", _fill_against_delta, draw=_draw_against_delta)
