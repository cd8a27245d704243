"""The risk tables made anew from raw data, and how long that took for the embedded ones."""

from __future__ import annotations

import csv
import functools
import io
import time
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from pacb_models.estimators.dataset import Dataset
from pacb_models.estimators.grids import lambda_grid
from pacb_models.files import write_atomically

from ..experiments.datasets import load_dataset
from ..experiments.risk_table import RiskTable
from ..experiments.risks import Experiment, train_risks
from ..problems.problem import LEAK_FREE, PAPER_DATASETS
from .study import Report, silent

#: Processor seconds by data set; beside the tables themselves.
TIMES = "training_seconds.csv"


def embedded_times() -> dict[str, float]:
    """Processor time in which the SVMs of each embedded table were trained."""
    file = files("pacb_models.benchmarks.problems.risks") / TIMES
    return _from_csv(file.read_text()) if file.is_file() else {}


def train_tables(
    directory: Path,
    data_dir: str | None,
    *,
    seed: int = 0,
    jobs: int = 1,
    dask: str | None = None,
    resume: bool = False,
    report: Report = silent,
    names: Sequence[str] = (*PAPER_DATASETS, LEAK_FREE),
) -> tuple[dict[str, RiskTable], dict[str, float]]:
    """Train the paper's SVMs on each data set; with ``resume``, keep what an interrupted run has finished.

    Tables and times are kept in ``directory``. The time of a table that was made in more than one go, or elsewhere, is
    left out.
    """
    times_file = directory / TIMES
    times = _from_csv(times_file.read_text()) if resume and times_file.exists() else {}
    tables = {}
    for name in names:
        path, partial = directory / f"{name}.csv", directory / f"{name}.csv.partial"
        command = f"pacb train {name} --grid paper --count 1990 --protocol paper --seed {seed}"
        dataset = load_dataset(name, data_dir)
        if resume and path.exists() and _is_of(table := RiskTable.read(path), dataset, command):
            tables[name] = table
            continue
        in_one_go = dask is None and not (resume and partial.exists())
        started = time.process_time()
        tables[name] = train_risks(
            dataset,
            seed=seed,
            n_jobs=jobs,
            dask=dask,
            partial=partial,
            resume=resume,
            progress=functools.partial(report, f"SVMs of {name}"),
            command=command,
        )
        times.pop(name, None)
        if in_one_go:
            times[name] = round(time.process_time() - started, 1)
        tables[name].write(path, risk_column=False)
        write_atomically(times_file, _to_csv(times))
        partial.unlink(missing_ok=True)
    return tables, times


def _is_of(table: RiskTable, dataset: Dataset, command: str) -> bool:
    """Whether a table is what the command makes of these data."""
    fingerprint = Experiment(dataset, lambda_grid("paper"), seed=table.seed).fingerprint
    return table.command == command and table.digest == table.digest_with(fingerprint)


def _from_csv(text: str) -> dict[str, float]:
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return {row["name"]: float(row["cpu_seconds"]) for row in rows}


def _to_csv(times: dict[str, float]) -> str:
    text = io.StringIO()
    text.write("# command: pacb reproduce data --from-data\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["name", "cpu_seconds"])
    writer.writerows(times.items())
    return text.getvalue()
