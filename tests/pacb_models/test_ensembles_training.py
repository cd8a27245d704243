"""Training the paper's SVMs: grids, splits, kernels and tables, each against plain loops and scikit-learn."""

import itertools
import json
import statistics
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.svm import SVC

from pacb_models.benchmarks.experiments.cross_validation import cross_validate
from pacb_models.benchmarks.experiments.protocols import Protocol, Sizes, paper_sizes, random_stream
from pacb_models.benchmarks.experiments.risk_table import RiskTable
from pacb_models.benchmarks.experiments.risks import BATCH, Experiment, train_risks
from pacb_models.benchmarks.experiments.shared_gram import SharedGram, Task
from pacb_models.errors import InputError
from pacb_models.estimators.grids import arithmetic_geometric_grid, lambda_grid, paper_grid, sigest
from pacb_models.risk_file import read_risk_file

from ..drawn import arrays
from ..small_data import small_dataset

# --- grids of λ ------------------------------------------------------------------------------------------------------


def test_paper_grid_is_the_double_nearest_each_decimal():
    exact = [Decimal("0.10") + i * Decimal("0.01") for i in range(1990)]
    assert paper_grid().tolist() == [float(value) for value in exact]
    for count in (1, 50, 200, 500, 1000):
        assert lambda_grid("paper", count).tolist() == paper_grid()[:count].tolist()
    assert lambda_grid([3.0, 0.5, 1.0]).tolist() == [3.0, 0.5, 1.0], "own values are kept in their order"


def test_arithmetic_geometric_grid_is_the_union_of_its_four_series():
    low, high = Fraction(1, 10**10), Fraction(1, 10)
    expected = set()
    for base in (2, 3, 5):
        term = Fraction(1, base)
        while term >= low:
            if term <= high:
                expected.add(float(term))
            term /= base
    geometric = len(expected)
    expected |= {float(Decimal("0.1") + k * Decimal("0.05")) for k in range(99)}
    grid = arithmetic_geometric_grid()
    assert geometric == 30 + 18 + 13
    assert np.all(np.diff(grid) > 0) and len(grid) == 160
    np.testing.assert_allclose(grid, sorted(expected), rtol=1e-15)
    assert grid[-1] == 5.0 and 0.1 in grid and 0.25 in grid


@pytest.mark.parametrize(
    ("grid", "count", "sentence"),
    [
        ("geometric", None, "grid is 'geometric'; it must be one of 'paper', 'arithmetic-geometric' or"),
        ("paper", 0, "count is 0; it must be a whole number of at least 1"),
        ("arithmetic-geometric", 50, "count is 50; only the grid 'paper'"),
        ([0.1, 0.0], None, r"grid\[1\] is 0.0; every λ must be a positive finite number"),
        ([0.1, float("nan")], None, r"grid\[1\] is nan"),
        ([], None, "grid must hold at least one number"),
        (["a"], None, r"grid\[0\] is 'a'; every entry must be a number"),
    ],
)
def test_bad_grids_get_a_sentence(grid, count, sentence):
    with pytest.raises(InputError, match=sentence):
        lambda_grid(grid, count)


# --- splits ----------------------------------------------------------------------------------------------------------


#: Examples, training, validation and test size of the paper's table of data sets.
PAPER_TABLE = [
    (4601, 1840, 1840, 921),
    (345, 138, 138, 69),
    (830, 332, 332, 166),
    (569, 227, 227, 115),
    (5643, 2257, 2257, 1129),
    (351, 140, 140, 71),
    (3308, 1323, 1323, 662),
    (306, 122, 122, 62),
]


@pytest.mark.parametrize(("examples", "training", "validation", "test"), PAPER_TABLE)
def test_sizes_of_the_paper(examples, training, validation, test):
    assert paper_sizes(examples) == Sizes(training, validation, test)


