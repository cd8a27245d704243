"""The problems of a run, built and certified again: a log holds facts about them, not their risks."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import pacb_models as pm

from ..families import Instance, instances
from ..risks import available, load_risk_table
from ..runner import CORRECT_GAP

#: Larger problems of the frozen collection take a while to build.
LARGEST = 20_000


def certified(row: pd.Series) -> tuple[pm.BoundProblem, pm.Solution] | None:
    """The problem that a row is about, with its certified optimum.

    None where the row is neither about an embedded table nor about the frozen collection, or where the optimum is not
    the one that the log has: then it is another problem of the same name.
    """
    problem = _of_collection(row) or _of_table(row)
    if problem is None:
        return None
    solution = pm.solve(problem, "frontier")
    known = row["reference_bound"]
    if np.isfinite(known) and abs(solution.bound - known) > CORRECT_GAP:
        return None
    return problem, solution


def _of_collection(row: pd.Series) -> pm.BoundProblem | None:
    found = _collection().get(row["problem"])
    return None if found is None or found.size > LARGEST else found.build()


@cache
def _collection() -> dict[str, Instance]:
    return {each.name: each for each in instances()}


def _of_table(row: pd.Series) -> pm.BoundProblem | None:
    if row["dataset"] not in available() or row["prior"] != "uniform" or row["problem_kind"] == "direct":
        return None
    facts = ["H", "m", "delta", "distance", "divergence", "constant"]
    if row[facts].isna().any():
        return None
    table, size = load_risk_table(row["dataset"]), int(row["H"])
    if int(row["m"]) != table.m or size > len(table):
        return None
    order = float(row["order"]) if row["divergence"] == "renyi" else 2.0
    arguments: dict[str, Any] = {name: row[name] for name in facts[2:]}
    return pm.BoundProblem(table.risks(size), m=table.m, order=order, **arguments)
