"""The certified classifier: what is read when, its numbers and statements by independent counts, a cluster."""

import importlib
import itertools
import os
import pickle
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import pacb_models as pm
from pacb_models import CertifiedClassifier, InputError
from pacb_models.estimators.candidates import RATES
from pacb_models.estimators.guarantee import Requests

from .ensembles import halves, limit


def members():
    trees = [(f"depth {depth}", DecisionTreeClassifier(max_depth=depth, random_state=depth)) for depth in (1, 2, 4)]
    return [*trees, ("bayes", GaussianNB()), ("logistic", make_pipeline(StandardScaler(), LogisticRegression()))]


def vote(predictions, weights, classes):
    """A weighted vote by hand: the first of the classes with most weight."""
    shares = [
        [sum(w for w, p in zip(weights, column) if p == c) for c in classes] for column in np.transpose(predictions)
    ]
    return np.asarray(classes)[np.argmax(shares, axis=1)], np.array(shares) / np.sum(weights)


@pytest.fixture(scope="module")
def fitted(cancer):
    return CertifiedClassifier(members(), cv=KFold(4), random_state=3).fit(*cancer)


def test_cross_validation_errors_are_those_of_scikit_learn(fitted, cancer):
    X, y = cancer
    training, _ = halves(len(y), 3)
    X, y = X[training], y[training]
    predictions = np.array([cross_val_predict(clone(member), X, y, cv=KFold(4)) for _, member in members()])
    errors = (predictions != y).sum(axis=1)
    votes = []
    for rate in RATES:
        wrong = 0
        for rest, fold in KFold(4).split(X):
            elsewhere = (predictions[:, rest] != y[rest]).sum(axis=1) * len(y) / len(rest)
            weights = np.exp(-rate * (elsewhere - elsewhere.min()))
            wrong += (vote(predictions[:, fold], weights, [0, 1])[0] != y[fold]).sum()
        votes.append(wrong)
    np.testing.assert_array_equal(fitted.cv_errors_, np.concatenate([votes, errors]))
    for rate, candidate in zip(RATES, fitted.candidates_):
        np.testing.assert_allclose(candidate.weights, np.exp(-rate * errors) / np.exp(-rate * errors).sum(), rtol=1e-9)
    assert [candidate.name for candidate in fitted.candidates_[5:]] == [name for name, _ in members()]


def test_certificates_are_clopper_pearson_limits_of_held_out_counts(fitted, cancer):
    X, y = cancer
    training, held_out = halves(len(y), 3)
    predictions = [clone(m).fit(X[training], y[training]).predict(X[held_out]) for _, m in members()]
    errors = [(vote(predictions, c.weights, [0, 1])[0] != y[held_out]).sum() for c in fitted.candidates_]
    np.testing.assert_array_equal(fitted.errors_, errors)
    bounds = [limit(k, len(held_out), 0.05 * p) for k, p in zip(errors, fitted.prior_)]
    np.testing.assert_allclose(fitted.certificate_.single_bounds, bounds, rtol=1e-9)
    assert fitted.bound_ == fitted.certificate_.single_bound == fitted.certificate_.single_bounds.min()
    assert fitted.deployed_ is fitted.candidates_[int(np.argmin(bounds))]
    assert fitted.guarantee_.bound == fitted.bound_ and fitted.guarantee_.errors == errors[int(np.argmin(bounds))]


def test_default_prior(fitted):
    prior, errors = fitted.prior_, fitted.cv_errors_
    assert prior[:5].sum() == pytest.approx(0.8) and prior[5:].sum() == pytest.approx(0.2)
    near = np.flatnonzero(errors[:5] <= errors[:5].min() + np.sqrt(errors[:5].min()))
    assert prior[:5].argmax() == near[0] and prior[near[0]] > 0.75
    falling = np.exp(-0.5 * (errors[5:] - errors[5:].min()))
    alone = 0.25 * falling / falling.sum() + 0.25 / len(falling)
    alone[errors[5:].argmin()] += 0.5
    np.testing.assert_allclose(prior[5:], 0.2 * alone, rtol=1e-12)


