"""What the tables and figures are computed from: risk tables, embedded or made anew, settings, and shared work."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pacb_models import BoundProblem
from pacb_models.files import write_atomically

from ..experiments.cross_validation import CrossValidation, cross_validate, load_cross_validation
from ..experiments.datasets import load_dataset
from ..experiments.risk_table import RiskTable
from ..experiments.risks import train_risks
from ..problems.problem import LEAK_FREE, PAPER_DATASETS, TABLE_DISTANCES
from ..problems.risks import load_risk_table
from ..progress import Show, silent
from ..store import digest
from ..work import run
from .cells import BOTH_HALVES, CORRECTED

#: The paper's confidence parameter and its largest set of classifiers.
PAPER_DELTA = 0.01
ALL_CLASSIFIERS = 1990

DISTANCES = TABLE_DISTANCES

#: Processor seconds by data set, beside the embedded tables.
TIMES = "training_seconds.csv"


@dataclass
class Study:
    """The risk tables by data set, with the leak-free Bupa's, and everything else that determines the results.

    ``starts`` are the random starts of the convex–concave procedures (1000 in the paper), which ``seed`` determines;
    ``baselines`` are the cross-validations on the paper's data sets. Results depend neither on ``jobs``, the number of
    processes, nor on ``dask``, the address of a scheduler whose workers are used instead.
    """

    tables: Mapping[str, RiskTable]
    starts: int = 1000
    seed: int = 0
    jobs: int = 1
    dask: str | None = None
    report: Show = silent
    baselines: Mapping[str, CrossValidation] = field(default_factory=load_cross_validation)

    @cached_property
    def tables_digest(self) -> str:
        """Identifies the risk tables."""
        return digest(*(table.to_csv() for table in self.tables.values()))

    @property
    def seconds(self) -> dict[str, float]:
        """The processor time in which each table's SVMs were trained."""
        return {name: table.cpu_seconds for name, table in self.tables.items()}

    @cached_property
    def other_grid(self) -> dict[str, RiskTable]:
        """The embedded tables of the λ grid that the paper's text describes."""
        return {name: load_risk_table(name, "arithmetic-geometric") for name in PAPER_DATASETS}

    def problem(
        self, dataset: str, count: int, distance: str, version: str, delta: float = PAPER_DELTA, **bound: Any
    ) -> BoundProblem:
        """Return the minimisation over the first ``count`` classifiers; ``m`` is the validation size, as in the
        paper."""
        table = self.tables[dataset]
        risks = table.both_halves_risks(count) if version == BOTH_HALVES else table.risks(count)
        constant = "exact" if version == CORRECTED else "paper"
        return BoundProblem(risks, table.m, delta, distance, constant=constant, **bound)

    def test_error(self, dataset: str, posterior: np.ndarray) -> float:
        """Return the average test error of a posterior over the first classifiers."""
        return float(posterior @ self.tables[dataset].test_risks(len(posterior)))

    def map(self, what: str, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """``[function(*each) for each in arguments]``, in ``jobs`` processes or on the cluster, with progress."""
        found: dict[int, Any] = {}
        self.report(what, 0, len(arguments))
        for place, result in run(function, dict(enumerate(arguments)), min(self.jobs, len(arguments)) or 1, self.dask):
            found[place] = result
            self.report(what, len(found), len(arguments))
        return [found[place] for place in range(len(arguments))]


def embedded_tables() -> dict[str, RiskTable]:
    """Return the embedded risk tables of the paper's data sets and the leak-free Bupa, with the seconds of their
    training."""
    with (files("pacb_models.benchmarks.problems.risks") / TIMES).open() as file:
        seconds = pd.read_csv(file, comment="#", index_col="name")["cpu_seconds"]
    return {name: replace(load_risk_table(name), cpu_seconds=seconds[name]) for name in (*PAPER_DATASETS, LEAK_FREE)}


def train_tables(
    directory: Path, data_dir: str | None, names: Sequence[str] = (*PAPER_DATASETS, LEAK_FREE), **how: Any
) -> dict[str, RiskTable]:
    """Train the paper's SVMs on each data set; ``how`` are the keywords of :func:`_kept`, but for the first two."""
    tables = {}
    for name in names:
        kept = _kept(directory / f"{name}.jsonl", f"SVMs of {name}", **how)
        table = train_risks(load_dataset(name, data_dir), **kept)
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
    found = {}
    for name in names:
        kept = _kept(directory / f"cross-validation-{name}.jsonl", f"cross-validation of {name}", **how)
        found[name] = cross_validate(load_dataset(name, data_dir), **kept)
    table = pd.DataFrame(found.values()).drop(columns="errors_by_lambda").round({"cpu_seconds": 1})
    write_atomically(directory / "cross_validation.csv", table.to_csv(index=False))
    return found


def _kept(path: Path, what: str, jobs: int = 1, report: Show = silent, **how: Any) -> dict[str, Any]:
    """Return how errors are counted and kept in a store; ``how`` are their ``seed``, ``dask`` and ``resume``."""
    return {"n_jobs": jobs, "partial": path, "progress": partial(report, what), **how}
