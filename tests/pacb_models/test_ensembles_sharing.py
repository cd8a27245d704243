"""Shared kernels and preprocessing: the same classifiers as one by one, with the common work done once."""

import pickle

import joblib
import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import TruncatedSVD
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from pacb_models import CertifiedClassifier, StochasticClassifier, StochasticSVC
from pacb_models.benchmarks.experiments.datasets import load_dataset
from pacb_models.errors import InputError
from pacb_models.estimators import kernel_family, sharing
from pacb_models.estimators.kernel_family import FamilySVC, family_key
from pacb_models.estimators.sharing import predict_members, train_members

from ..small_data import small_dataset

CS = (0.05, 0.3, 1.0, 4.0, 20.0)


class PlainSVC(SVC):
    """An SVC that shares nothing: families are of SVC itself."""


def machines(kind=SVC, **parameters):
    return [kind(C=C, **parameters) for C in CS]


def compare(members, X, y, X_new):
    """Members trained together against clones trained one by one."""
    together = train_members([clone(member) for member in members], X, y, None)
    alone = [clone(member).fit(X, y) for member in members]
    found = predict_members(together, X_new, None)
    for ours, plain, labels in zip(together, alone, found, strict=True):
        np.testing.assert_array_equal(labels, plain.predict(X_new))
        np.testing.assert_array_equal(ours.predict(X_new), labels)
        np.testing.assert_allclose(ours.decision_function(X_new), plain.decision_function(X_new), rtol=1e-6, atol=1e-9)
        ours, plain = (model[-1] if hasattr(model, "steps") else model for model in (ours, plain))
        np.testing.assert_array_equal(ours.support_, plain.support_)
        np.testing.assert_array_equal(ours.n_support_, plain.n_support_)
        # The same to the last digit wherever numpy's and libsvm's dot products are.
        for name in ("support_vectors_", "dual_coef_", "intercept_"):
            values = (getattr(model, name) for model in (ours, plain))
            dense = [each.toarray() if hasattr(each, "toarray") else each for each in values]
            np.testing.assert_allclose(*dense, rtol=1e-6, atol=1e-9)
    return together


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.03])
def test_svms_are_those_of_svc(gamma):
    data = small_dataset()
    rows = np.random.default_rng(0).permutation(len(data.y))
    training, rest = rows[:150], rows[150:]
    together = compare(machines(gamma=gamma), data.X[training], data.y[training], data.X[rest])
    assert all(isinstance(member, FamilySVC) for member in together)
    assert len({id(member.family_) for member in together}) == 1


def test_few_rows_that_libsvm_keeps_change_nothing(monkeypatch):
    monkeypatch.setattr(kernel_family, "_CACHED_ROWS", 3)
    data = small_dataset()
    together = compare(machines(), data.X[::2], data.y[::2], data.X)
    assert {member.cache_size for member in together} == {SVC().cache_size}


@pytest.mark.parametrize("load", [load_iris, load_digits])
def test_many_classes_in_small_batches(load, monkeypatch):
    X, y = load(return_X_y=True)
    rows = np.random.default_rng(1).permutation(len(y))[:400]
    X, y = X[rows], np.array([f"class {label}" for label in y[rows]])
    monkeypatch.setattr(kernel_family, "_BLOCK", 37)
    half = len(y) // 2
    compare(machines(), X[:half], y[:half], X)


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.03])
def test_sparse_input(gamma):
    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(2).permutation(len(y))[:500]
    X, y = csr_matrix((X[rows] > 8).astype(float)), y[rows] % 2
    together = compare(machines(gamma=gamma), X[:250], y[:250], X[250:])
    assert {type(member) for member in together} == {SVC}
    together = compare(machines(gamma=gamma), X[:250].toarray(), y[:250], X[250:].toarray())
    np.testing.assert_array_equal(predict_members(together, X.toarray(), None), predict_members(together, X, None))


