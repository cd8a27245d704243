"""``proofs/verify.py``: lines hold whatever their numbers are, proofs are accepted, and more than the truth is not."""

import copy
import json
import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from flint import arb, ctx, fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st
from mpmath import exp, log, mpf

import pacb_models as pm
from pacb_models.commands.program import main
from pacb_models.constants import log_moment_constant
from pacb_models.proofs import Leaf, Proof, files, moments, verify, votes

from .attack import BOUNDS, KINDS, answer, attack, drawn, named, proven, sets
from .mp_reference import PHI, constant, expectation


@pytest.fixture(autouse=True)
def precision():
    """The bits of the balls are a setting of the process: no test inherits another one's."""
    before, ctx.prec = ctx.prec, 106
    yield
    ctx.prec = before


NOBODY = frozenset()


def exact(problem):
    """What the checker reads of a problem."""
    kind, _ = verify.KINDS[problem.kind]
    return kind(json.loads(problem.to_json()), problem.log_constant)


def claims(record, lower=1.0, bound=1.0):
    return record | {"lower_bound": record["lower_bound"] * lower, "bound": record["bound"] * bound}


def changed(record, path, value):
    """A record with another value at a path, and the digest of what it is then."""
    wrong = copy.deepcopy(record)
    holder = wrong
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return named(wrong)


def assert_proven(record, folder):
    code, sentence = answer(record, folder)
    assert code == verify.PROVEN, sentence
    return sentence


def assert_nothing_above_is_proven(record, folder):
    over = record["bound"] / record["lower_bound"] * (1 + 1e-8)
    assert answer(claims(record, over, over * (1 + 1e-6)), folder)[0] == verify.REFUTED
    assert answer(claims(record, 0.9, 1 - 1e-11), folder)[0] == verify.REFUTED


# -- Lines -----------------------------------------------------------------------------------------------------------


