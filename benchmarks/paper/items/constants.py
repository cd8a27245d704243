"""The moments I(m, l) over the true risk l (Figures 2 and 3) and their maxima, the constants (Table 5 and Lemma 3)."""

from functools import partial
from itertools import product

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import minimize_scalar

from pacb_models.constants import moment_constant, moment_curve
from pacb_models.numerics.paper_kl import BEYOND, LARGEST_COMPUTED

from ...report.tables import Entry, Group, Table
from ..cells import CORRECTED, PRINTED, REPRODUCED, Cells, printed
from ..item import Item
from ..numbers import words
from ..showing import NAMES, SERIES, as_text, grid_of_axes, legend_below
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
    cells.add(REPRODUCED, "over-1028", "", "kl", constant=BEYOND)
    for dataset, m in [*(("", m) for m in sizes), *large.items()]:
        for (version, constant), distance in product(((REPRODUCED, "paper"), (CORRECTED, "exact")), ("kl", "squared")):
            cells.add(version, dataset, m, distance, constant=moment_constant(distance, m, constant))


def _sizes() -> list[int]:
    return [int(size) for size in printed("constants")["size"].unique() if size]


def _maximiser(m: int) -> float:
    """Return the l above one half where E[kl(k/m, l)²] is largest."""
    # The maximum lies near 1 - 2.64/m, and the curve has one hump there.
    found = minimize_scalar(lambda x: -moment_curve("kl", m, 1.0 - x / m), bounds=(1.0, 5.0), method="bounded")
    return float(1.0 - found.x / m)


def _table(cells: Cells) -> Table:
    groups = (
        Group("", ("m",)),
        Group("maximiser l*", ("printed", "reproduced", "exact")),
        Group("I_kl(m)", ("printed", "reproduced", "exact", "ratio")),
        Group("I_sq(m)", ("paper's formula", "exact", "ratio")),
    )
    large = [(place.dataset, place.size) for place in cells if place.dataset in NAMES and place.method == "kl"]
    rows = [_row(cells, dataset, m) for dataset, m in [*(("", str(m)) for m in _sizes()), *large]]
    notes = words("constants", "notes", largest=LARGEST_COMPUTED, beyond=cells[_BEYOND][PRINTED])
    title = "Constants I(m) of the kl and the squared distance (Table 5, Lemma 3)"
    return Table("constants", title, groups, rows, notes)


def _row(cells: Cells, dataset: str, m: str) -> list[Entry]:
    location = cells[dataset, m, "kl", "l_star"]
    kl, squared = (cells[dataset, m, distance, "constant"] for distance in ("kl", "squared"))
    texts = [as_text(kl[REPRODUCED], 8), f"{kl[CORRECTED]:.5e}", f"{kl[REPRODUCED] / kl[CORRECTED]:.1f}"]
    texts += [f"{squared[version]:.5e}" for version in (REPRODUCED, CORRECTED)]
    return [
        Entry(f"{m} ({NAMES[dataset]})" if dataset else m),
        Entry(as_text(location.get(PRINTED)), "printed"),
        Entry(as_text(location.get(REPRODUCED), 3)),
        Entry(as_text(location.get(CORRECTED), 5)),
        Entry((cells[_BEYOND] if dataset else kl)[PRINTED], "printed"),
        *map(Entry, [*texts, f"{squared[REPRODUCED] / squared[CORRECTED]:.3f}"]),
    ]


CONSTANTS_TABLE = Item("constants", _fill, tables=(_table,))

# --- Figures 2 and 3: the moments as the paper has them and as they are -----------------------------------------------

_SAMPLES = (50, 100, 200)

#: Steps of 0.001, as in the paper; the maxima of both curves are visible at that resolution.
GRID = np.arange(0, 1001) / 1000


def papers_curve(distance: str, m: int, l: np.ndarray) -> np.ndarray:
    """Return the paper's moment; the squared distance's, a fourth central moment over m⁴, lost a square on l(1 − l)."""
    if distance == "kl":
        return np.asarray(moment_curve("kl", m, l, "paper"))
    x = l * (1.0 - l)
    return (m * (l * (1.0 - l) ** 4 + l**4 * (1.0 - l)) + 3.0 * m * (m - 1.0) * x) / m**4


def _fill_curves(study: Study, cells: Cells, distance: str) -> None:
    for m in _SAMPLES:
        cells.add(REPRODUCED, "", m, distance, curve=papers_curve(distance, m, GRID).tolist())
        cells.add(CORRECTED, "", m, distance, curve=np.asarray(moment_curve(distance, m, GRID)).tolist())


def _draw(cells: Cells) -> Figure:
    figure, axes = grid_of_axes(1, 2, 8.0, 3.4)
    for axis, version, title in zip(axes, (REPRODUCED, CORRECTED), ("as in the paper", "exact")):
        for (place, found), look in zip(cells.rows(version).items(), SERIES):
            values = np.array(found["curve"])
            axis.plot(GRID, values, label=f"m = {place.size}", **look)
            # Rounding must not hide one of two mirrored points where the largest value is attained.
            peaks = np.flatnonzero(values >= values.max() * (1.0 - 1e-9))
            axis.plot(GRID[peaks], values[peaks], "o", color=look["color"])
        axis.set(title=title, xlabel="true risk l", ylim=(0.0, None), xlim=(0.0, 1.0))
        axis.ticklabel_format(axis="y", style="sci", scilimits=(0, 0), useMathText=True)
    axes[0].set_ylabel("I(m, l)")
    legend_below(figure, axes[0], len(_SAMPLES))
    return figure


MOMENTS = [
    Item(f"{distance}-moments", partial(_fill_curves, distance=distance), draw=_draw) for distance in ("squared", "kl")
]
