"""The options that several solvers have, the same for all of them: checks, starts, and what several starts found.

``start``
    The posterior to start from, in the order of the risks; the prior by default
    (:func:`default_start`). One that breaks the problem's constraints is moved to the
    nearest that keeps them.
``starts``, ``seed``
    The number of starting posteriors. Those beyond the first are random, and the same for every solver
    (:func:`starting_posteriors`). The best point is returned, and other local minima are
    listed.
``tolerance``
    The largest KKT residual at convergence, relative to the bound where that is above one.
``max_iterations``
    A limit for each start.
``time_limit``
    Seconds of wall-clock time for all starts together, set-up included.
``trace``
    True puts the bound after each iteration, with the seconds, into ``details["trace"]``; of the best start.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, Literal, NamedTuple, Self, get_args, get_origin, get_type_hints

import numpy as np

from pacb_models.constraints.posteriors import KEPT
from pacb_models.problem import Problem, RiskAndSize
from pacb_models.solution import LocalMinimum, Outcome
from pacb_models.solver import Solver
from pacb_models.solving.judging import CLAIMS, OPTIMAL_RESIDUAL, onto_simplex
from pacb_models.validation import check_choice, check_count, check_kind, check_number, check_positive, check_posterior

#: The least counts of some options, and those that are positive numbers, wherever a solver has them.
LEAST_COUNTS = {"starts": 1, "seed": 0, "max_iterations": 1}
POSITIVE = ("tolerance", "learning_rate")
#: The prior's share in a start that has weights of zero and has to have none.
INTERIOR = 1e-4


@dataclass(kw_only=True)
class Options:
    """The options of a solver with their defaults: each solver's are a subclass, and its fields the only declaration. A
    field whose type is a :data:`typing.Literal` takes no other value."""

    time_limit: float | None = None

    def checked(self, problem: Problem) -> Self:
        """Return the same, once every value is known to be one; the time begins to run."""
        #: A reading of the monotonic clock; infinite without a limit.
        self.deadline = math.inf
        if self.time_limit is not None:
            expected = "it must be a positive number of seconds"
            self.deadline = time.monotonic() + check_number("time_limit", self.time_limit, lambda s: s > 0.0, expected)
        for name, kind in get_type_hints(type(self)).items():
            value = getattr(self, name)
            if get_origin(kind) is Literal:
                check_choice(name, value, get_args(kind))
            elif name in LEAST_COUNTS and not (value is None and NoneType in get_args(kind)):
                check_count(name, value, LEAST_COUNTS[name])
            elif name in POSITIVE:
                check_positive(name, value)
        return self


@dataclass(kw_only=True)
class FromStarts(Options):
    """What a method that begins at a posterior, or at several, can be asked."""

    start: Any = None
    starts: int = 1
    seed: int = 0
    max_iterations: int = 3000

    def checked(self, problem: Problem) -> Self:
        #: Whether the caller chose the start.
        self.given = self.start is not None
        given = check_posterior(self.start, problem.size, "start") if self.given else None
        self.start = default_start(problem) if given is None else nearest(problem, given)
        return super().checked(problem)


@dataclass(kw_only=True)
class Iterative(FromStarts):
    """What a method that we iterate ourselves can be asked."""

    tolerance: float = 1e-9
    max_iterations: int = 1000
    trace: bool = False


@dataclass(kw_only=True)
class Software(Options):
    """The options of the underlying software, which go to it as they are."""

    options: dict[str, Any] | None = None

    def checked(self, problem: Problem) -> Self:
        check_kind("options", self.options, (dict, NoneType), "a dict of the software's own options")
        self.own: dict[str, Any] = self.options or {}
        return super().checked(problem)


class DeclaredSolver(Solver):
    """A solver whose options are declared as a class."""

    Options: type[Options]

    def run(self, problem: Any, **given: Any) -> Outcome:
        return self.run_with(problem, self.Options(**given).checked(problem))

    def run_with(self, problem: Any, options: Any) -> Outcome:
        """Minimise the bound, with options that are checked."""
        raise NotImplementedError


def in_words(software: str, words: str, status: str) -> str:
    """Return what the software says of a run, and which of the limits above it reached."""
    reached = {"iteration_limit": "max_iterations was reached, allow it more", "time_limit": "time_limit was reached"}
    return f"{software}: {words}{'; ' + reached[status] if status in reached else ''}."


def starting_posteriors(
    problem: Problem, starts: int, seed: int = 0, first: np.ndarray | None = None
) -> Iterator[np.ndarray]:
    """Yield the default start, or the given posterior, and then random ones. The classifiers are weighed by the prior
    times exponential variables times a Gibbs factor of random concentration. Some starts are spread out, and some rest
    on a few good classifiers: the bound's minima are of both kinds. All random ones have full support. All keep the
    problem's constraints."""
    yield default_start(problem) if first is None else first
    random = np.random.default_rng(seed)
    for _ in range(starts - 1):
        noise = random.standard_exponential(problem.size)
        yield nearest(problem, tilted(problem, 10.0 ** random.uniform(-1.0, 3.0), noise))


