"""A third party's distance, divergence and solver objects, given to the package without registration."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

import pacb_models as pm
from pacb_models.constants import log_moment_constant
from pacb_models.distances import BY_NAME, Distance, Inverse, Linear, Squared
from pacb_models.divergences import Budget, ChiSquared, Divergence, KullbackLeibler, Renyi
from pacb_models.problem import Problem
from pacb_models.solution import Outcome
from pacb_models.solver import Solver
from pacb_models.solvers.starts import starting_posteriors
from pacb_models.solving.registry import capable_solvers, get_solver

RISKS = [0.05, 0.08, 0.1, 0.3]


class Relative(Distance):
    """φ = (l − l̂)²/(2l) for l above l̂, a minorant of the binary kl; r = L + b + √(b² + 2bL)."""

    name = "relative"
    additive = False

    def derivatives(self, L, budget):
        b, s = budget, math.sqrt(budget * (budget + 2.0 * L))
        return Inverse(L + b + s, 1.0 + b / s, 1.0 + (b + L) / s, -(b * b) / s**3, b * L / s**3, -(L * L) / s**3)

    def log_constant(self, m, divergence, order, constant):
        return log_moment_constant("kl", m, constant, divergence, order)


class LinearisedChiSquared(ChiSquared):
    """The budget c(X + 1)/2, which is at least c√X."""

    name = "linearised"

    def budget(self, statistic, coefficient, exponent):
        return Budget(0.5 * coefficient * (statistic + 1.0), 0.5 * coefficient, 0.0)


class Prior(Solver):
    """Returns the prior."""

    name = "prior"
    handles = {"chi2": ("linear",)}

    def run(self, problem):
        return Outcome(problem.prior.copy(), "optimal")


@pytest.mark.parametrize("divergence", ["chi2", "kl"])
def test_a_distance_with_its_own_constant(divergence):
    problem = pm.BoundProblem(RISKS, m=200, distance=Relative(), divergence=divergence)
    kl = problem.replace(distance="kl")
    assert problem.log_constant == kl.log_constant
    assert problem.constant_value == pytest.approx(kl.constant_value, rel=1e-12)
    for q in np.random.default_rng(0).dirichlet(np.ones(4), size=20):
        # The inverse of a minorant of kl is no smaller than that of kl, and it solves its own equation.
        bound, L = problem.bound(q), problem.empirical_risk(q)
        assert bound >= kl.bound(q)
        budget = problem.divergence_function.budget(problem.statistic(q), problem.coefficient, problem.exponent).value
        assert (bound - L) ** 2 / (2.0 * bound) == pytest.approx(budget, rel=1e-12)


def test_a_divergence_says_which_moments_it_needs():
    problem = pm.BoundProblem(RISKS, m=200, distance="squared", divergence=LinearisedChiSquared())
    chi2 = problem.replace(divergence="chi2")
    assert problem.divergence == "linearised"
    assert problem.constant_value == chi2.constant_value
    assert problem.bound(problem.prior) == pytest.approx(chi2.bound(chi2.prior), rel=1e-15)
    for q in np.random.default_rng(0).dirichlet(np.ones(4), size=20):
        assert problem.bound(q) >= chi2.bound(q)


def test_a_divergence_and_distance_that_do_not_go_together_are_refused():
    with pytest.raises(pm.InputError, match="'pinsker'"):
        pm.BoundProblem(RISKS, m=200, distance="pinsker", divergence=LinearisedChiSquared())


@pytest.mark.parametrize("distance", ["linear", "squared", "kl", Relative()])
def test_ipopt_minimises_bounds_it_has_no_name_for(distance):
    problem = pm.BoundProblem(RISKS, m=200, distance=distance, divergence=LinearisedChiSquared())
    solution = pm.solve(problem, solver="cyipopt")
    assert solution.status == "optimal"
    others = np.random.default_rng(0).dirichlet(np.ones(4), size=2000)
    assert solution.bound <= min(problem.bound(q) for q in others)


def test_a_solver_that_is_not_registered():
    problem = pm.BoundProblem([0.2, 0.2], m=200, distance="linear")
    solution = pm.solve(problem, Prior())
    assert (solution.solver, solution.status) == ("prior", "optimal")
    with pytest.raises(pm.UnsupportedProblemError, match="solver 'prior' cannot minimise the kl distance"):
        pm.solve(problem.replace(distance="kl"), Prior())


def test_cross_check_of_a_solver_that_is_not_registered():
    problem = pm.BoundProblem(RISKS, m=2000, distance="linear")
    table = pm.cross_check(problem, solvers=["frontier", Prior()])
    assert [row.solver for row in table.rows] == ["frontier", "prior"]
    assert table.rows[0].agrees
    # The prior is no minimum here, and its claim to be one was corrected before the comparison.
    assert table.rows[1].status == "not_converged"
    assert not table.agree


# --- a class that inherits a name -------------------------------------------------------------------------------------


class Sharp(Squared):
    """Four times the squared distance, under its name: its own moments are sixteen times as large."""

    scale = 4.0


def test_a_distance_that_inherits_a_name_has_its_own_bound():
    """Scaling a distance scales its moments, so that the bound is that of the squared distance."""
    risks = [0.1, 0.12, 0.15, 0.2, 0.3]
    problem = pm.BoundProblem(risks, m=300, distance=Sharp())
    squared = pm.BoundProblem(risks, m=300, distance="squared")
    assert problem.constant_value == pytest.approx(16.0 * squared.constant_value, rel=1e-14)
    known = pm.solve(squared, "mirror").bound
    solutions = [pm.solve(problem, name) for name in ("mirror", "fixed-point", "spg", "lbfgsb", "cyipopt", "slsqp")]
    for solution in solutions:
        assert solution.bound == pytest.approx(known, abs=1e-9), solution.solver


def test_no_lower_bound_is_above_another_solver_s_bound():
    problem = pm.BoundProblem([0.1, 0.12, 0.15, 0.2, 0.3], m=300, distance=Sharp())
    check = pm.cross_check(
        problem, ["mirror", "fixed-point", *(n for n in capable_solvers(problem) if n == "frontier")]
    )
    smallest = min(row.bound for row in check.rows)
    assert all(row.lower_bound is None or row.lower_bound <= smallest + 1e-12 for row in check.rows)
    assert check.agree, str(check)


class Heavy(ChiSquared):
    """χ² that counts double, under its name: neither its frontier nor its size is that of χ²."""

    def statistic(self, q, p):
        return 2.0 * super().statistic(q, p)

    def gradient(self, q, p):
        return 2.0 * super().gradient(q, p)

    def curvature(self, q, p):
        return 2.0 * super().curvature(q, p)

    def slope_inverse(self, slope):
        return super().slope_inverse(0.5 * slope)


@pytest.mark.parametrize("name", ["fixed-point", "mirror", "spg", "cyipopt"])
def test_a_divergence_that_inherits_a_name_has_its_own_bound(name):
    """The budget of twice the statistic is that of twice the constant, which is the constant of half the sample."""
    problem = pm.BoundProblem(RISKS, m=400, distance="linear", divergence=Heavy())
    half = pm.BoundProblem(RISKS, m=200, distance="linear")
    assert pm.solve(problem, name).bound == pytest.approx(pm.solve(half, "mirror").bound, abs=1e-8)


# --- wrong derivatives ------------------------------------------------------------------------------------------------


def wrong(distance, **changes):
    class Wrong(type(distance)):
        def derivatives(self, L, budget):
            r = super().derivatives(L, budget)
            return r._replace(**{name: change(getattr(r, name)) for name, change in changes.items()})

    return Wrong()


@pytest.mark.parametrize("function", [*BY_NAME.values(), ChiSquared(), KullbackLeibler(), Renyi(1.1), Renyi(6.0)])
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
    class Bent(Linear):
        def derivatives(self, L, budget):
            return Inverse(L + budget**2, 1.0, 2.0 * budget, 0.0, 0.0, 2.0)

    with pytest.raises(pm.InputError, match="Bent: it is `affine` and has bb = 2"):
        pm.check_derivatives(Bent())


@pytest.mark.parametrize(
    ("method", "change", "complaint"),
    [
        ("gradient", lambda values: -values, "`gradient` has -5 in place 0"),
        ("curvature", lambda values: 2.0 * values, "`curvature` has 20 in place 0"),
        ("statistic", lambda value: 2.0 * value, "`gradient` has 5 in place 0"),
        ("budget", lambda budget: budget._replace(slope=0.0), "`budget` has the slope 0"),
        ("slope_inverse", lambda values: 0.5 * values, "`frontier`"),
    ],
)
def test_a_wrong_method_of_a_divergence_is_named(method, change, complaint):
    class Wrong(LinearisedChiSquared):
        pass

    setattr(Wrong, method, lambda self, *given: change(getattr(LinearisedChiSquared, method)(self, *given)))
    with pytest.raises(pm.InputError, match=complaint):
        pm.check_derivatives(Wrong())


def test_an_inherited_frontier_of_another_statistic_is_found():
    class Inherits(KullbackLeibler):
        def frontier(self, risks, prior, uniform):
            return ChiSquared().frontier(risks, prior, uniform)

    with pytest.raises(pm.InputError, match="`frontier` of the risks"):
        pm.check_derivatives(Inherits())


def test_what_a_class_does_not_have_is_not_checked():
    """A divergence without second derivatives or a frontier, that cannot be put into sets either."""

    class Plain(Divergence):
        name, moments, order, __hash__ = "plain", "chi2", 2.0, None
        statistic, gradient = ChiSquared.statistic, ChiSquared.gradient
        value, coefficient, budget = ChiSquared.value, ChiSquared.coefficient, ChiSquared.budget

    problem = pm.BoundProblem(RISKS, m=200, distance="linear", divergence=Plain())
    assert {"mirror", "spg", "softmax"} <= set(capable_solvers(problem))
    assert not {"fixed-point", "cyipopt"} & set(capable_solvers(problem))
    assert pm.solve(problem).bound == pytest.approx(
        pm.solve(problem.replace(divergence="chi2"), "mirror").bound, abs=1e-9
    )


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


@cache
def brute_force(seed):
    """The smallest bound on a grid."""
    problem, ticks = Quadratic(seed), np.linspace(0.0, 1.0, 301)
    return min(problem.bound((a, b, 1.0 - a - b)) for a in ticks for b in ticks if a + b <= 1.0 + 1e-12)


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


def test_a_bound_of_its_own_inherits_no_other_s_form():
    class Mine(pm.BoundProblem):
        """A tenth more than the bound at every posterior, and more where the first classifier has weight."""

        def bound(self, posterior):
            return super().bound(posterior) + 0.1 + posterior[0]

        def gradient(self, posterior):
            return super().gradient(posterior) + np.eye(self.size)[0]

    problem = Mine(RISKS, m=200, distance="linear")
    assert set(capable_solvers(problem)) == set(GENERAL)
    solution = pm.solve(problem)
    assert solution.bound == problem.bound(solution.posterior)
    assert solution.bound <= min(problem.bound(q) for q in np.random.default_rng(0).dirichlet(np.ones(4), size=2000))


# --- what a solver does to a problem ----------------------------------------------------------------------------------


class Cheats(Solver):
    """Makes the problem easier than it was."""

    name = "cheats"
    needs = ("gradient",)

    def __init__(self, change):
        self.change = change

    def run(self, problem):
        self.change(problem)
        return Outcome(np.eye(problem.size)[0], "optimal", is_global=True, lower_bound=0.0)


@pytest.mark.parametrize(
    "change",
    [
        lambda problem: problem.risks.setflags(write=True),
        lambda problem: vars(problem).update(risks=np.zeros(4)),
        lambda problem: vars(problem).update(delta=0.999),
        lambda problem: vars(problem).pop("m"),
    ],
    ids=["writable", "risks", "delta", "removed"],
)
def test_a_solver_cannot_change_what_it_is_judged_by(change):
    problem = pm.BoundProblem(RISKS, m=200, distance="linear")
    before = problem.bound(problem.prior)
    solution = pm.solve(problem, Cheats(change))
    assert (solution.status, solution.posterior, solution.is_global) == ("error", None, False)
    assert problem.bound(problem.prior) == before and problem.risks.tolist() == RISKS
    assert pm.solve(problem, "mirror").status == "optimal"


def test_a_solver_cannot_hand_numbers_to_its_judge():
    """What a problem computes once and keeps, its class, and what is lost: it has all of that for itself."""

    def poison(problem):
        vars(problem).update(coefficient=1e-9, constant_value=1e-9, log_constant=-20.0, judge=lambda q: None)

    def disguise(problem):
        object.__setattr__(problem, "__class__", type("Another", (type(problem),), {"judge": lambda self, q: None}))

    for kind in (pm.BoundProblem, pm.DirectProblem):
        right = kind(RISKS, m=200, distance="linear").bound(np.eye(4)[0])
        for change in (poison, disguise, lambda problem: vars(problem).update(confidence_set=None, log_radius=-9.0)):
            problem = kind(RISKS, m=200, distance="linear")
            solution = pm.solve(problem, Cheats(change))
            assert solution.bound == right and not solution.is_global and solution.status == "not_converged"
            assert type(problem) is kind and pm.solve(problem).is_global


def test_a_solver_that_fails_is_one_failed_outcome():
    class Fails(Cheats):
        name = "fails"

    def leave(problem):
        raise SystemExit(0)

    problem = pm.BoundProblem(RISKS, m=200, distance="linear")
    for change, complaint in ((lambda problem: 1 / 0, "ZeroDivisionError: division by zero"), (leave, "SystemExit: 0")):
        solution = pm.solve(problem, Fails(change))
        assert solution.status == "error" and solution.bound == math.inf
        assert solution.message == f"it raised {complaint}."
        assert "test_extension.py" in solution.details["traceback"]


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


def test_solve_and_solve_many_agree_on_vacuous_bounds():
    """Residuals are relative to bounds above one, in both."""
    problems = [pm.BoundProblem([0.1, 0.2, 0.3 + 0.01 * k], m=10, delta=1e-100, distance="linear") for k in range(5)]
    for one, problem in zip(pm.solve_many(problems), problems):
        alone = pm.solve(problem)
        assert (one.status, one.is_global) == (alone.status, alone.is_global) == ("optimal", True)
        assert one.bound == pytest.approx(alone.bound, rel=1e-12)


@pytest.mark.parametrize("name", ["fixed-point", "mirror", "slsqp", "cyipopt"])
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


def test_every_solver_of_ours_is_asked_in_the_same_words():
    """Options are keyword-only; those that several solvers have are checked by the same sentences."""
    import inspect

    problem = pm.BoundProblem(RISKS, m=200, distance="squared")
    bad = {"start": [1.0], "starts": 0, "seed": -1, "tolerance": 0.0, "max_iterations": 0, "time_limit": 0.0}
    said: dict[str, set[str]] = {}
    ours = ("fixed-point", "subset-search", "cyipopt", *GENERAL)
    for name in ours:
        parameters = list(inspect.signature(get_solver(name).run).parameters.values())[1:]
        assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters), name
        for option in {parameter.name for parameter in parameters} & bad.keys():
            with pytest.raises(pm.InputError) as caught:
                pm.solve(problem, name, **{option: bad[option]})
            said.setdefault(option, set()).add(str(caught.value))
    assert all(len(sentences) == 1 for sentences in said.values()) and said.keys() == bad.keys()