def test_predict_is_the_deployed_vote_row_by_row(cancer):
    X, y = cancer
    model = CertifiedClassifier(members(), prior=[0.01, 0.91, *[0.01] * 8], random_state=3, delta=0.5).fit(X, y)
    assert model.deployed_ is model.candidates_[1]
    rows = X[::7]
    labels, shares = vote([m.predict(rows) for m in model.estimators_], model.deployed_.weights, [0, 1])
    np.testing.assert_array_equal(model.predict(rows), labels)
    np.testing.assert_allclose(model.predict_proba(rows), shares, atol=1e-12)
    alone = np.concatenate([model.predict_proba(row[None]) for row in rows])
    np.testing.assert_array_equal(alone, model.predict_proba(rows))


@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_a_vote_whose_other_weights_vanish_is_its_one_voter(voting):
    """exp(-3 x 300 errors) is no number: this vote and the single classifier are the same predictor."""
    random = np.random.RandomState(0)
    X = random.randint(2, size=(1400, 1))
    y = X[:, 0]
    model = CertifiedClassifier([DecisionTreeClassifier(), DummyClassifier()], voting=voting, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.candidates_[4].weights, [1.0, 0.0])
    assert model.errors_[4] == model.errors_[5] == 0 < model.errors_[6]
    np.testing.assert_array_equal(model.certificate_.errors, model.errors_)


def test_soft_voting_averages_probabilities():
    X, y = load_wine(return_X_y=True)
    names = np.array(["barolo", "grignolino", "barbera"])
    prior = [0.95, *[0.01] * 5]
    model = CertifiedClassifier(members(), voting="soft", votes="uniform", prior=prior, random_state=0, delta=0.5)
    model.fit(X, names[y])
    assert model.deployed_ is model.candidates_[0] and model.cv_errors_ is None
    mean = np.mean([member.predict_proba(X) for member in model.estimators_], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), mean, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[mean.argmax(axis=1)])
    _, held_out = halves(len(y), 0)
    own = [model.classes_[m.predict_proba(X[held_out]).argmax(axis=1)] for m in model.estimators_]
    np.testing.assert_array_equal(model.errors_[1:], (np.array(own) != names[y][held_out]).sum(axis=1))


class Label(str):
    """A label that notes when its value is looked at."""

    reads: list[str] = []
    held_out = False


def noted(name):
    def method(self, *others):
        if self.held_out or any(getattr(other, "held_out", False) for other in others):
            Label.reads.append(name)
        return getattr(str, name)(self, *others)

    return method


for name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__str__", "__repr__"):
    setattr(Label, name, noted(name))


class Watched(CertifiedClassifier):
    """Notes what has been read, and what is fixed, at the moment when the held-out part comes into play."""

    def _certify(self, X, y, groups):
        self.read_before_ = list(Label.reads)
        self.fixed_ = [candidate.weights.copy() for candidate in self.candidates_], self.prior_.copy()
        super()._certify(X, y, groups)


def test_no_held_out_label_is_read_before_candidates_and_prior_are_fixed(cancer):
    X, classes = cancer
    _, held_out = halves(len(classes), 5)
    y = np.array([Label("benign" if value else "malignant") for value in classes], dtype=object)
    for row in held_out:
        y[row].held_out = True
    Label.reads.clear()
    prior = lambda errors: np.exp(-errors) / np.exp(-errors).sum()  # noqa: E731
    model = Watched(members(), prior=prior, per_class=True, random_state=5).fit(X, y, groups=X[:, 0] > 14)
    assert model.read_before_ == []
    assert Label.reads, "the instrument notes what is read afterwards"
    np.testing.assert_array_equal([candidate.weights for candidate in model.candidates_], model.fixed_[0])
    np.testing.assert_array_equal(model.prior_, model.fixed_[1])


