"""Train the SVMs of a λ grid and count their errors: from a data set to the risks that the bounds need."""

import functools
import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import sklearn
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from pacb_models.cluster import check_workers
from pacb_models.errors import InputError
from pacb_models.estimators.grids import lambda_grid, sigest
from pacb_models.estimators.tables import Dataset
from pacb_models.validation import check_count, check_jobs

from ..store import digest, kept
from ..work import run
from .protocols import Protocol, paper_sizes
from .risk_table import COUNTS, RiskTable
from .shared_gram import MAX_ITERATIONS, Errors, SharedGram, Task

#: SVMs per matrix product. It is part of the experiment, not of the machine: results must not depend on the cores.
BATCH = 32

Progress = Callable[[int, int], None]
#: Errors of the SVMs with these numbers.
Work = Callable[["Experiment", Sequence[int]], list[Errors]]

#: Raised when the same experiment counts other errors.
COUNTS_VERSION = 1


class Experiment:
    """The SVMs of a grid on one data set under one protocol; everything random comes from ``seed``.

    Classifier i is the SVM with C = 1/λ_i and a Gaussian kernel on the unscaled features, trained on the rows that the
    protocol gives to i. The first H classifiers do not depend on how many follow.
    """

    def __init__(self, dataset: Dataset, lambdas: np.ndarray, protocol: str = "paper", seed: int = 0):
        self.sizes = dataset.sizes or paper_sizes(len(dataset.y))
        if self.sizes.total != len(dataset.y):
            raise InputError(f"sizes sum to {self.sizes.total}, but there are {len(dataset.y)} examples.")
        self.lambdas = lambdas
        self.protocol = Protocol(protocol, self.sizes, check_count("seed", seed, least=0))
        self._X = np.asarray(dataset.X, dtype=np.float64)[self.protocol.order]
        self._y = np.asarray(dataset.y)[self.protocol.order]
        self.gamma = sigest(self._X[self.protocol.width_rows])

    def __getstate__(self) -> dict[str, object]:
        """Leave out the kernel matrix, which is larger than the data and soon made where they arrive."""
        return {name: value for name, value in self.__dict__.items() if name != "gram"}

    @cached_property
    def gram(self) -> SharedGram:
        return SharedGram(self._X, self._y, self.gamma, self.protocol.pool)

    def errors(self, indices: Sequence[int]) -> list[Errors]:
        """Return validation, test and training errors of these classifiers."""
        tasks = []
        for index in indices:
            training, validation = self.protocol.parts(index)
            parts = (validation, self.protocol.test_rows, np.flatnonzero(training))
            tasks.append(Task(float(self.lambdas[index]), training, parts))
        return self.gram.errors(tasks)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all that determines the error counts; partial results are continued only where it agrees."""
        settings = [self.protocol.name, self.protocol.seed, repr(self.sizes), self.gamma, MAX_ITERATIONS]
        digest = hashlib.sha256(json.dumps(settings).encode())
        for array in (self.lambdas, self._X, np.unique(self._y, return_inverse=True)[1]):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


def train_risks(
    dataset: Dataset,
    grid: str | Sequence[float] | np.ndarray = "paper",
    *,
    count: int | None = None,
    protocol: str = "paper",
    seed: int = 0,
    command: str = "",
    **how: Any,
) -> RiskTable:
    """Train one SVM per λ and count its validation, test and training errors.

    ``grid`` is "paper", of which ``count`` λ are taken (1990), "arithmetic-geometric", or a sequence. With the
    ``protocol`` "paper" every classifier gets its own random halves, with "hold-out" all share one training and one
    validation part. ``seed`` determines every split; ``command`` is kept in the table, and ``how`` are the keywords of
    :func:`count_errors`.
    """
    lambdas = lambda_grid(grid, count)
    experiment = Experiment(dataset, lambdas, protocol, seed)
    rows, seconds = count_errors(experiment, "training", Experiment.errors, len(lambdas), **how)
    table = RiskTable(
        name=dataset.name,
        grid=grid if isinstance(grid, str) else "own",
        protocol=protocol,
        seed=seed,
        gamma=experiment.gamma,
        training_size=experiment.sizes.training,
        validation_size=experiment.sizes.validation,
        test_size=experiment.sizes.test,
        lambdas=lambdas,
        **dict(zip(COUNTS, np.array([row.counts for row in rows]).T)),
        converged=np.array([row.converged for row in rows]),
        command=command,
        software=f"numpy {np.__version__}, scikit-learn {sklearn.__version__}",
        cpu_seconds=seconds,
    )
    return replace(table, digest=table.digest_with(experiment.fingerprint))


def count_errors(
    experiment: Experiment,
    name: str,
    work: Work,
    total: int,
    *,
    n_jobs: int = 1,
    dask: str | None = None,
    partial: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress = lambda done, total: None,
) -> tuple[list[Errors], float]:
    """Yield the errors of so many SVMs, by ``work(experiment, batch)``, and the processor seconds of all of them.

    Batch by batch, ``n_jobs`` at once in threads (libsvm runs outside Python's lock; -1: one per core), or on the
    workers of a Dask scheduler, to each of which the data are sent once; the errors are the same. The store ``partial``
    holds what is done; ``name`` is that of the work.
    """
    check_jobs("n_jobs", n_jobs)
    batches = [range(start, min(start + BATCH, total)) for start in range(0, total, BATCH)]
    keys = [digest(COUNTS_VERSION, name, experiment.fingerprint, batch.start, batch.stop) for batch in batches]
    tasks = {key: (batch,) for key, batch in zip(keys, batches)}
    errors: dict[int, Errors] = {}
    seconds = 0.0
    progress(0, total)

    def compute(todo: Mapping[str, tuple[Sequence[int]]]) -> Iterator[tuple[str, dict[str, object]]]:
        """Yield every batch with its errors and seconds, as they are done."""
        last = time.process_time()
        if todo and dask is None:
            experiment.gram  # noqa: B018  made once, before the threads ask for it
        function = functools.partial(_timed, experiment, work, dask is not None)
        with _calm():
            done = run(function, todo, n_jobs, dask, threads=True, blas=True, check=check_workers)
            for key, (batch, elsewhere) in done:
                now = time.process_time()
                rows = [[*found.counts, found.converged] for found in batch]
                yield key, {"errors": rows, "cpu_seconds": elsewhere + now - last}
                last = now

    for key, row in kept(partial, tasks, compute, resume):
        errors |= {index: Errors(tuple(counts), done) for index, (*counts, done) in zip(*tasks[key], row["errors"])}
        seconds += row["cpu_seconds"]
        progress(len(errors), total)
    return [errors[index] for index in range(total)], seconds


def _timed(experiment: Experiment, work: Work, elsewhere: bool, batch: Sequence[int]) -> tuple[list[Errors], float]:
    """Return the errors, and the processor time that a worker elsewhere took for them."""
    started = time.thread_time()
    with _calm() if elsewhere else nullcontext():
        errors = work(experiment, batch)
    return errors, time.thread_time() - started if elsewhere else 0.0


@contextmanager
def _calm() -> Iterator[None]:
    """Take one BLAS thread each: the cores are busy with libsvm, and the last digits must not depend on their
    number."""
    with warnings.catch_warnings(), threadpool_limits(1):
        # That an SVM stopped at its iteration limit is recorded in the table.
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
