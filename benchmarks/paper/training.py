"""The risk tables and the cross-validations made anew from raw data; each is kept in a store, and resumed from it."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pacb_models.files import write_atomically

from ..experiments.cross_validation import CrossValidation, cross_validate
from ..experiments.datasets import load_dataset
from ..experiments.risk_table import RiskTable
from ..experiments.risks import train_risks
from ..problems.problem import LEAK_FREE, PAPER_DATASETS
from ..progress import Show, silent
from .study import TIMES


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
) -> dict[str, RiskTable]:
    """Train the paper's SVMs on each data set."""
    tables = {}
    for name in names:
        tables[name] = train_risks(
            load_dataset(name, data_dir),
            seed=seed,
            n_jobs=jobs,
            dask=dask,
            partial=directory / f"{name}.jsonl",
            resume=resume,
            progress=functools.partial(report, f"SVMs of {name}"),
            command=f"pacb train {name} --grid paper --count 1990 --protocol paper --seed {seed}",
        )
        tables[name].write(directory / f"{name}.csv", risk_column=False)
    times = "".join(f"{name},{table.cpu_seconds:.1f}\n" for name, table in tables.items())
    write_atomically(directory / TIMES, f"# command: pacb reproduce data --from-data\nname,cpu_seconds\n{times}")
    return tables


def cross_validations(
    directory: Path,
    data_dir: str | None,
    *,
    seed: int = 0,
    jobs: int = 1,
    dask: str | None = None,
    resume: bool = False,
    report: Show = silent,
    names: Sequence[str] = PAPER_DATASETS,
) -> dict[str, CrossValidation]:
    """Choose one λ for each data set by cross-validation over the paper's grid."""
    found = {}
    for name in names:
        found[name] = cross_validate(
            load_dataset(name, data_dir),
            seed=seed,
            n_jobs=jobs,
            dask=dask,
            partial=directory / f"cross-validation-{name}.jsonl",
            resume=resume,
            progress=functools.partial(report, f"cross-validation of {name}"),
        )
    table = pd.DataFrame(found.values()).drop(columns="errors_by_lambda").round({"cpu_seconds": 1})
    write_atomically(directory / "cross_validation.csv", table.to_csv(index=False))
    return found
