"""The experiment: its data sets (Table 2), and one λ that cross-validation chose against a posterior (Table 4)."""

import time

import pacb_models as pm

from ...experiments.cross_validation import FOLDS, CrossValidation
from ...experiments.datasets import LOADERS
from ...problems.problem import PAPER_DATASETS
from ...report.tables import Entry, Group, Table
from ...report.wording import duration
from ..cells import CORRECTED, PRINTED, REPRODUCED, Cells, Place, number
from ..item import Item
from ..numbers import words
from ..showing import OURS, Beside, as_text, named
from ..study import ALL_CLASSIFIERS, Study

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


def _table(cells: Cells) -> Table:
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
    return Table("data", "The data sets (Table 2)", groups, rows, notes)


DATA_TABLE = Item("data", _fill, tables=(_table,))

# --- Table 4 ----------------------------------------------------------------------------------------------------------

#: The paper calls a difference significant when it exceeds this share of the cross-validation error, in per cent.
_SIGNIFICANT = 20.0


def _fill_choice(study: Study, cells: Cells) -> None:
    ratios, hours, posterior = [], [], []
    for dataset in PAPER_DATASETS:
        baseline, training = study.baselines[dataset], study.tables[dataset].cpu_seconds
        seconds = min(_add_posterior(cells, study, dataset, version, baseline) for version in (REPRODUCED, CORRECTED))
        cells.add(REPRODUCED, dataset, ALL_CLASSIFIERS, "squared", seconds=seconds)
        cells.add(REPRODUCED, dataset, ALL_CLASSIFIERS, "training", seconds=training)
        found = {"lambda": baseline.best_lambda, "test_error": baseline.test_risk, "seconds": baseline.cpu_seconds}
        cells.add(REPRODUCED, dataset, ALL_CLASSIFIERS, "cv", **found)
        posterior.append(seconds)
        hours.append(baseline.cpu_seconds / 3600.0)
        ratios.append(baseline.cpu_seconds / (training + seconds))
    # What the text says of times.
    said = {"cv_hours_min": min(hours), "cv_hours_max": max(hours)}
    said |= {"pac_bayes_seconds_min": min(posterior), "pac_bayes_seconds_max": max(posterior), "folds": FOLDS}
    said |= {"small_difference_percent": _SIGNIFICANT}
    cells.add(REPRODUCED, "all", **said, speed_up_claimed=min(ratios), speed_up_largest=max(ratios))


def _add_posterior(cells: Cells, study: Study, dataset: str, version: str, baseline: CrossValidation) -> float:
    """Return the posterior's test error and bound, what separates it from cross-validation, and the seconds it took."""
    started = time.perf_counter()
    solution = pm.solve(study.problem(dataset, ALL_CLASSIFIERS, "squared", version), "frontier")
    seconds = time.perf_counter() - started
    test_error = study.test_error(dataset, solution.posterior)
    cells.add(version, dataset, ALL_CLASSIFIERS, "squared", test_error=test_error, bound=solution.bound)
    delta = baseline.test_risk - test_error
    relative = 100.0 * delta / baseline.test_risk if baseline.test_risk > 0.0 else None
    found = {"delta_test_error": delta, "relative_test_error": relative}
    lower = significantly_lower(delta, relative)
    cells.add(version, dataset, ALL_CLASSIFIERS, **found, significantly_lower=lower)
    return seconds


def significantly_lower(delta: float, relative: float | None) -> str:
    """Return whose test error is lower by more than a fifth of the cross-validation error."""
    if delta == 0.0 or (relative is not None and abs(relative) <= _SIGNIFICANT):
        return "none"
    return "cv" if delta < 0.0 else "pac-bayes"


_BOTH = Beside((REPRODUCED, CORRECTED), compared=False)
#: Titles, methods and quantities of the columns.
_BLOCKS = (
    ("best λ", "cv", "lambda", Beside((REPRODUCED,), 2, compared=False, titles=OURS)),
    ("CV test error", "cv", "test_error", Beside((REPRODUCED,), compared=False, titles=OURS)),
    ("PAC-Bayes test error", "squared", "test_error", _BOTH),
    ("Δ = CV − PAC-Bayes", "", "delta_test_error", _BOTH),
    ("Δ in % of CV", "", "relative_test_error", Beside((REPRODUCED, CORRECTED), 2, compared=False)),
    ("bound", "squared", "bound", _BOTH),
)


def _errors(cells: Cells) -> Table:
    rows = []
    for dataset in PAPER_DATASETS:
        row = named(dataset)
        for _, method, quantity, beside in _BLOCKS:
            found = beside.cells(cells[dataset, ALL_CLASSIFIERS, method, quantity])
            row += [Entry(cell.text.replace("-", "−").removesuffix("%"), cell.kind) for cell in found]
        rows.append(row)
    groups = (Group("", ("data set",)), *(beside.group(title) for title, _, _, beside in _BLOCKS))
    title = "Cross-validation against the squared χ² posterior, H = 1990, δ = 0.01 (Table 4)"
    return Table("cross-validation", title, groups, rows, words("cross-validation", "notes"))


def _times(cells: Cells) -> Table:
    columns = ("cross-validation", "1990 SVMs", "posterior", "CV / PAC-Bayes")
    rows = []
    for dataset in PAPER_DATASETS:
        methods = ("cv", "training", "squared")
        seconds = [cells[dataset, ALL_CLASSIFIERS, each, "seconds"][REPRODUCED] for each in methods]
        ratio = f"{seconds[0] / sum(seconds[1:]):.1f}"
        rows.append([*named(dataset), *map(Entry, [*map(duration, seconds), ratio])])
    said = cells.rows(PRINTED)[Place("all")]
    groups = (Group("", ("data set",)), Group("processor time, ours", columns))
    notes = words("cross-validation", "notes_on_times", **said)
    return Table("cross-validation-times", "Time of cross-validation and of the posterior", groups, rows, notes)


CROSS_VALIDATION_TABLE = Item("cross-validation", _fill_choice, uses=("seconds", "baselines"), tables=(_errors, _times))
