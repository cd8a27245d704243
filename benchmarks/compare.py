"""Two runs side by side: what became faster, slower, right or wrong."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from pacb_models.errors import InputError

from .environment import MACHINE, Environments
from .results import load_results, read_rows
from .summary import SHIFT, method_names, shifted_geometric_mean

#: A solver's mean time must change by this factor before it is called faster or slower.
NOTABLE = 1.2


@dataclass(frozen=True)
class Comparison:
    """Cells that two runs share; prints itself."""

    first: Path
    second: Path
    cells: pd.DataFrame
    #: Whether both were measured on the same machines; otherwise times are not compared.
    same_machines: bool = True

    @property
    def newly_wrong(self) -> pd.DataFrame:
        """Cells that were right (success and correct) in the first run only."""
        return self.cells[self.cells["right_1"] & ~self.cells["right_2"]]

    @property
    def newly_right(self) -> pd.DataFrame:
        """Cells that are right in the second run only."""
        return self.cells[~self.cells["right_1"] & self.cells["right_2"]]

    def times(self) -> pd.DataFrame:
        """Mean time of each solver in both runs on the cells that both solved, and its change."""
        both = self.cells[self.cells["right_1"] & self.cells["right_2"] & self.same_machines]
        lines = []
        for solver, rows in both.groupby("solver", sort=False):
            first, second = (shifted_geometric_mean(rows[f"charged_seconds_{run}"]) for run in (1, 2))
            ratio = (second + SHIFT) / (first + SHIFT)
            change = "slower" if ratio > NOTABLE else "faster" if ratio < 1 / NOTABLE else "about as fast"
            lines.append({"solver": solver, "cells": len(rows), "first": first, "second": second, "change": change})
        return pd.DataFrame(lines, columns=["solver", "cells", "first", "second", "change"])

    def __str__(self) -> str:
        lines = [f"{len(self.cells)} cells are in both {self.first} and {self.second}"]
        if not self.same_machines:
            lines.append("times are not compared: they come from different machines")
        for row in self.times().itertuples():
            lines.append(
                f"{row.solver:<14} {row.first:>10.4f} s {row.second:>10.4f} s  {row.change} ({row.cells} cells)"
            )
        for title, rows in (("became wrong", self.newly_wrong), ("became right", self.newly_right)):
            lines.append(f"{title}: {len(rows)}")
            lines += [f"  {row.solver} on {row.problem}: {row.status_1} -> {row.status_2}" for row in rows.itertuples()]
        return "\n".join(lines)


def compare(first: str | Path, second: str | Path) -> Comparison:
    """Match the cells of two result directories by their keys; of repetitions the median counts, and the worst."""
    frames = [_cells(directory, number) for number, directory in enumerate((first, second), 1)]
    cells = frames[0].merge(frames[1], left_on="key_1", right_on="key_2")
    if cells.empty:
        raise InputError(f"{first} and {second} have no cell in common.")
    cells = cells.rename(columns={"solver_1": "solver", "problem_1": "problem"})
    same = _machines(first) == _machines(second)
    return Comparison(Path(first), Path(second), cells, same)


def _cells(directory: str | Path, number: int) -> pd.DataFrame:
    results = load_results(directory)
    frame = results[["key", "problem", "status", "charged_seconds"]].assign(
        solver=method_names(results), right=results["success"].astype(bool) & results["correct"].astype(bool)
    )
    worst = frame.sort_values("right", kind="stable").drop_duplicates("key").sort_index()
    medians = frame.groupby("key")["charged_seconds"].median()
    return worst.assign(charged_seconds=worst["key"].map(medians)).add_suffix(f"_{number}")


def _machines(directory: str | Path) -> set[tuple[Any, ...]]:
    """The machines that a directory's rows were measured on, by their facts."""
    environments = Environments.read(directory)
    numbers = {row["environment"] for row in read_rows(directory)}
    return {tuple(environments.entry(number).get(name) for name in MACHINE) for number in numbers}
