import json

import numpy as np
import pytest
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.svm import SVC

from pacb_models.benchmarks.experiments.cross_validation import cross_validate
from pacb_models.benchmarks.experiments.protocols import random_stream
from pacb_models.benchmarks.experiments.risks import BATCH, Experiment, train_risks
from pacb_models.errors import InputError

from ..small_data import small_dataset


@pytest.fixture(scope="module")
def small():
    return small_dataset(351)


def test_against_scikit_learns_cross_validation(small):
    lambdas = np.array([0.01, 0.1, 0.5, 2.0, 10.0])
    result = cross_validate(small, lambdas, seed=4)
    experiment = Experiment(small, lambdas, seed=4)
    X, y = small.X[experiment.protocol.order], small.y[experiment.protocol.order]
    folds = PredefinedSplit(random_stream(4, 2).permutation(280) % 5)
    errors = []
    for regularisation in lambdas:
        machine = SVC(C=1 / regularisation, gamma=experiment.gamma)
        errors.append(np.sum(cross_val_predict(machine, X[:280], y[:280], cv=folds) != y[:280]))
    assert result.errors.tolist() == errors
    assert result.best_lambda == lambdas[np.argmin(errors)]
    best = SVC(C=1 / result.best_lambda, gamma=experiment.gamma).fit(X[:280], y[:280])
    assert result.test_errors == np.sum(best.predict(X[280:]) != y[280:])
    assert (result.size, result.test_size, result.folds) == (280, 71, 5)
    assert result.test_risk == result.test_errors / 71
    assert result.cpu_seconds > 0


def test_same_test_part_and_width_as_the_ensemble(small):
    table = train_risks(small, count=2, seed=4)
    assert Experiment(small, table.lambdas, seed=4).gamma == table.gamma
    assert cross_validate(small, count=2, seed=4).test_size == table.test_size


def test_jobs_and_the_order_of_the_grid_do_not_matter(small):
    grid = np.array([5.0, 0.2, 0.1, 1.0, 0.15, 8.0, 0.12])
    one, two = cross_validate(small, grid), cross_validate(small, grid, n_jobs=2)
    assert one.errors.tolist() == two.errors.tolist() and one.test_errors == two.test_errors
    sorted_grid = cross_validate(small, np.sort(grid))
    assert sorted_grid.best_lambda == one.best_lambda and sorted_grid.test_errors == one.test_errors


@pytest.mark.parametrize(("folds", "sentence"), [(1, "folds is 1"), (281, "there are only 280 examples")])
def test_bad_folds(small, folds, sentence):
    with pytest.raises(InputError, match=sentence):
        cross_validate(small, count=2, folds=folds)


def test_an_interrupted_run_goes_on(small, tmp_path):
    """What is finished is not trained again, and its processor time counts."""
    kept = tmp_path / "folds.partial"

    def stop(done, total):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cross_validate(small, count=20, partial=kept, progress=stop)
    line = json.loads(kept.read_text())
    assert len(line["row"]["errors"]) == BATCH and line["row"]["cpu_seconds"] > 0
    line["row"]["cpu_seconds"] += 1000.0
    kept.write_text(json.dumps(line) + "\n")
    seen = []
    resumed = cross_validate(small, count=20, partial=kept, resume=True, progress=lambda done, total: seen.append(done))
    assert seen == [0, BATCH, 2 * BATCH, 3 * BATCH, 100]
    assert resumed.errors.tolist() == cross_validate(small, count=20).errors.tolist()
    assert resumed.cpu_seconds > 1000.0
    other = cross_validate(small, count=20, folds=4, partial=kept, resume=True)
    assert other.errors.tolist() == cross_validate(small, count=20, folds=4).errors.tolist()
