"""Statements about classes and predictions: which class is positive, precision, shares of delta, and few examples."""

import itertools
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import pacb_models as pm
from pacb_models import CertifiedClassifier, InputError
from pacb_models.estimators.guarantee import Requests


@pytest.fixture(scope="module")
def cells():
    X, y = load_breast_cancer(return_X_y=True)
    return X, np.array(["cancer", "healthy"])[y]


def trees():
    return [DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in (1, 2, 3)]


def test_only_who_says_which_class_is_positive_reads_of_false_positives(cells):
    plain = CertifiedClassifier(trees(), per_class=True, per_prediction=True, random_state=0).fit(*cells)
    assert "false" not in str(plain.guarantee_) and "class 'cancer' with" in str(plain.guarantee_)
    named = CertifiedClassifier(trees(), per_class=True, per_prediction=True, positive="cancer", random_state=0)
    text = " ".join(str(named.fit(*cells).guarantee_).split())  # as one line
    for phrase in (
        "class 'cancer' (false negative rate, 1 - recall)",
        "class 'healthy' (false positive rate)",
        "calls 'cancer' (false discovery rate, 1 - precision)",
        "calls 'healthy' (false omission rate)",
    ):
        assert phrase in text
    assert [s.bound for s in named.guarantee_.statements] == [s.bound for s in plain.guarantee_.statements]
    for positive, y in (("Cancer", cells[1]), ("a", np.resize(["a", "b", "c"], len(cells[1])))):
        with pytest.raises(InputError, match=f"positive is '{positive}'; it must be one of two classes"):
            CertifiedClassifier(trees(), positive=positive, random_state=0).fit(cells[0], y)


def test_precision_by_hand(cells):
    model = CertifiedClassifier(trees(), per_prediction=True, delta=0.1, random_state=0).fit(*cells)
    order = np.random.RandomState(0).permutation(len(cells[1]))[: round(0.5 * len(cells[1]))]
    X, y = cells[0][order], cells[1][order]
    said, prior = model.predict(X), model.prior_[model.candidates_.index(model.deployed_)]
    for label, statement in zip(["cancer", "healthy"], model.guarantee_.statements, strict=True):
        n, k = np.count_nonzero(said == label), np.count_nonzero((said == label) & (y != label))
        assert (statement.kind, statement.errors, statement.examples) == ("prediction", k, n)
        assert statement.bound == pytest.approx(beta.isf(0.1 / 4 * prior, k + 1, n - k), rel=1e-9)
    expected = [[np.count_nonzero((y == a) & (said == b)) for b in model.classes_] for a in model.classes_]
    assert model.confusion_.tolist() == expected
    with pytest.raises(InputError, match="per_prediction is given with deploy='stochastic'"):
        CertifiedClassifier(trees(), per_prediction=True, deploy="stochastic").fit(*cells)


class Threshold(ClassifierMixin, BaseEstimator):
    """Says 1 above a number."""

    def __init__(self, at=0):
        self.at = at

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        return (X[:, 0] >= self.at).astype(int)


@pytest.mark.long
def test_precision_holds_and_smaller_bounds_do_not():
    """The feature takes 12 values as often; the class is 1 with a known probability at each."""
    rates, values = np.where(np.arange(12) < 6, 0.15, 0.8), np.arange(12)
    model = CertifiedClassifier(
        [Threshold(6).fit(None, None)], votes=None, prefit=True, per_prediction=True, delta=0.8
    )  # 0.2 for each of the two statements
    true = [rates[:6].mean(), 1.0 - rates[6:].mean()]
    random, draws, false, smaller = np.random.RandomState(1), 1000, 0, 0
    for _ in range(draws):
        X = random.choice(values, 1200)[:, None]
        y = (random.uniform(size=1200) < rates[X[:, 0]]).astype(int)
        bounds = [statement.bound for statement in model.fit(X, y).guarantee_.statements]
        false += bounds[0] < true[0]
        smaller += 0.9 * bounds[0] < true[0]
    assert false <= 0.2 * draws < smaller


@pytest.mark.parametrize("delta", [0.05, 0.07, 1 / 3])
def test_printed_shares_of_delta_do_not_exceed_it(cells, delta):
    model = CertifiedClassifier(
        trees(), per_class=True, per_prediction=True, abstain=(0.5, 0.6, 0.7), delta=delta, random_state=0
    ).fit(*cells, groups=np.arange(len(cells[1])) % 7)
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


def test_missing_labels_among_text_are_one_sentence(cells):
    X, y = cells
    for missing in (np.nan, None, pd.NA):
        broken = y.astype(object)
        broken[3] = missing
        for estimator in (CertifiedClassifier(trees()), pm.StochasticClassifier(trees())):
            with pytest.raises(InputError, match=r"y\[3\] is missing"):
                estimator.fit(X, broken)


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
