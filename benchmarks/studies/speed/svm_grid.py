"""How much faster the shared Gram matrix is than one ``SVC`` after another, and whether both say the same.

    python -m pacb_models.benchmarks.studies.speed.svm_grid [--dataset spambase] [--count 100]

``StochasticSVC(n_lambdas=COUNT)``, fit and predict, beside the same SVMs as ``SVC`` objects that share nothing, inside
the same estimator, in processor time, which other work on the machine changes little. "all" is what each SVM says of
the rows, whether the posterior gives it weight or not.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.svm import SVC

from pacb_models import StochasticClassifier, StochasticSVC

from ...experiments.datasets import load_dataset
from ..kept_rows import options
from .timing import best_seconds, show


class Alone(SVC):
    """An SVC that shares nothing: families are of SVC itself."""


def main() -> None:
    """Fit, predict and all labels, of both kinds on the same split."""
    given = options(__doc__, dataset="spambase", count=100)
    dataset = load_dataset(given.dataset)
    rows, few = dataset.X[:1000], np.random.default_rng(0).choice(len(dataset.y), size=100, replace=False)
    # What is imported at the first use is so before the clock runs.
    StochasticSVC(n_lambdas=2).fit(dataset.X[few], dataset.y[few]).predict(rows)
    shared = StochasticSVC(n_lambdas=given.count, random_state=0).fit(dataset.X, dataset.y)
    members = [Alone(C=1.0 / value, gamma=shared.gamma_) for value in shared.lambdas_]
    models = {"shared": shared, "one by one": StochasticClassifier(members, random_state=0)}
    print(f"{dataset.name}: {given.count} SVMs, {len(shared.support_)} with weight")
    tasks: dict[str, Callable[[Any], np.ndarray]] = {
        "fit": lambda model: model.fit(dataset.X, dataset.y).risks_,
        "predict": lambda model: model.predict_proba(rows),
        "all": lambda model: model._ballots(rows, range(given.count)),
    }
    for task, perform in tasks.items():
        said: dict[str, np.ndarray] = {}
        actions = {name: partial(_note, said, name, perform, model) for name, model in models.items()}
        seconds = best_seconds(actions, 3 if task == "predict" else 1, time.process_time)
        show(f"{task}, the same from both: {np.array_equal(said['shared'], said['one by one'])}", seconds)


def _note(said: dict[str, np.ndarray], name: str, perform: Callable[[Any], np.ndarray], model: Any) -> None:
    said[name] = perform(model)


if __name__ == "__main__":
    main()
