"""What the two Ipopt solvers share: options, return codes, starting posteriors, and the search over several starts."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from pacb_models.errors import InputError
from pacb_models.native import native_output_silenced
from pacb_models.problem import BoundProblem
from pacb_models.registry import OPTIMAL_RESIDUAL, onto_simplex
from pacb_models.solution import LocalMinimum, Outcome, Trace
from pacb_models.validation import check_count, check_posterior

from ..starts import best_start, tilted
from ..weights import without_negligible

#: Options for bound minimisations, in place of Ipopt's defaults.
SETTINGS: dict[str, Any] = {
    # The default relaxes bounds by 1e-8 each; H weights of -1e-8 make a "bound" below the true minimum.
    "bound_relax_factor": 0.0,
    # The default pushes starting weights to 0.01: their sum is then far from one when H is large, and kl outside its
    # domain.
    "bound_push": 1e-8,
    "bound_frac": 1e-8,
    # Approximate minimum degree; METIS, the default, takes three to four times as long on our arrow-shaped matrices.
    "mumps_pivot_order": 0,
    # The factors of pacb_models.algebraic.scaling; with them Ipopt's default tolerance of 1e-8 is one on the bound.
    "nlp_scaling_method": "user-scaling",
}

#: Ipopt prints nothing: no iterations, no banner.
QUIET: dict[str, Any] = {"print_level": 0, "sb": "yes"}

#: Initial barrier parameters for starts other than the prior. The default, 0.1, first pulls every start to the
#: centre of the simplex. The first start shall lead to the best minimum: moderate, lest it be caught by a shallow
#: one close by. Random starts shall find all minima: small, so that each finds its own.
FIRST_BARRIER = 1e-3
RANDOM_BARRIER = 1e-5

#: Two points are the same local minimum when their posteriors differ by less than this in total variation.
SAME_POINT = 1e-3

#: The prior's share in a start that has weights of zero.
INTERIOR = 1e-4


class Ending(NamedTuple):
    """One of Ipopt's ways to end."""

    #: What Ipopt prints after "EXIT:"; how a program that we start tells its return code.
    printed: str
    status: str
    message: str


#: Ipopt's return codes (ApplicationReturnStatus) and what each means here.
STATUS_MAP: dict[int, Ending] = {
    0: Ending("Optimal Solution Found", "optimal", "Ipopt met its tolerances."),
    1: Ending("Solved To Acceptable Level", "acceptable", "Ipopt stopped at its looser, acceptable tolerances."),
    2: Ending(
        "Converged to a point of local infeasibility",
        "infeasible",
        "Ipopt converged to a point of local infeasibility.",
    ),
    # Rounding errors forbid further progress; the point is often as good as optimal, which our residual shows.
    3: Ending(
        "Search Direction is becoming Too Small", "acceptable", "Ipopt's steps became too small to make progress."
    ),
    4: Ending("Iterates diverging", "not_converged", "Ipopt's iterates diverge."),
    5: Ending("Stopping optimization at current point", "not_converged", "Ipopt was asked to stop."),
    # As many equations as variables: Ipopt solves them and does not look at the objective.
    6: Ending(
        "Feasible point for square problem found", "acceptable", "Ipopt found a feasible point of a square problem."
    ),
    -1: Ending(
        "Maximum Number of Iterations Exceeded",
        "iteration_limit",
        "Ipopt reached max_iterations; allow it more of them.",
    ),
    -2: Ending("Restoration Failed", "restoration_failed", "Ipopt's restoration phase failed."),
    -3: Ending("Error in step computation", "numerical_error", "Ipopt could not compute a search direction."),
    -4: Ending("Maximum CPU time exceeded", "time_limit", "Ipopt reached its limit of CPU time."),
    -5: Ending("Maximum wallclock time exceeded", "time_limit", "Ipopt reached time_limit."),
    -10: Ending("Problem has too few degrees of freedom", "error", "Ipopt found more equations than variables."),
    -11: Ending("Problem has inconsistent variable bounds", "error", "Ipopt refused the problem's definition."),
    -12: Ending("Invalid option encountered", "error", "Ipopt refused an option or its value."),
    -13: Ending("Invalid number in NLP function", "numerical_error", "Ipopt met a number that is infinite or not one."),
    -100: Ending("Some uncaught Ipopt exception", "error", "Ipopt raised an exception."),
    -101: Ending("Unknown Exception caught", "error", "Ipopt met an exception that is not its own."),
    -102: Ending("Not enough memory", "error", "Ipopt ran out of memory."),
    -199: Ending("INTERNAL ERROR", "error", "Ipopt met an internal error."),
}


