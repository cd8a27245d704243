"""Figure 6: distribution functions of the three posteriors over the classifiers, by increasing risk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pacb_models as pm

from ..item import FigureItem, Results
from ..showing import NAMES
from ..study import DISTANCES, EXACT, PAPER, Study
from ..tables.sparsity import SIZE, mass_by_risk
from .style import grid_of_axes, legend_below, line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: In the paper's order of panels.
DATASETS = ("spambase", "bupa", "mammographic", "wdbc", "banknote")

ROWS = {PAPER.name: "paper's constants", EXACT.name: "exact constants"}


def compute(study: Study, results: Results) -> dict[str, Any]:
    return {
        version.name: {
            dataset: {distance: _distribution(study, dataset, distance, version) for distance in DISTANCES}
            for dataset in DATASETS
        }
        for version in (PAPER, EXACT)
    }


def _distribution(study: Study, dataset: str, distance: str, version: Any) -> list[float]:
    problem = study.problem(dataset, SIZE, distance, version)
    posterior = pm.solve(problem, "frontier").posterior
    return mass_by_risk(posterior, problem.risks).tolist()


def draw(result: dict[str, Any]) -> Figure:
    figure, axes = grid_of_axes(2, len(DATASETS), 11.0, 5.0, sharex=True, sharey=True)
    for position, axis in enumerate(axes):
        row, column = divmod(position, len(DATASETS))
        version, dataset = list(ROWS)[row], DATASETS[column]
        axis.plot([0, SIZE], [0.0, 1.0], color="#999999", lw=1.0, label="prior")
        for distance, mass in result[version][dataset].items():
            axis.plot(range(SIZE + 1), [0.0, *mass], label=distance, **line(distance))
        if row == 0:
            axis.set_title(NAMES[dataset])
        else:
            axis.set_xlabel("classifiers by risk")
        if column == 0:
            axis.set_ylabel(f"{ROWS[version]}\nposterior mass")
    legend_below(figure, axes[0], 4)
    return figure


def caption(result: dict[str, Any]) -> str:
    return (
        "Posterior mass of the classifiers with the smallest risks, H = 1000, δ = 0.01. With the paper's constants "
        "the linear and kl posteriors lie close to the prior; with exact constants the kl posterior follows the risks "
        "as the squared one does."
    )


ITEM = FigureItem("cdfs", "Figure 6", compute, draw=draw, caption=caption)
