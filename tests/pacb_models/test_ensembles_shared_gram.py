import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from pacb_models.benchmarks.experiments.shared_gram import SharedGram, Task
from pacb_models.errors import InputError

from ..small_data import small_dataset


def random_tasks(n, pool, lambdas, seed=0):
    random = np.random.RandomState(seed)
    tasks = []
    for regularisation in lambdas:
        training = np.zeros(pool, dtype=bool)
        training[random.permutation(pool)[: pool // 2]] = True
        tasks.append(Task(regularisation, training, (np.flatnonzero(~training), np.arange(pool, n))))
    return tasks


def plain_counts(X, y, gamma, task, **options):
    """The same SVM by the estimator everybody knows."""
    training = np.flatnonzero(task.training)
    machine = SVC(C=1 / task.regularisation, gamma=gamma, **options).fit(X[training], y[training])
    return tuple(int(np.sum(machine.predict(X[rows]) != y[rows])) for rows in task.evaluations)


@pytest.mark.parametrize(
    ("name", "gamma"),
    [("haberman", 0.02), ("ionosphere", 0.25), ("bupa", 0.0016), ("wdbc", 6e-5), ("mammographic", 0.03)],
)
def test_errors_are_those_of_svc(name, gamma, paper_dataset):
    dataset = paper_dataset(name)
    order = np.random.RandomState(3).permutation(len(dataset.y))
    X, y = dataset.X[order], dataset.y[order]
    pool = 4 * len(y) // 5
    tasks = random_tasks(len(y), pool, [1e-3, 0.1, 0.25, 1.0, 3.0, 19.99])
    found = SharedGram(X, y, gamma, pool).errors(tasks)
    assert [result.counts for result in found] == [plain_counts(X, y, gamma, task) for task in tasks]
    assert all(result.converged for result in found)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_more_than_two_classes(load):
    X, y = load(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(y))
    X, y = X[order], np.array(["a", "b", "c"])[y[order]]
    tasks = random_tasks(len(y), 110, [0.05, 0.5, 2.0, 10.0, 50.0])
    found = SharedGram(X, y, 0.01, 110).errors(tasks)
    expected = [plain_counts(X, y, 0.01, task) for task in tasks]
    assert [result.counts for result in found] == expected
    assert max(max(counts) for counts in expected) > 5


def test_svms_that_do_not_converge_are_marked_and_still_the_same():
    dataset = small_dataset()
    (task,) = random_tasks(306, 244, [1e-4])
    with pytest.warns(ConvergenceWarning):
        (found,) = SharedGram(dataset.X, dataset.y, 0.02, 244).errors([task], max_iterations=50)
        assert found.counts == plain_counts(dataset.X, dataset.y, 0.02, task, max_iter=50)
    assert not found.converged


def test_batches_do_not_matter():
    dataset = small_dataset(351)
    gram = SharedGram(dataset.X, dataset.y, 0.25, 280)
    tasks = random_tasks(351, 280, np.geomspace(0.01, 20, 12))
    assert gram.errors(tasks) == [result for task in tasks for result in gram.errors([task])]


def test_a_class_too_rare_to_train_on():
    X, y = np.random.RandomState(0).randn(40, 2), np.repeat(["common", "rare"], [39, 1])
    training = np.ones(40, dtype=bool)
    training[39] = False
    with pytest.raises(InputError, match=r"too few examples of the class 'rare': none of them is among the 39"):
        SharedGram(X, y, 1.0, 40).errors([Task(1.0, training, (np.arange(40),))])


def test_a_matrix_that_would_be_too_large():
    with pytest.raises(InputError, match="X has 1000 rows; their kernel matrix would take"):
        SharedGram(np.zeros((1000, 1)), np.zeros(1000), 1.0, 800, memory_limit=1000)


@pytest.mark.parametrize("value", [np.nan, 1e200])
def test_features_without_a_kernel(value):
    X = np.random.RandomState(0).randn(10, 2)
    X[3, 1] = value
    with pytest.raises(InputError, match="their kernel is not a number"), np.errstate(all="ignore"):
        SharedGram(X, np.arange(10) % 2, 1.0, 10)
