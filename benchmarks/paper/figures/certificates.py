"""The certificates of 1990 SVMs on nine data sets: PAC-Bayes bounds against bounds from error counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pacb_models.plots.style import COLOURS

from ...problems.problem import PAPER_DATASETS
from ..item import FigureItem, Results, entries_of
from ..showing import NAMES
from ..study import ALL_CLASSIFIERS, Study
from ..tables.certificates import BOUNDS, TITLES, beaten

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLACK, ORANGE, SKY, GREEN, BLUE, VERMILION, _, GREY = COLOURS

_DELTA = 0.05
_LOOK: dict[str, dict[str, Any]] = {
    "chi2-kl": {"marker": "D", "color": GREEN, "mfc": "white"},
    "kl-kl": {"marker": "s", "color": VERMILION, "mfc": "white"},
    "renyi-kl": {"marker": "^", "color": ORANGE, "mfc": "white"},
    "occam": {"marker": "o", "color": SKY},
    "tie split": {"marker": "o", "color": BLUE},
    "spread": {"marker": "v", "color": BLACK},
    "uncorrected": {"marker": "|", "color": GREY, "mew": 1.5, "ms": 11},
}


def compute(study: Study, results: Results) -> dict[str, Any]:
    entries = entries_of(results["certificates"])
    full = str(ALL_CLASSIFIERS)
    bounds = {
        dataset: {name: entries.value(f"{dataset} {full}", f"{name} {_DELTA:g}", "ours") for name in BOUNDS}
        for dataset in PAPER_DATASETS
    }
    wins = {name: beaten(entries, full, _DELTA, name, "tie split") for name in ("chi2-kl", "kl-kl", "renyi-kl")}
    return {"bounds": bounds, "wins": wins}


def draw(result: dict[str, Any]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.6, 5.2), layout="constrained")
    axis = figure.add_subplot()
    for line, values in enumerate(result["bounds"].values()):
        if line % 2:
            axis.axhspan(line - 0.5, line + 0.5, color="#f4f6f8", lw=0)
        for position, (name, value) in enumerate(values.items()):
            height = line + 0.36 * (2 * position / (len(values) - 1) - 1)
            label = TITLES[name] if line == 0 else None
            axis.plot(value, height, ls="none", label=label, **({"ms": 6} | _LOOK[name]))
    axis.set_yticks(range(len(PAPER_DATASETS)), [NAMES[name] for name in PAPER_DATASETS])
    axis.set(
        xscale="log",
        ylim=(len(PAPER_DATASETS) - 0.5, -0.5),
        xlabel=f"bound on the risk (H = {ALL_CLASSIFIERS}, δ = {_DELTA:g})",
    )
    axis.set_xticks([0.001, 0.003, 0.01, 0.03, 0.1, 0.3], ["0.001", "0.003", "0.01", "0.03", "0.1", "0.3"])
    axis.minorticks_off()
    axis.grid(False, axis="y")
    wins = min(result["wins"].values())
    title = f"A certificate from error counts is below the PAC-Bayes bounds on {wins} of 9 data sets"
    figure.suptitle(title, fontsize=11)
    figure.legend(loc="outside lower center", ncols=4, columnspacing=1.4)
    return figure


def caption(result: dict[str, Any]) -> str:
    return (
        "Certificates of the same 1990 SVMs from the same validation errors. Open marks: PAC-Bayes bounds; filled: "
        "bounds from error counts. Grey bars: the limit of the best classifier as if it had not been chosen, which is "
        "no guarantee; the distance to it is what the choice among 1990 costs."
    )


ITEM = FigureItem(
    "certificates-figure",
    "not in the paper",
    compute,
    needs=("certificates",),
    draw=draw,
    caption=caption,
)