def test_families_agree_on_everything_but_c():
    assert family_key(SVC(C=1.0)) == family_key(SVC(C=7.0, random_state=3))
    assert len({family_key(SVC(**other)) for other in ({}, {"gamma": 0.5}, {"tol": 1e-2}, {"max_iter": 10})}) == 4
    others = ({"kernel": "linear"}, {"class_weight": "balanced"}, {"class_weight": {0: 2.0}}, {"break_ties": True})
    for machine in (PlainSVC(), KNeighborsClassifier(), *(SVC(**other) for other in others)):
        assert family_key(machine) is None


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_members_are_svcs_in_pipelines_and_when_cloned(shape):
    X, y = load_iris(return_X_y=True)
    pipelines = [make_pipeline(StandardScaler(), machine) for machine in machines(decision_function_shape=shape)]
    together = compare(pipelines, X[::2], y[::2], X)
    for ours, plain in zip(together, pipelines, strict=True):
        own = clone(ours[-1])
        assert own.get_params() == plain[-1].get_params() and family_key(own) == family_key(plain[-1])
        np.testing.assert_array_equal(own.fit(X, y).predict(X), clone(plain[-1]).fit(X, y).predict(X))
        again = ours[-1].fit(X, y)
        assert not hasattr(again, "family_")
        np.testing.assert_array_equal(again.decision_function(X), own.decision_function(X))


APPLIED = []


def doubled(X):
    """A transformation that notes when it is applied."""
    APPLIED.append(len(X))
    return 2.0 * X


def test_shared_work_is_done_once_and_the_rest_in_one_go(monkeypatch):
    """One call of joblib: with one for each preprocessing, all but one process would wait."""
    sizes = []

    class Counted(joblib.Parallel):
        def __call__(self, jobs):
            jobs = list(jobs)
            sizes.append(len(jobs))
            return super().__call__(jobs)

    X, y = load_iris(return_X_y=True)
    neighbours = [KNeighborsClassifier(k) for k in (1, 5, 9)]
    steps = [(FunctionTransformer(doubled), StandardScaler(), each) for each in (*machines(), *neighbours)]
    steps += [(TruncatedSVD(k, random_state=0), neighbours[1]) for k in (1, 2, 3)]
    members = [clone(make_pipeline(*each)) for each in steps]
    monkeypatch.setattr(sharing, "Parallel", Counted)
    APPLIED.clear()
    together = train_members([clone(member) for member in members], X, y, None)
    assert APPLIED == [150]
    found = predict_members(together, X, None)
    assert APPLIED == [150, 150] and sizes == [6, 6]
    for labels, member in zip(found, members, strict=True):
        np.testing.assert_array_equal(labels, member.fit(X, y).predict(X))


def test_preprocessing_with_other_settings_is_not_shared():
    X, y = load_iris(return_X_y=True)
    weights = np.ones((2, 5000))
    weights[1, 2500] = 2.0  # printed, the two arrays look the same
    first, second = (FunctionTransformer(kw_args={"weights": row}) for row in weights)
    assert repr(weights[0]) == repr(weights[1])
    keys = [
        sharing._prefix_key(make_pipeline(*steps)) for steps in ((first, SVC()), (second, SVC()), (first, SVC(C=3)))
    ]
    assert keys[0] == keys[2] != keys[1]
    unseeded, cached = make_pipeline(TruncatedSVD(2), SVC()), make_pipeline(StandardScaler(), SVC(), memory="cache")
    assert [sharing._prefix_key(each) for each in (unseeded, cached, SVC())] == [None] * 3
    members = [make_pipeline(StandardScaler(with_mean=mean), SVC(C=C)) for mean in (True, False) for C in CS]
    together = train_members([clone(member) for member in members], X, y, None)
    assert len({id(member[0]) for member in together}) == 2
    for labels, member in zip(predict_members(together, X, None), members, strict=True):
        np.testing.assert_array_equal(labels, member.fit(X, y).predict(X))