@given(st.integers(5, 200), st.integers(0, 2**32), st.integers(0, 5000), st.sampled_from(["paper", "hold-out"]))
def test_parts_are_disjoint_and_have_their_sizes(examples, seed, classifier, name):
    sizes = paper_sizes(examples)
    protocol = Protocol(name, sizes, seed)
    training, validation = protocol.parts(classifier)
    learnt = np.flatnonzero(training)
    parts = [set(learnt), set(validation), set(protocol.test_rows)]
    assert [len(part) for part in parts] == [sizes.training, sizes.validation, sizes.test]
    assert set.union(*parts) == set(range(examples))
    assert sorted(protocol.order) == list(range(examples))
    # The kernel's width must not depend on any validation example.
    assert not parts[1] & set(protocol.width_rows)


def test_halves_are_each_classifiers_own_and_reproducible():
    protocol = Protocol("paper", paper_sizes(200), 7)
    halves = [protocol.parts(classifier)[0] for classifier in range(50)]
    assert len({half.tobytes() for half in halves}) == 50
    again = Protocol("paper", paper_sizes(200), 7)
    assert np.array_equal(again.parts(31)[0], halves[31])
    assert not np.array_equal(Protocol("paper", paper_sizes(200), 8).parts(31)[0], halves[31])


@pytest.mark.long
def test_every_example_is_trained_on_as_often_as_any_other():
    protocol = Protocol("paper", paper_sizes(50), 0)
    counts = sum(protocol.parts(classifier)[0].astype(int) for classifier in range(4000))
    # Binomial(4000, 1/2) has standard deviation 31.6; 40 examples, five deviations.
    assert np.all(np.abs(counts - 2000) < 5 * 31.7)


# --- widths of kernels -----------------------------------------------------------------------------------------------


def brute_force(X, pairs, levels=(0.1, 0.9)):
    """kernlab's formula with plain Python: sorted distances, linear interpolation between order statistics."""
    distances = sorted(sum((a - b) ** 2 for a, b in zip(X[i], X[j])) for i, j in pairs)
    distances = [distance for distance in distances if distance > 0]

    def quantile(level):
        position = level * (len(distances) - 1)
        below = int(position)
        above = min(below + 1, len(distances) - 1)
        return distances[below] + (position - below) * (distances[above] - distances[below])

    return statistics.fmean(1 / quantile(level) for level in levels)


def test_all_pairs_against_brute_force():
    X = np.random.RandomState(1).randn(40, 3) * [1.0, 10.0, 0.1]
    X[7] = X[8]  # a pair at distance zero, which does not count
    pairs = list(itertools.combinations(range(40), 2))
    assert sigest(X) == pytest.approx(brute_force(X.tolist(), pairs), rel=1e-12)
    assert sigest(X, quantiles=(0.25, 0.5)) == pytest.approx(brute_force(X.tolist(), pairs, (0.25, 0.5)), rel=1e-12)


@given(st.floats(0.01, 100.0), arrays(st.integers(-1000, 1000), 36))
def test_scaling_the_data_scales_the_width(scale, numbers):
    X = numbers.reshape(12, 3) / 100
    assume(len(np.unique(X, axis=0)) == len(X))
    assert sigest(scale * X) == pytest.approx(sigest(X) / scale**2, rel=1e-9)


# --- one kernel matrix for many SVMs ---------------------------------------------------------------------------------


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


THREE_CLASSES = {"iris": load_iris, "wine": load_wine}


@pytest.mark.parametrize(
    ("name", "gamma"),
    [("haberman", 0.02), ("ionosphere", 0.25), ("bupa", 0.0016), ("wdbc", 6e-5), ("mammographic", 0.03)]
    + [(name, 0.01) for name in THREE_CLASSES],
)
def test_errors_are_those_of_svc(name, gamma, paper_dataset):
    data = THREE_CLASSES[name]() if name in THREE_CLASSES else paper_dataset(name)
    X, y = (data.data, np.array(["a", "b", "c"])[data.target]) if name in THREE_CLASSES else (data.X, data.y)
    order = np.random.RandomState(3).permutation(len(y))
    X, y, pool = X[order], y[order], 4 * len(y) // 5
    tasks = random_tasks(len(y), pool, [1e-3, 0.1, 0.25, 1.0, 3.0, 19.99])
    found = SharedGram(X, y, gamma, pool).errors(tasks)
    expected = [plain_counts(X, y, gamma, task) for task in tasks]
    assert [result.counts for result in found] == expected and max(map(max, expected)) > 5
    assert all(result.converged for result in found)


