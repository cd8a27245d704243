"""Two runs side by side: what became faster, slower, right or wrong."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from pacb_models.errors import InputError
from pacb_models.terminal import Column, aligned

from .. import verdict
from ..report.wording import counted
from ..verdict import Ending
from .environment import Environments
from .results import judged_results

_COLUMNS = [Column("solver", numeric=False), Column("first"), Column("second"), Column("", numeric=False)]


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
        """Cells that were found in the first run only."""
        return self.cells[self.cells["found_1"] & ~self.cells["found_2"]]

    @property
    def newly_right(self) -> pd.DataFrame:
        """Cells that are found in the second run only."""
        return self.cells[~self.cells["found_1"] & self.cells["found_2"]]

    def times(self) -> pd.DataFrame:
        """Median time of each method in both runs on the cells that both found, and its change."""
        both = self.cells[self.cells["found_1"] & self.cells["found_2"] & self.same_machines]
        lines = []
        for method, rows in both.groupby("method_1", sort=False):
            first, second = (rows[f"total_seconds_{run}"] for run in (1, 2))
            change = verdict.change(first, second)
            lines.append((method, len(rows), first.median(), second.median(), change))
        return pd.DataFrame(lines, columns=["method", "cells", "first", "second", "change"])

    def __str__(self) -> str:
        lines = [f"{len(self.cells)} cells are in both {self.first} and {self.second}"]
        if not self.same_machines:
            lines.append("times are not compared: they come from different machines")
        times = self.times()
        if len(times):
            rows = [
                [
                    row.method,
                    *(f"{each:.5f} s" for each in (row.first, row.second)),
                    f"{row.change} ({counted(row.cells, 'cell')})",
                ]
                for row in times.itertuples()
            ]
            lines += aligned(_COLUMNS, rows)
        for title, found in (("became wrong", self.newly_wrong), ("became right", self.newly_right)):
            lines.append(f"{title}: {len(found)}")
            for row in found.itertuples():
                first, second = (Ending(each).words for each in (row.ending_1, row.ending_2))
                lines.append(f"  {row.method_1} on {row.problem_1}: {first} -> {second}")
        return "\n".join(lines)


def compare(first: str | Path, second: str | Path) -> Comparison:
    """Match the cells of two result directories by their keys; repetitions count as :mod:`..verdict` condenses them."""
    columns = ["key", "problem", "method", "ending", "found", "total_seconds"]
    frames, machines = [], []
    for run, directory in enumerate((first, second), 1):
        judged, environments = judged_results(directory), Environments.read(directory)
        frames.append(judged.condensed[columns].add_suffix(f"_{run}"))
        machines.append({environments.machine(number) for number in judged.runs["environment"].unique()})
    cells = frames[0].merge(frames[1], left_on="key_1", right_on="key_2")
    if cells.empty:
        raise InputError(f"{first} and {second} have no cell in common.")
    return Comparison(Path(first), Path(second), cells, machines[0] == machines[1])
