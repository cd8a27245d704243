"""Optimal bounds: of the three χ² distances (Table 3, and the picture that opens the page), and of both divergences."""

from functools import partial
from itertools import product

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import pacb_models as pm

from ...problems.problem import LEAK_FREE, PAPER_DATASETS
from ...report.drawing import Look
from ...report.tables import Entry, Group, Table
from ..cells import CORRECTED, PRINTED, REPRODUCED, VERSIONS, Cells, number
from ..item import Item
from ..numbers import words
from ..showing import DISTANCE_LOOK, Beside, as_text, line_per_dataset, named
from ..study import ALL_CLASSIFIERS, DISTANCES, Study
from .posteriors import classifiers_for

_DATASETS = (*PAPER_DATASETS, LEAK_FREE)


def _fill(study: Study, cells: Cells) -> None:
    for dataset, distance, version in product(_DATASETS, DISTANCES, VERSIONS):
        # Milliseconds each; sharing them out over processes would take longer.
        solution = pm.solve(study.problem(dataset, ALL_CLASSIFIERS, distance, version), "frontier")
        found = {"bound": solution.bound, "test_error": study.test_error(dataset, solution.posterior)}
        found |= {"empirical_risk": solution.empirical_risk, "support": solution.support_size}
        cells.add(version, dataset, ALL_CLASSIFIERS, distance, **found)


#: What stands above and below the table of each quantity.
_PANELS = {
    "bound": ("Optimal bounds, H = 1990, δ = 0.01 (Table 3)", "notes"),
    "test_error": ("Average test errors of the same posteriors (Table 3)", "notes_on_test_errors"),
}


def _panel(cells: Cells, quantity: str) -> Table:
    beside, rows = Beside.of(quantity), []
    for dataset in _DATASETS:
        row, smallest = named(dataset), tightest(cells, dataset, quantity, CORRECTED)
        for distance in DISTANCES:
            best = CORRECTED if distance == smallest else ""
            row += beside.cells(cells[dataset, ALL_CLASSIFIERS, distance, quantity], best)
        rows.append(row)
    groups, (title, notes) = (Group("", ("data set",)), *map(beside.group, DISTANCES)), _PANELS[quantity]
    return Table(f"bounds-{quantity.replace('_', '-')}", title, groups, rows, words("bounds", notes))


def tightest(cells: Cells, dataset: str, quantity: str, version: str) -> str:
    """Return the distance with the smallest value."""
    return min(DISTANCES, key=lambda distance: cells[dataset, ALL_CLASSIFIERS, distance, quantity][version])


BOUNDS_TABLE = Item("bounds", _fill, tables=tuple(partial(_panel, quantity=each) for each in _PANELS))

# --- the paper's constants and exact ones -----------------------------------------------------------------------------

#: The marks of the versions.
_LEGEND: tuple[tuple[str, str, Look], ...] = (
    ("o", "paper's constant", {"mfc": "white", "ms": 6}),
    ("o", "exact constant", {"ms": 6}),
    ("|", "printed", {"mew": 1.2, "ms": 9}),
)


def _kl_wins(cells: Cells) -> int:
    """Return on how many data sets kl is the tightest with exact constants."""
    return sum(tightest(cells, dataset, "bound", CORRECTED) == "kl" for dataset in PAPER_DATASETS)


def _draw(cells: Cells) -> Figure:
    """Return a line for each distance of each data set, from one bound to the other."""
    figure, axis = line_per_dataset(6.2, "optimal bound on the risk (H = 1990, δ = 0.01)")
    for (line, dataset), (place, distance) in product(enumerate(PAPER_DATASETS), enumerate(DISTANCES)):
        values = cells[dataset, ALL_CLASSIFIERS, distance, "bound"]
        height, look = line + 0.26 * (place - 1), DISTANCE_LOOK[distance]
        colour, marker = look["color"], look["marker"]
        axis.plot([values[CORRECTED], values[REPRODUCED]], [height, height], color=colour, lw=1.6)
        axis.plot(values[REPRODUCED], height, marker=marker, mfc="white", mec=colour, ms=6)
        axis.plot(values[CORRECTED], height, marker=marker, color=colour, ms=6)
        axis.plot(number(values[PRINTED]), height, marker="|", color="#444444", ms=9, mew=1.2)
    axis.set_xlim(0.0, 0.9)
    title = f"With the right constants kl turns from the loosest χ² bound\ninto the tightest on {_kl_wins(cells)} of 9 "
    axis.set_title(f"{title}data sets", fontsize=11)
    handles = [
        Line2D([], [], color=look["color"], marker=look["marker"], ms=6, label=distance)
        for distance, look in DISTANCE_LOOK.items()
    ]
    handles += [
        Line2D([], [], color="#555555", ls="none", marker=mark, label=label, **look) for mark, label, look in _LEGEND
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=6, columnspacing=1.4)
    return figure


