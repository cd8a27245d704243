"""Two runs side by side: what became faster, slower, right or wrong."""

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


@dataclass(frozen=True)
class Comparison:
    """Cells that two runs share; prints itself."""

    first: Path
    second: Path
    cells: pd.DataFrame
    #: Whether both were measured on the same machines; otherwise times are not compared.
    same_machines: bool = True

    def newly(self, found: bool) -> pd.DataFrame:
        """Return cells that are found in the second run only; or, without ``found``, in the first only."""
        return self.cells[(self.cells["found_1"] != found) & (self.cells["found_2"] == found)]

    def times(self) -> pd.DataFrame:
        """Return median time of each method in both runs on the cells that both found, and its change."""
        both = self.cells[self.cells["found_1"] & self.cells["found_2"] & self.same_machines]
        lines = []
        for method, rows in both.groupby("method_1", sort=False):
            first, second = rows["total_seconds_1"], rows["total_seconds_2"]
            lines.append((method, len(rows), first.median(), second.median(), verdict.change(first, second)))
        return pd.DataFrame(lines, columns=["method", "cells", "first", "second", "change"])

    def __str__(self) -> str:
        lines = [f"{len(self.cells)} cells are in both {self.first} and {self.second}"]
        if not self.same_machines:
            lines.append("times are not compared: they come from different machines")
        rows = [
            [row.method, f"{row.first:.5f} s", f"{row.second:.5f} s", f"{row.change} ({counted(row.cells, 'cell')})"]
            for row in self.times().itertuples()
        ]
        columns = [Column("solver", numeric=False), Column("first"), Column("second"), Column("", numeric=False)]
        lines += aligned(columns, rows) if rows else []
        for title, found in (("became wrong", self.newly(found=False)), ("became right", self.newly(found=True))):
            lines.append(f"{title}: {len(found)}")
            for row in found.itertuples():
                first, second = Ending(row.ending_1).words, Ending(row.ending_2).words
                lines.append(f"  {row.method_1} on {row.problem_1}: {first} -> {second}")
        return "\n".join(lines)


def compare(first: str | Path, second: str | Path) -> Comparison:
    """Match the cells of two result directories by their keys; repetitions count as :mod:`..verdict` condenses
    them."""
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
