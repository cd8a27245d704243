"""Bounds for weighted votes: values in fifty digits, minima against brute force, proofs, and validity."""

import math
import pickle
import re
from dataclasses import replace
from itertools import pairwise, product

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import pacb_models as pm
from pacb_models.proofs import Leaf, Proof, ProofError, check_proof
from pacb_models.solvers.exact.interior import Interior
from pacb_models.solvers.exact.tandem import TandemFrontier

from .mp_reference import budget, invert, numbers, statistic

KINDS = [
    *(("chi2", 2.0, distance) for distance in ("linear", "squared", "kl")),
    *(("renyi", order, "kl") for order in (1.2, 3.0, 5.0)),
    *(("kl", 2.0, distance) for distance in ("linear", "squared", "kl", "pinsker", "ch", "relative")),
]


def drawn(seed, size, m, **arguments):
    """Errors that hang together, with any prior."""
    random = np.random.default_rng(seed)
    hard = random.random((m, 1)) ** random.uniform(0.5, 3.0)
    errors = random.random((m, size)) * hard < random.uniform(0.02, 0.6, size) * hard.mean()
    prior = random.random(size) + 0.01
    return pm.TandemProblem.from_errors(errors, prior=prior / prior.sum(), **arguments)


def exact_bound(problem, q):
    """The bound in fifty digits, of all pairs one by one, with the package's constant."""
    with mpmath.workdps(50):
        pairs, prior = ([a * b for a, b in product(numbers(each), repeat=2)] for each in (q, problem.prior))
        s = mpmath.fdot(pairs, numbers(problem.tandem_risks.ravel()))
        names = problem.distance, problem.divergence, problem.order
        D, constant = statistic(pairs, prior, *names[1:]), mpmath.exp(mpf(problem.log_constant))
        return invert(problem.distance, s, budget(D, constant, problem.m, problem.delta, *names))


