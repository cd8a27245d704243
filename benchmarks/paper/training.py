"""The risk tables and the cross-validations made anew from raw data; each is kept in a store, and resumed from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

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
    directory: Path, data_dir: str | None, names: Sequence[str] = (*PAPER_DATASETS, LEAK_FREE), **how: Any
) -> dict[str, RiskTable]:
    """Train the paper's SVMs on each data set; ``how`` are the keywords of :func:`_of_each`."""
    tables = _of_each(names, data_dir, train_risks, "SVMs of", directory, **how)
    for name, table in tables.items():
        command = f"pacb train {name} --grid paper --count 1990 --protocol paper --seed {table.seed}"
        tables[name] = replace(table, command=command)
        tables[name].write(directory / f"{name}.csv", risk_column=False)
    times = "".join(f"{name},{table.cpu_seconds:.1f}\n" for name, table in tables.items())
    write_atomically(directory / TIMES, f"# command: pacb reproduce data --from-data\nname,cpu_seconds\n{times}")
    return tables


def cross_validations(
    directory: Path, data_dir: str | None, names: Sequence[str] = PAPER_DATASETS, **how: Any
) -> dict[str, CrossValidation]:
    """Choose one λ for each data set by cross-validation over the paper's grid; ``how`` as in :func:`train_tables`."""
    found = _of_each(names, data_dir, cross_validate, "cross-validation of", directory, "cross-validation-", **how)
    table = pd.DataFrame(found.values()).drop(columns="errors_by_lambda").round({"cpu_seconds": 1})
    write_atomically(directory / "cross_validation.csv", table.to_csv(index=False))
    return found


def _of_each(
    names: Sequence[str],
    data_dir: str | None,
    make: Callable[..., Any],
    what: str,
    directory: Path,
    prefix: str = "",
    *,
    jobs: int = 1,
    report: Show = silent,
    **how: Any,
) -> dict[str, Any]:
    """What is made of each data set, kept in a store; ``how`` are its ``seed``, ``dask`` and ``resume``."""
    return {
        name: make(
            load_dataset(name, data_dir),
            n_jobs=jobs,
            partial=directory / f"{prefix}{name}.jsonl",
            progress=partial(report, f"{what} {name}"),
            **how,
        )
        for name in names
    }
