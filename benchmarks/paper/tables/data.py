"""Table 2: the data sets."""

from __future__ import annotations

from typing import Any

from ...experiments.uci import LOADERS
from ...problems.problem import PAPER_DATASETS
from ...report.tables import Cell, Group, Table
from ..entries import Entries, number
from ..item import TableItem
from ..numbers import words
from ..showing import named, shown
from ..study import Study

_COLUMNS = {
    "features": "features",
    "examples": "examples",
    "positive": "positive",
    "negative": "negative",
    "training_size": "training m",
    "validation_size": "validation v",
    "test_size": "test t",
}

#: Mushroom's categorical features, before each value becomes a feature of its own.
MUSHROOM_CATEGORICAL = 22


def fill(study: Study, entries: Entries) -> None:
    for dataset in PAPER_DATASETS:
        facts, table = LOADERS[dataset], study.tables[dataset]
        printed = number(entries.printed(dataset, "positive"))
        # In the order in which the paper prints them: the class nearer to its positive count first.
        positive, negative = sorted(facts.class_counts, key=lambda count: abs(count - printed))
        values = {
            "features": MUSHROOM_CATEGORICAL if dataset == "mushroom" else facts.features,
            "examples": sum(facts.class_counts),
            "positive": positive,
            "negative": negative,
            "training_size": table.training_size,
            "validation_size": table.validation_size,
            "test_size": table.test_size,
        }
        for column, value in values.items():
            entries.add(dataset, column, "ours", value)
    entries.add("mushroom", "one_hot_features", "ours", LOADERS["mushroom"].features)
    for column in ("examples", "features"):
        counts = [entries.value(dataset, column, "ours") for dataset in PAPER_DATASETS]
        entries.add("all", f"{column}_min", "ours", min(counts))
        entries.add("all", f"{column}_max", "ours", max(counts))


def show(entries: Entries, facts: dict[str, Any]) -> list[Table]:
    groups = (Group("", ("data set",)), *(Group(title, ("printed", "ours")) for title in _COLUMNS.values()))
    rows = []
    for dataset in PAPER_DATASETS:
        row = named(dataset)
        for column in _COLUMNS:
            entry = entries.get(dataset, column)
            ours = entry.values["ours"]
            row += [Cell(entry.printed, "printed"), Cell(shown(ours), "" if number(entry.printed) == ours else "off")]
        rows.append(row)
    one_hot, most = entries.value("mushroom", "one_hot_features", "ours"), entries.printed("all", "examples_max")
    notes = words("data", "notes", one_hot=one_hot, most=most)
    return [Table("data", "The data sets (Table 2)", groups, rows, notes)]


ITEM = TableItem("data", fill, show=show)
