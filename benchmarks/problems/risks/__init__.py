"""The embedded risk tables: validation and test errors of the SVMs of both λ grids on the paper's nine data sets, and
their training errors for the grid "paper".

Each file was written by the command in its first lines; nothing needs to be downloaded or trained to use them.

>>> table = load_risk_table("wdbc")
>>> len(table), table.m, table.risks(50).shape
(1990, 227, (50,))
"""

from __future__ import annotations

from importlib.resources import files

from pacb_models.errors import InputError
from pacb_models.estimators.grids import GRIDS
from pacb_models.validation import check_choice

from ...experiments.risk_table import RiskTable
from ...experiments.uci import LOADERS

#: Suffix of the file names of each grid.
_SUFFIXES = {grid: "" if grid == "paper" else f"-{grid}" for grid in GRIDS}


def available() -> list[str]:
    """Names of the data sets with embedded tables, in the paper's order, and Bupa without the leak."""
    return list(LOADERS)


def load_risk_table(name: str, grid: str = "paper") -> RiskTable:
    """The embedded table of a data set: 1990 SVMs for the grid "paper", 160 for "arithmetic-geometric"."""
    check_choice("name", name, tuple(LOADERS))
    check_choice("grid", grid, tuple(_SUFFIXES))
    file = files(__name__) / f"{name}{_SUFFIXES[grid]}.csv"
    try:
        text = file.read_text()
    except FileNotFoundError:
        raise InputError(f"the embedded table {file.name} is missing; install the package again.") from None
    return RiskTable.from_csv(text, file.name)
