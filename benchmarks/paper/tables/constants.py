"""Table 5, the constant I_kl(m), and beside it the squared constant of Lemma 3."""

from __future__ import annotations

from typing import Any

import numpy as np

from pacb_models.constants import moment_constant, moment_curve
from pacb_models.numerics.paper_kl import BEYOND, LARGEST_COMPUTED

from ...report.tables import Cell, Group, Table
from ..entries import Entries
from ..item import TableItem
from ..numbers import words
from ..printed import printed
from ..showing import NAMES, shown
from ..study import Study

#: Data sets with more validation examples than the paper could compute the constant for.
BEYOND_ROW = "over-1028"


def fill(study: Study, entries: Entries) -> dict[str, Any]:
    sizes = [int(row) for row in printed("constants").row.unique() if row != BEYOND_ROW]
    large = {name: table.m for name, table in study.tables.items() if table.m > LARGEST_COMPUTED}
    # Half of the paper's grid: its sum is symmetric about one half.
    grid = np.arange(500, 1000) / 1000
    for m in sizes:
        entries.add(str(m), "l_star", "paper", float(grid[np.argmax(moment_curve("kl", m, grid, "paper"))]))
        entries.add(str(m), "l_star", "exact", _maximiser(m))
        _add_constants(entries, str(m), m)
    entries.add(BEYOND_ROW, "I_kl", "paper", BEYOND)
    for name, m in large.items():
        _add_constants(entries, name, m)
    return {"sizes": sizes, "large": large}


def _add_constants(entries: Entries, row: str, m: int) -> None:
    for version in ("paper", "exact"):
        entries.add(row, "I_kl", version, moment_constant("kl", m, version))
        entries.add(row, "I_sq", version, moment_constant("squared", m, version))


def _maximiser(m: int) -> float:
    """The l above one half where E[kl(k/m, l)²] is largest."""
    from scipy.optimize import minimize_scalar

    # The maximum lies near 1 - 2.64/m, and the curve has one hump there.
    found = minimize_scalar(lambda x: -moment_curve("kl", m, 1.0 - x / m), bounds=(1.0, 5.0), method="bounded")
    return float(1.0 - found.x / m)


def show(entries: Entries, facts: dict[str, Any]) -> list[Table]:
    groups = (
        Group("", ("m",)),
        Group("maximiser l*", ("printed", "reproduced", "exact")),
        Group("I_kl(m)", ("printed", "reproduced", "exact", "ratio")),
        Group("I_sq(m)", ("paper's formula", "exact", "ratio")),
    )
    rows = [_row(entries, str(m), str(m)) for m in facts["sizes"]]
    rows += [_row(entries, name, f"{m} ({NAMES[name]})") for name, m in facts["large"].items()]
    notes = words("constants", "notes", largest=LARGEST_COMPUTED, beyond=entries.printed(BEYOND_ROW, "I_kl"))
    title = "Constants I(m) of the kl and the squared distance (Table 5, Lemma 3)"
    return [Table("constants", title, groups, rows, notes)]


def _row(entries: Entries, row: str, label: str) -> list[Cell]:
    location, kl, squared = (entries.get(row, column) for column in ("l_star", "I_kl", "I_sq"))
    beyond = entries.printed(BEYOND_ROW, "I_kl") if location.printed == "" else ""
    texts = [
        shown(kl.values["paper"], 8),
        f"{kl.values['exact']:.5e}",
        f"{kl.values['paper'] / kl.values['exact']:.1f}",
        f"{squared.values['paper']:.5e}",
        f"{squared.values['exact']:.5e}",
        f"{squared.values['paper'] / squared.values['exact']:.3f}",
    ]
    return [
        Cell(label),
        Cell(shown(location.printed), "printed"),
        Cell(shown(location.values.get("paper"), 3)),
        Cell(shown(location.values.get("exact"), 5)),
        Cell(kl.printed or beyond, "printed"),
        *map(Cell, texts),
    ]


ITEM = TableItem("constants", fill, show=show)
