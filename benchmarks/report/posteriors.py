"""The optimal posteriors on the embedded data sets of a run: recomputed, since a log holds no weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

import pacb_models as pm

from ..risks import available, load_risk_table
from .rebuilt import certified


@dataclass(frozen=True)
class Posterior:
    """The optimal weights of one problem, and how they fare on the test examples."""

    kind: str
    problem: pm.BoundProblem
    solution: pm.Solution
    test_risk: float

    def by_risk(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Distinct risks in increasing order, the weight of one classifier at each, and the mass up to each.

        Under a uniform prior the optimal weight depends on the risk alone.
        """
        risks, first, group = np.unique(self.problem.risks, return_index=True, return_inverse=True)
        assert self.solution.posterior is not None  # the exact solver always returns one
        mass = np.bincount(group, weights=self.solution.posterior)
        return risks, self.solution.posterior[first], np.cumsum(mass)


@dataclass(frozen=True)
class DataSetPosteriors:
    """The posteriors of one data set, one for each distance."""

    dataset: str
    constant: str
    delta: float
    posteriors: tuple[Posterior, ...]


def of_runs(runs: pd.DataFrame) -> list[DataSetPosteriors]:
    """For each embedded data set of a run: its largest problems, the exact constant where both were run."""
    found = []
    for dataset in runs["dataset"].unique():
        if dataset in available():
            posteriors = _of_dataset(runs[runs["dataset"] == dataset])
            if posteriors is not None:
                found.append(posteriors)
    return found


def _of_dataset(runs: pd.DataFrame) -> DataSetPosteriors | None:
    rows = runs.dropna(subset=["H", "m", "delta", "distance"])
    rows = rows[rows["H"] == rows["H"].max()]
    # "exact" sorts before "paper".
    rows = rows.sort_values(["constant", "delta"], kind="stable")
    problems = rows.drop_duplicates(["constant", "delta", "kind", "order"])
    problems = problems[
        (problems[["constant", "delta"]] == problems[["constant", "delta"]].iloc[:1].values).all(axis=1)
    ]
    posteriors = [posterior for _, row in problems.iterrows() if (posterior := _optimum(row)) is not None]
    if not posteriors:
        return None
    first = posteriors[0].problem
    return DataSetPosteriors(rows["dataset"].iloc[0], first.constant, first.delta, tuple(posteriors))


def _optimum(row: pd.Series) -> Posterior | None:
    """The optimum of a row's problem; None where the row is not about the embedded table of that name."""
    found = certified(row)
    if found is None:
        return None
    problem, solution = found
    test_risks = load_risk_table(row["dataset"]).test_risks(problem.size)
    return Posterior(row["kind"], problem, solution, float(solution.posterior @ test_risks))


def records(found: list[DataSetPosteriors]) -> pd.DataFrame:
    """One line per posterior, for the table."""
    lines = [
        {
            "dataset": each.dataset,
            "kind": posterior.kind,
            "H": posterior.problem.size,
            "m": posterior.problem.m,
            "bound": posterior.solution.bound,
            "empirical_risk": posterior.solution.empirical_risk,
            "test_risk": posterior.test_risk,
            "support_size": posterior.solution.support_size,
        }
        for each in found
        for posterior in each.posteriors
    ]
    return pd.DataFrame(lines)
