"""A third party's distance, divergence and solver objects, given without registration, and what is noticed of them."""

import math
import pickle
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from scipy import special

import pacb_models as pm
from pacb_models.distances import BY_NAME, Catoni, Distance, Inverse
from pacb_models.distances.checks import concave_on_grid
from pacb_models.divergences import ChiSquared, Divergence, KullbackLeibler, Renyi
from pacb_models.plugins import ours
from pacb_models.problem import Problem
from pacb_models.proofs import ProofError, Tangent, check_proof
from pacb_models.solution import Outcome
from pacb_models.solvers.options import starting_posteriors
from pacb_models.solvers.oracle import is_steep
from pacb_models.solving.registry import capable_solvers

from ..own_bounds import Doubled, Relative, Returns, Sharp, Squares, TangentChiSquared

RISKS = [0.05, 0.08, 0.1, 0.3]
#: Posteriors.
DRAWN = np.random.default_rng(0).dirichlet(np.ones(4), size=2000)


@pytest.mark.parametrize("divergence", ["chi2", "kl"])
def test_a_distance_with_its_own_constant(divergence):
    problem = pm.BoundProblem(RISKS, m=200, distance=Relative(), divergence=divergence)
    kl = problem.replace(distance="kl")
    assert problem.log_constant == kl.log_constant
    assert problem.constant_value == pytest.approx(kl.constant_value, rel=1e-12)
    for q in DRAWN[:20]:
        # The inverse of a minorant of kl is no smaller than that of kl, and it solves its own equation.
        bound, L = problem.bound(q), problem.empirical_risk(q)
        assert bound >= kl.bound(q)
        budget = problem.budget_at(problem.divergence_size(q)).value
        assert (bound - L) ** 2 / (2.0 * bound) == pytest.approx(budget, rel=1e-12)


def test_a_divergence_says_which_moments_it_needs():
    problem = pm.BoundProblem(RISKS, m=200, distance="squared", divergence=TangentChiSquared())
    chi2 = problem.replace(divergence="chi2")
    assert problem.divergence == "tangent-chi2"
    assert problem.constant_value == chi2.constant_value
    assert problem.bound(problem.prior) == pytest.approx(chi2.bound(chi2.prior), rel=1e-15)
    assert all(problem.bound(q) >= chi2.bound(q) for q in DRAWN[:20])


def test_a_divergence_and_distance_that_do_not_go_together_are_refused():
    with pytest.raises(pm.InputError, match="'pinsker'"):
        pm.BoundProblem(RISKS, m=200, distance="pinsker", divergence=TangentChiSquared())


def test_a_solver_that_is_not_registered():
    """What it needs is compared with what the problem has; a need that nothing has is named."""
    problem = pm.BoundProblem([0.2, 0.2], m=200, distance="linear")
    own = Returns(lambda problem: Outcome(problem.prior.copy(), "optimal"), needs=("distance.express",))
    solution = pm.solve(problem, own)
    assert (solution.solver, solution.status) == ("returns", "optimal")
    with pytest.raises(pm.UnsupportedProblemError, match="the doubled distance lacks the method `express`"):
        pm.solve(problem.replace(distance=Doubled()), own)
    with pytest.raises(pm.UnsupportedProblemError, match="it needs 'gradient', which is no method of a problem"):
        pm.solve(problem, Returns(None, needs=("gradient",)))


# --- a class that inherits a name -------------------------------------------------------------------------------------


def test_a_distance_that_inherits_a_name_has_its_own_bound():
    """Scaling a distance scales its moments, so that the bound is that of the squared distance."""
    risks = [0.1, 0.12, 0.15, 0.2, 0.3]
    problem = pm.BoundProblem(risks, m=300, distance=Sharp())
    squared = pm.BoundProblem(risks, m=300, distance="squared")
    assert problem.constant_value == pytest.approx(16.0 * squared.constant_value, rel=1e-14)
    known = pm.solve(squared, "mirror").bound
    for name in ("frontier", "mirror", "fixed-point", "spg", "lbfgsb", "cyipopt", "slsqp"):
        solution = pm.solve(problem, name)
        assert solution.bound == pytest.approx(known, abs=1e-9), name
        assert solution.lower_bound is None or solution.lower_bound <= known + 1e-12, name


