"""The cells of the paper's tables: what is printed, and what comes out here, as tidy frames.

``printed.csv`` has one line per printed cell: the table's name on the command line, the table as it is numbered in the
paper with its LaTeX label, the cell's place, the value exactly as it is printed, and a note where the cell needs one.
Printed values are strings, so that ``0.38440`` keeps its last digit and ``NA`` stays ``NA``.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import Any, NamedTuple

import pandas as pd

from pacb_models.errors import InputError

#: What a cell can hold: the printed text; our value with the paper's constants, or where there is no constant; the same
#: with risks on training and validation examples together; our value with exact constants.
PRINTED, REPRODUCED, BOTH_HALVES, CORRECTED = "printed", "reproduced", "both halves", "corrected"

#: Our versions in words.
VERSIONS = {
    REPRODUCED: "paper's constants",
    BOTH_HALVES: "both halves (not a valid certificate)",
    CORRECTED: "exact constants",
}

#: The names ``pacb reproduce`` knows the printed numbers by.
PRINTED_TABLES = tuple(
    "constants bounds fp-vs-solver fp-vs-ccp sparsity divergences cross-validation data examples".split()
)

#: The values of a cell by their versions: numbers, texts, and for figures lists of numbers.
Values = dict[str, Any]


class Place(NamedTuple):
    """What a cell is about; a size is the number of classifiers, and of constants the sample size."""

    dataset: str = ""
    size: str = ""
    method: str = ""
    quantity: str = ""


class Cells(dict[Place, Values]):
    """The values of one table by place and version: the printed cells first, then others as they arrive.

    >>> cells = Cells.printed("bounds")
    >>> cells.add(REPRODUCED, "bupa", 1990, "kl", bound=0.9)
    >>> cells["bupa", 1990, "kl", "bound"]
    {'printed': '0.83864', 'reproduced': 0.9}
    """

    @classmethod
    def printed(cls, table: str) -> Cells:
        """Return what the paper prints in a table, without our values."""
        lines = printed(table).itertuples() if table in PRINTED_TABLES else ()
        return cls({Place(*(getattr(line, key) for key in Place._fields)): {PRINTED: line.value} for line in lines})

    @classmethod
    def of_records(cls, records: list[list[Any]]) -> Cells:
        """Return what :meth:`records` gave."""
        return cls({Place(*place): values for *place, values in records})

    def records(self) -> list[list[Any]]:
        """Return records for a JSON file."""
        return [[*place, values] for place, values in self.items()]

    def add(self, version: str, dataset: str = "", size: object = "", method: str = "", /, **values: Any) -> None:
        """Set values by their quantities; ``None`` is left out."""
        for quantity, value in values.items():
            cell = self.setdefault(Place(dataset, str(size), method, quantity), {})
            if value is not None:
                cell[version] = value

    def __getitem__(self, place: tuple[object, ...]) -> Values:
        """Return the values of a cell by their versions; nothing where there is no such cell."""
        return self.get(Place(*map(str, place)), {})

    def rows(self, version: str = REPRODUCED) -> dict[Place, Values]:
        """Return rows of one version: the values of each data set, size and method, by their quantities."""
        found: dict[Place, Values] = {}
        for place, values in self.items():
            if version in values:
                found.setdefault(place._replace(quantity=""), {})[place.quantity] = values[version]
        return found

    def frame(self, table: str = "") -> pd.DataFrame:
        """Return one row for each value, with its place and its version, and the notes on what is printed in that
        table."""
        rows = [(*place, version, value) for place, values in self.items() for version, value in values.items()]
        frame = pd.DataFrame(rows, columns=[*Place._fields, "version", "value"], dtype=object)
        if table not in PRINTED_TABLES:
            return frame
        notes = printed(table).assign(version=PRINTED)[[*Place._fields, "version", "note"]]
        return frame.merge(notes, how="left").fillna({"note": ""})


@lru_cache(maxsize=1)
def _all_cells() -> pd.DataFrame:
    with resources.files(__package__).joinpath("printed.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, dtype=str, keep_default_na=False)


def printed(table: str) -> pd.DataFrame:
    """Return the printed cells of one table, in the paper's order.

    Columns: ``label`` (as numbered in the paper), the fields of :class:`Place`, ``value`` (a string) and ``note``. A
    table of the command line may gather more than one of the paper's: ``fp-vs-solver`` is Tables 6 and 7, and the
    sentences that state a number of their own carry the section as their label.

    >>> printed("constants").query("size == '50' and quantity == 'constant'").value.item()
    '0.0074799'
    """
    if table not in PRINTED_TABLES:
        raise InputError("table", table, f"expected one of {', '.join(PRINTED_TABLES)}")
    cells = _all_cells()
    return cells[cells.table == table].drop(columns="table").reset_index(drop=True)


def printed_value(
    table: str, dataset: str = "", size: object = "", method: str = "", quantity: str = ""
) -> float | str:
    """Return one printed cell: a number where it is one (``'-44.36%'`` is -44.36), the printed text where it is not.

    >>> printed_value("bounds", "mushroom", 1990, "kl", "bound")
    0.1866
    >>> printed_value("fp-vs-solver", "bupa", 500, "ipopt", "status")
    'E'
    """
    cells, asked = printed(table), Place(dataset, str(size), method, quantity)
    for field, value in asked._asdict().items():
        found = cells[cells[field] == value]
        if found.empty:
            known = ", ".join(map(repr, cells[field].unique()))
            raise InputError(field, value, f"of what else is asked of table {table!r} it is one of {known}")
        cells = found
    text = cells.value.item()
    value = number(text)
    return text if value is None else value


def number(text: str) -> float | None:
    """Return a printed cell as a number, without its marks; None where it is none.

    >>> number("-44.36%"), number("0.27939*"), number("NA"), number("")
    (-44.36, 0.27939, None, None)
    """
    try:
        return float(text.rstrip("%*"))
    except ValueError:
        return None


def difference(cell: Values, version: str) -> float | None:
    """Return how far a value is from the printed one, in per cent of it; None where one of them is no number, or
    zero."""
    reference, value = number(cell.get(PRINTED, "")), cell.get(version)
    if not reference or not isinstance(value, (int, float)):
        return None
    return 100.0 * (value / reference - 1.0)
