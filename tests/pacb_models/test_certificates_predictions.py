"""From predictions, and from fitted classifiers, to a certificate: of all, of one chosen on a part, of a level."""

import base64
import hashlib
import pickle
import re
from functools import reduce
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import beta, binom
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import pacb_models as pm
from pacb_models import InputError

from .ensembles import limit


def majority(row):
    """The label that most say, the smallest of several, by counting."""
    return min(sorted(set(row)), key=lambda label: -row.count(label))


labels = st.sampled_from([0, 1, 2])


@pytest.mark.long
@given(st.lists(st.tuples(labels, labels, labels, labels, labels), min_size=3, max_size=30))
def test_every_kind_of_label_and_table_gives_the_same_counts(rows):
    y, P = np.array([row[0] for row in rows]), np.array([row[1:] for row in rows])
    expected = [sum(majority(list(row[1:])) != row[0] for row in rows), *(P != y[:, None]).sum(axis=0)]
    names = ["majority vote of 4", "a", "b", "c", "d"]
    words = np.array(["cat", "dog", "emu"])
    for truth, columns in (
        (y, P),
        (y - 1, (P - 1).astype(np.int8)),
        (y + 0.5, P + 0.5),
        (y * 10**9, P * 10**9),
        (words[y], words[P]),
        (words[y].astype(object), words[P].astype(object)),
        (y.tolist(), P.tolist()),
    ):
        found = pm.certify_predictions(truth, columns, names=["a", "b", "c", "d"])
        assert found.errors.tolist() == expected and found.names == names
    frame = pd.DataFrame(words[P], columns=["a", "b", "c", "d"])
    assert pm.certify_predictions(pd.Series(words[y]), frame) == found
    assert pm.certify_predictions(words[y], {name: frame[name] for name in "abcd"}) == found
    assert pm.certify_predictions(y, P, vote=False).errors.tolist() == expected[1:]


@given(
    st.integers(1, 5).flatmap(lambda size: st.lists(st.lists(labels, min_size=size, max_size=size), min_size=2)),
    st.floats(0.05, 0.95),
    st.integers(0, 99),
)
def test_the_choice_by_hand(predicted, share, seed):
    P = np.array(predicted)
    rows, size = P.shape
    y = np.zeros(rows, dtype=int)
    order = np.random.default_rng(seed).permutation(rows)
    first = int(np.ceil(share * rows))
    if first == rows:
        with pytest.raises(InputError, match="some must be left to certify"):
            pm.certify_predictions(y, P, choose=share, random_state=seed)
        return
    choosing, certifying = order[:first], order[first:]
    wrong = P != y[:, None]
    if size >= 3:
        wrong = np.column_stack([[majority(row) != 0 for row in predicted], wrong])
    chosen = int(np.argmin(wrong[choosing].sum(axis=0)))
    k = int(wrong[certifying, chosen].sum())
    found = pm.certify_predictions(y, P, choose=share, random_state=seed)
    assert (found.single, found.errors, found.m) == (chosen, k, rows - first)
    assert found.bound == pytest.approx(limit(k, rows - first, 0.05), rel=1e-9)
    assert found.choosing_errors.tolist() == wrong[choosing].sum(axis=0).tolist()
    text = " ".join(str(found).split())
    assert f"seed {seed}" in text and f"{share:g} of all" in text and "not an estimate" in text


def draws(count, seed, rows=500, size=12):
    """Twelve classifiers whose errors hang together; the true risks are known, the vote's too."""
    random = np.random.default_rng(seed)
    risks = np.linspace(0.08, 0.2, size)
    for _ in range(count):
        # An example is hard (half of the errors are made on a tenth of the examples), and then all are likelier to err.
        hard = random.random(rows) < 0.1
        rate = np.where(hard[:, None], 5.0 * risks, (risks - 0.5 * risks) / 0.9)
        yield random, risks, random.random((rows, size)) < rate


