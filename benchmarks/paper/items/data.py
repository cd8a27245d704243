"""Table 2: the data sets."""

from __future__ import annotations

from ...experiments.datasets import LOADERS
from ...problems.problem import PAPER_DATASETS
from ...report.tables import Entry, Group, Table
from ..cells import PRINTED, REPRODUCED, Cells, number
from ..item import Item
from ..numbers import words
from ..showing import as_text, named
from ..study import Study

_SIZES = {"training_size": "training m", "validation_size": "validation v", "test_size": "test t"}
_COLUMNS = {name: name for name in ("features", "examples", "positive", "negative")} | _SIZES

#: Mushroom's categorical features, before each value becomes a feature of its own.
_MUSHROOM_CATEGORICAL = 22


def _fill(study: Study, cells: Cells) -> None:
    for dataset in PAPER_DATASETS:
        facts, table = LOADERS[dataset], study.tables[dataset]
        printed = number(cells[dataset, "", "", "positive"][PRINTED])
        # In the order in which the paper prints them: the class nearer to its positive count first.
        positive, negative = sorted(facts.class_counts, key=lambda count: abs(count - printed))
        features = _MUSHROOM_CATEGORICAL if dataset == "mushroom" else facts.features
        counts = {"examples": sum(facts.class_counts), "positive": positive, "negative": negative}
        sizes = {name: getattr(table, name) for name in _SIZES}
        cells.add(REPRODUCED, dataset, features=features, **counts, **sizes)
    cells.add(REPRODUCED, "mushroom", one_hot_features=LOADERS["mushroom"].features)
    for quantity in ("examples", "features"):
        found = [cells[dataset, "", "", quantity][REPRODUCED] for dataset in PAPER_DATASETS]
        cells.add(REPRODUCED, "all", **{f"{quantity}_min": min(found), f"{quantity}_max": max(found)})


def _show(cells: Cells) -> list[Table]:
    groups = (Group("", ("data set",)), *(Group(title, ("printed", "ours")) for title in _COLUMNS.values()))
    rows = []
    for dataset in PAPER_DATASETS:
        row = named(dataset)
        for column in _COLUMNS:
            cell = cells[dataset, "", "", column]
            same = number(cell[PRINTED]) == cell[REPRODUCED]
            row += [Entry(cell[PRINTED], "printed"), Entry(as_text(cell[REPRODUCED]), "" if same else "off")]
        rows.append(row)
    one_hot, most = cells["mushroom", "", "", "one_hot_features"], cells["all", "", "", "examples_max"]
    notes = words("data", "notes", one_hot=one_hot[REPRODUCED], most=most[PRINTED])
    return [Table("data", "The data sets (Table 2)", groups, rows, notes)]


DATA_TABLE = Item("data", _fill, show=_show)
