"""Table 5, the constant I_kl(m), and beside it the squared constant of Lemma 3."""

from __future__ import annotations

from itertools import product

import numpy as np

from pacb_models.constants import moment_constant, moment_curve
from pacb_models.numerics.paper_kl import BEYOND, LARGEST_COMPUTED

from ...report.tables import Entry, Group, Table
from ..cells import CORRECTED, PRINTED, REPRODUCED, Cells, printed
from ..item import TableItem
from ..numbers import words
from ..showing import NAMES, as_text
from ..study import Study

#: What the paper uses for more validation examples than it could compute the constant for.
_BEYOND = ("over-1028", "", "kl", "constant")


def _fill(study: Study, cells: Cells) -> None:
    sizes = _sizes()
    large = {name: table.m for name, table in study.tables.items() if table.m > LARGEST_COMPUTED}
    # Half of the paper's grid: its sum is symmetric about one half.
    grid = np.arange(500, 1000) / 1000
    for m in sizes:
        reproduced = float(grid[np.argmax(moment_curve("kl", m, grid, "paper"))])
        cells.add(REPRODUCED, "", m, "kl", l_star=reproduced)
        cells.add(CORRECTED, "", m, "kl", l_star=_maximiser(m))
    cells.add(REPRODUCED, "over-1028", method="kl", constant=BEYOND)
    for dataset, m in [*(("", m) for m in sizes), *large.items()]:
        for (version, constant), distance in product(((REPRODUCED, "paper"), (CORRECTED, "exact")), ("kl", "squared")):
            cells.add(version, dataset, m, distance, constant=moment_constant(distance, m, constant))


def _sizes() -> list[int]:
    return [int(size) for size in printed("constants")["size"].unique() if size]


def _maximiser(m: int) -> float:
    """The l above one half where E[kl(k/m, l)²] is largest."""
    from scipy.optimize import minimize_scalar

    # The maximum lies near 1 - 2.64/m, and the curve has one hump there.
    found = minimize_scalar(lambda x: -moment_curve("kl", m, 1.0 - x / m), bounds=(1.0, 5.0), method="bounded")
    return float(1.0 - found.x / m)


def _show(cells: Cells) -> list[Table]:
    groups = (
        Group("", ("m",)),
        Group("maximiser l*", ("printed", "reproduced", "exact")),
        Group("I_kl(m)", ("printed", "reproduced", "exact", "ratio")),
        Group("I_sq(m)", ("paper's formula", "exact", "ratio")),
    )
    large = [(place.dataset, place.size) for place, _ in cells if place.dataset in NAMES and place.method == "kl"]
    rows = [_row(cells, dataset, m) for dataset, m in [*(("", str(m)) for m in _sizes()), *large]]
    notes = words("constants", "notes", largest=LARGEST_COMPUTED, beyond=cells[_BEYOND][PRINTED])
    title = "Constants I(m) of the kl and the squared distance (Table 5, Lemma 3)"
    return [Table("constants", title, groups, rows, notes)]


def _row(cells: Cells, dataset: str, m: str) -> list[Entry]:
    location = cells[dataset, m, "kl", "l_star"]
    kl, squared = (cells[dataset, m, distance, "constant"] for distance in ("kl", "squared"))
    texts = [
        as_text(kl[REPRODUCED], 8),
        f"{kl[CORRECTED]:.5e}",
        f"{kl[REPRODUCED] / kl[CORRECTED]:.1f}",
        f"{squared[REPRODUCED]:.5e}",
        f"{squared[CORRECTED]:.5e}",
        f"{squared[REPRODUCED] / squared[CORRECTED]:.3f}",
    ]
    return [
        Entry(f"{m} ({NAMES[dataset]})" if dataset else m),
        Entry(as_text(location.get(PRINTED)), "printed"),
        Entry(as_text(location.get(REPRODUCED), 3)),
        Entry(as_text(location.get(CORRECTED), 5)),
        Entry((cells[_BEYOND] if dataset else kl)[PRINTED], "printed"),
        *map(Entry, texts),
    ]


CONSTANTS_TABLE = TableItem("constants", _fill, show=_show)
