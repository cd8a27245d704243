"""The deterministic alternative: choose one λ of the grid by cross-validation."""

import functools
import time
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pacb_models.estimators.grids import lambda_grid
from pacb_models.estimators.tables import Dataset

from .protocols import random_stream
from .risks import Experiment, count_errors
from .shared_gram import Errors, Task

#: As in the paper.
FOLDS = 5


class CrossValidation(NamedTuple):
    """The λ with the fewest errors over all folds together (the smallest of equals), and its errors on the test part.

    ``cpu_seconds`` is the processor time of everything (the kernel, the SVMs of all folds, the chosen one on all kept
    examples), over all threads and workers of a cluster.
    """

    name: str
    best_lambda: float
    errors: int
    size: int
    test_errors: int
    test_size: int
    cpu_seconds: float
    #: The errors of every λ of the grid; of embedded results only those of the best are kept.
    errors_by_lambda: tuple[int, ...] = ()

    @property
    def test_risk(self) -> float:
        return self.test_errors / self.test_size


def load_cross_validation() -> dict[str, CrossValidation]:
    """Return the embedded results over the paper's 1990 λ values, by data set."""
    with (files("pacb_models.benchmarks.problems.risks") / "cross_validation.csv").open() as file:
        return {row[0]: CrossValidation(*row) for row in pd.read_csv(file, comment="#").itertuples(index=False)}


def cross_validate(
    dataset: Dataset,
    grid: str | Sequence[float] | np.ndarray = "paper",
    *,
    count: int | None = None,
    seed: int = 0,
    **how: Any,
) -> CrossValidation:
    """Return five-fold cross-validation over the same grid, kernel and test part as :func:`train_risks` with the same
    seed.

    The folds divide what that has for training and validation together; the SVM of the best λ is then trained on all
    of it. The paper compares its posteriors with this. Arguments as there; with ``resume``, ``cpu_seconds`` are those
    of all runs.
    """
    lambdas = lambda_grid(grid, count)
    experiment = Experiment(dataset, lambdas, seed=seed)
    kept, test_rows = experiment.protocol.pool, experiment.protocol.test_rows
    fold_of = random_stream(seed, 2).permutation(kept) % FOLDS
    work = functools.partial(_errors_of_folds, fold_of)
    found, seconds = count_errors(experiment, f"{FOLDS} folds", work, len(lambdas) * FOLDS, **how)
    started = time.process_time()
    errors = np.array([each.counts[0] for each in found], dtype=np.int64).reshape(-1, FOLDS).sum(axis=1)
    best = min(np.flatnonzero(errors == errors.min()), key=lambda index: lambdas[index])
    everything = Task(float(lambdas[best]), np.ones(kept, dtype=bool), (test_rows,))
    (final,) = experiment.gram.errors([everything])
    return CrossValidation(
        dataset.name,
        float(lambdas[best]),
        int(errors[best]),
        kept,
        final.counts[0],
        len(test_rows),
        seconds + time.process_time() - started,
        tuple(errors.tolist()),
    )


def _errors_of_folds(fold_of: np.ndarray, experiment: Experiment, runs: Sequence[int]) -> list[Errors]:
    """Return held-out errors of runs; run number n is the SVM of the λ number n // 5 without the fold n % 5."""
    tasks = []
    for run in runs:
        held_out = fold_of == run % FOLDS
        tasks.append(Task(float(experiment.lambdas[run // FOLDS]), ~held_out, (np.flatnonzero(held_out),)))
    return experiment.gram.errors(tasks)
