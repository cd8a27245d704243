"""What starts of local methods led to, as tables, a picture and a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pacb_models.plots.style import styled

from ..report.tables import markdown_text, pipes
from ..report.wording import counted
from .starts import PAPER

if TYPE_CHECKING:
    import pandas as pd

INTRODUCTION = """# Where local methods end

Many bounds have several local minima. A method that goes downhill ends in the one below its start. Here every local
method was started from the prior and from random posteriors, on [hard problems](../hard-problems.md), and each end was
compared with the minima that the exact solver lists. Random posteriors are Dirichlet with equal parameters: at 0.01
nearly all weight is on a few classifiers, at 1 posteriors are uniform on the simplex, at 10 all weights are nearly
equal.

The paper reports, for uniform priors and its own data, that the fixed-point scheme "identifies a unique stationary
point even with different initializations" of the kl bound, and Ipopt "a unique (local) minimum" of the squared one.
"""


def shares(records: pd.DataFrame) -> pd.DataFrame:
    """Per family, solver and kind of start: the share of starts that ended in the best minimum, in per cent."""
    sums = records.groupby(["family", "solver", "start"], sort=False)[["starts", "best"]].sum()
    return (100.0 * sums["best"] / sums["starts"]).unstack("start")[list(records["start"].unique())]


def table(records: pd.DataFrame) -> str:
    """The shares as a Markdown table."""
    found = shares(records)
    kinds = [str(kind) for kind in found.columns]
    lines = [pipes(["family", "solver", *kinds]), f"| --- | --- |{' ---: |' * len(kinds)}"]
    for (family, solver), row in zip(found.index, found.itertuples(index=False)):
        lines.append(pipes([markdown_text(family), markdown_text(solver), *(f"{value:.0f}" for value in row)]))
    return "\n".join(lines)


def basins(records: pd.DataFrame) -> str:
    """Per family, over all methods and random starts: the shares of the best minimum, others, and none, as Markdown."""
    random = records[records["start"] != "prior"]
    lines = [pipes(["family", "instances", "best minimum", "another minimum", "none"]), f"| --- |{' ---: |' * 4}"]
    for family, rows in random.groupby("family", sort=False):
        total = rows["starts"].sum()
        parts = [f"{100.0 * rows[part].sum() / total:.0f} %" for part in ("best", "other", "nowhere")]
        lines.append(pipes([markdown_text(str(family)), str(rows["problem"].nunique()), *parts]))
    return "\n".join(lines)


def uniqueness(records: pd.DataFrame) -> str:
    """What the paper's claim is worth on its own problems and on the others, in two sentences."""
    sentences = []
    own = records["family"].str.startswith(PAPER)
    for rows, where in ((records[own], "On its own problems (50 classifiers, its constants)"), (records[~own], "Here")):
        if len(rows):
            minima = rows.groupby("problem")["minima"].first()
            random = rows[rows["start"] != "prior"]
            parts = [100.0 * random[part].sum() / random["starts"].sum() for part in ("best", "other", "nowhere")]
            sentences.append(
                f"{where} {(minima == 1).sum()} of {len(minima)} bounds have a single local minimum, which the exact "
                f"solver proves, and of all random starts {parts[0]:.1f} % end in the best one, {parts[1]:.1f} % in "
                f"another and {parts[2]:.1f} % in none."
            )
    return " ".join(sentences) + "\n"


def page(records: pd.DataFrame, environment: dict[str, Any], command: str) -> str:
    """The whole page, with the picture and the raw counts beside it; ``command`` is what made it."""
    machine = f"{markdown_text(environment['processor'])}, {counted(environment['cores'], 'core')}"
    made = f"{str(environment['date'])[:10]}, {machine}"
    parts = [
        INTRODUCTION,
        uniqueness(records),
        f"Measured by `{command}`; {made}; raw counts: [starts.csv](starts.csv).\n",
        "## Basins\n",
        "![The share of random starts that end in the best minimum, by family and method](starts.svg)\n",
        "Where random starts end, over all methods and concentrations:\n",
        basins(records),
    ]
    return "\n".join(parts) + "\n"


def picture(records: pd.DataFrame) -> bytes:
    """The share of random starts that end in the best minimum: a square per family and method."""
    from matplotlib.figure import Figure

    from ..report.drawing import saved

    random = records[records["start"] != "prior"]
    sums = random.groupby(["family", "solver"], sort=False)[["starts", "best"]].sum()
    grid = (sums["best"] / sums["starts"]).unstack("solver")[list(random["solver"].unique())]
    with styled():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(2.6 + 0.5 * grid.shape[1], 1.4 + 0.3 * grid.shape[0]), layout="constrained")
        axes = figure.add_subplot()
        image = axes.imshow(grid.to_numpy(), vmin=0.0, vmax=1.0, cmap="viridis", aspect="auto")
        axes.set_xticks(range(grid.shape[1]), grid.columns, rotation=45, ha="right")
        axes.set_yticks(range(grid.shape[0]), grid.index)
        axes.grid(False)
        figure.colorbar(image, label="starts that end in the best minimum")
        return saved(figure, "svg")
