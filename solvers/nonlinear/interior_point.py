"""What the Ipopt solvers share: options, return codes, and how a start becomes one of an interior-point method."""

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pacb_models.direct import DirectProblem
from pacb_models.errors import InputError
from pacb_models.problem import BoundProblem, Problem
from pacb_models.solution import Outcome, Trace

from ..options import DeclaredSolver, FromStarts, bound_of, from_all_starts, in_words, with_all
from ..oracle import without_negligible
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
    # With the factors of pacb_models.algebra, Ipopt's default tolerance of 1e-8 is one on the bound.
    "nlp_scaling_method": "user-scaling",
}

#: Ipopt prints nothing: no iterations, no banner.
QUIET: dict[str, Any] = {"print_level": 0, "sb": "yes"}
#: Ipopt reads no ``ipopt.opt`` of the current directory. A program gets a file of options from Pyomo instead.
NO_FILE: dict[str, Any] = {"option_file_name": ""}
#: Ipopt's default of the initial barrier parameter first pulls every start to the centre of the simplex; with the small
#: one, for starts other than the prior, each finds the minimum next to it.
DEFAULT_BARRIER, RANDOM_BARRIER = {"mu_init": 0.1}, {"mu_init": 1e-5}


class Ending(NamedTuple):
    """One of Ipopt's ways to end: its name of the return code, what it prints after "EXIT:", and the status here."""

    name: str
    printed: str
    status: str


#: Ipopt's return codes (ApplicationReturnStatus).
STATUS_MAP: dict[int, Ending] = {
    0: Ending("Solve_Succeeded", "Optimal Solution Found", "optimal"),
    1: Ending("Solved_To_Acceptable_Level", "Solved To Acceptable Level", "acceptable"),
    2: Ending("Infeasible_Problem_Detected", "Converged to a point of local infeasibility", "infeasible"),
    # Rounding errors forbid further progress; the point is often as good as optimal, which our residual shows.
    3: Ending("Search_Direction_Becomes_Too_Small", "Search Direction is becoming Too Small", "acceptable"),
    4: Ending("Diverging_Iterates", "Iterates diverging", "not_converged"),
    5: Ending("User_Requested_Stop", "Stopping optimization at current point", "not_converged"),
    # As many equations as variables: Ipopt solves them and does not look at the objective.
    6: Ending("Feasible_Point_Found", "Feasible point for square problem found", "acceptable"),
    -1: Ending("Maximum_Iterations_Exceeded", "Maximum Number of Iterations Exceeded", "iteration_limit"),
    -2: Ending("Restoration_Failed", "Restoration Failed", "restoration_failed"),
    -3: Ending("Error_In_Step_Computation", "Error in step computation", "numerical_error"),
    -4: Ending("Maximum_CpuTime_Exceeded", "Maximum CPU time exceeded", "time_limit"),
    -5: Ending("Maximum_WallTime_Exceeded", "Maximum wallclock time exceeded", "time_limit"),
    -10: Ending("Not_Enough_Degrees_Of_Freedom", "Problem has too few degrees of freedom", "error"),
    -11: Ending("Invalid_Problem_Definition", "Problem has inconsistent variable bounds", "error"),
    -12: Ending("Invalid_Option", "Invalid option encountered", "error"),
    -13: Ending("Invalid_Number_Detected", "Invalid number in NLP function", "numerical_error"),
    -100: Ending("Unrecoverable_Exception", "Some uncaught Ipopt exception", "error"),
    -101: Ending("NonIpopt_Exception_Thrown", "Unknown Exception caught", "error"),
    -102: Ending("Insufficient_Memory", "Not enough memory", "error"),
    -199: Ending("Internal_Error", "INTERNAL ERROR", "error"),
}


def ending(code: int) -> Ending:
    """Return the meaning of a return code; of an unknown one, an error that names it."""
    return STATUS_MAP.get(code, Ending("", f"the unknown code {code}", "error"))


class Run(NamedTuple):
    """What Ipopt made of one start."""

    weights: np.ndarray
    code: int
    iterations: int | None
    trace: Trace = Trace(False)


#: Runs Ipopt from a posterior with options that suit it: the barrier parameter, and the seconds that are left.
SolveFrom = Callable[[np.ndarray, dict[str, Any]], Run]


class Prepared(NamedTuple):
    """A model that was built."""

    solve_from: SolveFrom
    #: What is told of all starts together.
    details: dict[str, Any]
    #: What the messages call it.
    software: str = "Ipopt"


class InteriorPoint(DeclaredSolver):
    """Ipopt, or what takes its place: :meth:`prepare` writes a model, which is solved from every start. ``details``
    lists Ipopt's return codes, one per start."""

    honours = ("average", "weights")

    def prepare(self, problem: Any, options: Any) -> Prepared:
        """Build the model."""
        raise NotImplementedError

    def run_with(self, problem: BoundProblem | DirectProblem, options: FromStarts) -> Outcome:
        first = with_all(problem, options.start)
        if problem.distance_function.below_one and problem.bound(first) >= 1.0:
            # Its models have no point inside their domain.
            message = f"the bound rounds to 1 at the start, where it is flat; {self.name} was not started."
            return Outcome(first, "acceptable", message, 0)
        started, codes = time.perf_counter(), list[int]()
        solve_from, details, software = self.prepare(problem, options)
        setup_seconds = time.perf_counter() - started

        def run(q: np.ndarray) -> Outcome:
            left = options.deadline - time.monotonic()
            if left <= 0.0:
                return Outcome(q, "time_limit", f"the time limit was reached before {software} was started.", 0)
            default = q is options.start and not options.given and problem.posteriors is None
            suited = {} if default or q is problem.prior else RANDOM_BARRIER
            limit = {"max_wall_time": left} if math.isfinite(left) else {}
            found = solve_from(with_all(problem, q), QUIET | suited | limit)
            codes.append(found.code)
            _, printed, status = ending(found.code)
            # Only Ipopt's barrier keeps some of the weights from zero.
            weights, message = without_negligible(problem, found.weights), in_words(software, printed, status)
            return Outcome(weights, status, message, found.iterations, details=found.trace.details())

        outcome = from_all_starts(problem, options, run)
        outcome.setup_seconds = setup_seconds
        outcome.details |= details | {"ipopt_codes": codes}
        return outcome


class Watch:
    """Runs Ipopt through cyipopt, counts its iterations, and records the bound after each where that is asked for."""

    def __init__(self, problem: Problem, weights: Any, trace: bool) -> None:
        #: ``weights`` are the places of the weights among Ipopt's variables.
        self.problem, self.weights, self.traced = problem, weights, trace

    def run(self, ipopt: Any, x: np.ndarray, options: dict[str, Any]) -> Run:
        """Return what becomes of a point; ``told`` is all that Ipopt tells of it."""
        self.ipopt, self.iterations, self.trace = ipopt, 0, Trace(self.traced)
        set_options(ipopt, options)
        try:
            x, self.told = ipopt.solve(x)
        finally:
            ipopt.close()
        return Run(x[self.weights], self.told["status"], self.iterations, self.trace)

    def after_iteration(self, nlp: Any, mode: int, iteration: int, *progress: float) -> bool:
        """Answer Ipopt after each iteration; True means go on."""
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