def test_held_out_labels_change_nothing_but_the_certificate(cancer):
    X, y = cancer
    _, held_out = halves(len(y), 5)
    other = y.copy()
    other[held_out] = 1 - other[held_out]
    poisoned = X.copy()
    poisoned[held_out] = 1e6 * np.random.RandomState(0).standard_normal(poisoned[held_out].shape)
    one, *others = (
        CertifiedClassifier(members(), random_state=5).fit(*data) for data in ((X, y), (X, other), (poisoned, y))
    )
    for two in others:
        np.testing.assert_array_equal(one.prior_, two.prior_)
        np.testing.assert_array_equal(one.cv_errors_, two.cv_errors_)
        np.testing.assert_array_equal([c.weights for c in one.candidates_], [c.weights for c in two.candidates_])
        np.testing.assert_array_equal([e.predict(X) for e in one.estimators_], [e.predict(X) for e in two.estimators_])
    two = others[0]
    np.testing.assert_array_equal(one.errors_ + two.errors_, len(held_out))


def risky(y, prediction):
    return (y == 0) & (prediction == 1)


def test_finer_statements_by_hand(cancer):
    X, y = cancer
    groups = np.array(["small", "middle", "large"])[np.digitize(X[:, 0], [12, 16])]
    asked = {"per_class": True, "per_prediction": True, "risk": {"missed": risky}, "abstain": (0.7, 1.0)}
    model = CertifiedClassifier(members(), delta=0.08, random_state=3, **asked).fit(X, y, groups=groups)
    _, held_out = halves(len(y), 3)
    X, y, groups, m = X[held_out], y[held_out], groups[held_out], len(held_out)
    index = model.candidates_.index(model.deployed_)
    prior, predicted, share = model.prior_[index], model.predict(X), model.predict_proba(X).max(axis=1)
    wrong = predicted != y
    # Half of delta for the overall statement, a tenth for each of five kinds.
    assert model.bound_ == pytest.approx(limit(wrong.sum(), m, 0.04 * prior), rel=1e-9)
    rows = [column == label for column in (y, predicted) for label in (0, 1)]
    expected = [(wrong[of].sum(), of.sum(), 0.008 / 2, 0.008 / 2) for of in rows]
    for group in ("large", "middle", "small"):
        expected.append((wrong[groups == group].sum(), (groups == group).sum(), 0.008 / 3, 0.008 / 3))
    expected.append((risky(y, predicted).sum(), m, 0.008, 0.008))
    for threshold in (0.7, 1.0):
        accepted = share >= threshold
        np.testing.assert_array_equal(model.accepts(X, threshold), accepted)
        expected.append((wrong[accepted].sum(), accepted.sum(), 0.008 / 2, 0.008 / 4))
    assert len(model.guarantee_.statements) == len(expected)
    for statement, (errors, examples, delta, used) in zip(model.guarantee_.statements, expected):
        assert (statement.errors, statement.examples) == (errors, examples)
        assert statement.delta == pytest.approx(delta)
        assert statement.bound == pytest.approx(limit(errors, examples, used * prior), rel=1e-9)
    for statement, threshold in zip(model.guarantee_.statements[-2:], (0.7, 1.0)):
        refused = (share < threshold).sum()
        assert statement.accepted == pytest.approx(1 - limit(refused, m, 0.008 / 4 * prior), rel=1e-9)
    assert model.confusion_.tolist() == [[((y == a) & (predicted == b)).sum() for b in (0, 1)] for a in (0, 1)]
    total = model.guarantee_.delta + sum(statement.delta for statement in model.guarantee_.statements)
    assert total <= 0.08 + 1e-15
    text = " ".join(str(model.guarantee_).split())
    for phrase in ("0.92", "all of this together", "class 0 with", "group 'small'", "missed", "share of at"):
        assert phrase in text
    with pytest.raises(InputError, match=r"threshold is 0\.8"):
        model.accepts(X, 0.8)


