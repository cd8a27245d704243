"""Problems whose minimum is known, and the checks that every solver's answer to them must pass.

Minima are known from closed forms or by brute force in fifty digits; stationarity and complementarity are checked by
difference quotients of the bound in fifty digits. Nothing is taken from a solver or from the package's own derivatives.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from mpmath import mpf

import pacb_models as pm
from pacb_models.solution import Solution, Status
from pacb_models.solving.registry import get_solver, solver_names

from ..drawn import PAIRS
from ..pacb_models.direct_reference import DirectReference
from ..pacb_models.mp_reference import golden_section
from .path_reference import Reference as BoundReference

FIRST_ORDER = ("mirror", "spg", "lbfgsb", "frank-wolfe", "softmax")
#: Every solver that needs no more than slopes.
GRADIENT = [name for name in solver_names() if get_solver(name).needs == ("problem.gradient",)]

#: Two classifiers that are good and many that are not: on a small sample the bound has a minimum on each group. The
#: better one is near the prior, the other one rests on the first two.
TWO_GROUPS = np.array([0.05, 0.10] + 48 * [0.30])
TWO_MINIMA = pm.BoundProblem(TWO_GROUPS, m=50, delta=0.05, distance="squared")
#: A start near the second one.
CONCENTRATED = np.array([0.6, 0.39] + 48 * [0.01 / 48])

#: Bounds have to agree to this.
AGREEMENT = 1e-7
#: Slopes have to vanish to this: the limit for an optimal solution, and as much again for the difference quotients.
SLOPE = 2e-6
#: The step of the difference quotients; fifty digits leave it plenty of room.
STEP = mpf(10) ** -14


@dataclass(frozen=True, eq=False)
class Known:
    """A problem with its smallest bound, and its optimal posterior where a formula gives it."""

    problem: pm.BoundProblem | pm.DirectProblem
    bound: float
    posterior: np.ndarray | None = None


@dataclass(frozen=True)
class Case:
    """A problem that is known, built when it is used: some take fifty digits and half a second. What solvers are asked
    before that is which problems of that kind they can minimise."""

    name: str
    distance: str
    divergence: str
    build: Callable[[], Known]
    kind: str = "bound"

    def __str__(self) -> str:
        return f"{self.kind}-{self.divergence}-{self.distance}-{self.name}"

    @property
    def example(self) -> pm.BoundProblem | pm.DirectProblem:
        """Any problem of the same kind."""
        return make([0.1, 0.2], self.distance, self.divergence, kind=self.kind)

    @property
    def known(self) -> Known:
        """The problem with its minimum."""
        return _built(self)


@cache
def _built(case: Case) -> Known:
    return case.build()


KINDS = {"bound": pm.BoundProblem, "direct": pm.DirectProblem}


def make(risks, distance: str, divergence: str, m: int = 200, prior=None, kind: str = "bound"):
    order = 1.5 if divergence == "renyi" else 2.0
    return KINDS[kind](risks, m, 0.05, distance, divergence, prior, order=order)


def reference_of(problem):
    """The bound in many digits, by definition."""
    return (BoundReference if problem.kind == "bound" else DirectReference)(problem)


def at_the_prior(risks, distance: str, divergence: str, kind: str, prior=None) -> Known:
    """A problem whose optimal posterior is the prior, where change of measure costs nothing."""
    problem = make(risks, distance, divergence, prior=prior, kind=kind)
    reference = BoundReference(problem)
    return Known(problem, float(reference.bound(reference.prior)), problem.prior)


def equal_risks(distance: str, divergence: str, kind: str = "bound") -> Known:
    """No classifier is better than another."""
    return at_the_prior(np.full(4, 0.2), distance, divergence, kind, [0.5, 0.2, 0.2, 0.1])


def no_errors(distance: str, divergence: str, kind: str = "bound") -> Known:
    """Every risk is zero, and the kl distance is at the edge of its domain."""
    return at_the_prior(np.zeros(6), distance, divergence, kind)


def one_classifier(distance: str, divergence: str, kind: str = "bound") -> Known:
    """Nothing to choose."""
    return at_the_prior([0.25], distance, divergence, kind)


def two_classifiers(distance: str, divergence: str) -> Known:
    """Posteriors are the points of an interval, searched by scan and golden section in fifty digits."""
    problem = make([0.15, 0.2], distance, divergence, m=400, prior=[0.3, 0.7])
    reference = BoundReference(problem)

    def depth(weight: mpf) -> mpf:
        return -reference.bound([weight, 1 - weight])

    lowest = max((mpf(i) / 200 for i in range(201)), key=depth)
    ends = max(lowest - mpf(1) / 200, mpf(0)), min(lowest + mpf(1) / 200, mpf(1))
    deepest, weight = max(golden_section(depth, *ends, 80), *((depth(end), end) for end in ends))
    return Known(problem, float(-deepest), np.array([float(weight), float(1 - weight)]))


def direct_classifiers(distance: str, divergence: str) -> Known:
    """Five classifiers, one of them too poor to count: the root of one scalar equation, in forty digits."""
    prior = np.array([0.1, 0.2, 0.3, 0.3, 0.1])
    problem = make([0.15, 0.2, 0.17, 0.22, 0.7], distance, divergence, m=60, prior=prior, kind="direct")
    reference = DirectReference(problem)
    t = reference.common_risk(0.4)
    slopes = [float(p * reference.slope(a, t)) for p, a in zip(reference.prior, reference.risks)]
    return Known(problem, float(t), np.array(slopes) / sum(slopes))


def closed_form_chi2() -> Known:
    r"""Linear–χ²: :math:`B = S/P + \sqrt{(c^2 - V)/P}` on the optimal support, all but the worst classifier."""
    problem = make([0.1, 0.9, 0.14, 0.12], "linear", "chi2", m=2000, prior=[0.3, 0.3, 0.2, 0.2])
    kept = np.array([0, 2, 3])
    p, l, c = problem.prior[kept], problem.risks[kept], math.sqrt(1 / (4 * 2000) / 0.05)
    P = p.sum()
    mean = p @ l / P
    V = p @ (l - mean) ** 2
    posterior = np.zeros(4)
    posterior[kept] = p * (1 / P + (mean - l) / math.sqrt(P * (c**2 - V)))
    return Known(problem, mean + math.sqrt((c**2 - V) / P), posterior)


def gibbs() -> Known:
    r"""Linear–KL: :math:`q_i \propto p_i e^{-m l_i}`, :math:`m B = \ln(I/\delta) - \ln \sum_i p_i e^{-m l_i}`."""
    m = 60
    problem = make([0.1, 0.3, 0.2, 0.1, 0.5], "linear", "kl", m=m, prior=[0.1, 0.3, 0.2, 0.3, 0.1])
    weights = problem.prior * np.exp(-m * problem.risks)
    log_constant = m * (1 / (math.e - 1) + math.log(1 - 1 / math.e))
    bound = (log_constant - math.log(0.05) - math.log(weights.sum())) / m
    return Known(problem, bound, weights / weights.sum())


def cases() -> list[Case]:
    """All of them."""

    def case(family: Callable[..., Known], distance: str, divergence: str, *kind: str) -> Case:
        build = partial(family, distance, divergence, *kind)
        named = "direct" if family is direct_classifiers else "".join(kind) or "bound"
        return Case(family.__name__.replace("_", " "), distance, divergence, build, named)

    families = (equal_risks, no_errors, one_classifier)
    return [
        *(case(family, x, d) for d, x in PAIRS for family in (*families, two_classifiers)),
        Case("closed form", "linear", "chi2", closed_form_chi2),
        Case("Gibbs", "linear", "kl", gibbs),
        *(case(family, "kl", d, "direct") for d in ("chi2", "kl") for family in families),
        *(case(direct_classifiers, x, d) for d, x in PAIRS),
    ]


def distance_to_a_minimum(solution: Solution) -> float:
    """How far a bound is from the nearest of the minima that the exact solver met."""
    exact = pm.solve(solution.problem, "frontier")
    return min(abs(solution.bound - each.bound) for each in (exact, *exact.local_minima))


def check_feasible(known: Known, solution: Solution) -> None:
    """The posterior is on the simplex."""
    q = solution.posterior
    assert q.shape == (known.problem.size,) and q.min() >= 0.0 and abs(math.fsum(q) - 1.0) <= 1e-12


def check_objective(known: Known, solution: Solution) -> None:
    """The bound is that of the posterior, by definition, and the smallest there is; it is never below the true one."""
    weights = [mpf(float(w)) for w in solution.posterior]
    total = sum(weights)
    true = reference_of(known.problem).bound([w / total for w in weights])
    assert -1e-15 <= solution.bound - float(true) <= 1e-12
    assert -1e-15 <= solution.bound - known.bound <= AGREEMENT


@cache  # many solvers end at the same posterior, to the last digit
def gains(known: Known, posterior: tuple[float, ...], step: mpf) -> list[float]:
    """What the bound loses with a step of that length from a posterior towards each classifier (negative: it rises)."""
    reference = reference_of(known.problem)
    weights = [mpf(w) for w in posterior]
    total = sum(weights)
    q = [w / total for w in weights]
    here = reference.bound(q)
    moved = ([(1 - step) * w + (step if j == i else 0) for j, w in enumerate(q)] for i in range(len(q)))
    return [float(here - reference.bound(point)) for point in moved]


def slopes(known: Known, solution: Solution) -> np.ndarray:
    """The bound's slope from a posterior towards each classifier, by one-sided difference quotients."""
    return -np.array(gains(known, tuple(solution.posterior), STEP)) / float(STEP)


