"""The embedded risk tables: validation and test errors of the SVMs of both λ grids on the paper's nine data sets, and
their training errors for the grid "paper".

Each file was written by the command in its first lines; nothing needs to be downloaded or trained to use them.

>>> table = load_risk_table("wdbc")
>>> len(table), table.m, table.risks(50).shape
(1990, 227, (50,))
"""

from importlib.resources import files

from pacb_models.estimators.grids import GRIDS
from pacb_models.validation import check_choice

from ...experiments.datasets import LOADERS
from ...experiments.risk_table import RiskTable


def available() -> list[str]:
    """Return names of the data sets with embedded tables, in the paper's order, and Bupa without the leak."""
    return list(LOADERS)


def load_risk_table(name: str, grid: str = "paper") -> RiskTable:
    """Return the embedded table of a data set: 1990 SVMs for the grid "paper", 160 for "arithmetic-geometric"."""
    check_choice("name", name, tuple(LOADERS))
    check_choice("grid", grid, tuple(GRIDS))
    file = files(__name__) / (f"{name}.csv" if grid == "paper" else f"{name}-{grid}.csv")
    return RiskTable.from_csv(file.read_text(), file.name)
