"""Every number the paper prints, from one file.

``printed.csv`` has one line per printed cell: the table's name on the command line, the table as it is numbered in the
paper with its LaTeX label, the row (a data set, a sample size), the column, the value exactly as it is printed, and a
note where the cell needs one. Values are strings, so that ``0.38440`` keeps its last digit and ``NA`` stays ``NA``.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

from pacb_models.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

#: The names ``pacb reproduce`` knows the printed numbers by.
TABLES = tuple("constants bounds fp-vs-solver fp-vs-ccp sparsity divergences cross-validation data examples".split())


@lru_cache(maxsize=1)
def _all_cells() -> pd.DataFrame:
    import pandas as pd

    with resources.files(__package__).joinpath("printed.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, dtype=str, keep_default_na=False)


def printed(table: str) -> pd.DataFrame:
    """The printed cells of one table, in the paper's order.

    Columns: ``label`` (as numbered in the paper), ``row``, ``column``, ``value`` (a string, as printed) and ``note``.
    A table of the command line may gather more than one of the paper's: ``fp-vs-solver`` is Tables 6 and 7, and the
    sentences that state a number of their own carry the section as their label.

    >>> printed("constants").query("row == '50' and column == 'I_kl'").value.item()
    '0.0074799'
    """
    if table not in TABLES:
        raise InputError(f"table is {table!r}; expected one of {', '.join(TABLES)}.")
    cells = _all_cells()
    return cells[cells.table == table].drop(columns="table").reset_index(drop=True)


def printed_value(table: str, row: str, column: str) -> float | str:
    """One printed cell: a number where it is one (``'-44.36%'`` is -44.36), the printed text where it is not.

    >>> printed_value("bounds", "mushroom", "bound_kl")
    0.1866
    >>> printed_value("fp-vs-solver", "bupa", "status_solver_H500")
    'E'
    """
    cells = printed(table)
    of_row = cells[cells.row == row]
    if of_row.empty:
        raise InputError(f"row is {row!r}; table {table!r} has {', '.join(cells.row.unique())}.")
    texts = of_row.value[of_row.column == column]
    if texts.empty:
        raise InputError(f"column is {column!r}; row {row!r} of table {table!r} has {', '.join(of_row.column)}.")
    try:
        return float(texts.item().removesuffix("%"))
    except ValueError:
        return texts.item()
