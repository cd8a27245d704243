"""How much faster the shared Gram matrix is than one ``SVC`` after another, and whether both count the same errors.

Both sides train the same SVMs on the same halves with the same kernel width and the same number of threads, in one run:

    python -m pacb_models.benchmarks.speed.svm_grid [--estimator] [--dataset spambase] [--count 100] [--jobs 1]

The λ values are spread evenly over the paper's 1990. The time of the shared side includes its Gram matrix, made once
however many SVMs follow: the ratio grows with ``--count``. ``--estimator`` compares :class:`StochasticSVC`, fit and
predict, with the same SVMs as ``SVC`` objects that share nothing, inside the same estimator.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from pacb_models.ensembles.datasets import Dataset, load_dataset
from pacb_models.ensembles.grids import PAPER_COUNT, paper_grid
from pacb_models.ensembles.risks import BATCH, Experiment, run_batches


def plain_errors(dataset: Dataset, experiment: Experiment, index: int) -> tuple[int, int]:
    """What one would write without this package: fit, and predict twice."""
    from sklearn.svm import SVC

    order = experiment.protocol.order
    X, y = dataset.X[order], dataset.y[order]
    task = experiment.task(index)
    training = np.flatnonzero(task.training)
    machine = SVC(C=1.0 / task.regularisation, gamma=experiment.gamma, max_iter=experiment.max_iterations)
    machine.fit(X[training], y[training])
    validation, test = (int(np.sum(machine.predict(X[rows]) != y[rows])) for rows in task.evaluations[:2])
    return validation, test


def plain_loop(dataset: Dataset, experiment: Experiment, indices: np.ndarray, jobs: int) -> list[tuple[int, int]]:
    from joblib import Parallel, delayed

    # Processes: `predict` holds Python's lock for much of its time, so threads would slow this side down.
    return Parallel(n_jobs=jobs)(delayed(plain_errors)(dataset, experiment, index) for index in indices)


def shared_loop(experiment: Experiment, indices: np.ndarray, jobs: int) -> list[tuple[int, ...]]:
    batches = [indices[start : start + BATCH].tolist() for start in range(0, len(indices), BATCH)]
    found: dict[int, tuple[int, ...]] = {}
    for batch, errors in run_batches(experiment, Experiment.errors, batches, jobs):
        found.update(zip(batch, (result.counts[:2] for result in errors)))
    return [found[index] for index in indices.tolist()]


def compare_estimators(dataset: Dataset, count: int, jobs: int) -> None:
    """Fit and predict of the estimator, with shared kernels and with SVCs of their own, on the same split."""
    from sklearn.svm import SVC

    from pacb_models import StochasticClassifier, StochasticSVC

    class Alone(SVC):
        """An SVC that shares nothing: families are of SVC itself."""

    rows = dataset.X[:1000]
    grid = paper_grid()[np.linspace(0, PAPER_COUNT - 1, count).astype(int)]
    started = time.perf_counter()
    shared = StochasticSVC(grid, random_state=0, n_jobs=jobs).fit(dataset.X, dataset.y)
    fit = time.perf_counter() - started
    started = time.perf_counter()
    ours = shared.predict_proba(rows)
    predict = time.perf_counter() - started
    members = [Alone(C=1.0 / value, gamma=shared.gamma_) for value in grid]
    plain = StochasticClassifier(members, random_state=0, n_jobs=jobs)
    started = time.perf_counter()
    plain.fit(dataset.X, dataset.y)
    plain_fit = time.perf_counter() - started
    started = time.perf_counter()
    theirs = plain.predict_proba(rows)
    plain_predict = time.perf_counter() - started
    print(f"{dataset.name}: StochasticSVC with {count} SVMs, {jobs} job(s)")
    print(f"  fit      plain {plain_fit:8.2f} s, shared {fit:7.2f} s, ratio {plain_fit / fit:6.1f}")
    print(f"  predict  plain {plain_predict:8.2f} s, shared {predict:7.2f} s, ratio {plain_predict / predict:6.1f}")
    same_counts, same_votes = np.array_equal(shared.risks_, plain.risks_), np.array_equal(ours, theirs)
    print(f"  same error counts: {same_counts}; same votes: {same_votes}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="spambase")
    parser.add_argument("--count", type=int, default=100, help="number of SVMs (100)")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--estimator", action="store_true", help="compare fit and predict of StochasticSVC")
    parser.add_argument("--data", help="directory of the raw UCI files (the variable PACB_DATA)")
    options = parser.parse_args()

    dataset = load_dataset(options.dataset, options.data)
    if options.estimator:
        compare_estimators(dataset, options.count, options.jobs)
        return
    indices = np.linspace(0, PAPER_COUNT - 1, options.count).astype(int)
    # A new experiment per side: the Gram matrix is kept once it is made.
    started = time.perf_counter()
    plain = plain_loop(dataset, Experiment(dataset, paper_grid()), indices, options.jobs)
    middle = time.perf_counter()
    shared = shared_loop(Experiment(dataset, paper_grid()), indices, options.jobs)
    ended = time.perf_counter()

    differing = sum(a != b for a, b in zip(plain, shared))
    print(f"{dataset.name}: {options.count} SVMs, {options.jobs} job(s)")
    print(f"  SVC.fit and two predicts per λ: {middle - started:8.2f} s")
    print(f"  shared Gram matrix:             {ended - middle:8.2f} s, with the matrix itself")
    print(f"  ratio:                          {(middle - started) / (ended - middle):8.2f}")
    print(f"  SVMs with other error counts:   {differing:8d}")


if __name__ == "__main__":
    main()
