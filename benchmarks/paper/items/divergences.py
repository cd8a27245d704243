"""The optimal posteriors of the χ² divergence against those of the KL divergence, all distances (Section 8.1).

The paper compares them in words; its companion has the numbers of the KL side, which were not at hand.
"""

from __future__ import annotations

from itertools import product

import pacb_models as pm

from ...problems.problem import PAPER_DATASETS
from ...report.tables import Entry, Group, Table
from ..cells import CORRECTED, PRINTED, REPRODUCED, Cells
from ..item import Item
from ..numbers import words
from ..showing import as_text, named
from ..study import ALL_CLASSIFIERS, DISTANCES, EXACT, PAPER, Study, Version
from .concentration import classifiers_for

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


def _fill(study: Study, cells: Cells) -> None:
    pairs = [(divergence, distance) for divergence, distances in _DISTANCES.items() for distance in distances]
    for dataset, (divergence, distance), version in product(PAPER_DATASETS, pairs, (PAPER, EXACT)):
        problem = study.problem(dataset, ALL_CLASSIFIERS, distance, version, divergence=divergence)
        solution = pm.solve(problem, "frontier")
        found = {"bound": solution.bound, "test_error": study.test_error(dataset, solution.posterior)}
        found["support"] = solution.support_size
        found["N(0.8)"] = classifiers_for(solution.posterior, problem.risks, 0.8)
        cells.add(version.name, dataset, ALL_CLASSIFIERS, f"{divergence}-{distance}", **found)
    for version in (PAPER, EXACT):
        cells.add(version.name, "all", **_verdicts(cells, version.name))


def _verdicts(cells: Cells, version: str) -> dict[str, str]:
    """What becomes of the four claims, over all data sets and the three distances that both have."""
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


def _show(cells: Cells) -> list[Table]:
    return [_claims(cells), *(_panel(cells, version) for version in (PAPER, EXACT))]


def _claims(cells: Cells) -> Table:
    rows = []
    for quantity, title in _CLAIMS.items():
        cell = cells["all", "", "", quantity]
        printed = "the KL divergence" if cell[PRINTED] == "kl" else cell[PRINTED]
        rows.append([Entry(title), Entry(printed, "printed"), Entry(cell[REPRODUCED]), Entry(cell[CORRECTED])])
    groups = (Group("", ("claim",)), Group("", ("paper, in words", "paper's constants", "exact constants")))
    notes = words("divergences", "notes_on_claims")
    return Table("divergences-claims", "What Section 8.1 claims", groups, rows, notes)


def _panel(cells: Cells, version: Version) -> Table:
    columns = tuple(title for title, _ in _QUANTITIES.values())
    groups = (Group("", ("data set", "distance")), Group("χ² divergence", columns), Group("KL divergence", columns))
    rows = []
    for dataset, distance in product(PAPER_DATASETS, _DISTANCES["kl"]):
        row = named(dataset, {"pinsker": "Pinsker", "ch": "φ_CH"}.get(distance, distance), first=distance == "linear")
        for divergence, (quantity, (_, decimals)) in product(_DISTANCES, _QUANTITIES.items()):
            values = {
                each: cells[dataset, ALL_CLASSIFIERS, f"{divergence}-{each}", quantity][version.name]
                for each in _DISTANCES[divergence]
            }
            is_best = quantity == "bound" and distance == min(values, key=values.__getitem__)
            row.append(Entry(as_text(values.get(distance), decimals), "best" if is_best else ""))
        rows.append(row)
    title = f"χ² against KL divergence with {version.title}, H = 1990, δ = 0.01"
    return Table(f"divergences-{version.name}", title, groups, rows, words("divergences", "notes"))


DIVERGENCES_TABLE = Item("divergences", _fill, show=_show)
