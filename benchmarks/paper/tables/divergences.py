"""The optimal posteriors of the χ² divergence against those of the KL divergence, all distances (Section 8.1).

The paper compares them in words; its companion has the numbers of the KL side, which were not at hand.
"""

from __future__ import annotations

from typing import Any

import pacb_models as pm

from ...problems.problem import PAPER_DATASETS
from ...report.tables import NONE, Cell, Group, Table
from ..entries import Collector, Entries
from ..item import Results, TableItem, table_result
from ..showing import NAMES, shown
from ..study import ALL_CLASSIFIERS, EXACT, PAPER, Study, Version
from .sparsity import classifiers_for

#: Distances that each divergence has a bound for; of the KL divergence, the χ² ones first.
BOUNDS = {"chi2": ("linear", "squared", "kl"), "kl": ("linear", "squared", "kl", "pinsker", "ch")}

DIVERGENCES = {"chi2": "χ²", "kl": "KL"}

_QUANTITIES = {"bound": ("bound", 5), "test_error": ("test error", 5), "support": ("support", 0), "N0.8": ("N(0.8)", 0)}


def compute(study: Study, results: Results) -> dict[str, Any]:
    cells = Collector("divergences")
    for dataset in PAPER_DATASETS:
        for divergence, distances in BOUNDS.items():
            for distance in distances:
                for version in (PAPER, EXACT):
                    _add(cells, study, dataset, divergence, distance, version)
    entries = Entries(cells.entries())
    for version in (PAPER, EXACT):
        for column, verdict in verdicts(entries, version.name).items():
            cells.add("all", column, version.name, verdict)
    return table_result(cells.entries())


def _add(cells: Collector, study: Study, dataset: str, divergence: str, distance: str, version: Version) -> None:
    problem = study.problem(dataset, ALL_CLASSIFIERS, distance, version, divergence=divergence)
    solution = pm.solve(problem, "frontier")
    values = {
        "bound": solution.bound,
        "test_error": study.test_error(dataset, solution.posterior),
        "support": solution.support_size,
        "N0.8": classifiers_for(solution.posterior, problem.risks, 0.8),
    }
    for quantity, value in values.items():
        cells.add(dataset, f"{quantity}_{divergence}_{distance}", version.name, value)


def best(entries: Entries, dataset: str, divergence: str, quantity: str, key: str) -> tuple[str, float]:
    """The distance with the smallest value, and the value."""
    values = {
        distance: entries.value(dataset, f"{quantity}_{divergence}_{distance}", key) for distance in BOUNDS[divergence]
    }
    distance = min(values, key=values.__getitem__)
    return distance, values[distance]


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
        rows.append((Cell(title), Cell(printed, "printed"), Cell(entry.values["paper"]), Cell(entry.values["exact"])))
    groups = (Group("", ("claim", "paper, in words", "paper's constants", "exact constants")),)
    notes = (
        "Counted over nine data sets and the three distances that both divergences have. With the kl distance and the "
        "KL divergence all weight goes to classifiers without errors where there are some; the other weights, too "
        "small for a double, are outside the support.",
    )
    return Table("divergences-claims", "What Section 8.1 claims", groups, tuple(rows), notes=notes)


def _panel(entries: Entries, version: Version) -> Table:
    columns = tuple(title for title, _ in _QUANTITIES.values())
    groups = (Group("", ("data set", "distance")), Group("χ² divergence", columns), Group("KL divergence", columns))
    rows = []
    for dataset in PAPER_DATASETS:
        smallest = {divergence: best(entries, dataset, divergence, "bound", version.name)[0] for divergence in BOUNDS}
        for distance in BOUNDS["kl"]:
            row = [Cell(NAMES[dataset] if distance == "linear" else ""), Cell(_distance_title(distance))]
            for divergence in BOUNDS:
                for quantity, (_, decimals) in _QUANTITIES.items():
                    value = entries.value(dataset, f"{quantity}_{divergence}_{distance}", version.name)
                    is_best = quantity == "bound" and distance == smallest[divergence]
                    row.append(Cell(shown(value, decimals) if value is not None else NONE, "best" if is_best else ""))
            rows.append(tuple(row))
    title = f"χ² against KL divergence with {version.title}, H = 1990, δ = 0.01"
    notes = (
        "Bold: the smallest bound of each divergence on a data set. N(0.8): classifiers that hold 80 % of the weight.",
    )
    return Table(f"divergences-{version.name}", title, groups, tuple(rows), labels=2, notes=notes)


def _distance_title(distance: str) -> str:
    return {"pinsker": "Pinsker", "ch": "φ_CH"}.get(distance, distance)


ITEM = TableItem("divergences", "Section 8.1 (claims without numbers)", compute, show=show)
