"""What the Ipopt solvers share: options, return codes, and how a start becomes one of an interior-point method."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from pacb_models.errors import InputError
from pacb_models.problem import BoundProblem
from pacb_models.solution import Outcome, Trace
from pacb_models.validation import check_count

from ..options import check_options
from ..starts import best_of, bound_of, starting_posteriors, with_all
from ..weights import without_negligible
from .native import native_output_silenced

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
    # The factors of pacb_models.models.scaling; with them Ipopt's default tolerance of 1e-8 is one on the bound.
    "nlp_scaling_method": "user-scaling",
}

#: Ipopt prints nothing: no iterations, no banner.
QUIET: dict[str, Any] = {"print_level": 0, "sb": "yes"}

#: Ipopt reads no ``ipopt.opt`` of the current directory. A program gets a file of options from Pyomo instead.
NO_FILE: dict[str, Any] = {"option_file_name": ""}

#: The initial barrier parameter for starts other than the prior. The default, 0.1, first pulls every start to the
#: centre of the simplex; with a small one each finds the minimum next to it.
RANDOM_BARRIER = 1e-5


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
    return ours | {"max_iter": check_count("max_iterations", max_iterations)} | (options or {})


def set_options(ipopt: Any, options: dict[str, Any]) -> None:
    """Hand options to a cyipopt problem; one that Ipopt does not know is an input error."""
    for name, value in (NO_FILE | options).items():
        try:
            # Ipopt prints its own complaint, where a JSON object may be expected.
            with native_output_silenced():
                ipopt.add_option(name, value)
        except TypeError:
            message = f"options[{name!r}] is {value!r}, which Ipopt refuses; see Ipopt's list of options."
            raise InputError(message) from None


def first_start(problem: BoundProblem, start: object = None, barrier: float | None = RANDOM_BARRIER) -> Start:
    """The posterior that the caller wants to start from, else the one that every local method starts from."""
    first = interior(problem, check_options(problem, start=start).start, barrier)
    # Where the prior breaks a constraint, what is nearest to it takes its place.
    return first._replace(barrier=None) if start is None and problem.posteriors is not None else first


def interior(problem: BoundProblem, q: np.ndarray, barrier: float | None = RANDOM_BARRIER) -> Start:
    """A start with full support, as an interior-point method needs."""
    if q is problem.prior:
        return Start(q, None)
    return Start(with_all(problem, q), barrier)


@dataclass
class Search:
    """How many starts there are to be, from which seed, until when, and with which barrier those after the first
    begin."""

    starts: int
    seed: int
    deadline: float
    barrier: float | None = RANDOM_BARRIER

    def __post_init__(self) -> None:
        check_count("starts", self.starts)
        check_count("seed", self.seed, least=0)

    def run(self, problem: BoundProblem, first: Start, prepare: Prepare) -> Outcome:
        """Run Ipopt from every start, until the time is up, and report the best point and the other local minima."""
        if problem.distance_function.below_one and problem.bound(first.posterior) >= 1.0:
            # It is flat there, and its models have no point inside their domain.
            message = "the bound rounds to 1 at the start, where it is flat; Ipopt was not started."
            return Outcome(first.posterior, "acceptable", message, 0)
        started = time.perf_counter()
        solve_from = prepare()
        setup_seconds = time.perf_counter() - started
        runs: list[Run] = []
        for q in starting_posteriors(problem, self.starts, self.seed, first.posterior):
            left = self.deadline - time.monotonic()
            if left <= 0.0:
                break
            runs.append(solve_from(first if not runs else interior(problem, q, self.barrier), left))
        if not runs:
            message = "the time limit was reached before Ipopt was started."
            return Outcome(first.posterior, "time_limit", message, 0, setup_seconds)
        outcome = best_of(problem, [_outcome(problem, run) for run in runs], self.starts)
        outcome.setup_seconds = setup_seconds
        outcome.details.update(
            ipopt_codes=[run.code for run in runs],
            statuses=[ending(run.code).status for run in runs],
            bounds=[bound_of(problem, run.weights) for run in runs],
            iterations=[run.iterations for run in runs],
            seconds=[run.seconds for run in runs],
        )
        return outcome


def _outcome(problem: BoundProblem, run: Run) -> Outcome:
    """What Ipopt made of one start, without the weights that only its barrier keeps from zero."""
    _, status, message = ending(run.code)
    weights = without_negligible(problem, run.weights)
    return Outcome(weights, status, message, run.iterations, details=run.trace.details())
