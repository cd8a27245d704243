"""What solvers returned instead of the optimum: which point of the path, and how far above."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

import pacb_models as pm
from pacb_models.plots import PathDisplay
from pacb_models.plots.style import Style, new_axes

from ...wording import at_most
from ..runner import CORRECT_GAP
from .rebuilt import certified
from .tables import Column, Table
from .wording import counted, listed, scientific, status_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: How many problems are drawn, and how many runs are listed.
DRAWN, LISTED = 8, 60

#: A point is at a minimum when its bound differs by no more than this, its risk by this share of the path's width.
_SAME_BOUND, _SAME_RISK = 1e-6, 0.02

#: The name of a point that is none of those which have one.
NOWHERE = "no minimum"

#: How many solvers at one point are named in a legend.
_NAMED = 5


@dataclass(frozen=True)
class Case:
    """A problem of which some solver missed the optimum; ``missed`` has the rows, with the column ``place``."""

    name: str
    solvers: int
    missed: pd.DataFrame
    display: PathDisplay | None

    def sentence(self) -> str:
        """How many solvers missed it, and by how much."""
        worst = scientific(self.missed["gap"].max())
        who = f"{len(self.missed)} of {counted(self.solvers, 'solver')}"
        return f"{self.name}: {who} ended up to {worst} above the optimum"

    def ends(self) -> Iterator[tuple[list[str], float, float, str]]:
        """The points where solvers ended: who, empirical risk, bound, and which point it is."""
        seen = self.missed.dropna(subset=["empirical_risk"])
        # Points without a name are the same when they look the same.
        near = seen["bound"].map("{:.4g}".format) + seen["empirical_risk"].map(" {:.2g}".format)
        for _, rows in seen.groupby(seen["place"].where(seen["place"] != NOWHERE, near), sort=False):
            first = rows.iloc[0]
            yield list(rows["method"]), float(first["empirical_risk"]), float(first["bound"]), str(first["place"])


def missed_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs whose bound is above the certified optimum by more than 1e-7, problem by problem.

    First a problem of each data set or family, the one that most solvers missed; then the next of each. Within a
    problem those that claim optimality come first, and larger gaps before smaller ones.
    """
    above = runs[runs["gap"] > CORRECT_GAP].drop_duplicates(["problem", "method"])
    above = above.assign(empirical_risk=pd.to_numeric(above["empirical_risk"]))
    problems = above.groupby("problem", sort=False).agg(
        dataset=("dataset", "first"), solvers=("method", "size"), gap=("gap", "max")
    )
    problems = problems.sort_values(["solvers", "gap"], ascending=False, kind="stable")
    problems["turn"] = problems.groupby("dataset", dropna=False, sort=False).cumcount()
    problems = problems.sort_values("turn", kind="stable")
    rank = {name: place for place, name in enumerate(problems.index)}
    order = above.assign(rank=above["problem"].map(rank)).sort_values(
        ["rank", "success", "gap"], ascending=[True, False, False], kind="stable"
    )
    return order.drop(columns="rank")


def cases(runs: pd.DataFrame) -> list[Case]:
    """The problems of the listed runs; with a path where it can be had (see :mod:`.rebuilt`), for the first few."""
    above = missed_runs(runs)
    kept = above["problem"].isin(above["problem"].head(LISTED).unique())
    found: list[Case] = []
    for name, rows in above[kept].groupby("problem", sort=False):
        known = certified(rows.iloc[0])
        places = ["–"] * len(rows)
        display = None
        if known is not None:
            places = [where(*known, bound, risk) for bound, risk in zip(rows["bound"], rows["empirical_risk"])]
            if sum(case.display is not None for case in found) < DRAWN and rows["empirical_risk"].notna().any():
                display = PathDisplay.from_problem(known[0])
        tried = int(runs.loc[runs["problem"] == name, "method"].nunique())
        found.append(Case(str(name), tried, rows.assign(place=places), display))
    return found


def where(problem: pm.BoundProblem, optimum: pm.Solution, bound: float, risk: float) -> str:
    """Which point of the path has this bound and, where it is known, this empirical risk."""
    lowest, at_prior = float(problem.risks.min()), problem.empirical_risk(problem.prior)
    width = max(at_prior - lowest, 1e-12)

    def same(other_bound: float, other_risk: float) -> bool:
        return abs(bound - other_bound) <= _SAME_BOUND and not abs(risk - other_risk) > _SAME_RISK * width

    best = (optimum.bound, optimum.empirical_risk)
    minima = [best, *sorted((minimum.bound, minimum.empirical_risk) for minimum in optimum.local_minima)]
    matching = [place for place, minimum in enumerate(minima) if same(*minimum)]
    if matching:
        nearest = min(matching, key=lambda place: abs(bound - minima[place][0]))
        return f"local minimum {nearest + 1} of {len(minima)}" if nearest else "next to the optimum"
    if same(problem.bound(problem.prior), at_prior):
        return "the prior"
    smallest = np.where(problem.risks == lowest, problem.prior, 0.0)
    if same(problem.bound(smallest / smallest.sum()), lowest):
        return "all weight on the smallest risk"
    return NOWHERE


def missed_table(found: list[Case], total: int) -> Table:
    """What each of the listed runs returned; ``total`` is the number of all that missed the optimum."""
    records = pd.concat([case.missed for case in found]).head(LISTED)
    records = records.assign(status=records["status"].map(status_text))
    columns = (
        Column("problem", "problem", numeric=False),
        Column("solver", "method", numeric=False),
        Column("it says", "status", numeric=False),
        Column("its bound", "bound", _eight_digits),
        Column("the optimum", "reference_bound", _eight_digits),
        Column("gap", "gap", scientific),
        Column("what it is", "place", numeric=False),
    )
    caption = "What a solver returned instead of the optimum, and which point of the path that is."
    if total > len(records):
        caption += f" The first {len(records)} of {total} runs, a problem of each family in turn."
    return Table.of("missed", caption, columns, records)


def _eight_digits(bound: float) -> str:
    return at_most(bound, 8)


def path_figure(case: Case, style: Style) -> Figure:
    """The bound along the path, its minima, and the points where solvers ended."""
    assert case.display is not None  # only such cases are drawn
    axes = new_axes(None, 6.0, 4.4)
    case.display.plot(axes)
    for methods, risk, bound, place in case.ends():
        more = [f"{len(methods) - _NAMED} more"] if len(methods) > _NAMED else []
        label = textwrap.fill(f"{listed([*methods[:_NAMED], *more])}: {place}", 70)
        look = {**style[methods[0]], "linestyle": "none", "markerfacecolor": "none"}
        axes.plot(risk, bound, ms=9.0, mew=1.8, label=label, **look)
    legend = axes.get_legend()
    assert legend is not None  # the display has drawn one, on top of the curve
    legend.remove()
    figure = case.display.figure_
    figure.legend(loc="outside lower center", ncols=1, fontsize=8.0)
    return figure
