"""The checker: lines hold whatever their numbers, and no proof proves what is false."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, count

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy.optimize import linprog

import pacb_models as pm
from pacb_models.divergences import by_name
from pacb_models.names import DISTANCES
from pacb_models.proofs import Branch, CommonRisk, Empty, Leaf, Proof, ProofError, check_proof
from pacb_models.proofs.checker import Region, most_within
from pacb_models.proofs.polygon import vertices
from pacb_models.proofs.proof import leaves
from pacb_models.solution import Outcome
from pacb_models.solving.judging import assess

DIVERGENCES = [("chi2", 2.0), ("kl", 2.0), ("renyi", 1.1), ("renyi", 3.0), ("renyi", 10.0), ("renyi", 50.0)]


def random_problem(random: np.random.Generator, most: int = 7) -> tuple[pm.BoundProblem, dict]:
    """A problem with any divergence, and any of caps, floors, averages and limits on the support."""
    size = int(random.integers(2, most + 1))
    divergence, order = DIVERGENCES[int(random.integers(len(DIVERGENCES)))]
    risks = np.round(random.random(size) * random.choice([0.1, 0.5, 1.0]), 3)
    prior = np.maximum(random.dirichlet(np.ones(size) * random.choice([0.2, 1.0, 5.0])), 1e-9)
    lower, upper, rows, limits, sizes, total = np.zeros(size), np.ones(size), [], [], None, math.inf
    constraints = []
    if random.random() < 0.6:
        upper = np.round(np.clip(random.random(size) + 1.2 / size, 0.0, 1.0), 2)
        lower = np.round(random.random(size) * 0.3 / size, 3) * (random.random() < 0.3)
        constraints.append(pm.weights(at_most=upper, at_least=lower))
    for k in range(int(random.integers(0, 3))):
        rows.append(np.round(random.random(size) * random.choice([1.0, 1000.0]), 2))
        limits.append(float(np.round(np.quantile(rows[-1], random.uniform(0.2, 0.9)), 2)))
        constraints.append(pm.average(rows[-1], at_most=limits[-1], name=f"row {k}"))
    if random.random() < 0.5:
        sizes = np.ones(size) if random.random() < 0.5 else np.round(random.random(size) * 5 + 0.1, 1)
        total = float(np.round(sizes[random.permutation(size)[: int(random.integers(1, size + 1))]].sum(), 1))
        few = pm.support(at_most=int(total)) if (sizes == 1.0).all() else pm.support(sizes=sizes, total=total)
        constraints.append(few)
    problem = pm.BoundProblem(
        risks,
        m=int(random.choice([1, 50, 1000, 10**6])),
        delta=float(random.choice([1e-6, 0.05, 0.5])),
        distance=str(random.choice(DISTANCES[divergence])),
        divergence=divergence,
        order=order,
        prior=prior / prior.sum(),
        constraints=constraints,
    )
    return problem, {"lower": lower, "upper": upper, "rows": rows, "limits": limits, "sizes": sizes, "total": total}


def feasible_points(random: np.random.Generator, problem: pm.BoundProblem, given: dict) -> np.ndarray:
    """Feasible posteriors, made by linear programs on every support and mixtures of their answers."""
    size, found = problem.size, []
    supports = [tuple(range(size))]
    if given["sizes"] is not None:
        every = (each for count in range(1, size + 1) for each in combinations(range(size), count))
        fit = [set(each) for each in every if round(given["sizes"][list(each)].sum(), 9) <= given["total"]]
        # What is feasible on a part of a support is feasible on all of it.
        supports = [tuple(each) for each in fit if not any(each < other for other in fit)]
    for support in supports:
        upper = np.where(np.isin(np.arange(size), support), given["upper"], 0.0)
        if (given["lower"] > upper).any():
            continue
        rows = {"A_ub": np.array(given["rows"]), "b_ub": given["limits"]} if given["rows"] else {}
        corners = []
        for costs in (problem.risks, *random.standard_normal((3, size))):
            bounds = list(zip(given["lower"], upper, strict=True))
            answer = linprog(costs, A_eq=np.ones((1, size)), b_eq=[1.0], bounds=bounds, **rows)
            if answer.status == 0:
                corners.append(np.clip(answer.x, 0.0, 1.0))
        if corners:
            weights = [*np.eye(len(corners)), *random.dirichlet(np.ones(len(corners)), 20)]
            found += [each @ np.array(corners) for each in weights]
    points = np.array(found).reshape(-1, size)
    return points / points.sum(axis=1, keepdims=True)


def drawn(seed: int, most: int = 7):
    """A random problem with feasible points of it; nothing where no posterior is feasible."""
    random = np.random.default_rng(seed)
    try:
        problem, given_numbers = random_problem(random, most)
    except pm.InputError:
        return None
    points = feasible_points(random, problem, given_numbers)
    return (problem, points, random) if len(points) else None


# --- lines and vertices ----------------------------------------------------------------------------------------------


@settings(max_examples=150)
@given(st.integers(0, 2**32 - 1))
def test_any_numbers_are_a_line_that_holds(seed):
    """The inequality of Hölder, or of Donsker and Varadhan, for numbers that nobody has chosen well."""
    found = drawn(seed, most=5)
    assume(found is not None)
    problem, points, random = found
    region, count = Region(problem), 0 if problem.posteriors is None else len(problem.posteriors.rows)
    rows = np.abs(random.standard_normal((8, 3 + count))) * 10.0 ** random.uniform(-3, 3, (8, 1))
    rows[:, 1] *= random.choice([-1.0, 1.0], 8)
    slope, height = region.supporting(rows)
    for q in points:
        size, x = problem.divergence_size(q), float(q @ (problem.risks - problem.risks.min()))
        slack = size + slope * x - height
        # Points keep rows to what a linear program may be off, in the units of the rows.
        rooms = rows[:, 3:].sum(axis=1) if count else 0.0
        with np.errstate(over="ignore"):
            off = 1e-8 * (1.0 + np.abs(height) + slope * (1.0 + rooms / rows[:, 0]))
        assert (slack >= -off).all()


@pytest.mark.parametrize(("name", "order"), DIVERGENCES)
def test_the_line_of_a_posterior_touches_it_in_fifty_digits(name, order):
    """The closed forms, evaluated again by mpmath: height and slope at a level, and equality where the line touches."""
    random = np.random.default_rng(7)
    risks, prior = random.random(9), random.dirichlet(np.ones(9))
    problem = pm.BoundProblem(risks, m=100, divergence=name, order=order, prior=prior)
    divergence = by_name(name, order)
    frontier = divergence.frontier(problem.risks, problem.prior, False)
    for z in (-1.0, 0.5, 3.0):
        slope, height = (each.item() for each in Region(problem).supporting(frontier.rows(np.array([z]))))
        with mp.workdps(50):
            gamma, y = mp.exp(mpf(z)), [mpf(each) - mpf(risks.min()) for each in risks.tolist()]
            if name == "kl":
                exact = gamma, -mp.log(sum(mpf(p) * mp.exp(-gamma * v) for p, v in zip(prior.tolist(), y, strict=True)))
            else:
                power = mpf(order) / (mpf(order) - 1)
                terms = (mpf(p) * max(1 - gamma * v, mpf(0)) ** power for p, v in zip(prior.tolist(), y, strict=True))
                norm = sum(terms) ** (1 / power)
                exact = gamma / norm, 1 / norm
        assert slope == pytest.approx(float(exact[0]), rel=1e-13)
        assert float(exact[1]) * (1.0 - 1e-13) - 1e-13 <= height <= float(exact[1])
        q = frontier.posterior(z)
        touched = problem.divergence_size(q) + slope * float(q @ (risks - risks.min()))
        assert touched == pytest.approx(height, rel=1e-11, abs=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_the_path_is_below_the_polygon_and_concave_functions_are_smallest_at_its_corners(seed):
    random = np.random.default_rng(seed)
    slope, height = 10.0 ** random.uniform(-2, 2, 8), random.random(8) * 3.0
    floor = float(random.choice([0.0, 0.1]))
    x, size, _ = vertices(slope, height, 0.5, floor, 1.0)
    assert x[-1] == floor and (np.diff(x) <= 0.0).all()
    inside = np.linspace(floor, 1.0, 200)
    above = np.maximum(0.5, (height[:, None] - slope[:, None] * inside).max(axis=0))
    assert min(np.sqrt(x) + np.sqrt(np.maximum(size, 0.5))) <= (np.sqrt(inside) + np.sqrt(above)).min() + 1e-12
    highest = np.maximum(0.5, (height[:, None] - slope[:, None] * x).max(axis=0))
    assert size[x < 1.0] == pytest.approx(highest[x < 1.0], rel=1e-12)


# --- claims ----------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("block", range(8))
def test_nothing_false_is_claimed_of_any_combination(block):
    """Supports, caps, floors, rows, priors and all divergences together, against points that share no code."""
    proven = seen = 0
    for seed in range(1000 * block, 1000 * block + 40):
        found = drawn(seed)
        if found is None:
            continue
        problem, points, _ = found
        solution = pm.solve(problem, "frontier")
        best = min(problem.bound(q) for q in points)
        seen, proven = seen + 1, proven + solution.is_global
        assert solution.status not in ("error", "numerical_error"), (seed, solution.message)
        if solution.lower_bound is not None:
            assert solution.lower_bound <= best + 1e-7 * max(best, 1e-3), seed
        if solution.is_global:
            assert solution.bound <= best + 1e-7 * max(best, 1e-3), seed
            assert check_proof(problem, solution.proof) == pytest.approx(solution.lower_bound, rel=1e-12)
    assert proven >= 0.9 * seen > 20.0


def _limited() -> pm.BoundProblem:
    limits = [pm.support(at_most=2), pm.weights(at_most=[0.58, 0.52, 0.4, 0.48])]
    return pm.BoundProblem(
        [0.451, 0.463, 0.428, 0.096], m=100000, distance="pinsker", divergence="kl", constraints=limits
    )


PLAIN = pm.BoundProblem([0.1, 0.15, 0.3, 0.32], m=200)
UNLIMITED = PLAIN.replace(distance="relative", divergence="kl")  # its bounds have no largest one
LIMITED = _limited()
NO_LINES = Leaf(np.zeros((0, 3)))
SHARES = st.floats(0.0, 1.0, allow_subnormal=False)


def lies(problem: pm.BoundProblem) -> dict[str, object]:
    """Everything that a solver could hand over in place of a proof."""
    other = pm.solve(pm.BoundProblem([0.5, 0.6, 0.7, 0.8], m=20), "frontier").proof
    honest = pm.solve(problem, "frontier").proof
    leaf = next(node for node, _, _ in leaves(honest.tree) if isinstance(node, Leaf))
    high = Proof(Leaf(leaf.lines * [1.0, 1e3, 1.0], leaf.floor), 0.9)
    return {
        "another problem's": replace(other, claim=0.9),
        "lines too high": high,
        "no lines": Proof(NO_LINES, 0.9),
        "infinite claim": replace(honest, claim=math.inf),
        "a claim that is no number": replace(honest, claim=math.nan),
        "an empty set that is not empty": Proof(Empty(), 0.9),
        "multipliers that prove nothing": Proof(Empty(np.zeros(0)), 0.9),
        "a branch left out": Proof(Branch(0, Empty(), leaf), 0.9),
        "a branch left out on the other side": Proof(Branch(0, leaf, Empty(np.zeros(0))), 0.9),
        "the same branch twice": Proof(Branch(1, leaf, Branch(1, leaf, leaf)), 0.9),
        "a classifier that does not exist": Proof(Branch(99, leaf, leaf), 0.9),
        "negative multipliers": Proof(Leaf(-leaf.lines, leaf.floor), 0.9),
        "lines that are not numbers": Proof(Leaf(leaf.lines * math.nan, leaf.floor), 0.9),
        "lines of another shape": Proof(Leaf(np.ones((2, 7))), 0.9),
        "a table for each line": Proof(Leaf(leaf.lines[:, :, None]), 0.9),
        "a number beyond all floats": Proof(leaf, 10**400),
        "a floor that is too high": Proof(Leaf(leaf.lines, np.ones(3)), 0.9),
        "no tree": Proof(None, 0.9),
        "a proof of a direct bound": CommonRisk(0.9),
        "a text": "global",
        "a number": 0.9,
    }


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("problem", [PLAIN, UNLIMITED, LIMITED], ids=["plain", "unlimited", "limited"])
@pytest.mark.parametrize("lie", lies(PLAIN))
def test_a_solver_that_lies_never_gets_a_global_minimum(problem, lie):
    """Weights that are stationary, but not the minimum, with a false proof: it proves less, or nothing, and says so."""
    proof = lies(problem)[lie]
    best = pm.solve(problem, "frontier")
    poor = np.array([0.0, 0.52, 0.0, 0.48]) if problem is LIMITED else np.array([0.0, 0.0, 0.5, 0.5])
    solution = assess(problem, Outcome(poor, "optimal", proof=proof), "liar", 0.0)
    assert not solution.is_global
    assert solution.lower_bound is None or solution.lower_bound <= best.bound
    if solution.lower_bound is None:
        assert "nothing is proven" in solution.message and solution.proof is None


def test_sizes_are_compared_as_they_were_typed():
    problem = pm.BoundProblem([0.1, 0.2, 0.3], m=50, constraints=pm.support(sizes=[0.8, 1.3, 1.0], total=2.3))
    with pytest.raises(ProofError, match="do not exceed the total"):
        check_proof(problem, Proof(Branch(1, Branch(2, Empty(), Empty()), Leaf(np.zeros((0, 3)))), 0.0))
    tree = Branch(0, Branch(1, Branch(2, Empty(), NO_LINES), NO_LINES), NO_LINES)
    assert check_proof(problem, Proof(tree, 0.0)) == 0.0
    # In tenths. Beside the first two there is no room for the third.
    regions = [Region(problem, frozenset(inside)) for inside in ({0}, {1}, {0, 1})]
    assert [region.room for region in regions] == [15.0, 10.0, 2.0]
    assert regions[2].members.tolist() == [0, 1]
    # From the end, a classifier would have a second name, and its size would count twice.
    for nobody in (-1, 3):
        with pytest.raises(ProofError, match="does not divide"):
            check_proof(problem, Proof(Branch(nobody, NO_LINES, NO_LINES), 0.0))


UNITS = st.sampled_from([1.0, 1e-16, 1e-300, 1e-310])
COSTS = st.tuples(st.floats(0.01, 1.0), UNITS) | st.tuples(st.integers(1, 3), st.just(1.0))
ITEMS = st.tuples(SHARES, UNITS, COSTS)


@given(st.lists(ITEMS, min_size=1, max_size=9), st.sets(st.integers(0, 8)), st.sampled_from([1.0, 1e300]))
def test_no_choice_of_classifiers_is_heavier_than_what_the_checker_takes(items, fits, heavy):
    """Sizes and terms of any scale, against every choice in rational numbers; what is taken is one more at most, and
    none more where sizes are whole numbers and equal."""
    values, costs = np.array([(value * unit * heavy, cost * small) for value, unit, (cost, small) in items]).T
    total = float(costs[[i for i in fits if i < costs.size]].sum())
    exact, places = list(map(Fraction, costs.tolist())), range(costs.size)
    every = (list(each) for count in range(len(items) + 1) for each in combinations(places, count))
    best = max(values[each].sum() for each in every if sum(exact[i] for i in each) <= Fraction(total))
    taken, counted = most_within(values, costs, total, np.zeros(values.size, dtype=bool)), set(costs.tolist())
    assert best * (1.0 - 1e-15) <= taken <= (best + values[costs <= total].max(initial=0.0)) * (1.0 + 1e-12)
    if len(counted) == 1 and counted.pop().is_integer():
        assert taken <= best * (1.0 + 1e-15)


def test_a_branch_is_asked_once_which_classifier_divides():
    """What is not with a classifier would else be without another one."""

    class Changing(Branch):
        classifier = property(lambda self: next(answers))

        def __init__(self) -> None:
            vars(self).update(inside=NO_LINES, outside=NO_LINES)

    answers = count()
    (_, inside, _), (_, _, outside) = leaves(Changing())
    assert inside == outside == {0}


def test_terms_that_underflow_do_not_add_up_to_a_line_that_is_too_high():
    """Each term here is almost half of the smallest number, and rounds to zero. The prior's size is one."""
    problem = pm.BoundProblem(np.full(6_000_000, 0.5), m=100)
    price = math.sqrt(2.4 * problem.size) * 1e-162
    slope, height = Region(problem).supporting(np.array([[0.0, price, 1.0]]))
    assert slope.item() == 0.0 < height.item() <= 1.0


