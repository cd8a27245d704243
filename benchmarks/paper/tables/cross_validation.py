"""Table 4: one λ chosen by cross-validation against the squared χ² posterior, and the time each takes."""

from __future__ import annotations

import functools
import time
from typing import Any

import pandas as pd

import pacb_models as pm
from pacb_models.files import write_atomically

from ...experiments.cross_validation import Baseline, cross_validate
from ...experiments.datasets import load_dataset
from ...problems.problem import PAPER_DATASETS
from ...report.tables import NONE, Cell, Group, Table
from ...report.wording import duration
from ..entries import Entries
from ..item import TableItem
from ..numbers import words
from ..showing import NAMES, Beside, named
from ..study import ALL_CLASSIFIERS, EXACT, PAPER, Study, Version

#: The paper calls a difference significant when it exceeds this share of the cross-validation error, in per cent.
SIGNIFICANT = 20.0


def fill(study: Study, entries: Entries) -> dict[str, Any]:
    baselines = _baselines(study)
    ratios = []
    for dataset in PAPER_DATASETS:
        baseline, training = baselines.get(dataset), study.training_seconds.get(dataset)
        if baseline is not None:
            entries.add(dataset, "best_lambda", "ours", baseline.best_lambda)
            entries.add(dataset, "cv_test_error", "ours", baseline.test_risk)
            entries.add(dataset, "seconds_cv", "ours", baseline.cpu_seconds)
        entries.add(dataset, "seconds_training", "ours", training)
        seconds = min(_add_posterior(entries, study, dataset, version, baseline) for version in (PAPER, EXACT))
        entries.add(dataset, "seconds_posterior", "ours", seconds)
        if baseline is not None and training is not None:
            ratios.append(baseline.cpu_seconds / (training + seconds))
    hours = [baselines[name].cpu_seconds / 3600.0 for name in PAPER_DATASETS if name in baselines]
    posterior = [entries.value(dataset, "seconds_posterior", "ours") for dataset in PAPER_DATASETS]
    # What the text says of times.
    said = {
        "cv_hours_min": min(hours, default=None),
        "cv_hours_max": max(hours, default=None),
        "pac_bayes_seconds_min": min(posterior),
        "pac_bayes_seconds_max": max(posterior),
        "folds": 5,
        "small_difference_percent": SIGNIFICANT,
        "speed_up_claimed": min(ratios, default=None),
        "speed_up_largest": max(ratios, default=None),
    }
    for column, value in said.items():
        entries.add("all", column, "ours", value)
    return {"missing": [name for name in PAPER_DATASETS if name not in baselines]}


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


def _add_posterior(entries: Entries, study: Study, dataset: str, version: Version, baseline: Baseline | None) -> float:
    """The posterior's test error and bound, what separates it from cross-validation, and the seconds it took."""
    started = time.perf_counter()
    solution = pm.solve(study.problem(dataset, ALL_CLASSIFIERS, "squared", version), "frontier")
    seconds = time.perf_counter() - started
    test_error = study.test_error(dataset, solution.posterior)
    entries.add(dataset, "pac_bayes_test_error", version.name, test_error)
    entries.add(dataset, "bound_squared", version.name, solution.bound)
    if baseline is not None:
        delta = baseline.test_risk - test_error
        relative = 100.0 * delta / baseline.test_risk if baseline.test_risk > 0.0 else None
        entries.add(dataset, "delta_test_error", version.name, delta)
        entries.add(dataset, "relative_test_error", version.name, relative)
        entries.add(dataset, "significantly_lower", version.name, significantly_lower(delta, relative))
    return seconds


def significantly_lower(delta: float, relative: float | None) -> str:
    """Whose test error is lower by more than a fifth of the cross-validation error."""
    if delta == 0.0 or (relative is not None and abs(relative) <= SIGNIFICANT):
        return "none"
    return "cv" if delta < 0.0 else "pac-bayes"


def show(entries: Entries, facts: dict[str, Any]) -> list[Table]:
    return [_errors(entries, facts), _times(entries)]


_BLOCKS = {
    "best_lambda": ("best λ", Beside(("ours",), 2)),
    "cv_test_error": ("CV test error", Beside(("ours",))),
    "pac_bayes_test_error": ("PAC-Bayes test error", Beside(("paper", "exact"), compared=False)),
    "delta_test_error": ("Δ = CV − PAC-Bayes", Beside(("paper", "exact"), compared=False)),
    "relative_test_error": ("Δ in % of CV", Beside(("paper", "exact"), 2, compared=False)),
    "bound_squared": ("bound", Beside(("paper", "exact"), compared=False)),
}


def _errors(entries: Entries, facts: dict[str, Any]) -> Table:
    rows = []
    for dataset in PAPER_DATASETS:
        cells = [cell for name, (_, beside) in _BLOCKS.items() for cell in beside.cells(entries.get(dataset, name))]
        signed = [Cell(cell.text.replace("-", "−").removesuffix("%"), cell.kind) for cell in cells]
        rows.append([*named(dataset), *signed])
    groups = (Group("", ("data set",)), *(beside.group(title) for title, beside in _BLOCKS.values()))
    title = "Cross-validation against the squared χ² posterior, H = 1990, δ = 0.01 (Table 4)"
    return Table("cross-validation", title, groups, rows, _notes(facts))


def _notes(facts: dict[str, Any]) -> list[str]:
    names = ", ".join(NAMES[name] for name in facts["missing"])
    missing = [f"No stored cross-validation of {names}; --with-cv runs it."] if names else []
    return [*words("cross-validation", "notes"), *missing]


def _times(entries: Entries) -> Table:
    groups = (
        Group("", ("data set",)),
        Group("processor time, ours", ("cross-validation", "1990 SVMs", "posterior", "CV / PAC-Bayes")),
    )
    rows = []
    for dataset in PAPER_DATASETS:
        cv, training, posterior = (
            entries.value(dataset, f"seconds_{part}", "ours") for part in ("cv", "training", "posterior")
        )
        ratio = NONE if cv is None or training is None else f"{cv / (training + posterior):.1f}"
        times = [NONE if seconds is None else duration(seconds) for seconds in (cv, training, posterior)]
        rows.append([*named(dataset), *map(Cell, times), Cell(ratio)])
    columns = ("cv_hours_min", "cv_hours_max", "pac_bayes_seconds_min", "pac_bayes_seconds_max", "speed_up_claimed")
    printed = {column: entries.printed("all", column) for column in columns}
    notes = words("cross-validation", "notes_on_times", **printed)
    return Table("cross-validation-times", "Time of cross-validation and of the posterior", groups, rows, notes)


ITEM = TableItem("cross-validation", fill, uses=("with_cv", "seed", "baselines", "training_seconds"), show=show)