def test_svms_that_do_not_converge_are_marked_and_still_the_same():
    dataset = small_dataset()
    (task,) = random_tasks(306, 244, [1e-4])
    with pytest.warns(ConvergenceWarning):
        (found,) = SharedGram(dataset.X, dataset.y, 0.02, 244).errors([task], max_iterations=50)
        assert found.counts == plain_counts(dataset.X, dataset.y, 0.02, task, max_iter=50)
    assert not found.converged


# --- cross-validation ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def larger():
    return small_dataset(351)


def test_against_scikit_learns_cross_validation(larger):
    lambdas = np.array([0.01, 0.1, 0.5, 2.0, 10.0])
    result = cross_validate(larger, lambdas, seed=4)
    experiment = Experiment(larger, lambdas, seed=4)
    X, y = larger.X[experiment.protocol.order], larger.y[experiment.protocol.order]
    folds = PredefinedSplit(random_stream(4, 2).permutation(280) % 5)
    errors = []
    for regularisation in lambdas:
        machine = SVC(C=1 / regularisation, gamma=experiment.gamma)
        errors.append(np.sum(cross_val_predict(machine, X[:280], y[:280], cv=folds) != y[:280]))
    assert result.errors_by_lambda == tuple(errors) and result.errors == min(errors)
    assert result.best_lambda == lambdas[np.argmin(errors)]
    best = SVC(C=1 / result.best_lambda, gamma=experiment.gamma).fit(X[:280], y[:280])
    assert result.test_errors == np.sum(best.predict(X[280:]) != y[280:])
    assert (result.size, result.test_size) == (280, 71)
    assert result.test_risk == result.test_errors / 71
    assert result.cpu_seconds > 0
    # The ensemble has the same test part and width.
    table = train_risks(larger, count=2, seed=4)
    assert (table.gamma, table.test_size) == (experiment.gamma, result.test_size)


def test_jobs_and_the_order_of_the_grid_do_not_matter(larger):
    grid = np.array([5.0, 0.2, 0.1, 1.0, 0.15, 8.0, 0.12])
    one, two = cross_validate(larger, grid), cross_validate(larger, grid, n_jobs=2)
    assert one._replace(cpu_seconds=0.0) == two._replace(cpu_seconds=0.0)
    sorted_grid = cross_validate(larger, np.sort(grid))
    assert sorted_grid.best_lambda == one.best_lambda and sorted_grid.test_errors == one.test_errors


def test_an_interrupted_run_goes_on(larger, tmp_path):
    """What is finished is not trained again, and its processor time counts."""
    kept = tmp_path / "folds.partial"

    def stop(done, total):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cross_validate(larger, count=20, partial=kept, progress=stop)
    line = json.loads(kept.read_text())
    assert len(line["row"]["errors"]) == BATCH and line["row"]["cpu_seconds"] > 0
    line["row"]["cpu_seconds"] += 1000.0
    kept.write_text(json.dumps(line) + "\n")
    seen = []
    again = {"count": 20, "partial": kept, "resume": True}
    resumed = cross_validate(larger, **again, progress=lambda done, total: seen.append(done))
    assert seen == [0, BATCH, 2 * BATCH, 3 * BATCH, 100]
    assert resumed.errors_by_lambda == cross_validate(larger, count=20).errors_by_lambda
    assert resumed.cpu_seconds > 1000.0
    other = cross_validate(larger, seed=1, **again)
    assert other.errors_by_lambda == cross_validate(larger, count=20, seed=1).errors_by_lambda


# --- tables of risks -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small():
    return small_dataset()


def test_the_whole_protocol_against_a_plain_loop(small):
    """Splits, width, SVMs and counts once more, from the protocol's description."""
    table = train_risks(small, count=40, seed=5)
    experiment = Experiment(small, table.lambdas, seed=5)
    X, y = small.X[experiment.protocol.order], small.y[experiment.protocol.order]
    assert (table.training_size, table.m, table.test_size) == (122, 122, 62)
    gamma = sigest(X[244:])
    assert table.gamma == gamma
    for index, regularisation in enumerate(table.lambdas):
        half = experiment.protocol.parts(index)[0]
        machine = SVC(C=1 / regularisation, gamma=gamma).fit(X[:244][half], y[:244][half])
        wrong = machine.predict(X) != y
        assert wrong[:244][~half].sum() == table.validation_errors[index]
        assert wrong[:244][half].sum() == table.training_errors[index]
        assert wrong[244:].sum() == table.test_errors[index]
        assert wrong[:244].mean() == pytest.approx(table.both_halves_risks()[index], rel=1e-15)