HEADLINE = Item("headline", of="bounds", draw=_draw, facts=lambda cells: {"wins": _kl_wins(cells)})

# --- Section 8.1: χ² against KL divergence, which the paper compares in words -----------------------------------------

#: Distances that each divergence has a bound for; of the KL divergence, the χ² ones first.
_DISTANCES = {"chi2": DISTANCES, "kl": (*DISTANCES, "pinsker", "ch")}

#: Quantities with their titles and decimals.
_QUANTITIES = {
    "bound": ("bound", 5),
    "test_error": ("test error", 5),
    "support": ("support", 0),
    "N(0.8)": ("N(0.8)", 0),
}

#: The claims of Section 8.1, in our words.
_CLAIMS = {
    "tighter_bound": "Tighter bounds come from",
    "lower_test_error": "Lower test errors come from",
    "support_chi2": "χ² posteriors have as support",
    "support_kl": "KL posteriors have as support",
}


def _fill_divergences(study: Study, cells: Cells) -> None:
    pairs = [(divergence, distance) for divergence, distances in _DISTANCES.items() for distance in distances]
    for dataset, (divergence, distance), version in product(PAPER_DATASETS, pairs, (REPRODUCED, CORRECTED)):
        problem = study.problem(dataset, ALL_CLASSIFIERS, distance, version, divergence=divergence)
        solution = pm.solve(problem, "frontier")
        found = {"bound": solution.bound, "test_error": study.test_error(dataset, solution.posterior)}
        found["support"] = solution.support_size
        found["N(0.8)"] = classifiers_for(solution.posterior, problem.risks, 0.8)
        cells.add(version, dataset, ALL_CLASSIFIERS, f"{divergence}-{distance}", **found)
    for version in (REPRODUCED, CORRECTED):
        cells.add(version, "all", **_verdicts(cells, version))


def _verdicts(cells: Cells, version: str) -> dict[str, str]:
    """Return what becomes of the four claims, over all data sets and the three distances that both have."""
    pairs = list(product(PAPER_DATASETS, DISTANCES))

    def values(divergence: str, quantity: str) -> list[float]:
        places = ((dataset, ALL_CLASSIFIERS, f"{divergence}-{each}", quantity) for dataset, each in pairs)
        return [cells[place][version] for place in places]

    found = {}
    for claim, quantity in (("tighter_bound", "bound"), ("lower_test_error", "test_error")):
        lower = sum(kl < chi2 for kl, chi2 in zip(values("kl", quantity), values("chi2", quantity), strict=True))
        found[claim] = f"KL in {lower} of {len(pairs)}"
    for divergence in _DISTANCES:
        full = values(divergence, "support").count(ALL_CLASSIFIERS)
        found[f"support_{divergence}"] = f"full in {full} of {len(pairs)}"
    return found


def _claims(cells: Cells) -> Table:
    rows = []
    for quantity, title in _CLAIMS.items():
        cell = cells["all", "", "", quantity]
        printed = "the KL divergence" if cell[PRINTED] == "kl" else cell[PRINTED]
        rows.append([Entry(title), Entry(printed, "printed"), Entry(cell[REPRODUCED]), Entry(cell[CORRECTED])])
    groups = (Group("", ("claim",)), Group("", ("paper, in words", "paper's constants", "exact constants")))
    notes = words("divergences", "notes_on_claims")
    return Table("divergences-claims", "What Section 8.1 claims", groups, rows, notes)


def _panel_of_divergences(cells: Cells, version: str) -> Table:
    columns = tuple(title for title, _ in _QUANTITIES.values())
    groups = (Group("", ("data set", "distance")), Group("χ² divergence", columns), Group("KL divergence", columns))
    rows = []
    for dataset, distance in product(PAPER_DATASETS, _DISTANCES["kl"]):
        row = named(dataset, {"pinsker": "Pinsker", "ch": "φ_CH"}.get(distance, distance), first=distance == "linear")
        for divergence, (quantity, (_, decimals)) in product(_DISTANCES, _QUANTITIES.items()):
            values = {
                each: cells[dataset, ALL_CLASSIFIERS, f"{divergence}-{each}", quantity][version]
                for each in _DISTANCES[divergence]
            }
            is_best = quantity == "bound" and distance == min(values, key=values.__getitem__)
            row.append(Entry(as_text(values.get(distance), decimals), "best" if is_best else ""))
        rows.append(row)
    title = f"χ² against KL divergence with {VERSIONS[version]}, H = 1990, δ = 0.01"
    return Table(f"divergences-{version}", title, groups, rows, words("divergences", "notes"))


_OF_DIVERGENCES = [partial(_panel_of_divergences, version=version) for version in (REPRODUCED, CORRECTED)]
DIVERGENCES_TABLE = Item("divergences", _fill_divergences, tables=(_claims, *_OF_DIVERGENCES))
