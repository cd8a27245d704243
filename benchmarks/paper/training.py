"""The risk tables made anew from raw data, and how long that took for the embedded ones."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from pacb_models.estimators.grids import lambda_grid
from pacb_models.files import write_atomically

from ..experiments.datasets import load_dataset
from ..experiments.risk_table import RiskTable
from ..experiments.risks import Experiment, train_risks
from ..problems.problem import LEAK_FREE, PAPER_DATASETS
from ..progress import Show, silent

#: Processor seconds by data set; beside the tables themselves.
TIMES = "training_seconds.csv"


def embedded_times() -> dict[str, float]:
    """Processor time in which the SVMs of each embedded table were trained."""
    with (files("pacb_models.benchmarks.problems.risks") / TIMES).open() as file:
        return _read_times(file)


def train_tables(
    directory: Path,
    data_dir: str | None,
    *,
    seed: int = 0,
    jobs: int = 1,
    dask: str | None = None,
    resume: bool = False,
    report: Show = silent,
    names: Sequence[str] = (*PAPER_DATASETS, LEAK_FREE),
) -> tuple[dict[str, RiskTable], dict[str, float]]:
    """Train the paper's SVMs on each data set; with ``resume``, keep what an interrupted run has finished.

    Tables and times are kept in ``directory``. The time of a table that was made in more than one go, or elsewhere, is
    left out.
    """
    times_file = directory / TIMES
    times = _read_times(times_file) if resume and times_file.exists() else {}
    tables = {}
    for name in names:
        path, partial = directory / f"{name}.csv", directory / f"{name}.csv.partial"
        command = f"pacb train {name} --grid paper --count 1990 --protocol paper --seed {seed}"
        dataset = load_dataset(name, data_dir)
        if resume and path.exists():
            tables[name] = table = RiskTable.read(path)
            made_from = Experiment(dataset, lambda_grid("paper"), seed=table.seed).fingerprint
            if table.command == command and table.digest == table.digest_with(made_from):
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
        rows = "".join(f"{each},{seconds}\n" for each, seconds in times.items())
        write_atomically(times_file, f"# command: pacb reproduce data --from-data\nname,cpu_seconds\n{rows}")
        partial.unlink(missing_ok=True)
    return tables, times


def _read_times(file: Any) -> dict[str, float]:
    return {name: float(seconds) for name, seconds in pd.read_csv(file, comment="#").itertuples(index=False)}