def test_hold_out_shares_one_training_part(small):
    small = replace(small, sizes=Sizes(150, 100, 56))
    table = train_risks(small, [0.1, 1.0, 1.0, 10.0], protocol="hold-out", seed=2)
    experiment = Experiment(small, table.lambdas, protocol="hold-out", seed=2)
    X, y = small.X[experiment.protocol.order], small.y[experiment.protocol.order]
    assert table.gamma == sigest(X[:150]) and table.m == 100
    machine = SVC(C=10.0, gamma=table.gamma).fit(X[:150], y[:150])
    assert np.sum(machine.predict(X[150:250]) != y[150:250]) == table.validation_errors[0]
    assert table.validation_errors[1] == table.validation_errors[2] and table.test_errors[1] == table.test_errors[2]


@pytest.mark.long
@pytest.mark.parametrize("protocol", ["paper", "hold-out"])
def test_same_seed_same_table_whatever_the_jobs(small, protocol):
    one, two, three = (train_risks(small, count=100, protocol=protocol, seed=1, n_jobs=n) for n in (1, 2, 3))
    assert one.to_csv() == two.to_csv() == three.to_csv()
    other = train_risks(small, count=100, protocol=protocol, seed=2)
    assert other.to_csv() != one.to_csv()


def test_the_first_classifiers_do_not_depend_on_the_others(small):
    short, long = train_risks(small, count=20), train_risks(small, count=70)
    assert short.validation_errors.tolist() == long.validation_errors[:20].tolist()
    assert short.risks(5).tolist() == (long.validation_errors[:5] / 122).tolist()
    assert short.test_risks(5).tolist() == (long.test_errors[:5] / 62).tolist()


def test_interrupted_runs_go_on(small, tmp_path):
    partial = tmp_path / "risks.partial"
    expected = train_risks(small, count=96)

    def interrupt(done, total):
        if done >= 64:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_risks(small, count=96, partial=partial, progress=interrupt)
    lines = [json.loads(line) for line in partial.read_text().splitlines()]
    assert len(lines) == 2

    # A finished count is taken from the file, not computed again: change one and it comes back changed.
    lines[0]["row"]["errors"][3][0] += 1
    partial.write_text("".join(json.dumps(line) + "\n" for line in lines))
    reports = []
    table = train_risks(small, count=96, partial=partial, resume=True, progress=lambda *report: reports.append(report))
    assert reports == [(0, 96), (32, 96), (64, 96), (96, 96)]
    difference = table.validation_errors - expected.validation_errors
    assert difference.tolist() == [0, 0, 0, 1] + [0] * 92

    with pytest.raises(InputError, match="holds results already; resume"):
        train_risks(small, count=96, partial=partial, resume=False)
    partial.unlink()
    fresh = train_risks(small, count=96, partial=partial, resume=False)
    assert fresh.to_csv() == expected.to_csv()


def test_only_the_same_run_is_resumed(small, tmp_path):
    """Counts of other data or settings are computed, and do not disturb."""
    partial = tmp_path / "risks.partial"
    train_risks(small, count=32, partial=partial)
    lines = partial.read_text().replace("[[", "[[1000, ")  # what must not be used
    other = replace(small, sizes=Sizes(120, 124, 62))
    changes = ((small, {"seed": 1}), (small, {"protocol": "hold-out"}), (small, {"count": 33}), (other, {}))
    for dataset, change in changes:
        partial.write_text(lines)
        settings = {"count": 32} | change
        table = train_risks(dataset, **settings, partial=partial, resume=True)
        assert table.to_csv() == train_risks(dataset, **settings).to_csv()
    partial.write_text("{}")
    with pytest.raises(InputError, match="does not begin as our results do"):
        train_risks(small, count=32, partial=partial, resume=True)