def default_start(problem: Problem) -> np.ndarray:
    """Return the prior, or what is nearest to it under the problem's constraints. Where the bound rounds to one there,
    and is flat, no method could leave it: then the best start."""
    first = nearest(problem, problem.prior)
    flat = isinstance(problem, RiskAndSize) and problem.distance_function.below_one and problem.bound(first) >= 1.0
    return best_start(problem) if flat else first


def best_start(problem: Problem) -> np.ndarray:
    """Return the best of the prior and a few Gibbs posteriors; all have full support."""
    trials = [problem.prior, *(tilted(problem, tilt) for tilt in (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0))]
    return min((nearest(problem, q) for q in trials), key=problem.bound)


def nearest(problem: Problem, q: np.ndarray) -> np.ndarray:
    """Return the posterior that keeps the problem's averages, caps and floors and is nearest to another one; that one
    itself if it does."""
    posteriors = problem.posteriors
    if posteriors is None or posteriors.violation(q) <= KEPT:
        return q
    return posteriors.nearest(with_all(problem, q))


def with_all(problem: Problem, q: np.ndarray) -> np.ndarray:
    """Return a posterior with full support: of one that has weights of zero, a little becomes the prior's."""
    return q if q.all() else (1.0 - INTERIOR) * q + INTERIOR * problem.prior


def tilted(problem: Problem, tilt: float, noise: np.ndarray | float = 1.0) -> np.ndarray:
    """Return weights proportional to prior × noise × exp(−tilt × risk), risks scaled to [0, 1], plus a little of the
    prior."""
    risks = getattr(problem, "risks", np.zeros(problem.size))
    weights = problem.prior * noise * np.exp(-tilt * (risks - risks.min()) / (float(np.ptp(risks)) or 1.0))
    mixed = weights / weights.sum() + INTERIOR * problem.prior
    return mixed / mixed.sum()


class StationaryPoint(NamedTuple):
    """A point that some of the starts ended in."""

    bound: float
    empirical_risk: float
    divergence: float
    support_size: int
    #: "local minimum", "saddle" or "not stationary", by the bordered Hessian; "unknown" for a bound of another form.
    kind: str
    #: How many starts led there.
    starts: int


def from_all_starts(problem: Problem, options: FromStarts, run: Callable[[np.ndarray], Outcome]) -> Outcome:
    """Run a method from every start, until the time is up, and report the best point and the other local minima. With
    several starts ``details`` lists ``bounds``, ``statuses`` and ``iterations`` of all of them, and
    ``distinct_points``."""
    outcomes: list[Outcome] = []
    for start in starting_posteriors(problem, options.starts, options.seed, options.start):
        if outcomes and time.monotonic() >= options.deadline:
            break
        outcomes.append(run(start))
    if options.starts == 1:
        return outcomes[0]
    bounds = [bound_of(problem, outcome.posterior) for outcome in outcomes]
    # Bounds that differ by rounding only are the same; the first start that led there is the one to report.
    ranks = [(outcome.status not in CLAIMS, round(bound, 12)) for outcome, bound in zip(outcomes, bounds)]
    best = outcomes[ranks.index(min(ranks))]
    points = distinct_points(problem, [each.posterior for each in outcomes if each.status == "optimal"])
    best.local_minima = tuple(LocalMinimum(*point[:4]) for point in points[1:] if point.kind == "local minimum")
    statuses, iterations = ([getattr(each, name) for each in outcomes] for name in ("status", "iterations"))
    best.details |= {"bounds": bounds, "statuses": statuses, "iterations": iterations, "distinct_points": points}
    if len(outcomes) < options.starts:
        best.message += f" The time limit was reached after {len(outcomes)} of {options.starts} starts."
    return best


def bound_of(problem: Problem, weights: np.ndarray | None) -> float:
    """Return the bound at a method's weights, put on the simplex; infinite where nothing usable is left."""
    q = None if weights is None else onto_simplex(weights)[0]
    return math.inf if q is None else problem.bound(q)


def distinct_points(problem: Problem, found: Sequence[np.ndarray | None]) -> tuple[StationaryPoint, ...]:
    """Return the different ones among points that starts ended in, best first."""
    posteriors = [q for weights in found if weights is not None and (q := onto_simplex(weights)[0]) is not None]
    groups: list[list[np.ndarray]] = []
    for q in sorted(posteriors, key=problem.bound):
        # Two points are the same when their posteriors differ by less than this in total variation.
        same = next((group for group in groups if 0.5 * np.abs(q - group[0]).sum() < 1e-3), None)
        if same is None:
            groups.append(same := [])
        same.append(q)
    classify, points = getattr(problem, "classify", lambda q, tol: "unknown"), []
    for q, *others in groups:
        judged, kind = problem.judge(q), classify(q, OPTIMAL_RESIDUAL)
        values = (judged.bound, judged.empirical_risk, judged.divergence, int(np.count_nonzero(q)))
        points.append(StationaryPoint(*values, kind, 1 + len(others)))
    return tuple(points)
