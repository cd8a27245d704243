"""A level that is fixed beforehand: the tests by hand, what holds in simulations, and what is refused."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import beta, binom

import pacb_models as pm
from pacb_models import InputError


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
    assert [result != "not tested" for result in found._results()] == [k < tested for k in range(len(errors))]
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
    draws, delta = 2000, 0.2
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
