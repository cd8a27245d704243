"""The comparison of certificates: its rows by hand, resuming, and coverage that fails when certificates are shrunk."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, binom
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from pacb_models import CertifiedClassifier
from pacb_models.benchmarks import certified


def few(X):
    trees = [(f"depth {depth}", DecisionTreeClassifier(max_depth=depth, random_state=0)) for depth in (1, 2)]
    return [*trees, ("bayes", GaussianNB())]


@pytest.fixture(scope="module")
def rows():
    return certified.measure(certified.Case("wine", lambda: load_wine(return_X_y=True), few), 3)


def test_rivals_by_hand(rows):
    X, y = load_wine(return_X_y=True)
    order = np.random.RandomState(3).permutation(178)
    tested, held_out, training = order[:18], order[18:98], order[98:]
    fitted = [member.fit(X[training], y[training]) for _, member in few(X)]
    errors = np.array([(member.predict(X[held_out]) != y[held_out]).sum() for member in fitted])
    found = {row.method: row for row in rows}
    assert list(found) == list(certified.METHODS)
    assert found["Occam"].certificate == pytest.approx(
        beta.isf(0.05 / 3, errors.min() + 1, 80 - errors.min()), rel=1e-9
    )
    best = fitted[int(errors.argmin())]
    assert found["Occam"].test_error == np.mean(best.predict(X[tested]) != y[tested])
    first = np.array([(member.predict(X[held_out[:40]]) != y[held_out[:40]]).sum() for member in fitted])
    chosen = fitted[int(first.argmin())]
    k = (chosen.predict(X[held_out[40:]]) != y[held_out[40:]]).sum()
    assert found["validate, test"].certificate == pytest.approx(beta.isf(0.05, k + 1, 40 - k), rel=1e-9)
    model = CertifiedClassifier(few(X), validation_size=None, random_state=3).fit(X[training], y[training])
    committed = model.candidates_[int(model.cv_errors_.argmin())]
    shares = np.tensordot(committed.weights, np.eye(3)[[member.predict(X[held_out]) for member in fitted]], 1)
    k = (shares.argmax(axis=1) != y[held_out]).sum()
    assert found["CV all, test"].certificate == pytest.approx(beta.isf(0.05, k + 1, 80 - k), rel=1e-9)
    assert found["certified"].certificate < found["PAC-Bayes vote"].certificate


def test_table_and_rows_that_are_kept(rows, tmp_path, monkeypatch, capsys):
    case = certified.Case("wine", lambda: load_wine(return_X_y=True), few)
    monkeypatch.setattr(certified, "cases", lambda data_dir: {"wine": case})
    out = tmp_path / "rows.csv"
    certified._write(out, rows)
    assert certified._read(out) == rows
    assert certified.main(["wine", "--splits", "4", "--out", str(out)]) == 0
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [f"wine: split {k} of 4" for k in (1, 2, 3)]
    assert len(certified._read(out)) == 4 * len(certified.METHODS)
    assert printed.out.splitlines()[1].split()[:2] == ["wine", "4"]


def test_certificates_cover_and_shrunken_ones_do_not():
    draws, delta = 80, 0.2
    found = certified.coverage(draws, delta=delta, seed=1)
    assert found.violations() <= binom.ppf(0.999, draws, delta) < found.violations(shrink=0.7)
    assert found.risks.mean() < found.bounds.mean()
