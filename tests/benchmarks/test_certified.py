"""The comparison of certificates: its rows by hand, resuming, and coverage that fails when certificates are shrunk."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, binom
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from pacb_models import CertifiedClassifier
from pacb_models.benchmarks.studies import certified, choosing

pytestmark = pytest.mark.long


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
    found = {row["method"]: row for row in rows}
    assert list(found) == list(certified.METHODS)
    assert found["Occam"]["certificate"] == pytest.approx(
        beta.isf(0.05 / 3, errors.min() + 1, 80 - errors.min()), rel=1e-9
    )
    best = fitted[int(errors.argmin())]
    assert found["Occam"]["test_error"] == np.mean(best.predict(X[tested]) != y[tested])
    wrong = np.array([member.predict(X[held_out]) != y[held_out] for member in fitted])
    votes = np.eye(3)[[member.predict(X[held_out]) for member in fitted]].sum(axis=0).argmax(axis=1)
    wrong = np.vstack([votes != y[held_out], wrong])
    chosen = wrong[int(wrong[:, :16].sum(axis=1).argmin())]
    k = chosen[16:].sum()
    assert found["20/80"]["certificate"] == pytest.approx(beta.isf(0.05, k + 1, 64 - k), rel=1e-9)
    limits = [beta.isf(0.05 * p, k + 1, 80 - k) for k, p in zip(wrong.sum(axis=1), [0.5, *[0.5 / 3] * 3], strict=True)]
    assert found["prefit, 0.5"]["certificate"] == pytest.approx(min(limits), rel=1e-9)
    model = CertifiedClassifier(few(X), validation_size=None, random_state=3).fit(X[training], y[training])
    committed = model.candidates_[int(model.cv_errors_.argmin())]
    shares = np.tensordot(committed.weights, np.eye(3)[[member.predict(X[held_out]) for member in fitted]], 1)
    k = (shares.argmax(axis=1) != y[held_out]).sum()
    assert found["CV all, test"]["certificate"] == pytest.approx(beta.isf(0.05, k + 1, 80 - k), rel=1e-9)
    assert found["certified"]["certificate"] < found["PAC-Bayes vote"]["certificate"]


def test_ratios_and_rows_that_are_kept(rows, tmp_path, monkeypatch, capsys):
    case = certified.Case("wine", lambda: load_wine(return_X_y=True), few)
    monkeypatch.setattr(certified, "cases", lambda data_dir: {"wine": case})
    out = tmp_path / "rows.csv"
    pd.DataFrame(rows).to_csv(out, index=False)
    assert (
        certified.main(["wine", "--splits", "2", "--first", "2", "--held-out", "0.5", "0.65", "--out", str(out)]) == 0
    )
    printed = capsys.readouterr()
    measured = [
        f"{n} of 4: split {s}, case wine, held_out {share}" for n, s, share in ((1, 2, 0.5), (2, 2, 0.65), (4, 3, 0.65))
    ]
    assert printed.err.splitlines() == measured
    assert pd.read_csv(out).iloc[: len(rows)].to_dict("records") == rows
    assert len(pd.read_csv(out)) == 4 * len(certified.METHODS)
    assert "data sets that had none" in printed.out and "held out 0.65" in printed.out


def test_ratios_by_hand():
    def rows(a, b):
        return pd.DataFrame({"case": ["a", "b"], "split": 0, "certificate": [a, b], "test_error": 0.1})

    found = certified.ratio(rows(0.2, 0.1), rows(0.1, 0.2))
    assert found.mean == pytest.approx(1.0) and (found.smallest, found.largest) == (0.5, 2.0)
    assert found.standard_error == pytest.approx(np.log([2.0, 0.5]).std(ddof=1) / np.sqrt(2))


def test_choosing(data_dir):
    rows = choosing.measure("haberman", 1, sizes=(5, 20), data_dir=data_dir)
    assert [row["size"] for row in rows] == [5, 20]
    assert all(row["all"] <= row["one_of_all"] for row in rows)
    assert len(choosing.table(pd.DataFrame(rows)).splitlines()) == 2 * (2 + 3)


def deployed(draws, examples, delta, seed):
    """Certificates, and true risks, of what is deployed in many draws of the whole sample.

    A feature takes the values 0 to 11, each as often, and the class is one with a known probability at each, so that
    the true risk of whatever is deployed is a sum of twelve terms.
    """
    values = np.arange(12)
    rates = np.where(values < 6, 0.25, 0.75)
    members = [DecisionTreeClassifier(max_depth=1, splitter="random") for _ in range(3)]
    random = np.random.RandomState(seed)
    half = examples // 2
    for _ in range(draws):
        X = random.randint(12, size=(examples, 1))
        y = (random.uniform(size=examples) < rates[X[:, 0]]).astype(int)
        y[:2] = 0, 1  # both classes exist; these two train, they do not certify
        model = CertifiedClassifier(members, delta=delta, validation_size=None, cv=2, random_state=random)
        model.fit(X[:half], y[:half]).calibrate(X[half:], y[half:])
        yield model.bound_, np.mean(np.where(model.predict(values[:, None]) == 1, 1.0 - rates, rates))


def test_certificates_cover_and_shrunken_ones_do_not():
    """A large delta and few examples make violations frequent enough to be counted."""
    draws, delta = 80, 0.2
    bounds, risks = np.array(list(deployed(draws, 80, delta, seed=1))).T
    assert np.count_nonzero(risks > bounds) <= binom.ppf(0.999, draws, delta) < np.count_nonzero(risks > 0.7 * bounds)
    assert risks.mean() < bounds.mean()