def ending(code: int) -> Ending:
    """The meaning of a return code; of an unknown one, an error that names it."""
    return STATUS_MAP.get(code, Ending("", "error", f"Ipopt returned the unknown code {code}."))


class Start(NamedTuple):
    """A starting posterior, and the initial barrier parameter that suits it (None is Ipopt's default)."""

    posterior: np.ndarray
    barrier: float | None


@dataclass
class Run:
    """What Ipopt made of one start."""

    weights: np.ndarray
    code: int
    iterations: int | None
    seconds: float
    trace: Trace = field(default_factory=lambda: Trace(False))


#: Runs Ipopt from a start with an allowance of seconds (infinite when there is no limit).
SolveFrom = Callable[[Start, float], Run]
#: Builds the model that it runs on.
Prepare = Callable[[], SolveFrom]


def options_for(start: Start, seconds: float, settings: dict[str, Any]) -> dict[str, Any]:
    """Ipopt's options for one run. What the caller asked for (``settings``) wins over what suits the start."""
    options = dict(QUIET)
    if start.barrier is not None:
        options["mu_init"] = start.barrier
    if math.isfinite(seconds):
        options["max_wall_time"] = seconds
    return options | settings


def check_settings(options: dict[str, Any] | None, max_iterations: int, defaults: bool = False) -> dict[str, Any]:
    """Ours (or Ipopt's own, with ``defaults``), the iteration limit, and on top the caller's raw options."""
    if options is not None and not isinstance(options, dict):
        raise InputError(f"options is {options!r}; it must be a dict of Ipopt's options.")
    ours = {} if defaults else SETTINGS
    return ours | {"max_iter": check_count("max_iterations", max_iterations, least=0)} | (options or {})


def set_options(ipopt: Any, options: dict[str, Any]) -> None:
    """Hand options to a cyipopt problem; one that Ipopt does not know is an input error."""
    for name, value in options.items():
        try:
            # Ipopt prints its own complaint, where a JSON object may be expected.
            with native_output_silenced():
                ipopt.add_option(name, value)
        except TypeError:
            message = f"options[{name!r}] is {value!r}, which Ipopt refuses; see Ipopt's list of options."
            raise InputError(message) from None


def first_start(problem: BoundProblem, start: object = None) -> Start:
    """The posterior that the caller wants to start from, else the best of the prior and a few Gibbs posteriors.

    An interior-point method needs full support: of weights that are zero, a little becomes the prior's.
    """
    if start is not None:
        q = check_posterior(start, problem.size, "start")
        return Start(q if q.all() else (1.0 - INTERIOR) * q + INTERIOR * problem.prior, RANDOM_BARRIER)
    q = best_start(problem)
    return Start(q, None if q is problem.prior else FIRST_BARRIER)


def random_starts(problem: BoundProblem, seed: int, barrier: float | None = RANDOM_BARRIER) -> Iterator[Start]:
    """Random starts without end.

    The classifiers are weighed by the prior times exponential variables times a Gibbs factor of random
    concentration, so that some starts are spread out and some rest on a few good classifiers: the bound's minima are
    of both kinds. All have full support, as an interior-point method needs.
    """
    rng = np.random.default_rng(seed)
    while True:
        noise = rng.standard_exponential(problem.size)
        yield Start(tilted(problem, 10.0 ** rng.uniform(-1.0, 3.0), noise), barrier)