def test_tables_survive_writing_and_reading(small, tmp_path):
    path, converged = tmp_path / "risks.csv", np.array([True, False, True])
    table = train_risks(small, [1e-10, 1e-9, 0.5], seed=3, command="by hand")
    table = RiskTable(**{**vars(table), "converged": converged})
    for risk_column in (False, True):
        table.write(path, risk_column=risk_column)
        again = RiskTable.read(path)
        assert again.to_csv() == table.to_csv() and (again.grid, again.command) == ("own", "by hand")
        assert "# unconverged: 1\n" in path.read_text() and again.converged.tolist() == converged.tolist()
    assert read_risk_file(path).values == table.risks().tolist()


def test_tables_without_training_errors_are_read(small):
    table = train_risks(small, count=4)
    lines = table.to_csv(risk_column=False).splitlines()
    short = [line if line.startswith("#") else line.rpartition(",")[0] for line in lines]
    assert next(line for line in short if not line.startswith("#")) == "lambda,validation_errors,test_errors"
    again = RiskTable.from_csv("\n".join(short) + "\n")
    assert again.training_errors is None
    with pytest.raises(InputError, match="written without training errors"):
        again.both_halves_risks()
    assert again.test_errors.tolist() == table.test_errors.tolist()
    assert again.to_csv(risk_column=False).splitlines() == short


def test_the_hardest_svms_end(small):
    """λ = 1e-10 cannot be solved to tolerance on data that are not separable; the run must end all the same."""
    grid = arithmetic_geometric_grid()
    table = train_risks(small, grid[:4])
    assert table.lambdas[0] < 2e-10 and not table.converged.all()
    assert table.validation_errors.mean() < 61, "better than by chance"


def test_files_that_are_no_tables(tmp_path):
    with pytest.raises(InputError, match="cannot read the risk table"):
        RiskTable.read(tmp_path / "none.csv")
    (tmp_path / "other.csv").write_text("risk\n0.1\n")
    with pytest.raises(InputError, match="not a table that 'pacb train' wrote"):
        RiskTable.read(tmp_path / "other.csv")


# --- what is refused -------------------------------------------------------------------------------------------------

SMALL = small_dataset()
POINTS, ZEROS = np.random.RandomState(0).randn(40, 2), np.zeros((1000, 1))
RARE = SharedGram(POINTS, np.repeat(["common", "rare"], [39, 1]), 1.0, 40)
WITHOUT = Task(1.0, np.arange(40) < 39, (np.arange(40),))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: paper_sizes(4), "there are 4 examples; at least 5"),
        (lambda: Sizes(10, 0, 5), "each part needs at least one example"),
        (lambda: Protocol("loo", paper_sizes(10), 0), "protocol is 'loo'; it must be one of 'paper', 'hold-out'"),
        (lambda: sigest(np.zeros((1, 3))), "at least two rows"),
        (lambda: sigest(np.zeros(5)), "at least two rows"),
        (lambda: sigest(np.ones((4, 2))), "no two rows that differ"),
        (lambda: RARE.errors([WITHOUT]), "too few examples of the class 'rare': none of them is among the 39"),
        (lambda: SharedGram(ZEROS, ZEROS[:, 0], 1.0, 800, 1000), "X has 1000 rows; their kernel matrix would take"),
        (lambda: SharedGram(POINTS + np.nan, np.arange(40) % 2, 1.0, 40), "their kernel is not a number"),
        (lambda: SharedGram(POINTS * 1e200, np.arange(40) % 2, 1.0, 40), "their kernel is not a number"),
        (lambda: train_risks(SMALL, count=3, seed=-1), "seed is -1"),
        (lambda: train_risks(replace(SMALL, sizes=Sizes(9, 9, 9))), "sizes sum to 27, but there are 306 examples"),
        (lambda: train_risks(SMALL, count=3, protocol="bootstrap"), "protocol is 'bootstrap'"),
        (lambda: train_risks(SMALL, count=10).risks(11), "count is 11; the table of 'small' has 10 classifiers"),
    ],
)
def test_bad_input_of_training_gets_a_sentence(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()