def test_an_empty_group_of_a_class_has_the_bound_one(cancer):
    X, y = cancer
    model = CertifiedClassifier(members(), per_class=True, validation_size=None, random_state=0).fit(X, y)
    with pytest.raises(sklearn.exceptions.NotFittedError, match="calibrate"):
        model.predict(X)
    model.calibrate(X[y == 1], y[y == 1])
    assert [statement.bound == 1.0 for statement in model.guarantee_.statements] == [True, False]


class Wrong(ClassifierMixin, BaseEstimator):
    """Knows that the class of row (i) is i % 2, and errs on some i."""

    def __init__(self, on=()):
        self.on = on

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        return (X[:, 0] + np.isin(X[:, 0], self.on)) % 2


def test_random_deployment():
    X = np.arange(300)[:, None]
    y = X[:, 0] % 2
    tied = [Wrong(range(10)).fit(X, y), Wrong(range(5, 15)).fit(X, y), Wrong(range(40)).fit(X, y)]
    prior = [0.25, 0.5, 0.25]
    model = CertifiedClassifier(tied, votes=None, prior=prior, prefit=True, deploy="stochastic", per_class=True)
    model.fit(X, y)
    posterior = model.certificate_.posterior
    assert posterior[0] > 0 and posterior[1] > 0 and posterior[2] == 0
    assert model.deployed_ is None and model.bound_ == model.certificate_.bound < model.certificate_.single_bound
    mixture = sum(w * (member.predict(X)[:, None] == [0, 1]) for w, member in zip(posterior, tied))
    np.testing.assert_allclose(model.predict_proba(X), mixture, atol=1e-12)
    draws = model.predict_gibbs(np.full((4000, 1), 2), random_state=0)  # the first errs on row 2, the second does not
    assert abs(draws.mean() - posterior[0]) < 5 * 0.5 / np.sqrt(4000)
    assert set(model.predict(np.full((100, 1), 2))) == {0, 1}
    for label, statement in zip((0, 1), model.guarantee_.statements):
        rows = X[y == label]
        errors = [(member.predict(rows) != label).sum() for member in tied]
        assert statement.bound == pm.certify(errors, len(rows), 0.05 / 4, prior=prior).bound_of(posterior)
        assert statement.errors == pytest.approx(posterior @ errors)
    with pytest.raises(InputError, match="vote shares are those of one predictor"):
        model._shares(X)


def test_classes_of_any_type_pandas_sparse_and_a_class_that_training_never_saw():
    frame = load_iris(as_frame=True)
    y = np.asarray(frame.target_names)[frame.target]
    model = CertifiedClassifier(estimator=GaussianNB(), param_grid={"var_smoothing": [1e-9, 1e-3]}, random_state=0)
    model.fit(frame.data, y)
    assert list(model.feature_names_in_) == list(frame.data.columns) and model.score(frame.data, y) > 0.9
    assert model.names_ == ["var_smoothing=1e-09", "var_smoothing=0.001"]
    flags = CertifiedClassifier([SVC()], random_state=0).fit(sparse.csr_array(frame.data.to_numpy()), frame.target == 0)
    assert flags.classes_.tolist() == [False, True] and len(flags.candidates_) == 1

    _, held_out = halves(len(y), 0)
    rare = np.where(np.arange(len(y)) == held_out[0], "sphinx", y)
    model.fit(frame.data, rare)
    assert "sphinx" in model.classes_ and model.predict_proba(frame.data).shape == (150, 4)
    assert "sphinx" not in model.predict(frame.data)


@pytest.mark.parametrize("examples", [2, 4, 7])
def test_few_examples_give_a_valid_vacuous_certificate(examples):
    X, y = np.arange(examples)[:, None], np.arange(examples) % 2
    model = CertifiedClassifier([DecisionTreeClassifier(), GaussianNB()], random_state=1)
    model.fit(X, np.zeros(2) if examples == 2 else y)
    assert 0.6 < model.bound_ <= 1.0
    if model.bound_ == 1.0:
        assert "vacuous" in str(model.guarantee_)