@dataclass
class Search:
    """How many starts there are to be, from which seed, until when, and with which barrier the random ones begin."""

    starts: int
    seed: int
    deadline: float
    barrier: float | None = RANDOM_BARRIER

    def __post_init__(self) -> None:
        check_count("starts", self.starts)
        check_count("seed", self.seed, least=0)

    def run(self, problem: BoundProblem, first: Start, prepare: Prepare) -> Outcome:
        """Run Ipopt from every start, until the time is up, and report the best point and the other local minima."""
        if problem.distance == "kl" and problem.bound(first.posterior) >= 1.0:
            # It is flat there, and its models have no point inside their domain.
            message = "the bound rounds to 1 at every start that was tried, where it is flat; Ipopt was not started."
            return Outcome(first.posterior, "acceptable", message, 0)
        started = time.perf_counter()
        solve_from = prepare()
        setup_seconds = time.perf_counter() - started
        runs = []
        others = random_starts(problem, self.seed, self.barrier)
        for start in islice(chain([first], others), self.starts):
            left = self.deadline - time.monotonic()
            if left <= 0.0:
                break
            runs.append(solve_from(start, left))
        if not runs:
            message = "the time limit was reached before Ipopt was started."
            return Outcome(first.posterior, "time_limit", message, 0, setup_seconds)
        return _summary(problem, runs, self.starts, setup_seconds)


def _summary(problem: BoundProblem, runs: list[Run], wanted: int, setup_seconds: float) -> Outcome:
    posteriors = [without_negligible(problem, run.weights) for run in runs]
    bounds = [bound_at(problem, weights) for weights in posteriors]
    claims = [ending(run.code).status for run in runs]
    # Bounds that differ by rounding only are the same; the first start that led there is the one to report.
    order = sorted(range(len(runs)), key=lambda k: (claims[k] not in ("optimal", "acceptable"), round(bounds[k], 12)))
    best = order[0]
    message = ending(runs[best].code).message
    if len(runs) < wanted:
        message += f" The time limit was reached after {len(runs)} of {wanted} starts."
    return Outcome(
        posterior=posteriors[best],
        status=claims[best],
        message=message,
        iterations=runs[best].iterations,
        setup_seconds=setup_seconds,
        local_minima=tuple(_other_minima(problem, [posteriors[k] for k in order if claims[k] == "optimal"])),
        details={
            "ipopt_codes": [run.code for run in runs],
            "statuses": claims,
            "bounds": bounds,
            "iterations": [run.iterations for run in runs],
            "seconds": [run.seconds for run in runs],
            **runs[best].trace.details(),
        },
    )


def bound_at(problem: BoundProblem, weights: np.ndarray) -> float:
    """The bound at Ipopt's weights, put on the simplex; infinite where nothing usable is left."""
    q, _ = onto_simplex(weights)
    return math.inf if q is None else problem.outer(problem.empirical_risk(q), problem.statistic(q))


def _other_minima(problem: BoundProblem, found: list[np.ndarray]) -> list[LocalMinimum]:
    """The distinct local minima among points sorted by their bounds, without the first, which is the solution."""
    distinct: list[np.ndarray] = []
    for weights in found:
        q, _ = onto_simplex(weights)
        if q is not None and all(0.5 * np.abs(q - other).sum() > SAME_POINT for other in distinct):
            distinct.append(q)
    return [
        LocalMinimum(
            bound=problem.bound(q),
            empirical_risk=problem.empirical_risk(q),
            divergence=problem.divergence_function.value(problem.statistic(q)),
            support_size=int(np.count_nonzero(q)),
        )
        for q in distinct[1:]
        if problem.classify(q, OPTIMAL_RESIDUAL) == "local minimum"
    ]
