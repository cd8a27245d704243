"""What the Ipopt solvers share: options, return codes, and how a start becomes one of an interior-point method.

Each of them prepares its model and says how one start is run on it (:data:`SolveFrom`); :func:`by_ipopt` does the rest.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pacb_models.direct import DirectProblem
from pacb_models.errors import InputError
from pacb_models.problem import BoundProblem, Problem
from pacb_models.solution import Outcome, Trace

from ..options import FromStarts
from ..starts import bound_of, from_all_starts, with_all
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


class Run(NamedTuple):
    """What Ipopt made of one start."""

    weights: np.ndarray
    code: int
    iterations: int | None
    trace: Trace = Trace(False)


#: Runs Ipopt from a posterior with options that suit it: the barrier parameter, and the seconds that are left.
SolveFrom = Callable[[np.ndarray, dict[str, Any]], Run]


def by_ipopt(
    problem: BoundProblem | DirectProblem,
    options: FromStarts,
    prepare: Callable[[], SolveFrom],
    barrier: float | None = RANDOM_BARRIER,
) -> Outcome:
    """Build the model, run Ipopt on it from every start, and report the best point and the other local minima.

    ``barrier`` is the initial barrier parameter of every start but the prior, or what takes its place under
    constraints; None leaves it to Ipopt.
    """
    first = with_all(problem, options.start)
    if problem.distance_function.below_one and problem.bound(first) >= 1.0:
        # It is flat there, and its models have no point inside their domain.
        return Outcome(
            first, "acceptable", "the bound rounds to 1 at the start, where it is flat; Ipopt was not started.", 0
        )
    started = time.perf_counter()
    solve_from = prepare()
    setup_seconds = time.perf_counter() - started
    codes: list[int] = []

    def run(q: np.ndarray) -> Outcome:
        left = options.deadline - time.monotonic()
        if left <= 0.0:
            return Outcome(q, "time_limit", "the time limit was reached before Ipopt was started.", 0)
        central = q is problem.prior or (q is options.start and not options.given and problem.posteriors is not None)
        suited = {} if central or barrier is None else {"mu_init": barrier}
        limit = {"max_wall_time": left} if math.isfinite(left) else {}
        found = solve_from(with_all(problem, q), QUIET | suited | limit)
        codes.append(found.code)
        _, status, message = ending(found.code)
        # Only Ipopt's barrier keeps some of the weights from zero.
        weights = without_negligible(problem, found.weights)
        return Outcome(weights, status, message, found.iterations, details=found.trace.details())

    outcome = from_all_starts(problem, options, run)
    outcome.setup_seconds = setup_seconds
    outcome.details["ipopt_codes"] = codes
    return outcome


class Watch:
    """Runs Ipopt through cyipopt, counts its iterations, and records the bound after each where that is asked for."""

    def __init__(self, problem: Problem, weights: Any, trace: bool) -> None:
        #: Which of Ipopt's variables are the weights.
        self.problem, self.weights, self.traced = problem, weights, trace

    def solve(self, ipopt: Any, x: np.ndarray, options: dict[str, Any]) -> dict[str, Any]:
        """What Ipopt tells of its run from a point."""
        self.ipopt, self.iterations, self.trace = ipopt, 0, Trace(self.traced)
        set_options(ipopt, options)
        try:
            return ipopt.solve(x)[1]
        finally:
            ipopt.close()

    def run(self, ipopt: Any, x: np.ndarray, options: dict[str, Any]) -> Run:
        """The same, as what became of a start."""
        told = self.solve(ipopt, x, options)
        return Run(told["x"][self.weights], told["status"], self.iterations, self.trace)

    def look(self, nlp: Any, mode: int, iteration: int, *progress: float) -> bool:
        """Called by Ipopt after each iteration; True means go on."""
        self.iterations = iteration
        if self.traced:
            self.trace.add(bound_of(self.problem, self.ipopt.get_current_iterate()["x"][self.weights]))
        return True


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
