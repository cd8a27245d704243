"""The risk tables made anew from raw data."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from pacb_models.files import write_atomically

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
    """Train the paper's SVMs on each data set; with ``resume``, none that a store in ``directory`` knows."""
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