def test_a_failure_leaves_no_older_certificate(cancer):
    """A bound must not survive beside a predictor, classes or classifiers that it is not about."""
    X, y = cancer
    model = CertifiedClassifier(members(), random_state=0).fit(X, y)
    classes = model.classes_.tolist()
    with pytest.raises(InputError, match="y has labels like"):
        model.calibrate(X, np.array(["a", "b"])[y])
    assert model.classes_.tolist() == classes and not hasattr(model, "guarantee_")
    with pytest.raises(sklearn.exceptions.NotFittedError):
        model.predict(X)
    model.set_params(risk=lambda y, prediction: 0.5)
    with pytest.raises(InputError, match="must return 0 or 1"):
        model.calibrate(X, y)
    assert not hasattr(model, "guarantee_") and not hasattr(model, "bound_")
    model.set_params(risk=None).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(X > 0, np.nan, X), y)
    assert not hasattr(model, "bound_")
    ready = [member.fit(X, y) for _, member in members()]
    model.set_params(estimators=ready, prefit=True).fit(X, y)
    with pytest.raises(InputError, match="not fitted"):
        model.set_params(estimators=members()).fit(X, y)
    assert not hasattr(model, "bound_")


def test_parameters_changed_after_the_fit_do_not_change_what_was_certified(cancer):
    X, y = cancer
    model = CertifiedClassifier(members(), abstain=0.7, random_state=0).fit(X, y)
    before = model.predict_proba(X)
    model.set_params(voting="soft", abstain=(0.7, 0.9), deploy="stochastic")
    np.testing.assert_array_equal(model.predict_proba(X), before)
    with pytest.raises(InputError, match=r"threshold is 0\.9"):
        model.accepts(X, 0.9)


@pytest.mark.long
def test_jobs_seed_pickle_clone_and_progress(cancer, capsys):
    X, y = cancer
    steps = []
    one = CertifiedClassifier(members(), verbose=lambda *step: steps.append(step), random_state=2).fit(X, y)
    assert steps == [(5 * done, 30) for done in range(1, 7)]
    two = CertifiedClassifier(members(), verbose=True, n_jobs=2, random_state=2).fit(X, y)
    assert capsys.readouterr().err.splitlines()[-1] == "CertifiedClassifier: 30 of 30 fits"
    np.testing.assert_array_equal(one.cv_errors_, two.cv_errors_)
    np.testing.assert_array_equal(one.errors_, two.errors_)
    again = pickle.loads(pickle.dumps(two))
    np.testing.assert_array_equal(again.predict(X), one.predict(X))
    assert str(again.guarantee_) == str(one.guarantee_)
    assert clone(two).get_params()["n_jobs"] == 2


#: A module of its own, since the cluster's workers cannot import a test file.
WHERE = """
import os
from sklearn.naive_bayes import GaussianNB

class Where(GaussianNB):
    def fit(self, X, y):
        self.process_ = os.getpid()
        return super().fit(X, y)
"""


# The processes of a cluster have to start and to end.
@pytest.mark.timeout(300)
@pytest.mark.outside
def test_fits_move_to_a_dask_cluster(cancer, start_cluster, tmp_path, monkeypatch):
    from distributed import Client
    from joblib import parallel_config

    (tmp_path / "where.py").write_text(WHERE)
    monkeypatch.syspath_prepend(tmp_path)
    Where = importlib.import_module("where").Where

    X, y = cancer
    model = CertifiedClassifier([Where(), DecisionTreeClassifier(max_depth=2)], random_state=2)
    here = clone(model).fit(X, y)
    with Client(start_cluster(tmp_path).address, set_as_default=True) as client:
        client.wait_for_workers(2)
        workers = set(client.run(os.getpid).values())
        with parallel_config("dask"):
            there = clone(model).fit(X, y)
    assert here.estimators_[0].process_ == os.getpid()
    assert len(workers) == 2 and there.estimators_[0].process_ in workers
    np.testing.assert_array_equal(here.cv_errors_, there.cv_errors_)
    np.testing.assert_array_equal(here.errors_, there.errors_)
    assert here.bound_ == there.bound_