def test_a_kernel_matrix_that_is_too_large_is_not_made(monkeypatch):
    X, y = load_iris(return_X_y=True)
    monkeypatch.setattr(sharing, "_memory", lambda: 8 * 8 * 100 * 100)
    with pytest.warns(UserWarning, match=r"150 training rows would take .* GiB.*With at most 100 training rows"):
        together = train_members(machines(), X, y, None)
    assert all(type(member) is SVC for member in together)
    expected = [machine.fit(X, y).predict(X) for machine in machines()]
    np.testing.assert_array_equal(predict_members(together, X, None), expected)


@pytest.mark.long
@pytest.mark.parametrize("scale", [False, True])
def test_the_stochastic_svc_is_the_one_of_plain_svcs(scale):
    """The same split and seed, with SVCs that share nothing: error counts, bound and votes, ties included."""
    data = load_dataset("wdbc")
    shared = StochasticSVC(n_lambdas=40, scale=scale, random_state=3, n_jobs=2).fit(data.X, data.y)
    plain = [PlainSVC(C=1.0 / value, gamma=shared.gamma_) for value in shared.lambdas_]
    if scale:
        plain = [make_pipeline(StandardScaler(with_mean=False), machine) for machine in plain]
    one_by_one = StochasticClassifier(plain, random_state=3).fit(data.X, data.y)
    np.testing.assert_array_equal(shared.risks_, one_by_one.risks_)
    assert shared.bound_ == one_by_one.bound_
    np.testing.assert_array_equal(shared.predict_proba(data.X), one_by_one.predict_proba(data.X))
    copy = pickle.loads(pickle.dumps(shared))
    assert len({sharing._family_of(m[-1] if scale else m) for m in copy.estimators_}) == 1
    np.testing.assert_array_equal(copy.predict_proba(data.X[:50]), shared.predict_proba(data.X[:50]))


@pytest.mark.long
@pytest.mark.parametrize("gamma", ["scale", 0.001])
def test_certified_svms_share_kernels_of_two_widths(gamma):
    X, y = load_digits(return_X_y=True)
    X, y = X[:400], y[:400]
    grid = [{"C": [0.1, 1.0, 10.0], "gamma": [gamma, 0.003]}]
    common = {"param_grid": grid, "cv": 3, "refit": gamma == "scale", "random_state": 0}
    shared = CertifiedClassifier(estimator=SVC(), **common).fit(X, y)
    assert len({id(member.family_) for member in shared.estimators_}) == 2
    plain = CertifiedClassifier(estimator=PlainSVC(), **common).fit(X, y)
    np.testing.assert_array_equal(shared.cv_errors_, plain.cv_errors_)
    np.testing.assert_array_equal(shared.errors_, plain.errors_)
    np.testing.assert_array_equal(shared.predict_proba(X), plain.predict_proba(X))


def test_the_environment_sets_how_much_memory_kernels_may_take(monkeypatch):
    X, y = load_iris(return_X_y=True)
    monkeypatch.setenv(sharing.LIMIT_VARIABLE, "0.0001")
    with pytest.warns(UserWarning, match=r"150 training rows .* limit of 0\.0 GiB.*at most 115 training rows"):
        train_members(machines(), X, y, None)
    monkeypatch.setenv(sharing.LIMIT_VARIABLE, "2")
    assert all(isinstance(member, FamilySVC) for member in train_members(machines(), X, y, None))
    monkeypatch.setenv(sharing.LIMIT_VARIABLE, "plenty")
    with pytest.raises(InputError, match="PACB_KERNEL_GIB is 'plenty'; it must be a number of GiB"):
        train_members(machines(), X, y, None)


def test_rows_of_another_width_are_refused():
    X, y = load_iris(return_X_y=True)
    members = train_members(machines(), X, y, None)
    with pytest.raises(ValueError, match="X has 3 features; the SVMs were trained on 4"):
        predict_members(members, X[:, :3], None)