@pytest.mark.parametrize("most", [1.0, 0.6])
def test_a_proof_under_rows_needs_their_multipliers(most):
    values = [700.0, 20.0, 90.0, 3.0]
    problem = PLAIN.replace(constraints=[pm.average(values, at_most=60.0), pm.weights(at_most=most)])
    solution = pm.solve(problem, "frontier")
    assert check_proof(problem, solution.proof) >= solution.bound * (1.0 - 1e-9)
    blind = replace(solution.proof, tree=Leaf(solution.proof.tree.lines * [1.0, 1.0, 1.0, 0.0], np.zeros(1)))
    assert check_proof(problem, blind) < solution.bound * (1.0 - 1e-3)
    region = Region(problem)
    least = linprog(region.y, [values], [60.0], np.ones((1, 4)), [1.0], (0.0, most)).fun
    assert region.smallest(region.y, solution.proof.tree.floor) == pytest.approx(least, rel=1e-9)


def test_the_proof_of_a_direct_bound_is_one_number():
    problem = pm.DirectProblem([0.1, 0.2, 0.4], m=500)
    solution = pm.solve(problem)
    assert check_proof(problem, solution.proof) == solution.lower_bound
    assert pm.solve(problem, "cvxpy").is_global
    with pytest.raises(ProofError, match="at once"):
        check_proof(problem, CommonRisk(solution.bound * (1.0 + 1e-12)))
    with pytest.raises(ProofError, match="none"):
        check_proof(PLAIN, solution.proof)

    class Changing(CommonRisk):
        claim = property(lambda self: next(answers))

        def __init__(self) -> None:
            pass

    answers = iter((0.0, 0.9))
    assert check_proof(problem, Changing()) == 0.0


def test_convex_solvers_prove_their_minimum_by_one_line():
    problem = pm.BoundProblem([0.1, 0.2, 0.4], m=500, distance="linear")
    for solver in ("frontier", "cvxpy", "fixed-point", "subset-search"):
        solution = pm.solve(problem, solver)
        assert solution.is_global and len(solution.proof.tree.lines) == 1


def test_every_line_of_a_long_proof_counts():
    solution = pm.solve(PLAIN, "frontier")
    lines = solution.proof.tree.lines
    for several in (np.vstack((np.repeat(lines[:1], 600, axis=0), lines)), np.repeat(lines, 20, axis=0)):
        assert check_proof(PLAIN, replace(solution.proof, tree=Leaf(several))) == solution.lower_bound
