"""The estimators: scikit-learn's own checks, the certificate's numbers, and what may not happen to it."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, ShuffleSplit, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import estimator_checks_generator

from pacb_models import CertifiedClassifier, StochasticClassifier, StochasticSVC
from pacb_models.certificates.pac_bayes import PacBayesCertificate
from pacb_models.errors import InputError

from .ensembles import Recorder, halves

#: The only check that is not run needs an environment variable set before SciPy is imported; the estimators make no
#: claim of array API support.
NOT_CLAIMED = {"check_array_api_input"}


def _checks():
    trees = [DecisionTreeClassifier(max_depth=depth) for depth in (2, 4)]
    paper = StochasticClassifier(random_state=0), StochasticSVC(n_lambdas=5, random_state=0)
    for estimator in (*paper, CertifiedClassifier(trees, cv=3, random_state=0)):
        for candidate, check in estimator_checks_generator(estimator):
            name = getattr(check, "func", check).__name__
            if name not in NOT_CLAIMED:
                yield pytest.param(candidate, check, id=f"{type(estimator).__name__}-{name}")


@pytest.mark.long
@pytest.mark.parametrize(("estimator", "check"), list(_checks()))
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def fitted(cancer):
    return StochasticClassifier(random_state=0).fit(*cancer)


def test_risks_are_the_errors_on_the_examples_kept_back(cancer):
    X, y = cancer
    tree = DecisionTreeClassifier(max_depth=2, random_state=3)
    model = StochasticClassifier([tree], validation_size=0.3, random_state=7).fit(X, y)
    training, kept = halves(len(y), 7, 0.3)
    assert model.risks_[0] == np.mean(clone(tree).fit(X[training], y[training]).predict(X[kept]) != y[kept])
    assert model.n_validation_ == len(kept) == model.problem_.m


def test_attributes_belong_together(fitted):
    model = fitted
    assert model.bound_ == model.solution_.bound and model.solution_.is_global
    assert model.bound_ == pytest.approx(model.problem_.bound(model.posterior_), rel=1e-14)
    assert model.empirical_risk_ == pytest.approx(model.posterior_ @ model.risks_, abs=1e-15)
    np.testing.assert_array_equal(model.support_, np.flatnonzero(model.posterior_ > 0))
    certificate = model.certificate_
    assert certificate.bound == model.bound_ and certificate.vote_bound == min(1, 2 * model.bound_)
    assert certificate.delta == 0.05 and certificate.m == model.n_validation_


def test_printed_certificate_is_never_below_the_bound(fitted):
    text = " ".join(str(fitted.certificate_).split())
    printed = float(text.split("errs with probability at most ")[1].split()[0])
    assert fitted.bound_ <= printed <= fitted.bound_ + 1e-4
    for phrase in ("0.95", f"{fitted.n_validation_} examples", "i.i.d.", "majority vote"):
        assert phrase in text
    certain = PacBayesCertificate(fitted.problem_.replace(delta=1e-20), fitted.solution_)
    assert certain.delta == 1e-20 and "With probability at least 1 - 1e-20 over" in str(certain)


def test_votes_are_posterior_weights(fitted, cancer):
    X, _ = cancer
    by_hand = np.zeros((20, 2))
    for weight, member in zip(fitted.posterior_, fitted.estimators_, strict=True):
        by_hand[np.arange(20), member.predict(X[:20])] += weight
    np.testing.assert_allclose(fitted.predict_proba(X[:20]), by_hand, atol=1e-12)
    np.testing.assert_array_equal(fitted.predict(X[:20]), by_hand.argmax(axis=1))


def test_gibbs_predictions_have_the_posterior_error_rate(fitted, cancer):
    X, y = cancer
    rate = sum(w * np.mean(e.predict(X) != y) for w, e in zip(fitted.posterior_, fitted.estimators_, strict=True))
    draws = [np.mean(fitted.predict_gibbs(X, random_state=seed) != y) for seed in range(60)]
    # Each draw averages independent rows, so its variance is at most rate / n; four standard errors of the mean of 60.
    assert abs(np.mean(draws) - rate) <= 4 * np.sqrt(rate / len(y) / 60)
    np.testing.assert_array_equal(fitted.predict_gibbs(X, random_state=1), fitted.predict_gibbs(X, random_state=1))


def test_multiclass_strings_pandas_and_feature_names():
    frame = load_iris(as_frame=True)
    y = np.asarray(frame.target_names)[frame.target]
    model = StochasticSVC(n_lambdas=10, random_state=0).fit(frame.data, y)
    assert list(model.classes_) == ["setosa", "versicolor", "virginica"]
    assert list(model.feature_names_in_) == list(frame.data.columns)
    assert model.score(frame.data, y) > 0.9
    assert set(model.predict_gibbs(frame.data, 0)) <= set(y)


def test_clone_pickle_pipeline_and_grid_search(cancer, fitted):
    X, y = cancer
    assert clone(fitted).get_params() == fitted.get_params()
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    scaled = make_pipeline(StandardScaler(), StochasticClassifier(random_state=0))
    search = GridSearchCV(scaled, {"stochasticclassifier__distance": ["linear", "kl"]}, cv=2)
    assert search.fit(X, y).best_score_ > 0.8


def test_named_estimators_and_grids(cancer):
    X, y = cancer
    members = [("tree", DecisionTreeClassifier()), ("bayes", GaussianNB())]
    assert StochasticClassifier(members, random_state=0).fit(X, y).names_ == ["tree", "bayes"]
    grid = {"max_depth": [1, 2], "criterion": ["gini", "entropy"]}
    model = StochasticClassifier(estimator=DecisionTreeClassifier(), param_grid=grid, random_state=0).fit(X, y)
    points = [(member.max_depth, member.criterion) for member in model.estimators_]
    assert sorted(points) == [(depth, criterion) for depth in (1, 2) for criterion in ("entropy", "gini")]


def test_prior_is_used(cancer):
    X, y = cancer
    prior = np.array([0.9, 0.1])
    members = [DummyClassifier(strategy="constant", constant=1), DummyClassifier(strategy="constant", constant=1)]
    model = StochasticClassifier(members, prior=prior, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.posterior_, prior, atol=1e-12)


@pytest.mark.parametrize("kind", [StochasticClassifier, CertifiedClassifier])
def test_refit_calibrate_and_prefit(kind, cancer):
    X, X_new, y, y_new = train_test_split(*cancer, random_state=0)
    model, plain = (kind(refit=refit, random_state=0).fit(X, y) for refit in (True, False))
    assert model.estimators_[0].tree_.n_node_samples[0] == len(y) and model.bound_ == plain.bound_
    said = model.certificate_ if kind is StochasticClassifier else model.guarantee_
    assert "does not cover the refitted" in " ".join(str(said).split())
    model.calibrate(X_new, y_new)
    assert "refitted" not in str(model.certificate_) and model.n_validation_ == len(y_new)
    ready = [DecisionTreeClassifier(max_depth=k, random_state=0).fit(X, y) for k in (1, 2, 3)]
    given, again = kind(ready, prefit=True).fit(X_new, y_new), kind(ready, prefit=True).calibrate(X_new, y_new)
    assert given.estimators_[0] is ready[0] and given.certificate_.m == len(y_new) and given.bound_ == again.bound_
    errors = [np.count_nonzero(member.predict(X_new) != y_new) for member in ready]
    assert list(given.certificate_.errors)[-3:] == errors
    if kind is CertifiedClassifier:
        assert len(given.candidates_) == 4 and given.deployed_ is given.candidates_[given.certificate_.single]


@pytest.mark.parametrize("kind", [StochasticClassifier, CertifiedClassifier])
def test_metadata_routing_splits_along_and_keeps_groups(kind, cancer):
    X, y = cancer
    with sklearn.config_context(enable_metadata_routing=True):
        asks, ignores = Recorder().set_fit_request(marks=True), Recorder().set_fit_request(marks=False)
        model = kind([("asks", asks), ("ignores", ignores)], random_state=0)
        if kind is CertifiedClassifier:
            model.set_fit_request(groups=True).fit(X, y, marks=np.arange(len(y)), groups=y)
            assert len(model.guarantee_.statements) == 2
        else:
            model.fit(X, y, marks=np.arange(len(y)))
    np.testing.assert_array_equal(model.estimators_[0].marks_, halves(len(y), 0)[0])
    assert model.estimators_[1].marks_ is None
    # Without routing they reach every classifier.
    plain = kind([Recorder()], random_state=0).fit(X, y, marks=np.arange(len(y)))
    np.testing.assert_array_equal(plain.estimators_[0].marks_, halves(len(y), 0)[0])


def test_scaling_uses_the_training_part_only(cancer):
    X, y = cancer
    model = StochasticSVC(n_lambdas=2, scale=True, random_state=0).fit(X, y)
    training, _ = halves(len(y), 0)
    np.testing.assert_allclose(model.estimators_[0][0].scale_, X[training].std(axis=0), rtol=1e-10)


TREE, BAYES = DecisionTreeClassifier(), GaussianNB()
BAD = {
    StochasticClassifier: [
        ({"validation_size": 0}, "validation_size is 0"),
        ({"validation_size": 1.5}, "validation_size is 1.5"),
        ({"validation_size": True}, "validation_size is True"),
        ({"validation_size": None}, "validation_size is None"),
        ({"validation_size": 10_000}, "validation_size is 10000"),
        ({"estimators": []}, "estimators is empty"),
        ({"estimators": [BAYES], "estimator": BAYES}, "both given"),
        ({"prefit": True}, "prefit is True"),
        ({"estimators": [BAYES], "prefit": True}, "not fitted"),
        ({"delta": 2.0}, "delta is 2.0"),
        ({"distance": "cubic"}, "'cubic'"),
        ({"solver": "magic"}, "'magic'"),
        ({"prior": [0.5, 0.5]}, "prior has 2 entries"),
        ({"param_grid": {"max_depth": [1, 2]}}, "param_grid is given without estimator"),
        ({"estimators": iter([TREE])}, "must be a list of classifiers"),
        ({"estimators": {"tree": TREE}}, "must be a list of classifiers"),
        ({"estimators": [("a", BAYES), ("a", TREE)]}, "two classifiers with the name 'a'"),
    ],
    CertifiedClassifier: [
        ({"delta": 1.0}, "delta is 1.0"),
        ({"votes": "all"}, "votes is 'all'"),
        ({"voting": "loud"}, "voting is 'loud'"),
        ({"deploy": "both"}, "deploy is 'both'"),
        ({"prior": "flat"}, "prior is 'flat'"),
        ({"prior": [0.5, 0.5]}, "prior has 2 entries"),
        ({"prior": lambda errors: np.ones(len(errors))}, "prior sums to"),
        ({"cv": 1}, "cv is 1"),
        ({"cv": ShuffleSplit(3, random_state=0)}, "each in exactly one test fold"),
        ({"abstain": (0.5, 1.5)}, "abstain is 1.5; every threshold"),
        ({"abstain": 0.9, "deploy": "stochastic"}, "deploy='deterministic'"),
        ({"per_prediction": True, "deploy": "stochastic"}, "per_prediction is given with deploy='stochastic'"),
        ({"risk": "cost"}, "it must be a function"),
        ({"risk": lambda y, prediction: 0.5 * (y != prediction)}, "must return 0 or 1"),
        ({"voting": "soft", "estimators": [SVC()]}, "has no predict_proba"),
    ],
}


@pytest.mark.parametrize(("kind", "parameters", "named"), [(kind, *case) for kind in BAD for case in BAD[kind]])
def test_bad_parameters_are_one_sentence(cancer, kind, parameters, named):
    with pytest.raises(InputError) as caught:
        kind(**parameters).fit(*cancer)
    assert named in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", [StochasticClassifier, CertifiedClassifier])
def test_sample_weight_is_for_training_and_errors_are_counted(kind, cancer):
    X, y = cancer
    logistic = make_pipeline(StandardScaler(), LogisticRegression())
    members = [("tree", DecisionTreeClassifier(max_depth=3, random_state=0)), ("logistic", logistic)]
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    model = kind(members, random_state=3).fit(X, y, sample_weight=weights)
    # Whole weights are repetitions.
    training, held_out = halves(len(y), 3)
    repeated = np.repeat(training, weights[training])
    tree = clone(members[0][1]).fit(X[training], y[training], weights[training])
    again = clone(members[0][1]).fit(X[repeated], y[repeated])
    assert (model.estimators_[0].predict(X) == tree.predict(X)).all() and (tree.predict(X) == again.predict(X)).all()
    assert (model.estimators_[0].predict(X) != members[0][1].fit(X[training], y[training]).predict(X)).any()
    wrong = int(np.count_nonzero(tree.predict(X[held_out]) != y[held_out]))
    names = list(model.certificate_.names)
    assert model.certificate_.errors[names.index("tree")] == wrong and model.n_validation_ == len(held_out)
    said = str(model.certificate_ if kind is StochasticClassifier else model.guarantee_)
    assert "the examples that certify count alike" in " ".join(said.split())
    for bad, named in ((-1.0, r"sample_weight\[0\] is -1"), (np.nan, "sample_weight"), (np.inf, "finite")):
        with pytest.raises(InputError, match=named):
            kind(members).fit(X, y, sample_weight=np.full(len(y), bad))
    with pytest.raises(InputError, match="'neighbours' takes no sample_weight"):
        kind([("neighbours", KNeighborsClassifier())]).fit(X, y, sample_weight=weights)
    with pytest.raises(InputError, match="prefit is True"):
        kind([("tree", tree)], prefit=True).fit(X, y, sample_weight=weights)


def test_a_solver_of_choice(cancer, fitted):
    model = StochasticClassifier(solver="fixed-point", random_state=0).fit(*cancer)
    assert model.solution_.solver == "fixed-point" and model.bound_ == pytest.approx(fitted.bound_, abs=1e-9)


def test_text_pipelines_pass_through():
    from sklearn.feature_extraction.text import CountVectorizer

    texts = [f"good word{k}" for k in range(40)] + [f"bad word{k}" for k in range(40)]
    y = np.array([1] * 40 + [0] * 40)
    members = [make_pipeline(CountVectorizer(), LogisticRegression(C=c)) for c in (0.1, 1.0)]
    model = StochasticClassifier(members, random_state=0).fit(texts, y)
    assert model.predict(["good", "bad"]).tolist() == [1, 0]


# --- what must be refused --------------------------------------------------------------------------------------------


class Predicts(ClassifierMixin, BaseEstimator):
    """A fitted classifier that predicts what it is told to."""

    def __init__(self, answer=None):
        self.answer = answer
        self.fitted_ = True

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.answer(len(X))


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (lambda n: 0, r"shape \(\)"),
        (lambda n: None, r"shape \(\)"),
        (lambda n: np.zeros((n, 1)), r"shape \(\d+, 1\)"),
        (lambda n: np.zeros(n - 1), "shape"),
        (lambda n: np.full(n, 7), "label np.int64\\(7\\), which is not one of the classes"),
        (lambda n: np.full(n, -1), "which is not one of the classes"),
        (lambda n: np.full(n, 0.5), "which is not one of the classes"),
        (lambda n: np.full(n, np.nan), "which is not one of the classes"),
        (lambda n: np.full(n, "1"), "must be of one type"),
        (lambda n: np.ma.array(np.zeros(n, int), mask=np.arange(n) % 2), "predicts is a masked array"),
    ],
)
def test_predictions_that_are_no_labels_are_refused(answer, complaint, cancer):
    X, y = cancer
    good = DecisionTreeClassifier(max_depth=1).fit(X[:300], y[:300])
    model = StochasticClassifier([("good", good), ("odd", Predicts(answer))], prefit=True)
    with pytest.raises(InputError, match=f"'odd'.*{complaint}"):
        model.fit(X[300:], y[300:])


@pytest.mark.parametrize("kind", [StochasticClassifier, CertifiedClassifier])
def test_missing_labels_are_refused(kind, cancer):
    X, y = cancer
    model = kind([DecisionTreeClassifier(max_depth=1)])
    with pytest.raises(InputError, match="y is a masked array; every entry must be known"):
        model.fit(X, np.ma.array(y, mask=X[:, 0] > 15.0))
    for missing in (np.nan, None, pd.NA):
        with pytest.raises(InputError, match=r"y\[3\] is missing"):
            model.fit(X, np.array([*"abb", missing, *["b"] * (len(y) - 4)], dtype=object))


@pytest.mark.parametrize("trained, certified", [(str, int), (int, str), (str, bool)])
def test_labels_of_another_type_are_refused(trained, certified, cancer):
    X, y = cancer
    members = [("tree", DecisionTreeClassifier(max_depth=1).fit(X[:300], y[:300].astype(trained)))]
    with pytest.raises(InputError, match=r"'tree' has labels like .* must be of one type"):
        StochasticClassifier(members, prefit=True).fit(X[300:], y[300:].astype(certified))


def test_frozen_classifiers_are_certified_as_they_are(cancer):
    X, y = cancer
    tree = DecisionTreeClassifier(max_depth=2).fit(X[:200], y[:200])
    model = StochasticClassifier([FrozenEstimator(tree)], random_state=0).fit(X[200:], y[200:])
    np.testing.assert_array_equal(model.predict(X), tree.predict(X))