def check_stationary(known: Known, solution: Solution) -> None:
    """No direction goes down. The slope of a KL bound is steep at weights close to zero, where it is without
    consequence: a weight of 5e-6 that is one percent off has a slope of 1e-4, and nothing to gain. The slope of a
    direct bound is a power of the weight, below one. There, no step towards any classifier may gain anything."""
    if known.problem.divergence == "kl" or known.problem.kind == "direct":
        steps = [mpf(10) ** -k for k in ((2, 4, 6, 9) if known.problem.kind == "bound" else (3, 6))]
        assert max(max(gains(known, tuple(solution.posterior), step)) for step in steps) <= AGREEMENT
    else:
        assert slopes(known, solution).min() >= -SLOPE


def check_complementary(known: Known, solution: Solution) -> None:
    """A classifier with weight has no slope: either of the two is zero."""
    assert np.abs(solution.posterior * slopes(known, solution)).max() <= SLOPE


def check_posterior(known: Known, solution: Solution) -> None:
    """The weights are the known ones. Bounds are flat around minima, so weights are known to fewer digits."""
    if known.posterior is not None:
        assert 0.5 * np.abs(solution.posterior - known.posterior).sum() <= 1e-4


def check(known: Known, solution: Solution, name: str, allowed: tuple[str, ...]) -> None:
    """The status is one that may be expected, what else is reported is consistent with it, and all of the above."""
    assert solution.status in allowed and solution.status in set(Status), f"{solution.status}: {solution.message}"
    assert solution.solver == name and (solution.iterations is None or solution.iterations >= 0)
    assert solution.seconds >= 0.0 and solution.setup_seconds >= 0.0
    assert solution.support_size == np.count_nonzero(solution.posterior)
    for holds in (check_feasible, check_objective, check_stationary, check_complementary, check_posterior):
        holds(known, solution)
