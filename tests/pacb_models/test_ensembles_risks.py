import json

import numpy as np
import pytest
from sklearn.svm import SVC

from pacb_models.benchmarks.experiments.protocols import Sizes
from pacb_models.benchmarks.experiments.risk_table import RiskTable
from pacb_models.benchmarks.experiments.risks import Experiment, train_risks
from pacb_models.errors import InputError
from pacb_models.estimators.grids import arithmetic_geometric_grid
from pacb_models.estimators.sigest import sigest

from ..small_data import small_dataset


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
    table = train_risks(small, [0.1, 1.0, 1.0, 10.0], protocol="hold-out", seed=2, sizes=Sizes(150, 100, 56))
    experiment = Experiment(small, table.lambdas, protocol="hold-out", seed=2, sizes=Sizes(150, 100, 56))
    X, y = small.X[experiment.protocol.order], small.y[experiment.protocol.order]
    assert table.gamma == sigest(X[:150]) and table.m == 100
    machine = SVC(C=10.0, gamma=table.gamma).fit(X[:150], y[:150])
    assert np.sum(machine.predict(X[150:250]) != y[150:250]) == table.validation_errors[0]
    assert table.validation_errors[1] == table.validation_errors[2]
    assert table.test_errors[1] == table.test_errors[2]


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
    expected = train_risks(small, count=150)

    def interrupt(done, total):
        if done >= 64:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_risks(small, count=150, partial=partial, progress=interrupt)
    lines = [json.loads(line) for line in partial.read_text().splitlines()]
    assert len(lines) == 2

    # A finished count is taken from the file, not computed again: change one and it comes back changed.
    lines[0]["row"]["errors"][3][0] += 1
    partial.write_text("".join(json.dumps(line) + "\n" for line in lines))
    reports = []
    table = train_risks(small, count=150, partial=partial, resume=True, progress=lambda *report: reports.append(report))
    assert reports[:3] == [(0, 150), (32, 150), (64, 150)] and reports[-1] == (150, 150)
    difference = table.validation_errors - expected.validation_errors
    assert difference.tolist() == [0, 0, 0, 1] + [0] * 146

    with pytest.raises(InputError, match="holds results already; resume"):
        train_risks(small, count=150, partial=partial, resume=False)
    partial.unlink()
    fresh = train_risks(small, count=150, partial=partial, resume=False)
    assert fresh.to_csv() == expected.to_csv()


def test_only_the_same_run_is_resumed(small, tmp_path):
    """Counts of other data or settings are computed, and do not disturb."""
    partial = tmp_path / "risks.partial"
    train_risks(small, count=32, partial=partial)
    lines = partial.read_text().replace("[[", "[[1000, ")  # what must not be used
    for change in ({"seed": 1}, {"protocol": "hold-out"}, {"count": 33}, {"sizes": Sizes(120, 124, 62)}):
        partial.write_text(lines)
        settings = {"count": 32} | change
        table = train_risks(small, **settings, partial=partial, resume=True)
        assert table.to_csv() == train_risks(small, **settings).to_csv()
    partial.write_text("{}")
    with pytest.raises(InputError, match="does not begin as our results do"):
        train_risks(small, count=32, partial=partial, resume=True)


def test_tables_survive_writing_and_reading(small, tmp_path):
    table = train_risks(small, [1e-10, 1e-9, 0.5], seed=3, command="by hand")
    for risk_column in (True, False):
        table.write(tmp_path / "risks.csv", risk_column=risk_column)
        again = RiskTable.read(tmp_path / "risks.csv")
        assert again.to_csv() == table.to_csv()
        assert again.grid == "own" and again.command == "by hand"


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


def test_written_risks_are_a_risk_file(small, tmp_path):
    from pacb_models.risk_file import read_risk_file

    table = train_risks(small, count=10)
    table.write(tmp_path / "risks.csv")
    assert read_risk_file(tmp_path / "risks.csv").values == table.risks().tolist()


def test_unconverged_svms_are_listed_in_the_table(small, tmp_path):
    table = train_risks(small, count=3)
    marked = RiskTable(**{**vars(table), "converged": np.array([True, False, True])})
    marked.write(tmp_path / "risks.csv")
    assert "# unconverged: 1\n" in (tmp_path / "risks.csv").read_text()
    assert RiskTable.read(tmp_path / "risks.csv").converged.tolist() == [True, False, True]


def test_the_hardest_svms_end(small):
    """λ = 1e-10 cannot be solved to tolerance on data that are not separable; the run must end all the same."""
    grid = arithmetic_geometric_grid()
    table = train_risks(small, grid[:4])
    assert table.lambdas[0] < 2e-10 and not table.converged.all()
    assert table.validation_errors.mean() < 61, "better than by chance"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"seed": -1}, "seed is -1"),
        ({"sizes": Sizes(100, 100, 100)}, "sizes sum to 300, but there are 306 examples"),
        ({"protocol": "bootstrap"}, "protocol is 'bootstrap'"),
    ],
)
def test_bad_input(small, arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        train_risks(small, count=3, **arguments)


def test_files_that_are_no_tables(tmp_path):
    with pytest.raises(InputError, match="cannot read the risk table"):
        RiskTable.read(tmp_path / "none.csv")
    (tmp_path / "other.csv").write_text("risk\n0.1\n")
    with pytest.raises(InputError, match="not a table that 'pacb train' wrote"):
        RiskTable.read(tmp_path / "other.csv")


def test_more_risks_than_there_are(small):
    with pytest.raises(InputError, match="count is 11; the table of 'small' has 10 classifiers"):
        train_risks(small, count=10).risks(11)
