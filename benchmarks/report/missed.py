"""Where solvers ended that missed the optimum: which point of the path, and how far above."""

from typing import NamedTuple

import numpy as np
import pandas as pd

import pacb_models as pm
from pacb_models.plots import PathDisplay

from ..harness.suites import embedded
from ..verdict import CORRECT_GAP
from .wording import counted

#: Larger problems of the frozen collection take a while to build.
LARGEST = 20_000


class MissedProblem(NamedTuple):
    """A problem of which some method missed the optimum, how many did, and the path with where the methods ended."""

    name: str
    words: str
    display: PathDisplay


def missed_problems(each: pd.DataFrame, most: int) -> list[MissedProblem]:
    """Return problems that most methods missed, one of each family in turn, as far as they can be built again."""
    each = each.drop_duplicates(["problem", "method"])
    problems = each[each["gap"] > CORRECT_GAP].groupby("problem", sort=False)
    counts = problems.agg(family=("family", "first"), dataset=("dataset", "first"), missed=("method", "size"))
    counts = counts.sort_values("missed", ascending=False, kind="stable")
    counts["turn"] = counts.groupby(["family", "dataset"], dropna=False, sort=False).cumcount()
    found: list[MissedProblem] = []
    for name, missed in counts.sort_values("turn", kind="stable")["missed"].items():
        rows = each[each["problem"] == name]
        ends = rows[rows["empirical_risk"].notna()]
        if len(found) < most and len(ends) and (known := certified(rows.iloc[0])) is not None:
            path = PathDisplay.from_problem(known[0], exact=known[1])
            path.solutions = {row.method: row for row in ends.itertuples()}
            # A proof needs not all minima; the log may know more.
            minima = max(len(path.minima), int(rows["minima"].fillna(0).max()))
            words = f"{counted(minima, 'local minimum', 'local minima')}, {missed} of {len(rows)} missed the best"
            found.append(MissedProblem(str(name), words, path))
    return found


def certified(row: pd.Series) -> tuple[pm.BoundProblem, pm.Solution] | None:
    """Return the problem that a row is about, built again, with its certified optimum: a log holds names, not risks.

    None for a problem that does not come with this package, for one with constraints, since the path is that of all
    posteriors, and for another problem of the same name, which has another optimum.
    """
    recipe = next((each for each in embedded() if each.name == row["problem"]), None)
    if recipe is None or (recipe.size or 0) > LARGEST or (problem := recipe.build()).constraints:
        return None
    solution, known = pm.solve(problem, "frontier"), row["reference_bound"]
    other = np.isfinite(known) and abs(solution.bound - known) > CORRECT_GAP
    return None if other else (problem, solution)
