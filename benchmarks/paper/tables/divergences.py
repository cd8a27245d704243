"""The optimal posteriors of the χ² divergence against those of the KL divergence, all distances (Section 8.1).

The paper compares them in words; its companion has the numbers of the KL side, which were not at hand.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pacb_models as pm

from ...problems.problem import PAPER_DATASETS
from ...report.tables import Cell, Group, Table
from ..entries import Entries
from ..item import TableItem
from ..numbers import words
from ..showing import named, shown
from ..study import ALL_CLASSIFIERS, EXACT, PAPER, Study, Version
from .sparsity import classifiers_for

#: Distances that each divergence has a bound for; of the KL divergence, the χ² ones first.
BOUNDS = {"chi2": ("linear", "squared", "kl"), "kl": ("linear", "squared", "kl", "pinsker", "ch")}

_QUANTITIES = {"bound": ("bound", 5), "test_error": ("test error", 5), "support": ("support", 0), "N0.8": ("N(0.8)", 0)}


def fill(study: Study, entries: Entries) -> None:
    pairs = [(divergence, distance) for divergence, distances in BOUNDS.items() for distance in distances]
    for dataset, (divergence, distance), version in product(PAPER_DATASETS, pairs, (PAPER, EXACT)):
        problem = study.problem(dataset, ALL_CLASSIFIERS, distance, version, divergence=divergence)
        solution = pm.solve(problem, "frontier")
        values = {
            "bound": solution.bound,
            "test_error": study.test_error(dataset, solution.posterior),
            "support": solution.support_size,
            "N0.8": classifiers_for(solution.posterior, problem.risks, 0.8),
        }
        for quantity, value in values.items():
            entries.add(dataset, f"{quantity}_{divergence}_{distance}", version.name, value)
    for version in (PAPER, EXACT):
        for column, verdict in verdicts(entries, version.name).items():
            entries.add("all", column, version.name, verdict)


def verdicts(entries: Entries, key: str) -> dict[str, str]:
    """What becomes of the four claims of Section 8.1, over all data sets and the three distances that both have."""
    pairs = [(dataset, distance) for dataset in PAPER_DATASETS for distance in BOUNDS["chi2"]]

    def value(dataset: str, distance: str, divergence: str, quantity: str) -> float:
        return entries.value(dataset, f"{quantity}_{divergence}_{distance}", key)

    lower = {
        quantity: sum(value(*pair, "kl", quantity) < value(*pair, "chi2", quantity) for pair in pairs)
        for quantity in ("bound", "test_error")
    }
    full = {
        divergence: sum(value(*pair, divergence, "support") == ALL_CLASSIFIERS for pair in pairs)
        for divergence in BOUNDS
    }
    return {
        "tighter_bound": f"KL in {lower['bound']} of {len(pairs)}",
        "lower_test_error": f"KL in {lower['test_error']} of {len(pairs)}",
        "support_chi2": f"full in {full['chi2']} of {len(pairs)}",
        "support_kl": f"full in {full['kl']} of {len(pairs)}",
    }


def show(entries: Entries, facts: dict[str, Any]) -> list[Table]:
    return [_claims(entries), *(_panel(entries, version) for version in (PAPER, EXACT))]


def _claims(entries: Entries) -> Table:
    titles = {
        "tighter_bound": "Tighter bounds come from",
        "lower_test_error": "Lower test errors come from",
        "support_chi2": "χ² posteriors have as support",
        "support_kl": "KL posteriors have as support",
    }
    rows = []
    for column, title in titles.items():
        entry = entries.get("all", column)
        printed = "the KL divergence" if entry.printed == "kl" else entry.printed
        rows.append([Cell(title), Cell(printed, "printed"), Cell(entry.values["paper"]), Cell(entry.values["exact"])])
    groups = (Group("", ("claim",)), Group("", ("paper, in words", "paper's constants", "exact constants")))
    notes = words("divergences", "notes_on_claims")
    return Table("divergences-claims", "What Section 8.1 claims", groups, rows, notes)


def _panel(entries: Entries, version: Version) -> Table:
    columns = tuple(title for title, _ in _QUANTITIES.values())
    groups = (Group("", ("data set", "distance")), Group("χ² divergence", columns), Group("KL divergence", columns))
    rows = []
    for dataset, distance in product(PAPER_DATASETS, BOUNDS["kl"]):
        row = named(dataset, {"pinsker": "Pinsker", "ch": "φ_CH"}.get(distance, distance), first=distance == "linear")
        for divergence, (quantity, (_, decimals)) in product(BOUNDS, _QUANTITIES.items()):
            place = f"{quantity}_{divergence}"
            values = {each: entries.value(dataset, f"{place}_{each}", version.name) for each in BOUNDS[divergence]}
            is_best = quantity == "bound" and distance == min(values, key=values.__getitem__)
            row.append(Cell(shown(values.get(distance), decimals), "best" if is_best else ""))
        rows.append(row)
    title = f"χ² against KL divergence with {version.title}, H = 1990, δ = 0.01"
    return Table(f"divergences-{version.name}", title, groups, rows, words("divergences", "notes"))


ITEM = TableItem("divergences", fill, show=show)
