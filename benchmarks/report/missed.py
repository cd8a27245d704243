"""What solvers returned instead of the optimum: which point of the path, and how far above."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from pacb_models.plots import PathDisplay
from pacb_models.plots.path import place_of
from pacb_models.plots.style import Style

from ...wording import at_most
from ..runner import CORRECT_GAP
from .rebuilt import certified
from .tables import Column, Table
from .wording import counted, scientific, status_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: How many problems are drawn, and how many runs are listed.
DRAWN, LISTED = 24, 60


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


def missed_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs whose bound is above the certified optimum by more than 1e-7, problem by problem.

    First a problem of each data set or family, the one that most solvers missed; then the next of each. Within a
    problem those that claim optimality come first, and larger gaps before smaller ones.
    """
    above = runs[runs["gap"] > CORRECT_GAP].drop_duplicates(["problem", "method"])
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
    runs = runs.assign(empirical_risk=pd.to_numeric(runs["empirical_risk"]))
    above = missed_runs(runs)
    kept = above["problem"].isin(above["problem"].head(LISTED).unique())
    found: list[Case] = []
    for name, rows in above[kept].groupby("problem", sort=False):
        known = certified(rows.iloc[0])
        places = ["–"] * len(rows)
        display = None
        if known is not None:
            path = PathDisplay.from_problem(known[0], exact=known[1])
            every = runs[(runs["problem"] == name) & runs["empirical_risk"].notna()]
            path.solutions = {row.method: row for row in every.drop_duplicates("method").itertuples()}
            places = [place_of(path.minima, path.curve, *point) for point in zip(rows["bound"], rows["empirical_risk"])]
            if path.solutions and sum(case.display is not None for case in found) < DRAWN:
                display = path
        tried = int(runs.loc[runs["problem"] == name, "method"].nunique())
        found.append(Case(str(name), tried, rows.assign(place=places), display))
    return found


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
    return case.display.plot(style=style).figure_