def vote_risk(size=12):
    def more_than_half(rates):
        numbers = reduce(np.convolve, [[1.0 - rate, rate] for rate in rates])
        return float(numbers[size // 2 + 1 :].sum())

    risks = np.linspace(0.08, 0.2, size)
    # The truth is the first label: a tie is right.
    return 0.1 * more_than_half(5.0 * risks) + 0.9 * more_than_half(0.5 * risks / 0.9)


@pytest.mark.long
@pytest.mark.parametrize("choose", [None, 0.2])
def test_certificates_hold_and_smaller_ones_do_not(choose):
    delta, count, false, smaller = 0.2, 1000, 0, 0
    true = None
    for number, (_, risks, wrong) in enumerate(draws(count, 7)):
        if true is None:
            true = np.concatenate([[vote_risk()], risks])
        seed = number if choose else None
        found = pm.certify_predictions(np.zeros(len(wrong), dtype=int), wrong.astype(int), delta, None, choose, seed)
        if choose is None:
            false += bool(np.any(true > found.single_bounds) or found.posterior @ true > found.bound)
            smaller += bool(np.any(true > 0.9 * found.single_bounds) or found.posterior @ true > 0.9 * found.bound)
        else:
            false += bool(true[found.single] > found.bound)
            smaller += bool(true[found.single] > 0.9 * found.bound)
    assert false <= delta * count < smaller


def test_table_levels_and_what_a_notebook_shows():
    random = np.random.default_rng(1)
    y = random.integers(0, 2, 400)
    P = np.where(random.random((400, 3)) < [0.05, 0.1, 0.4], 1 - y[:, None], y[:, None])
    found = pm.certify_predictions(y, P, names=["<a>", "b", "c"])
    frame = found.to_frame()
    assert frame["bound"].is_monotonic_increasing and frame.loc["c", "errors"] == found.errors[3]
    assert frame["prior"].sum() == pytest.approx(1.0) and frame["weight"].sum() == pytest.approx(1.0)
    assert found.at_level(0.2) == [name for name, bound in frame["bound"].items() if bound <= 0.2]
    assert found.at_level(1.0)[-1] == "c" and found.at_level(0.0) == []
    assert "&lt;a&gt;" in found._repr_html_() and "<a>" not in found._repr_html_()
    chosen = pm.certify_predictions(y, P, names=["<a>", "b", "c"], choose=0.2)
    assert chosen.to_frame()["bound"].count() == 1 and chosen.to_frame().index[0] == chosen.name
    assert "seed 0" in chosen._repr_html_() and "<a>" not in chosen._repr_html_()
    for certificate in (found, chosen):
        display = certificate.plot()
        assert display._repr_png_().startswith(b"\x89PNG") and "at most" in display.title()
    with pytest.raises(InputError, match="alpha is 2"):
        found.at_level(2)


def test_fitted_models():
    X, y = load_breast_cancer(return_X_y=True)
    words = np.array(["malignant", "benign"])[y]
    models = [
        ("logistic", make_pipeline(StandardScaler(), LogisticRegression())),
        *((f"depth {d}", DecisionTreeClassifier(max_depth=d, random_state=0)) for d in (1, 2, 3)),
    ]
    for _, model in models:
        model.fit(X[::2], words[::2])
    X, words = X[1::2], words[1::2]
    columns = {name: model.predict(X) for name, model in models}
    for options in ({}, {"choose": 0.2, "random_state": 3}, {"vote": False, "delta": 0.01}):
        expected = pm.certify_predictions(words, columns, **options)
        assert pm.certify_models(models, X, words, **options) == expected
        assert pm.certify_models(dict(models), X, words, **options) == expected
    for options in ({}, {"choose": 0.2}, {"level": 0.2}, {"level": 0.2, "vote": False}, {"vote": False}):
        certificate = pm.certify_models(models, X, words, **options)
        deployed = pickle.loads(pickle.dumps(certificate)).classifier_
        wrong = int(np.count_nonzero(deployed.predict(X) != words))
        names = ["majority vote of 4", *columns] if options.get("vote", True) else list(columns)
        assert (
            wrong
            == pm.certify_predictions(words, columns).errors[["majority vote of 4", *columns].index(certificate.name)]
        )
        assert (deployed.predict(X[:1]) == deployed.predict(X)[:1]).all() and certificate.name in names
    with pytest.raises(InputError, match="there is no classifier here"):
        pm.certify_models(models, X, words, level=0.001).classifier_  # noqa: B018
    plain = pm.certify_models([model for _, model in models], X, words, names=["p", "q", "r", "s"])
    assert plain.names[1:] == ["p", "q", "r", "s"]

    class Constant:
        """Anything with predict."""

        def __init__(self, answer):
            self.answer = answer

        def predict(self, X):
            return self.answer

    assert pm.certify_models([Constant(["benign"] * len(X))], X, words).errors[0] == (words != "benign").sum()
    for model, named in (
        (Constant(["benign"]), r"predicts an array of shape \(1,\) for 284 examples"),
        (Constant([1] * len(X)), "is of type int64, but y_true of"),
        (DecisionTreeClassifier(), "'decisiontreeclassifier-0' is not fitted"),
        (object(), "has no predict"),
    ):
        with pytest.raises(InputError, match=named):
            pm.certify_models([model], X, words)
    for several, named in (
        ([models[0], models[0]], "more than once"),
        (5, "models is 5; it must be a list or a dict"),
        ([], "models is empty"),
    ):
        with pytest.raises(InputError, match=named):
            pm.certify_models(several, X, words)


BIG = 2**63


@pytest.mark.parametrize(
    ("y", "predictions", "options", "named"),
    [
        ([0, 1], [[0], [1], [1]], {}, r"predictions has the shape \(3, 1\)"),
        ([], [], {}, r"y_true has the shape \(0,\)"),
        ([0, 1], [["0"], ["1"]], {}, "predictions is of type <U1, but y_true of int64"),
        (["a", "b"], {"x": np.array(["a", np.nan], dtype=object)}, {}, r"predictions\['x'\]\[1\] is missing"),
        (["a", None], [["a"], ["b"]], {}, r"y_true\[1\] is missing"),
        ([0.0, float(BIG)], [[0.0], [1.0]], {}, r"y_true\[1\] is 9.22.*stands for several whole numbers"),
        (np.float32([0.0, 2**24]), [[0], [2**24 + 1]], {}, r"y_true\[1\] is 16777216.0, .* several whole numbers"),
        (["a", 1], [["a"], ["b"]], {"delta": 0}, "delta is 0"),
        (np.array(["a", 1], dtype=object), [["a"], ["b"]], {}, r"several types \(int, str\)"),
        ([0, 1], {}, {}, "predictions has no column"),
        ([0, 1], {"x": [0]}, {}, r"predictions\['x'\] has shape \(1,\)"),
        ([0], {"x": [0, 1]}, {}, r"predictions\['x'\] has shape \(2,\)"),
        ([0, 1], [[0], [1]], {"names": ["a", "b"]}, "names has 2 entries"),
        ([0, 1], [[0], [1]], {"names": 1}, "names is 1; it must be a sequence of names"),
        ([0, 1], [[0], [1, 1]], {}, "predictions is ragged"),
        ([0, 1], [[0], [1]], {"choose": 1.0}, "choose is 1.0"),
        ([0, 1], [[0], [1]], {"choose": 0.5, "random_state": np.random.RandomState(0)}, "to be printed"),
        ([0, 1], [[0], [1]], {"random_state": 3}, "random_state is given without choose"),
    ],
)
def test_bad_input_is_one_sentence(y, predictions, options, named):
    with pytest.raises(InputError, match=named) as caught:
        pm.certify_predictions(y, predictions, **options)
    assert "\n" not in str(caught.value)


def test_large_labels_and_rows_of_other_examples():
    y = np.array([BIG, BIG + 1, BIG + 2], dtype=np.uint64)
    assert pm.certify_predictions(y, y[:, None]).errors.tolist() == [0]
    assert pm.certify_predictions(y, (y + np.uint64(1))[:, None]).errors.tolist() == [3]
    signed = np.array([0, 2**60, 2**60 + 1])
    assert pm.certify_predictions(signed, signed[[0, 2, 1], None].astype(np.uint64)).errors.tolist() == [2]
    many = np.arange(36, dtype=np.uint64)[:, None] % np.uint64(12) + np.array([0, 0, 1], dtype=np.uint64)
    assert pm.certify_predictions(many[:, 0], many).errors.tolist() == [0, 0, 0, 36]
    for exact in (np.uint64([BIG, 2**53 + 1]), np.int64([2**53 + 1, -(2**62)]), np.int16([2**14 + 1, 1])):
        for kind in (np.float16, np.float32, np.float64):
            said = np.array([[0.0], [1.0]], dtype=kind)
            assert pm.certify_predictions(exact, said).errors.tolist() == [1 + (exact[1] != 1)]
            assert pm.certify_predictions(said[:, 0], exact[:, None]).errors.tolist() == [1 + (exact[1] != 1)]
    with pytest.raises(InputError, match="is of type object, but y_true of uint64"):
        pm.certify_predictions(y, [[2**64], [2**64], [2**64]])
    with pytest.raises(InputError, match="different indices"):
        pm.certify_predictions(pd.Series([0, 1]), pd.DataFrame({"a": [0, 1]}, index=[1, 0]))
    counts = pm.ErrorCounts(["a"])
    with pytest.raises(InputError, match="stands for several whole numbers"):
        counts.update([float(BIG)], {"a": [float(BIG + 1)]})


def test_rows_with_other_indices_are_refused_everywhere():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    other = y[::-1]  # the same examples, in another order
    q = 1 - y
    reordered = q[::-1]
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    fitted = pm.CertifiedClassifier([("a", tree)], prefit=True)
    deployed = pm.CertifiedClassifier([("a", tree)], prefit=True).fit(X, y)
    for call in (
        lambda: pm.certify_predictions(y, {"q": reordered}),
        lambda: pm.certify_predictions(y, reordered),
        lambda: pm.certify_predictions(y, reordered.to_frame("q")),
        lambda: pm.certify_predictions(y.to_numpy(), {"p": y, "q": reordered}),
        lambda: pm.ErrorCounts(["q"]).update(y, {"q": reordered}),
        lambda: pm.ErrorCounts(["q"]).update(y, reordered.to_frame("q")),
        lambda: pm.certify_models([("a", tree)], X, other),
        lambda: fitted.fit(X, other),
        lambda: fitted.fit(X, y, groups=other),
        lambda: deployed.monitor(X, other),
        lambda: pm.StochasticClassifier([tree]).fit(X, other),
    ):
        with pytest.raises(InputError, match="different indices; their rows must be the same examples"):
            call()
    # Without an index, or with the same one, rows are what they were.
    assert pm.certify_predictions(y, {"q": q}).errors.tolist() == [len(y)]
    assert pm.certify_predictions(y, {"q": q.to_numpy()}) == pm.certify_predictions(y, pd.DataFrame({"q": q}))
    assert pm.certify_predictions(y.tolist(), {"q": reordered}).m == len(y)


class Page(HTMLParser):
    """What a page or a notebook shows: its text by element, and whether every element is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.said = [], {}
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "line", "circle", "br"):
            self.open.append(tag)
            self.said.setdefault(tag, []).append("")

    def handle_endtag(self, tag):
        if tag not in ("line", "circle"):
            assert self.open.pop() == tag

    def handle_data(self, data):
        for tag in self.open[-2:]:
            self.said[tag][-1] += data


def three_certificates():
    random = np.random.default_rng(1)
    y = random.integers(0, 2, 400)
    P = np.where(random.random((400, 4)) < [0.05, 0.05, 0.1, 0.4], 1 - y[:, None], y[:, None])
    names = ["<a>", "b", "c & d", "e"]
    yield pm.certify_predictions(y, P, names=names, vote=False)
    yield pm.certify_predictions(y, P, names=names, choose=0.2)
    yield pm.certify_predictions(y, P, names=names, level=0.1, order=["<a>", "c & d", "e"])
    yield pm.certify([4, 4, 9], m=549, names=["x", "y", "z"])
    yield pm.certify(losses=random.random((50, 2)) ** 3)


def test_a_headline_is_a_sentence_lists_are_lists_and_counts_are_called_counts():
    for certificate in three_certificates():
        shown = Page(certificate._repr_html_())
        headline = " ".join(shown.said["strong"])
        assert headline.endswith(".") and "at most" in headline and headline.startswith("With probability")
        items = [line for line in certificate.sentences if line.startswith("  ")]
        assert len(shown.said.get("li", [])) == len(items) - certificate.sentences[0].endswith(":")
        assert "observed" not in shown.said["th"]
        if isinstance(certificate, pm.Certificate):
            assert shown.said["th"][1] in ("errors", "sum of losses")


def test_pages_of_certificates(tmp_path):
    for number, certificate in enumerate(three_certificates()):
        path = tmp_path / f"{number}.html"
        certificate.save_page(path, "Three <models>", [("examples", "from <here>")])
        html = path.read_text()
        page = Page(html)
        assert page.said["h2"] == ["What is guaranteed", "What is not", "The candidates", "How it was made"]
        assert page.said["title"][0] == "Three <models>" and "<models>" not in html and "<here>" not in html
        bound = certificate.level if hasattr(certificate, "level") else certificate.bound
        promised = [float(each.rstrip(".;:")) for each in re.findall(r"at most ([\d.]+)", " ".join(page.said["p"]))]
        assert any(bound <= each <= bound * 1.001 for each in promised)
        assert not re.search(r"(src|href)=|https?://|<script|style=", html), "the page needs nothing from elsewhere"
        style = hashlib.sha256(page.said["style"][0].encode()).digest()
        assert f"sha256-{base64.b64encode(style).decode()}" in html


# --- a level that is fixed beforehand --------------------------------------------------------------------------------


def level_certificate(errors, m, delta, level):
    """From counts: each classifier errs on its first examples."""
    wrong = np.arange(m)[:, None] < np.asarray(errors)[None, :]
    return pm.certify_predictions(np.zeros(m, dtype=int), wrong.astype(int), delta, level=level, vote=False)


@given(
    st.integers(1, 60).flatmap(lambda m: st.tuples(st.just(m), st.lists(st.integers(0, m), min_size=1, max_size=6))),
    st.floats(0.01, 0.5),
    st.floats(0.01, 0.99),
)
def test_the_sequence_by_hand(counted, delta, level):
    m, errors = counted
    found = level_certificate(errors, m, delta, level)
    limits = [1.0 if k == m else beta.isf(delta, k + 1, m - k) for k in range(m + 1)]
    # At the very edge SciPy's rounding may decide otherwise.
    assume(all(abs(limit - level) > 1e-9 for limit in limits))
    passed = next((place for place, k in enumerate(errors) if limits[k] > level), len(errors))
    assert found.certified == [str(place) for place in range(len(errors))][:passed]
    assert found.allowed == sum(limit <= level for limit in limits) - 1
    tested = min(passed + 1, len(errors))
    assert (found.to_frame()["result"] != "not tested").tolist() == [k < tested for k in range(len(errors))]
    assert found.name is None if not passed else errors[int(found.name)] == min(errors[:passed])
    assert pickle.loads(pickle.dumps(found)) == found
    text = " ".join(str(found).split())
    assert "fixed beforehand" in text and ("Nothing is guaranteed" in text) == (passed == 0)


def violations(draws, delta, rule):
    """How often a candidate with a risk above the level is certified; half of the risks are just above it."""
    random, level, m = np.random.default_rng(5), 0.1, 300
    risks = np.array([0.06, 0.08, 0.1001, 0.1001, 0.09, 0.1001])
    false = 0
    for _ in range(draws):
        wrong = random.random((m, risks.size)) < risks
        found = rule(wrong, delta, level)
        false += any(risks[int(name)] > level for name in found)
    return false


def in_order(wrong, delta, level):
    y = np.zeros(len(wrong), dtype=int)
    return pm.certify_predictions(y, wrong.astype(int), delta, level=level, vote=False).certified


def best_first(wrong, delta, level):
    """Not valid: the order is that of the examples themselves."""
    order = [str(place) for place in np.argsort(wrong.sum(axis=0))]
    y = np.zeros(len(wrong), dtype=int)
    return pm.certify_predictions(y, wrong.astype(int), delta, level=level, order=order, vote=False).certified


def without_end(wrong, delta, level):
    """Not valid: failures are passed over."""
    limits = pm.clopper_pearson(wrong.sum(axis=0), len(wrong), delta)
    return [str(place) for place in np.flatnonzero(limits <= level)]


@pytest.mark.long
def test_what_passes_holds_and_broken_rules_are_noticed():
    draws, delta = 1000, 0.2
    most = int(binom.ppf(0.999, draws, delta))
    assert 0.1 * delta * draws < violations(draws, delta, in_order) <= most
    for broken in (best_first, without_end):
        assert violations(draws, delta, broken) > most


def test_orders_votes_and_what_a_notebook_shows():
    y = np.arange(400) % 2
    P = np.column_stack([np.where(np.arange(400) < k, 1 - y, y) for k in (0, 8, 100)])
    found = pm.certify_predictions(y, P, names=["<a>", "b", "c"], level=0.1)
    assert found.names[0] == "majority vote of 3" and found.certified == ["majority vote of 3", "<a>", "b"]
    assert found.name == "<a>" and found.to_frame()["result"].tolist()[-1] == "failed"
    assert "<a>" not in found._repr_html_() and found.as_dict()["allowed"] == found.allowed
    for order in (["c", "<a>"], pd.Series(["c", "<a>"], index=[7, 3]), (name for name in ("c", "<a>"))):
        first = pm.certify_predictions(y, P, names=["<a>", "b", "c"], level=0.1, order=order)
        assert first.names == ["c", "<a>"]
    assert first.certified == [] and first.name is None and "c, failed" in " ".join(str(first).split())
    assert first.to_frame()["result"].tolist() == ["failed", "not tested"]
    assert pm.certify_predictions(y, P, level=1e-6, vote=False).allowed == -1
    many = pm.certify_predictions(y, np.column_stack([y] * 30), level=0.1)
    assert len(many.certified) == 31 and "each of 31 candidates errs" in str(many) and "and 21 more" in str(many)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"level": 0.0}, "level is 0.0"),
        ({"level": "x"}, "level is 'x'"),
        ({"order": ["a"]}, "order is given without level"),
        ({"level": 0.1, "choose": 0.2}, "level and choose are both given"),
        ({"level": 0.1, "order": ["a", "a"]}, "order has 'a' more than once"),
        ({"level": 0.1, "order": ["z"]}, "order has 'z'; it must hold names"),
        ({"level": 0.1, "order": []}, "order is empty"),
        ({"level": 0.1, "order": "a"}, "order is 'a'"),
        ({"level": 0.1, "order": np.array(1)}, "order is array"),
        ({"level": 0.1, "order": 5}, "order is 5"),
    ],
)
def test_bad_levels_and_orders_are_one_sentence(options, named):
    with pytest.raises(InputError, match=named):
        pm.certify_predictions([0, 1], {"a": [0, 1], "b": [0, 0]}, **options)
