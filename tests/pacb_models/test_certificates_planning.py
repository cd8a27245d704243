"""How many examples a guarantee needs; and after deployment, false alarms over a long time, and how soon a real one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import pacb_models as pm
from pacb_models import InputError
from pacb_models.certificates.monitor import bets, not_begun, step


@pytest.mark.long
@given(
    st.floats(0.02, 0.6),
    st.floats(0, 0.8),
    st.integers(1, 2000),
    st.floats(1e-4, 0.4),
    st.sampled_from([0.3, 0.5, 0.9]),
)
def test_so_many_examples_suffice_and_one_less_does_not(target, part, candidates, delta, chance):
    risk = part * target
    m = pm.sample_size(target, risk, candidates, delta, chance=chance)

    def probability(size):
        counts = np.arange(int(target * size) + 1)  # the limit of more is above the target
        limits = beta.isf(delta / candidates, counts + 1, size - counts)
        most = np.flatnonzero(limits <= target * (1 + 1e-12))
        return binom.cdf(most[-1], size, risk) if most.size else 0.0

    assert probability(m) >= chance - 1e-9
    assert probability(m - 1) < probability(m), "one example less allows one error less"


@pytest.mark.parametrize(
    ("arguments", "options", "named"),
    [
        ((0.05, 0.05), {}, "expected_risk is 0.05, but target is 0.05"),
        ((1.0, 0.5), {}, "target is 1.0; it must lie strictly between"),
        ((2, 0.5), {}, "target is 2; it must be a number from 0 to 1"),
        ((0.5, 0.1), {"chance": 0.0}, "chance is 0.0"),
        ((0.5, 0.1), {"candidates": 0}, "candidates is 0"),
        ((0.5, 0.1), {"candidates": 10**400}, "candidates is 1000.*; it must be a whole number from 1 to 10000"),
        ((0.5, 0.1), {"delta": 1.0}, "delta is 1.0"),
        ((1e-12, 0.0), {}, "more than 1000000000 examples"),
    ],
)
def test_bad_plans_are_one_sentence(arguments, options, named):
    with pytest.raises(InputError, match=named):
        pm.sample_size(*arguments, **options)


# --- after deployment -------------------------------------------------------------------------------------------------


def alarms(bound, risks, sequences, seed, delta=0.2):
    """When each of many sequences has its alarm, with one risk for each step; 0 stands for never."""
    random = np.random.default_rng(seed)
    started, when = np.zeros((sequences, bets(bound).size)), np.zeros(sequences, dtype=int)
    for t, risk in enumerate(risks, start=1):
        started = step(started, t, random.random(sequences) < risk, bound)
        when[(when == 0) & (started.sum(axis=1) + not_begun(t) >= 1.0 / delta)] = t
    return when


@pytest.mark.long
@pytest.mark.parametrize("bound", [0.02, 0.2])
def test_false_alarms_in_ten_thousand_steps(bound):
    """At the guaranteed risk itself there are few; at a risk that is a tenth larger there are many."""
    steps, sequences, delta = 10_000, 1000, 0.2
    assert np.count_nonzero(alarms(bound, [bound] * steps, sequences, 1, delta)) <= delta * sequences
    assert np.count_nonzero(alarms(0.9 * bound, [bound] * steps, sequences, 1, delta)) > delta * sequences


@given(st.lists(st.floats(0, 1), max_size=40), st.integers(0, 40), st.floats(0, 0.9))
def test_a_monitor_is_the_same_in_pieces_and_from_a_file(tmp_path_factory, losses, cut, bound):
    whole = pm.RiskMonitor(bound).update(losses)
    path = tmp_path_factory.mktemp("monitor") / "state.json"
    pm.RiskMonitor(bound).update(losses[:cut]).save(path)
    pieces = pm.RiskMonitor.load(path).update(losses[cut:])
    assert (pieces.wealth, pieces.alarm, pieces.examples) == (whole.wealth, whole.alarm, whole.examples)
    assert pieces.errors == pytest.approx(whole.errors)


X, y = load_breast_cancer(return_X_y=True)


def certified(**options):
    trees = [DecisionTreeClassifier(max_depth=d, random_state=0) for d in (1, 2, 3)]
    return pm.CertifiedClassifier(trees, random_state=0, **options).fit(X[:400], y[:400])


def test_the_monitor_of_a_model():
    model = certified()
    monitor = model.monitor(X[400:], y[400:])
    assert monitor.bound == model.bound_ and monitor.examples == 169 and monitor.alarm is None
    assert monitor.errors == (model.predict(X[400:]) != y[400:]).sum()
    assert "No alarm: " in str(monitor) and "there is ever an alarm is at most 0.05" in str(monitor)
    # The labels are turned: everything is an error.
    again = model.monitor(X[400:], 1 - y[400:], monitor)
    assert again is monitor and monitor.alarm is not None and 169 < monitor.alarm < 250
    assert f"Alarm after {monitor.alarm} examples" in str(monitor) and "<strong>" in monitor._repr_html_()
    assert monitor.plot()._repr_png_().startswith(b"\x89PNG") and "Alarm" in monitor.plot().title()
    assert "the risk is at most 0.05, as guaranteed" in " ".join(str(pm.RiskMonitor(0.05)).split()), "as it was typed"
    for other, named in ((pm.RiskMonitor(0.5), r"is for the bound 0\.5"), (5, "is 5; it must be a RiskMonitor")):
        with pytest.raises(InputError, match=f"monitor {named}"):
            model.monitor(X, y, other)
    with pytest.raises(InputError, match="nothing to draw"):
        pm.RiskMonitor(0.5).plot()


def test_the_monitor_of_refitted_classifiers_claims_no_guarantee(tmp_path):
    for refit in (False, True):
        model = certified(refit=refit)
        model.monitor(X[400:], y[400:]).save(tmp_path / "state.json")
        text = " ".join(str(pm.RiskMonitor.load(tmp_path / "state.json")).split())
        assert ("as guaranteed" in text) is not refit
        own = model.monitor(X[400:], y[400:], pm.RiskMonitor(model.bound_))
        assert own.guaranteed is not refit, "a monitor that was made by hand learns of it"
        assert ("the bound is about the one before it was trained again" in text) is refit


def test_bad_monitors_are_one_sentence(tmp_path):
    for bound in (1.0, -0.1, float("nan"), [0.1, 0.2], "0.1", None, False):
        with pytest.raises(InputError, match="bound is"):
            pm.RiskMonitor(bound)
    for errors in ([2], [float("nan")], [[0, 1]], ["a"]):
        with pytest.raises(InputError, match="errors"):
            pm.RiskMonitor(0.1).update(errors)
    path = tmp_path / "state.json"
    for text in ("{}", "no", '{"bound": 0.1, "delta": 0.05, "examples": 1}'):
        path.write_text(text)
        with pytest.raises(InputError, match="cannot read the state of a monitor"):
            pm.RiskMonitor.load(path)
    with pytest.raises(InputError, match="cannot read"):
        pm.RiskMonitor.load(tmp_path / "none.json")