class Heavy(Squares):
    """χ² that counts double, under its name: neither its frontier nor its size is that of χ²."""

    name, scale = "chi2", 2.0


@pytest.mark.parametrize("name", ["fixed-point", "mirror", "spg", "cyipopt"])
def test_a_divergence_that_inherits_a_name_has_its_own_bound(name):
    """The budget of twice the size is that of twice the constant, which is the constant of half the sample."""
    problem = pm.BoundProblem(RISKS, m=400, distance="linear", divergence=Heavy())
    half = pm.BoundProblem(RISKS, m=200, distance="linear")
    assert pm.solve(problem, name).bound == pytest.approx(pm.solve(half, "mirror").bound, abs=1e-8)


# --- wrong derivatives ------------------------------------------------------------------------------------------------


def wrong(distance, **changes):
    class Wrong(Distance):
        name, below_one, moment = "wrong", distance.below_one, distance.moment

        def derivatives(self, L, budget):
            r = distance.derivatives(L, budget)
            return r._replace(**{name: change(getattr(r, name)) for name, change in changes.items()})

    return Wrong()


OURS = [*BY_NAME.values(), *map(Catoni, (1e-3, 0.4, 20.0)), ChiSquared(), KullbackLeibler(), Renyi(1.1), Renyi(6.0)]


@pytest.mark.parametrize("function", OURS, ids=repr)
def test_our_derivatives_are_right(function):
    pm.check_derivatives(function)
    assert pm.check_derivatives(Relative()) is None


@pytest.mark.parametrize("field", Inverse._fields[1:])
@pytest.mark.parametrize("change", [lambda v: -v - 0.1, lambda v: 1.1 * v + 0.1], ids=["sign", "value"])
def test_a_wrong_derivative_of_a_distance_is_named(field, change):
    distance = wrong(BY_NAME["kl"], **{field: change})
    with pytest.raises(pm.InputError, match=rf"Wrong: `derivatives` has {field} = .* it must be about"):
        pm.check_derivatives(distance)
    problem = pm.BoundProblem(RISKS, m=200, distance=distance)
    with pytest.raises(pm.InputError, match="Wrong: `derivatives`"):
        pm.solve(problem, "mirror")


def test_a_distance_that_is_not_as_affine_as_it_says():
    class Bent(Distance):
        affine = True

        def derivatives(self, L, budget):
            return Inverse(L + budget**2, 1.0, 2.0 * budget, 0.0, 0.0, 2.0)

    with pytest.raises(pm.InputError, match="Bent: it is `affine` and has bb = 2"):
        pm.check_derivatives(Bent())


@pytest.mark.parametrize(
    ("method", "change", "complaint"),
    [
        ("gradient", lambda values: -values, "`gradient` has -5 in place 0"),
        ("curvature", lambda values: (2.0 * values[0], values[1]), "`curvature` has 20 in place 0"),
        ("size", lambda value: 2.0 * value, "`gradient` has 5 in place 0"),
        ("budget", lambda budget: budget._replace(slope=0.0), "`budget` has the slope 0"),
        ("slope_inverse", lambda values: 0.5 * values, "`frontier`"),
    ],
)
def test_a_wrong_method_of_a_divergence_is_named(method, change, complaint):
    class Wrong(TangentChiSquared):
        pass

    setattr(Wrong, method, lambda self, *given: change(getattr(TangentChiSquared, method)(self, *given)))
    with pytest.raises(pm.InputError, match=complaint):
        pm.check_derivatives(Wrong())


def test_the_frontier_of_another_size_is_found():
    class Borrows(TangentChiSquared):
        def frontier(self, risks, prior, uniform):
            return ChiSquared().frontier(risks, prior, uniform)

    with pytest.raises(pm.InputError, match="`frontier` of the risks"):
        pm.check_derivatives(Borrows())


@pytest.mark.parametrize("divergence", [ChiSquared(), KullbackLeibler(), Renyi(3.0)], ids=repr)
def test_a_divergence_of_ours_is_final(divergence):
    """One that derives from it would inherit a frontier that belongs to another size."""
    given = (3.0,) if divergence.name == "renyi" else ()
    own = type("Own", (type(divergence),), {})(*given)
    with pytest.raises(pm.InputError, match=r"divergence is Own.*, which is final; derive it from Divergence"):
        pm.BoundProblem(RISKS, m=200, divergence=own)


