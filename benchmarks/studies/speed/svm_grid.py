"""How much faster the shared Gram matrix is than one ``SVC`` after another, and whether both count the same errors.

Both sides train the same SVMs on the same halves with the same kernel width and the same number of threads, in one run:

    python -m pacb_models.benchmarks.studies.speed.svm_grid [--estimator] [--dataset spambase] [--count 100] [--jobs 1]

The λ values are spread evenly over the paper's 1990. The time of the shared side includes its Gram matrix, made once
however many SVMs follow: the ratio grows with ``--count``. ``--estimator`` compares ``StochasticSVC(n_lambdas=COUNT)``,
fit and predict, with the same SVMs as ``SVC`` objects that share nothing, inside the same estimator; "all" is what each
SVM says of the rows, whether the posterior gives it weight or not. What is imported at the first use is so before the
clock runs. With one job times are processor time, which other work on the machine changes little.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pacb_models.estimators.dataset import Dataset
from pacb_models.estimators.grids import PAPER_COUNT, paper_grid

from ...experiments.datasets import load_dataset
from ...experiments.risks import BATCH, Experiment, in_threads


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
    for batch, (errors, _) in in_threads(experiment, Experiment.errors, batches, jobs):
        found.update(zip(batch, (result.counts[:2] for result in errors)))
    return [found[index] for index in indices.tolist()]


def compare_estimators(dataset: Dataset, count: int, jobs: int) -> None:
    """Fit and predict of the estimator, with shared kernels and with SVCs of their own, on the same split."""
    from sklearn.svm import SVC

    from pacb_models import StochasticClassifier, StochasticSVC

    class Alone(SVC):
        """An SVC that shares nothing: families are of SVC itself."""

    clock = time.process_time if jobs == 1 else time.perf_counter
    rows = dataset.X[:1000]

    def timed(task: Callable[[], Any], times: int = 1) -> tuple[Any, float]:
        seconds = []
        for _ in range(times):
            started = clock()
            result = task()
            seconds.append(clock() - started)
        return result, min(seconds)

    def measured(model: StochasticClassifier) -> tuple[list[Any], list[float]]:
        tasks = {
            "fit": lambda: model.fit(dataset.X, dataset.y).risks_,
            "predict": lambda: model.predict_proba(rows),
            "all": lambda: model._ballots(rows, range(count)),
        }
        found = [timed(task, 3 if name == "predict" else 1) for name, task in tasks.items()]
        return [result for result, _ in found], [seconds for _, seconds in found]

    few = np.random.default_rng(0).choice(len(dataset.y), size=100, replace=False)
    StochasticSVC(n_lambdas=2, n_jobs=jobs).fit(dataset.X[few], dataset.y[few]).predict(rows)
    shared = StochasticSVC(n_lambdas=count, random_state=0, n_jobs=jobs)
    ours, shared_times = measured(shared)
    members = [Alone(C=1.0 / value, gamma=shared.gamma_) for value in shared.lambdas_]
    theirs, plain_times = measured(StochasticClassifier(members, random_state=0, n_jobs=jobs))
    print(f"{dataset.name}: StochasticSVC with {count} SVMs, {len(shared.support_)} with weight, {jobs} job(s)")
    for name, plain, own in zip(("fit", "predict", "all"), plain_times, shared_times):
        print(f"  {name:<8} plain {plain:8.2f} s, shared {own:7.2f} s, ratio {plain / own:6.1f}")
    same = [np.array_equal(mine, other) for mine, other in zip(ours, theirs)]
    print(f"  same error counts: {same[0]}; same votes: {same[1]}; same labels of all: {same[2]}")


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
