"""Table 4: one λ chosen by cross-validation against the squared χ² posterior, and the time each takes."""

from __future__ import annotations

import functools
import time

import pandas as pd

import pacb_models as pm
from pacb_models.files import write_atomically

from ...experiments.cross_validation import Baseline, cross_validate
from ...experiments.datasets import load_dataset
from ...problems.problem import PAPER_DATASETS
from ...report.tables import NONE, Entry, Group, Table
from ...report.wording import duration
from ..cells import CORRECTED, PRINTED, REPRODUCED, Cells
from ..item import TableItem
from ..numbers import words
from ..showing import NAMES, OURS, Beside, named
from ..study import ALL_CLASSIFIERS, EXACT, PAPER, Study, Version

#: The paper calls a difference significant when it exceeds this share of the cross-validation error, in per cent.
_SIGNIFICANT = 20.0


def _fill(study: Study, cells: Cells) -> None:
    baselines = _baselines(study)
    ratios, posterior = [], []
    for dataset in PAPER_DATASETS:
        baseline, training = baselines.get(dataset), study.training_seconds.get(dataset)
        seconds = min(_add_posterior(cells, study, dataset, version, baseline) for version in (PAPER, EXACT))
        posterior.append(seconds)
        cells.add(REPRODUCED, dataset, ALL_CLASSIFIERS, "squared", seconds=seconds)
        cells.add(REPRODUCED, dataset, ALL_CLASSIFIERS, "training", seconds=training)
        if baseline is not None:
            found = {"lambda": baseline.best_lambda, "test_error": baseline.test_risk, "seconds": baseline.cpu_seconds}
            cells.add(REPRODUCED, dataset, ALL_CLASSIFIERS, "cv", **found)
            if training is not None:
                ratios.append(baseline.cpu_seconds / (training + seconds))
    hours = [baselines[name].cpu_seconds / 3600.0 for name in PAPER_DATASETS if name in baselines]
    # What the text says of times.
    cells.add(
        REPRODUCED,
        "all",
        cv_hours_min=min(hours, default=None),
        cv_hours_max=max(hours, default=None),
        pac_bayes_seconds_min=min(posterior),
        pac_bayes_seconds_max=max(posterior),
        folds=5,
        small_difference_percent=_SIGNIFICANT,
        speed_up_claimed=min(ratios, default=None),
        speed_up_largest=max(ratios, default=None),
    )


def _baselines(study: Study) -> dict[str, Baseline]:
    if not study.with_cv:
        return dict(study.baselines)
    found = {}
    for name in PAPER_DATASETS:
        result = cross_validate(
            load_dataset(name, study.data_dir),
            seed=study.seed,
            n_jobs=study.jobs,
            dask=study.dask,
            partial=study.partial(f"cross-validation-{name}"),
            resume=study.resume,
            progress=functools.partial(study.report, f"cross-validation of {name}"),
        )
        kept = {field: getattr(result, field) for field in Baseline._fields}
        found[name] = Baseline(
            **kept | {"errors": int(result.errors.min()), "cpu_seconds": round(result.cpu_seconds, 1)}
        )
    if study.directory is not None:
        write_atomically(study.directory / "cross_validation.csv", pd.DataFrame(found.values()).to_csv(index=False))
    return found


def _add_posterior(cells: Cells, study: Study, dataset: str, version: Version, baseline: Baseline | None) -> float:
    """The posterior's test error and bound, what separates it from cross-validation, and the seconds it took."""
    started = time.perf_counter()
    solution = pm.solve(study.problem(dataset, ALL_CLASSIFIERS, "squared", version), "frontier")
    seconds = time.perf_counter() - started
    test_error = study.test_error(dataset, solution.posterior)
    cells.add(version.name, dataset, ALL_CLASSIFIERS, "squared", test_error=test_error, bound=solution.bound)
    if baseline is not None:
        delta = baseline.test_risk - test_error
        relative = 100.0 * delta / baseline.test_risk if baseline.test_risk > 0.0 else None
        cells.add(
            version.name,
            dataset,
            ALL_CLASSIFIERS,
            delta_test_error=delta,
            relative_test_error=relative,
            significantly_lower=significantly_lower(delta, relative),
        )
    return seconds


def significantly_lower(delta: float, relative: float | None) -> str:
    """Whose test error is lower by more than a fifth of the cross-validation error."""
    if delta == 0.0 or (relative is not None and abs(relative) <= _SIGNIFICANT):
        return "none"
    return "cv" if delta < 0.0 else "pac-bayes"


def _show(cells: Cells) -> list[Table]:
    return [_errors(cells), _times(cells)]


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
    without = [name for name in PAPER_DATASETS if not cells[name, ALL_CLASSIFIERS, "cv", "seconds"]]
    names = ", ".join(NAMES[name] for name in without)
    missing = [f"No cross-validation of {names} is stored; it can be run anew."] if names else []
    return Table("cross-validation", title, groups, rows, [*words("cross-validation", "notes"), *missing])


def _times(cells: Cells) -> Table:
    groups = (
        Group("", ("data set",)),
        Group("processor time, ours", ("cross-validation", "1990 SVMs", "posterior", "CV / PAC-Bayes")),
    )
    rows = []
    for dataset in PAPER_DATASETS:
        cv, training, posterior = (
            cells[dataset, ALL_CLASSIFIERS, method, "seconds"].get(REPRODUCED)
            for method in ("cv", "training", "squared")
        )
        ratio = NONE if cv is None or training is None else f"{cv / (training + posterior):.1f}"
        times = [NONE if seconds is None else duration(seconds) for seconds in (cv, training, posterior)]
        rows.append([*named(dataset), *map(Entry, times), Entry(ratio)])
    printed = {
        place.quantity: values[PRINTED] for place, values in cells if PRINTED in values and place.dataset == "all"
    }
    notes = words("cross-validation", "notes_on_times", **printed)
    return Table("cross-validation-times", "Time of cross-validation and of the posterior", groups, rows, notes)


CROSS_VALIDATION_TABLE = TableItem(
    "cross-validation", _fill, uses=("with_cv", "seed", "baselines", "training_seconds"), show=_show
)
