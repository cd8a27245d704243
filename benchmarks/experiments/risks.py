"""Train the SVMs of a λ grid and count their errors: from a data set to the risks that the bounds need."""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from pacb_models.errors import InputError
from pacb_models.estimators.dataset import Dataset, Sizes
from pacb_models.estimators.grids import lambda_grid
from pacb_models.estimators.sigest import sigest
from pacb_models.files import write_atomically
from pacb_models.validation import check_count, check_jobs

from .protocols import make_protocol, paper_sizes
from .risk_table import COUNTS, RiskTable
from .shared_gram import MAX_ITERATIONS, Errors, SharedGram, Task

#: SVMs per matrix product. It is part of the experiment, not of the machine: results must not depend on the cores.
BATCH = 32

Progress = Callable[[int, int], None]
#: Errors of the SVMs with these numbers.
Work = Callable[["Experiment", Sequence[int]], list[Errors]]
#: A batch, the errors of its SVMs, and the processor time that they took on another machine.
Done = tuple[Sequence[int], tuple[list[Errors], float]]


class Experiment:
    """The SVMs of a grid on one data set under one protocol; everything random comes from ``seed``.

    Classifier i is the SVM with C = 1/λ_i and a Gaussian kernel on the unscaled features, trained on the rows that the
    protocol gives to i. The first H classifiers do not depend on how many follow.
    """

    def __init__(
        self,
        dataset: Dataset,
        lambdas: np.ndarray,
        *,
        protocol: str = "paper",
        seed: int = 0,
        sizes: Sizes | None = None,
    ):
        self.sizes = sizes or dataset.sizes or paper_sizes(len(dataset.y))
        if self.sizes.total != len(dataset.y):
            raise InputError(f"sizes sum to {self.sizes.total}, but there are {len(dataset.y)} examples.")
        self.dataset = dataset
        self.lambdas = lambdas
        self.seed = check_count("seed", seed, least=0)
        self.protocol = make_protocol(protocol, self.sizes, self.seed)
        self._X = np.asarray(dataset.X, dtype=np.float64)[self.protocol.order]
        self._y = np.asarray(dataset.y)[self.protocol.order]
        self.gamma = sigest(self._X[self.protocol.width_rows])

    def __getstate__(self) -> dict[str, Any]:
        """Without the kernel matrix, which is larger than the data and soon made where they arrive."""
        return {name: value for name, value in self.__dict__.items() if name != "gram"}

    @cached_property
    def gram(self) -> SharedGram:
        return SharedGram(self._X, self._y, self.gamma, self.protocol.pool)

    def task(self, index: int) -> Task:
        training, validation = self.protocol.parts(index)
        parts = (validation, self.protocol.test_rows, np.flatnonzero(training))
        return Task(float(self.lambdas[index]), training, parts)

    def errors(self, indices: Sequence[int]) -> list[Errors]:
        """Validation, test and training errors of these classifiers."""
        return self.gram.errors([self.task(index) for index in indices])

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all that determines the error counts; partial results are continued only where it agrees."""
        settings = [self.protocol.name, self.seed, repr(self.sizes), self.gamma, MAX_ITERATIONS]
        digest = hashlib.sha256(json.dumps(settings).encode())
        for array in (self.lambdas, self._X, np.unique(self._y, return_inverse=True)[1]):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


class PartialResults:
    """Finished error counts on disk, so that an interrupted run can go on where it stopped.

    ``parts`` is how many counts an SVM has. The processor time since this object was made is kept with them.
    """

    def __init__(self, path: str | os.PathLike[str] | None, fingerprint: str, resume: bool, parts: int = 3):
        self.path = None if path is None else Path(path)
        self.fingerprint, self.parts = fingerprint, parts
        self.errors: dict[int, Errors] = {}
        self._other_seconds, self._started = 0.0, time.process_time()
        if self.path is not None and self.path.exists():
            if not resume:
                raise InputError(
                    f"{str(path)!r} keeps what an interrupted run has done; resume (--resume) goes on with it, and "
                    "to start anew delete it."
                )
            self._read(self.path)

    @property
    def cpu_seconds(self) -> float:
        """Processor time of this run, of earlier ones and of the cluster."""
        return self._other_seconds + time.process_time() - self._started

    def add(self, indices: Sequence[int], errors: Sequence[Errors], elsewhere: float = 0.0) -> None:
        """Keep the errors of some SVMs, which took so many seconds on another machine."""
        self.errors.update(zip(indices, errors))
        self._other_seconds += elsewhere
        if self.path is not None:
            rows = [[index, *found.counts, found.converged] for index, found in sorted(self.errors.items())]
            content = {"fingerprint": self.fingerprint, "cpu_seconds": self.cpu_seconds, "errors": rows}
            write_atomically(self.path, json.dumps(content))

    def missing(self, total: int) -> list[range]:
        """What is left of so many SVMs, in batches."""
        batches = [range(start, min(start + BATCH, total)) for start in range(0, total, BATCH)]
        return [batch for batch in batches if not all(index in self.errors for index in batch)]

    def _read(self, path: Path) -> None:
        try:
            content = json.loads(path.read_text())
            fingerprint, rows = content["fingerprint"], content["errors"]
            errors = {int(index): Errors(tuple(map(int, counts)), bool(done)) for index, *counts, done in rows}
            if any(len(found.counts) != self.parts for found in errors.values()):
                raise ValueError(f"an SVM has not {self.parts} counts")
            self._other_seconds = float(content.get("cpu_seconds", 0.0))
        except (OSError, ValueError, KeyError, TypeError) as reason:
            raise InputError(f"cannot resume from {str(self.path)!r}: {reason}; delete it to start anew.") from None
        if fingerprint != self.fingerprint:
            raise InputError(
                f"cannot resume from {str(self.path)!r}: it belongs to a run with other data or settings; "
                "repeat that run's settings, or delete it to start anew."
            )
        self.errors = errors


def train_risks(
    dataset: Dataset,
    grid: str | Sequence[float] | np.ndarray = "paper",
    *,
    count: int | None = None,
    protocol: str = "paper",
    seed: int = 0,
    sizes: Sizes | None = None,
    n_jobs: int = 1,
    dask: str | None = None,
    partial: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    command: str = "",
) -> RiskTable:
    """Train one SVM per λ and count its validation, test and training errors.

    Parameters
    ----------
    dataset : Dataset
    grid : "paper", "arithmetic-geometric" or a sequence of λ
    count : int, optional
        Number of classifiers of the paper's grid (1990).
    protocol : "paper" or "hold-out"
        Whether every classifier gets its own random halves or all share one training and one validation part.
    seed : int
        Determines every split; the same seed gives the same table whatever ``n_jobs`` is.
    sizes : Sizes, optional
        Examples to train, validate and test on; 0.4 : 0.4 : 0.2 by default.
    n_jobs : int
        SVMs trained at once, in threads (libsvm runs outside Python's lock); -1 means one per core.
    dask : str, optional
        Address of a Dask scheduler on whose workers the SVMs are trained instead: the data are sent to each worker
        once, and each makes the kernel matrix once. The table is the same.
    partial : path, optional
        Where to keep finished error counts; delete the file when the table is safe.
    resume : bool
        Continue from ``partial`` if it exists.
    progress : callable, optional
        Called with (classifiers done, classifiers in all).
    command : str
        The command line that asked for this, kept in the table.
    """
    import sklearn

    lambdas = lambda_grid(grid, count)
    experiment = Experiment(dataset, lambdas, protocol=protocol, seed=seed, sizes=sizes)
    finished = PartialResults(partial, experiment.fingerprint, resume)
    run_batches(experiment, Experiment.errors, finished, len(lambdas), n_jobs, dask, progress)
    rows = [finished.errors[index] for index in range(len(lambdas))]
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
    )
    return replace(table, digest=table.digest_with(experiment.fingerprint))


def run_batches(
    experiment: Experiment,
    work: Work,
    finished: PartialResults,
    total: int,
    n_jobs: int,
    dask: str | None = None,
    progress: Progress | None = None,
) -> None:
    """``work(experiment, batch)`` of every batch that is not finished, in threads or on a cluster; with progress."""
    check_jobs("n_jobs", n_jobs)
    report = progress or (lambda done, total: None)
    report(len(finished.errors), total)
    todo = finished.missing(total)
    if not todo:
        return
    if dask is None:
        done = _in_threads(experiment, work, todo, n_jobs)
    else:
        from pacb_models.cluster import spread

        done = spread(partial(_timed, work), todo, dask, shared=experiment)
    for batch, (errors, elsewhere) in done:
        finished.add(batch, errors, elsewhere)
        report(len(finished.errors), total)


def _in_threads(experiment: Experiment, work: Work, batches: Sequence[Sequence[int]], n_jobs: int) -> Iterator[Done]:
    """Every batch with its errors, as they are done."""
    from joblib import Parallel, delayed

    experiment.gram  # noqa: B018  made once, before the threads ask for it
    parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator_unordered")
    with _calm():
        yield from parallel(delayed(lambda batch: (batch, (work(experiment, batch), 0.0)))(batch) for batch in batches)


def _timed(work: Work, experiment: Experiment, batch: Sequence[int]) -> tuple[list[Errors], float]:
    """The errors, and the processor time that a worker took for them."""
    started = time.thread_time()
    with _calm():
        return work(experiment, batch), time.thread_time() - started


@contextmanager
def _calm() -> Iterator[None]:
    """One BLAS thread each: the cores are busy with libsvm, and the last digits must not depend on their number."""
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with warnings.catch_warnings(), threadpool_limits(1):
        # That an SVM stopped at its iteration limit is recorded in the table.
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
