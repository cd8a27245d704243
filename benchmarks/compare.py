"""Two runs side by side: what became faster, slower, right or wrong."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from pacb_models.errors import InputError

from .results import load_results
from .summary import SHIFT, method_names, shifted_geometric_mean

#: A solver's mean time must change by this factor before it is called faster or slower.
NOTABLE = 1.2


@dataclass(frozen=True)
class Comparison:
    """Cells that two runs share; prints itself."""

    first: Path
    second: Path
    cells: pd.DataFrame

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
        both = self.cells[self.cells["right_1"] & self.cells["right_2"]]
        lines = []
        for solver, rows in both.groupby("solver", sort=False):
            first, second = (shifted_geometric_mean(rows[f"charged_seconds_{run}"]) for run in (1, 2))
            ratio = (second + SHIFT) / (first + SHIFT)
            change = "slower" if ratio > NOTABLE else "faster" if ratio < 1 / NOTABLE else "about as fast"
            lines.append({"solver": solver, "cells": len(rows), "first": first, "second": second, "change": change})
        return pd.DataFrame(lines, columns=["solver", "cells", "first", "second", "change"])

    def __str__(self) -> str:
        lines = [f"{len(self.cells)} cells are in both {self.first} and {self.second}"]
        for row in self.times().itertuples():
            lines.append(
                f"{row.solver:<14} {row.first:>10.4f} s {row.second:>10.4f} s  {row.change} ({row.cells} cells)"
            )
        for title, rows in (("became wrong", self.newly_wrong), ("became right", self.newly_right)):
            lines.append(f"{title}: {len(rows)}")
            lines += [f"  {row.solver} on {row.problem}: {row.status_1} -> {row.status_2}" for row in rows.itertuples()]
        return "\n".join(lines)


def compare(first: str | Path, second: str | Path) -> Comparison:
    """Match the cells of two result directories by their keys."""
    frames = []
    for number, directory in enumerate((first, second), 1):
        results = load_results(directory)
        frame = results[["key", "problem", "status", "success", "correct", "charged_seconds"]]
        frame = frame.assign(solver=method_names(results))
        frame["right"] = frame["success"].astype(bool) & frame["correct"].astype(bool)
        frames.append(frame.drop(columns=["success", "correct"]).add_suffix(f"_{number}"))
    cells = frames[0].merge(frames[1], left_on="key_1", right_on="key_2")
    if cells.empty:
        raise InputError(f"{first} and {second} have no cell in common.")
    cells = cells.rename(columns={"solver_1": "solver", "problem_1": "problem"})
    return Comparison(Path(first), Path(second), cells)