def test_bad_data_is_one_sentence(cancer):
    X, y = cancer
    with pytest.raises(InputError, match="sample_weight has 3 entries, but X has"):
        CertifiedClassifier().fit(X, y, sample_weight=np.ones(3))
    with pytest.raises(InputError, match=r"groups has shape \(3,\)"):
        CertifiedClassifier().fit(X, y, groups=[1, 2, 3])
    for group, named in ((None, r"groups\[1\] is missing"), (pd.NA, "missing"), (1, "groups holds text and other")):
        with pytest.raises(InputError, match=named):
            CertifiedClassifier().fit(X, y, groups=np.array(["a", group, *["b"] * (len(y) - 2)], dtype=object))
    with pytest.raises(InputError, match=r"groups\[\d+\] is missing"):
        CertifiedClassifier().fit(X, y, groups=np.ma.array(y, mask=X[:, 0] > 15.0))


def test_a_part_chooses_among_fitted_classifiers(tmp_path, cancer):
    X, y = cancer
    depths, new = (1, 2, 4, 6), (X[1::2], y[1::2])
    trees = [(f"{d}", DecisionTreeClassifier(max_depth=d, random_state=0).fit(X[::2], y[::2])) for d in depths]
    model = CertifiedClassifier(trees, prefit=True, choose=0.3, random_state=5).fit(*new)
    chosen = pm.certify_models(trees, *new, choose=0.3, random_state=5)
    assert model.bound_ == chosen.bound and model.n_validation_ == chosen.m
    assert (model.predict(X) == chosen.classifier_.predict(X)).all()
    choosing = chosen.examples - chosen.m
    assert model.guarantee_.candidates == 5 and model.guarantee_.choosing == choosing
    assert f"from 5 candidates on {choosing} other examples" in " ".join(str(model.guarantee_).split())
    model.save_page(tmp_path / "page.html")
    assert "from 5 candidates on" in (tmp_path / "page.html").read_text()
    # Finer statements are about the certifying rows, too.
    finer = CertifiedClassifier(trees, prefit=True, choose=0.3, per_class=True).fit(*new)
    assert sum(each.examples for each in finer.guarantee_.statements) == finer.n_validation_ == chosen.m
    for options, named in (
        ({"choose": 0.3}, "choose is given without prefit=True"),
        ({"choose": 2, "prefit": True}, "choose is 2"),
        ({"choose": 0.3, "prefit": True, "random_state": np.random.RandomState(0)}, "to be printed"),
        ({"choose": 0.3, "prefit": True, "prior": np.full(5, 0.2)}, "prior and choose are both given"),
    ):
        with pytest.raises(InputError, match=named):
            CertifiedClassifier(trees, **options).fit(*new)


# --- statements about classes and predictions ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cells(cancer):
    return cancer[0], np.array(["cancer", "healthy"])[cancer[1]]


def trees():
    return [DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in (1, 2, 3)]


def test_only_who_says_which_class_is_positive_reads_of_false_positives(cells):
    plain = CertifiedClassifier(trees(), per_class=True, per_prediction=True, random_state=0).fit(*cells)
    assert "false" not in str(plain.guarantee_) and "class 'cancer' with" in str(plain.guarantee_)
    named = CertifiedClassifier(trees(), per_class=True, per_prediction=True, positive="cancer", random_state=0)
    text = " ".join(str(named.fit(*cells).guarantee_).split())  # as one line
    for phrase in ("class 'cancer' (false negative rate, 1 - recall)", "class 'healthy' (false positive rate)"):
        assert phrase in text
    for phrase in ("calls 'cancer' (false discovery rate, 1 - precision)", "calls 'healthy' (false omission rate)"):
        assert phrase in text
    assert [s.bound for s in named.guarantee_.statements] == [s.bound for s in plain.guarantee_.statements]
    for positive, y in (("Cancer", cells[1]), ("a", np.resize(["a", "b", "c"], len(cells[1])))):
        with pytest.raises(InputError, match=f"positive is '{positive}'; it must be one of two classes"):
            CertifiedClassifier(trees(), positive=positive, random_state=0).fit(cells[0], y)