def test_what_a_class_does_not_have_is_not_checked():
    """A divergence without second derivatives or a frontier, that cannot be put into sets either."""

    class Plain(Divergence):
        name, moments, order, __hash__ = "plain", "chi2", 2.0, None
        scale, size, gradient = 1.0, Squares.size, Squares.gradient
        value, coefficient, budget = Squares.value, Squares.coefficient, Squares.budget

    problem = pm.BoundProblem(RISKS, m=200, distance="linear", divergence=Plain())
    assert {"mirror", "spg", "softmax"} <= set(capable_solvers(problem))
    assert not {"fixed-point", "cyipopt"} & set(capable_solvers(problem))
    chi2 = pm.solve(problem.replace(divergence="chi2"), "mirror")
    assert pm.solve(problem).bound == pytest.approx(chi2.bound, abs=1e-9)


# --- a problem of another form ----------------------------------------------------------------------------------------


class Quadratic(Problem):
    """Half of q'Aq plus a soft maximum of linear functions: not a function of an empirical risk and a divergence."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        root, self_risks = rng.normal(size=(3, 3)), rng.uniform(0.1, 0.5, 3)
        self._set(A=root @ root.T, rows=rng.normal(size=(4, 3)), costs=self_risks, prior=np.full(3, 1.0 / 3.0))

    def bound(self, posterior):
        q = np.asarray(posterior)
        return float(0.5 * q @ self.A @ q + self.costs @ q + np.log(np.exp(self.rows @ q).sum()))

    def gradient(self, posterior):
        q = np.asarray(posterior)
        shares = np.exp(self.rows @ q)
        return self.A @ q + self.costs + shares @ self.rows / shares.sum()


TICKS = np.linspace(0.0, 1.0, 301)
GRID = np.array([(a, b, 1.0 - a - b) for a in TICKS for b in TICKS if a + b <= 1.0 + 1e-12])


@cache
def brute_force(seed):
    """The smallest bound on a grid."""
    return min(map(Quadratic(seed).bound, GRID))


GENERAL = ("mirror", "spg", "lbfgsb", "slsqp", "trust-constr", "frank-wolfe", "softmax")


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", [*GENERAL, "auto"])
def test_a_problem_that_is_no_function_of_risk_and_divergence(name, seed):
    solution, brute = pm.solve(Quadratic(seed), name), brute_force(seed)
    assert solution.status in ("optimal", "acceptable"), solution.message
    # The grid is this coarse, and the problem convex.
    assert brute - 1e-4 <= solution.bound <= brute + 1e-9
    assert math.isnan(solution.divergence) and math.isnan(solution.empirical_risk)
    assert not solution.is_global and solution.lower_bound is None


def test_who_can_minimise_a_problem_of_another_form():
    problem = Quadratic(0)
    assert set(capable_solvers(problem)) == set(GENERAL)
    assert pm.solve(problem).solver == "mirror"
    with pytest.raises(pm.UnsupportedProblemError, match=r"a Quadratic \(the problem lacks the method `bound_at`"):
        pm.solve(problem, "fixed-point")
    several = pm.solve(problem, "spg", starts=5, seed=3)
    assert len(several.details["bounds"]) == 5 and len(several.details["distinct_points"]) == 1
    assert pm.cross_check(problem, GENERAL).agree


def test_classifiers_of_equal_risk_are_not_merged_in_a_problem_of_another_form():
    class Uneven(Problem):
        """Costs differ though risks do not."""

        def bound(self, posterior):
            return float(np.dot(posterior, [0.3, 0.1, 0.2]) + np.dot(posterior, posterior))

        def gradient(self, posterior):
            return np.array([0.3, 0.1, 0.2]) + 2.0 * np.asarray(posterior)

    solution = pm.solve(Uneven([0.2, 0.2, 0.2], m=10))
    assert solution.posterior == pytest.approx(np.array([17.0, 23.0, 20.0]) / 60.0, abs=1e-6)
    assert solution.empirical_risk == pytest.approx(0.2) and math.isnan(solution.divergence)


@pytest.mark.parametrize("kind", [pm.BoundProblem, pm.DirectProblem])
def test_another_bound_does_not_derive_from_one_of_ours(kind):
    """What is known of our bounds, proofs among it, does not hold for another one."""

    class Mine(kind):
        def bound(self, posterior):
            return super().bound(posterior) + 0.1 + posterior[0]

    sentence = f"Mine has a bound of its own and derives from {kind.__name__}; derive it from Problem."
    with pytest.raises(pm.InputError, match=sentence):
        Mine(RISKS, m=200, distance="linear")


# --- a convex bound of another form -----------------------------------------------------------------------------------


class Bernstein(Problem):
    """Empirical Bernstein for a fixed λ, L + κλV + b/λ with κ = e - 2, V = Σ q l (1 - l), b = (KL + ln 1/δ)/m: convex.

    Its smallest value over λ is L + 2√(κVb), which is not.
    """

    convex = True

    def __init__(self, risks, m, scale, **others):
        self.spread = np.array(risks) * (1.0 - np.array(risks))
        self.scale = scale
        super().__init__(risks, m, **others)

    def parts(self, q):
        divergence = float(special.rel_entr(q, self.prior).sum())
        slopes = np.log(np.maximum(q, 1e-300) / self.prior) + 1.0
        return self.spread @ q, (divergence + math.log(1.0 / self.delta)) / self.m, slopes / self.m

    def bound(self, posterior):
        q = np.asarray(posterior)
        V, b, _ = self.parts(q)
        return float(self.risks @ q + KAPPA * self.scale * V + b / self.scale)

    def gradient(self, posterior):
        return self.risks + KAPPA * self.scale * self.spread + self.parts(np.asarray(posterior))[2] / self.scale


class Optimised(Bernstein):
    convex = False

    def bound(self, posterior):
        q = np.asarray(posterior)
        V, b, _ = self.parts(q)
        return float(self.risks @ q + 2.0 * math.sqrt(KAPPA * V * b))

    def gradient(self, posterior):
        V, b, slopes = self.parts(np.asarray(posterior))
        return self.risks + math.sqrt(KAPPA / (V * b)) * (self.spread * b + V * slopes)


class Mine(Bernstein):
    def __init__(self, A, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.A = A


KAPPA = math.e - 2.0
SIX = [0.05, 0.06, 0.1, 0.15, 0.2, 0.3]


def tangent_of(problem, posterior):
    return check_proof(problem, Tangent(np.array(posterior)))


def test_a_convex_bound_is_proven_by_its_tangent():
    problem = Bernstein(SIX, 400, 0.3)
    # Linear but for the entropy: the minimum is -c ln Σ p e^(-cost/c) and a constant.
    c, costs = 1.0 / (0.3 * 400), np.array(SIX) + KAPPA * 0.3 * problem.spread
    minimum = c * math.log(20.0) - c * float(special.logsumexp(-costs / c, b=problem.prior))
    for name in ("auto", "softmax", "slsqp", "trust-constr"):
        solution = pm.solve(problem, name)
        assert solution.lower_bound <= minimum * (1.0 + 1e-14) and solution.bound >= minimum * (1.0 - 1e-14)
        assert "holds if Bernstein is convex, and its gradient right" in solution.message
        assert isinstance(solution.proof, Tangent)
    auto = pm.solve(problem)
    assert auto.is_global and auto.lower_bound == pytest.approx(minimum, rel=1e-9)
    assert pm.check_proof(problem, auto.proof) >= auto.lower_bound
    for q in np.random.default_rng(0).dirichlet(np.full(6, 0.5), 200):
        slopes, proven = problem.gradient(q), tangent_of(problem, q)
        assert proven == pytest.approx(problem.bound(q) - slopes @ q + slopes.min(), rel=1e-9)
        assert proven <= minimum


def test_a_tangent_under_constraints():
    class Shares(Problem):
        """|Aq - t|², convex."""

        convex = True

        def __init__(self, A, target, constraints=()):
            self.A, self.target = A, target
            super().__init__(np.full(A.shape[1], 0.5), 10, constraints=constraints)

        def bound(self, posterior):
            return float(((self.A @ posterior - self.target) ** 2).sum())

        def gradient(self, posterior):
            return 2.0 * self.A.T @ (self.A @ posterior - self.target)

    rng = np.random.default_rng(1)
    kept = [pm.weights(at_most=0.6, at_least=0.05), pm.average([1.0, 2.0, 4.0], at_most=2.2)]
    for _ in range(3):
        problem = Shares(rng.normal(size=(3, 3)), rng.normal(size=3), kept)
        inside = [q for q in GRID if problem.posteriors.violation(q) <= 1e-12]
        best = min(map(problem.bound, inside))
        solution = pm.solve(problem, "slsqp")
        assert best - 0.05 <= solution.lower_bound <= best
        assert solution.lower_bound >= solution.bound - 1e-4
        assert all(tangent_of(problem, q) <= best for q in inside[:: len(inside) // 30])


def test_lies_about_a_convex_bound_prove_nothing():
    problem, q = Bernstein(SIX, 400, 0.3), np.full(6, 1.0 / 6.0)
    for wrong in (2.0 * q, q[:5], np.append(q[:5], math.nan), np.array([1.2, -0.2, 0, 0, 0, 0])):
        with pytest.raises(ProofError, match="not taken at a posterior"):
            tangent_of(problem, wrong)

    class Slanted(Bernstein):
        factor = 0.5

        def gradient(self, posterior):
            return self.factor * super().gradient(posterior)

    class Slightly(Slanted):
        factor = 0.999

    class Flat(Slanted):
        factor = 0.0

    class Lost(Bernstein):
        def gradient(self, posterior):
            return np.where(np.arange(6) == 2, math.nan, super().gradient(posterior))

    class Cap(Bernstein):
        """Concave."""

        def bound(self, posterior):
            return 1.0 - float(np.dot(posterior, posterior))

        def gradient(self, posterior):
            return -2.0 * np.asarray(posterior)

    for wrong in (Slanted(SIX, 400, 0.3), Slightly(SIX, 400, 0.3), Flat(SIX, 400, 0.3), Flat(SIX[::-1], 400, 0.3)):
        with pytest.raises(ProofError, match="below its tangent"):
            tangent_of(wrong, q)
    with pytest.raises(ProofError, match="not finite"):
        tangent_of(Lost(SIX, 400, 0.3), q)
    for wrong in (Slanted, Lost):
        with pytest.raises(pm.InputError, match=rf"{wrong.__name__}: `gradient` has the slope .* it must be about"):
            pm.solve(wrong(SIX, 400, 0.3))
    concave = pm.solve(Cap(SIX, 400, 0.3))
    assert not concave.is_global and (concave.lower_bound is None or concave.lower_bound <= 0.0)
    for other in (Optimised(SIX, 400, 0.3), pm.BoundProblem(SIX, 400)):
        with pytest.raises(ProofError, match="convex = True"):
            tangent_of(other, q)


def test_a_bound_that_is_steep_at_weight_zero_takes_few_steps():
    """In the coordinates of order two its way is a hundred thousand steps long."""
    problem = Optimised(SIX, 400, 0.3)
    auto, other = pm.solve(problem), pm.solve(problem, "softmax")
    assert auto.status == "optimal" and auto.iterations < 100
    assert auto.bound == pytest.approx(other.bound, rel=1e-9) and auto.lower_bound is None
    assert not is_steep(Quadratic(0)) and "spg" not in capable_solvers(problem)


def test_the_gradient_of_a_problem_is_compared_with_quotients():
    for problem in (Bernstein(SIX, 400, 0.3), Quadratic(1), pm.BoundProblem(SIX, 400), pm.DirectProblem(SIX, 400)):
        pm.check_derivatives(problem)

    class Corner(Quadratic):
        def bound(self, posterior):
            return float(np.abs(np.asarray(posterior) - 1.0 / 3.0).max())

        def gradient(self, posterior):
            away = np.asarray(posterior) - 1.0 / 3.0
            return np.where(np.abs(away) == np.abs(away).max(), np.sign(away), 0.0)

    class Short(Quadratic):
        def gradient(self, posterior):
            return super().gradient(posterior)[:2]

    pm.check_derivatives(Corner(0))
    with pytest.raises(pm.InputError, match=r"Short: `gradient` has the shape \(2,\); it must have 3 entries"):
        pm.solve(Short(0))


def test_what_a_class_adds_is_assigned_once():
    A = np.eye(6)
    problem = Mine(A, SIX, 400, scale=0.3)
    for name, value in (("A", 2.0 * A), ("delta", 0.1), ("constraints", ()), ("coefficient", 1.0)):
        with pytest.raises(AttributeError, match=f"{name} of a Mine cannot be set"):
            setattr(problem, name, value)
    with pytest.raises(ValueError, match="read-only"):
        problem.A[0, 0] = 2.0
    with pytest.raises(AttributeError, match="cannot be set"):
        pm.BoundProblem(SIX, 400).detla = 0.1
    A[0, 0] = 5.0
    other = pickle.loads(pickle.dumps(problem)).replace(delta=0.01, scale=0.2)
    assert (other.delta, other.scale, other.m, other.A[0, 0]) == (0.01, 0.2, 400, 1.0)
    assert other.bound(other.prior) == Bernstein(SIX, 400, 0.2, delta=0.01).bound(other.prior)
    assert not other.A.flags.writeable

    class Alone(Problem):
        def __init__(self, costs, delta):
            self.costs, self.delta = costs, delta
            self.prior = np.full(3, 1.0 / 3.0)

    assert Alone(np.ones(3), 0.1).replace(delta=0.2).delta == 0.2


# --- far ends ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fixed-point", "mirror", "softmax"])
def test_an_order_of_a_million(name):
    """The statistic overflows, its root does not: all weight on the classifier without errors."""
    risks = [0.934] * 7 + [0.0]
    problem = pm.BoundProblem(risks, 16, 0.999999, "kl", "renyi", constant="one-sided", order=1e6)
    solution = pm.solve(problem, name)
    assert solution.status == "optimal", solution.message
    assert solution.bound == pytest.approx(0.1680140339, abs=1e-8)
    assert math.isfinite(solution.kkt_residual)


@pytest.mark.parametrize("name", ["fixed-point", "mirror", "slsqp", "cyipopt", "ccp"])
def test_starts_are_the_same_posteriors_for_every_solver(name):
    """Several starts are so many solutions from the listed posteriors, the prior first."""
    problem = pm.BoundProblem([0.05, 0.10] + 8 * [0.30], m=50, distance="squared")
    posteriors = list(starting_posteriors(problem, 4, seed=5))
    assert posteriors[0] is problem.prior
    several = pm.solve(problem, name, starts=4, seed=5, merge=False)
    alone = [pm.solve(problem, name, start=q).bound for q in posteriors[1:]]
    assert several.details["bounds"] == pytest.approx([pm.solve(problem, name, merge=False).bound, *alone], abs=1e-9)
    assert several.bound == pytest.approx(min(several.details["bounds"]), abs=1e-9)
    assert sum(point.starts for point in several.details["distinct_points"]) == 4


# --- distances that are noticed before anything is claimed of their bounds -------------------------------------------


class Variance(Distance):
    """φ = (l − l̂)²/(l̂(1 − l̂)), which is not convex: r = L + √(b L(1 − L)) falls just below L = 1."""

    name = "variance"
    additive = False

    def derivatives(self, L, b):
        with np.errstate(all="ignore"):
            v, d = np.asarray(L * (1.0 - L)), 1.0 - 2.0 * L
            s = np.sqrt(b * v)
            first, second = b * d / (2.0 * s), v / (2.0 * s)
            LL = -b / s - first**2 / s
            return Inverse(L + s, 1.0 + first, second, LL, d / (2.0 * s) - first * second / s, -(second**2) / s)

    def log_constant(self, m, divergence, order, constant):
        return -math.log(m)


@pytest.mark.parametrize("module", [__name__, "pacb_models.distances.binary_kl", "pacb_models.distances.variance"])
def test_an_inverse_that_falls_next_to_one_is_no_ground_for_a_claim(module):
    """Two classifiers: with all weight on the poor one the bound is smaller than on the way there. A class may name a
    module of ours: it is checked as any other."""

    class Disguised(Variance):
        __module__ = module

    assert not concave_on_grid(Disguised()) and not ours(Disguised()) and ours(BY_NAME["kl"])
    solution = pm.solve(pm.BoundProblem([0.93, 1.0], m=3, delta=0.5, distance=Disguised()), "frontier")
    assert not solution.is_global and solution.lower_bound is None


@pytest.mark.parametrize("distance", [*BY_NAME.values(), Relative()], ids=lambda each: each.name)
def test_distances_that_are_convex_pass_to_the_corners(distance):
    assert concave_on_grid(distance)


@dataclass
class Scaled(Distance):
    """φ = s (l − l̂)², s not a part of what makes two of them equal; mutable, so that it cannot be hashed."""

    scale: float
    name: str = "scaled"

    def derivatives(self, L, b):
        root = np.sqrt(b / self.scale)
        return Inverse(L + root, 1.0, 0.5 * root / b, 0.0, 0.0, -0.25 * root / b**2)

    def moment(self, m, power, constant):
        exact = BY_NAME["squared"].moment(m, power, constant)
        return exact._replace(value=exact.value * self.scale**2, log_value=exact.log_value + 2 * math.log(self.scale))


class Forgetful(Scaled):
    """One whose equality forgets the scale."""

    def __eq__(self, other):
        return isinstance(other, Forgetful)

    def __hash__(self):
        return 0


@pytest.mark.parametrize("kind", [Scaled, Forgetful])
def test_distances_that_are_mutable_or_equal_are_each_its_own(kind):
    """The scale cancels: all of these bounds are those of the squared distance."""
    expected = pm.solve(pm.BoundProblem([0.1, 0.12, 0.3], m=300, distance="squared")).bound
    for scale in (1.0, 4.0, 0.25):
        problem = pm.BoundProblem([0.1, 0.12, 0.3], m=300, distance=kind(scale))
        for name in ("frontier", "mirror"):
            solution = pm.solve(problem, name)
            assert solution.bound == pytest.approx(expected, abs=1e-9), (scale, name, solution.message)


class Turning(Scaled):
    wrong = False

    def derivatives(self, L, b):
        r = super().derivatives(L, b)
        return r._replace(b=-r.b) if self.wrong else r


class Turned(Turning, Forgetful):
    __hash__ = Forgetful.__hash__


@pytest.mark.parametrize("kind", [Turning, Turned])
def test_a_fault_is_noticed_in_a_changed_object_and_in_one_that_equals_a_good_one(kind):
    good = kind(1.0)
    problem = pm.BoundProblem([0.1, 0.2], m=100, distance=good)
    assert pm.solve(problem, "mirror").status == "optimal"
    bad = good if kind is Turning else kind(1.0)
    bad.wrong = True
    with pytest.raises(pm.InputError, match=f"{kind.__name__}: `derivatives` has b = -"):
        pm.solve(problem.replace(distance=bad), "mirror")


@pytest.mark.parametrize(
    ("method", "wrong", "complaint"),
    [
        ("rate", lambda self, L, b: 3.0, "`rate` is 3"),
        ("balance", lambda self, L, b, rate: 1.0 - rate, "`balance` has the sign"),
        ("reaches", lambda self, L, b, r: np.asarray(L >= r), "`reaches` is 0"),
        ("reaches", lambda self, L, b, r: np.ones(np.shape(L), bool), "`reaches` is 1"),
        ("invert", lambda self, L, b: L, "`derivatives` has value = "),
    ],
)
def test_a_method_that_disagrees_with_the_derivatives_is_named(method, wrong, complaint):
    distance = type("Odd", (Relative,), {method: wrong})()
    with pytest.raises(pm.InputError, match=complaint):
        pm.check_derivatives(distance)
    with pytest.raises(pm.InputError, match=complaint):
        pm.solve(pm.BoundProblem([0.1, 0.2, 0.3], m=100, distance=distance), "frontier")


def test_a_comparison_that_disagrees_with_the_inverse_is_no_ground_for_a_proof():
    """`reaches` decides in the checker."""
    always = type("Always", (Relative,), {"reaches": lambda self, L, b, r: np.ones(np.shape(L), bool)})
    assert not concave_on_grid(always())