@pytest.mark.parametrize(("divergence", "order", "distance"), KINDS)
def test_values_gradients_and_the_definition_by_pairs(divergence, order, distance):
    problem = drawn(5, 6, 150, divergence=divergence, order=order, distance=distance)
    random = np.random.default_rng(1)
    for _ in range(5):
        q, move = random.dirichlet(np.ones(6)), random.normal(size=6)
        assert problem.bound(q) == pytest.approx(float(exact_bound(problem, q)), rel=1e-12)
        move -= move.mean()
        ends = [q + sign * 1e-6 * move for sign in (1.0, -1.0)]
        after, before = (problem.bound_at(problem.empirical_risk(end), problem.divergence_size(end)) for end in ends)
        assert (after - before) / 2e-6 == pytest.approx(problem.gradient(q) @ move, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize(("divergence", "order", "distance"), KINDS)
def test_the_certified_minimum_against_a_grid(divergence, order, distance):
    """Three classifiers: no point of a fine grid is below what is proven, and the best is where the solver is."""
    for seed, constraints in enumerate([[], [pm.weights(at_most=0.6)], [pm.average([1, 2, 4], at_most=2.0)]]):
        arguments = {"divergence": divergence, "order": order, "distance": distance, "constraints": constraints}
        problem = drawn(seed, 3, 40 + 100 * seed, delta=0.1, **arguments)
        solution = pm.solve(problem, merge=False)
        assert (solution.solver, solution.status, solution.is_global) == ("frontier", "optimal", True)
        grid = [np.array([a, b * (1 - a), (1 - a) * (1 - b)]) for a, b in product(np.linspace(0.0, 1.0, 61), repeat=2)]
        least = min(problem.bound(q) for q in grid if not constraints or problem.posteriors.violation(q) <= 0.0)
        assert least >= solution.lower_bound * (1 - 1e-12)
        assert least - 0.02 <= solution.bound <= least + 1e-12


def test_weights_that_rows_push_to_nothing_do_not_hold_up_the_search():
    random = np.random.default_rng(5)
    rows = [pm.average(random.random(6).round(2), at_most=round(random.uniform(0.3, 0.5), 2)) for _ in range(3)]
    problem = drawn(5, 6, 3000, divergence="kl", distance="relative", constraints=[pm.weights(at_most=0.6), *rows])
    solution = pm.solve(problem, merge=False)
    assert solution.is_global and solution.iterations < 100


@pytest.mark.parametrize(
    ("matrix", "m", "delta", "prior"),
    [
        # Where classifiers of little prior join, the slope bends sharply along a frontier of the tangent's risks.
        (
            [[0.107, 0.06, 0.074], [0.06, 0.195, 0.119], [0.074, 0.119, 0.334]],
            1000,
            0.9,
            [1.8568e-3, 0.998121, 2.22e-5],
        ),
        # The slope at the minimum is 1e9 times the largest risk.
        ([[0.0, 0.0, 0.0], [0.0, 0.9, 0.4], [0.0, 0.4, 0.5]], 10**9, 0.05, [1e-9, 0.9, 0.1 - 1e-9]),
    ],
)
def test_classifiers_of_next_to_no_prior_do_not_hide_the_minimum(matrix, m, delta, prior):
    solution = pm.solve(pm.TandemProblem(matrix, m, delta=delta, prior=prior))
    assert solution.is_global and not solution.local_minima


@pytest.mark.parametrize(
    ("row", "prior"),
    [
        (pm.average([0.5, 1.1, 0.9], at_most=0.6), [1e-9, 0.4, 0.6 - 1e-9]),
        (pm.average([900.0, -600.0, 300.0], at_least=800.0), [1e-7, 0.9, 0.1 - 1e-7]),
    ],
)
@pytest.mark.parametrize(("divergence", "order"), [("kl", 2.0), ("chi2", 2.0), ("renyi", 3.0)])
def test_rows_that_the_prior_breaks(row, prior, divergence, order):
    errors = np.random.default_rng(1).random((60, 3)) < [0.4, 0.2, 0.3]
    arguments = {"prior": prior, "divergence": divergence, "order": order, "constraints": [row]}
    solution = pm.solve(pm.TandemProblem.from_errors(errors, distance="linear", **arguments))
    assert solution.is_global and solution.iterations < 150


def test_next_to_the_prior_the_risk_counts_for_little():
    """At the minimum β is below one."""
    assert pm.solve(drawn(0, 3, 4, delta=1e-8, distance="squared")).is_global


def test_a_row_that_all_posteriors_keep_has_no_multiplier():
    """Where there is no slack it would grow without end."""
    problem = drawn(3, 3, 100, constraints=[pm.average([2.0, 2.0, 2.0], at_least=2.0)])
    for strength in (1.0, 1e10):
        q, _, multipliers = Interior(problem).at(strength)
        assert multipliers.tolist() == [0.0]
        assert q == pytest.approx(Interior(problem.replace(constraints=[])).at(strength)[0], abs=1e-12)


def test_rounding_that_outweighs_the_curvature_of_the_size_ends_the_steps(monkeypatch):
    def refuse(*_, **__):
        raise np.linalg.LinAlgError

    problem = drawn(3, 3, 100)
    monkeypatch.setattr("pacb_models.solvers.exact.interior.cho_factor", refuse)
    assert Interior(problem).at(1e13)[0] == pytest.approx(problem.prior)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
def test_attack(seed):
    """Random problems against many starts of a method that knows nothing of proofs."""
    random = np.random.default_rng(seed)
    for _ in range(4):
        divergence, order, distance = KINDS[random.integers(len(KINDS))]
        size, m = int(random.choice([2, 5, 12, 50])), int(random.choice([10, 60, 400]))
        delta = float(10 ** random.uniform(-4, -0.2))
        arguments = {"divergence": divergence, "order": order, "distance": distance, "delta": delta}
        problem = drawn(int(random.integers(10**6)), size, m, **arguments)
        solution = pm.solve(problem)
        other = pm.solve(problem, "softmax", starts=3)
        assert solution.is_global, arguments
        assert solution.lower_bound <= min(other.bound, problem.bound(problem.prior)) * (1 + 1e-12)
        near = [(1 - t) * solution.posterior + t * q for t in (0.03, 0.3) for q in random.dirichlet(np.ones(size), 20)]
        assert min(map(problem.bound, near)) >= solution.lower_bound


EVERY_BOUND = "frontier fixed-point ipopt cyipopt casadi dnlp slsqp trust-constr".split()
SCIP = [pytest.param("scip", marks=pytest.mark.outside)]
NO_ROWS = "mirror spg lbfgsb frank-wolfe softmax".split()
LIMITS = [pm.weights(at_most=0.4), pm.average(range(8), at_most=2.5)]


@pytest.mark.parametrize("constraints", [[], LIMITS], ids=["free", "constrained"])
@pytest.mark.parametrize("name", EVERY_BOUND + NO_ROWS + SCIP)
def test_who_can_agrees_with_the_proven_minimum(name, constraints):
    problem = drawn(3, 8, 200, constraints=constraints)
    if constraints and name in NO_ROWS:
        with pytest.raises(pm.UnsupportedProblemError, match="does not honour constraints on averages"):
            pm.solve(problem, name)
        return
    proven, solution = pm.solve(problem), pm.solve(problem, name)
    assert proven.is_global and solution.status == "optimal"
    assert solution.bound == pytest.approx(proven.bound, rel=1e-8)


@pytest.mark.outside
def test_scip_minimises_a_bound_that_is_no_linear_function_of_its_variables():
    problem = drawn(3, 4, 200, divergence="chi2", distance="linear")
    assert pm.solve(problem, "scip").bound == pytest.approx(pm.solve(problem).bound, rel=1e-8)


@pytest.mark.parametrize(
    ("name", "lacks"),
    [("cvxpy", "cvxpy_bound"), ("ccp", "cvxpy_bound"), ("subset-search", "classify"), ("direct", "worst_case")],
)
def test_who_cannot_names_the_method_that_is_missing(name, lacks):
    with pytest.raises(pm.UnsupportedProblemError, match=rf"lacks the method `{lacks}` \(class TandemProblem\)"):
        pm.solve(drawn(3, 4, 50), name)


def test_the_fixed_point_descends():
    solution = pm.solve(drawn(11, 20, 300, divergence="kl"), "fixed-point", trace=True)
    bounds = [point.bound for point in solution.details["trace"]]
    assert all(after <= before + 1e-12 for before, after in pairwise(bounds))


# --- proofs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("divergence", ["chi2", "kl"])
def test_lies_about_the_tangent_are_refused_or_harmless(divergence):
    problem = drawn(2, 5, 120, divergence=divergence)
    solution = pm.solve(problem)
    lines, random = solution.proof.tree.lines, np.random.default_rng(0)
    assert check_proof(problem, solution.proof) == solution.lower_bound
    # The least bound that any proof may claim is below all of these.
    truth = min([solution.bound, *(problem.bound(q) for q in random.dirichlet(np.ones(5), 200))])
    for _ in range(60):
        lie = lines * np.exp(random.normal(scale=random.choice([1e-6, 0.01, 1.0]), size=lines.shape))
        lie[:, 3:] *= random.random(lie[:, 3:].shape) < 0.9
        assert check_proof(problem, Proof(Leaf(lie), 1.0)) <= truth * (1 + 1e-12)
    for column, value in ((3, -0.1), (3, math.nan), (2, -1.0), (0, -1.0)):
        lie = lines.copy()
        lie[0, column] = value
        with pytest.raises(ProofError):
            check_proof(problem, Proof(Leaf(lie), solution.bound))
    with pytest.raises(ProofError, match="weight q₀ ≥ 0 for each classifier"):
        check_proof(problem, Proof(Leaf(lines[:, :-1]), solution.bound))


@pytest.mark.parametrize("constraints", [[], [pm.weights(at_most=0.6)], [pm.average([1, 2, 4], at_most=2.0)]])
def test_a_steep_line_proves_the_smallest_risk(constraints):
    problem = drawn(0, 3, 100, constraints=constraints)
    frontier = TandemFrontier(problem)
    frontier.lines(np.array([20.0]))
    risk = problem.empirical_risk(frontier.posterior(20.0))
    assert risk * (1 - 1e-6) <= frontier.floor <= risk


# --- the vote --------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_bounds_hold_for_votes_that_see_the_sample():
    """A thousand samples, δ = .2, weights that minimise the bound on them; with a constant of δ it fails."""
    random, delta, m = np.random.default_rng(4), 0.2, 16
    # Examples on which both, the first, the second and none err.
    kinds, shares = np.array([[1, 1], [1, 0], [0, 1], [0, 0]]), np.array([0.22, 0.08, 0.1, 0.6])
    true = (kinds.T * shares) @ kinds
    samples, times = np.unique(random.multinomial(m, shares, size=1000), axis=0, return_counts=True)
    violations = votes = broken = 0
    for counts, often in zip(samples, times.tolist(), strict=True):
        problem = pm.TandemProblem.from_errors(np.repeat(kinds, counts, axis=0), delta=delta, divergence="kl")
        solution = pm.solve(problem, "fixed-point")
        q = solution.posterior
        violations += often * bool(q @ true @ q > solution.bound)
        votes += often * bool(shares @ (kinds @ q >= 0.5) > solution.vote_bound)
        unpaid = max(problem.divergence_size(q), 0.0) / m
        broken += often * bool(q @ true @ q > pm.kl_inverse(problem.empirical_risk(q), unpaid))
    assert max(violations, votes) <= delta * 1000
    assert broken > delta * 1000


def test_what_is_said_of_the_vote(pacb, tmp_path):
    problem = drawn(1, 7, 200, divergence="kl")
    solution = pm.solve(problem)
    (tmp_path / "votes.json").write_text(problem.to_json())
    out = pacb(f"solve {tmp_path / 'votes.json'}").out
    assert "true tandem risk at most this" in out
    assert float(re.search(r"vote bound +(\S+)", out)[1]) == pytest.approx(solution.vote_bound, rel=1e-9)
    assert solution.vote_bound == min(4 * solution.bound, 1.0)
    first = 2 * pm.BoundProblem(problem.risks, 200, prior=problem.prior, divergence="kl").bound(solution.posterior)
    assert solution.details["first_order_vote_bound"] == pytest.approx(min(first, 1.0), rel=1e-12)
    for words in ("majority vote", "together", "first-order bound"):
        assert words in solution.vote_statement
    failed = replace(solution, posterior=None, bound=float("inf"), status="error")
    assert failed.vote_statement == "" and "error" in failed._repr_html_()
    assert pm.solve(problem.first_order).vote_bound == min(2 * pm.solve(problem.first_order).bound, 1.0)


# --- problems --------------------------------------------------------------------------------------------------------


def test_predictions_models_and_errors_are_one():
    from sklearn.datasets import load_breast_cancer
    from sklearn.tree import DecisionTreeClassifier

    X, y = load_breast_cancer(return_X_y=True)
    trees = [DecisionTreeClassifier(max_depth=d, random_state=d).fit(X[::2], y[::2]) for d in (1, 2, 3)]
    by_models = pm.TandemProblem.from_models(trees, X[1::2], y[1::2], delta=0.1)
    predictions = np.column_stack([tree.predict(X[1::2]) for tree in trees])
    by_predictions = pm.TandemProblem.from_predictions(y[1::2], predictions, delta=0.1)
    by_errors = pm.TandemProblem.from_errors(predictions != y[1::2, None], delta=0.1)
    for problem in (by_predictions, by_errors):
        assert problem.tandem_risks.tolist() == by_models.tandem_risks.tolist()
        assert (problem.m, problem.delta) == (284, 0.1)


def test_copies_files_and_changes():
    problem = drawn(6, 4, 60, divergence="renyi", order=1.5)
    copies = pickle.loads(pickle.dumps(problem)), pm.TandemProblem.from_json(problem.to_json()), problem.replace()
    for other in copies:
        assert other.tandem_risks.tolist() == problem.tandem_risks.tolist()
        assert other.error_matrix.tolist() == problem.error_matrix.tolist()
        assert other.bound(problem.prior) == problem.bound(problem.prior)
    assert problem.replace(delta=0.3).delta == 0.3
    given = pm.TandemProblem(problem.tandem_risks, 60)
    assert pm.TandemProblem.from_json(given.to_json()).bound(given.prior) == given.bound(given.prior)
    assert pm.solve(given).is_global


def test_equal_columns_are_one_classifier():
    errors = np.random.default_rng(0).random((150, 4)) < 0.3
    twice = pm.TandemProblem.from_errors(errors[:, [0, 1, 0, 2, 3, 1]])
    assert twice.merged().problem.size == 4
    whole, part = pm.solve(twice, merge=False), pm.solve(twice, merge=True)
    assert whole.bound == pytest.approx(part.bound, rel=1e-9)
    assert part.posterior[0] == pytest.approx(part.posterior[2])
    assert twice.bound(part.posterior) == pytest.approx(part.bound, rel=1e-12)
    # The proof is about the problem that was given.
    assert check_proof(twice, part.proof) == part.lower_bound


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: pm.TandemProblem([[0.1, 0.2], [0.2, 0.1]], 50),
            r"tandem_risks has the eigenvalue -0\.1; it must be positive semidefinite.*add 0\.1",
        ),
        (lambda: pm.TandemProblem([[0.1, 0.2], [0.1, 0.3]], 50), "tandem_risks.* it must be symmetric"),
        (lambda: pm.TandemProblem([[0.1, 0.2]], 50), r"tandem_risks has the shape \(1, 2\)"),
        (lambda: pm.TandemProblem([[1.5]], 50), r"tandem_risks\[0, 0\] is 1\.5; every entry must lie in \[0, 1\]"),
        (lambda: pm.TandemProblem.from_errors([[0, 0.5]]), r"errors\[0, 1\] is 0\.5; every entry must be 0 or 1"),
        (
            lambda: pm.solve(drawn(0, 3, 50, constraints=[pm.support(at_most=2)]), "frontier"),
            "for votes it does not honour limits on the support",
        ),
    ],
)
def test_what_is_refused(make, sentence):
    with pytest.raises(pm.InputError, match=sentence):
        make()