def posteriors(rng, problem, count):
    """Random posteriors that keep the constraints."""
    for _ in range(count):
        q = rng.dirichlet(np.full(problem.size, rng.choice([0.2, 1.0, 20.0])))
        if problem.posteriors is None:
            yield q
            continue
        support = problem.posteriors.support
        if support is not None:
            costs, total = support.costs(problem.size)
            chosen = rng.permutation(problem.size)
            q[chosen[np.cumsum(costs[chosen]) > total + 1e-9]] = 0.0
            q = q / q.sum()
            if all(row.values @ q <= row.limit for row in problem.posteriors.rows):
                yield q
            continue
        costs, share = rng.normal(size=problem.size), rng.random()
        vertices = (problem.posteriors.minimise(sign * costs)[0] for sign in (1.0, -1.0))
        yield sum(weight * vertex for weight, vertex in zip((share, 1.0 - share), vertices, strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bound", BOUNDS, ids=str)
def test_a_line_holds_whatever_its_numbers_are(bound, kind):
    rng = np.random.default_rng([3, BOUNDS.index(bound), KINDS.index(kind)])
    size = 6
    problem = drawn(rng, bound, size, sets(rng, size)[kind])
    ctx.prec = int(rng.choice([10, 106]))
    part = verify.Part(exact(problem), NOBODY, NOBODY)
    held = list(posteriors(rng, problem, 40))
    assert held
    assert all(float(part.floor(*[1.0] * len(part.rows)).lower()) <= problem.empirical_risk(q) + 1e-12 for q in held)
    for _ in range(40):
        gamma, theta, tau = np.exp(rng.normal(0.0, 3.0, 3))
        multipliers = np.exp(rng.normal(-4.0, 3.0, len(part.rows)))
        slope, height = part.line(*map(float, [gamma, theta * rng.choice([-1.0, 1.0, 1.0]), tau, *multipliers]))
        if not height.is_finite():
            continue
        steep, low = float(slope.upper()), float(height.lower())
        for q in held:
            T, L = problem.divergence_size(q), problem.empirical_risk(q)
            assert T + steep * L >= low - 1e-9 * (abs(T) + steep * L + abs(low))


@pytest.mark.parametrize("bound", BOUNDS, ids=str)
def test_a_comparison_agrees_with_the_inverse(bound):
    rng = np.random.default_rng([4, BOUNDS.index(bound)])
    problem = drawn(rng, bound)
    read = exact(problem)
    least = 0.0 if problem.order == 1.0 else 1.0
    for _ in range(40):
        L, T = rng.random() * rng.choice([0.0, 1e-3, 1.0]), least + rng.exponential()
        value = float(problem.bound_at(L, T))
        assert read.compare(arb(L), arb(T), arb(value * (1 - 1e-11))) == (True, False)
        if value < 1.0 or problem.distance != "kl":
            assert read.compare(arb(L), arb(T), arb(value * (1 + 1e-11))) == (False, True)


def test_the_edges_of_comparisons():
    assert verify.DISTANCES["kl"](arb(0.5), arb(1)) > 1e300
    assert float(verify.DISTANCES["kl"](arb(0), arb(0.5))) == pytest.approx(np.log(2.0))
    # A budget below zero reaches nothing, whatever the risk is.
    read = exact(pm.BoundProblem([0.1, 0.2], m=100, distance="linear"))
    assert read.compare(arb(0.5), arb(-1), arb(0.4)) == (False, False)
    # A posterior without any risk and budget has the bound zero, which is neither larger nor smaller.
    assert read.compare(arb(0), arb(0), arb(0)) == (True, True)
    # The companion paper's constant may be below one, and a logarithm of I/δ below zero counts as zero.
    problem = pm.BoundProblem([0.1, 0.2], m=1, delta=0.99, distance="ch", divergence="kl", constant="paper")
    assert problem.log_constant < np.log(0.99) and exact(problem).budget(arb(0)).is_zero()


def test_numbers_are_exact():
    read = exact(pm.BoundProblem.from_counts([1, 2], m=3, prior=[0.1, 0.9 + 1e-16]))
    assert read.risks == [fmpq(1, 3), fmpq(2, 3)]
    assert verify.distribution([fmpq(1, 2), fmpq(1, 2) + fmpq(1, 10**10)])[0] == fmpq(10**10, 2 * 10**10 + 2)
    assert sum(read.prior) == 1
    ctx.prec = 8
    part = verify.Part(read, NOBODY, NOBODY)
    for seventh in (fmpq(k, 7) for k in (-3, -2, -1, 1, 2, 3)):
        assert part.cheapest([arb(seventh), arb(1)]).lower().fmpq() < seventh


# -- Proofs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["free", "few", "caps and floors", "rows and caps"])
@pytest.mark.parametrize("bound", BOUNDS, ids=str)
def test_minima_are_proven_and_nothing_above_them(bound, kind, tmp_path):
    rng = np.random.default_rng([6, BOUNDS.index(bound), KINDS.index(kind)])
    _, record = proven(drawn(rng, bound, 6, sets(rng, 6)[kind]))
    sentence = assert_proven(record, tmp_path)
    said = f"proven: no posterior is below {record['lower_bound']}; this posterior has {record['bound']}"
    assert sentence.startswith(said) and sentence.endswith("; the constant is taken as given")
    assert_nothing_above_is_proven(record, tmp_path)


def test_a_tree_of_supports_is_proven(tmp_path):
    rng = np.random.default_rng(8)
    latency = np.array([30.0, 10.0, 20.0, 40.0, 25.0])
    sizes = [pm.support(sizes=[0.1, 0.1, 0.1, 0.2, 0.15], total=0.3), pm.average(latency, at_most=24.0)]
    _, record = proven(drawn(rng, ("renyi", 3.0, "squared"), 5, sizes))
    assert_proven(record, tmp_path)
    assert "split" in record["tree"]
    for cut, said in product(("in", "out"), ("sizes", [1.0])):
        assert answer(changed(record, ("tree", cut), {"empty": said}), tmp_path)[0] == verify.REFUTED


def test_sizes_are_decimals():
    """Three sizes of 0.1 fit into 0.3, although the doubles sum to more."""
    read = exact(pm.BoundProblem([0.1, 0.1, 0.1], m=100, constraints=[pm.support(sizes=[0.1] * 3, total=0.3)]))
    assert verify.Part(read, frozenset({0, 1, 2}), NOBODY).room == 0
    assert verify.leaf_fails(verify.Part, read, {"empty": "sizes"}, {0, 1, 2}, NOBODY, fmpq(1, 10))


def test_the_room_is_what_sizes_can_fill():
    """Beside 0.4 of 1.1 there is room for one classifier of 0.6, and none of 0.8."""
    sizes = [pm.support(sizes=[0.4, 0.6, 0.6, 0.8], total=1.1)]
    part = verify.Part(exact(pm.BoundProblem([0.4, 0.3, 0.2, 0.1], 100, constraints=sizes)), frozenset({0}), NOBODY)
    assert part.room == fmpq(3, 5)
    assert [float(each) for each in part.excess] == pytest.approx([0.3, 0.2, 0.1])
    assert float(part.heaviest([arb(1), arb(2), arb(3)])) == 4.0


def test_caps_that_contradict_need_no_multipliers():
    problem = pm.BoundProblem([0.1, 0.2, 0.3], m=100, constraints=[pm.weights(at_most=0.4), pm.support(at_most=3)])
    for outside, fails in ((frozenset({0}), False), (NOBODY, True)):
        found = verify.leaf_fails(verify.Part, exact(problem), {"empty": []}, NOBODY, outside, fmpq(1, 10))
        assert (found is not None) == fails


def one_leaf(problem, posterior, lines=()):
    """A proof of one leaf, for the bound of a posterior."""
    bound = problem.bound(posterior)
    solution = SimpleNamespace(posterior=np.asarray(posterior), bound=bound, lower_bound=bound * (1 - 1e-12))
    return files.to_record(problem, Proof(Leaf(np.array(lines or np.zeros((0, 3)))), bound), solution)


@pytest.mark.parametrize(
    ("problem", "posterior"),
    [
        (pm.BoundProblem([0.3], m=100), [1.0]),
        (pm.BoundProblem([0.1, 0.2, 0.3, 0.4], m=100, constraints=[pm.weights(at_most=0.25)]), [0.25] * 4),
    ],
)
def test_one_posterior_needs_no_line(problem, posterior, tmp_path):
    made = one_leaf(problem, posterior)
    assert_proven(made, tmp_path)
    assert answer(claims(made, 1 + 1e-9, 1.1), tmp_path)[0] == verify.REFUTED


def test_equal_risks_with_different_caps_are_not_one_classifier(tmp_path):
    """As one classifier they would have the prior's size."""
    problem = pm.BoundProblem([0.2, 0.2], m=100, constraints=[pm.weights(at_most=[0.25, 1.0])])
    size = problem.divergence_size(np.array([0.25, 0.75]))
    assert_proven(one_leaf(problem, [0.25, 0.75], [[0.0, 1.5 / size, size]]), tmp_path)


def test_a_support_of_equal_classifiers_is_counted(tmp_path):
    """One of four equal classifiers has the size 2, not the prior's."""
    problem = pm.BoundProblem([0.2] * 4, m=100, constraints=[pm.support(at_most=1)])
    assert_proven(one_leaf(problem, [1.0, 0.0, 0.0, 0.0], [[0.0, 1.0, 1.0]]), tmp_path)
    two = one_leaf(problem, [0.5, 0.5, 0.0, 0.0], [[0.0, 1.0, 1.0]])
    assert answer(two, tmp_path) == (verify.REFUTED, "refuted: the posterior does not keep the constraints")


def test_both_ends_of_a_piece_are_looked_at(monkeypatch):
    read, value = exact(pm.BoundProblem([0.1, 0.2], m=100)), fmpq(1, 5)
    for slope, height, fails in [(0, 100, False), (400, 41, True), (-400, -79, True)]:
        monkeypatch.setattr(verify.Part, "pieces", lambda *_: [(fmpq(1, 10), value, arb(slope), arb(height))])  # noqa: B023
        assert (verify.leaf_fails(verify.Part, read, {}, NOBODY, NOBODY, value) is not None) == fails


def test_the_proof_by_hand_is_what_the_page_says(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "proofs.md").read_text()
    text, said = re.search(r'```json title="hand.json"\n(.*?)```.*?\nhand.json: (.*?)\n', page, re.DOTALL).groups()
    record = json.loads(text)
    assert answer(record, tmp_path) == (verify.PROVEN, said)
    read = verify.Stated(record["problem"], record["log_constant"])
    slope, height = verify.Part(read, NOBODY, NOBODY).line(*record["tree"]["lines"][0])
    assert (float(slope), float(height)) == pytest.approx((4.0, 1.4), rel=1e-15)
    assert float(read.budget(arb(1))) == pytest.approx(0.25, rel=1e-14)
    above = record | {"lower_bound": 0.3500000001, "bound": 0.3500000002}
    assert answer(above, tmp_path)[0] == verify.REFUTED


# -- Votes -----------------------------------------------------------------------------------------------------------


def votes_of(seed, given_errors=True):
    """A random problem of votes, with a cap, floors and a row for every second one."""
    rng = np.random.default_rng([12, seed])
    size, m = 6, 150
    errors = rng.random((m, size)) < rng.uniform(0.1, 0.4, size)
    divergence, order, distance = BOUNDS[seed % len(BOUNDS)]
    caps, row = pm.weights(at_most=0.4, at_least=0.02), pm.average(np.arange(6.0), at_most=2.4)
    arguments = {"distance": distance, "divergence": divergence, "constraints": [caps, row] * (seed % 2)}
    arguments |= {"order": order} if divergence == "renyi" else {}
    problem = pm.TandemProblem.from_errors(errors, **arguments)
    return problem if given_errors else pm.TandemProblem(problem.tandem_risks, m, **arguments)


@pytest.mark.parametrize("seed", range(2 * len(BOUNDS)))
def test_minima_of_votes_are_proven_and_nothing_above_them(seed, tmp_path):
    solution, record = proven(votes_of(seed, given_errors=seed % 3 > 0))
    assert_proven(record, tmp_path)
    assert record["lower_bound"] >= solution.bound * (1 - 1e-6)
    assert_nothing_above_is_proven(record, tmp_path)


@pytest.mark.parametrize("seed", range(len(BOUNDS)))
def test_a_line_for_votes_holds_whatever_its_numbers_are(seed):
    rng = np.random.default_rng([13, seed])
    problem = votes_of(seed, given_errors=seed % 3 > 0)
    part = votes.PairLines(exact(problem), NOBODY, NOBODY)
    held = list(posteriors(rng, problem, 30))
    for _ in range(30):
        numbers = np.exp(rng.normal(0.0, 3.0, 3)).tolist() + np.exp(rng.normal(-4.0, 3.0, len(part.rows))).tolist()
        point = rng.dirichlet(np.full(problem.size, 0.5)) * rng.choice([0.0, 0.9, 1.0])
        slope, height = (float(each.mid()) for each in part.line(*numbers, *point.tolist()))
        for q in held:
            V, s = problem.counted(problem.divergence_size(q)), problem.empirical_risk(q)
            assert V + slope * s >= height - 1e-9 * (abs(V) + slope * s + abs(height))
    assert all(float(part.floor().lower()) <= problem.empirical_risk(q) + 1e-12 for q in held)


def test_what_a_matrix_lacks_is_paid_for():
    """[[0, 0.1], [0.1, 0]] has the eigenvalue -0.1, and is below its tangent at (0.5, 0.5)."""
    swap = [[fmpq(0), fmpq(1)], [fmpq(1), fmpq(0)]]
    assert votes.indefinite(swap, fmpq(1, 2)) == "tandem_risks are not positive semidefinite"
    assert votes.indefinite(swap, fmpq(3, 2)) is None
    assert votes.indefinite([[fmpq(0)]], fmpq(0)) == ""
    pairs = exact(pm.TandemProblem([[0.2, 0.1], [0.1, 0.2]], m=100))
    assert pairs.shift == 2 * sum(pairs.risks) / 2**52
    pairs.matrix = fmpq_mat(2, 2, [0, fmpq(1, 10), fmpq(1, 10), 0])
    for pairs.shift, holds in ((fmpq(1, 10), True), (fmpq(0), False)):
        slope, height = votes.PairLines(pairs, NOBODY, NOBODY).line(100.0, 4.0, 1.0, 0.5, 0.5)
        gaps = [2 * (w * w + (1 - w) ** 2) + float(slope) * 0.2 * w * (1 - w) - float(height) for w in (0.0, 0.5, 1.0)]
        assert (min(gaps) >= 0.0) == holds
    # The eigenvalue -0.1 twice: no tangent is farther above, wherever it is taken.
    pairs.matrix = fmpq_mat(2, 2, [fmpq(-1, 10), 0, 0, fmpq(-1, 10)])
    for pairs.shift, holds in ((fmpq(1, 10), True), (fmpq(0), False)):
        slope, height = votes.PairLines(pairs, NOBODY, NOBODY).line(100.0, 4.0, 1.0, 0.0, 0.0)
        assert (2.0 - 0.1 * float(slope) >= float(height)) == holds


def test_votes_that_never_err_together_are_proven(tmp_path):
    """A matrix of zeros has no pivot above zero."""
    assert_proven(proven(pm.TandemProblem(np.zeros((2, 2)), m=100))[1], tmp_path)


@pytest.mark.parametrize(
    "path, value, says",
    [
        (("problem", "errors"), None, "proven"),
        (("problem", "errors", 0), "111111", "errors are not the risks"),
        (("problem", "errors", 0), "11111", "lengths"),
        (("problem", "errors", 0), "22222", "substring"),
        (("problem", "m"), 151, "m examples"),
        (("problem", "tandem_risks", 0, 1), 0.5, "errors are not the risks"),
        (("problem", "tandem_risks"), [[0.5, 0.1], [0.2, 0.5]], "m examples"),
        (("tree", "lines", 0, 4), -1.0, "weight for each"),
        (("tree", "lines", 0), [1.0, 1.0, 1.0], "weight for each"),
    ],
)
def test_nonsense_about_votes_is_undecided(path, value, says, tmp_path):
    code, sentence = answer(changed(proven(votes_of(0))[1], path, value), tmp_path)
    assert (code, says in sentence) == (verify.PROVEN if says == "proven" else verify.UNDECIDED, True), sentence


def test_a_matrix_that_no_errors_have_is_refuted(tmp_path):
    _, record = proven(votes_of(0))
    without = changed(record, ("problem", "errors"), None)
    for other, code, said in ((0.9, verify.REFUTED, "positive semidefinite"), (0.8, verify.UNDECIDED, "symmetric")):
        wrong = changed(without, ("problem", "tandem_risks", 0, 1), 0.9)
        found = answer(changed(wrong, ("problem", "tandem_risks", 1, 0), other), tmp_path)
        assert (found[0], said in found[1]) == (code, True), found


def test_the_commands_take_votes(tmp_path, capsys):
    problem, out = tmp_path / "votes.json", tmp_path / "proof.json"
    problem.write_text(votes_of(1).to_json())
    assert main(["prove", str(problem), "--out", str(out)]) == 0
    assert main(["verify", str(out)]) == 0
    assert capsys.readouterr().out.count("proven: no posterior is below") == 2
    assert json.loads(out.read_text())["problem"] == json.loads(problem.read_text())


@pytest.mark.long
@given(st.sampled_from(BOUNDS), st.sampled_from(KINDS), st.integers(0, 10**9))
def test_proofs_are_accepted_and_changed_ones_claim_no_more_than_the_truth(tmp_path_factory, bound, kind, seed):
    attack(bound, kind, seed, tmp_path_factory.getbasetemp())


# -- Nonsense --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def record():
    problem = pm.BoundProblem([0.1, 0.2, 0.3], m=100, constraints=[pm.average([1.0, 2.0, 3.0], at_most=2.5)])
    return proven(problem)[1]


@pytest.mark.parametrize(
    "path, values, says",
    [
        ("format", ["proof"], "format"),
        ("version", [2], "version"),
        ("problem problem_kind", ["direct"], "not about a bound"),
        ("problem distance", ["mine"], "not covered"),
        ("problem divergence", ["mine"], "not covered"),
        ("problem schema", [99], "not covered"),
        ("problem m", [0, 99.5], "out of range"),
        ("problem delta", [1.0, 0.0], "out of range"),
        ("problem order", [3.0], "order"),
        ("problem risks 0", ["0.1", float("inf")], "finite"),
        ("problem risks 0", [-1e-300, 1.3], "between 0 and 1"),
        ("problem risks", [[]], "between 0 and 1"),
        ("problem errors", [[10, 20, 31]], "errors"),
        ("problem prior", [[0.5, 0.5, 0.0], [0.5, 0.5, 0.5], [1.5, 0.5, -1.0]], "no distribution"),
        ("problem prior", [[0.5, 0.5]], "for each classifier"),
        ("problem constraints 0 kind", ["mine"], "'mine'"),
        ("problem constraints 0", [{"kind": "average", "values": [1.0, 2.0, 3.0], "atmost": 2.5}], "not covered"),
        ("problem constraints 0", [{"kind": "support", "at_most": 2, "total": 3}], "two supports"),
        ("problem constraints 0", [{"kind": "support", "sizes": [1, 1, 1], "at_most": 3}], "two supports"),
        ("problem constraints", [[{"kind": "support", "at_most": 3}] * 2], "two supports"),
        ("problem constraints 0 values", [[1.0, 2.0]], "for each classifier"),
        ("problem constraints 0 values", [None], "finite"),
        ("posterior weights", [[0.5, 0.5]], "classifiers"),
        ("posterior weights", [[0.5, 0.2, 0.2], [0.5, 0.7, -0.2]], "no distribution"),
        ("posterior classifiers", [[0, 1, 1], [0, 1, 3], [0, 1, True]], "classifiers"),
        ("lower_bound", [float("nan")], "finite"),
        ("log_constant", ["1.0", True], "finite"),
        ("tree lines 0 0", [-1.0], "slope"),
        ("tree lines 0 2", [-1.0], "size"),
        ("tree lines 0 1", [10**400], ""),
        ("tree lines 0 3", [-1.0], "multiplier"),
        ("tree lines 0", [[1.0, 1.0, 1.0]], "multiplier"),
        ("tree floor", [[]], "multiplier"),
        ("tree", [{"split": 3, "in": {}, "out": {}}], "classifier"),
        ("tree", [{"split": 0, "in": {"empty": "sizes"}}], "out"),
        ("tree", [{}], "lines"),
    ],
)
def test_nonsense_is_undecided(record, path, values, says, tmp_path):
    for value in values:
        keys = [int(key) if key.isdigit() else key for key in path.split()]
        code, sentence = answer(changed(record, keys, value), tmp_path)
        assert (code, says in sentence) == (verify.UNDECIDED, True), (value, sentence)


@pytest.mark.parametrize(
    "text", [b"", b"[" * 10**6, b'{"a":' * 10**5, b"\xff\xfe\x00", b'{"format": ' + b"9" * 5000 + b"}", b"NaN"]
)
def test_what_is_no_json_is_undecided(text, tmp_path):
    path = tmp_path / "proof.json"
    path.write_bytes(text)
    code, sentence = verify.verify(path)
    assert (code, sentence[:43], "\n" in sentence) == (2, "undecided: it is no proof that can be read ", False)


def test_a_name_that_stands_twice_is_no_proof(record, tmp_path):
    text = json.dumps(record)
    said = "undecided: it is no proof that can be read (ValueError: a name stands twice in an object)"
    for twice in (f'{{"lower_bound": 0.0, {text[1:]}', text.replace('"m": 100', '"m": 1000000, "m": 100')):
        path = tmp_path / "proof.json"
        path.write_text(twice)
        assert verify.verify(path) == (verify.UNDECIDED, said)


def test_another_problem_has_another_digest(record, tmp_path):
    wrong = record | {"problem": record["problem"] | {"delta": 0.06}}
    assert "digest" in answer(wrong, tmp_path)[1]


def test_a_posterior_must_keep_the_constraints(record, tmp_path):
    for weights in ([0.1, 0.1, 0.8], [0.25 - 1e-7, 1e-8, 0.75 + 9e-8]):
        wrong = record | {"posterior": {"classifiers": [0, 1, 2], "weights": weights}, "bound": 1.0}
        code, sentence = answer(wrong, tmp_path)
        assert (code, "keep" in sentence) == (verify.REFUTED, True)
    near = record | {"posterior": {"classifiers": [0, 2], "weights": [0.25 - 1e-12, 0.75 + 1e-12]}, "bound": 0.999}
    code, sentence = answer(near, tmp_path)
    assert (code, "breaks a constraint by 1.3e-12" in sentence) == (verify.PROVEN, True), sentence


def test_a_lower_bound_above_the_posterior_is_refuted_at_once(tmp_path):
    """Caps of which three sum to less than one leave no posterior, so that any lower bound would be vacuous."""
    problem = pm.BoundProblem([0.1, 0.2, 0.3], m=100, constraints=[pm.weights(at_most=1.0 / 3.0)])
    made = claims(one_leaf(problem, np.full(3, 1.0 / 3.0)), 1 + 1e-8)
    assert answer(made, tmp_path) == (verify.REFUTED, "refuted: the lower bound is above the bound of the posterior")


def test_balls_that_do_not_decide_are_no_proof(record, monkeypatch, tmp_path):
    monkeypatch.setattr(verify, "PRECISIONS", (4, 5))
    code, sentence = answer(record, tmp_path)
    assert (code, sentence) == (verify.UNDECIDED, "undecided: balls of 5 bits do not decide a comparison")


# -- The program -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """Runs a checker, which is what its name says, with no packages but python-flint."""
    import flint

    folder = tmp_path_factory.mktemp("alone")
    packages = Path(flint.__file__).parents[1]
    for name in ("flint", "python_flint.libs"):
        if (packages / name).exists():
            os.symlink(packages / name, folder / name)
    for module in (verify, votes, moments):
        (folder / Path(module.__file__).name).write_bytes(Path(module.__file__).read_bytes())

    def run(*words, script="verify.py"):
        code = (
            "import sys; sys.path.insert(0, sys.argv[1])\n"
            "for name in ('numpy', 'scipy', 'pacb_models'):\n try: __import__(name)\n except ImportError: continue\n"
            " else: sys.exit(name)\nimport runpy; sys.argv = sys.argv[2:]\n"
            "runpy.run_path(sys.argv[0], run_name='__main__')"
        )
        command = [sys.executable, "-I", "-S", "-c", code, str(folder), str(folder / script), *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=60)

    return run


@pytest.mark.outside
def test_it_runs_without_our_package_and_numpy(alone, record, tmp_path):
    good, bad, text = (tmp_path / name for name in ("good.json", "bad.json", "text.json"))
    good.write_text(json.dumps(record))
    bad.write_text(json.dumps(claims(record, 1.1, 1.2)))
    text.write_text("{" * 5)
    done = alone(good)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{good}: proven: no posterior is below {record['lower_bound']}; ")
    pairs = tmp_path / "votes.json"
    pairs.write_text(json.dumps(proven(votes_of(0))[1]))
    for script, code, said in [("votes.py", 0, ": proven: "), ("verify.py", 2, "proofs about votes need votes.py")]:
        done = alone(pairs, script=script)
        assert (done.returncode, done.stderr, said in done.stdout) == (code, "", True)
    done = alone(good, script="moments.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("the constant is large enough: at no risk the one-sided moment is larger\n")
    for words, code, said in [
        ([good, bad], 1, "refuted: lines leave L = "),
        ([good, text], 2, "undecided: it is no proof that can be read"),
        ([text, bad], 1, "refuted"),
        ([tmp_path / "none.json"], 2, "No such file"),
        ([], 2, ""),
    ]:
        done = alone(*words)
        assert (done.returncode, done.stderr, said in done.stdout) == (code, "", True)


def test_it_is_short_and_imports_nothing_of_ours():
    lines = Path(verify.__file__).read_text().splitlines()
    assert len(lines) <= 350
    imported = {line.split()[1].split(".")[0] for line in lines if line.startswith(("import ", "from "))}
    assert imported - {"flint"} <= sys.stdlib_module_names


def test_the_command_verifies(record, tmp_path, pacb):
    path = tmp_path / "proof.json"
    for made, code, said in [(record, 0, "proven"), (claims(record, 1.1, 1.2), 1, "refuted"), ({}, 2, "undecided")]:
        path.write_text(json.dumps(made))
        assert pacb("verify", path, code=code).out.startswith(f"{path}: {said}: ")


@pytest.mark.parametrize("as_json", [False, True])
def test_the_command_proves(as_json, tmp_path, pacb):
    problem = pm.BoundProblem([0.1, 0.2, 0.3], m=100, distance="squared")
    given, out = tmp_path / ("problem.json" if as_json else "risks.csv"), tmp_path / "proof.json"
    given.write_text(problem.to_json() if as_json else "0.1\n0.2\n0.3\n")
    words = [] if as_json else ["--m", "100", "--distance", "squared"]
    assert pacb(f"prove {given}", *words, "--out", out).out.startswith(f"{out}: proven: no posterior is below 0.")
    assert verify.verify(out)[0] == verify.PROVEN


def test_solve_writes_its_proof(tmp_path, pacb):
    risks, out = tmp_path / "risks.csv", tmp_path / "proof.json"
    risks.write_text("0.1\n0.2\n0.3\n")
    pacb(f"solve {risks} --m 100 --proof {out}")
    assert verify.verify(out)[0] == verify.PROVEN
    for command, options in (("prove", "--direct --out"), ("solve", "--solver ipopt --proof")):
        said = pacb(f"{command} {risks} --m 100 {options} {tmp_path}/none.json", code=2).err
        assert said.startswith(f"pacb {command}: solver ")
        assert said.endswith("has no proof of its minimum that a file can hold.\n")
        assert not (tmp_path / "none.json").exists()


@pytest.mark.parametrize(
    "words, said",
    [
        ("risks.csv --out p.json", "--m is missing; a file of risks needs the number of examples."),
        ("problem.json --m 3 --out p.json", "--m needs a file of risks; a problem as JSON has its own."),
        ("problem.json --out p.json", "cannot read 'problem.json': No such file or directory."),
        ("risks.csv --m 3 --out .", "--out is '.'; it cannot be written there."),
    ],
)
def test_bad_input_of_prove_is_said_in_one_line(words, said, tmp_path, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "risks.csv").write_text("0.1\n")
    refused(f"pacb prove: {said}\n", f"prove {words}")


# -- The constant ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [1, 2, 7, 20])
@pytest.mark.parametrize(
    "divergence, distance", [("kl", "kl"), ("kl", "linear"), ("chi2", "linear"), ("chi2", "squared")]
)
def test_a_formula_is_the_supremum(divergence, distance, m):
    supremum = float(log(constant(distance, m, divergence, 2.0, "exact")))
    limit = float(moments.above(m, distance, None if divergence == "kl" else fmpq(2)))
    assert supremum - 1e-12 <= limit <= supremum + 1e-9


def judged(bound, m, kind, by=0.0):
    """The answer on a constant of the package, whose logarithm is changed by a number."""
    divergence, order, distance = bound
    number = log_moment_constant(distance, m, kind, divergence, order)
    return moments.judge(m, distance, None if divergence == "kl" else verify.exact(order), verify.exact(number + by))[0]


@pytest.mark.parametrize("m", [1, 2, 3, 9, 30])
@pytest.mark.parametrize("bound", [*BOUNDS, *product(["renyi"], [1.1, 20.0], ["linear", "squared"])], ids=str)
def test_constants_are_large_enough_and_not_much_larger(bound, m):
    """Proven: one-sided ones are above the supremum by 2e-12 at most, two-sided ones are larger."""
    assert judged(bound, m, "exact") == judged(bound, m, "one-sided") == verify.PROVEN
    assert judged(bound, m, "one-sided", -5.0) == verify.REFUTED
    # "relative" has the constant of kl; the one-sided moment of kl with KL is nearly the same everywhere.
    if bound[2] != "relative" and (bound[1:] != (1.0, "kl") or m == 1):
        assert judged(bound, m, "one-sided", -2e-12) == verify.REFUTED


@pytest.mark.long
def test_a_constant_of_many_examples_is_large_enough():
    assert judged(("chi2", 2.0, "kl"), 1500, "one-sided") == verify.PROVEN
    assert judged(("chi2", 2.0, "kl"), 1500, "one-sided", -2e-12) == verify.REFUTED


@pytest.mark.parametrize("bound", BOUNDS, ids=str)
def test_no_moment_on_an_interval_is_above_its_limits(bound):
    divergence, order, distance = bound
    m = 12
    terms = moments.Terms(m, distance, None if divergence == "kl" else verify.exact(order))
    for a, width in [(0.0, 0.03), (0.2, 0.1), (0.51, 0.01), (0.75, 1e-3), (0.9, 0.05)]:
        low, high = (fmpq(*each.as_integer_ratio()) for each in (a, a + width))
        limits = [terms.largest(low, high, arb(least), together) for least, together in ((-99, 1), (99, 3))]
        limits += [terms.taylor(low, high)] if a > 0 else []
        for share in (fmpq(0), fmpq(1, 3), fmpq(1, 2), fmpq(1)):
            risk = low + share * (high - low)
            if risk > 0:
                assert all(not moments.below(terms, risk) > limit for limit in limits)
    point = terms.taylor(fmpq(3, 10), fmpq(3, 10))
    assert float(point) == pytest.approx(float(moments.below(terms, fmpq(3, 10))), abs=1e-12)


@pytest.mark.parametrize("distance", ["squared", "kl", "pinsker", "ch"])
def test_the_one_sided_moment_is_a_sum(distance):
    m, l = 9, mpf(3) / 10
    part = {k: PHI[distance](mpf(k) / m, l) if k < m * l else mpf(0) for k in range(m + 1)}
    rate = 2 * m - 1 if distance == "ch" else m
    found = moments.below(moments.Terms(m, distance, None), fmpq(3, 10))
    expected = expectation(m, l, lambda _, k: exp(rate * part[k]))
    assert float(found) == pytest.approx(float(log(expected)), abs=1e-12)
    found = moments.below(moments.Terms(m, distance, fmpq(3)), fmpq(3, 10))
    expected = expectation(m, l, lambda _, k: part[k] ** mpf("1.5"))
    assert float(found) == pytest.approx(float(log(expected)), abs=1e-12)


def test_the_paper_s_constants_of_one_example_are_too_small():
    """Its squared and sixth-degree figures; the package's page of errata has them."""
    for distance, order, number in (("squared", fmpq(2), log(mpf(1) / 16)), ("ch", None, log(mpf("0.9334")))):
        code, sentence = moments.judge(1, distance, order, verify.exact(float(number)))
        assert code == verify.REFUTED and sentence.startswith("the constant is too small: at l = ")


def test_the_command_judges_constants(tmp_path, pacb):
    path = tmp_path / "proof.json"
    for m, code, said in ((100, 0, "large enough: "), (20_000, 2, "not recomputed for more than 10000 examples\n")):
        path.write_text(json.dumps(proven(pm.BoundProblem([0.1, 0.2], m, divergence="kl"))[1]))
        assert f"\n{path}: the constant is {said}" in f"\n{pacb(f'verify {path} --constant', code=code).out}"