@pytest.mark.parametrize("delta", [0.05, 0.07, 1 / 3])
def test_printed_shares_of_delta_do_not_exceed_it(cells, delta):
    asked = {"per_class": True, "per_prediction": True, "abstain": (0.5, 0.6, 0.7)}
    model = CertifiedClassifier(trees(), delta=delta, random_state=0, **asked)
    model.fit(*cells, groups=np.arange(len(cells[1])) % 7)
    printed = re.findall(r"delta\s+([\d.e-]+)\)", str(model.guarantee_))
    assert len(printed) == 1 + 2 + 2 + 7 + 3
    assert 0.99 * delta < sum(map(Decimal, printed)) <= Decimal(repr(delta))


def test_groups_that_are_too_small_are_named(cells):
    groups = np.where(np.arange(len(cells[1])) < 6, "few", "many")
    model = CertifiedClassifier(trees(), random_state=0).fit(*cells, groups=groups)
    few, many = model.guarantee_.statements
    assert few.hopeless and not many.hopeless and "Too few examples: group 'few'" in str(model.guarantee_)
    assert "Too few examples: group 'many'" not in str(model.guarantee_) and many.least < many.bound
    assert "group &#x27;few&#x27;" in model.guarantee_._repr_html_()


def test_fitted_classifiers_pay_for_the_vote_what_its_share_explains(cells):
    X, y = cells
    fitted = [tree.fit(X[::2], y[::2]) for tree in trees()]
    model = CertifiedClassifier(fitted, prefit=True).fit(X[1::2], y[1::2])
    plain = pm.certify_models(fitted, X[1::2], y[1::2])
    np.testing.assert_allclose(model.certificate_.single_bounds, plain.single_bounds, rtol=1e-12)
    # Half of delta: what the vote has, the classifiers lack, and no more.
    alone = pm.certify(model.errors_[1:], model.n_validation_, delta=0.025)
    assert model.bound_ <= alone.single_bound * (1 + 1e-12)


def together(factor, delta=0.2, draws=20_000, m=400):
    """How often one of all statements about one predictor is false, each at ``factor`` times its share of delta, and
    the mean of its limits: overall, two classes, two predictions, two groups, and a vote share with its acceptance.
    """
    cells = np.array(list(itertools.product((0, 1), repeat=4)), dtype=bool)
    label, group, accepted, wrong = cells.T
    rate = np.where(accepted, 0.04, 0.25) * np.where(label, 1.3, 1.0) * np.where(group, 1.2, 1.0)
    weights = np.where(label, 0.4, 0.6) * np.where(group, 0.3, 0.7) * np.where(accepted, 0.8, 0.2)
    weights = weights * np.where(wrong, rate, 1.0 - rate)
    counts = np.random.default_rng(0).multinomial(m, weights, size=draws)
    overall, kind = Requests(True, True, None, group, None, (0.8,)).shares(factor * delta)
    called = label ^ wrong
    asked = [(np.ones(16, dtype=bool), wrong, overall)]
    asked += [(rows, wrong, kind / 2) for side in (label, called, group) for rows in (side, ~side)]
    asked += [(accepted, wrong, kind / 2), (np.ones(16, dtype=bool), ~accepted, kind / 2)]
    limits, false = [], np.zeros(draws, dtype=bool)
    for rows, events, level in asked:
        found = pm.clopper_pearson(counts[:, rows & events].sum(axis=1), counts[:, rows].sum(axis=1), level)
        false |= found < weights[rows & events].sum() / weights[rows].sum()
        limits.append(found.mean())
    return false.mean(), np.array(limits)


@pytest.mark.long
def test_statements_hold_together_and_what_they_leave_of_delta_is_worth_little():
    violated, limits = together(1.0)
    assert 0.05 < violated < 0.2
    larger, smaller = together(2.0)
    assert larger > 0.21, "twice the shares are too much"
    assert 0.94 < np.exp(np.log(smaller / limits).mean()) < 0.96
